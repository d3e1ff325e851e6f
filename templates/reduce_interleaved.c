/*
 * Reductions of a few outputs side by side whose steps lie one behind the other, as in packed columns:
 * `block` steps together are one row of as many more lanes, each with a state in scratch, so that
 * vectors are full however few the outputs. At the end of a chunk the states of an output are joined in
 * a fixed tree, and chunks as those of rows. A sum that overflowed in a chunk is made once more, in
 * multiples of 2^-64; products are short plain chains, which are joined as mantissas and exponents
 * (reduce_range.c).
 */
#include "reduce.h"

enum { MAX_STEPS = TLY_REDUCE_MOST_STEPS, CHAIN = 32 /* elements of a plain product */ };

/* States of lanes side by side, a plane a part. */
typedef struct states {
    kir_value p;
    int64_t lanes; /* that there is room for */
    kir_value (*neutral)(tly_reduce *r, unsigned lanes);
} states;

typedef struct stream {
    tly_reduce r;         /* first: what tly_reduce_form's functions are given */
    kir_value unit, wide; /* outputs; lanes: `block` times as many */
    kir_value places;     /* scratch, of tly_reduce_form */
    kir_value numbers;    /* scratch, of indices: the step, from 0, that each lane belongs to */
    states running;       /* scratch, of all lanes */
    states closed;        /* the same, of products that were taken apart */
} stream;

/* ---- states ---- */

static kir_value plain(tly_reduce *r, unsigned lanes)
{
    return tly_neutral(r->c, KIR_TYPE(r->c->acc.kind, lanes));
}

/* Of outputs, as they are handed on; so many fill vectors. */
static states outputs(kir_value p)
{
    return (states){ p, TLY_RECORD_LANES, tly_reduce_none };
}

static int64_t plane_bytes(const stream *s, const states *to)
{
    unsigned of_two = s->r.watched || s->r.added ? s->r.c->acc_bytes : tly_part_bytes(s->r.c->p);
    return to->lanes * of_two;
}

static kir_value part_at(stream *s, const states *to, unsigned part, kir_type t, kir_value lane)
{
    kir_value plane = kir_ptradd(s->r.c->b, to->p, imm(s->r.c, part * plane_bytes(s, to)));
    return tly_at(s->r.c, plane, lane, kir_kind_bits((kir_kind)t.kind) / 8);
}

static kir_value load(stream *s, const states *from, kir_value lane, unsigned n)
{
    kir_builder *b = s->r.c->b;
    kir_value like = from->neutral(&s->r, n), v[KIR_MAX_PARTS];
    unsigned parts = kir_parts(b, like);
    for (unsigned i = 0; i < parts; i++) {
        kir_type t = kir_type_of(b, kir_part(b, like, i));
        v[i] = kir_load(b, t, part_at(s, from, i, t, lane), 0, kir_kind_bits((kir_kind)t.kind) / 8);
    }
    return kir_tuple(b, parts, v);
}

static void store(stream *s, const states *to, kir_value lane, kir_value v)
{
    kir_builder *b = s->r.c->b;
    for (unsigned i = 0; i < kir_parts(b, v); i++) {
        kir_value part = kir_part(b, v, i);
        kir_type t = kir_type_of(b, part);
        kir_store(b, part_at(s, to, i, t, lane), 0, part, kir_kind_bits((kir_kind)t.kind) / 8, 0);
    }
}

/* Lanes [0, count), those that fill vectors and, unless `whole`, the others one by one. */
typedef void (*lane_body)(stream *s, kir_value lane, unsigned n, void *user);

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
    const states *to = user;
    store(s, to, lane, to->neutral(&s->r, n));
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
    kir_value state = load(s, &s->running, lane, n), x[MAX_STEPS], index[MAX_STEPS];
    for (unsigned i = 0; i < in->count; i++) {
        x[i] = tly_reduce_load(&s->r, tly_at(c, in->at[i], lane, c->in_bytes), 0, n);
        index[i] = indices(s, add(c, in->index, imm(c, (int64_t)i * c->plan->block)), lane, n);
    }
    store(s, &s->running, lane, tly_take(c, state, x, index, in->count));
}

/* A step's elements from `in` on; the first has index `index`. */
typedef struct stretch {
    kir_value in, index, count, full; /* elements of all lanes; rows that they fill */
} stretch;

