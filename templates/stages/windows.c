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

/* A value with one part more in front. */
static kir_value in_front_of(tly_build *c, kir_value first, kir_value rest)
{
    kir_value v[KIR_MAX_PARTS] = { first };
    const unsigned parts = kir_parts(c->b, rest);
    for (unsigned i = 0; i < parts; i++)
        v[1 + i] = part(c, rest, i);
    return kir_tuple(c->b, 1 + parts, v);
}

/* A value without its first parts. */
static kir_value behind(tly_build *c, unsigned first, kir_value v)
{
    kir_value rest[KIR_MAX_PARTS];
    const unsigned parts = kir_parts(c->b, v) - first;
    for (unsigned i = 0; i < parts; i++)
        rest[i] = part(c, v, first + i);
    return first == 0 ? v : kir_tuple(c->b, parts, rest);
}

static kir_value head_of(tly_build *c, int is_head)
{
    return constant(c, KIR_TYPE(KIR_I32, 1), is_head != 0);
}

/* A factor and a state, and before them whether there is a head. */
static kir_value window_of(tly_build *c, int is_head, kir_value factor, kir_value state)
{
    kir_value window = tly_factors(c->p) > 0 ? in_front_of(c, factor, state) : state;
    return tly_window_heads(c->p) > 0 ? in_front_of(c, head_of(c, is_head), window) : window;
}

kir_value tly_neutral_window(tly_build *c, kir_type type)
{
    return window_of(c, 0, one(c, type.lanes), tly_neutral(c, type));
}

kir_value tly_window_of(tly_build *c, kir_value state)
{
    return window_of(c, 1, like(c, part(c, state, 0), 0), state);
}

kir_value tly_state_of(tly_build *c, kir_value window)
{
    return behind(c, kir_parts(c->b, window) - tly_operator_of(c->p)->parts, window);
}

/* ---- heads ---- */

int tly_has_head(const tly_build *c, kir_value x)
{
    return kir_workgroup_of(c->b) > 0 && tly_window_heads(c->p) > 0 &&
           kir_parts(c->b, x) == tly_window_parts(c->p);
}

kir_value tly_without_head(tly_build *c, kir_value x)
{
    return behind(c, tly_has_head(c, x) ? 1 : 0, x);
}

kir_value tly_with_head(tly_build *c, kir_value head, kir_value x)
{
    return in_front_of(c, head, tly_without_head(c, x));
}

kir_value tly_behind_head(tly_build *c, kir_value is_head, kir_value element)
{
    return tly_with_head(c, convert(c, KIR_ZEXT, KIR_TYPE(KIR_I32, 1), is_head), element);
}

kir_value tly_combine_behind_head(tly_build *c, kir_value x, kir_value y)
{
    kir_value head = part(c, y, 0), own = behind(c, 1, y),
              is_head = differ(c, head, like(c, head, 0));
    kir_value both = tly_combine(c, tly_without_head(c, x), own);
    if (!tly_has_head(c, x))
        return choose(c, is_head, tly_state_of(c, own), both);
    return in_front_of(c, bor(c, part(c, x, 0), head), choose(c, is_head, own, both));
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
    const kir_type t = type_of(c, part(c, state, 0));
    if (begins == 0)
        return state;
    if (t.lanes > 1 && c->p->interleave > 1)
        begins = tly_lanes_that_begin(c, at, begins);
    return choose(c, begins, tly_start(c, t), state);
}
