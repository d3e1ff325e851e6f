/*
 * The table of operators, and of the values that they start from.
 */
#include "operator.h"

#include <stddef.h>

#include "../runtime/error.h"

static const tly_operator operators[] = {
    { .op = TALLY_CUMSUM,
      .combine = { KIR_ADD, KIR_ADD, KIR_ADD },
      .identity = TLY_ZERO,
      .neutral = TLY_MINUS_ZERO,
      .watch = TLY_WATCH_SUMS,
      .subgroup_scan = KIR_SCAN_ADD },
    { .op = TALLY_CUMPROD,
      .combine = { KIR_MUL, KIR_MUL, KIR_MUL },
      .identity = TLY_ONE,
      .neutral = TLY_ONE,
      .watch = TLY_WATCH_PRODUCTS,
      .subgroup_scan = KIR_SCAN_MUL },
    { .op = TALLY_CUMMAX,
      .combine = { KIR_SMAX, KIR_UMAX, KIR_MAXIMUM },
      .identity = TLY_LOWEST,
      .neutral = TLY_LOWEST,
      .picks = TLY_PICK_HIGHEST },
    { .op = TALLY_CUMMIN,
      .combine = { KIR_SMIN, KIR_UMIN, KIR_MINIMUM },
      .identity = TLY_HIGHEST,
      .neutral = TLY_HIGHEST,
      .picks = TLY_PICK_LOWEST },
};

const tly_operator *tly_operator_find(int op)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (operators[i].op == op)
            return &operators[i];
    }
    return NULL;
}

tally_status tly_operator_check(const tly_problem *p, tally_error *error)
{
    if (tly_operator_find(p->op) != NULL)
        return TALLY_OK;
    return tly_fail(error, TALLY_UNSUPPORTED, "op",
                    "this generator makes no kernels for operator %d", p->op);
}

static const uint8_t classes[TALLY_DTYPE_COUNT] = {
    [TALLY_F64] = TLY_FLOATING,  [TALLY_F32] = TLY_FLOATING, [TALLY_F16] = TLY_FLOATING,
    [TALLY_BF16] = TLY_FLOATING, [TALLY_I64] = TLY_SIGNED,   [TALLY_I32] = TLY_SIGNED,
    [TALLY_I16] = TLY_SIGNED,    [TALLY_I8] = TLY_SIGNED,    [TALLY_U64] = TLY_UNSIGNED,
    [TALLY_U32] = TLY_UNSIGNED,  [TALLY_U16] = TLY_UNSIGNED, [TALLY_U8] = TLY_UNSIGNED,
    [TALLY_BOOL] = TLY_UNSIGNED,
};

tly_class tly_class_of(tally_dtype dtype)
{
    return (tly_class)classes[dtype];
}

kir_op tly_combines_by(const tly_problem *p)
{
    return (kir_op)tly_operator_find(p->op)->combine[tly_class_of((tally_dtype)p->acc)];
}

int tly_is_watched_as(const tly_problem *p, tly_watch watch)
{
    return tly_class_of((tally_dtype)p->acc) == TLY_FLOATING &&
           tly_operator_find(p->op)->watch == watch;
}

tly_value tly_neutral_value(const tly_problem *p)
{
    return p->ignores ? TLY_NAN : (tly_value)tly_operator_find(p->op)->neutral;
}

/* Bits of floats; of integers the number itself. */
static const struct {
    uint64_t f64, integer;
    uint32_t f32;
    uint16_t f16, bf16;
} values[TLY_VALUE_COUNT] = {
    [TLY_LOWEST] = { UINT64_C(0xfff0) << 48, 0, 0xff800000, 0xfc00, 0xff80 },
    [TLY_HIGHEST] = { UINT64_C(0x7ff0) << 48, 0, 0x7f800000, 0x7c00, 0x7f80 },
    [TLY_NAN] = { UINT64_C(0x7ff8) << 48, 0, 0x7fc00000, 0x7e00, 0x7fc0 },
    [TLY_ZERO] = { 0, 0, 0, 0, 0 },
    [TLY_MINUS_ZERO] = { UINT64_C(0x8000) << 48, 0, 0x80000000, 0x8000, 0x8000 },
    [TLY_ONE] = { UINT64_C(0x3ff0) << 48, 1, 0x3f800000, 0x3c00, 0x3f80 },
};

/* The ends of an integer dtype; of bool they are 0 and 1. */
static uint64_t end_of(tly_value value, tally_dtype dtype)
{
    unsigned bits = dtype == TALLY_BOOL ? 1 : 8 * (unsigned)tally_dtype_bytes(dtype);
    uint64_t all = UINT64_MAX >> (64 - bits), highest = all;
    if (tly_class_of(dtype) == TLY_SIGNED)
        highest >>= 1;
    return value == TLY_HIGHEST ? highest : all - highest;
}

uint64_t tly_value_bits(tly_value value, tally_dtype dtype)
{
    switch (dtype) {
    case TALLY_F64:
        return values[value].f64;
    case TALLY_F32:
        return values[value].f32;
    case TALLY_F16:
        return values[value].f16;
    case TALLY_BF16:
        return values[value].bf16;
    default:
        return value <= TLY_HIGHEST ? end_of(value, dtype) : values[value].integer;
    }
}