/* Rows [from, to); the one behind those that are full has what is left. */
static void pass_rows(stream *s, const stretch *e, kir_value from, kir_value to)
{
    tly_build *c = s->r.c;
    kir_builder *b = c->b;
    rows some = { .count = (unsigned)c->plan->rows }, last = { .count = 1 };
    kir_value bytes = mul(c, s->wide, imm(c, c->in_bytes)), steps = imm(c, c->plan->block);
    kir_value full = sub(c, tly_min(c, to, e->full), from);
    kir_value whole = add(c, from, tly_round_down(c, full, some.count));
    kir_loop l;
    kir_for(b, &l, from, whole, imm(c, some.count), 0, NULL);
    some.index = add(c, e->index, mul(c, l.i, steps));
    some.at[0] = kir_ptradd(b, e->in, mul(c, l.i, bytes));
    for (unsigned i = 1; i < some.count; i++)
        some.at[i] = kir_ptradd(b, some.at[i - 1], bytes);
    each_lane(s, s->wide, 1, pass, &some);
    kir_for_end(b, &l, NULL);
    kir_for(b, &l, whole, to, imm(c, 1), 0, NULL);
    last.index = add(c, e->index, mul(c, l.i, steps));
    last.at[0] = kir_ptradd(b, e->in, mul(c, l.i, bytes));
    each_lane(s, tly_min(c, s->wide, sub(c, e->count, mul(c, l.i, s->wide))), 0, pass, &last);
    kir_for_end(b, &l, NULL);
}

/* Products so far become parts of those that nothing leaves, and begin anew. */
static void close(stream *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    kir_value y = tly_reduce_split(c, load(s, &s->running, lane, n));
    (void)user;
    store(s, &s->closed, lane, tly_reduce_join(c, load(s, &s->closed, lane, n), y));
    clear(s, lane, n, &s->running);
}

/* The states of a span; of products, chains of so many elements. */
static void walk(stream *s, const tly_span *span, kir_value in, kir_value chain)
{
    tly_build *c = s->r.c;
    kir_builder *b = c->b;
    kir_value length = sub(c, span->to, span->from), zero = imm(c, 0), one = imm(c, 1);
    kir_value skipped = mul(c, mul(c, span->from, s->unit), imm(c, c->in_bytes));
    stretch e = { .count = mul(c, length, s->unit) };
    kir_loop step, l;
    e.full = tly_part(c, length, (unsigned)c->plan->block);
    kir_value end = add(c, e.full, one);
    each_lane(s, s->wide, 1, clear, &s->running);
    if (s->r.watched)
        each_lane(s, s->wide, 1, clear, &s->closed);
    kir_for(b, &step, span->begin, span->end, one, 0, NULL);
    e.in = kir_ptradd(b, tly_reduce_step(c, in, step.i), skipped);
    e.index = add(c, span->from, mul(c, step.i, kir_get(b, KIR_ARG_LENGTH)));
    if (s->r.watched) {
        kir_for(b, &l, zero, end, chain, 0, NULL);
        pass_rows(s, &e, l.i, tly_min(c, add(c, l.i, chain), end));
        each_lane(s, s->wide, 1, close, NULL);
        kir_for_end(b, &l, NULL);
    } else {
        pass_rows(s, &e, zero, end);
    }
    kir_for_end(b, &step, NULL);
}

/* ---- one state an output ---- */

typedef struct pair {
    const states *x, *y, *to;
    kir_value offset; /* of y's lanes */
    kir_value (*join)(tly_reduce *r, kir_value x, kir_value y);
} pair;

static void join_lanes(stream *s, kir_value lane, unsigned n, void *user)
{
    const pair *p = user;
    kir_value x = load(s, p->x, lane, n), y = load(s, p->y, add(s->r.c, lane, p->offset), n);
    store(s, p->to, lane, p->join(&s->r, x, y));
}

static kir_value combine(tly_reduce *r, kir_value x, kir_value y)
{
    return tly_combine(r->c, x, y);
}

/* The upper half of the steps to the lower one, until one is left. */
static void fold(stream *s, const states *of)
{
    tly_build *c = s->r.c;
    kir_value half = tly_part(c, s->wide, 2);
    int64_t levels = 0;
    while (1 << levels < c->plan->block)
        levels++;
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), imm(c, levels), imm(c, 1), 1, &half);
    pair p = { of, of, of, l.carried[0], s->r.watched ? tly_reduce_join_records : combine };
    each_lane(s, l.carried[0], 0, join_lanes, &p);
    half = tly_part(c, l.carried[0], 2);
    kir_for_end(c->b, &l, &half);
}

