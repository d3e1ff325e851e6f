/*
 * Segments of the rows template: the loop over steps of a few vectors.
 */
#include "rows.h"

/* ---- what goes from step to step ---- */

typedef struct chain {
    kir_value windows[8];            /* of the last vector loaded */
    tly_rows_part ahead[MAX_UNROLL]; /* the step to come, ... */
    kir_value here, wide;            /* careful: where its input lies; i1: it may move far */
    tly_rows_state state;
    tly_rows_seen seen;              /* quick: what the segment has shown */
    kir_value totals;                /* a watch over the total after each step */
} chain;

static int is_careful(const tly_rows *r)
{
    return r->watches && !r->quick;
}

static unsigned windows_count(const tly_rows *r)
{
    return r->windows ? r->doublings - r->loads : 0;
}

/* Lists the values of a chain in their order; `put` writes them to v, else they are read. */
static unsigned chain_values(const tly_rows *r, chain *h, kir_value *v, int put)
{
    kir_value *at[KIR_MAX_CARRIED];
    unsigned n = 0;
    for (unsigned d = 0; d < windows_count(r); d++)
        at[n++] = &h->windows[d];
    for (unsigned k = 0; k < r->unroll; k++) {
        at[n++] = &h->ahead[k].scan;
        if (r->pairs)
            at[n++] = &h->ahead[k].first;
    }
    if (is_careful(r))
        at[n++] = &h->here;
    if (is_careful(r) && tly_watches_products(r->c))
        at[n++] = &h->wide;
    if (r->quick)
        at[n++] = &h->seen.results;
    if (r->quick && tly_watches_products(r->c)) {
        at[n++] = &h->seen.high;
        if (r->windows || r->totals)
            at[n++] = &h->seen.low;
    }
    if (r->watches && r->totals)
        at[n++] = &h->totals;
    for (unsigned k = 0; k < n; k++) {
        if (put)
            v[k] = *at[k];
        else
            *at[k] = v[k];
    }
    if (put)
        tly_rows_pack(r, &h->state, v + n);
    else
        h->state = tly_rows_unpack(r, v + n);
    return n + tly_rows_state_count(r);
}

/* ---- a step ---- */

/* Loads the step at `p` and does all that needs no result before it. */
static void look_ahead(tly_rows *r, kir_value p, int is_first, chain *h)
{
    tly_build *c = r->c;
    kir_value apart = 0;
    h->here = p;
    for (unsigned k = 0; k < r->unroll; k++) {
        kir_value x[2], seen;
        if (r->windows) {
            kir_value at = kir_ptradd(c->b, p, imm(c, k * r->wide * tly_rows_element_bytes(r)));
            h->ahead[k] = (tly_rows_part){
                tly_rows_window(r, at, is_first && k == 0, h->windows, &seen), 0
            };
        } else {
            tly_rows_load_step(r, p, imm(c, k), x);
            h->ahead[k] = tly_rows_part_of(r, x);
            seen = h->ahead[k].scan;
        }
        if (r->quick && tly_watches_products(r->c))
            tly_rows_see_part(r, &h->seen, seen);
        if (is_careful(r) && tly_watches_products(r->c))
            apart = tly_watch_apart(c, apart, seen, tly_rows_narrow(r));
    }
    if (apart)
        h->wide = kir_any(c->b, tly_watch_left(c, apart, tly_rows_narrow(r)));
}

/* i1: the step's parts left the range. */
static kir_value parts_left(tly_rows *r, chain *h)
{
    kir_value none = kir_const(r->c->b, KIR_TYPE(KIR_I1, 1), 0);
    kir_branch wide;
    kir_if(r->c->b, &wide, h->wide);
    kir_value left = tly_rows_parts_left(r, h->here, h->ahead);
    kir_else(r->c->b, &wide, 1, &left);
    kir_if_end(r->c->b, &wide, 1, &none);
    return wide.result[0];
}

/* Of products a quarter of the range is a total's. */
enum { TOTAL_PART = 4 };

