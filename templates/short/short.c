/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short template: dense rows of a few elements. The tensor is one stream of vectors, whatever
 * the length of its rows, so that no lane is idle and lines of output are whole. A batch is whole
 * rows and whole lines. It is validated as one and, if something left the range, row by row.
 */
#include "short.h"

#include <string.h>

/* Rows of which a call has few are read and written where they lie, one by one, by masks. A call
 * of one row of 5, 12, 16, 48 f32, ns: by batches 38, 59, 40, 80, so 14, 15, 16, 19; the C loop
 * 3, 5, 6, 19 (Zen 4, AVX-512). Where no instruction has masks, parts of vectors go by powers of
 * two: f32 of 5, 16, 33 with SSE 91, 70, 106 and 25, 19, 31, bf16 of 16 93 and 18, f16 107 and
 * 29, of 5, 16, 64 with AVX2 68, 77, 78 and 31, 15, 31 (Emerald Rapids); there code is large, so
 * not for any row. */
static int takes_few(const tly_short *s)
{
    enum { MOST_UNMASKED = 8 }; /* vectors */
    const tly_build *c = s->c;
    int masked = tly_target_masks(c->t, c->bytes[TLY_IN]) &&
                 tly_target_masks(c->t, c->bytes[TLY_OUT]);
    return s->literal > 0 && c->p->tensor[TLY_IN].step == 1 && !s->maps && !c->p->carry &&
           (masked || s->literal <= MOST_UNMASKED * c->lanes);
}

/* Scans one row at `at`, or with `fixed` a vector of whole rows, `left` elements in all. Stores the
 * results only if they are sure to have stayed in range; returns that (i1). */
static kir_value scan_few_row(tly_short *s, tly_row at, kir_value left)
{
    tly_build *c = s->c;
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, c->lanes);
    kir_value before[TLY_SHORT_BORDERS], shown[TLY_SHORT_MOST_VECTORS], y, seen = 0;
    unsigned n = 0, checks = tly_range_count(c);
    const tly_place first = tly_place_in(&at, 0, 0);
    for (unsigned i = 0; i < s->literal; i += c->lanes, n++) {
        const tly_place here = tly_place_after(first, i, 0);
        int whole = !s->fixed && i + c->lanes <= s->literal;
        kir_value count = s->fixed ? left : imm(c, s->literal - i);
        kir_value x = kir_mload(c->b, t, at.at[TLY_IN], (int64_t)i * c->bytes[TLY_IN], count,
                                tly_padding(c, t));
        x = tly_element(c, whole ? &here : NULL, tly_widen(c, x));
        shown[n] = tly_short_scan_alone(s, &here, x, i == 0, before, &y);
        if (checks > 1)
            seen = tly_check_apart(c, seen, y, TLY_CHECK_PART);
        else if (checks > 0)
            seen = accumulate(c, KIR_UMAX, seen, tly_check_bits(c, y));
    }
    kir_value good = i1(c, 1);
    if (checks > 1)
        good = tly_not(c, any(c, tly_check_out_of_range(c, seen, TLY_CHECK_PART)));
    else if (checks > 0)
        good = tly_not(c, any(c, tly_not(c, tly_check_below(c, seen, TLY_INFINITE))));
    tly_region stands = { 0 };
    emit_if(c, &stands, good);
    for (unsigned k = 0; k < n; k++) {
        tly_pack_run(c, &shown[k], 1, 0);
        kir_value count = s->fixed ? left : imm(c, s->literal - k * c->lanes);
        kir_mstore(c->b, tly_stored_at(c, at.at[TLY_OUT], imm(c, k * c->lanes)), 0, count,
                   shown[k]);
    }
    emit_end(c, &stands);
    return good;
}

/* Returns the first row that is left to do: of many rows the first of all, else the first one that
 * may have left the range. */
static kir_value scan_few(tly_short *s, kir_value begin, kir_value end)
{
    enum { FEW = 4 }; /* one was measured; a batch's first costs weigh less from there on */
    tly_build *c = s->c;
    kir_value each = imm(c, s->fixed ? c->lanes / s->literal : 1), done = begin;
    kir_value few = less(c, sub(c, end, begin), add(c, mul(c, each, imm(c, FEW)), imm(c, 1)));
    tly_region l = { .state = { &done } }, next = { .state = { &done } };
    emit_for(c, &l, begin, choose(c, few, end, begin), each);
    emit_if(c, &next, equal(c, done, l.i));
    kir_value left = mul(c, sub(c, end, l.i), s->length);
    kir_value good = scan_few_row(s, tly_row_address(c, l.i), left);
    done = choose(c, good, tly_min(c, add(c, l.i, each), end), done);
    emit_end(c, &next);
    emit_end(c, &l);
    return done;
}

/* How many rows are whole steps together, and so whole lines of output. */
static int64_t even_rows(const tly_short *s)
{
    return s->by_rows ? s->step / s->literal : s->step;
}

