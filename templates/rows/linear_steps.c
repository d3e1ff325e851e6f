/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear template's steps: several vectors, each scanned by itself and then joined with the
 * result before it.
 *
 * Other orders than the plain loop's may leave the range of floats. If every result of a step is
 * finite, then nothing did: an infinite A or B makes a result of its own infinite or NaN, and no
 * later factor brings that back. So a step checks its results alone, before it stores them. If one
 * is not finite, the plain loop computes the step once more, from the result before it. A factor
 * that falls below the range loses less than the bound in docs/semantics.md allows. Of products,
 * linear_range.c looks at those inside of vectors, too.
 */
#include "linear.h"
#include "running.h"

#include <string.h>

enum { MOST_VECTORS = TLY_LINEAR_MOST_VECTORS, MOST_HISTORY = TLY_LINEAR_MOST_HISTORY };

/* ---- one by one ---- */

kir_value tly_linear_input_at(tly_linear *k, kir_value i)
{
    tly_build *c = k->c;
    return ptradd(c, k->row.at[TLY_IN], mul(c, i, tly_step(c, TLY_IN)));
}

void tly_linear_show_one(tly_linear *k, kir_value i, kir_value before, kir_value element,
                         kir_value after)
{
    tly_build *c = k->c;
    const tly_place here = tly_place_in(&k->row, i, 0);
    if (k->is_silent)
        return;
    before = c->p->exclusive ? tly_shown_before(c, &here, before) : before;
    kir_value shown = tly_show(c, &here, tly_shown(c, element, before, after));
    tly_store(c, tly_stored_at(c, k->row.at[TLY_OUT], i), 0, shown, 1, 0);
}

kir_value tly_linear_scan_one(tly_linear *k, kir_value i, kir_value y, kir_value element)
{
    const tly_place here = tly_place_in(&k->row, i, 0);
    kir_value next = tly_advance(k->c, &here, y, element);
    tly_linear_show_one(k, i, y, element, next);
    return next;
}

void tly_linear_scan_scalars(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    if (c->p->interleave > 1) {
        tly_linear_scan_interleaved(k, from, to);
        return;
    }
    kir_value y = kir_extract(c->b, k->last[0], 0);
    tly_region l = { .state = { &y } };
    emit_for(c, &l, from, to, imm(c, 1));
    const tly_place here = tly_place_in(&k->row, l.i, 0);
    kir_value element = tly_element(c, &here, tly_load(c, tly_linear_input_at(k, l.i), 0, 1));
    if (tly_linear_in_states(c))
        y = tly_linear_start_scalar(k, l.i, y, &element);
    y = tly_linear_scan_one(k, l.i, y, element);
    if (tly_linear_in_states(c))
        tly_linear_keep_states(k, l.i, &y, 1);
    emit_end(c, &l);
    k->last[0] = kir_splat(c->b, y, c->lanes);
}

/* Positions [from, to) join the total one by one. */
static void add_scalars(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    tly_region l = { 0 };
    tly_linear_carry(k, &l);
    emit_for(c, &l, from, to, imm(c, 1));
    const tly_place here = tly_place_in(&k->row, l.i, 0);
    const tly_piece p = tly_piece_of(c, &here, tly_load(c, tly_linear_input_at(k, l.i), 0, 1), 1);
    tly_linear_watch(k, &p);
    tly_linear_add(k, &p);
    emit_end(c, &l);
}

/* ---- vectors ---- */

/* The results before those of a vector, which an exclusive scan shows. */
static kir_value results_before(tly_linear *k, const tly_place *at, kir_value last, kir_value y,
                                const tly_piece *p)
{
    tly_build *c = k->c;
    kir_value before = tly_linear_shown_before(k, at, last, y);
    if (p->heads == 0)
        return before;
    return choose(c, p->heads, p->starts != 0 ? p->starts : tly_start(c, c->vec), before);
}

/* ---- steps ---- */

/* Loads the vector of elements at a place. */
static tly_piece load_piece(tly_linear *k, const tly_place *here, kir_value in, unsigned j)
{
    tly_build *c = k->c;
    kir_value skip = mul(c, imm(c, (int64_t)j * c->lanes), tly_step(c, TLY_IN));
    return tly_piece_of(c, here, tly_load_vector(c, ptradd(c, in, skip)), c->lanes);
}

/* The states of elements without heads, `n` vectors from position `i` on. */
static void load_states(tly_linear *k, kir_value i, kir_value *y, unsigned n)
{
    const tly_place first = tly_place_in(&k->row, i, 0);
    kir_value in = tly_linear_input_at(k, i);
    for (unsigned j = 0; j < n; j++) {
        const tly_place here = tly_place_after(first, (int64_t)j * k->c->lanes, 0);
        y[j] = load_piece(k, &here, in, j).state;
    }
}

