/*
 * Reductions along rows: tiles are chunks of an output's elements. States of chunks are combined in
 * their order, by whichever thread, so that the bits are those of one. Outputs and chunks are counted
 * without divisions but the first.
 */
#include "reduce.h"

tly_reduce tly_reduce_begin(tly_build *c)
{
    const tly_operator *o = tly_operator_find(c->p->op);
    int serial = c->p->order == TALLY_ORDER_SERIAL;
    return (tly_reduce){
        .c = c,
        .indexed = o->parts > 1 && o->part[1] == TLY_PART_INDEX,
        .watched = !serial && tly_is_watched_as(c->p, TLY_WATCH_PRODUCTS),
        .added = !serial && tly_is_watched_as(c->p, TLY_WATCH_SUMS),
    };
}

kir_value tly_reduce_step(tly_build *c, kir_value in, kir_value step)
{
    kir_builder *b = c->b;
    kir_value rank = kir_get(b, KIR_ARG_REDUCED_RANK), one = imm(c, 1);
    kir_branch several;
    kir_loop dims;
    kir_if(b, &several, less(c, one, rank));
    kir_for(b, &dims, imm(c, 0), rank, one, 2, (kir_value[]){ step, imm(c, 0) });
    kir_value d = sub(c, sub(c, rank, one), dims.i);
    kir_value size = kir_get_at(b, KIR_ARG_REDUCED_SIZE, d);
    kir_value up = kir_bin(b, KIR_UDIV, dims.carried[0], size);
    kir_value index = sub(c, dims.carried[0], mul(c, up, size));
    kir_value moved = mul(c, index, kir_get_at(b, KIR_ARG_REDUCED_IN, d));
    kir_for_end(b, &dims, (kir_value[]){ up, add(c, dims.carried[1], moved) });
    kir_else(b, &several, 1, &dims.result[1]);
    kir_value plain = mul(c, step, kir_get_at(b, KIR_ARG_REDUCED_IN, imm(c, 0)));
    kir_if_end(b, &several, 1, &plain);
    return kir_ptradd(b, in, several.result[0]);
}

tly_span tly_reduce_all(tly_build *c, kir_value in)
{
    kir_value zero = imm(c, 0);
    return (tly_span){ in, zero, kir_get(c->b, KIR_ARG_STEPS), zero,
                       kir_get(c->b, KIR_ARG_LENGTH) };
}

/* Chunk number `chunk` of an output: some whole steps, or part of one. */
static tly_span chunk_at(tly_build *c, kir_value in, kir_value chunk)
{
    kir_builder *b = c->b;
    kir_value size = kir_get(b, KIR_ARG_CHUNK_LENGTH), length = kir_get(b, KIR_ARG_LENGTH);
    kir_value together = kir_get(b, KIR_ARG_CHUNK_STEPS), steps = kir_get(b, KIR_ARG_STEPS);
    kir_branch cut;
    kir_if(b, &cut, less(c, size, length));
    kir_value each = kir_bin(b, KIR_UDIV, add(c, length, sub(c, size, imm(c, 1))), size);
    kir_value step = kir_bin(b, KIR_UDIV, chunk, each);
    kir_value part[2] = { step, mul(c, sub(c, chunk, mul(c, step, each)), size) };
    kir_else(b, &cut, 2, part);
    kir_value whole[2] = { mul(c, chunk, together), imm(c, 0) };
    kir_if_end(b, &cut, 2, whole);
    kir_value begin = cut.result[0], from = cut.result[1];
    return (tly_span){ in, begin, tly_min(c, add(c, begin, together), steps), from,
                       tly_min(c, add(c, from, size), length) };
}

/* ---- states in records ---- */

static unsigned record_bytes(const tly_reduce *r)
{
    return r->watched || r->added ? 2 * r->c->acc_bytes : r->c->state_bytes;
}

static kir_value nothing(tly_reduce *r)
{
    return r->watched ? tly_reduce_one(r->c, 1)
           : r->added ? tly_reduce_no_parts(r->c)
                      : tly_neutral(r->c, r->c->acc);
}

static kir_value load_record(tly_reduce *r, kir_value p)
{
    tly_build *c = r->c;
    if (!r->watched && !r->added)
        return tly_load_state(c, p, 0, 1, 1);
    kir_type second = kir_type_of(c->b, kir_part(c->b, nothing(r), 1));
    return kir_tuple(c->b, 2,
                     (kir_value[]){ kir_load(c->b, c->acc, p, 0, 1),
                                    kir_load(c->b, second, p, c->acc_bytes, 1) });
}

