/*
 * Scans across columns: lanes lie side by side and each is the plain loop, so this order is the
 * serial one bit for bit. A row of accumulators in scratch lets whole rows stream through:
 * several axis steps a pass, a line of each a step, the accumulators loaded and stored once a
 * pass. Measured ratios of column blocks and of walking down columns: docs/results/columns.md.
 *
 * Three ways through memory, chosen at launch, the same bits:
 *   lines     in whole aligned lines past the cache, several axis steps a pass
 *   cut       past the cache where every axis step is aligned otherwise: one step a pass, cut at
 *             its own lines
 *   plain     in cache, or in place
 */
#include "template.h"

enum { LINE = 64, MAX_STEPS = 8 };

typedef struct columns {
    tly_build *c;
    kir_value sums;             /* the row of accumulators, lane 0 of this range first */
    kir_value in, out;          /* lane 0 of this range at the axis' start */
    kir_value count, length;    /* lanes, axis steps */
    kir_value in_axis, out_axis;
} columns;

/* One vector of each of `steps` axis steps from lane `j` on, for `vectors` vectors. */
static void step_vectors(columns *k, kir_value in, kir_value out, kir_value j, unsigned steps,
                         unsigned vectors, unsigned flags)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    kir_value y[32], x[MAX_STEPS][32], from[MAX_STEPS], to[MAX_STEPS];
    int64_t bytes = (int64_t)c->lanes * c->acc_bytes;
    kir_value sums = tly_at(c, k->sums, j, c->acc_bytes);
    from[0] = kir_ptradd(b, in, mul(c, j, tly_in_step(c)));
    to[0] = tly_at(c, out, j, c->out_bytes);
    for (unsigned s = 1; s < steps; s++) {
        from[s] = kir_ptradd(b, from[s - 1], k->in_axis);
        to[s] = kir_ptradd(b, to[s - 1], k->out_axis);
    }
    for (unsigned v = 0; v < vectors; v++)
        y[v] = kir_load(b, c->vec, sums, v * bytes, c->acc_bytes);
    for (unsigned s = 0; s < steps; s++)
        for (unsigned v = 0; v < vectors; v++) {
            int64_t at = (int64_t)v * c->lanes * c->p->in_step * c->in_bytes;
            x[s][v] = tly_load_vector(c, kir_ptradd(b, from[s], imm(c, at)));
        }
    for (unsigned s = 0; s < steps; s++) {
        kir_value out_v[32];
        for (unsigned v = 0; v < vectors; v++) {
            kir_value next = tly_combine(c, y[v], x[s][v]);
            out_v[v] = tly_narrow(c, c->p->exclusive ? y[v] : next);
            y[v] = next;
        }
        unsigned n = vectors, wide = c->lanes * c->out_bytes;
        for (; n > 1 && wide < (unsigned)c->t->vector_bytes; n /= 2, wide *= 2)
            for (unsigned v = 0; v < n / 2; v++)
                out_v[v] = tly_join(c, out_v[2 * v], out_v[2 * v + 1]);
        for (unsigned v = 0; v < n; v++)
            kir_store(b, to[s], (int64_t)v * wide, out_v[v], flags ? wide : 1, flags);
    }
    for (unsigned v = 0; v < vectors; v++)
        kir_store(b, sums, v * bytes, y[v], c->acc_bytes, 0);
}

static void step_scalars(columns *k, kir_value in, kir_value out, kir_value from, kir_value to,
                         unsigned steps)
{
    tly_build *c = k->c;
    kir_loop l;
    kir_for(c->b, &l, from, to, imm(c, 1), 0, NULL);
    kir_value sum = tly_at(c, k->sums, l.i, c->acc_bytes);
    kir_value x = kir_ptradd(c->b, in, mul(c, l.i, tly_in_step(c)));
    kir_value q = kir_ptradd(c->b, out, mul(c, l.i, tly_out_step(c)));
    kir_value y = kir_load(c->b, c->acc, sum, 0, c->acc_bytes);
    for (unsigned s = 0; s < steps; s++) {
        kir_value next = tly_combine(c, y, tly_load(c, x, 0, 1));
        tly_store(c, q, 0, c->p->exclusive ? y : next, 1, 0);
        x = kir_ptradd(c->b, x, k->in_axis);
        q = kir_ptradd(c->b, q, k->out_axis);
        y = next;
    }
    kir_store(c->b, sum, 0, y, c->acc_bytes, 0);
    kir_for_end(c->b, &l, NULL);
}

/* Where to prefetch for lane j: `distance` bytes on in the same axis steps, and in their last
 * part the start of the next pass, so that short rows stay covered (measured 0.92 to 1.02). */
static kir_value ahead_of(columns *k, kir_value j, unsigned steps)
{
    tly_build *c = k->c;
    kir_value distance = imm(c, c->plan->prefetch);
    kir_value bytes = mul(c, k->count, imm(c, c->in_bytes));
    kir_value at = add(c, mul(c, j, imm(c, c->in_bytes)), distance);
    kir_value next = sub(c, mul(c, k->in_axis, imm(c, steps)), bytes);
    return kir_select(c->b, less(c, at, bytes), at, add(c, at, next));
}

static unsigned vectors_a_step(const tly_build *c, unsigned lines)
{
    return tly_line(c) / c->lanes * lines;
}

