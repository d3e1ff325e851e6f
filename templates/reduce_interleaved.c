/*
 * Reductions of a few outputs side by side whose steps lie one behind the other, as in packed columns:
 * `block` steps together are one row of as many more lanes, each with a state in scratch, so that
 * vectors are full however few the outputs. In the end the states of an output are joined in a fixed
 * tree. A sum that overflowed on its way is made once more, in multiples of 2^-64.
 */
#include "reduce.h"

enum { MAX_STEPS = TLY_REDUCE_MOST_STEPS };

typedef struct stream {
    tly_reduce r;
    kir_value unit, wide; /* outputs; lanes: `block` times as many */
    kir_value states;     /* scratch: a row of `wide` */
    kir_value numbers;    /* scratch, of indices: the step, from 0, that each lane belongs to */
} stream;

typedef void (*lane_body)(stream *s, kir_value lane, unsigned n, void *user);

/* Lanes [0, count), those that fill vectors and, unless `whole`, the others one by one. */
static void each_lane(stream *s, kir_value count, int whole, lane_body body, void *user)
{
    tly_build *c = s->r.c;
    kir_value vectors = whole ? count : tly_round_down(c, count, c->lanes);
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), vectors, imm(c, c->lanes), 0, NULL);
    body(s, l.i, c->lanes, user);
    kir_for_end(c->b, &l, NULL);
    if (whole || c->lanes == 1)
        return;
    kir_for(c->b, &l, vectors, count, imm(c, 1), 0, NULL);
    body(s, l.i, 1, user);
    kir_for_end(c->b, &l, NULL);
}

static void clear(stream *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    (void)user;
    tly_states_store(c, tly_states_at(c, s->states, lane), 0,
                     tly_neutral(c, KIR_TYPE(c->acc.kind, n)));
}

/* ---- the way through the elements ---- */

/* Rows of `wide` elements that pass at once. */
typedef struct rows {
    kir_value at[MAX_STEPS], index; /* lane 0 of each; of the first */
    unsigned count;
} rows;

static unsigned index_bytes(const stream *s)
{
    return (unsigned)tally_dtype_bytes(tly_index_dtype(s->r.c->p));
}

static kir_value indices(stream *s, kir_value first, kir_value lane, unsigned n)
{
    tly_build *c = s->r.c;
    if (!s->r.indexed)
        return 0;
    kir_value at = tly_at(c, s->numbers, lane, index_bytes(s));
    kir_value number = kir_load(c->b, tly_storage(tly_index_dtype(c->p), n), at, 0, 1);
    return add(c, number, tly_reduce_indices(&s->r, first, n, 0));
}

static void pass(stream *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    const rows *in = user;
    kir_value to = tly_states_at(c, s->states, lane), state = tly_states_load(c, to, 0, n);
    kir_value x[MAX_STEPS], index[MAX_STEPS];
    for (unsigned i = 0; i < in->count; i++) {
        x[i] = tly_reduce_load(&s->r, tly_at(c, in->at[i], lane, c->in_bytes), 0, n);
        index[i] = indices(s, add(c, in->index, imm(c, (int64_t)i * c->plan->block)), lane, n);
    }
    tly_states_store(c, to, 0, tly_take(c, state, x, index, in->count));
}

/* The elements from `in` on; the first has index `index`. */
static void do_step(stream *s, kir_value in, kir_value index)
{
    tly_build *c = s->r.c;
    kir_builder *b = c->b;
    rows some = { .count = (unsigned)c->plan->rows }, last = { .count = 1 };
    kir_value length = kir_get(b, KIR_ARG_LENGTH), all = mul(c, length, s->unit);
    kir_value full = tly_part(c, length, (unsigned)c->plan->block);
    kir_value whole = tly_round_down(c, full, some.count), one = imm(c, 1);
    kir_value bytes = mul(c, s->wide, imm(c, c->in_bytes)), steps = imm(c, c->plan->block);
    kir_loop l;
    kir_for(b, &l, imm(c, 0), whole, imm(c, some.count), 0, NULL);
    some.index = add(c, index, mul(c, l.i, steps));
    some.at[0] = kir_ptradd(b, in, mul(c, l.i, bytes));
    for (unsigned i = 1; i < some.count; i++)
        some.at[i] = kir_ptradd(b, some.at[i - 1], bytes);
    each_lane(s, s->wide, 1, pass, &some);
    kir_for_end(b, &l, NULL);
    kir_for(b, &l, whole, add(c, full, one), one, 0, NULL);
    last.index = add(c, index, mul(c, l.i, steps));
    last.at[0] = kir_ptradd(b, in, mul(c, l.i, bytes));
    each_lane(s, tly_min(c, s->wide, sub(c, all, mul(c, l.i, s->wide))), 0, pass, &last);
    kir_for_end(b, &l, NULL);
}

/* ---- one state an output ---- */

static void join(stream *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    kir_value to = tly_states_at(c, s->states, lane), offset = *(kir_value *)user;
    kir_value from = tly_states_at(c, s->states, add(c, lane, offset));
    tly_states_store(c, to, 0,
                     tly_combine(c, tly_states_load(c, to, 0, n), tly_states_load(c, from, 0, n)));
}

/* The upper half of the steps to the lower one, until one is left. */
static void fold(stream *s)
{
    tly_build *c = s->r.c;
    kir_value half = tly_part(c, s->wide, 2);
    int64_t levels = 0;
    while (1 << levels < c->plan->block)
        levels++;
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), imm(c, levels), imm(c, 1), 1, &half);
    each_lane(s, l.carried[0], 0, join, &l.carried[0]);
    half = tly_part(c, l.carried[0], 2);
    kir_for_end(c->b, &l, &half);
}

