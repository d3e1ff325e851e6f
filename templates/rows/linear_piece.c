/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of the linear template: a vector's elements as what they do to the state before them. Two
 * neighbouring pieces of a recurrence make (A*A', A'*B + B'). If a head lies between two elements,
 * the former has no part in the latter's result.
 */
#include "linear.h"

static kir_value keeps_state(tly_build *c, kir_value keeps)
{
    return differ(c, keeps, like(c, keeps, 0));
}

kir_value tly_piece_join(tly_build *c, kir_value before, const tly_piece *p)
{
    kir_value joined = p->factor != 0 ? add(c, mul(c, p->factor, before), p->state)
                                      : tly_combine(c, before, p->state);
    return p->keeps != 0 ? choose(c, keeps_state(c, p->keeps), joined, p->state) : joined;
}

void tly_piece_scan(tly_build *c, tly_piece *p)
{
    kir_value none = tly_neutral(c, c->vec), one = 0, all = 0;
    if (p->factor != 0)
        one = like(c, p->factor, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    if (p->keeps != 0)
        all = like(c, p->keeps, UINT64_MAX);
    for (unsigned apart = 1; apart < c->lanes; apart *= 2) {
        p->state = tly_piece_join(c, tly_shift(c, none, p->state, apart), p);
        if (p->factor != 0)
            p->factor = mul(c, p->factor, tly_shift(c, one, p->factor, apart));
        if (p->keeps != 0)
            p->keeps = band(c, p->keeps, tly_shift(c, all, p->keeps, apart));
    }
}

kir_value tly_spread_last(tly_build *c, kir_value v)
{
    const unsigned n = type_of(c, v).lanes;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)(n - 1);
    return kir_shuffle(c->b, v, v, index, n);
}

tly_piece tly_piece_last(tly_build *c, const tly_piece *p)
{
    return (tly_piece){ .state = tly_spread_last(c, p->state),
                        .factor = p->factor != 0 ? tly_spread_last(c, p->factor) : 0,
                        .keeps = p->keeps != 0 ? tly_spread_last(c, p->keeps) : 0 };
}

/* The first element of a row is its addend, whatever comes before it: 1 * -0 + u. */
static kir_value first_factor(tly_build *c, const tly_place *at, kir_value factor)
{
    kir_value begins = tly_begins(c, at);
    if (begins == 0)
        return factor;
    kir_value one = like(c, factor, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    if (type_of(c, factor).lanes > 1)
        begins = tly_lanes_below(c, choose(c, begins, imm(c, 1), imm(c, 0)));
    return choose(c, begins, one, factor);
}

tly_piece tly_piece_of(tly_build *c, const tly_place *at, kir_value x, unsigned lanes)
{
    const int recurs = tly_operator_of(c->p)->applies;
    tly_piece p = { .state = tly_element(c, at, x) };
    if (tly_has_heads(c)) {
        const kir_type t = KIR_TYPE(integer_of(c->acc_bytes), lanes);
        p.heads = tly_take_head(c, &p.state);
        p.keeps = choose(c, p.heads, constant(c, t, 0), constant(c, t, UINT64_MAX));
    }
    if (recurs) {
        p.factor = first_factor(c, at, part(c, p.state, 0));
        p.state = part(c, p.state, 1);
    } else if (p.heads != 0 && c->p->exclusive) { /* the identity takes part */
        kir_value start = tly_start(c, KIR_TYPE(c->acc.kind, lanes));
        p.state = choose(c, p.heads, tly_combine(c, start, p.state), p.state);
    }
    return p;
}
