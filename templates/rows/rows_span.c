/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: the loop over a span's steps, which loads the next step while it scans one.
 */
#include "rows.h"

/* ---- what goes from step to step ---- */

typedef struct chain {
    kir_value windows[8];            /* of the last vector loaded */
    tly_rows_part ahead[MAX_UNROLL]; /* the step to come, ... */
    tly_rows_distance distance;      /* corrects: with the step to come, ... */
    kir_value reached;               /* ... and its lanes before that */
    kir_value bad;                   /* i1, prescale_steps: the span must be scanned again */
    kir_value here, wide;            /* careful: where its input lies; i1: it may move far */
    tly_stretch results;             /* where its results are stored */
    tly_rows_state state;
    tly_rows_seen seen; /* where no flags are: what the span has shown */
    unsigned what;
} chain;

static int is_safe(const tly_rows *r)
{
    return r->checks && !r->fast;
}

static int looks(const tly_rows *r, const chain *h)
{
    return r->fast && !r->by_flags && (h->what & TLY_ROWS_RESULTS);
}

static int prescales_steps(const tly_rows *r, const chain *h)
{
    return r->prescale_steps && (h->what & TLY_ROWS_RESULTS);
}

static unsigned windows_count(const tly_rows *r)
{
    return r->windows ? r->doublings - r->loads : 0;
}

static void carry_chain(const tly_rows *r, tly_region *l, chain *h)
{
    const int products = tly_checks_products(r->c);
    emit_carry(l, windows_count(r), h->windows);
    for (unsigned k = 0; k < r->unroll; k++) {
        emit_carry(l, 1, &h->ahead[k].scan);
        if (r->pairs && (h->what & TLY_ROWS_RESULTS))
            emit_carry(l, 1, &h->ahead[k].first);
    }
    if (r->corrects) {
        emit_carry(l, 1, &h->distance.lanes);
        emit_carry(l, 1, &h->distance.lowest);
        emit_carry(l, 1, &h->reached);
    }
    if (prescales_steps(r, h))
        emit_carry(l, 1, &h->bad);
    if (is_safe(r))
        emit_carry(l, 1, &h->here);
    if (is_safe(r) && products)
        emit_carry(l, 1, &h->wide);
    if (looks(r, h))
        emit_carry(l, 1, &h->seen.results);
    if (looks(r, h) && products)
        emit_carry(l, 1, &h->seen.high);
    if (looks(r, h) && products && (r->windows || r->ends_by_flags))
        emit_carry(l, 1, &h->seen.low);
    tly_rows_carry(r, l, &h->state);
}

/* ---- a step ---- */

/* Loads the step at `p` and does all that needs no result before it. */
static void look_ahead(tly_rows *r, const tly_rows_source *in, kir_value p, int is_first, chain *h)
{
    tly_build *c = r->c;
    kir_value apart = 0, mapped[MAX_UNROLL];
    h->here = p;
    if (r->maps)
        tly_rows_map_step(r, in->span, p, mapped);
    for (unsigned k = 0; k < r->unroll; k++) {
        kir_value x[2], seen, at;
        if (r->maps) {
            x[0] = seen = mapped[k];
            h->ahead[k] = r->windows ? tly_rows_window_of(r, x[0], h->windows)
                                     : tly_rows_part_of(r, 0, x);
        } else if (r->windows) {
            at = ptradd(c, p, imm(c, k * r->wide * tly_rows_element_bytes(r)));
            h->ahead[k].scan = tly_rows_window(r, at, is_first && k == 0, h->windows, &seen);
            x[0] = seen;
        } else {
            at = tly_rows_load_step(r, p, imm(c, k), x);
            h->ahead[k] = tly_rows_part_of(r, at, x);
            seen = h->ahead[k].scan;
        }
        if (r->corrects)
            tly_rows_add_distance(r, tly_element(c, NULL, x[0]), &h->distance);
        if (looks(r, h) && tly_checks_products(c))
            tly_rows_see_part(r, &h->seen, seen);
        if (is_safe(r) && tly_checks_products(c))
            apart = tly_check_apart(c, apart, seen, tly_rows_range_parts(r));
    }
    if (apart)
        h->wide = any(c, tly_check_out_of_range(c, apart, tly_rows_range_parts(r)));
}

/* i1: parts of the step left the range. */
static kir_value parts_out_of_range(tly_rows *r, chain *h)
{
    kir_value out = i1(r->c, 0);
    tly_region wide = { .state = { &out } };
    emit_if(r->c, &wide, h->wide);
    out = tly_rows_parts_out_of_range(r, h->here, h->ahead);
    emit_end(r->c, &wide);
    return out;
}

static void join(tly_rows *r, chain *h, unsigned k, kir_value *shown, tly_rows_result *y)
{
    const tly_place at = tly_place_along(&h->results, (int64_t)k * r->wide);
    *y = tly_rows_join(r, &h->ahead[k], &at, &h->state, shown + (k << r->pairs));
}