/* Lanes [first, count) of `steps` axis steps at in, out. */
static void pass(columns *k, kir_value in, kir_value out, kir_value first, unsigned steps,
                 unsigned lines, unsigned flags)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    kir_value done = first;
    if (tly_loads_vectors(c) && c->p->out_step == 1) {
        /* a last vector of step 2 would read one element too far */
        kir_value within = c->p->in_step == 2 ? sub(c, k->count, imm(c, 1)) : k->count;
        int64_t step = (int64_t)vectors_a_step(c, lines) * c->lanes;
        kir_value lanes = sub(c, within, first);
        kir_value whole = add(c, first, tly_round_down(c, lanes, step));
        kir_loop l;
        kir_for(b, &l, first, whole, imm(c, step), 0, NULL);
        if (c->p->in_step == 1) {
            kir_value p = kir_ptradd(b, in, ahead_of(k, l.i, steps));
            for (unsigned s = 0; s < steps; s++) {
                for (int64_t byte = 0; byte < step * c->in_bytes; byte += LINE)
                    kir_prefetch(b, p, byte);
                if (s + 1 < steps)
                    p = kir_ptradd(b, p, k->in_axis);
            }
        }
        step_vectors(k, in, out, l.i, steps, vectors_a_step(c, lines), flags);
        kir_for_end(b, &l, NULL);
        done = add(c, first, tly_round_down(c, lanes, c->lanes));
        kir_for(b, &l, whole, done, imm(c, c->lanes), 0, NULL);
        step_vectors(k, in, out, l.i, steps, 1, 0);
        kir_for_end(b, &l, NULL);
    }
    step_scalars(k, in, out, done, k->count, steps);
}

/* All axis steps, `steps` a pass, the rest one by one. */
static void sweep(columns *k, unsigned steps, unsigned lines, unsigned flags)
{
    tly_build *c = k->c;
    kir_value whole = tly_round_down(c, k->length, steps), zero = imm(c, 0);
    kir_loop l;
    kir_for(c->b, &l, zero, whole, imm(c, steps), 0, NULL);
    pass(k, kir_ptradd(c->b, k->in, mul(c, l.i, k->in_axis)),
         kir_ptradd(c->b, k->out, mul(c, l.i, k->out_axis)), zero, steps, lines, flags);
    kir_for_end(c->b, &l, NULL);
    if (steps == 1)
        return;
    kir_for(c->b, &l, whole, k->length, imm(c, 1), 0, NULL);
    pass(k, kir_ptradd(c->b, k->in, mul(c, l.i, k->in_axis)),
         kir_ptradd(c->b, k->out, mul(c, l.i, k->out_axis)), zero, 1, lines, flags);
    kir_for_end(c->b, &l, NULL);
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

static void sweep_cut(columns *k)
{
    tly_build *c = k->c;
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), k->length, imm(c, 1), 0, NULL);
    kir_value in = kir_ptradd(c->b, k->in, mul(c, l.i, k->in_axis));
    kir_value out = kir_ptradd(c->b, k->out, mul(c, l.i, k->out_axis));
    kir_value head = lanes_to_line(k, out);
    step_scalars(k, in, out, imm(c, 0), head, 1);
    pass(k, in, out, head, 1, (unsigned)c->plan->lines * (unsigned)c->plan->rows, KIR_STREAM);
    kir_for_end(c->b, &l, NULL);
}

static void scan_lanes(columns *k, kir_value streams)
{
    tly_build *c = k->c;
    kir_builder *b = c->b;
    unsigned steps = (unsigned)c->plan->rows, lines = (unsigned)c->plan->lines;
    kir_loop l;
    kir_for(b, &l, imm(c, 0), tly_round_up(c, k->count, c->lanes), imm(c, c->lanes), 0, NULL);
    kir_store(b, tly_at(c, k->sums, l.i, c->acc_bytes), 0, tly_start(c, c->vec), c->acc_bytes, 0);
    kir_for_end(b, &l, NULL);
    if (!tly_loads_vectors(c) || c->p->out_step != 1) {
        sweep(k, steps, lines, 0);
        return;
    }
    kir_value where = kir_bin(b, KIR_OR, kir_addr(b, k->out), k->out_axis);
    kir_value aligned = equal(c, kir_bin(b, KIR_AND, where, imm(c, LINE - 1)), imm(c, 0));
    kir_branch way, cut;
    kir_if(b, &way, kir_bin(b, KIR_AND, streams, aligned));
    sweep(k, steps, lines, KIR_STREAM);
    kir_else(b, &way, 0, NULL);
    kir_if(b, &cut, streams);
    sweep_cut(k);
    kir_else(b, &cut, 0, NULL);
    sweep(k, steps, lines, 0);
    kir_if_end(b, &cut, 0, NULL);
    kir_if_end(b, &way, 0, NULL);
}

static void columns_body(tly_build *c, tly_row at, kir_value count)
{
    columns k = {
        .c = c, .sums = kir_get(c->b, KIR_ARG_SCRATCH), .in = at.in, .out = at.out,
        .count = count, .length = kir_get(c->b, KIR_ARG_LENGTH),
        .in_axis = kir_get(c->b, KIR_ARG_IN_AXIS), .out_axis = kir_get(c->b, KIR_ARG_OUT_AXIS),
    };
    scan_lanes(&k, tly_streams(c));
}

void tly_build_columns(tly_build *c, tly_launch *launch)
{
    launch->tile_lanes = c->plan->tile_lanes;
    launch->scratch_bytes = 64; /* the last vector of the row of accumulators */
    launch->scratch_lane_bytes = c->acc_bytes;
    tly_each_row_of_lanes(c, columns_body);
}
