/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C's arithmetic on lanes: what the interpreter computes with, and the builder folds with. Integers
 * wrap (all arithmetic is on uint64_t, the low bits are kept); floats are C's float and double,
 * rounded to nearest even. Conversions are in convert.c.
 */
#include "internal.h"

#include <string.h>

/* Slots are read and written through memcpy, as one slot is seen as different types. */
#define LANES(name, T, R, expression) \
    static int name(void *d, const void *xs, const void *ys, unsigned n) \
    { \
        for (unsigned i = 0; i < n; i++) { \
            T x, y; \
            memcpy(&x, (const char *)xs + i * sizeof x, sizeof x); \
            memcpy(&y, (const char *)ys + i * sizeof y, sizeof y); \
            R r = (R)(expression); \
            memcpy((char *)d + i * sizeof r, &r, sizeof r); \
        } \
        return 0; \
    }

/* As LANES, where C has an answer only if `defined`. */
#define LANES_IF(name, T, defined, expression) \
    static int name(void *d, const void *xs, const void *ys, unsigned n) \
    { \
        for (unsigned i = 0; i < n; i++) { \
            T x, y; \
            memcpy(&x, (const char *)xs + i * sizeof x, sizeof x); \
            memcpy(&y, (const char *)ys + i * sizeof y, sizeof y); \
            if (!(defined)) { \
                return 1; \
            } \
            T r = (T)(expression); \
            memcpy((char *)d + i * sizeof r, &r, sizeof r); \
        } \
        return 0; \
    }