/* One output, where nothing overflows that need not. */
static kir_value scaled(stream *s, kir_value in)
{
    tly_build *c = s->r.c;
    kir_builder *b = c->b;
    kir_value state = tly_neutral(c, c->acc), zero = imm(c, 0), one = imm(c, 1);
    kir_value apart = mul(c, s->unit, imm(c, c->in_bytes));
    kir_loop step, l;
    kir_for(b, &step, zero, kir_get(b, KIR_ARG_STEPS), one, 1, &state);
    kir_value at = tly_reduce_step(c, in, step.i);
    kir_for(b, &l, zero, kir_get(b, KIR_ARG_LENGTH), one, 1, step.carried);
    kir_value x = tly_reduce_load(&s->r, kir_ptradd(b, at, mul(c, l.i, apart)), 0, 1);
    state = tly_combine(c, l.carried[0], tly_reduce_small(c, tly_lift(c, x)));
    kir_for_end(b, &l, &state);
    kir_for_end(b, &step, l.result);
    return tly_reduce_large(c, step.result[0]);
}

/* Sums that are not finite, where one overflowed: what the elements have of infinities and NaNs is
 * right in every order. */
static void judge(stream *s, kir_value in)
{
    tly_build *c = s->r.c;
    kir_builder *b = c->b;
    kir_value met = kir_bin(b, KIR_AND, kir_flags(b),
                            kir_const(b, KIR_TYPE(KIR_I32, 1), KIR_OVERFLOWED));
    kir_value none = kir_const(b, KIR_TYPE(KIR_I32, 1), 0);
    kir_branch overflowed, again;
    kir_loop l;
    kir_if(b, &overflowed, kir_cmp(b, KIR_NE, met, none));
    kir_for(b, &l, imm(c, 0), s->unit, imm(c, 1), 0, NULL);
    kir_value at = tly_states_at(c, s->states, l.i);
    kir_if(b, &again, tly_not(c, tly_reduce_finite(c, tly_states_load(c, at, 0, 1))));
    tly_states_store(c, at, 0, scaled(s, tly_at(c, in, l.i, c->in_bytes)));
    kir_if_end(b, &again, 0, NULL);
    kir_for_end(b, &l, NULL);
    kir_if_end(b, &overflowed, 0, NULL);
}

static void finish(stream *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    kir_value state = tly_states_load(c, tly_states_at(c, s->states, lane), 0, n);
    tly_reduce_store(&s->r, *(kir_value *)user, lane, tly_reduce_result(&s->r, state));
}

/* ---- the kernel ---- */

static void number_lanes(stream *s)
{
    tly_build *c = s->r.c;
    kir_builder *b = c->b;
    kir_type t = tly_storage(tly_index_dtype(c->p), 1);
    kir_value zero = imm(c, 0), one = imm(c, 1);
    kir_loop step, l;
    kir_for(b, &step, zero, imm(c, c->plan->block), one, 0, NULL);
    kir_value number = t.kind == KIR_I64 ? step.i : kir_convert(b, KIR_TRUNC, t, step.i);
    kir_value first = mul(c, step.i, s->unit);
    kir_for(b, &l, first, add(c, first, s->unit), one, 0, NULL);
    kir_store(b, tly_at(c, s->numbers, l.i, index_bytes(s)), 0, number, 1, 0);
    kir_for_end(b, &l, NULL);
    kir_for_end(b, &step, NULL);
}

static void do_row(stream *s, const tly_row *row)
{
    tly_build *c = s->r.c;
    kir_builder *b = c->b;
    kir_value in = row->in, out = row->out;
    kir_loop l;
    if (s->r.added) {
        kir_clear_flags(b);
        in = kir_keep(b, in);
    }
    each_lane(s, s->wide, 1, clear, NULL);
    kir_for(b, &l, imm(c, 0), kir_get(b, KIR_ARG_STEPS), imm(c, 1), 0, NULL);
    do_step(s, tly_reduce_step(c, in, l.i), mul(c, l.i, kir_get(b, KIR_ARG_LENGTH)));
    kir_for_end(b, &l, NULL);
    fold(s);
    if (s->r.added)
        judge(s, in);
    each_lane(s, s->unit, 0, finish, &out);
}

void tly_build_reduce_interleaved(tly_build *c, tly_launch *launch)
{
    kir_builder *b = c->b;
    stream s = { .r = tly_reduce_begin(c), .unit = kir_get(b, KIR_ARG_INNER) };
    int64_t most = (int64_t)c->plan->block * TLY_REDUCED_FEW_LANES + TLY_MOST_LANES;
    kir_loop l;
    launch->tile_lanes = TLY_REDUCED_FEW_LANES;
    launch->record_bytes = TLY_REDUCED_FEW_LANES * (int64_t)c->state_bytes;
    launch->scratch_bytes = TLY_CONGRUENT_BYTES + most * (c->state_bytes + 8);
    s.wide = mul(c, s.unit, imm(c, c->plan->block));
    kir_value scratch = kir_get(b, KIR_ARG_SCRATCH);
    if (s.r.indexed) {
        s.numbers = scratch;
        scratch = tly_at(c, scratch, imm(c, most), 8);
        number_lanes(&s);
    }
    kir_for(b, &l, kir_get(b, KIR_ARG_BEGIN), kir_get(b, KIR_ARG_TASK_END), imm(c, 1), 0, NULL);
    tly_row at = tly_row_address(c, l.i);
    s.states = tly_states_row(c, tly_congruent(c, scratch, at.in), imm(c, 0), s.wide);
    do_row(&s, &at);
    kir_for_end(b, &l, NULL);
    kir_return(b, imm(c, 0));
}
