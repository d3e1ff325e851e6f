/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPU and Vulkan device combine in the same order, their bits are equal: serial order and
 * columns, every dtype, cumsum and cumprod, on data with infinities, NaN, zeros of both signs and
 * subnormals; and reductions in serial order, some of a single element, which show exponentials,
 * logarithms, quotients and roots as they are. For devices that keep subnormals; lavapipe does,
 * though it promises nothing.
 */
#include "bed.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const dtypes[] = { "f64", "f32", "f16", "bf16", "i64", "i32", "u64", "u32" };
static const char *const operators[] = { "cumsum", "cumprod" };
static const char *const geometries[] = {
    "129:axis=0,order=serial",
    "3x700:axis=1,order=serial",
    "300x7:axis=0,order=serial",
    "2x90x33:axis=1",
    "5x70x4:axis=1,order=serial",
    "1100x65:axis=0",
    "250x64:axis=0",
    "40x3:axis=0,in=8x2,out=3x-1@2",
    "3x90x32:axis=1,in=3600x40x1,out=2880x-32x1@2848",
};
static const char *const reductions[] = { "sum", "mean", "l2", "log_sum", "log_sum_exp" };
static const char *const reduced[] = {
    "4099x1:axes=1,order=serial",
    "501x2:axes=1,order=serial",
    "70x37:axes=1,order=serial",
    "37x70:axes=0,order=serial",
};
static const char *const manners[] = { "", ",exclusive", ",reverse", ",exclusive,reverse" };
static const tly_data data[] = { TLY_DATA_SPECIAL, TLY_DATA_BITS, TLY_DATA_DECAY, TLY_DATA_RANGE };
#define COUNT(array) (sizeof(array) / sizeof *(array))

static void compare(tally_context *context, tally_vulkan *v, const char *word, const char *plan,
                    tly_data kind)
{
    tly_case c;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *cpu = NULL;
    tly_case_make(&c, word, kind, (uint64_t)kind);
    char *expected = tly_case_blank(&c);
    tally_status status = tally_kernel_create(context, &c.d, NULL, &cpu, &error);
    if (status == TALLY_OK)
        status = tally_kernel_run(cpu, tly_case_in(&c), tly_case_out(&c, expected), &error);
    tly_expect(status == TALLY_OK, "%s on the CPU: %s", word, error.message);
    char *out = tly_case_result(&c, v, plan, 0);
    if (out) {
        tly_case_same(&c, out, expected, tly_data_name(kind));
        tly_case_right(&c, out, 0, 1, tly_data_name(kind));
    }
    tally_kernel_destroy(&cpu);
    free(out);
    free(expected);
    tly_case_end(&c);
}

static void compare_all(tally_context *context, tally_vulkan *v, const char *dtype)
{
    char word[160];
    for (size_t o = 0; o < COUNT(operators); o++)
        for (size_t g = 0; g < COUNT(geometries); g++) {
            const char *manner = manners[(o + g) % COUNT(manners)];
            snprintf(word, sizeof word, "%s:%s:%s%s", operators[o], dtype, geometries[g], manner);
            for (size_t k = 0; k < COUNT(data); k++)
                compare(context, v, word, "template=columns,chunk=0", data[k]);
        }
}

static void compare_reductions(tally_context *context, tally_vulkan *v, const char *dtype)
{
    char word[160];
    for (size_t o = 0; o < COUNT(reductions); o++)
        for (size_t g = 0; g < COUNT(reduced); g++) {
            snprintf(word, sizeof word, "%s:%s:%s", reductions[o], dtype, reduced[g]);
            for (size_t k = 0; k < COUNT(data); k++)
                compare(context, v, word, NULL, data[k]);
        }
}

int main(void)
{
    tally_context *context = tly_bed_context();
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    for (size_t k = 0; k < COUNT(dtypes); k++)
        compare_all(context, v, dtypes[k]);
    for (size_t k = 0; k < COUNT(dtypes); k++)
        compare_reductions(context, v, dtypes[k]);
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    const size_t kernels = COUNT(operators) * COUNT(geometries) +
                           COUNT(reductions) * COUNT(reduced);
    return tly_bed_end("same bits", 3 * (int)(COUNT(dtypes) * kernels * COUNT(data)));
}
