/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a C programmer gets without Tally for a reduction: the plain loop for this machine, at -O3,
 * where the order of a float's operations is the loop's, and at -Ofast, where it is the compiler's.
 * Written as one would write them by hand, tuned no further. Nothing here checks its arguments: the
 * harness does.
 *
 * A packed input is seen as `first` x `kept` x `second` x `lanes` elements, of which `first` and
 * `second` are reduced: rows, lanes, both, and all.
 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "narrow.h"

struct loop_shape {
    int64_t first, kept, second, lanes;
};

typedef void (*loop)(const void *in, void *out, const struct loop_shape *shape);

#define SAME(x, n) (x)
#define MEAN(x, n) ((x) / (n))
#define ROOT(x, n) (sqrtf(x))
#define PLUS(acc, x) ((acc) + (x))
#define SQUARE(acc, x) ((acc) + (x) * (x))
#define TIMES(acc, x) ((acc) * (x))
#define LARGER(acc, x) ((x) > (acc) ? (x) : (acc))
#define ONLY(x) (x)

enum { BLOCK = 4096 }; /* lanes whose accumulators stay in L1 */

/* Without lanes one accumulator a result; with lanes an accumulator a lane, a line at a time. */
#define LOOP(name, type, acc_type, out_type, start, load, combine, project, store) \
    static void name(const void *in, void *out, const struct loop_shape *s) \
    { \
        const type *x = in; \
        out_type *y = out; \
        acc_type acc[BLOCK]; \
        const acc_type n = (acc_type)(s->first * s->second); \
        (void)n; \
        for (int64_t k = 0; k < s->kept && s->lanes == 1; k++) { \
            acc_type one = start; \
            for (int64_t f = 0; f < s->first; f++) { \
                const type *row = x + (f * s->kept + k) * s->second; \
                for (int64_t i = 0; i < s->second; i++) \
                    one = combine(one, load(row[i])); \
            } \
            y[k] = (out_type)store(project(one, n)); \
        } \
        for (int64_t k = 0; k < s->kept && s->lanes > 1; k++) \
            for (int64_t l0 = 0; l0 < s->lanes; l0 += BLOCK) { \
                int64_t width = s->lanes - l0 < BLOCK ? s->lanes - l0 : BLOCK; \
                for (int64_t l = 0; l < width; l++) \
                    acc[l] = start; \
                for (int64_t f = 0; f < s->first; f++) \
                    for (int64_t i = 0; i < s->second; i++) { \
                        const type *line = x + ((f * s->kept + k) * s->second + i) * s->lanes + \
                                           l0; \
                        for (int64_t l = 0; l < width; l++) \
                            acc[l] = combine(acc[l], load(line[l])); \
                    } \
                for (int64_t l = 0; l < width; l++) \
                    y[k * s->lanes + l0 + l] = (out_type)store(project(acc[l], n)); \
            } \
    }

LOOP(sum_f64, double, double, double, 0, ONLY, PLUS, SAME, ONLY)
LOOP(sum_f32, float, float, float, 0, ONLY, PLUS, SAME, ONLY)
LOOP(sum_f16, half, float, half, 0, ONLY, PLUS, SAME, ONLY)
LOOP(sum_bf16, uint16_t, float, uint16_t, 0, from_bf16, PLUS, SAME, to_bf16)
LOOP(sum_i32, uint32_t, uint32_t, uint32_t, 0, ONLY, PLUS, SAME, ONLY)
LOOP(max_f64, double, double, double, -INFINITY, ONLY, LARGER, SAME, ONLY)
LOOP(max_f32, float, float, float, -INFINITY, ONLY, LARGER, SAME, ONLY)
LOOP(max_f16, half, float, half, -INFINITY, ONLY, LARGER, SAME, ONLY)
LOOP(max_bf16, uint16_t, float, uint16_t, -INFINITY, from_bf16, LARGER, SAME, to_bf16)
LOOP(max_i32, int32_t, int32_t, int32_t, INT32_MIN, ONLY, LARGER, SAME, ONLY)
LOOP(max_i8, int8_t, int8_t, int8_t, INT8_MIN, ONLY, LARGER, SAME, ONLY)
LOOP(mean_f32, float, float, float, 0, ONLY, PLUS, MEAN, ONLY)
LOOP(prod_f32, float, float, float, 1, ONLY, TIMES, SAME, ONLY)
LOOP(l2_f32, float, float, float, 0, ONLY, SQUARE, ROOT, ONLY)

