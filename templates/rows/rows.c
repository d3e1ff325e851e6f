/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans along rows: the windowed look-ahead scan, block by block.
 *
 *   load      -> vectors of accumulators, read where the input lies; what does not fill a last
 *                step is staged, padded with neutral values (input of any step: all of it)
 *   scan      -> a few vectors a step. By windows: W1, W2, W4, ... each from the one before, until
 *                a window is as long as a vector; then y = W + (y of the vector before). Or each
 *                vector by itself: then y = (what comes before) + its scan. Either way one
 *                dependent operation a vector.
 *   check     -> a span in which something could have left the floating-point range is scanned
 *                again, step by step, and lanes that did leave it go by the plain loop
 *   store     -> narrowed, to its place where that can be, or by the buffer in whole lines
 *
 * The chain carries the true prefixes. Long rows (of interleaved scans, those of integers) are cut
 * in chunks: the carry after a chunk is that before it and the chunk's own total, which does not
 * depend on what comes before; so threads can hand on carries early, and one thread computes the
 * same tree as many. Dense rows that fill less than half a block are written out several at a time.
 */
#include "rows.h"

/* ---- whole calls ---- */

/* i1: the launch wants the total of a chunk alone; 0: rows are never cut. */
static kir_value wants_total(tly_rows *r)
{
    tly_build *c = r->c;
    if (r->chunk == 0)
        return 0;
    return equal(c, arg(c, KIR_ARG_MODE), imm(c, TLY_MODE_TOTAL));
}

/* From so many elements of a row on, results are read back seldom enough: once a row, when its
 * products fall below the normal numbers. Results that are read back should be in the cache: bf16,
 * uniform, at once and by the buffer, ns an element, rows of 128 3.0, 1.4; of 1,024 1.4, .9; one
 * row .23, .28; benign rows of 128 .31, .35; of 1,024 .21, .25 (Emerald Rapids). */
enum { SELDOM = 16384 };

/* Whole steps and lines need no buffer where output starts with a line or stays in cache. In place,
 * however, the input must stay until the span is validated and has its total. What stays in cache
 * needs none either where the `behind` results that follow are ours: what a last step has too much
 * is written before them. f32 rows of 1025 in L2, ns an element: by the buffer .44, at once .31
 * (Zen 4). */
static void go_direct(tly_rows *r, tly_rows_block *k, const tly_stream *out, kir_value streams,
                      kir_value totals, kir_value behind)
{
    tly_build *c = r->c;
    kir_value never = i1(c, 0);
    int64_t unit = r->widest > tly_line(c) ? r->widest : tly_line(c);
    kir_value odd = band(c, k->count, imm(c, unit - 1));
    kir_value whole = equal(c, odd, imm(c, 0)), apart = tly_out_of_place(c);
    kir_value direct = r->checks ? band(c, whole, apart) : whole;
    if (behind) {
        kir_value room = band(c, less(c, imm(c, r->widest), behind), apart);
        room = band(c, room, tly_not(c, streams));
        direct = bor(c, direct, room);
    }
    if (r->fast && !r->deferred && tly_checks_output(c)) { /* results may be looked at once more */
        kir_value seldom = less(c, imm(c, SELDOM), r->length);
        direct = band(c, direct, bor(c, seldom, tly_not(c, streams)));
    }
    direct = band(c, direct, equal(c, out->pending, imm(c, 0)));
    if (totals)
        direct = choose(c, totals, never, direct);
    k->direct = direct;
    k->lines = band(c, direct, streams);
    k->out = out->to;
}

/* What goes from block to block. */
typedef struct flow {
    tly_rows_state state;
    tly_stream out;
} flow;

/* Scans the blocks of one row, or of a group of short rows, positions [from, to). last (i1): no
 * results follow in the stream. behind: how many results of this launch follow in memory; 0: not
 * known. */