static kir_value watch_total(tly_rows *r, kir_value seen, kir_value total)
{
    if (tly_watches_products(r->c))
        return tly_watch_apart(r->c, seen, total, TOTAL_PART);
    kir_value bits = tly_watch_bits(r->c, total);
    return seen ? kir_bin(r->c->b, KIR_UMAX, seen, bits) : bits;
}

/* The chunk's total, of which no step's other results know. */
static void add_totals(tly_rows *r, chain *h)
{
    tly_build *c = r->c;
    for (unsigned k = 0; k < r->unroll; k++) {
        kir_value part = h->ahead[k].scan;
        if (!r->windows)
            part = tly_vector_newest(c, part, 1);
        h->state.total = tly_combine(c, h->state.total, part);
    }
    if (r->watches)
        h->totals = watch_total(r, h->totals, h->state.total);
}

/* A step; careful, and something in it left the range: the step done again. */
static void scan_step(tly_rows *r, chain *h, kir_value *shown)
{
    kir_builder *b = r->c->b;
    unsigned unroll = r->unroll, each = 1 + r->pairs, n = unroll * each;
    kir_value v[KIR_MAX_CARRIED], left = 0;
    tly_rows_result y[MAX_UNROLL];
    tly_rows_state again = h->state;
    if (is_careful(r) && tly_watches_products(r->c)) {
        left = parts_left(r, h);
        if (r->totals)
            h->state.spoiled = kir_bin(b, KIR_OR, h->state.spoiled, h->wide);
    }
    if (r->totals)
        add_totals(r, h);
    for (unsigned k = 0; k < unroll; k++) {
        y[k] = tly_rows_join(r, &h->ahead[k], &h->state, shown + k * each);
        if (r->quick)
            tly_rows_see_result(r, &h->seen, &y[k]);
    }
    if (!is_careful(r))
        return;
    kir_value out = tly_rows_results_left(r, h->wide, y, &h->state);
    kir_branch redo;
    kir_if(b, &redo, left ? kir_bin(b, KIR_OR, left, out) : out);
    tly_rows_redo(r, h->here, y[unroll - 1].y, &again, v);
    v[n] = again.last[0];
    kir_else(b, &redo, n + 1, v);
    shown[n] = h->state.last[0];
    kir_if_end(b, &redo, n + 1, shown);
    for (unsigned k = 0; k < n; k++)
        shown[k] = redo.result[k];
    h->state.last[0] = redo.result[n];
}

/* ---- a segment ---- */

/* Results of `n` vectors (or of pairs, narrowed already) from element i on. */
static void store(tly_rows *r, const tly_rows_segment *g, kir_value i, kir_value *y, unsigned n)
{
    tly_build *c = r->c;
    kir_value to = tly_stored_at(c, g->to, i);
    kir_branch way;
    n = tly_pack_run(c, y, n, r->pairs);
    if (g->lines) {
        kir_if(c->b, &way, g->lines);
        tly_store_run(c, to, y, n, KIR_STREAM);
        kir_else(c->b, &way, 0, NULL);
    }
    tly_store_run(c, to, y, n, 0);
    if (g->lines)
        kir_if_end(c->b, &way, 0, NULL);
}

/* A total that left its part of the range on its way, or may have done so within a step, is none.
 * All of it is known from the chunk alone. */
static void judge_total(tly_rows *r, chain *h)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    h->state.total = tly_vector_newest(c, h->state.total, 1);
    if (!r->watches)
        return;
    kir_value left = tly_watches_products(c)
        ? tly_watch_left(c, h->totals, TOTAL_PART)
        : tly_not(c, tly_watch_below(c, h->totals, TLY_LARGE));
    h->state.spoiled = kir_bin(b, KIR_OR, h->state.spoiled, kir_any(b, left));
    if (r->quick && tly_watches_products(r->c))
        h->state.spoiled = kir_bin(b, KIR_OR, h->state.spoiled, tly_rows_seen_wide(r, &h->seen));
    /* subnormal ones are slow */
    h->state.total = kir_select(b, h->state.spoiled, tly_neutral(c, c->vec), h->state.total);
}