/* `n` vectors from position `i` on join the total. */
static void add_step(tly_linear *k, kir_value i, unsigned n)
{
    tly_build *c = k->c;
    const tly_place first = tly_place_in(&k->row, i, 0);
    kir_value in = tly_linear_input_at(k, i);
    for (unsigned j = 0; j < n; j++) {
        const tly_place here = tly_place_after(first, (int64_t)j * c->lanes, 0);
        tly_piece p = load_piece(k, &here, in, j);
        tly_linear_watch(k, &p);
        tly_piece_scan(c, &p);
        tly_linear_add(k, &p);
    }
}

/* Stores a step's results as they are shown, from position `i` on. */
static void store_step(tly_linear *k, kir_value i, kir_value *y, unsigned n, int lined)
{
    tly_build *c = k->c;
    if (k->is_silent)
        return;
    kir_value to = tly_stored_at(c, k->row.at[TLY_OUT], i);
    const unsigned packed = tly_pack_run(c, y, n, 0);
    tly_region way = { 0 };
    if (lined) {
        emit_if(c, &way, k->lined);
        tly_store_run(c, to, y, packed, KIR_STREAM);
        emit_else(c, &way);
    }
    tly_store_run(c, to, y, packed, 0);
    if (lined)
        emit_end(c, &way);
}

/* Of scans that tell an index, `n` vectors from position `i` on. */
static void do_indices(tly_linear *k, kir_value i, unsigned n, int lined)
{
    tly_build *c = k->c;
    const tly_place first = tly_place_in(&k->row, i, 0);
    kir_value y[MOST_VECTORS] = { 0 };
    load_states(k, i, y, n);
    k->last[0] = tly_running_step(c, k->last[0], y, n);
    for (unsigned j = 0; j < n; j++) {
        const tly_place here = tly_place_after(first, (int64_t)j * c->lanes, 0);
        y[j] = tly_show(c, &here, y[j]);
    }
    store_step(k, i, y, n, lined);
}

/* The same vectors join the total, which is a state a lane. */
static void add_indices(tly_linear *k, kir_value i, unsigned n)
{
    kir_value y[MOST_VECTORS] = { 0 };
    load_states(k, i, y, n);
    k->total.state = tly_running_best(k->c, k->total.state, y, n);
}

static void do_step(tly_linear *k, kir_value i, unsigned n, int lined);

/* 1: sums, which may leave the range of floats. */
static int adds(const tly_build *c)
{
    return tly_is_floating(c) &&
           (tly_operator_of(c->p)->applies || tly_is_checked_as(c->p, TLY_CHECK_SUMS));
}

/* A step whose order left the range: products become too small in one of its vectors, most often,
 * so that only this one goes by the plain loop. Of several scans, too, as vectors begin in the same
 * places however tasks are cut, and steps do not. */
static void do_again(tly_linear *k, kir_value i, const tly_linear_products *v, unsigned n)
{
    tly_build *c = k->c;
    kir_value end = add(c, i, imm(c, (int64_t)n * c->lanes));
    const int several = c->p->interleave > 1 || k->is_stream;
    const int by_elements = n == 1 || !(several || tly_checks_products(c));
    if (by_elements && several && (adds(c) || tly_checks_products(c))) {
        tly_linear_scan_faulty(k, i, v->results, tly_linear_faults(c, v));
        return;
    }
    if (by_elements) {
        tly_linear_scan_scalars(k, i, end);
        return;
    }
    const tly_linear_pass pass = k->pass;
    k->pass = TLY_LINEAR_RESULTS; /* the elements have joined the total already */
    tly_region l = { 0 };
    tly_linear_carry(k, &l);
    emit_for(c, &l, i, end, imm(c, c->lanes));
    do_step(k, l.i, 1, 0);
    emit_end(c, &l);
    k->pass = pass;
}