static void scan_row(tly_rows *r, const tly_rows_block *k0, kir_value from, kir_value to, flow *f,
                     kir_value streams, kir_value totals, kir_value last, kir_value behind)
{
    tly_build *c = r->c;
    tly_region l = { 0 };
    tly_rows_carry(r, &l, &f->state);
    tly_carry_stream(&l, &f->out);
    emit_for(c, &l, from, to, imm(c, r->block));
    tly_rows_block k = *k0;
    k.position = l.i;
    k.count = tly_min(c, imm(c, r->block), sub(c, to, l.i));
    k.buffered = f->out.pending;
    tly_rows_cross_border(r, &f->state, l.i, from);
    if (r->direct_out) {
        go_direct(r, &k, &f->out, streams, totals, behind);
        tly_rows_go_along(r, &k, &f->out, streams, totals);
    }
    tly_rows_compute(r, &k, &f->state);
    kir_value count = mul(c, k.rows, k.count);
    if (totals)
        count = choose(c, totals, imm(c, 0), count);
    tly_stream_advance(c, &f->out, count, k.direct);
    kir_value ends = equal(c, add(c, l.i, k.count), to);
    tly_stream_drain(c, &f->out, streams, band(c, ends, last));
    emit_end(c, &l);
}

static kir_value output_at(tly_build *c, const tly_row *row, kir_value position)
{
    return ptradd(c, row->at[TLY_OUT], mul(c, position, tly_step(c, TLY_OUT)));
}

/* Stores the state after a row, if positions up to `to` are all. Of several rows this is done. */
static void hand_on(tly_rows *r, const tly_rows_block *k, kir_value to, kir_value state)
{
    tly_build *c = r->c;
    const tly_place first = tly_place_in(&k->at, 0, 0);
    kir_value single = equal(c, k->rows, imm(c, 1));
    tly_region ends = { 0 };
    emit_if(c, &ends, band(c, band(c, equal(c, to, r->length), single), tly_not(c, r->only_total)));
    tly_end_at(c, &first, state);
    emit_end(c, &ends);
}

static void build_scan(tly_rows *r)
{
    tly_build *c = r->c;
    const tly_task_rows e = tly_rows_of_task(c, r->chunk);
    kir_value streams = tly_streams(c), totals = wants_total(r);
    r->is_cut = r->totals ? less(c, imm(c, r->chunk), r->length) : 0;
    if (r->totals && c->p->carry) /* the next row goes on as the next chunk would */
        r->is_cut = i1(c, 1);
    tly_rows_fill_pad(r);
    r->only_total = totals;
    flow f = { .out = { r->buffer, arg(c, KIR_ARG_OUT), imm(c, 0), imm(c, 0), 0 } };
    if (c->p->rows.contiguous) {
        tly_row first = tly_row_address(c, e.first_row);
        tly_stream_begin(c, &f.out, output_at(c, &first, e.first_position), streams);
    }
    kir_value outcome[MAX_OUTCOME];
    tly_region l = { 0 };
    tly_carry_stream(&l, &f.out);
    emit_carry(&l, tly_rows_begin_outcome(r, outcome), outcome);
    emit_for(c, &l, e.first_row, e.end_row, r->group);
    tly_row a = tly_row_address(c, l.i);
    tly_rows_block k = { .at = a, .rows = tly_min(c, r->group, sub(c, e.end_row, l.i)) };
    kir_value is_first = equal(c, l.i, e.first_row);
    kir_value is_last = equal(c, add(c, l.i, k.rows), e.end_row);
    kir_value from = choose(c, is_first, e.first_position, imm(c, 0));
    kir_value to = choose(c, is_last, e.end_position, r->length);
    if (!c->p->rows.contiguous)
        tly_stream_begin(c, &f.out, output_at(c, &a, from), streams);
    f.state = tly_rows_start(r, is_first, &a, from);
    kir_value last = c->p->rows.contiguous ? is_last : i1(c, 1);
    kir_value behind = 0;
    if (c->p->rows.contiguous)
        behind = sub(c, mul(c, sub(c, e.end_row, add(c, l.i, k.rows)), r->length),
                     sub(c, r->length, e.end_position));
    scan_row(r, &k, from, to, &f, streams, totals, last, behind);
    if (r->chunk > 0)
        tly_rows_end_row(r, &f.state, outcome);
    if (c->p->carry)
        hand_on(r, &k, to, outcome[0]);
    emit_end(c, &l);
    tly_fence(c, streams);
    if (totals)
        tly_rows_store_record(r, totals, outcome);
}

