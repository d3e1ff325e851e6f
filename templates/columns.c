/*
 * Scans across columns: lanes lie side by side and each is the plain loop, so this order is the
 * serial one bit for bit. A row of accumulators in scratch lets whole rows stream through:
 * several axis steps a pass, a line of each a step, the accumulators loaded and stored once a
 * pass. Column blocks (.68 to .87 of a copy) and walking down columns (.72 to .78) are slower.
 *
 * Past the cache, stores are whole aligned lines. Where every axis step is aligned alike, several
 * go in a pass; otherwise each step is cut at its own lines. In cache, or in place, stores are
 * plain. The bits are the same.
 */
#include "template.h"

enum { LINE = 64, MAX_STEPS = 8, MAX_VECTORS = 64 };

typedef struct columns {
    tly_build *c;
    kir_value sums;             /* the row of accumulators, lane 0 of this range first */
    kir_value streams;          /* i1: lines go past the cache */
    kir_value in, out;          /* lane 0 of this range at the axis' start */
    kir_value count, length;    /* lanes, axis steps */
    kir_value in_axis, out_axis;
    int direct;                 /* results are the accumulators */
    unsigned vectors;           /* a step of a pass; 0 where lanes must go one by one */
    unsigned alone;             /* and of a pass over one axis step */
} columns;

static kir_value axis_at(columns *k, kir_value p, kir_value stride, kir_value step)
{
    return kir_ptradd(k->c->b, p, mul(k->c, step, stride));
}

/* Where the accumulators before axis step `step` lie. In cache the output of the step before serves
 * where it can: one row less to write and to keep (256x256 f32, of a copy: .95 to 1.0, else .9). */
static kir_value sums_before(columns *k, kir_value step)
{
    tly_build *c = k->c;
    if (!k->direct)
        return k->sums;
    kir_value none = kir_bin(c->b, KIR_OR, k->streams, equal(c, step, imm(c, 0)));
    kir_value before = axis_at(k, k->out, k->out_axis, sub(c, step, imm(c, 1)));
    return kir_select(c->b, none, k->sums, before);
}

/* n vectors of results at `to`, whole registers at a time. */
static void store_results(tly_build *c, kir_value to, const kir_value *v, unsigned n,
                          unsigned flags)
{
    unsigned wide = kir_type_of(c->b, v[0]).lanes * c->out_bytes;
    for (unsigned i = 0; i < n; i++)
        kir_store(c->b, to, (int64_t)i * wide, v[i], flags ? wide : 1, flags);
}

/* Narrow results are joined to whole vectors; returns how many. */
static unsigned join(tly_build *c, kir_value *v, unsigned n)
{
    unsigned wide = kir_type_of(c->b, v[0]).lanes * c->out_bytes;
    for (; n > 1 && wide < (unsigned)c->t->vector_bytes; n /= 2, wide *= 2)
        for (unsigned i = 0; i < n / 2; i++)
            v[i] = tly_join(c, v[2 * i], v[2 * i + 1]);
    return n;
}

/* Where to prefetch for lane j: `distance` bytes on in the same axis steps, and in their last
 * part the start of the next pass, so that short rows stay covered (measured 0.92 to 1.02). */
static kir_value ahead_of(columns *k, kir_value j, unsigned steps)
{
    tly_build *c = k->c;
    kir_value bytes = mul(c, k->count, imm(c, c->in_bytes));
    kir_value distance = tly_min(c, imm(c, c->plan->prefetch), bytes);
    kir_value at = add(c, mul(c, j, imm(c, c->in_bytes)), distance);
    kir_value next = sub(c, mul(c, k->in_axis, imm(c, steps)), bytes);
    return kir_select(c->b, less(c, at, bytes), at, add(c, at, next));
}

static void prefetch(columns *k, kir_value in, kir_value j, unsigned steps, unsigned vectors)
{
    tly_build *c = k->c;
    if (c->p->in_step != 1)
        return;
    int64_t bytes = (int64_t)vectors * c->lanes * c->in_bytes;
    kir_value p = kir_ptradd(c->b, in, ahead_of(k, j, steps));
    for (unsigned s = 0; s < steps; s++) {
        for (int64_t byte = 0; byte < bytes; byte += LINE)
            kir_prefetch(c->b, p, byte);
        if (s + 1 < steps)
            p = kir_ptradd(c->b, p, k->in_axis);
    }
}

