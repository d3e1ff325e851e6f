/*
 * What the problem's operator (codegen/operator.h) does, as kernel IR.
 */
#include "template.h"

static const tly_operator *row_of(const tly_build *c)
{
    return tly_operator_find(c->p->op);
}

/* Of an accumulator, or of an element as it is stored. */
static kir_value constant(tly_build *c, kir_type type, uint8_t value)
{
    int32_t dtype = type.kind == c->acc.kind ? c->p->acc : c->p->dtype;
    return kir_const(c->b, type, tly_value_bits((tly_value)value, (tally_dtype)dtype));
}

kir_value tly_combine(tly_build *c, kir_value x, kir_value y)
{
    return kir_bin(c->b, tly_combines_by(c->p), x, y);
}

kir_value tly_neutral(tly_build *c, kir_type type)
{
    return constant(c, type, row_of(c)->neutral);
}

kir_value tly_start(tly_build *c, kir_type type)
{
    return constant(c, type, c->p->exclusive ? row_of(c)->identity : row_of(c)->neutral);
}

int tly_is_floating(const tly_build *c)
{
    return kir_is_float(c->acc);
}
