/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of the linear template: a vector's elements as what they do to the state before them. Two
 * neighbouring pieces of a recurrence make (A*A', A'*B + B'). If a head lies between two elements,
 * the former has no part in the latter's result.
 */
#include "linear.h"

/* ---- where states are kept ---- */

/* Where vectors of i1 are bits in registers of their own, LLVM shuffles them by way of vectors of
 * integers. There, each lane has the bits of all heads, and tests those between it and the element
 * that is to join it: no lane waits for another, and nothing but the tests' results are moved to
 * mask registers, which take one scalar a cycle. */
static int has_windows(const tly_build *c, unsigned lanes)
{
    return c->t->has_mask_registers && lanes >= 8 && lanes <= 8 * c->acc_bytes;
}

/* The same of small integers, which are too many for a lane's bits: one scalar, shifted. */
static int are_bits(const tly_build *c, unsigned lanes)
{
    return c->t->has_mask_registers && lanes > 8 * c->acc_bytes;
}

static kir_value kept_unless(tly_build *c, kir_value heads)
{
    const unsigned lanes = type_of(c, heads).lanes;
    if (has_windows(c, lanes))
        return tly_not(c, heads);
    if (are_bits(c, lanes))
        return bitcast(c, KIR_TYPE(integer_of(lanes / 8), 1), tly_not(c, heads));
    const kir_type t = KIR_TYPE(integer_of(c->acc_bytes), lanes);
    return choose(c, heads, constant(c, t, 0), constant(c, t, UINT64_MAX));
}

/* The bits of a vector's heads, in each lane. */
static kir_value heads_in_lanes(tly_build *c, kir_value heads)
{
    const kir_type t = tly_lane_numbers(c);
    kir_value bits = bitcast(c, KIR_TYPE(integer_of(t.lanes / 8), 1), heads);
    if (t.lanes < 8 * c->acc_bytes)
        bits = to_kind(c, KIR_ZEXT, (kir_kind)t.kind, bits);
    return kir_splat(c->b, bits, t.lanes);
}

/* i1s: no head is among the elements whose bits `window` has in each lane: that of the element, and
 * of those before it which have joined it. */
static kir_value is_window_clear(tly_build *c, kir_value heads, kir_value window)
{
    return equal(c, band(c, heads, window), like(c, heads, 0));
}

static kir_value with_before(tly_build *c, kir_value keeps, unsigned apart)
{
    if (!are_bits(c, c->lanes))
        return band(c, keeps, tly_shift(c, like(c, keeps, UINT64_MAX), keeps, apart));
    kir_value moved = shl(c, keeps, like(c, keeps, apart));
    return band(c, keeps, bor(c, moved, like(c, keeps, ((uint64_t)1 << apart) - 1)));
}

/* i1s, as many as a state has lanes. */
static kir_value is_kept(tly_build *c, const tly_piece *p)
{
    const kir_type keeps = type_of(c, p->keeps), state = type_of(c, p->state);
    if (keeps.kind == KIR_I1)
        return p->keeps;
    if (keeps.lanes < state.lanes)
        return bitcast(c, KIR_TYPE(KIR_I1, state.lanes), p->keeps);
    return less(c, p->keeps, like(c, p->keeps, 0)); /* the sign: what blends look at, too */
}

/* ---- pieces ---- */

kir_value tly_piece_join(tly_build *c, kir_value before, const tly_piece *p)
{
    kir_value joined = p->factor != 0 ? add(c, mul(c, p->factor, before), p->state)
                                      : tly_combine(c, before, p->state);
    return p->keeps != 0 ? choose(c, is_kept(c, p), joined, p->state) : joined;
}

void tly_piece_scan(tly_build *c, tly_piece *p)
{
    kir_value none = tly_neutral(c, c->vec), one = 0;
    if (p->factor != 0)
        one = like(c, p->factor, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    const int windows = p->keeps != 0 && has_windows(c, c->lanes);
    kir_value heads = windows ? heads_in_lanes(c, p->heads) : 0, window = 0;
    if (windows)
        window = shl(c, like(c, heads, 1), kir_iota(c->b, type_of(c, heads)));
    for (unsigned apart = c->p->interleave; apart < c->lanes; apart *= 2) {
        p->state = tly_piece_join(c, tly_shift(c, none, p->state, apart), p);
        if (p->factor != 0)
            p->factor = mul(c, p->factor, tly_shift(c, one, p->factor, apart));
        if (windows) {
            window = bor(c, window, lshr(c, window, like(c, heads, apart)));
            p->keeps = is_window_clear(c, heads, window);
        } else if (p->keeps != 0) {
            p->keeps = with_before(c, p->keeps, apart);
        }
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

static kir_value last_of(tly_build *c, kir_value v)
{
    return type_of(c, v).lanes > 1 ? tly_spread_last(c, v) : kir_splat(c->b, v, c->lanes);
}

tly_piece tly_piece_last(tly_build *c, const tly_piece *p)
{
    const unsigned lanes = type_of(c, p->state).lanes;
    tly_piece last = { .state = last_of(c, p->state),
                       .factor = p->factor != 0 ? last_of(c, p->factor) : 0 };
    if (p->keeps != 0)
        last.keeps = lanes > 1 ? kir_extract(c->b, is_kept(c, p), lanes - 1) : is_kept(c, p);
    return last;
}

/* The first element of a row is its addend, whatever comes before it: 1 * -0 + u. */
static kir_value first_factor(tly_build *c, const tly_place *at, kir_value factor)
{
    kir_value begins = tly_begins(c, at);
    if (begins == 0)
        return factor;
    kir_value one = like(c, factor, tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
    if (type_of(c, factor).lanes > 1)
        begins = tly_lanes_that_begin(c, at, begins);
    return choose(c, begins, one, factor);
}

tly_piece tly_piece_of(tly_build *c, const tly_place *at, kir_value x, unsigned lanes)
{
    const int recurs = tly_operator_of(c->p)->applies;
    tly_piece p = { .state = tly_element(c, at, x) };
    if (tly_has_heads(c)) {
        p.heads = tly_take_head(c, &p.state);
        p.keeps = kept_unless(c, p.heads);
    }
    if (recurs) {
        p.factor = first_factor(c, at, part(c, p.state, 0));
        p.state = part(c, p.state, 1);
    } else if (p.heads != 0 && c->p->exclusive &&
               !tly_linear_has_states(c)) { /* the identity takes part */
        kir_value start = tly_start(c, KIR_TYPE(c->acc.kind, lanes));
        p.state = choose(c, p.heads, tly_combine(c, start, p.state), p.state);
    }
    return p;
}