static kir_value record_at(tly_reduce *r, kir_arg records, kir_value number)
{
    return tly_at(r->c, kir_get(r->c->b, records), number, record_bytes(r));
}

static kir_value join(tly_reduce *r, kir_value x, kir_value y)
{
    return r->watched ? tly_reduce_join(r->c, x, y)
           : r->added ? tly_reduce_join_parts(r->c, x, y)
                      : tly_combine(r->c, x, y);
}

/* ---- outputs ---- */

/* One tile's state: made, or taken from its record. */
static kir_value state_of(tly_reduce *r, kir_value in, kir_value tile, kir_value chunk,
                          kir_value combines)
{
    kir_builder *b = r->c->b;
    kir_branch known;
    kir_if(b, &known, combines);
    kir_value there = load_record(r, record_at(r, KIR_ARG_CARRY_IN, tile));
    kir_else(b, &known, 1, &there);
    tly_span s = chunk_at(r->c, in, chunk);
    kir_value made = tly_reduce_span(r, &s);
    kir_if_end(b, &known, 1, &made);
    return known.result[0];
}

static void finish(tly_reduce *r, const tly_row *at, kir_value state)
{
    kir_builder *b = r->c->b;
    tly_span all = tly_reduce_all(r->c, at->in);
    kir_value result = tly_reduce_result(r, tly_reduce_judge(r, &all, state));
    kir_store(b, at->out, 0, result, 1, 0);
}

/* Tiles of one output that lie in the task. */
static void do_output(tly_reduce *r, kir_value output)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_value begin = kir_get(b, KIR_ARG_BEGIN), end = kir_get(b, KIR_ARG_TASK_END);
    kir_value chunks = kir_get(b, KIR_ARG_CHUNKS), mode = kir_get(b, KIR_ARG_MODE);
    kir_value zero = imm(c, 0), first = mul(c, output, chunks);
    kir_value combines = equal(c, mode, imm(c, TLY_MODE_COMBINE));
    kir_value records = equal(c, mode, imm(c, TLY_MODE_TOTAL));
    tly_row at = tly_row_address(c, output);
    kir_value start = nothing(r);
    kir_branch way;
    kir_loop l;
    kir_for(b, &l, tly_max(c, sub(c, begin, first), zero), tly_min(c, chunks, sub(c, end, first)),
            imm(c, 1), 1, &start);
    kir_value tile = add(c, first, l.i);
    kir_value state = state_of(r, at.in, tile, l.i, combines);
    kir_if(b, &way, records);
    tly_store_state(c, record_at(r, KIR_ARG_CARRY_OUT, sub(c, tile, begin)), 0, state, 1);
    kir_if_end(b, &way, 0, NULL);
    kir_value next = join(r, l.carried[0], state);
    kir_for_end(b, &l, &next);
    kir_if(b, &way, tly_not(c, records));
    finish(r, &at, l.result[0]);
    kir_if_end(b, &way, 0, NULL);
}

static void do_row(tly_reduce *r, kir_value row)
{
    tly_row at = tly_row_address(r->c, row);
    tly_span all = tly_reduce_all(r->c, at.in);
    finish(r, &at, tly_reduce_span(r, &all));
}

void tly_build_reduce_rows(tly_build *c, tly_launch *launch)
{
    kir_builder *b = c->b;
    tly_reduce r = tly_reduce_begin(c);
    kir_value chunks = kir_get(b, KIR_ARG_CHUNKS), one = imm(c, 1);
    kir_loop l;
    launch->chunk = c->plan->chunk;
    launch->record_bytes = record_bytes(&r);
    if (c->plan->rows > 1) { /* short ones, of one chunk */
        launch->scratch_bytes = TLY_MOST_VECTOR_BYTES * 8;
        tly_reduce_group(&r, kir_get(b, KIR_ARG_BEGIN), kir_get(b, KIR_ARG_TASK_END), do_row);
        kir_return(b, imm(c, 0));
        return;
    }
    kir_value first = kir_bin(b, KIR_UDIV, kir_get(b, KIR_ARG_BEGIN), chunks);
    kir_value last = kir_bin(b, KIR_UDIV, sub(c, kir_get(b, KIR_ARG_TASK_END), one), chunks);
    kir_for(b, &l, first, add(c, last, one), one, 0, NULL);
    do_output(&r, l.i);
    kir_for_end(b, &l, NULL);
    kir_return(b, imm(c, 0));
}
