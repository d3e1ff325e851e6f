/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear template: what vectors and elements continue, where several scans lie interleaved in a
 * row (tly_problem.interleave): element i the one so many before it. The last so many results are
 * kept in registers. Scans fewer than a vector's lanes are so many classes of lanes, and lane i has
 * the newest result of that class which element i of the next vector belongs to. Others are
 * vectors, oldest first, which end with the newest result.
 *
 * One by one, elements find these results in scratch, and leave theirs behind them. So goes a
 * vector that left the range, but only scans whose own elements did take the plain loop's results:
 * none depends on the scans beside it.
 */
#include "linear.h"

static unsigned scans(const tly_linear *k)
{
    return k->c->p->interleave;
}

static int is_near(const tly_linear *k)
{
    return scans(k) < k->c->lanes;
}

unsigned tly_linear_history(const tly_build *c)
{
    return (c->p->interleave + c->lanes - 1) / c->lanes;
}

/* Elements of scratch before the oldest result that an element continues. */
static unsigned margin(const tly_linear *k)
{
    return is_near(k) ? 0 : k->history * k->c->lanes - scans(k);
}

/* Up to a vector's elements go one by one. */
static unsigned room(const tly_linear *k)
{
    return (k->history + 1) * k->c->lanes;
}

/* Where scratch has the results and the faults of a vector that goes once more. */
static int64_t results_at(const tly_linear *k)
{
    return (int64_t)(room(k) + TLY_MOST_LANES) * k->c->state_bytes;
}

static int64_t faults_at(const tly_linear *k)
{
    return results_at(k) + (int64_t)(k->c->lanes + TLY_MOST_LANES) * k->c->state_bytes;
}

int64_t tly_linear_marks_bytes(const tly_linear *k)
{
    const int has_marks = k->c->p->segmented != TLY_SEGMENTED_NOT || k->is_stream;
    return has_marks ? TLY_HEADS_BYTES : 0;
}

int64_t tly_linear_window_bytes(const tly_linear *k)
{
    const unsigned faults = k->c->lanes + scans(k) + TLY_MOST_LANES;
    return faults_at(k) + (int64_t)faults * k->c->acc_bytes;
}

/* Behind the marks of heads, if there are any. */
static kir_value scratch_at(tly_linear *k, int64_t at)
{
    tly_build *c = k->c;
    return ptradd(c, arg(c, KIR_ARG_SCRATCH), imm(c, tly_linear_marks_bytes(k) + at));
}

/* ---- vectors ---- */

kir_value tly_linear_newest(tly_build *c, kir_value y)
{
    return c->p->interleave == 1 ? tly_spread_last(c, y)
                                 : tly_vector_newest(c, y, c->p->interleave);
}

kir_value tly_linear_continued(tly_linear *k, const kir_value *known, unsigned j)
{
    const unsigned n = k->c->lanes, from = margin(k);
    if (is_near(k))
        return j == 0 ? known[0] : tly_linear_newest(k->c, known[j]);
    return from == 0 ? known[j] : tly_shift(k->c, known[j], known[j + 1], n - from);
}

void tly_linear_move_on(tly_linear *k, const kir_value *known, unsigned n)
{
    for (unsigned h = 0; h < k->history; h++)
        k->last[h] = is_near(k) ? tly_linear_continued(k, known, n) : known[n + h];
}

kir_value tly_linear_shown_before(tly_linear *k, const tly_place *at, kir_value before, kir_value y)
{
    tly_build *c = k->c;
    before = tly_shown_before(c, at, before);
    if (scans(k) == 1)
        return tly_shift(c, before, y, 1);
    return is_near(k) ? tly_vector_before(c, before, y, scans(k), c->lanes) : before;
}

/* ---- one by one ---- */

static kir_value scratch(tly_linear *k, int64_t at, unsigned elements)
{
    tly_build *c = k->c;
    return tly_states_row(c, scratch_at(k, at), imm(c, 0), imm(c, elements));
}

/* The last results in scratch. Element i of those that follow continues result i, and its own
 * result is number i + scans(k). */
static kir_value store_window(tly_linear *k)
{
    kir_value row = scratch(k, 0, room(k));
    for (unsigned i = 0; i < k->history; i++)
        tly_states_store(k->c, row, (int64_t)i * k->c->lanes, k->last[i]);
    return tly_states_at(k->c, row, imm(k->c, margin(k)));
}

/* Reads them back after so many elements. */
static void load_window(tly_linear *k, kir_value window, kir_value count)
{
    tly_build *c = k->c;
    const unsigned n = c->lanes;
    uint8_t index[64];
    kir_value row = tly_states_at(c, window, sub(c, count, imm(c, margin(k))));
    for (unsigned i = 0; i < k->history; i++)
        k->last[i] = tly_states_load(c, row, (int64_t)i * n, n);
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)(i % scans(k));
    if (is_near(k))
        k->last[0] = kir_shuffle(c->b, k->last[0], k->last[0], index, n);
}

/* What a vector made that left the range. */
typedef struct made {
    kir_value results, faults; /* in scratch */
} made;

static kir_type faults_type(const tly_build *c, unsigned lanes)
{
    return KIR_TYPE(integer_of(c->acc_bytes), lanes);
}

