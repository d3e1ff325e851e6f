/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short template: words with a carry. The state that a row starts from joins the row's first
 * element, as in the plain loop. From there on the row is scanned as one that starts from nothing,
 * so its range is validated as any row's. Lanes that are no first elements are joined by neutral
 * states.
 *
 * The states of a batch wait in scratch, so a batch can be scanned again, even if it replaces them
 * in their tensor. If it is known where rows begin in a vector, they lie side by side. Otherwise
 * each lies where the element lies that it joins, neutral states fill the places between, and
 * vectors of states are read as those of elements are.
 */
#include "short.h"

/* Places for states, of so many elements. */
static int64_t places(const tly_short *s, int64_t elements)
{
    return s->by_number ? elements / s->literal : elements;
}

/* The place of the state that element i joins, or that follows it. */
static kir_value place_of(tly_short *s, kir_value i)
{
    return s->by_number ? udiv(s->c, i, s->length) : i;
}

/* Places of a batch, behind which those of the pad lie: of last elements, which fill no step. */
static int64_t batch_places(const tly_short *s)
{
    return places(s, s->most) + TLY_MOST_LANES;
}

static int64_t all_places(const tly_short *s)
{
    return batch_places(s) + places(s, s->step) + 2 * (int64_t)TLY_MOST_LANES;
}

static int64_t row_bytes(const tly_short *s)
{
    return (all_places(s) + TLY_MOST_LANES) * s->c->state_bytes;
}

int64_t tly_short_carry_bytes(const tly_short *s)
{
    return 2 * row_bytes(s);
}

static void fill(tly_short *s, kir_value count, kir_value state, kir_value each)
{
    tly_build *c = s->c;
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), count, each);
    tly_states_store(c, tly_states_at(c, s->starts, l.i), 0, state);
    emit_end(c, &l);
}

void tly_short_begin_carry(tly_short *s, kir_value scratch, kir_value rows)
{
    tly_build *c = s->c;
    const kir_value all = imm(c, all_places(s)), lanes = imm(c, c->lanes);
    kir_value elements = tly_min(c, mul(c, rows, s->length), imm(c, s->most));
    tly_region none = { 0 };
    s->starts = tly_states_row(c, scratch, imm(c, 0), all);
    s->ends = tly_states_row(c, ptradd(c, scratch, imm(c, row_bytes(s))), imm(c, 0), all);
    s->has_states = tly_has_states(s->word);
    if (!s->by_number)
        fill(s, elements, tly_neutral(c, c->vec), lanes);
    emit_if(c, &none, tly_not(c, s->has_states));
    if (s->by_number)
        fill(s, place_of(s, elements), tly_start(c, c->vec), lanes);
    else
        fill(s, elements, tly_start(c, c->acc), s->length);
    emit_end(c, &none);
}

/* ---- between tensors and scratch ---- */

/* Copies the states of rows from `number` on. */
typedef void (*copy)(tly_short *s, const tly_place *at, kir_value number, unsigned lanes);

static void take(tly_short *s, const tly_place *at, kir_value number, unsigned lanes)
{
    tly_build *c = s->c;
    kir_value place = s->by_number ? number : mul(c, number, s->length);
    tly_states_store(c, tly_states_at(c, s->starts, place), 0, tly_carry_load(s->word, at, lanes));
}

static void hand_on(tly_short *s, const tly_place *at, kir_value number, unsigned lanes)
{
    tly_build *c = s->c;
    kir_value place = number;
    if (!s->by_number)
        place = sub(c, mul(c, add(c, number, imm(c, 1)), s->length), imm(c, 1));
    tly_carry_store(s->word, at, tly_states_load(c, tly_states_at(c, s->ends, place), 0, lanes));
}

/* Prefetches the state of the row two batches behind `number`, which lies at `base` + number *
 * stride. f32 rows of 8 past the cache, of a move: .84, so .91 (Zen 5). */
static void prefetch(tly_short *s, kir_value base, kir_value number, kir_value stride, int writes)
{
    tly_build *c = s->c;
    const int64_t rows = 2 * s->most / s->literal;
    kir_value soon = ptradd(c, base, mul(c, add(c, number, imm(c, rows)), stride));
    (writes ? kir_prefetchw : kir_prefetch)(c->b, soon, 0);
}

/* Several rows' as a vector, if they lie side by side in the tensor, too. */
static void copy_states(tly_short *s, int tensor, kir_value rows, copy some)
{
    tly_build *c = s->word;
    kir_value steps[TLY_TENSOR_COUNT] = { 0 }, done = imm(c, 0);
    kir_value stride = kir_get_at(c->b, TLY_ARG(OUTER_IN, tensor), imm(c, 0));
    kir_value packed = equal(c, stride, imm(c, c->bytes[tensor]));
    steps[tensor] = imm(c, c->bytes[tensor]);
    for (int whole = s->by_number; whole >= 0; whole--) {
        const unsigned lanes = whole ? c->lanes : 1;
        tly_region l = { 0 };
        tly_row row = s->batch;
        kir_value end = whole ? choose(c, packed, tly_round_down(c, rows, lanes), done) : rows;
        emit_for(c, &l, done, end, imm(c, lanes));
        prefetch(s, row.at[tensor], l.i, stride, some == hand_on);
        row.at[tensor] = ptradd(c, row.at[tensor], mul(c, l.i, stride));
        tly_place at = tly_place_in(&row, 0, 0);
        at.steps = steps;
        some(s, &at, l.i, lanes);
        emit_end(c, &l);
        done = end;
    }
}