static int64_t round_up(int64_t x, int64_t multiple)
{
    return (x + multiple - 1) / multiple * multiple;
}

/* Scratch: staged input, buffer, work. */
static void lay_out(tly_rows *r, tly_launch *launch)
{
    tly_build *c = r->c;
    int64_t line = tly_line(c), input = tly_rows_input_bytes(r);
    int64_t buffer = round_up(2 * input + TLY_CONGRUENT_BYTES, 64);
    int64_t elements = round_up(r->block + r->widest + 2 * line, line);
    int64_t work = buffer + elements * c->bytes[TLY_OUT] + TLY_CONGRUENT_BYTES;
    int64_t zero, pad = round_up(work + tly_rows_work_bytes(r), 64);
    int64_t acc_results = pad + round_up(tly_rows_pad_bytes(r, &zero), 64);
    int64_t kept = r->deferred        ? r->block
                   : r->prescale_rows ? tly_rows_prescaled_elements(r)
                                      : -r->step;
    int64_t prescale_hold = acc_results + round_up((kept + r->step) * c->acc_bytes, 64);
    launch->scratch_bytes = prescale_hold + (r->prescale_rows ? 64 : 0);
    if (tly_stored_step(c) < 0) /* element 0 is the highest */
        buffer += (elements - 1) * c->bytes[TLY_OUT];
    kir_value scratch = arg(c, KIR_ARG_SCRATCH);
    r->input = tly_congruent(c, ptradd(c, scratch, imm(c, input)), arg(c, KIR_ARG_IN));
    r->buffer = tly_congruent(c, ptradd(c, scratch, imm(c, buffer)), arg(c, KIR_ARG_OUT));
    r->work = ptradd(c, scratch, imm(c, work));
    r->pad = ptradd(c, scratch, imm(c, pad + zero));
    r->acc_results = ptradd(c, scratch, imm(c, acc_results));
    r->prescale_hold = ptradd(c, scratch, imm(c, prescale_hold));
}

/* Dense rows that fill less than half a block go together, with room for a step's overhang, unless
 * their lines can leave while the next ones are computed (tly_rows_go_along). */
static kir_value rows_at_a_time(tly_rows *r)
{
    enum { STEPS = 4 };
    tly_build *c = r->c;
    kir_value rows = imm(c, 1);
    kir_value are_small = less(c, mul(c, r->length, imm(c, 2)), imm(c, r->block + 1));
    kir_value leave = band(c, tly_streams(c), less(c, imm(c, STEPS * r->step), r->length));
    if (r->direct_out)
        are_small = band(c, are_small, tly_not(c, band(c, leave, tly_out_of_place(c))));
    tly_region small = { .state = { &rows } };
    if (c->p->carry) /* also of no elements */
        are_small = band(c, are_small, less(c, imm(c, 0), r->length));
    emit_if(c, &small, are_small);
    rows = udiv(c, imm(c, r->block), r->length);
    emit_end(c, &small);
    return rows;
}

/* Whether elements of steps that are not safe go through `map` as they are loaded: not if that
 * raises flags, and not if windows are loaded that overlap. A safe step reads its elements several
 * times. */
static int maps_in_registers(const tly_rows *r)
{
    const tly_build *c = r->c;
    return c->is_mapped && tly_loads_vectors(c) && r->fast >= r->checks && r->loads == 0 &&
           !r->pairs && c->plan->scan != TLY_SCAN_SCALARS &&
           !tly_raises_flags(c->p, TLY_EXPRESSION_MAP);
}

