/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions: from tiles to outputs. A tile is a chunk of one output's elements, or of several
 * outputs side by side. The states of chunks are joined in a fixed order, whichever threads made
 * them, so the bits are those of one thread. A task counts its outputs without divisions, except
 * for its first and last. The segments of a row are outputs; of lanes, each is one chunk.
 */
#include "reduce.h"

tly_reduce tly_reduce_begin(tly_build *c)
{
    const int serial = c->p->order == TALLY_ORDER_SERIAL || tly_has_slices(c->p);
    const int keeps = tly_keeps_range(c->p);
    c->is_mapped = c->p->program.type != 0; /* when they are loaded: some are loaded again */
    return (tly_reduce){
        .c = c,
        .indexed = tly_has_index(c->p),
        .checks_products = !serial && tly_is_checked_as(c->p, TLY_CHECK_PRODUCTS),
        .checks_sums = (keeps || !serial) && tly_is_checked_as(c->p, TLY_CHECK_SUMS),
        .checks_squares = keeps && tly_is_checked_as(c->p, TLY_CHECK_SQUARES),
        .exact = tly_operator_of(c->p)->exact && !tly_is_floating(c),
    };
}

kir_value tly_reduce_length(tly_build *c)
{
    return c->p->segmented != TLY_SEGMENTED_NOT ? c->count : arg(c, KIR_ARG_LENGTH);
}

kir_value tly_reduce_count(tly_build *c)
{
    return c->p->segmented != TLY_SEGMENTED_NOT
               ? c->count
               : mul(c, arg(c, KIR_ARG_STEPS), arg(c, KIR_ARG_LENGTH));
}

kir_value tly_reduce_index(tly_build *c, kir_value step)
{
    return c->p->segmented != TLY_SEGMENTED_NOT ? c->from : mul(c, step, arg(c, KIR_ARG_LENGTH));
}

tly_row tly_reduce_begin_segment(tly_build *c, const tly_row *row, kir_value segment)
{
    const tly_segment s = tly_segment_of(c, row, segment);
    c->from = s.first;
    c->count = s.count;
    return s.row;
}

tly_row tly_reduce_row(tly_build *c, kir_value number)
{
    if (c->p->segmented == TLY_SEGMENTED_NOT)
        return tly_row_address(c, number);
    kir_value segments = arg(c, KIR_ARG_SEGMENTS), row = udiv(c, number, segments);
    const tly_row all = tly_row_address(c, row);
    return tly_reduce_begin_segment(c, &all, sub(c, number, mul(c, row, segments)));
}

tly_row tly_reduce_step(tly_build *c, const tly_row *at, kir_value step)
{
    kir_value rank = arg(c, KIR_ARG_REDUCED_RANK), one = imm(c, 1), rest = step;
    tly_row offset = { { 0 } }, there = *at;
    tly_region several = { 0 }, dims = { .state = { &rest } };
    tly_carry_read(c, &several, &offset);
    tly_carry_read(c, &dims, &offset);
    emit_if(c, &several, less(c, one, rank));
    for (int t = 0; t < c->tensors; t++)
        offset.at[t] = imm(c, 0);
    emit_for(c, &dims, imm(c, 0), rank, one);
    kir_value d = sub(c, sub(c, rank, one), dims.i);
    kir_value size = kir_get_at(c->b, KIR_ARG_REDUCED_SIZE, d);
    kir_value up = udiv(c, rest, size);
    kir_value index = sub(c, rest, mul(c, up, size));
    for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t))
        offset.at[t] = add(c, offset.at[t],
                           mul(c, index, kir_get_at(c->b, TLY_ARG(REDUCED_IN, t), d)));
    rest = up;
    emit_end(c, &dims);
    emit_else(c, &several);
    for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t))
        offset.at[t] = mul(c, step, kir_get_at(c->b, TLY_ARG(REDUCED_IN, t), imm(c, 0)));
    emit_end(c, &several);
    for (int t = TLY_IN; t < c->tensors; t = tly_next_read(t))
        there.at[t] = ptradd(c, at->at[t], offset.at[t]);
    return there;
}

