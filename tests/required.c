/* SPDX-License-Identifier: Apache-2.0 */
#include "required.h"

#include <criterion/criterion.h>

tally_kernel *tly_require_kernel(tally_context *context, const char *word, const char *device,
                                 const char *plan)
{
    const tally_kernel_options options = { .size = sizeof options, .device = device, .plan = plan };
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *k = NULL;
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s", error.message);
    const tally_status s = tally_kernel_create(context, &d, &options, &k, &error);
    if (s == TALLY_NO_GENERATOR || s == TALLY_UNSUPPORTED)
        cr_skip("%s", error.message);
    cr_assert_eq(s, TALLY_OK, "%s: %s", word, error.message);
    return k;
}
