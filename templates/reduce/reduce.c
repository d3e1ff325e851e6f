/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions: tiles are chunks of what makes an output, or several side by side. States of chunks
 * are combined in a fixed order, by whichever thread, so that the bits are those of one. Outputs
 * and chunks are counted without divisions but the first.
 */
#include "reduce.h"

tly_reduce tly_reduce_begin(tly_build *c)
{
    int serial = c->p->order == TALLY_ORDER_SERIAL, keeps = tly_keeps_range(c->p);
    return (tly_reduce){
        .c = c,
        .indexed = tly_has_index(c->p),
        .watched = !serial && tly_is_watched_as(c->p, TLY_WATCH_PRODUCTS),
        .added = (keeps || !serial) && tly_is_watched_as(c->p, TLY_WATCH_SUMS),
        .squared = keeps && tly_is_watched_as(c->p, TLY_WATCH_SQUARES),
        .exact = tly_operator_of(c->p)->exact && !tly_is_floating(c),
    };
}

kir_value tly_reduce_step(tly_build *c, kir_value in, kir_value step)
{
    kir_value rank = arg(c, KIR_ARG_REDUCED_RANK), one = imm(c, 1);
    kir_branch several;
    kir_loop dims;
    kir_if(c->b, &several, less(c, one, rank));
    kir_for(c->b, &dims, imm(c, 0), rank, one, 2, (kir_value[]){ step, imm(c, 0) });
    kir_value d = sub(c, sub(c, rank, one), dims.i);
    kir_value size = kir_get_at(c->b, KIR_ARG_REDUCED_SIZE, d);
    kir_value up = udiv(c, dims.carried[0], size);
    kir_value index = sub(c, dims.carried[0], mul(c, up, size));
    kir_value moved = mul(c, index, kir_get_at(c->b, KIR_ARG_REDUCED_IN, d));
    kir_for_end(c->b, &dims, (kir_value[]){ up, add(c, dims.carried[1], moved) });
    kir_else(c->b, &several, 1, &dims.result[1]);
    kir_value plain = mul(c, step, kir_get_at(c->b, KIR_ARG_REDUCED_IN, imm(c, 0)));
    kir_if_end(c->b, &several, 1, &plain);
    return ptradd(c, in, several.result[0]);
}

tly_span tly_reduce_all(tly_build *c, kir_value in)
{
    kir_value zero = imm(c, 0);
    return (tly_span){ in, zero, arg(c, KIR_ARG_STEPS), zero, arg(c, KIR_ARG_LENGTH) };
}

/* Chunk number `chunk` of an output: some whole steps, or part of one. */
static tly_span chunk_at(tly_build *c, kir_value in, kir_value chunk)
{
    kir_value size = arg(c, KIR_ARG_CHUNK_LENGTH), length = arg(c, KIR_ARG_LENGTH);
    kir_value together = arg(c, KIR_ARG_CHUNK_STEPS), steps = arg(c, KIR_ARG_STEPS);
    kir_branch cut;
    kir_if(c->b, &cut, less(c, size, length));
    kir_value each = udiv(c, add(c, length, sub(c, size, imm(c, 1))), size);
    kir_value step = udiv(c, chunk, each);
    kir_value part[2] = { step, mul(c, sub(c, chunk, mul(c, step, each)), size) };
    kir_else(c->b, &cut, 2, part);
    kir_value whole[2] = { mul(c, chunk, together), imm(c, 0) };
    kir_if_end(c->b, &cut, 2, whole);
    kir_value begin = cut.result[0], from = cut.result[1];
    return (tly_span){ in, begin, tly_min(c, add(c, begin, together), steps), from,
                       tly_min(c, add(c, from, size), length) };
}

/* ---- outputs ---- */

static kir_value record_at(tly_reduce *r, const tly_reduce_form *f, kir_arg records,
                           kir_value number)
{
    return ptradd(r->c, arg(r->c, records), mul(r->c, number, f->record_bytes));
}

