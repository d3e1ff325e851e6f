/*
 * What the problem's operator (codegen/operator.h) does, as kernel IR.
 */
#include "template.h"

static const tly_operator *row_of(const tly_build *c)
{
    return tly_operator_find(c->p->op);
}

/* Of an accumulator, or of an element as it is stored. */
static kir_value constant(tly_build *c, kir_type type, tly_value value)
{
    int is_acc = type.kind == c->acc.kind;
    tally_dtype dtype = (tally_dtype)(is_acc && !row_of(c)->picks ? c->p->acc : c->p->dtype);
    uint64_t bits = tly_value_bits(value, dtype);
    return kir_const(c->b, type, is_acc && row_of(c)->picks ? tly_key_bits(c, bits) : bits);
}

kir_value tly_combine(tly_build *c, kir_value x, kir_value y)
{
    return kir_bin(c->b, tly_combines_by(c->p), x, y);
}

kir_value tly_neutral(tly_build *c, kir_type type)
{
    return constant(c, type, tly_neutral_value(c->p));
}

kir_value tly_start(tly_build *c, kir_type type)
{
    return c->p->exclusive ? constant(c, type, (tly_value)row_of(c)->identity)
                           : tly_neutral(c, type);
}

int tly_is_floating(const tly_build *c)
{
    return kir_is_float(c->acc);
}