/* While a step is scanned and stored, the next is loaded and scanned as far as it goes alone: the
 * way from load to store is long, and so only half of it lies in one turn of the loop (bf16, 64 KiB
 * in L2: 5.4 us for 6.3). LLVM must not move it behind the stores, either: where input and output
 * agree modulo 4096, a load right behind a store would wait for it (0.45 for 1.03 of a copy). The
 * last step loads its own input once more, in vain: any other could have to wait. Returns, quick,
 * an i1: something left the range, and nothing of it counts. */
static kir_value run(tly_rows *r, const tly_rows_segment *g, tly_rows_state *s)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_value v[KIR_MAX_CARRIED], shown[2 * MAX_UNROLL + 1], lost = 0;
    unsigned unroll = r->unroll;
    tly_rows_source in = tly_rows_prepare(r, g);
    chain h = { .state = *s };
    for (unsigned d = 0; d < windows_count(r); d++)
        h.windows[d] = tly_neutral(c, c->vec);
    if (r->watches && r->totals)
        h.totals = watch_total(r, 0, tly_neutral(c, c->vec));
    kir_value end = tly_round_up(c, g->count, r->step);
    if (r->quick) {
        h.seen = tly_rows_see_none(r);
        lost = tly_rows_is_lost(r, s);
        end = kir_select(b, lost, imm(c, 0), end);
    }
    look_ahead(r, in.first, 1, &h);
    kir_value soon = kir_ptradd(b, g->in, r->ahead), step = imm(c, r->step);

    kir_loop l;
    unsigned n = chain_values(r, &h, v, 1);
    kir_for(b, &l, imm(c, 0), end, step, n, v);
    chain_values(r, &h, l.carried, 0);
    chain now = h;
    look_ahead(r, tly_rows_next(r, &in, l.i), 0, &h);
    for (unsigned k = 0; k < unroll; k++)
        h.ahead[k].scan = kir_keep(b, h.ahead[k].scan);
    now.seen = h.seen;
    scan_step(r, &now, shown);
    for (unsigned k = 0; k < unroll && r->pairs; k++)
        shown[k] = tly_narrow_pairs(c, &shown[2 * k]);
    store(r, g, l.i, shown, unroll);
    tly_rows_prefetch(r, soon, l.i);
    h.state = now.state;
    h.seen = now.seen;
    h.totals = now.totals;
    chain_values(r, &h, v, 1);
    kir_for_end(b, &l, v);
    chain_values(r, &h, l.result, 0);
    kir_value left = r->quick ? tly_rows_seen_left(r, &h.seen, &h.state) : 0;
    if (r->totals)
        judge_total(r, &h);
    if (r->totals && r->quick)
        h.state.spoiled = kir_bin(b, KIR_OR, h.state.spoiled, lost);
    *s = h.state;
    if (r->windows)
        s->last[0] = tly_vector_newest(c, s->last[0], 1);
    return left ? kir_bin(b, KIR_OR, left, lost) : 0;
}

/* Quickly; where something may have left the range once more, with care, each vector by itself. */
void tly_rows_scan(tly_rows *r, const tly_rows_segment *g, tly_rows_state *s)
{
    kir_builder *b = r->c->b;
    if (r->c->plan->scan == TLY_SCAN_SCALARS) {
        tly_rows_scan_scalar(r, g, s);
        return;
    }
    tly_rows_state again = *s;
    kir_value left = run(r, g, s), v[MAX_STATE];
    if (!left)
        return;
    tly_rows careful = *r;
    careful.windows = careful.quick = careful.totals = careful.loads = 0;
    careful.unroll = CAREFUL_UNROLL;
    careful.step = (int64_t)CAREFUL_UNROLL * r->wide;
    kir_branch redo;
    kir_if(b, &redo, left);
    run(&careful, g, &again);
    again.base = s->base; /* of the chunk, with which results have nothing to do */
    again.total = s->total;
    again.spoiled = s->spoiled;
    tly_rows_pack(r, &again, v);
    kir_else(b, &redo, tly_rows_state_count(r), v);
    tly_rows_pack(r, s, v);
    kir_if_end(b, &redo, tly_rows_state_count(r), v);
    *s = tly_rows_unpack(r, redo.result);
}