/* One output's elements of a span, where nothing overflows that need not. */
static kir_value scaled(stream *s, const tly_span *span, kir_value in)
{
    tly_build *c = s->r.c;
    kir_builder *b = c->b;
    kir_value zero = kir_const(b, c->acc, 0), one = imm(c, 1);
    kir_value apart = mul(c, s->unit, imm(c, c->in_bytes)), sums[2] = { zero, zero };
    kir_loop step, l;
    kir_for(b, &step, span->begin, span->end, one, 2, sums);
    kir_value at = tly_reduce_step(c, in, step.i);
    kir_for(b, &l, span->from, span->to, one, 2, step.carried);
    kir_value x = tly_reduce_load(&s->r, kir_ptradd(b, at, mul(c, l.i, apart)), 0, 1);
    x = tly_reduce_add(c, kir_tuple(b, 2, l.carried), tly_reduce_scaled(c, x));
    for (unsigned i = 0; i < 2; i++)
        sums[i] = kir_part(b, x, i);
    kir_for_end(b, &l, sums);
    kir_for_end(b, &step, l.result);
    return tly_reduce_parts_of(c, kir_tuple(b, 2, step.result));
}

static kir_value raised(stream *s, uint64_t flags)
{
    kir_builder *b = s->r.c->b;
    kir_type t = KIR_TYPE(KIR_I32, 1);
    kir_value met = kir_bin(b, KIR_AND, kir_flags(b), kir_const(b, t, flags));
    return kir_cmp(b, KIR_NE, met, kir_const(b, t, 0));
}

/* Sums that are not finite, where one overflowed: what the elements have of infinities and NaNs is
 * right in every order. */
static void judge_sums(stream *s, const tly_span *span, const states *to)
{
    tly_build *c = s->r.c;
    kir_builder *b = c->b;
    kir_branch overflowed, again;
    kir_loop l;
    kir_if(b, &overflowed, raised(s, KIR_OVERFLOWED));
    kir_for(b, &l, imm(c, 0), s->unit, imm(c, 1), 0, NULL);
    kir_value sum = kir_part(b, load(s, to, l.i, 1), 0);
    kir_if(b, &again, tly_not(c, tly_reduce_finite(c, sum)));
    store(s, to, l.i, scaled(s, span, tly_at(c, span->in, l.i, c->in_bytes)));
    kir_if_end(b, &again, 0, NULL);
    kir_for_end(b, &l, NULL);
    kir_if_end(b, &overflowed, 0, NULL);
}

/* Products by chains, and if one of these left the range, element by element. */
static void walk_products(stream *s, const tly_span *span)
{
    tly_build *c = s->r.c;
    kir_builder *b = c->b;
    kir_value zero = imm(c, 0), one = imm(c, 1), two = imm(c, 2);
    kir_branch again;
    kir_loop tries;
    kir_for(b, &tries, zero, two, one, 0, NULL);
    kir_value first = equal(c, tries.i, zero);
    kir_if(b, &again, kir_bin(b, KIR_OR, first, raised(s, KIR_OVERFLOWED | KIR_UNDERFLOWED)));
    walk(s, span, kir_keep(b, span->in), kir_select(b, first, imm(c, CHAIN), one));
    kir_if_end(b, &again, 0, NULL);
    kir_for_end(b, &tries, NULL);
}

/* ---- a chunk, as reduce.h's form ---- */

static kir_value place(tly_reduce *r, kir_value which)
{
    stream *s = (stream *)r;
    return tly_at(r->c, s->places, which, TLY_RECORD_LANES * tly_reduce_record_bytes(r));
}

static kir_value none(tly_reduce *r)
{
    return ((stream *)r)->places;
}

static tly_row begin(tly_reduce *r, kir_value output)
{
    return tly_row_address(r->c, output);
}

static kir_value vectors_of(stream *s)
{
    return tly_round_up(s->r.c, s->unit, s->r.c->lanes);
}