static int64_t most_elements(const tly_short *s)
{
    int64_t even = even_rows(s) * (s->literal > 0 ? s->literal : TLY_MEDIUM_ROW);
    return even > s->c->plan->block_elements ? even : s->c->plan->block_elements;
}

static kir_value batch_rows(tly_short *s)
{
    tly_build *c = s->c;
    int64_t even = even_rows(s);
    kir_value rows = udiv(c, imm(c, c->plan->block_elements), s->length);
    return tly_max(c, tly_round_down(c, rows, even), imm(c, even));
}

/* Whole steps, out of place, need no buffer where output starts with a line or stays in cache. */
static kir_value goes_direct(tly_short *s, const tly_stream *out, kir_value count)
{
    tly_build *c = s->c;
    kir_value even = equal(c, tly_short_steps(s, count), count);
    kir_value direct = band(c, even, tly_out_of_place(c));
    return band(c, direct, equal(c, out->pending, imm(c, 0)));
}

static void lay_out(tly_short *s, tly_launch *launch, kir_value rows)
{
    tly_build *c = s->c;
    int64_t line = tly_line(c), size = c->bytes[TLY_IN];
    int64_t table = (tly_short_table_bytes(s) + 63) / 64 * 64;
    int64_t pad = (tly_short_pad_bytes(s) + 63) / 64 * 64;
    int64_t elements = (most_elements(s) + 3 * line + s->step) / line * line;
    int64_t buffer = elements * c->bytes[TLY_OUT];
    int64_t first = tly_stored_step(c) < 0 ? buffer - c->bytes[TLY_OUT] : 0; /* the highest */
    int64_t used = (table + pad + buffer + TLY_CONGRUENT_BYTES + 63) / 64 * 64;
    kir_value scratch = arg(c, KIR_ARG_SCRATCH);
    launch->chunk = c->p->carry ? TLY_MEDIUM_ROW + 1 : 0; /* rows are shorter: none is cut */
    launch->scratch_bytes = used;
    s->most = most_elements(s);
    if (s->is_staged) {
        launch->scratch_bytes += TLY_CONGRUENT_BYTES + (elements * size + 63) / 64 * 64;
        s->mapped = tly_congruent(c, ptradd(c, scratch, imm(c, used)), arg(c, KIR_ARG_IN));
    }
    if (c->p->carry) {
        tly_short_begin_carry(s, ptradd(c, scratch, imm(c, launch->scratch_bytes)), rows);
        launch->scratch_bytes += tly_short_carry_bytes(s);
    }
    s->table = scratch;
    s->pad = ptradd(c, scratch, imm(c, table + (c->p->tensor[TLY_IN].step < 0 ? pad - size : 0)));
    s->buffer = tly_congruent(c, ptradd(c, scratch, imm(c, table + pad + first)),
                              arg(c, KIR_ARG_OUT));
}

/* Whether a comparison makes the masks of windows. It replaces loads of masks, of which most cross
 * lines, and an operation for each choice. 2,000 rows from L2, of the time with tables (Zen 4,
 * AVX-512): f32 of 33, 63 sums .83, .90, products .90, .98; of 50 products .98, maxima .88, sums of
 * i32 .87; of 5 sums .89, maxima .87, but products 1.01 and of i32 1.03. */
static int has_positions(const tly_short *s)
{
    const tly_build *c = s->c;
    return c->t->mask_bytes == 1 && (s->chains || tly_combines_by(c->p) != KIR_MUL);
}

/* Whether whole vectors hardly exceed a row, so that it pays to begin each row with a vector.
 * Then no vector of the row's inside needs a mask, but loads and stores cross lines. Products of
 * f32 from L2, of the time of the stream (Zen 4): rows of 31, 47, 59, 63 .88, .83, .88, .82, of
 * 27, 41, 54 1.02, .96, 1.03; sums of 42 1.03. Not measured without registers for masks. */
static int goes_row_by_row(const tly_short *s)
{
    enum { MOST_PERCENT = 112 };
    const tly_build *c = s->c;
    int64_t filled = ((int64_t)s->literal + c->lanes - 1) / c->lanes * c->lanes;
    const int upwards = c->p->tensor[TLY_IN].step == 1 && c->p->tensor[TLY_OUT].step == 1;
    return c->t->mask_bytes == 1 && upwards && s->chains && !s->by_rows && s->literal > 0 &&
           filled * 100 <= (int64_t)s->literal * MOST_PERCENT;
}

