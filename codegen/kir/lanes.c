/*
 * C's arithmetic on lanes: what the interpreter computes with, and the builder folds with. Integers
 * wrap (all arithmetic is on uint64_t, the low bits are kept); floats are C's float and double,
 * rounded to nearest even; f16 is converted in software, so that no machine's half unit is trusted.
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
    LANES(eq_##K, U, uint8_t, x == y) \
    LANES(ne_##K, U, uint8_t, x != y) \
    LANES(slt_##K, U, uint8_t, (S)x < (S)y) \
    LANES(sle_##K, U, uint8_t, (S)x <= (S)y) \
    LANES(ult_##K, U, uint8_t, x < y) \
    LANES(ule_##K, U, uint8_t, x <= y)

#define FLOAT(K, F) \
    LANES(add_##K, F, F, x + y) \
    LANES(sub_##K, F, F, x - y) \
    LANES(mul_##K, F, F, x *y) \
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
    [KIR_ADD] = OF_NUMBERS(add),    [KIR_SUB] = OF_NUMBERS(sub),
    [KIR_MUL] = OF_NUMBERS(mul),    [KIR_UDIV] = { [KIR_I64] = udiv_i64 },
    [KIR_AND] = OF_BITS(and),       [KIR_OR] = OF_BITS(or),
    [KIR_XOR] = OF_BITS(xor),       [KIR_SHL] = OF_INTEGERS(shl),
    [KIR_LSHR] = OF_INTEGERS(lshr), [KIR_ASHR] = OF_INTEGERS(ashr),
    [KIR_UMIN] = OF_INTEGERS(umin), [KIR_UMAX] = OF_INTEGERS(umax),
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

/* ---- conversions of one lane, bits to bits ---- */

static uint64_t same_bits(uint64_t x, unsigned from_bits)
{
    (void)from_bits;
    return x; /* kir_low_bits does the rest */
}

static uint64_t sign_extended(uint64_t x, unsigned from_bits)
{
    uint64_t sign = UINT64_C(1) << (from_bits - 1);
    return (x ^ sign) - sign;
}

static uint64_t f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float f32_of(uint64_t x)
{
    uint32_t bits = (uint32_t)x;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* f16 and f32 bits; every f16 is an f32. */
static uint64_t f16_to_f32(uint64_t half)
{
    uint64_t sign = (half & 0x8000) << 16, magnitude = half & 0x7fff;
    if (magnitude >= 0x7c00) { /* infinity; NaN, made quiet as hardware does */
        uint64_t quiet = magnitude > 0x7c00 ? 0x400000 : 0;
        return sign | 0x7f800000 | (magnitude & 0x3ff) << 13 | quiet;
    }
    /* Read as f32 the exponent is 112 too small; the product is exact, for subnormals as well. */
    return sign | f32_bits(f32_of(magnitude << 13) * 0x1p112f);
}

static uint64_t f32_to_f16(uint64_t x)
{
    uint64_t sign = x >> 16 & 0x8000, magnitude = x & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
    }
    if (magnitude < 0x38800000) { /* below the least normal: units of 2^-24, rounded by the adder */
        return sign | (f32_bits(f32_of(magnitude) + 0.5f) - f32_bits(0.5f));
    }
    /* Ties to even; what reaches 65520 carries into infinity. */
    magnitude += 0xfff + (magnitude >> 13 & 1);
    return sign | (magnitude < 0x47800000 ? (magnitude - 0x38000000) >> 13 : 0x7c00);
}

static uint64_t extended(uint64_t x, unsigned from_bits)
{
    if (from_bits == 16) {
        return f16_to_f32(x);
    }
    double wide = (double)f32_of(x);
    uint64_t bits;
    memcpy(&bits, &wide, sizeof bits);
    return bits;
}

static uint64_t truncated(uint64_t x, unsigned from_bits)
{
    if (from_bits == 32) {
        return f32_to_f16(x);
    }
    double wide;
    memcpy(&wide, &x, sizeof wide);
    return f32_bits((float)wide);
}

typedef uint64_t (*convert_one)(uint64_t x, unsigned from_bits);

static const convert_one conversions[KIR_OP_COUNT] = {
    [KIR_ZEXT] = same_bits, [KIR_SEXT] = sign_extended, [KIR_TRUNC] = same_bits,
    [KIR_FPEXT] = extended, [KIR_FPTRUNC] = truncated,
};

/* Lanes follow one another from the low bits up; only i1 is wider in its slot than its bits. */
static void bitcast(kir_type to, void *d, kir_type from, const void *x)
{
    unsigned from_bits = kir_kind_bits((kir_kind)from.kind);
    unsigned to_bits = kir_kind_bits((kir_kind)to.kind);
    for (unsigned i = 0; i < to.lanes; i++) {
        uint64_t bits = 0;
        for (unsigned at = 0; at < to_bits;) {
            unsigned position = i * to_bits + at, lane = position / from_bits;
            unsigned skip = position % from_bits;
            uint64_t piece = kir_lane_get(kir_kind_bytes((kir_kind)from.kind), x, lane) >> skip;
            bits |= piece << at;
            at += from_bits - skip;
        }
        bits = kir_low_bits((kir_kind)to.kind, bits);
        kir_lane_put(kir_kind_bytes((kir_kind)to.kind), d, i, bits);
    }
}

void kir_lanes_convert(kir_op op, kir_type to, void *d, kir_type from, const void *x)
{
    if (op == KIR_BITCAST) {
        bitcast(to, d, from, x);
        return;
    }
    convert_one convert = conversions[op];
    unsigned from_bytes = kir_kind_bytes((kir_kind)from.kind);
    unsigned from_bits = kir_kind_bits((kir_kind)from.kind);
    unsigned to_bytes = kir_kind_bytes((kir_kind)to.kind);
    for (unsigned i = 0; i < to.lanes; i++) {
        uint64_t bits = convert(kir_lane_get(from_bytes, x, i), from_bits);
        kir_lane_put(to_bytes, d, i, kir_low_bits((kir_kind)to.kind, bits));
    }
}