/* Scans n pieces from position `i` on. */
static void do_pieces(tly_linear *k, kir_value i, tly_piece *p, unsigned n, int lined)
{
    tly_build *c = k->c;
    const int products = tly_checks_products(c);
    const tly_place first = tly_place_in(&k->row, i, 0);
    kir_value known[MOST_HISTORY + MOST_VECTORS], before[MOST_VECTORS], shown[MOST_VECTORS];
    kir_value *const y = known + k->history;
    memcpy(known, k->last, sizeof k->last);
    tly_linear_products ranges[MOST_VECTORS];
    for (unsigned j = 0; j < n; j++) {
        before[j] = tly_linear_continued(k, known, j);
        ranges[j] = (tly_linear_products){ .elements = p[j].state, .before = before[j] };
        tly_piece_scan(c, &p[j]);
        y[j] = tly_piece_join(c, before[j], &p[j]);
        ranges[j].products = p[j].state;
        ranges[j].results = y[j];
    }
    kir_value valid = products  ? tly_linear_regular(c, ranges, n)
                      : adds(c) ? tly_linear_finite(c, y, n)
                                : i1(c, 1);
    if (k->pass == TLY_LINEAR_BOTH)
        tly_linear_add_step(k, p, n);
    tly_region good = { 0 };
    emit_carry(&good, k->history, k->last);
    emit_if(c, &good, valid);
    if (tly_linear_in_states(c))
        tly_linear_keep_states(k, i, y, n);
    for (unsigned j = 0; j < n; j++) {
        const tly_place here = tly_place_after(first, (int64_t)j * c->lanes, 0);
        shown[j] = tly_show(
            c, &here, c->p->exclusive ? results_before(k, &here, before[j], y[j], &p[j]) : y[j]);
    }
    store_step(k, i, shown, n, lined);
    tly_linear_move_on(k, known, n);
    emit_else(c, &good);
    do_again(k, i, ranges, n);
    emit_end(c, &good);
}

/* i1: an element begins anew, or segments are so short on average that most steps have a head. */
static kir_value some_head(tly_build *c, const tly_piece *p, unsigned n)
{
    enum { MEAN = 128 }; /* steps have 64 elements: whether one has a head cannot be foreseen */
    kir_value some = p[0].heads;
    for (unsigned j = 1; j < n; j++)
        some = bor(c, some, p[j].heads);
    if (c->p->segmented == TLY_SEGMENTED_NOT)
        return any(c, some);
    kir_value elements = mul(c, arg(c, KIR_ARG_SEGMENTS), imm(c, MEAN));
    return bor(c, any(c, some), less(c, arg(c, KIR_ARG_LENGTH), elements));
}

/* `n` vectors from position `i` on. Where none begins anew, as in long segments, they cost no more
 * than those of words without heads. */
static void do_step(tly_linear *k, kir_value i, unsigned n, int lined)
{
    tly_build *c = k->c;
    const tly_place first = tly_place_in(&k->row, i, 0);
    tly_piece p[MOST_VECTORS], headless[MOST_VECTORS];
    kir_value in = tly_linear_input_at(k, i);
    for (unsigned j = 0; j < n; j++) {
        const tly_place here = tly_place_after(first, (int64_t)j * c->lanes, 0);
        p[j] = load_piece(k, &here, in, j);
        if (k->pass == TLY_LINEAR_BOTH)
            tly_linear_watch(k, &p[j]);
        headless[j] = (tly_piece){ .state = p[j].state, .factor = p[j].factor };
    }
    if (p[0].heads == 0 || n == 1) {
        if (tly_linear_in_states(c))
            tly_linear_start_pieces(k, i, p, n);
        do_pieces(k, i, p, n, lined);
        return;
    }
    tly_region some = { 0 };
    tly_linear_carry(k, &some);
    emit_if(c, &some, some_head(c, p, n));
    if (tly_linear_in_states(c))
        tly_linear_start_pieces(k, i, p, n);
    do_pieces(k, i, p, n, lined);
    emit_else(c, &some);
    do_pieces(k, i, headless, n, lined);
    emit_end(c, &some);
}

void tly_linear_scan_span(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    const unsigned vectors = (unsigned)c->plan->vectors;
    const int runs = tly_has_index(c->p) && !tly_has_heads(c);
    void (*const take)(tly_linear *, kir_value, unsigned, int) = runs ? do_indices : do_step;
    void (*const join)(tly_linear *, kir_value, unsigned) = runs ? add_indices : add_step;
    for (unsigned n = vectors; n > 0; n = n > 1 ? 1 : 0) {
        const int64_t step = (int64_t)n * c->lanes;
        kir_value whole = add(c, from, tly_round_down(c, sub(c, to, from), step));
        tly_region l = { 0 };
        tly_linear_carry(k, &l);
        emit_for(c, &l, from, whole, imm(c, step));
        if (n == vectors)
            tly_linear_prefetch(k, l.i, n);
        if (k->pass == TLY_LINEAR_TOTAL)
            join(k, l.i, n);
        else
            take(k, l.i, n, n == vectors);
        emit_end(c, &l);
        from = whole;
    }
    if (runs && k->pass == TLY_LINEAR_TOTAL)
        k->total.state = tly_running_best_of_all(c, k->total.state);
    if (k->pass != TLY_LINEAR_RESULTS)
        add_scalars(k, from, to);
    if (k->pass != TLY_LINEAR_TOTAL)
        tly_linear_scan_scalars(k, from, to);
}