/* The state of one tile: made, or taken from its record. */
static kir_value state_of(tly_reduce *r, const tly_reduce_form *f, kir_value in, kir_value chunk,
                          kir_value tile, kir_value place)
{
    tly_build *c = r->c;
    kir_value mode = arg(c, KIR_ARG_MODE);
    kir_value record = sub(c, tile, arg(c, KIR_ARG_BEGIN));
    record = record_at(r, f, KIR_ARG_CARRY_OUT, record);
    kir_branch known, wanted;
    kir_if(c->b, &known, equal(c, mode, imm(c, TLY_MODE_COMBINE)));
    kir_value there = f->take(r, record_at(r, f, KIR_ARG_CARRY_IN, tile));
    kir_else(c->b, &known, 1, &there);
    tly_span s = chunk_at(c, in, chunk);
    kir_value total = equal(c, mode, imm(c, TLY_MODE_TOTAL));
    kir_value made = f->make(r, &s, place ? choose(c, total, record, place) : 0);
    if (f->keep != NULL) {
        kir_if(c->b, &wanted, total);
        f->keep(r, record, made);
        kir_if_end(c->b, &wanted, 0, NULL);
    }
    kir_if_end(c->b, &known, 1, &made);
    return known.result[0];
}

/* Tiles of one output that lie in the task. States are joined in groups, and those in their
 * order, so that long sums are no long chains: after each group there is a turn that joins it.
 * The first state of a group is the group's, the first group the output's. */
static void do_output(tly_reduce *r, const tly_reduce_form *f, kir_value output)
{
    enum { GROUP = 32 };
    tly_build *c = r->c;
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END);
    kir_value chunks = arg(c, KIR_ARG_CHUNKS), mode = arg(c, KIR_ARG_MODE);
    kir_value zero = imm(c, 0), one = imm(c, 1), first = mul(c, output, chunks);
    kir_value records = equal(c, mode, imm(c, TLY_MODE_TOTAL)), whole = 0, part = 0, own = 0;
    tly_row at = f->begin(r, output);
    kir_value low = tly_max(c, sub(c, begin, first), zero), none = f->none(r);
    kir_value high = tly_min(c, chunks, sub(c, end, first)), both[2] = { none, none };
    kir_branch turn, lone;
    kir_loop group, l;
    kir_for(c->b, &group, low, high, imm(c, GROUP), 1, both);
    both[0] = group.carried[0];
    kir_value last = tly_min(c, high, add(c, group.i, imm(c, GROUP)));
    kir_value leads = equal(c, group.i, low);
    kir_for(c->b, &l, group.i, add(c, last, one), one, 2, both);
    kir_value joins = equal(c, l.i, last), starts = equal(c, l.i, group.i);
    if (f->place != NULL) {
        whole = f->place(r, zero);
        part = choose(c, leads, whole, f->place(r, one));
        own = choose(c, starts, part, f->place(r, imm(c, 2)));
    }
    kir_if(c->b, &turn, joins);
    kir_else(c->b, &turn, 1, &l.carried[1]);
    kir_value made = state_of(r, f, at.at[TLY_IN], l.i, add(c, first, l.i), own);
    kir_if_end(c->b, &turn, 1, &made);
    kir_value alone = bor(c, choose(c, joins, leads, starts), records);
    kir_if(c->b, &lone, alone);
    kir_else(c->b, &lone, 1, turn.result);
    made = f->join(r, choose(c, joins, l.carried[0], l.carried[1]), turn.result[0],
                   part ? choose(c, joins, whole, part) : 0);
    kir_if_end(c->b, &lone, 1, &made);
    both[0] = choose(c, joins, lone.result[0], l.carried[0]);
    both[1] = lone.result[0];
    kir_for_end(c->b, &l, both);
    kir_for_end(c->b, &group, l.result);
    kir_if(c->b, &turn, tly_not(c, records));
    tly_span all = tly_reduce_all(c, at.at[TLY_IN]);
    f->finish(r, &all, at.at[TLY_OUT], group.result[0]);
    kir_if_end(c->b, &turn, 0, NULL);
}

void tly_reduce_outputs(tly_reduce *r, const tly_reduce_form *f)
{
    tly_build *c = r->c;
    kir_value chunks = arg(c, KIR_ARG_CHUNKS), one = imm(c, 1);
    kir_value first = udiv(c, arg(c, KIR_ARG_BEGIN), chunks);
    kir_value last = udiv(c, sub(c, arg(c, KIR_ARG_TASK_END), one), chunks);
    kir_loop l;
    kir_for(c->b, &l, first, add(c, last, one), one, 0, NULL);
    do_output(r, f, l.i);
    kir_for_end(c->b, &l, NULL);
}

/* ---- rows: states are values ---- */

/* What is handed on: states as they are, or what is watched. */
typedef struct records {
    kir_value (*none)(tly_build *c, unsigned lanes);
    kir_value (*join)(tly_build *c, kir_value x, kir_value y);
    unsigned parts; /* accumulators; 0: the operator's */
} records;