/* `vectors` vectors from lane `j` on, of each of `steps` axis steps at in, out. */
static void step_vectors(columns *k, kir_value before, kir_value in, kir_value out, kir_value j,
                         unsigned steps, unsigned vectors, kir_value streams)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    kir_value y[MAX_VECTORS], v[MAX_STEPS][MAX_VECTORS] = { 0 }, to[MAX_STEPS];
    int64_t bytes = (int64_t)c->lanes * c->acc_bytes;
    kir_value sums = tly_at(c, k->sums, j, c->acc_bytes);
    kir_value from = kir_ptradd(b, in, mul(c, j, tly_in_step(c)));
    to[0] = tly_at(c, out, j, c->out_bytes);
    for (unsigned i = 0; i < vectors; i++)
        y[i] = kir_load(b, c->vec, tly_at(c, before, j, c->acc_bytes), i * bytes, c->acc_bytes);
    unsigned n = vectors;
    for (unsigned s = 0; s < steps; s++) {
        for (unsigned i = 0; i < vectors; i++) {
            int64_t at = (int64_t)i * c->lanes * c->p->in_step * c->in_bytes;
            v[s][i] = tly_load_vector(c, kir_ptradd(b, from, imm(c, at)));
        }
        if (s + 1 < steps) {
            from = kir_ptradd(b, from, k->in_axis);
            to[s + 1] = kir_ptradd(b, to[s], k->out_axis);
        }
    }
    for (unsigned s = 0; s < steps; s++) {
        for (unsigned i = 0; i < vectors; i++) {
            kir_value next = tly_combine(c, y[i], v[s][i]);
            v[s][i] = tly_narrow(c, c->p->exclusive ? y[i] : next);
            y[i] = next;
        }
        n = join(c, v[s], vectors);
    }
    kir_branch way;
    int late = k->direct && streams;
    if (!late)
        for (unsigned i = 0; i < vectors; i++)
            kir_store(b, sums, i * bytes, y[i], c->acc_bytes, 0);
    if (streams) {
        kir_if(b, &way, streams);
        prefetch(k, in, j, steps, vectors);
        if (late)
            for (unsigned i = 0; i < vectors; i++)
                kir_store(b, sums, i * bytes, y[i], c->acc_bytes, 0);
        for (unsigned s = 0; s < steps; s++)
            store_results(c, to[s], v[s], n, KIR_STREAM);
        kir_else(b, &way, 0, NULL);
    }
    for (unsigned s = 0; s < steps; s++)
        store_results(c, to[s], v[s], n, 0);
    if (streams)
        kir_if_end(b, &way, 0, NULL);
}

/* Lanes [from, to) of one axis step, one by one. */
static void step_scalars(columns *k, kir_value before, kir_value in, kir_value out,
                         kir_value from, kir_value to)
{
    tly_build *c = k->c;
    kir_loop l;
    kir_for(c->b, &l, from, to, imm(c, 1), 0, NULL);
    kir_value sum = tly_at(c, k->sums, l.i, c->acc_bytes);
    kir_value y = kir_load(c->b, c->acc, tly_at(c, before, l.i, c->acc_bytes), 0, c->acc_bytes);
    kir_value x = tly_load(c, kir_ptradd(c->b, in, mul(c, l.i, tly_in_step(c))), 0, 1);
    kir_value next = tly_combine(c, y, x);
    kir_store(c->b, sum, 0, next, c->acc_bytes, 0);
    tly_store(c, kir_ptradd(c->b, out, mul(c, l.i, tly_out_step(c))), 0,
              c->p->exclusive ? y : next, 1, 0);
    kir_for_end(c->b, &l, NULL);
}

/* Lanes [from, to), a multiple of `vectors` vectors, of `steps` axis steps. */
static void pass(columns *k, kir_value before, kir_value in, kir_value out, kir_value from,
                 kir_value to, unsigned steps, unsigned vectors, kir_value streams)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    int64_t lanes = (int64_t)vectors * c->lanes;
    kir_loop l;
    kir_for(b, &l, from, to, imm(c, lanes), 0, NULL);
    step_vectors(k, before, in, out, l.i, steps, vectors, streams);
    kir_for_end(b, &l, NULL);
}

/* Lanes before the first line that starts at or after `out`. */
static kir_value lanes_to_line(columns *k, kir_value out)
{
    tly_build *c = k->c;
    kir_value past = sub(c, imm(c, 0), kir_addr(c->b, out));
    kir_value bytes = kir_bin(c->b, KIR_AND, past, imm(c, LINE - 1));
    unsigned shift = c->out_bytes == 8 ? 3 : c->out_bytes == 4 ? 2 : 1;
    return tly_min(c, k->count, kir_bin(c->b, KIR_LSHR, bytes, imm(c, shift)));
}

/* What a pass of several steps left of one axis step, from lane `done` on: up to the first line,
 * lines, vectors, the rest. */