void tly_short_take_states(tly_short *s, kir_value rows)
{
    tly_region given = { 0 };
    emit_if(s->c, &given, s->has_states);
    copy_states(s, tly_carry_tensor(s->word->p), rows, take);
    emit_end(s->c, &given);
}

void tly_short_hand_on(tly_short *s, kir_value rows)
{
    tly_build *c = s->c;
    const int tensor = tly_carry_tensor(s->word->p) + 1;
    tly_region wanted = { 0 };
    kir_value base = kir_addr(c->b, arg(c, TLY_ARG(IN, tensor)));
    emit_if(c, &wanted, differ(c, base, imm(c, 0)));
    copy_states(s, tensor, rows, hand_on);
    emit_end(c, &wanted);
}

/* ---- states of a piece ---- */

/* Behind the piece's end states are neutral, as elements are: a row's bits, and the check of its
 * range, do not depend on the next one. */
void tly_short_pad_states(tly_short *s, const tly_short_piece *p)
{
    tly_build *c = s->c;
    kir_value whole = tly_short_steps(s, p->count);
    kir_value left = place_of(s, sub(c, p->count, whole));
    kir_value from = tly_states_at(c, s->starts, place_of(s, add(c, p->first, whole)));
    kir_value to = tly_states_at(c, s->starts, imm(c, batch_places(s)));
    for (int64_t k = 0; k < places(s, s->step); k += c->lanes) {
        kir_value there = tly_lanes_below(c, sub(c, left, imm(c, k)));
        kir_value states = tly_states_load(c, from, k, c->lanes);
        tly_states_store(c, to, k, choose(c, there, states, tly_neutral(c, c->vec)));
    }
}

kir_value tly_short_starts_at(tly_short *s, const tly_short_piece *p, kir_value i, kir_value whole)
{
    tly_build *c = s->c;
    if (!c->p->carry)
        return 0;
    kir_value place = place_of(s, add(c, p->first, i));
    if (whole)
        place = choose(c, less(c, i, whole), place, imm(c, batch_places(s)));
    return tly_states_at(c, s->starts, place);
}

kir_value tly_short_ends_at(tly_short *s, const tly_short_piece *p, kir_value i)
{
    if (!s->c->p->carry || !p->to)
        return 0;
    return tly_states_at(s->c, s->ends, place_of(s, add(s->c, p->first, i)));
}

kir_value tly_short_first_state(tly_short *s, const tly_short_piece *p)
{
    tly_build *c = s->c;
    return c->p->carry ? tly_states_load(c, tly_short_starts_at(s, p, imm(c, 0), 0), 0, 1)
                       : tly_start(c, c->acc);
}

void tly_short_last_state(tly_short *s, const tly_short_piece *p, kir_value state)
{
    kir_value last = sub(s->c, p->count, imm(s->c, 1));
    if (s->c->p->carry)
        tly_states_store(s->c, tly_short_ends_at(s, p, last), 0, state);
}

/* ---- states of a vector ---- */

/* By number: the first lane in which a row starts, or, if that is behind the vector, its last. */
static int64_t first_lane(const tly_short *s, int64_t element)
{
    const int64_t from = element % s->literal;
    return from == 0 ? 0 : s->literal - from;
}

kir_value tly_short_starts(tly_short *s, kir_value states, int64_t element,
                           const tly_short_vector *at)
{
    tly_build *c = s->c;
    if (!states || at->position > 0)
        return 0;
    if (!s->by_number)
        return tly_states_load(c, states, element, c->lanes);
    if (!s->fixed) {
        const int64_t lane = first_lane(s, element);
        kir_value state = tly_states_load(c, states, (element + lane) / s->literal, 1);
        return kir_insert(c->b, tly_neutral(c, c->vec), state, (unsigned)lane);
    }
    uint8_t index[TLY_MOST_LANES];
    const unsigned rows = c->lanes / s->literal;
    kir_value all = tly_states_load(c, states, element / s->literal, rows);
    for (unsigned i = 0; i < c->lanes; i++)
        index[i] = (uint8_t)(i / s->literal);
    all = rows == 1 ? kir_splat(c->b, all, c->lanes) : kir_shuffle(c->b, all, all, index, c->lanes);
    return choose(c, s->borders[0], tly_neutral(c, c->vec), all);
}

void tly_short_store_ends(tly_short *s, kir_value states, int64_t element,
                          const tly_short_vector *at, kir_value y)
{
    tly_build *c = s->c;
    const int is_inside = at->is_first ||
                          (at->position > 0 && at->position + c->lanes < s->literal);
    if (!states || is_inside)
        return;
    if (!s->by_number) {
        tly_states_store(c, states, element, y);
        return;
    }
    if (!s->fixed) {
        const int64_t lane = first_lane(s, element) - 1;
        tly_states_store(c, states, (element + lane) / s->literal,
                         kir_extract(c->b, y, (unsigned)lane));
        return;
    }
    uint8_t index[TLY_MOST_LANES];
    const unsigned rows = c->lanes / s->literal;
    for (unsigned i = 0; i < rows; i++)
        index[i] = (uint8_t)((i + 1) * s->literal - 1);
    y = rows == 1 ? kir_extract(c->b, y, c->lanes - 1) : kir_shuffle(c->b, y, y, index, rows);
    tly_states_store(c, states, element / s->literal, y);
}