/* Scans a step plainly, or prescaled if its products are small. */
static void either_step(tly_rows *r, chain *h, kir_value *shown)
{
    tly_build *c = r->c;
    kir_value parts[MAX_UNROLL];
    tly_rows_result y;
    tly_region way = { 0 };
    emit_carry(&way, r->unroll, shown);
    emit_carry(&way, 1, &h->state.last[0]);
    emit_carry(&way, 1, &h->bad);
    for (unsigned k = 0; k < r->unroll; k++)
        parts[k] = h->ahead[k].scan;
    emit_if(c, &way, tly_rows_step_is_small(r, &h->state));
    h->bad = bor(c, h->bad, tly_rows_join_prescaled(r, parts, &h->state, shown));
    emit_else(c, &way);
    for (unsigned k = 0; k < r->unroll; k++)
        join(r, h, k, shown, &y);
    emit_end(c, &way);
}

/* Scans a step. In safe mode a step in which something left the range is done again. */
static void scan_step(tly_rows *r, chain *h, kir_value *shown)
{
    tly_build *c = r->c;
    unsigned unroll = r->unroll;
    kir_value parts_out = 0;
    tly_rows_result y[MAX_UNROLL] = { { 0, 0, 0 } };
    tly_rows_state again = h->state;
    if (is_safe(r) && tly_checks_products(c))
        parts_out = parts_out_of_range(r, h);
    for (unsigned k = 0; k < unroll; k++) {
        join(r, h, k, shown, &y[k]);
        if (looks(r, h))
            tly_rows_see_result(r, &h->seen, &y[k]);
    }
    if (!is_safe(r))
        return;
    kir_value results_out = tly_rows_results_out_of_range(r, h->wide, y, shown, &h->state);
    tly_region redo = { 0 };
    emit_carry(&redo, unroll << r->pairs, shown);
    emit_carry(&redo, 1, &h->state.last[0]);
    emit_if(c, &redo, accumulate(c, KIR_OR, parts_out, results_out));
    tly_rows_redo(r, h->here, y[unroll - 1].y, parts_out, &again, shown);
    h->state.last[0] = again.last[0];
    emit_end(c, &redo);
}

/* ---- a span ---- */

/* Results of `n` vectors as accumulators, from element i on. */
kir_value tly_rows_acc_results_at(tly_rows *r, kir_value i)
{
    return tly_at(r->c, r->acc_results, i, r->c->acc_bytes);
}

static void keep_acc_results(tly_rows *r, kir_value i, const kir_value *y, unsigned n)
{
    unsigned bytes = r->c->lanes * r->c->acc_bytes;
    for (unsigned k = 0; k < n; k++)
        kir_store(r->c->b, tly_rows_acc_results_at(r, i), k * bytes, y[k], bytes, 0);
}

/* Results of `n` vectors (or of pairs, narrowed already) from element i on. */
static void store(tly_rows *r, const tly_rows_span *g, kir_value i, kir_value *y, unsigned n)
{
    tly_build *c = r->c;
    kir_value to = tly_stored_at(c, g->to, i);
    tly_region way = { 0 }, leave = { 0 };
    n = tly_pack_run(c, y, n, r->pairs);
    if (g->lines) {
        emit_if(c, &way, g->lines);
        tly_store_run(c, to, y, n, KIR_STREAM);
        emit_else(c, &way);
    }
    tly_store_run(c, to, y, n, 0);
    if (g->leaves) {
        emit_if(c, &leave, tly_not(c, less(c, i, g->leaves)));
        tly_rows_send(r, g, i);
        emit_end(c, &leave);
    }
    if (g->lines)
        emit_end(c, &way);
}

/* Results of `n` vectors from element i of `count` on, through `post`. */
static void post(tly_rows *r, const tly_rows_span *g, kir_value i, kir_value count, kir_value *y,
                 unsigned n)
{
    const tly_place first = tly_place_in(&g->at, i, 0);
    tly_post_step(r->c, &first, sub(r->c, count, i), y, n);
}

static void keep_or_store(tly_rows *r, const tly_rows_span *g, kir_value i, kir_value count,
                          kir_value *y, unsigned n)
{
    tly_region way = { 0 };
    if (g->to == 0)
        return;
    if (r->deferred) {
        keep_acc_results(r, i, y, n);
        return;
    }
    if (g->prescaled) {
        emit_if(r->c, &way, g->prescaled);
        keep_acc_results(r, i, y, n);
        emit_else(r->c, &way);
    }
    if (r->posts)
        post(r, g, i, count, y, n);
    store(r, g, i, y, n);
    if (g->prescaled)
        emit_end(r->c, &way);
}

/* Vectors are as wide as the machine's, whatever the width of windows is. A `post` that is long
 * enough to raise flags goes vector by vector: side by side it takes as long, and several times as
 * long to compile (55 for 11 ms of two e^x). */
