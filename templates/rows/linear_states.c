/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear template: segments that begin with states and hand on their last ones. A block's
 * states wait in scratch, each where the head of its segment lies, so that a vector loads those of
 * its heads as it loads elements. What lies between them is never used. After a step the states
 * behind its elements take their places, if the run wants any, and after a block each segment that
 * has ended finds its own behind its last element.
 */
#include "linear.h"

int tly_linear_has_states(const tly_build *c)
{
    return c->p->carry && c->p->segmented != TLY_SEGMENTED_NOT;
}

int tly_linear_in_states(const tly_build *c)
{
    return tly_linear_has_states(c) && c->heads != 0;
}

int64_t tly_linear_states_bytes(const tly_build *c)
{
    return (int64_t)(TLY_HEADS_BLOCK + TLY_MOST_LANES) * c->state_bytes;
}

void tly_linear_begin_states(tly_linear *k, tly_heads *heads)
{
    tly_build *c = k->c;
    kir_value room = ptradd(c, arg(c, KIR_ARG_SCRATCH), imm(c, TLY_HEADS_BYTES));
    heads->states = tly_states_row(c, room, imm(c, 0), imm(c, TLY_HEADS_BLOCK));
    heads->stateful = &k->row;
    heads->given = k->given;
}

void tly_linear_states_from(tly_linear *k, const tly_heads *heads, kir_value from)
{
    k->states = tly_states_at(k->c, heads->states, sub(k->c, imm(k->c, 0), from));
}

/* The last state of segment i, positions [first, end). */
static void hand_on(tly_linear *k, kir_value i, kir_value first, kir_value end)
{
    tly_build *c = k->c;
    const tly_row states = tly_segment_states(c, &k->row, i);
    const tly_place at = tly_place_in(&states, 0, 0);
    kir_value y = 0;
    tly_region some = { .state = { &y } };
    emit_if(c, &some, less(c, first, end));
    y = tly_states_load(c, tly_states_at(c, k->states, sub(c, end, imm(c, 1))), 0, 1);
    emit_else(c, &some);
    y = tly_start_at(c, &at, 1);
    emit_end(c, &some);
    tly_carry_store(c, &at, y);
}

void tly_linear_end_states(tly_linear *k, kir_value *ended, kir_value to)
{
    tly_build *c = k->c;
    tly_region wanted = { .state = { ended } };
    emit_if(c, &wanted, k->wanted);
    kir_value here = i1(c, 1), one = imm(c, 1);
    tly_region l = { .state = { &here, ended } };
    emit_for_while(c, &l, *ended, arg(c, KIR_ARG_SEGMENTS), one);
    kir_value next = add(c, l.i, one), end = tly_segment_head(c, next);
    tly_region over = { .state = { ended } };
    here = ule(c, end, to);
    emit_if(c, &over, here);
    hand_on(k, l.i, tly_segment_head(c, l.i), end);
    *ended = next;
    emit_end(c, &over);
    emit_end(c, &l);
    emit_end(c, &wanted);
}

kir_value tly_linear_ended(tly_linear *k, kir_value next, kir_value from)
{
    tly_build *c = k->c;
    kir_value one = imm(c, 1), begun = tly_heads_before(c, next, add(c, from, one));
    /* Of those that begin at position 0, none has ended before it. */
    return choose(c, equal(c, from, imm(c, 0)), imm(c, 0), sub(c, tly_max(c, begun, one), one));
}

/* A vector's heads begin with the states in its lanes. */
static void start(tly_build *c, tly_piece *p, kir_value state)
{
    kir_value own = p->factor != 0 ? add(c, mul(c, p->factor, state), p->state)
                                   : tly_combine(c, state, p->state);
    p->state = choose(c, p->heads, own, p->state);
    if (c->p->exclusive)
        p->starts = state;
}

void tly_linear_start_pieces(tly_linear *k, kir_value i, tly_piece *p, unsigned n)
{
    tly_build *c = k->c;
    const int exclusive = c->p->exclusive;
    kir_value from = tly_states_at(c, k->states, i), identity = tly_start(c, c->vec);
    tly_region given = { 0 };
    for (unsigned j = 0; j < n; j++) {
        emit_carry(&given, 1, &p[j].state);
        p[j].starts = identity;
        emit_carry(&given, exclusive, &p[j].starts);
    }
    emit_if(c, &given, k->given);
    for (unsigned j = 0; j < n; j++)
        start(c, &p[j], tly_states_load(c, from, (int64_t)j * c->lanes, c->lanes));
    emit_else(c, &given);
    for (unsigned j = 0; j < n && exclusive && p[j].factor == 0; j++)
        start(c, &p[j], identity);
    emit_end(c, &given);
}

kir_value tly_linear_start_scalar(tly_linear *k, kir_value i, kir_value y, kir_value *element)
{
    tly_build *c = k->c;
    kir_value head = tly_take_head(c, element);
    *element = tly_give_head(c, *element, band(c, head, tly_not(c, k->given)));
    kir_value state = tly_states_load(c, tly_states_at(c, k->states, i), 0, 1);
    return choose(c, band(c, head, k->given), state, y);
}

void tly_linear_keep_states(tly_linear *k, kir_value i, const kir_value *y, unsigned n)
{
    tly_build *c = k->c;
    kir_value to = tly_states_at(c, k->states, i);
    tly_region wanted = { 0 };
    emit_if(c, &wanted, k->wanted);
    for (unsigned j = 0; j < n; j++)
        tly_states_store(c, to, (int64_t)j * c->lanes, y[j]);
    emit_end(c, &wanted);
}