tly_reduce_span tly_reduce_all(tly_build *c, const tly_row *at)
{
    kir_value zero = imm(c, 0);
    return (tly_reduce_span){ *at, zero, arg(c, KIR_ARG_STEPS), zero, tly_reduce_length(c) };
}

/* Chunk number `chunk` of an output: some whole steps, or part of one. */
static tly_reduce_span chunk_at(tly_build *c, const tly_row *at, kir_value chunk)
{
    kir_value size = arg(c, KIR_ARG_CHUNK_LENGTH), length = tly_reduce_length(c);
    if (c->p->segmented != TLY_SEGMENTED_NOT) {
        kir_value at_size = imm(c, TLY_SEGMENT_CHUNK), at_chunk = mul(c, chunk, at_size);
        return (tly_reduce_span){ *at, imm(c, 0), imm(c, 1), at_chunk,
                                  tly_min(c, add(c, at_chunk, at_size), length) };
    }
    kir_value together = arg(c, KIR_ARG_CHUNK_STEPS), steps = arg(c, KIR_ARG_STEPS);
    kir_value begin = 0, from = 0;
    tly_region cut = { .state = { &begin, &from } };
    emit_if(c, &cut, less(c, size, length));
    kir_value each = udiv(c, add(c, length, sub(c, size, imm(c, 1))), size);
    begin = udiv(c, chunk, each);
    from = mul(c, sub(c, chunk, mul(c, begin, each)), size);
    emit_else(c, &cut);
    begin = mul(c, chunk, together);
    from = imm(c, 0);
    emit_end(c, &cut);
    return (tly_reduce_span){ *at, begin, tly_min(c, add(c, begin, together), steps), from,
                              tly_min(c, add(c, from, size), length) };
}

/* ---- outputs ---- */

static kir_value record_at(tly_reduce *r, const tly_reduce_form *f, kir_arg records,
                           kir_value number)
{
    return ptradd(r->c, arg(r->c, records), mul(r->c, number, f->record_bytes));
}

/* The state of one tile: made, or taken from its record. */
static kir_value state_of(tly_reduce *r, const tly_reduce_form *f, const tly_row *row,
                          kir_value chunk, kir_value tile, kir_value scratch)
{
    tly_build *c = r->c;
    kir_value mode = arg(c, KIR_ARG_MODE);
    kir_value record = sub(c, tile, arg(c, KIR_ARG_BEGIN));
    record = record_at(r, f, KIR_ARG_CARRY_OUT, record);
    kir_value state = 0;
    tly_region known = { .state = { &state } }, wanted = { 0 };
    emit_if(c, &known, equal(c, mode, imm(c, TLY_MODE_COMBINE)));
    state = record_at(r, f, KIR_ARG_CARRY_IN, tile);
    if (f->take != NULL)
        state = f->take(r, state);
    emit_else(c, &known);
    tly_reduce_span s = chunk_at(c, row, chunk);
    kir_value total = equal(c, mode, imm(c, TLY_MODE_TOTAL));
    state = f->make(r, &s, scratch ? choose(c, total, record, scratch) : 0);
    if (f->keep != NULL) {
        emit_if(c, &wanted, total);
        f->keep(r, record, state);
        emit_end(c, &wanted);
    }
    emit_end(c, &known);
    return state;
}

static tly_row begin_output(tly_reduce *r, const tly_reduce_form *f, kir_value output)
{
    return f->begin != NULL ? f->begin(r, output) : tly_reduce_row(r->c, output);
}

static void do_segment(tly_reduce *r, const tly_reduce_form *f, kir_value output)
{
    tly_build *c = r->c;
    const tly_row row = begin_output(r, f, output);
    const tly_reduce_span all = tly_reduce_all(c, &row);
    f->finish(r, &row, f->make(r, &all, f->scratch != NULL ? f->scratch(r, imm(c, 0)) : 0));
}