void tly_rows_store_deferred(tly_rows *r, const tly_rows_span *g, kir_value count, kir_value *most)
{
    tly_build c = *r->c;
    tly_rows whole = *r;
    unsigned bytes = (unsigned)(r->step * c.acc_bytes), width = (unsigned)c.t->vector_bytes;
    kir_value y[MAX_UNROLL];
    tly_region l = { .state = { most } };
    width = width < bytes ? width : bytes;
    if (tly_raises_flags(c.p, TLY_EXPRESSION_POST))
        bytes = width;
    whole.c = &c;
    c.lanes = width / c.acc_bytes;
    c.vec.lanes = (uint8_t)c.lanes;
    if (most)
        *most = tly_check_bits(&c, constant(&c, c.vec, 0));
    const int64_t step = bytes / c.acc_bytes;
    emit_for(&c, &l, imm(&c, 0), tly_round_up(&c, count, step), imm(&c, step));
    for (unsigned first = 0, n; first < bytes / width; first += n) { /* lanes may be forced */
        n = bytes / width - first < MAX_UNROLL ? bytes / width - first : MAX_UNROLL;
        for (unsigned k = 0; k < n; k++) {
            y[k] = kir_load(c.b, c.vec, tly_rows_acc_results_at(r, l.i), (first + k) * width,
                            width);
            if (most)
                y[k] = tly_rows_unscale(&whole, y[k], most);
        }
        kir_value element = add(&c, l.i, imm(&c, first * c.lanes));
        if (r->posts)
            post(&whole, g, element, count, y, n);
        store(&whole, g, element, y, n);
    }
    emit_end(&c, &l);
}

/* Corrects the results of a span that began with `from`. */
static void correct(tly_rows *r, kir_value count, const tly_rows_state *from, chain *h)
{
    const tly_rows_distance d = { h->reached, h->distance.lowest };
    const int results = (h->what & TLY_ROWS_RESULTS) != 0, total = (h->what & TLY_ROWS_TOTAL) != 0;
    const kir_value base[2] = { results ? from->last[0] : from->total[0], from->total[0] };
    kir_value *const y[2] = { results ? &h->state.last[0] : &h->state.total[0],
                              &h->state.total[0] };
    tly_rows_correct(r, count, &d, (unsigned)(results + total), base, y);
}

/* While a step is scanned and stored, the next is loaded and scanned as far as it goes alone: the
 * way from load to store is long, and so only half of it lies in one attempt of the loop (bf16, 64
 * KiB in L2: 5.4 us for 6.3). LLVM must not move it behind the stores, either: where input and
 * output agree modulo 4096, a load right behind a store would wait for it (0.45 for 1.03 of a
 * copy). The last step loads its own input once more, in vain: any other could have to wait. */
void tly_rows_run(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in, kir_value count,
                  unsigned what, tly_rows_state *s, tly_rows_seen *seen)
{
    tly_build *c = r->c;
    kir_value shown[2 * MAX_UNROLL] = { 0 };
    chain h = { .state = *s, .what = what, .bad = i1(c, 0) };
    for (unsigned d = 0; d < windows_count(r); d++)
        h.windows[d] = tly_neutral(c, c->vec);
    if (looks(r, &h))
        h.seen = tly_rows_see_none(r);
    kir_value first = in->first;
    if (r->fast) { /* what is loaded from here on comes after */
        kir_clear_flags(c->b);
        first = kir_keep(c->b, first);
    }
    if (r->corrects)
        h.distance = tly_rows_no_distance(r);
    look_ahead(r, in, first, 1, &h);
    h.reached = h.distance.lanes;
    kir_value step = imm(c, r->step);

    tly_region l = { 0 };
    carry_chain(r, &l, &h);
    emit_for(c, &l, imm(c, 0), tly_round_up(c, count, r->step), step);
    h.reached = h.distance.lanes;
    chain now = h;
    now.results = (tly_stretch){ .to = g->to, .i = l.i };
    look_ahead(r, in, tly_rows_next(r, in, l.i), 0, &h);
    for (unsigned k = 0; k < r->unroll; k++)
        h.ahead[k].scan = kir_keep(c->b, h.ahead[k].scan);
    now.seen = h.seen;
    if (what & TLY_ROWS_TOTAL)
        tly_rows_add_totals(r, now.ahead, now.state.total);
    if (what & TLY_ROWS_RESULTS) {
        if (r->prescale_steps)
            either_step(r, &now, shown);
        else
            scan_step(r, &now, shown);
        for (unsigned k = 0; k < r->unroll && r->pairs; k++)
            shown[k] = tly_narrow_pairs(c, &shown[2 * k]);
        keep_or_store(r, g, l.i, count, shown, r->unroll);
    }
    tly_rows_prefetch(r, g, l.i);
    h.state = now.state;
    h.seen = now.seen;
    h.bad = now.bad;
    emit_end(c, &l);
    if ((what & TLY_ROWS_TOTAL) && r->interleave == 1)
        h.state.total[0] = tly_vector_newest(c, h.state.total[0], 1);
    if (r->corrects)
        correct(r, count, s, &h);
    *s = h.state;
    if (seen) {
        *seen = h.seen;
        seen->bad = h.bad;
    }
}
