/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: what several elements together do to the state before them. Of operators whose elements
 * are states, a window is a state. Of recurrences it is a pair (A, B), which makes A * y + B of a
 * state y; an element's factor and addend are such a pair. So a window has the parts of an element,
 * and an element is a window of one.
 */
#include "../template.h"

static kir_value one(tly_build *c, unsigned lanes)
{
    return constant(c, KIR_TYPE(c->acc.kind, lanes),
                    tly_value_bits(TLY_ONE, (tally_dtype)c->p->acc));
}

/* A window of a factor and a state. */
static kir_value window_of(tly_build *c, kir_value factor, kir_value state)
{
    kir_value v[KIR_MAX_PARTS] = { factor };
    const unsigned parts = kir_parts(c->b, state);
    for (unsigned i = 0; i < parts; i++)
        v[1 + i] = part(c, state, i);
    return kir_tuple(c->b, 1 + parts, v);
}

kir_value tly_neutral_window(tly_build *c, kir_type type)
{
    kir_value none = tly_neutral(c, type);
    return tly_factors(c->p) > 0 ? window_of(c, one(c, type.lanes), none) : none;
}

kir_value tly_window_of(tly_build *c, kir_value state)
{
    if (tly_factors(c->p) == 0)
        return state;
    return window_of(c, like(c, part(c, state, 0), 0), state);
}

kir_value tly_state_of(tly_build *c, kir_value window)
{
    kir_value v[KIR_MAX_PARTS];
    const unsigned factors = tly_factors(c->p), parts = tly_operator_of(c->p)->parts;
    if (factors == 0)
        return window;
    for (unsigned i = 0; i < parts; i++)
        v[i] = part(c, window, factors + i);
    return kir_tuple(c->b, parts, v);
}

/* ---- linear recurrences ---- */

kir_value tly_apply_linear(tly_build *c, kir_value state, kir_value element, kir_value first)
{
    kir_value addend = part(c, element, 1);
    kir_value next = add(c, mul(c, part(c, element, 0), state), addend);
    return first != 0 ? choose(c, first, addend, next) : next;
}

kir_value tly_combine_linear(tly_build *c, kir_value x, kir_value y)
{
    kir_value factor = part(c, y, 0), addend = part(c, y, 1);
    if (kir_parts(c->b, x) == 1)
        return add(c, mul(c, factor, x), addend);
    return pair(c, mul(c, part(c, x, 0), factor), add(c, mul(c, factor, part(c, x, 1)), addend));
}

/* ---- where a scan begins ---- */

/* 1 * -0 + u is u, to the bit. */
kir_value tly_behind_nothing(tly_build *c, const tly_place *at, kir_value element)
{
    kir_value begins = tly_factors(c->p) > 0 ? tly_begins(c, at) : 0;
    if (begins == 0)
        return element;
    kir_value v[KIR_MAX_PARTS] = { choose(c, begins, one(c, 1), part(c, element, 0)) };
    const unsigned parts = kir_parts(c->b, element);
    for (unsigned i = 1; i < parts; i++)
        v[i] = part(c, element, i);
    return kir_tuple(c->b, parts, v);
}

kir_value tly_shown_before(tly_build *c, const tly_place *at, kir_value state)
{
    kir_value begins = tly_factors(c->p) > 0 ? tly_begins(c, at) : 0;
    if (begins == 0)
        return state;
    return choose(c, begins, tly_start(c, type_of(c, part(c, state, 0))), state);
}
