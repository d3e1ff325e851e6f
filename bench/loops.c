/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a C programmer gets without Tally: the plain loop at -O3 for this machine, and gcc's
 * `omp simd inscan`, for every dtype and layout of the case table. Written as one would write them
 * by hand, tuned no further; for gcc, as clang 19 does not vectorise inscan. Nothing here checks
 * its arguments: the harness does.
 *
 * A row loop walks one axis at any stride (rows, strided, backwards, transposed); a column loop
 * has `inner` contiguous elements beside the axis and scans from the previous line of the output.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "narrow.h"

/* Strides count elements. The output is always packed; `row_stride` and `stride` are the input's,
 * and the column loop's input is packed, too. */
struct loop_shape {
    int64_t outer, axis, inner;
    int64_t row_stride, stride;
};

typedef void (*loop)(const void *in, void *out, const struct loop_shape *shape);

#define SAME(x) (x)
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))

/* The output line before serves as accumulator where it has the accumulator's type: gcc vectorises
 * over `inner`. Narrow types need the wide value kept: a loop down each column. */
#define COLUMNS_WIDE(name, type, acc_type, load, store, combine) \
    static void columns_##name(const void *in, void *out, const struct loop_shape *shape) \
    { \
        int64_t inner = shape->inner; \
        for (int64_t o = 0; o < shape->outer; o++) { \
            const type *x = (const type *)in + o * shape->axis * inner; \
            type *y = (type *)out + o * shape->axis * inner; \
            memcpy(y, x, (size_t)inner * sizeof(type)); \
            for (int64_t i = 1; i < shape->axis; i++) \
                for (int64_t k = 0; k < inner; k++) \
                    y[i * inner + k] = (type)combine(y[(i - 1) * inner + k], x[i * inner + k]); \
        } \
    }

#define COLUMNS_NARROW(name, type, acc_type, load, store, combine) \
    static void columns_##name(const void *in, void *out, const struct loop_shape *shape) \
    { \
        enum { BLOCK = 1024 }; \
        acc_type sums[BLOCK]; \
        int64_t inner = shape->inner; \
        for (int64_t o = 0; o < shape->outer; o++) \
            for (int64_t k0 = 0; k0 < inner; k0 += BLOCK) { \
                int64_t width = inner - k0 < BLOCK ? inner - k0 : BLOCK; \
                const type *x = (const type *)in + o * shape->axis * inner + k0; \
                type *y = (type *)out + o * shape->axis * inner + k0; \
                for (int64_t k = 0; k < width; k++) { \
                    sums[k] = load(x[k]); \
                    y[k] = x[k]; \
                } \
                for (int64_t i = 1; i < shape->axis; i++) \
                    for (int64_t k = 0; k < width; k++) { \
                        sums[k] = (acc_type)combine(sums[k], load(x[i * inner + k])); \
                        y[i * inner + k] = store(sums[k]); \
                    } \
            } \
    }

#define ROWS(name, type, acc_type, load, store, combine) \
    static void rows_##name(const void *in, void *out, const struct loop_shape *shape) \
    { \
        int64_t stride = shape->stride; \
        for (int64_t o = 0; o < shape->outer; o++) { \
            const type *x = (const type *)in + o * shape->row_stride; \
            type *y = (type *)out + o * shape->axis; \
            acc_type acc = load(x[0]); \
            y[0] = x[0]; \
            for (int64_t i = 1; i < shape->axis; i++) { \
                acc = (acc_type)combine(acc, load(x[i * stride])); \
                y[i] = store(acc); \
            } \
        } \
    }

#define PRAGMA(text) _Pragma(#text)

#define INSCAN(name, type, acc_type, load, store, combine, symbol, identity) \
    static void inscan_##name(const void *in, void *out, const struct loop_shape *shape) \
    { \
        for (int64_t o = 0; o < shape->outer; o++) { \
            const type *x = (const type *)in + o * shape->row_stride; \
            type *y = (type *)out + o * shape->axis; \
            acc_type acc = identity; \
            PRAGMA(omp simd reduction(inscan, symbol : acc)) \
            for (int64_t i = 0; i < shape->axis; i++) { \
                acc = (acc_type)combine(acc, load(x[i])); \
                _Pragma("omp scan inclusive(acc)") y[i] = store(acc); \
            } \
        } \
    }

#define LOOPS(columns, name, type, acc_type, load, store) \
    columns(cumsum_##name, type, acc_type, load, store, ADD) \
        columns(cumprod_##name, type, acc_type, load, store, MUL) \
            ROWS(cumsum_##name, type, acc_type, load, store, ADD) \
                ROWS(cumprod_##name, type, acc_type, load, store, MUL) \
                    INSCAN(cumsum_##name, type, acc_type, load, store, ADD, +, 0) \
                        INSCAN(cumprod_##name, type, acc_type, load, store, MUL, *, 1)

/* Signed integers wrap in Tally; in C only the unsigned ones do, and the bits are the same. */
LOOPS(COLUMNS_WIDE, f64, double, double, SAME, SAME)
LOOPS(COLUMNS_WIDE, f32, float, float, SAME, SAME)
LOOPS(COLUMNS_WIDE, u64, uint64_t, uint64_t, SAME, SAME)
LOOPS(COLUMNS_WIDE, u32, uint32_t, uint32_t, SAME, SAME)
LOOPS(COLUMNS_NARROW, f16, half, float, SAME, SAME)
LOOPS(COLUMNS_NARROW, bf16, uint16_t, float, from_bf16, to_bf16)

#define ENTRY(name, code) \
    { "cumsum", name, { rows_cumsum_##code, columns_cumsum_##code, inscan_cumsum_##code } }, \
    { \
        "cumprod", name, \
        { \
            rows_cumprod_##code, columns_cumprod_##code, inscan_cumprod_##code \
        } \
    }

static const struct {
    const char *op, *dtype;
    loop run[3];
} loops[] = {
    ENTRY("f64", f64), ENTRY("f32", f32), ENTRY("f16", f16), ENTRY("bf16", bf16),
    ENTRY("i64", u64), ENTRY("u64", u64), ENTRY("i32", u32), ENTRY("u32", u32),
};

/* The ceiling in the caches: `axis` words of eight bytes, copied by a loop. */
void loop_copy(const void *in, void *out, const struct loop_shape *shape)
{
    const uint64_t *x = in;
    uint64_t *y = out;
    for (int64_t i = 0; i < shape->axis; i++)
        y[i] = x[i];
}

/* kind: 0 rows, 1 columns, 2 inscan (contiguous rows only). NULL where there is none. */
loop loop_find(const char *op, const char *dtype, int kind)
{
    for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++)
        if (strcmp(loops[i].op, op) == 0 && strcmp(loops[i].dtype, dtype) == 0)
            return kind >= 0 && kind < 3 ? loops[i].run[kind] : NULL;
    return NULL;
}
