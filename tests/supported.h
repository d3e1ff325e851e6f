/* SPDX-License-Identifier: Apache-2.0 */
/* Whether tally_context_supports says of a kernel what its creation says. */
#ifndef SUPPORTED_H
#define SUPPORTED_H

#include <tally.h>

#include <criterion/criterion.h>
#include <string.h>

static inline int same_error(const tally_error *a, const tally_error *b)
{
    return a->status == b->status && strcmp(a->field, b->field) == 0 &&
           strcmp(a->message, b->message) == 0 && strcmp(a->hint, b->hint) == 0;
}

/* Both answers, with one error each; that of supports first. */
static inline tally_status both(tally_context *context, const tally_descriptor *d,
                                const tally_kernel_options *options, const char *name)
{
    tally_error asked = TALLY_ERROR_INIT, made = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    const tally_status status = tally_context_supports(context, d, options, &asked);
    const tally_status wanted = tally_kernel_create(context, d, options, &kernel, &made);
    cr_expect_eq(status, wanted, "%s: %s, and then %s: %s", name, tally_status_name(status),
                 tally_status_name(wanted), made.message);
    cr_expect(same_error(&asked, &made), "%s: %s: %s (%s), and then %s: %s (%s)", name, asked.field,
              asked.message, asked.hint, made.field, made.message, made.hint);
    cr_expect_eq(tally_context_supports(context, d, options, NULL), wanted, "%s: again", name);
    tally_kernel_destroy(&kernel);
    return status;
}

#endif
