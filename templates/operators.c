/*
 * What the problem's operator (codegen/operator.h) does, as kernel IR.
 */
#include "template.h"

static const tly_operator *row_of(const tly_build *c)
{
    return tly_operator_find(c->p->op);
}

kir_value tly_lift_at(tly_build *c, kir_value x, kir_value index)
{
    const tly_operator *o = row_of(c);
    return o->lift ? o->lift(c, x, index) : x;
}

kir_value tly_lift(tly_build *c, kir_value x)
{
    return tly_lift_at(c, x, 0);
}

kir_value tly_project(tly_build *c, kir_value state)
{
    const tly_operator *o = row_of(c);
    return o->project ? o->project(c, state) : state;
}

kir_value tly_combine(tly_build *c, kir_value x, kir_value y)
{
    const tly_operator *o = row_of(c);
    return o->combine ? o->combine(c, x, y) : kir_bin(c->b, tly_combines_by(c->p), x, y);
}

/* ---- states that are known ---- */

static kir_type part_type(const tly_build *c, unsigned part, unsigned lanes)
{
    int index = row_of(c)->part[part] == TLY_PART_INDEX;
    return KIR_TYPE(index ? KIR_I64 : c->acc.kind, lanes);
}

static kir_value known(tly_build *c, const uint8_t *values, unsigned lanes)
{
    const tly_operator *o = row_of(c);
    kir_value v[KIR_MAX_PARTS];
    for (unsigned i = 0; i < o->parts; i++) {
        int index = o->part[i] == TLY_PART_INDEX;
        tly_value value = (tly_value)values[i];
        if (index && c->p->last) /* no element's index loses against it */
            value = TLY_LEAST;
        uint64_t bits = tly_value_bits(value, index ? TALLY_I64 : (tally_dtype)c->p->acc);
        v[i] = kir_const(c->b, part_type(c, i, lanes), bits);
    }
    return kir_tuple(c->b, o->parts, v);
}

kir_value tly_neutral(tly_build *c, kir_type type)
{
    return known(c, row_of(c)->neutral, type.lanes);
}

kir_value tly_start(tly_build *c, kir_type type)
{
    return known(c, c->p->exclusive ? row_of(c)->identity : row_of(c)->neutral, type.lanes);
}

kir_value tly_padding(tly_build *c, kir_type type)
{
    int32_t dtype = type.kind == c->acc.kind ? c->p->acc : c->p->dtype;
    tly_value value = (tly_value)row_of(c)->padding;
    return kir_const(c->b, type, tly_value_bits(value, (tally_dtype)dtype));
}

int tly_is_floating(const tly_build *c)
{
    return kir_is_float(c->acc);
}

/* ---- states in memory ---- */

static unsigned bytes_of(kir_type type)
{
    return kir_kind_bits((kir_kind)type.kind) / 8 * type.lanes;
}

/* A plane behind others is as well aligned as what lies before it. */
static unsigned align_at(unsigned align, unsigned skipped)
{
    return skipped % align == 0 ? align : skipped & -skipped;
}

kir_value tly_load_state(tly_build *c, kir_value p, int64_t offset, unsigned lanes, unsigned align)
{
    kir_value v[KIR_MAX_PARTS];
    unsigned parts = row_of(c)->parts, skipped = 0;
    for (unsigned i = 0; i < parts; i++) {
        kir_type type = part_type(c, i, lanes);
        v[i] = kir_load(c->b, type, p, offset + skipped, align_at(align, skipped));
        skipped += bytes_of(type);
    }
    return kir_tuple(c->b, parts, v);
}

void tly_store_state(tly_build *c, kir_value p, int64_t offset, kir_value state, unsigned align)
{
    unsigned skipped = 0;
    for (unsigned i = 0; i < kir_parts(c->b, state); i++) {
        kir_value v = kir_part(c->b, state, i);
        kir_store(c->b, p, offset + skipped, v, align_at(align, skipped), 0);
        skipped += bytes_of(kir_type_of(c->b, v));
    }
}