static tly_short begin_short(tly_build *c)
{
    tly_short s = { .c = c, .literal = c->p->rows.length };
    unsigned line = tly_line(c);
    s.length = s.literal > 0 ? imm(c, s.literal) : arg(c, KIR_ARG_LENGTH);
    s.chains = s.literal == 0 || s.literal > c->lanes;
    s.fixed = s.literal > 0 && c->lanes % s.literal == 0;
    while (1u << s.doublings < (s.chains ? c->lanes : s.literal))
        s.doublings++;
    s.by_flags = c->p->tensor[TLY_OUT].dtype != TALLY_F16 ||
                 tly_target_narrows_quietly(c->t, c->lanes);
    s.prescale = s.chains && tly_checks_products(c) && c->acc.kind == KIR_F32 &&
                 c->t->slow_subnormals && !c->p->carry;
    s.vectors = line > c->lanes ? line / c->lanes : 1;
    const unsigned by_rows = (unsigned)tly_short_vectors_by_rows(c->p, (int)c->lanes);
    s.by_rows = by_rows > 0;
    s.vectors = s.by_rows ? by_rows : s.vectors;
    s.step = (int64_t)s.vectors * c->lanes;
    s.bits = KIR_TYPE(c->acc_bytes == 8 ? KIR_I64 : KIR_I32, c->lanes);
    s.row_by_row = goes_row_by_row(&s);
    s.by_positions = has_positions(&s);
    s.by_bits = tly_part_bytes(c->p) == c->state_bytes;
    s.by_number = c->p->carry && (s.fixed || s.by_rows);
    s.neutral = tly_neutral(c, c->vec);
    if (s.by_bits && tly_is_floating(c))
        s.neutral = bitcast(c, s.bits, s.neutral);
    return s;
}

/* The problem of what a batch is once its elements are mapped: rows of packed elements of the
 * expressions' type. Its outer strides in the input are not those of the launch. */
static tly_problem mapped_problem(const tly_build *c)
{
    tly_problem p = *c->p;
    p.tensor[TLY_IN] = (tly_tensor_facts){ (uint8_t)c->element, 1 };
    memset(&p.program, 0, sizeof p.program);
    return p;
}

/* Maps the elements of a batch, which is dense. */
static kir_value map_batch(tly_build *c, const tly_short *s, kir_value count)
{
    kir_value full = tly_round_down(c, count, c->lanes);
    tly_region vectors = { 0 }, rest = { 0 };
    for (int whole = 1; whole >= 0; whole--) {
        tly_region *l = whole ? &vectors : &rest;
        const unsigned lanes = whole ? c->lanes : 1;
        emit_for(c, l, whole ? imm(c, 0) : full, whole ? full : count, imm(c, lanes));
        const tly_place at = tly_place_in(&s->batch, l->i, 0);
        kir_store(c->b, tly_at(c, s->mapped, l->i, c->element_bytes), 0,
                  tly_mapped_at(c, &at, lanes), c->element_bytes, 0);
        emit_end(c, l);
    }
    return s->mapped;
}

void tly_build_short(tly_build *word, tly_launch *launch)
{
    const int maps = word->p->program.type != 0;
    const tly_problem problem = mapped_problem(word);
    tly_build inner = *word, *c = maps ? &inner : word;
    if (maps) {
        inner.p = &problem;
        inner.bytes[TLY_IN] = word->element_bytes;
    }
    tly_short s = begin_short(c);
    s.word = word;
    s.maps = maps;
    s.is_staged = tly_raises_flags(word->p, TLY_EXPRESSION_MAP);
    kir_value begin = arg(c, KIR_ARG_BEGIN), end = arg(c, KIR_ARG_TASK_END);
    tly_region rest = { 0 }, l = { 0 };
    if (s.fixed)
        tly_short_borders(&s);
    if (takes_few(&s))
        begin = scan_few(&s, begin, end);
    emit_if(c, &rest, less(c, begin, end));
    /* Here, as a call of few rows keeps none of it on the stack. */
    lay_out(&s, launch, sub(c, end, begin));
    kir_value streams = tly_streams(c), together = batch_rows(&s);
    if (!s.fixed)
        tly_short_borders(&s);
    tly_stream out = { .buffer = s.buffer };
    tly_stream_begin(c, &out, tly_row_address(c, begin).at[TLY_OUT], streams);
    kir_value at_once = i1(c, 0);
    tly_carry_stream(&l, &out);
    emit_carry(&l, (unsigned)s.prescale, &at_once);
    emit_for(c, &l, begin, end, together);
    kir_value rows = tly_min(c, together, sub(c, end, l.i)), count = mul(c, rows, s.length);
    kir_value direct = goes_direct(&s, &out, count);
    s.batch = tly_row_address(word, l.i);
    tly_short_piece batch = {
        .in = s.is_staged ? map_batch(word, &s, count) : s.batch.at[TLY_IN],
        .count = count,
        .first = imm(c, 0),
        .to = choose(c, direct, out.to, tly_stored_at(c, s.buffer, out.pending)),
        .lines = band(c, direct, streams),
    };
    if (c->p->carry)
        tly_short_take_states(&s, rows);
    kir_value good = tly_short_batch(&s, &batch, rows, out.pending, &at_once);
    if (c->p->carry)
        tly_short_hand_on(&s, rows);
    tly_stream_advance(c, &out, count, band(c, direct, good));
    tly_stream_drain(c, &out, streams, equal(c, add(c, l.i, rows), end));
    emit_end(c, &l);
    tly_fence(c, streams);
    emit_end(c, &rest);
    kir_return(c->b, imm(c, 0));
}