static void finish_step(columns *k, kir_value step, kir_value done, kir_value streams)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    kir_value in = axis_at(k, k->in, k->in_axis, step), out = axis_at(k, k->out, k->out_axis, step);
    kir_value before = sums_before(k, step);
    if (!k->vectors) {
        step_scalars(k, before, in, out, done, k->count);
        return;
    }
    kir_value head = kir_select(b, streams, lanes_to_line(k, out), imm(c, 0));
    head = kir_select(b, less(c, head, done), done, head);
    /* a last vector of step 2 would read one element too far */
    kir_value room = sub(c, k->count, head);
    if (c->p->in_step == 2)
        room = sub(c, room, kir_select(b, less(c, imm(c, 0), room), imm(c, 1), imm(c, 0)));
    int64_t lanes = (int64_t)k->alone * c->lanes;
    kir_value lined = add(c, head, tly_round_down(c, room, lanes));
    kir_value whole = add(c, head, tly_round_down(c, room, c->lanes));
    pass(k, before, in, out, head, lined, 1, k->alone, streams);
    pass(k, before, in, out, lined, whole, 1, 1, 0);
    kir_loop ends; /* before and after */
    kir_for(b, &ends, imm(c, 0), imm(c, 2), imm(c, 1), 0, NULL);
    kir_value after = kir_cmp(b, KIR_NE, ends.i, imm(c, 0));
    step_scalars(k, before, in, out, kir_select(b, after, whole, done),
                 kir_select(b, after, k->count, head));
    kir_for_end(b, &ends, NULL);
}

static void scan_lanes(columns *k, kir_value streams)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    unsigned steps = (unsigned)c->plan->rows;
    unsigned vectors = tly_line(c) / c->lanes * (unsigned)c->plan->lines;
    kir_value zero = imm(c, 0), one = imm(c, 1);
    k->vectors = tly_loads_vectors(c) && c->p->out_step == 1 ? vectors : 0;
    k->alone = vectors * (unsigned)c->plan->alone;
    kir_loop l, s;
    kir_for(b, &l, zero, tly_round_up(c, k->count, c->lanes), imm(c, c->lanes), 0, NULL);
    kir_store(b, tly_at(c, k->sums, l.i, c->acc_bytes), 0, tly_start(c, c->vec), c->acc_bytes, 0);
    kir_for_end(b, &l, NULL);
    if (!k->vectors || steps == 1) {
        kir_for(b, &l, zero, k->length, one, 0, NULL);
        finish_step(k, l.i, zero, streams);
        kir_for_end(b, &l, NULL);
        return;
    }
    kir_value where = kir_bin(b, KIR_OR, kir_addr(b, k->out), k->out_axis);
    kir_value aligned = equal(c, kir_bin(b, KIR_AND, where, imm(c, LINE - 1)), zero);
    kir_value together = kir_select(b, streams, aligned, equal(c, zero, zero));
    kir_value room = c->p->in_step == 2 ? sub(c, k->count, one) : k->count;
    kir_value whole = tly_round_down(c, room, (int64_t)vectors * c->lanes);
    kir_for(b, &l, zero, k->length, imm(c, steps), 0, NULL);
    kir_value here = tly_min(c, imm(c, steps), sub(c, k->length, l.i));
    kir_value full = kir_bin(b, KIR_AND, together, equal(c, here, imm(c, steps)));
    kir_value done = kir_select(b, full, whole, zero);
    pass(k, sums_before(k, l.i), axis_at(k, k->in, k->in_axis, l.i), axis_at(k, k->out, k->out_axis, l.i), zero, done,
         steps, vectors, streams);
    kir_value left = kir_select(b, less(c, done, k->count), here, zero);
    kir_for(b, &s, zero, left, one, 0, NULL);
    finish_step(k, add(c, l.i, s.i), done, streams);
    kir_for_end(b, &s, NULL);
    kir_for_end(b, &l, NULL);
}

static void columns_body(tly_build *c, tly_row at, kir_value count, kir_value sums)
{
    columns k = {
        .c = c, .sums = sums, .streams = tly_streams(c),
        .direct = c->p->out_step == 1 && c->p->out_dtype == c->p->acc && !c->p->exclusive,
        .in = at.in, .out = at.out,
        .count = count, .length = kir_get(c->b, KIR_ARG_LENGTH),
        .in_axis = kir_get(c->b, KIR_ARG_IN_AXIS), .out_axis = kir_get(c->b, KIR_ARG_OUT_AXIS),
    };
    scan_lanes(&k, k.streams);
}

void tly_build_columns(tly_build *c, tly_launch *launch)
{
    tly_each_row_of_lanes(c, launch, columns_body);
}