/* The index among the reduced elements. */
static void argmax_f32(const void *in, void *out, const struct loop_shape *s)
{
    const float *x = in;
    int64_t *y = out;
    float best[BLOCK];
    for (int64_t k = 0; k < s->kept && s->lanes == 1; k++) {
        float one = -INFINITY;
        int64_t at = 0;
        for (int64_t f = 0; f < s->first; f++) {
            const float *row = x + (f * s->kept + k) * s->second;
            for (int64_t i = 0; i < s->second; i++)
                if (row[i] > one) {
                    one = row[i];
                    at = f * s->second + i;
                }
        }
        y[k] = at;
    }
    for (int64_t k = 0; k < s->kept && s->lanes > 1; k++)
        for (int64_t l0 = 0; l0 < s->lanes; l0 += BLOCK) {
            int64_t width = s->lanes - l0 < BLOCK ? s->lanes - l0 : BLOCK;
            int64_t *at = y + k * s->lanes + l0;
            for (int64_t l = 0; l < width; l++) {
                best[l] = -INFINITY;
                at[l] = 0;
            }
            for (int64_t f = 0; f < s->first; f++)
                for (int64_t i = 0; i < s->second; i++) {
                    const float *line = x + ((f * s->kept + k) * s->second + i) * s->lanes + l0;
                    for (int64_t l = 0; l < width; l++) {
                        at[l] = line[l] > best[l] ? f * s->second + i : at[l];
                        best[l] = LARGER(best[l], line[l]);
                    }
                }
        }
}

/* In two passes, the maximum first. */
static void log_sum_exp_f32(const void *in, void *out, const struct loop_shape *s)
{
    const float *x = in;
    float *y = out, most[BLOCK], sums[BLOCK];
    max_f32(in, out, s);
    for (int64_t k = 0; k < s->kept && s->lanes == 1; k++) {
        float sum = 0, top = y[k];
        for (int64_t f = 0; f < s->first; f++) {
            const float *row = x + (f * s->kept + k) * s->second;
            for (int64_t i = 0; i < s->second; i++)
                sum += expf(row[i] - top);
        }
        y[k] = top + logf(sum);
    }
    for (int64_t k = 0; k < s->kept && s->lanes > 1; k++)
        for (int64_t l0 = 0; l0 < s->lanes; l0 += BLOCK) {
            int64_t width = s->lanes - l0 < BLOCK ? s->lanes - l0 : BLOCK;
            for (int64_t l = 0; l < width; l++) {
                most[l] = y[k * s->lanes + l0 + l];
                sums[l] = 0;
            }
            for (int64_t f = 0; f < s->first; f++)
                for (int64_t i = 0; i < s->second; i++) {
                    const float *line = x + ((f * s->kept + k) * s->second + i) * s->lanes + l0;
                    for (int64_t l = 0; l < width; l++)
                        sums[l] += expf(line[l] - most[l]);
                }
            for (int64_t l = 0; l < width; l++)
                y[k * s->lanes + l0 + l] = most[l] + logf(sums[l]);
        }
}

#define ENTRY(name) { #name, name }

static const struct {
    const char *name;
    loop run;
} loops[] = {
    ENTRY(sum_f64),  ENTRY(sum_f32), ENTRY(sum_f16),    ENTRY(sum_bf16),
    ENTRY(sum_i32),  ENTRY(max_f64), ENTRY(max_f32),    ENTRY(max_f16),
    ENTRY(max_bf16), ENTRY(max_i32), ENTRY(max_i8),     ENTRY(mean_f32),
    ENTRY(prod_f32), ENTRY(l2_f32),  ENTRY(argmax_f32), ENTRY(log_sum_exp_f32),
};

/* `name` is op_dtype; NULL where there is none. */
loop loop_find(const char *name)
{
    for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
        if (strcmp(loops[i].name, name) == 0)
            return loops[i].run;
    return NULL;
}