#define INTEGER(K, U, S) \
    LANES(add_##K, U, U, (uint64_t)x + y) \
    LANES(sub_##K, U, U, (uint64_t)x - y) \
    LANES(mul_##K, U, U, (uint64_t)x *y) \
    LANES(and_##K, U, U, x &y) \
    LANES(or_##K, U, U, x | y) \
    LANES(xor_##K, U, U, x ^ y) \
    LANES_IF(shl_##K, U, y < 8 * sizeof x, (uint64_t)x << y) \
    LANES_IF(lshr_##K, U, y < 8 * sizeof x, (uint64_t)x >> y) \
    LANES_IF(ashr_##K, U, y < 8 * sizeof x, (int64_t)(S)x >> y) \
    LANES(umin_##K, U, U, x < y ? x : y) \
    LANES(umax_##K, U, U, x > y ? x : y) \
    LANES(smin_##K, U, U, (S)x < (S)y ? x : y) \
    LANES(smax_##K, U, U, (S)x > (S)y ? x : y) \
    LANES(eq_##K, U, uint8_t, x == y) \
    LANES(ne_##K, U, uint8_t, x != y) \
    LANES(slt_##K, U, uint8_t, (S)x < (S)y) \
    LANES(sle_##K, U, uint8_t, (S)x <= (S)y) \
    LANES(ult_##K, U, uint8_t, x < y) \
    LANES(ule_##K, U, uint8_t, x <= y)

/* Zeros are equal to C: of those the sign decides. */
#define BELOW(x, y) ((x) < (y) || ((x) == (y) && !__builtin_signbit(x) < !__builtin_signbit(y)))
#define IS_NAN(x) ((x) != (x))

#define FLOAT(K, F) \
    LANES(add_##K, F, F, x + y) \
    LANES(sub_##K, F, F, x - y) \
    LANES(mul_##K, F, F, x *y) \
    LANES(div_##K, F, F, x / y) \
    LANES(minimum_##K, F, F, IS_NAN(x) ? x : IS_NAN(y) || BELOW(y, x) ? y : x) \
    LANES(maximum_##K, F, F, IS_NAN(x) ? x : IS_NAN(y) || BELOW(x, y) ? y : x) \
    LANES(minimum_number_##K, F, F, IS_NAN(x) || BELOW(y, x) ? y : x) \
    LANES(maximum_number_##K, F, F, IS_NAN(x) || BELOW(x, y) ? y : x) \
    LANES(oeq_##K, F, uint8_t, x == y) \
    LANES(une_##K, F, uint8_t, x != y) \
    LANES(olt_##K, F, uint8_t, x < y) \
    LANES(ole_##K, F, uint8_t, x <= y) \
    LANES(uno_##K, F, uint8_t, x != x || y != y)

INTEGER(i8, uint8_t, int8_t)
INTEGER(i16, uint16_t, int16_t)
INTEGER(i32, uint32_t, int32_t)
INTEGER(i64, uint64_t, int64_t)
FLOAT(f32, float)
FLOAT(f64, double)
LANES_IF(udiv_i32, uint32_t, y != 0, x / y)
LANES_IF(udiv_i64, uint64_t, y != 0, x / y)

/* i1 is a byte 0 or 1, on which and, or, xor are those of i8. */
#define OF_BITS(op) \
    { [KIR_I1] = op##_i8, \
      [KIR_I8] = op##_i8, \
      [KIR_I16] = op##_i16, \
      [KIR_I32] = op##_i32, \
      [KIR_I64] = op##_i64 }
#define OF_INTEGERS(op) \
    { [KIR_I8] = op##_i8, [KIR_I16] = op##_i16, [KIR_I32] = op##_i32, [KIR_I64] = op##_i64 }
#define OF_FLOATS(op) { [KIR_F32] = op##_f32, [KIR_F64] = op##_f64 }
#define OF_NUMBERS(op) \
    { [KIR_I8] = op##_i8,   [KIR_I16] = op##_i16, [KIR_I32] = op##_i32, \
      [KIR_I64] = op##_i64, [KIR_F32] = op##_f32, [KIR_F64] = op##_f64 }

static const kir_lanes binaries[][KIR_KIND_COUNT] = {
    [KIR_ADD] = OF_NUMBERS(add),
    [KIR_SUB] = OF_NUMBERS(sub),
    [KIR_MUL] = OF_NUMBERS(mul),
    [KIR_UDIV] = { [KIR_I32] = udiv_i32, [KIR_I64] = udiv_i64 },
    [KIR_AND] = OF_BITS(and),
    [KIR_OR] = OF_BITS(or),
    [KIR_XOR] = OF_BITS(xor),
    [KIR_SHL] = OF_INTEGERS(shl),
    [KIR_LSHR] = OF_INTEGERS(lshr),
    [KIR_ASHR] = OF_INTEGERS(ashr),
    [KIR_UMIN] = OF_INTEGERS(umin),
    [KIR_UMAX] = OF_INTEGERS(umax),
    [KIR_SMIN] = OF_INTEGERS(smin),
    [KIR_SMAX] = OF_INTEGERS(smax),
    [KIR_DIV] = OF_FLOATS(div),
    [KIR_MINIMUM] = OF_FLOATS(minimum),
    [KIR_MAXIMUM] = OF_FLOATS(maximum),
    [KIR_MINIMUM_NUMBER] = OF_FLOATS(minimum_number),
    [KIR_MAXIMUM_NUMBER] = OF_FLOATS(maximum_number),
};

static const kir_lanes comparisons[KIR_PRED_COUNT][KIR_KIND_COUNT] = {
    [KIR_EQ] = OF_INTEGERS(eq),   [KIR_NE] = OF_INTEGERS(ne),   [KIR_SLT] = OF_INTEGERS(slt),
    [KIR_SLE] = OF_INTEGERS(sle), [KIR_ULT] = OF_INTEGERS(ult), [KIR_ULE] = OF_INTEGERS(ule),
    [KIR_OEQ] = OF_FLOATS(oeq),   [KIR_UNE] = OF_FLOATS(une),   [KIR_OLT] = OF_FLOATS(olt),
    [KIR_OLE] = OF_FLOATS(ole),   [KIR_UNO] = OF_FLOATS(uno),
};

kir_lanes kir_lanes_binary(kir_op op, kir_kind kind)
{
    return (size_t)op < sizeof binaries / sizeof *binaries ? binaries[op][kind] : NULL;
}

kir_lanes kir_lanes_compare(kir_pred pred, kir_kind kind)
{
    return comparisons[pred][kind];
}

/* ---- single lanes as bits ---- */

uint64_t kir_lane_get(unsigned bytes, const void *slot, unsigned lane)
{
    const char *at = (const char *)slot + (size_t)lane * bytes;
    uint8_t b1;
    uint16_t b2;
    uint32_t b4;
    uint64_t b8;
    switch (bytes) {
    case 1:
        memcpy(&b1, at, sizeof b1);
        return b1;
    case 2:
        memcpy(&b2, at, sizeof b2);
        return b2;
    case 4:
        memcpy(&b4, at, sizeof b4);
        return b4;
    default:
        memcpy(&b8, at, sizeof b8);
        return b8;
    }
}

void kir_lane_put(unsigned bytes, void *slot, unsigned lane, uint64_t bits)
{
    char *at = (char *)slot + (size_t)lane * bytes;
    uint8_t b1 = (uint8_t)bits;
    uint16_t b2 = (uint16_t)bits;
    uint32_t b4 = (uint32_t)bits;
    switch (bytes) {
    case 1:
        memcpy(at, &b1, sizeof b1);
        break;
    case 2:
        memcpy(at, &b2, sizeof b2);
        break;
    case 4:
        memcpy(at, &b4, sizeof b4);
        break;
    default:
        memcpy(at, &bits, sizeof bits);
        break;
    }
}