/* Does chunks [low, high) of an output, whose tiles count from `first` on. States are joined in
 * groups, and groups in their order, so that a long sum is no long chain. After the last state of a
 * group an extra turn joins the group to the total. The first state of a group becomes the group's,
 * the first group the total. */
static void do_chunks(tly_reduce *r, const tly_reduce_form *f, const tly_row *row, kir_value first,
                      kir_value low, kir_value high)
{
    enum { GROUP = 32 };
    tly_build *c = r->c;
    kir_value mode = arg(c, KIR_ARG_MODE), zero = imm(c, 0), one = imm(c, 1);
    kir_value records = equal(c, mode, imm(c, TLY_MODE_TOTAL));
    kir_value total_scratch = 0, group_scratch = 0, own_scratch = 0;
    kir_value none = f->none(r), total = none, of_group = 0;
    tly_region group = { .state = { &total } }, l = { .state = { &total, &of_group } };
    emit_for(c, &group, low, high, imm(c, GROUP));
    kir_value last = tly_min(c, high, add(c, group.i, imm(c, GROUP)));
    kir_value leads = equal(c, group.i, low);
    of_group = none;
    emit_for(c, &l, group.i, add(c, last, one), one);
    kir_value joins = equal(c, l.i, last), starts = equal(c, l.i, group.i);
    if (f->scratch != NULL) {
        total_scratch = f->scratch(r, zero);
        group_scratch = choose(c, leads, total_scratch, f->scratch(r, one));
        own_scratch = choose(c, starts, group_scratch, f->scratch(r, imm(c, 2)));
    }
    kir_value state = of_group;
    tly_region turn = { .state = { &state } }, lone = { .state = { &state } }, wanted = { 0 };
    emit_unless(c, &turn, joins);
    state = state_of(r, f, row, l.i, add(c, first, l.i), own_scratch);
    emit_end(c, &turn);
    emit_unless(c, &lone, bor(c, choose(c, joins, leads, starts), records));
    state = f->join(r, choose(c, joins, total, of_group), state,
                    group_scratch ? choose(c, joins, total_scratch, group_scratch) : 0);
    emit_end(c, &lone);
    total = choose(c, joins, state, total);
    of_group = state;
    emit_end(c, &l);
    emit_end(c, &group);
    emit_if(c, &wanted, tly_not(c, records));
    f->finish(r, row, total);
    emit_end(c, &wanted);
}

static void do_output(tly_reduce *r, const tly_reduce_form *f, kir_value output)
{
    tly_build *c = r->c;
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END);
    kir_value chunks = arg(c, KIR_ARG_CHUNKS), first = mul(c, output, chunks);
    const tly_row row = begin_output(r, f, output);
    do_chunks(r, f, &row, first, tly_max(c, sub(c, begin, first), imm(c, 0)),
              tly_min(c, chunks, sub(c, end, first)));
}

void tly_reduce_outputs(tly_reduce *r, const tly_reduce_form *f)
{
    tly_build *c = r->c;
    kir_value chunks = arg(c, KIR_ARG_CHUNKS), one = imm(c, 1);
    kir_value first = udiv(c, arg(c, KIR_ARG_BEGIN), chunks);
    kir_value last = udiv(c, sub(c, arg(c, KIR_ARG_TASK_END), one), chunks);
    tly_region l = { 0 };
    emit_for(c, &l, first, add(c, last, one), one);
    if (c->p->segmented != TLY_SEGMENTED_NOT)
        do_segment(r, f, l.i);
    else
        do_output(r, f, l.i);
    emit_end(c, &l);
}

/* ---- rows: states are values ---- */