static kir_value no_state(tly_build *c, unsigned lanes)
{
    return tly_neutral(c, KIR_TYPE(c->acc.kind, lanes));
}

static const records *records_of(const tly_reduce *r)
{
    static const records states = { no_state, tly_combine, 0 },
                         products = { tly_reduce_one, tly_reduce_join, 2 },
                         sums = { tly_reduce_no_parts, tly_reduce_join_parts, 2 },
                         squares = { tly_reduce_no_squares, tly_reduce_join_squares, 2 },
                         wholes = { tly_reduce_no_whole, tly_reduce_join_whole, 2 };
    return r->watched   ? &products
           : r->added   ? &sums
           : r->squared ? &squares
           : r->whole   ? &wholes
                        : &states;
}

int tly_reduce_hands_on(const tly_reduce *r)
{
    return records_of(r)->parts > 0;
}

unsigned tly_reduce_record_bytes(const tly_reduce *r)
{
    unsigned parts = records_of(r)->parts;
    return parts > 0 ? parts * r->c->acc_bytes : r->c->state_bytes;
}

kir_value tly_reduce_none(tly_reduce *r, unsigned lanes)
{
    return records_of(r)->none(r->c, lanes);
}

kir_value tly_reduce_join_records(tly_reduce *r, kir_value x, kir_value y)
{
    return records_of(r)->join(r->c, x, y);
}

static kir_value none(tly_reduce *r)
{
    return tly_reduce_none(r, 1);
}

static kir_value take(tly_reduce *r, kir_value p)
{
    tly_build *c = r->c;
    kir_value like = none(r), v[KIR_MAX_PARTS];
    if (!tly_reduce_hands_on(r))
        return tly_load_state(c, p, 0, 1, 1);
    for (unsigned i = 0; i < kir_parts(c->b, like); i++) {
        kir_type t = type_of(c, kir_part(c->b, like, i));
        v[i] = kir_load(c->b, t, p, (int64_t)i * c->acc_bytes, 1);
    }
    return kir_tuple(c->b, kir_parts(c->b, like), v);
}

static void keep(tly_reduce *r, kir_value p, kir_value state)
{
    tly_store_state(r->c, p, 0, state, 1);
}

static kir_value join(tly_reduce *r, kir_value x, kir_value y, kir_value place)
{
    (void)place;
    return tly_reduce_join_records(r, x, y);
}

static kir_value make(tly_reduce *r, const tly_span *s, kir_value place)
{
    (void)place;
    return tly_reduce_span(r, s);
}

static tly_row begin(tly_reduce *r, kir_value output)
{
    return tly_row_address(r->c, output);
}

static void finish(tly_reduce *r, const tly_span *all, kir_value out, kir_value state)
{
    kir_store(r->c->b, out, 0, tly_reduce_finish(r, all, tly_step(r->c, TLY_IN), state), 1, 0);
}

static void do_row(tly_reduce *r, kir_value row, kir_value made, kir_value state)
{
    tly_build *c = r->c;
    kir_branch there;
    tly_row at = tly_row_address(c, row);
    tly_span all = tly_reduce_all(c, at.at[TLY_IN]);
    if (made != 0) {
        kir_if(c->b, &there, made);
        kir_else(c->b, &there, 1, &state);
    }
    kir_value own = tly_reduce_span(r, &all);
    if (made != 0) {
        kir_if_end(c->b, &there, 1, &own);
        own = there.result[0];
    }
    finish(r, &all, at.at[TLY_OUT], own);
}

void tly_build_reduce_rows(tly_build *c, tly_launch *launch)
{
    tly_reduce r = tly_reduce_begin(c);
    r.whole = r.exact;
    launch->chunk = c->plan->chunk;
    launch->record_bytes = tly_reduce_record_bytes(&r);
    if (c->plan->rows_at_once > 1) { /* short ones, of one chunk */
        launch->scratch_bytes = TLY_MOST_VECTOR_BYTES * 8;
        tly_reduce_group(&r, arg(c, KIR_ARG_BEGIN), arg(c, KIR_ARG_TASK_END), do_row);
    } else {
        const tly_reduce_form rows = {
            imm(c, launch->record_bytes), begin, none, NULL, make, join, take, keep, finish
        };
        tly_reduce_outputs(&r, &rows);
    }
    kir_return(c->b, imm(c, 0));
}
