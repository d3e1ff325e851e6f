/*
 * Operators as rows of a table: how two accumulators combine, and from what a scan starts.
 */
#include "template.h"

typedef struct operator_row {
    uint8_t op;            /* tally_op */
    uint8_t combine;       /* kir_op, for integers and floats alike */
    int64_t integer;       /* identity of integers */
    double start;          /* identity of floats: what an exclusive scan shows first */
    double neutral;        /* of floats: combines to the very bits of the other operand */
    uint16_t half, bfloat; /* its bits as f16 and bf16 */
} operator_row;

static const operator_row operators[] = {
    { TALLY_CUMSUM, KIR_ADD, 0, +0.0, -0.0, 0x8000, 0x8000 },
    { TALLY_CUMPROD, KIR_MUL, 1, 1.0, 1.0, 0x3c00, 0x3f80 },
};

static const operator_row *row_of(const tly_build *c)
{
    return &operators[c->p->op == TALLY_CUMPROD];
}

static kir_value constant(tly_build *c, kir_type type, int64_t integer, double real)
{
    union {
        double d;
        uint64_t bits;
    } f64 = { .d = real };
    union {
        float f;
        uint32_t bits;
    } f32 = { .f = (float)real };
    if (type.kind == KIR_F64)
        return kir_const(c->b, type, f64.bits);
    if (type.kind == KIR_F32)
        return kir_const(c->b, type, f32.bits);
    return kir_const(c->b, type, (uint64_t)integer);
}

kir_value tly_combine(tly_build *c, kir_value x, kir_value y)
{
    return kir_bin(c->b, (kir_op)row_of(c)->combine, x, y);
}

kir_value tly_neutral(tly_build *c, kir_type type)
{
    if (type.kind == KIR_F16)
        return kir_const(c->b, type, row_of(c)->half);
    if (type.kind == KIR_I16)
        return kir_const(c->b, type, row_of(c)->bfloat);
    return constant(c, type, row_of(c)->integer, row_of(c)->neutral);
}

kir_value tly_start(tly_build *c, kir_type type)
{
    const operator_row *r = row_of(c);
    return constant(c, type, r->integer, c->p->exclusive ? r->start : r->neutral);
}

int tly_is_product(const tly_build *c)
{
    return c->p->op == TALLY_CUMPROD;
}

int tly_is_floating(const tly_build *c)
{
    return kir_is_float(c->acc);
}