static void hand_on(stream *s, kir_value lane, unsigned n, void *user)
{
    kir_builder *b = s->r.c->b;
    kir_value v = load(s, s->r.watched ? &s->closed : &s->running, lane, n);
    if (s->r.added) {
        kir_value beside = kir_part(b, tly_reduce_none(&s->r, n), 1);
        v = kir_tuple(b, 2, (kir_value[]){ v, beside });
    }
    store(s, user, lane, v);
}

static kir_value make(tly_reduce *r, const tly_span *span, kir_value at)
{
    stream *s = (stream *)r;
    states to = outputs(at);
    if (r->added || r->watched)
        kir_clear_flags(r->c->b);
    if (r->watched)
        walk_products(s, span);
    else
        walk(s, span, r->added ? kir_keep(r->c->b, span->in) : span->in, 0);
    fold(s, r->watched ? &s->closed : &s->running);
    each_lane(s, vectors_of(s), 1, hand_on, &to);
    if (r->added)
        judge_sums(s, span, &to);
    return at;
}

static kir_value join(tly_reduce *r, kir_value x, kir_value y, kir_value at)
{
    stream *s = (stream *)r;
    const states of[3] = { outputs(x), outputs(y), outputs(at) };
    pair p = { &of[0], &of[1], &of[2], imm(r->c, 0), tly_reduce_join_records };
    each_lane(s, vectors_of(s), 1, join_lanes, &p);
    return at;
}

static kir_value take(tly_reduce *r, kir_value record)
{
    (void)r;
    return record;
}

/* ---- results ---- */

typedef struct results {
    states from;
    kir_value out;
    const tly_span *all;
} results;

static void finish_lane(stream *s, kir_value lane, unsigned n, void *user)
{
    tly_build *c = s->r.c;
    const results *to = user;
    kir_value apart = mul(c, s->unit, imm(c, c->in_bytes)), y = load(s, &to->from, lane, n);
    tly_span all = *to->all;
    all.in = tly_at(c, all.in, lane, c->in_bytes);
    y = tly_reduce_result(&s->r, tly_reduce_judge(&s->r, &all, apart, y));
    tly_reduce_store(&s->r, to->out, lane, y);
}

/* Products one by one, as each may be the plain loop's. */
static void finish(tly_reduce *r, const tly_span *all, kir_value out, kir_value state)
{
    stream *s = (stream *)r;
    tly_build *c = r->c;
    results to = { outputs(state), out, all };
    kir_loop l;
    if (!r->watched) {
        each_lane(s, s->unit, 0, finish_lane, &to);
        return;
    }
    kir_for(c->b, &l, imm(c, 0), s->unit, imm(c, 1), 0, NULL);
    finish_lane(s, l.i, 1, &to);
    kir_for_end(c->b, &l, NULL);
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

void tly_build_reduce_interleaved(tly_build *c, tly_launch *launch)
{
    kir_builder *b = c->b;
    stream s = { .r = tly_reduce_begin(c), .unit = kir_get(b, KIR_ARG_INNER) };
    const int64_t most = (int64_t)c->plan->block * TLY_REDUCED_FEW_LANES + TLY_MOST_LANES;
    const int64_t bytes = tly_reduce_record_bytes(&s.r), record = TLY_RECORD_LANES * bytes;
    launch->tile_lanes = TLY_REDUCED_FEW_LANES;
    launch->chunk = c->plan->chunk;
    launch->record_bytes = bytes;
    launch->scratch_bytes = TLY_CONGRUENT_BYTES + 3 * record + most * (c->state_bytes + bytes + 8);
    s.wide = mul(c, s.unit, imm(c, c->plan->block));
    s.places = kir_get(b, KIR_ARG_SCRATCH);
    s.numbers = kir_ptradd(b, s.places, imm(c, 3 * record));
    kir_value all = kir_ptradd(b, s.numbers, imm(c, s.r.indexed ? 8 * most : 0));
    if (s.r.indexed)
        number_lanes(&s);
    s.running = (states){ tly_congruent(c, all, kir_get(b, KIR_ARG_IN)), most, plain };
    s.closed = (states){ kir_ptradd(b, s.running.p, imm(c, most * c->state_bytes)), most,
                         tly_reduce_none };
    const tly_reduce_form form = { imm(c, record), begin, none, place, make,
                                   join,           take,  NULL, finish };
    tly_reduce_outputs(&s.r, &form);
    kir_return(b, imm(c, 0));
}
