/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels of the generator's take of scratch, however long the rows: nothing runs. */
#include "../runtime/context/internal.h"
#include "../runtime/launch/prepared.h"

#include <criterion/criterion.h>

static int64_t scratch_of(tally_context *context, const char *word)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    cr_assert_eq(tally_descriptor_parse(word, &d, &error), TALLY_OK, "%s", error.message);
    cr_assert_eq(tally_kernel_create(context, &d, NULL, &kernel, &error), TALLY_OK, "%s: %s", word,
                 error.message);
    const int64_t bytes = kernel->scratch_bytes;
    tally_kernel_destroy(&kernel);
    return bytes;
}

/* A thread has a MiB at most; without the limit some of these would take more. */
Test(scratch, long_rows_take_a_mebibyte_at_most)
{
    static const char *const words[] = {
        "cumsum:f16:2x1100000000:axis=0",    "cumsum:f32:2x1100000000:axis=0",
        "cumsum:f64:2x1100000000:axis=0",    "cumprod:f32:1000x3000000:axis=0",
        "cumsum:f32:4x1000x1000000:axis=1",  "cumsum:f16:1100000000x2:axis=1",
        "cumsum:f32:3x1100000000:axis=1",    "cumlogsumexp:f32:2x1100000000:axis=0",
        "sum:f32:2x1100000000:axes=0",       "sum:f16:3000x1000000:axes=0",
        "log_sum_exp:f64:3x10000000:axes=0", "argmax:f32:3x1100000000:axes=0",
    };
    int64_t most = 0;
    for (int free = 0; free < 2; free++)
        for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
            tally_context *context = NULL;
            cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
            if (free)
                context->limits.scratch_bytes = INT64_MAX;
            const int64_t bytes = scratch_of(context, words[k]);
            cr_expect(free || bytes <= TLY_MOST_SCRATCH, "%s: %lld", words[k], (long long)bytes);
            most = bytes > most ? bytes : most;
            tally_context_destroy(&context);
        }
    cr_assert_gt(most, TLY_MOST_SCRATCH);
}
