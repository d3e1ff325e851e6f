/* SPDX-License-Identifier: Apache-2.0 */
#include "word.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(tally_status status, const tally_error *error)
{
    if (status != TALLY_OK) {
        fprintf(stderr, "%s: %s\n%s\n", error->field, error->message, error->hint);
        exit(1);
    }
}

tally_context *open_context(void)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    check(tally_context_create(NULL, &context, &error), &error);
    return context;
}

tally_kernel *make_kernel(tally_context *context, const char *word)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
    tally_kernel *kernel = NULL;
    check(tally_descriptor_parse(word, &descriptor, &error), &error);
    const tally_status status = tally_kernel_create(context, &descriptor, NULL, &kernel, &error);
    check(status == TALLY_UNSUPPORTED ? TALLY_OK : status, &error);
    return kernel;
}

void run_kernel(const tally_kernel *kernel, const tally_buffers *buffers)
{
    tally_error error = TALLY_ERROR_INIT;
    check(tally_kernel_run_buffers(kernel, buffers, NULL, &error), &error);
}

int run_word(tally_context *context, const char *word, const tally_buffers *buffers)
{
    tally_kernel *kernel = make_kernel(context, word);
    if (!kernel) {
        return 0;
    }
    run_kernel(kernel, buffers);
    tally_kernel_destroy(&kernel);
    return 1;
}

int are_close(const char *what, const float *got, const float *want, size_t count, float bound)
{
    for (size_t i = 0; i < count; i++) {
        if (!(fabsf(got[i] - want[i]) <= bound)) {
            fprintf(stderr, "%s %zu is %g, not %g\n", what, i, (double)got[i], (double)want[i]);
            return 0;
        }
    }
    return 1;
}