void tly_build_rows(tly_build *c, tly_launch *launch)
{
    tly_rows r = { .c = c,
                   .interleave = c->p->interleave,
                   .block = c->plan->block_elements,
                   .chunk = c->plan->chunk };
    r.pairs = (unsigned)c->plan->pairs;
    r.wide = c->lanes << r.pairs;
    r.unroll = (unsigned)c->plan->vectors;
    r.step = (int64_t)r.wide * r.unroll;
    r.widest = (int64_t)r.wide * SAFE_UNROLL;
    r.widest = r.step > r.widest ? r.step : r.widest;
    r.windows = c->plan->scan == TLY_SCAN_WINDOWS && !c->plan->safe;
    while (1u << r.doublings < c->lanes)
        r.doublings++;
    r.loads = (unsigned)c->plan->window_loads;
    if (!r.windows || r.loads > r.doublings)
        r.loads = r.windows ? r.doublings : 0;
    r.history = r.interleave < c->lanes ? 1 : (r.interleave + c->lanes - 1) / c->lanes;
    r.checks = tly_range_count(c) > 0 && r.interleave < c->lanes;
    r.totals = r.chunk > 0 && tly_is_floating(c);
    r.checks_total = r.totals && r.interleave == 1;
    r.fast = r.checks && c->plan->safe == 0;
    r.by_flags = r.fast && r.interleave == 1;
    r.corrects = r.by_flags && tly_checks_products(c) && tly_rows_may_drift(&r);
    r.prescale_steps = r.by_flags && r.windows && tly_checks_products(c) &&
                       c->acc.kind == KIR_F32 && c->t->slow_subnormals;
    r.ends_by_flags = r.fast && r.interleave > 1;
    /* f16 in a pass of its own even where narrowing raises none: rows of 1,024 past the cache .211
     * ns an element, in the loop .232, of 128 .259 and .286, in L2 as long (Emerald Rapids). */
    r.deferred = (r.by_flags || r.ends_by_flags) &&
                 (tly_narrow_raises(c) || c->p->tensor[TLY_OUT].dtype == TALLY_F16);
    /* With 16 registers benign rows of 128 pay 6 % (f32) and 15 % (f16) for it, AVX2, from L2. Rows
     * with a carry have a total, however short they are. Its flags must not be taken for theirs. */
    r.prescale_rows = r.prescale_steps && c->t->registers >= 32 && !c->p->carry;
    if (c->p->program.type != 0) {
        c->is_mapped = 1; /* when it is staged, or in registers */
        r.posts = tly_has_expression(c->p, TLY_EXPRESSION_POST) || tly_operator_of(c->p)->compares;
        r.deferred = r.deferred || ((r.by_flags || r.ends_by_flags) &&
                                    tly_raises_flags(c->p, TLY_EXPRESSION_POST));
    }
    r.maps = maps_in_registers(&r);
    r.direct_in = tly_loads_vectors(c) && c->p->tensor[TLY_IN].step != 0 && !c->is_mapped;
    r.direct_out = c->p->tensor[TLY_OUT].step != TLY_ANY_STEP;
    lay_out(&r, launch);
    launch->chunk = r.chunk;
    launch->record_bytes = r.chunk > 0 ? tly_rows_record_bytes(&r) : 0;

    r.length = arg(c, KIR_ARG_LENGTH);
    r.ahead = imm(c, c->p->tensor[TLY_IN].step < 0 ? -c->plan->prefetch : c->plan->prefetch);
    if (r.chunk > 0) {
        kir_value asked = arg(c, KIR_ARG_AHEAD);
        r.ahead = choose(c, equal(c, asked, imm(c, 0)), r.ahead, asked);
    }
    r.group = imm(c, 1);
    if (c->p->rows.contiguous)
        r.group = rows_at_a_time(&r);
    if (r.prescale_rows)
        tly_rows_begin_prescale_rows(&r);
    if (r.prescale_steps)
        tly_rows_begin_prescale_steps(&r);
    if (r.chunk == 0) {
        build_scan(&r);
        kir_return(c->b, imm(c, 0));
        return;
    }
    kir_value mode = arg(c, KIR_ARG_MODE), no_total = imm(c, 0);
    tly_region combine = { .state = { &no_total } };
    emit_if(c, &combine, equal(c, mode, imm(c, TLY_MODE_COMBINE)));
    no_total = tly_rows_combine(&r);
    emit_else(c, &combine);
    build_scan(&r);
    emit_end(c, &combine);
    kir_return(c->b, no_total);
}