static kir_value fault_at(tly_build *c, kir_value faults, kir_value i)
{
    return tly_at(c, faults, i, c->acc_bytes);
}

static made store_made(tly_linear *k, kir_value y, kir_value faults)
{
    tly_build *c = k->c;
    const made m = { scratch(k, results_at(k), c->lanes), scratch_at(k, faults_at(k)) };
    for (unsigned i = 0; i < scans(k); i += c->lanes)
        kir_store(c->b, fault_at(c, m.faults, imm(c, i)), 0,
                  constant(c, faults_type(c, c->lanes), 0), c->acc_bytes, 0);
    tly_states_store(c, m.results, 0, y);
    kir_store(c->b, fault_at(c, m.faults, imm(c, scans(k))), 0, faults, c->acc_bytes, 0);
    return m;
}

/* The vector's result where its own scan was in range up to there, else `plain`. `head`: i1,
 * the scan begins with the element; or 0. */
static kir_value choose_made(tly_linear *k, const made *m, kir_value i, kir_value head,
                             kir_value plain)
{
    tly_build *c = k->c;
    const kir_type t = faults_type(c, 1);
    kir_value own = fault_at(c, m->faults, add(c, i, imm(c, scans(k))));
    kir_value before = kir_load(c->b, t, fault_at(c, m->faults, i), 0, c->acc_bytes);
    if (head != 0)
        before = choose(c, head, constant(c, t, 0), before);
    kir_value fault = bor(c, kir_load(c->b, t, own, 0, c->acc_bytes), before);
    kir_store(c->b, own, 0, fault, c->acc_bytes, 0);
    return choose(c, equal(c, fault, constant(c, t, TLY_LINEAR_FAULTS)), plain,
                  tly_states_load(c, tly_states_at(c, m->results, i), 0, 1));
}

static void scan_window(tly_linear *k, kir_value from, kir_value to, const made *m)
{
    tly_build *c = k->c;
    kir_value window = store_window(k);
    tly_region l = { 0 };
    emit_for(c, &l, from, to, imm(c, 1));
    const tly_place here = tly_place_in(&k->row, l.i, 0);
    kir_value i = sub(c, l.i, from);
    kir_value element = tly_element(c, &here, tly_load(c, tly_linear_input_at(k, l.i), 0, 1));
    kir_value before = tly_states_load(c, tly_states_at(c, window, i), 0, 1);
    kir_value y = tly_advance(c, &here, before, element);
    kir_value alone = element, head = tly_has_heads(c) ? tly_take_head(c, &alone) : 0;
    if (m != NULL)
        y = choose_made(k, m, i, head, y);
    tly_linear_show_one(k, l.i, before, element, y);
    tly_states_store(c, tly_states_at(c, window, add(c, i, imm(c, scans(k)))), 0, y);
    emit_end(c, &l);
    load_window(k, window, sub(c, to, from));
}

void tly_linear_scan_interleaved(tly_linear *k, kir_value from, kir_value to)
{
    tly_region some = { 0 };
    emit_carry(&some, k->history, k->last);
    emit_if(k->c, &some, less(k->c, from, to));
    scan_window(k, from, to, NULL);
    emit_end(k->c, &some);
}

void tly_linear_scan_faulty(tly_linear *k, kir_value i, kir_value y, kir_value faults)
{
    const made m = store_made(k, y, faults);
    scan_window(k, i, add(k->c, i, imm(k->c, k->c->lanes)), &m);
}

/* ---- states ---- */

/* Where the last results have the one that position i continues. Near ones repeat it. */
static unsigned vector_of(const tly_linear *k, unsigned i)
{
    return (margin(k) + i) / k->c->lanes;
}

static unsigned lane_of(const tly_linear *k, unsigned i)
{
    return (margin(k) + i) % k->c->lanes;
}

void tly_linear_take_states(tly_linear *k)
{
    tly_build *c = k->c;
    const unsigned n = c->lanes;
    const tly_place first = tly_place_in(&k->row, imm(c, 0), 0);
    uint8_t index[64];
    tly_region given = { 0 };
    emit_carry(&given, k->history, k->last);
    emit_if(c, &given, tly_has_states(c));
    for (unsigned i = 0; i < scans(k); i++) {
        const tly_place at = tly_place_after(first, i, 0);
        kir_value state = kir_splat(c->b, tly_carry_load(c, &at, 1), n), *to;
        for (unsigned lane = 0; lane < n; lane++)
            index[lane] = (uint8_t)(lane % scans(k) == lane_of(k, i) ? n : lane);
        to = &k->last[vector_of(k, i)];
        *to = kir_shuffle(c->b, *to, state, index, n);
    }
    emit_end(c, &given);
}

void tly_linear_hand_on_states(tly_linear *k)
{
    tly_build *c = k->c;
    const tly_place first = tly_place_in(&k->row, imm(c, 0), 0);
    tly_region wanted = { 0 };
    emit_if(c, &wanted, tly_wants_states(c));
    for (unsigned i = 0; i < scans(k); i++) {
        const tly_place at = tly_place_after(first, i, 0);
        tly_carry_store(c, &at, kir_extract(c->b, k->last[vector_of(k, i)], lane_of(k, i)));
    }
    emit_end(c, &wanted);
}
