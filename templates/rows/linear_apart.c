/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear template: chunks of segments. A segment that begins in a chunk and goes on beyond it
 * is scanned apart, from its head on, and so is a chunk within one segment: without heads. What
 * comes after the former does not depend on what comes before the chunk. So another thread needs no
 * more of it than that segment, and its scan has the same bits. The latter has a total, as other
 * rows' chunks (linear_chunks.c).
 *
 * 16 Mi f32, Zen 5, two threads: products in segments of 32 on average 2.48 ms, and 2.24 where each
 * thread took whole segments; but those made one segment one thread's work. Totals of such products
 * are made beside results: one segment on one thread 2.99 ms, without them 2.57.
 */
#include "linear.h"

/* The segment that goes on beyond a chunk. */
typedef struct beyond {
    kir_value next;      /* the first segment whose head is not before the chunk */
    kir_value is_within; /* i1: the chunk is in the one before that, and does not end with it */
    kir_value number;
    kir_value exists; /* i1, if the chunk is not within one */
    kir_value head;   /* its own, or the chunk's end */
} beyond;

static void find_next(tly_linear *k, kir_value from, kir_value to, beyond *b)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0);
    b->next = tly_heads_before(c, zero, from);
    b->is_within = band(c, less(c, zero, b->next), less(c, to, tly_segment_head(c, b->next)));
}

static void find_beyond(tly_linear *k, kir_value to, beyond *b)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0), begun = tly_heads_before(c, b->next, to);
    b->exists = band(c, less(c, zero, begun), less(c, to, tly_segment_head(c, begun)));
    b->number = sub(c, tly_max(c, begun, imm(c, 1)), imm(c, 1));
    b->head = choose(c, b->exists, tly_segment_head(c, b->number), to);
}

/* Scans the segment's elements up to `to`. */
static void scan_beyond(tly_linear *k, kir_value to, const beyond *b)
{
    tly_build *c = k->c;
    const tly_row states = tly_segment_states(c, &k->row, b->number);
    const tly_place at = tly_place_in(&states, 0, 0), here = tly_place_in(&k->row, b->head, 0);
    kir_value one = imm(c, 1), second = add(c, b->head, one);
    kir_value x = tly_load(c, tly_linear_input_at(k, b->head), 0, 1);
    kir_value element = tly_element_alone(c, &here, x), y = tly_start_at(c, &at, 1);
    c->heads = arg(c, KIR_ARG_SCRATCH); /* the first element has a head, which is known */
    element = tly_give_head(c, element, c->p->carry ? tly_not(c, k->given) : i1(c, 1));
    y = tly_linear_scan_one(k, b->head, y, element);
    c->heads = 0;
    k->last[0] = kir_splat(c->b, y, c->lanes);
    /* Whole lines are stored from there on. */
    kir_value lined = tly_min(c, tly_round_up(c, second, TLY_LINEAR_LINE), to);
    tly_linear_scan_scalars(k, second, lined);
    tly_linear_scan_span(k, lined, to);
}

/* The same, if there is one. What nothing goes on from is neutral. */
static void scan_if_beyond(tly_linear *k, kir_value to, const beyond *b)
{
    tly_build *c = k->c;
    tly_region exists = { .state = { &k->last[0] } };
    k->last[0] = tly_neutral(c, c->vec);
    emit_if(c, &exists, b->exists);
    scan_beyond(k, to, b);
    emit_end(c, &exists);
}

void tly_linear_scan_apart(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    const int adds = tly_is_floating(c) && tly_linear_has_totals(c);
    beyond b;
    find_next(k, from, to, &b);
    tly_region within = { .state = { &k->last[0] } };
    emit_if(c, &within, b.is_within);
    kir_value base = k->last[0];
    c->heads = 0;
    k->pass = adds ? TLY_LINEAR_BOTH : TLY_LINEAR_RESULTS;
    if (adds)
        tly_linear_begin_total(k);
    tly_linear_scan_span(k, from, to);
    if (adds)
        tly_linear_end_chunk(k, base);
    emit_else(c, &within);
    k->pass = TLY_LINEAR_RESULTS;
    find_beyond(k, to, &b);
    tly_linear_scan_segments(k, from, b.head, b.next);
    scan_if_beyond(k, to, &b);
    emit_end(c, &within);
}

void tly_linear_add_apart(tly_linear *k, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    beyond b;
    find_next(k, from, to, &b);
    tly_region within = { 0 };
    emit_if(c, &within, b.is_within);
    c->heads = 0;
    tly_linear_begin_total(k);
    if (tly_linear_has_totals(c))
        tly_linear_scan_span(k, from, to);
    tly_linear_store_total(k);
    emit_else(c, &within);
    k->pass = TLY_LINEAR_RESULTS;
    k->is_silent = 1;
    find_beyond(k, to, &b);
    scan_if_beyond(k, to, &b);
    k->is_silent = 0;
    tly_linear_store_state(k, kir_extract(c->b, k->last[0], 0));
    emit_end(c, &within);
}
