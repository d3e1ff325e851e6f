/*
 * Reductions of outputs that lie side by side: each lane is the plain loop, so nothing leaves the
 * range that the loop does not. States of a tile's lanes lie in scratch; several rows of input pass at
 * once, so that states are loaded and stored once for all of them.
 */
#include "reduce.h"

enum { MAX_STEPS = TLY_REDUCE_MOST_STEPS };

typedef struct lanes {
    tly_reduce r;
    kir_value states; /* scratch, lane 0 first: of each vector its parts one after the other */
    kir_value count;  /* lanes */
    kir_value whole;  /* those that fill vectors; the rest go one by one */
} lanes;

/* A loop over lanes [0, whole) by vectors, and over the rest by scalars. */
typedef void (*lane_body)(lanes *k, kir_value lane, unsigned n, void *user);

static void each_lane(lanes *k, lane_body body, void *user)
{
    tly_build *c = k->r.c;
    kir_loop l;
    if (c->lanes > 1) {
        kir_for(c->b, &l, imm(c, 0), k->whole, imm(c, c->lanes), 0, NULL);
        body(k, l.i, c->lanes, user);
        kir_for_end(c->b, &l, NULL);
    }
    kir_for(c->b, &l, k->whole, k->count, imm(c, 1), 0, NULL);
    body(k, l.i, 1, user);
    kir_for_end(c->b, &l, NULL);
}

static kir_value state_at(lanes *k, kir_value lane)
{
    return tly_at(k->r.c, k->states, lane, k->r.c->state_bytes);
}

static void clear(lanes *k, kir_value lane, unsigned n, void *user)
{
    tly_build *c = k->r.c;
    (void)user;
    tly_store_state(c, state_at(k, lane), 0, tly_neutral(c, KIR_TYPE(c->acc.kind, n)), 1);
}

/* Rows of input that pass at once. */
typedef struct rows {
    kir_value at[MAX_STEPS], index; /* lane 0 of each; of the first */
    unsigned count;
} rows;

static void pass(lanes *k, kir_value lane, unsigned n, void *user)
{
    tly_build *c = k->r.c;
    kir_builder *b = c->b;
    const rows *in = user;
    kir_value skipped = mul(c, lane, tly_in_step(c));
    kir_value state = tly_load_state(c, state_at(k, lane), 0, n, 1);
    kir_value x[MAX_STEPS], index[MAX_STEPS] = { 0 };
    for (unsigned i = 0; i < in->count; i++) {
        x[i] = tly_reduce_load(&k->r, kir_ptradd(b, in->at[i], skipped), 0, n);
        if (k->r.indexed)
            index[i] = tly_reduce_indices(&k->r, add(c, in->index, imm(c, i)), n, 0);
    }
    state = tly_take(c, state, x, index, in->count);
    tly_store_state(c, state_at(k, lane), 0, state, 1);
}

/* Elements [from, to) of a step by so many rows. */
static void pass_rows(lanes *k, kir_value in, kir_value index, kir_value from, kir_value to,
                      unsigned count)
{
    tly_build *c = k->r.c;
    kir_value axis = kir_get(c->b, KIR_ARG_IN_AXIS);
    rows some = { .count = count };
    kir_loop l;
    kir_for(c->b, &l, from, to, imm(c, count), 0, NULL);
    some.index = add(c, index, l.i);
    for (unsigned i = 0; i < count; i++)
        some.at[i] = kir_ptradd(c->b, i > 0 ? some.at[i - 1] : in,
                                i > 0 ? axis : mul(c, l.i, axis));
    each_lane(k, pass, &some);
    kir_for_end(c->b, &l, NULL);
}

static void finish(lanes *k, kir_value lane, unsigned n, void *user)
{
    kir_value state = tly_load_state(k->r.c, state_at(k, lane), 0, n, 1);
    tly_reduce_store(&k->r, *(kir_value *)user, lane, tly_reduce_result(&k->r, state));
}

/* Lanes [from, from + count) of a row. */
static void do_tile(lanes *k, const tly_row *row, kir_value from)
{
    tly_build *c = k->r.c;
    kir_builder *b = c->b;
    unsigned together = (unsigned)c->plan->rows;
    kir_value zero = imm(c, 0), length = kir_get(b, KIR_ARG_LENGTH);
    kir_value in = kir_ptradd(b, row->in, mul(c, from, tly_in_step(c)));
    kir_value out = kir_ptradd(b, row->out, mul(c, from, tly_out_step(c)));
    kir_value whole = tly_round_down(c, length, together);
    kir_loop l;
    each_lane(k, clear, NULL);
    kir_for(b, &l, zero, kir_get(b, KIR_ARG_STEPS), imm(c, 1), 0, NULL);
    kir_value step = tly_reduce_step(c, in, l.i), index = mul(c, l.i, length);
    pass_rows(k, step, index, zero, whole, together);
    if (together > 1)
        pass_rows(k, step, index, whole, length, 1);
    kir_for_end(b, &l, NULL);
    each_lane(k, finish, &out);
}

void tly_build_reduce_lanes(tly_build *c, tly_launch *launch)
{
    kir_builder *b = c->b;
    lanes k = { .r = tly_reduce_begin(c) };
    kir_value blocks = kir_get(b, KIR_ARG_BLOCKS), tile = imm(c, c->plan->tile_lanes);
    kir_loop l;
    launch->tile_lanes = c->plan->tile_lanes;
    launch->record_bytes = c->plan->tile_lanes * (int64_t)c->state_bytes;
    launch->scratch_bytes = TLY_CONGRUENT_BYTES + launch->record_bytes;
    kir_for(b, &l, kir_get(b, KIR_ARG_BEGIN), kir_get(b, KIR_ARG_TASK_END), imm(c, 1), 0, NULL);
    kir_value row = kir_bin(b, KIR_UDIV, l.i, blocks);
    kir_value from = mul(c, sub(c, l.i, mul(c, row, blocks)), tile);
    tly_row at = tly_row_address(c, row);
    k.states = tly_congruent(c, kir_get(b, KIR_ARG_SCRATCH), at.in);
    k.count = tly_min(c, tile, sub(c, kir_get(b, KIR_ARG_INNER), from));
    k.whole = c->lanes > 1 ? tly_round_down(c, k.count, c->lanes) : imm(c, 0);
    do_tile(&k, &at, from);
    kir_for_end(b, &l, NULL);
    kir_return(b, imm(c, 0));
}
