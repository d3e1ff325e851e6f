/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where CPU and Vulkan device combine in the same order, their bits are equal: serial order and
 * columns, every dtype, cumsum and cumprod, on data with infinities, NaN, zeros of both signs and
 * subnormals; and reductions in serial order, some of a single element, which show exponentials,
 * logarithms, quotients and roots as they are. Where subnormals count as zeros (SwiftShader;
 * lavapipe keeps them, though it promises nothing) data have none and come to none.
 */
#include "../reference.h"
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
#define COUNT(array) (sizeof(array) / sizeof *(array))
enum { KINDS = 4 };
static const tly_data all_kinds[KINDS] = { TLY_DATA_SPECIAL, TLY_DATA_BITS, TLY_DATA_DECAY,
                                           TLY_DATA_RANGE };
static const tly_data normal_kinds[KINDS] = { TLY_DATA_EXACT, TLY_DATA_BENIGN, TLY_DATA_SIGNED,
                                              TLY_DATA_GROW };

/* The device, what it is asked, and how often it was. */
typedef struct bed {
    tally_context *context;
    tally_vulkan *v;
    const tly_data *kinds;
    int compared;
} bed;

/* Sums of integers of which a function is taken are of 64 bits, and the function is f64's. */
static int lacks(const bed *t, const tally_descriptor *d)
{
    const tly_caps *caps = &t->v->facts.caps;
    const int is_whole = d->dtype == TALLY_I32 || d->dtype == TALLY_U32;
    const size_t bytes = tally_dtype_bytes((tally_dtype)d->dtype);
    const int wide = bytes == 8 || (tly_ends_in_reals(d) && is_whole);
    return (wide && !(caps->int64 && caps->float64)) || (bytes == 2 && !caps->storage16);
}

static int note_stray(void *user, const tly_fact *fact)
{
    int *strays = user;
    *strays |= (fact->flags & TLY_FACT_STRAYED) != 0;
    return 0;
}

/* Whether a result's plain loop leaves the range: its bits are then open in serial order, too. */
static int strays(const tly_case *c)
{
    int some = 0;
    tly_reference(&c->d, tly_case_in(c), note_stray, &some);
    return some;
}

static void compare(bed *t, const char *word, const char *plan, tly_data kind)
{
    tly_case c;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *cpu = NULL;
    tly_case_make(&c, word, kind, (uint64_t)kind);
    if (lacks(t, &c.d)) {
        tly_case_end(&c);
        return;
    }
    char *expected = tly_case_blank(&c);
    tally_status status = tally_kernel_create(t->context, &c.d, NULL, &cpu, &error);
    if (status == TALLY_OK)
        status = tally_kernel_run(cpu, tly_case_in(&c), tly_case_out(&c, expected), &error);
    tly_expect(status == TALLY_OK, "%s on the CPU: %s", word, error.message);
    char *out = tly_case_result(&c, t->v, plan, 0);
    if (out) {
        if (!strays(&c))
            tly_case_same(&c, out, expected, tly_data_name(kind));
        tly_case_right(&c, out, tly_bed_flushes(t->v), 1, tly_data_name(kind));
        t->compared++;
    }
    tally_kernel_destroy(&cpu);
    free(out);
    free(expected);
    tly_case_end(&c);
}

static void compare_scans(bed *t, const char *dtype)
{
    char word[160];
    for (size_t o = 0; o < COUNT(operators); o++)
        for (size_t g = 0; g < COUNT(geometries); g++) {
            const char *manner = manners[(o + g) % COUNT(manners)];
            snprintf(word, sizeof word, "%s:%s:%s%s", operators[o], dtype, geometries[g], manner);
            for (size_t k = 0; k < KINDS; k++)
                compare(t, word, "template=columns,chunk=0", t->kinds[k]);
        }
}

static void compare_reductions(bed *t, const char *dtype)
{
    char word[160];
    for (size_t o = 0; o < COUNT(reductions); o++)
        for (size_t g = 0; g < COUNT(reduced); g++) {
            snprintf(word, sizeof word, "%s:%s:%s", reductions[o], dtype, reduced[g]);
            for (size_t k = 0; k < KINDS; k++)
                compare(t, word, NULL, t->kinds[k]);
        }
}

int main(void)
{
    bed t = { .context = tly_bed_context() };
    t.v = tly_bed_open(t.context, tly_bed_device());
    t.kinds = tly_bed_flushes(t.v) ? normal_kinds : all_kinds;
    for (size_t k = 0; k < COUNT(dtypes); k++) {
        compare_scans(&t, dtypes[k]);
        compare_reductions(&t, dtypes[k]);
    }
    /* Of 32 bits at least, but for three reductions of two dtypes. */
    const size_t scans = COUNT(operators) * COUNT(geometries);
    const size_t least = 3 * scans + 9 * COUNT(reduced);
    tly_expect(t.compared >= (int)(least * KINDS), "%d compared", t.compared);
    tally_vulkan_destroy(&t.v);
    tally_context_destroy(&t.context);
    return tly_bed_end("same bits", 3 * t.compared);
}