/* The states that chunks hand on. */
typedef struct records {
    kir_value (*none)(tly_build *c, unsigned lanes);
    kir_value (*join)(tly_build *c, kir_value x, kir_value y);
    unsigned parts; /* accumulators; 0: the operator's */
} records;

static const records *records_of(const tly_reduce *r)
{
    static const records states = { tly_reduce_neutral, tly_combine, 0 },
                         products = { tly_reduce_one, tly_reduce_join, 2 },
                         sums = { tly_reduce_no_parts, tly_reduce_join_parts, 2 },
                         squares = { tly_reduce_no_squares, tly_reduce_join_squares, 2 },
                         wholes = { tly_reduce_no_i128, tly_reduce_join_i128, 2 };
    return r->checks_products  ? &products
           : r->checks_sums    ? &sums
           : r->checks_squares ? &squares
           : r->is_i128        ? &wholes
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
        kir_type t = type_of(c, part(c, like, i));
        v[i] = kir_load(c->b, t, p, (int64_t)i * c->acc_bytes, 1);
    }
    return kir_tuple(c->b, kir_parts(c->b, like), v);
}

static void keep(tly_reduce *r, kir_value p, kir_value state)
{
    tly_store_state(r->c, p, 0, state, 1);
}

static kir_value join(tly_reduce *r, kir_value x, kir_value y, kir_value scratch)
{
    (void)scratch;
    return tly_reduce_join_records(r, x, y);
}

static kir_value make(tly_reduce *r, const tly_reduce_span *s, kir_value scratch)
{
    (void)scratch;
    return tly_reduce_of_span(r, s);
}

void tly_reduce_finish_row(tly_reduce *r, const tly_row *row, kir_value state)
{
    tly_build *c = r->c;
    const tly_reduce_span all = tly_reduce_all(c, row);
    const tly_place at = tly_place_in(row, 0, 0);
    kir_value y = tly_reduce_finish(r, &all, &at, tly_step, state);
    kir_store(c->b, row->at[TLY_OUT], 0, y, 1, 0);
}

static void do_row(tly_reduce *r, kir_value number, kir_value made, kir_value state)
{
    tly_build *c = r->c;
    tly_region there = { .state = { &state } };
    tly_row row = tly_row_address(c, number);
    const tly_reduce_span all = tly_reduce_all(c, &row);
    if (made != 0)
        emit_unless(c, &there, made);
    state = tly_reduce_of_span(r, &all);
    if (made != 0)
        emit_end(c, &there);
    tly_reduce_finish_row(r, &row, state);
}

static tly_reduce_form form_of_rows(const tly_reduce *r)
{
    return (tly_reduce_form){ imm(r->c, tly_reduce_record_bytes(r)),
                              NULL,
                              none,
                              NULL,
                              make,
                              join,
                              take,
                              keep,
                              tly_reduce_finish_row };
}

void tly_reduce_chunks(tly_reduce *r, const tly_row *row, kir_value low, kir_value high)
{
    const tly_reduce_form rows = form_of_rows(r);
    do_chunks(r, &rows, row, imm(r->c, 0), low, high);
}

void tly_build_reduce_rows(tly_build *c, tly_launch *launch)
{
    tly_reduce r = tly_reduce_begin(c);
    r.is_i128 = r.exact;
    launch->chunk = c->plan->chunk;
    launch->record_bytes = tly_reduce_record_bytes(&r);
    if (c->p->segmented != TLY_SEGMENTED_NOT) {
        tly_reduce_segments(&r);
    } else if (c->plan->rows_at_once > 1) { /* short ones, of one chunk */
        launch->scratch_bytes = TLY_MOST_VECTOR_BYTES * 8;
        tly_reduce_group(&r, arg(c, KIR_ARG_BEGIN), arg(c, KIR_ARG_TASK_END), do_row);
    } else {
        const tly_reduce_form rows = form_of_rows(&r);
        tly_reduce_outputs(&r, &rows);
    }
    kir_return(c->b, imm(c, 0));
}
