/*
 * Segments of the rows template: the windowed scan.
 */
#include "rows.h"

/* ---- one vector ---- */

static void push(kir_value *newest_first, unsigned n, kir_value v)
{
    for (unsigned k = n; k-- > 1;)
        newest_first[k] = newest_first[k - 1];
    newest_first[0] = v;
}

/* What lies `apart` elements before each lane of `now` (0: not needed), the vectors before it being
 * newest first. */
static kir_value before(tly_rows *r, const kir_value *newest_first, kir_value now, unsigned apart)
{
    unsigned n = r->c->lanes, k = apart / n;
    kir_value v = k == 0 ? now : newest_first[k - 1];
    return apart % n == 0 ? v : tly_shift(r->c, newest_first[k], v, apart % n);
}

/* A vector's window as far as loads go; where lanes are pairs, with the first of each. */
typedef struct window {
    kir_value w, first;
} window;

/* x[k]: the elements k before each lane. */
static window window_of(tly_rows *r, kir_value *x)
{
    for (unsigned n = 1u << r->loads; n > 1; n /= 2)
        for (unsigned k = 0; k < n / 2; k++)
            x[k] = tly_combine(r->c, x[2 * k + 1], x[2 * k]);
    return (window){ x[0], 0 };
}

static window load_pairs(tly_rows *r, kir_value p)
{
    kir_value pair[2];
    tly_load_pairs(r->c, p, pair);
    return (window){ tly_combine(r->c, pair[0], pair[1]), pair[0] };
}

/* The window that ends at each lane of the vector at `p`, as far as overlapping loads go. */
static window load_window(tly_rows *r, kir_value p)
{
    tly_build *c = r->c;
    kir_value x[1 << TLY_ROWS_MOST_LOADS];
    if (r->pairs)
        return load_pairs(r, p);
    for (int64_t k = 0; k <= tly_rows_reach(r); k++)
        x[k] = tly_rows_load(r, kir_ptradd(c->b, p, imm(c, -k * tly_rows_element_bytes(r))));
    window w = window_of(r, x);
    w.w = tly_rows_order(r, w.w);
    return w;
}

/* The same where nothing comes before the vector. */
static window load_first(tly_rows *r, kir_value p)
{
    tly_build *c = r->c;
    if (r->pairs)
        return load_pairs(r, p);
    kir_value x[1 << TLY_ROWS_MOST_LOADS] = { tly_rows_order(r, tly_rows_load(r, p)) };
    for (unsigned k = 1; k <= (unsigned)tly_rows_reach(r); k++)
        x[k] = tly_shift(c, tly_neutral(c, c->vec), x[0], k);
    return window_of(r, x);
}

/* Vectors of earlier windows that doubling d looks back on. */
static unsigned looks_back(const tly_rows *r, unsigned d)
{
    unsigned apart = r->unit << d;
    return (apart + r->c->lanes - 1) / r->c->lanes;
}

/* w: the vector's loaded window; windows: those of the vectors before, doubling by doubling. */
static kir_value widen_window(tly_rows *r, kir_value w, kir_value *windows)
{
    for (unsigned d = r->loads; d < r->doublings; d++) {
        unsigned n = looks_back(r, d);
        kir_value wider = tly_combine(r->c, before(r, windows, w, r->unit << d), w);
        push(windows, n, w);
        windows += n;
        w = wider;
    }
    return w;
}

/* The whole windows of a step at `p`. */
static void look_ahead(tly_rows *r, kir_value p, int is_first, kir_value *windows, window *step)
{
    tly_build *c = r->c;
    for (unsigned k = 0; k < (unsigned)c->plan->unroll; k++) {
        kir_value at = kir_ptradd(c->b, p, imm(c, k * r->wide * tly_rows_element_bytes(r)));
        step[k] = is_first && k == 0 ? load_first(r, at) : load_window(r, at);
        step[k].w = widen_window(r, step[k].w, windows);
    }
}

/* ---- one segment: a row's part in this block ---- */

/* One vector: what is to be stored of it, from its window; pairs, already narrowed. */
static kir_value scan_vector(tly_rows *r, window w, kir_value *history, kir_value *range,
                             kir_value carries)
{
    tly_build *c = r->c;
    kir_value y = tly_combine(c, before(r, history, 0, r->shift), w.w), shown[2] = { y };
    tly_range_track(c, range, y);
    if (c->p->exclusive || r->pairs)
        shown[0] = before(r, history, y, r->unit);
    if (r->pairs) {
        kir_value first = tly_combine(c, shown[0], w.first);
        tly_range_track(c, range, first);
        shown[1] = c->p->exclusive ? first : y;
        shown[0] = c->p->exclusive ? shown[0] : first;
    }
    push(history, r->history, y);
    for (unsigned k = 0; carries && k <= r->pairs; k++)
        shown[k] = tly_combine(c, carries, shown[k]);
    return r->pairs ? tly_narrow_pairs(c, shown) : shown[0];
}

/* Results of a step: plainly, or to whole lines of output past the cache. */
static void store_step(tly_rows *r, const tly_rows_segment *g, kir_value i, kir_value *y)
{
    tly_build *c = r->c;
    unsigned n = (unsigned)c->plan->unroll;
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

/* What goes from step to step: windows of the last vectors loaded, the chain, the range, and the
 * whole windows of the step to come. */
typedef struct chain {
    kir_value windows[MAX_HISTORY], history[MAX_HISTORY], range[2];
    window ahead[MAX_UNROLL];
} chain;

static unsigned chain_pack(const tly_rows *r, const chain *h, kir_value *v)
{
    unsigned n = 0;
    for (unsigned d = r->loads, at = 0; d < r->doublings; d++)
        for (unsigned k = 0; k < looks_back(r, d); k++)
            v[n++] = h->windows[at++];
    for (unsigned k = 0; k < r->history; k++)
        v[n++] = h->history[k];
    for (unsigned k = 0; k < tly_range_count(r->c); k++)
        v[n++] = h->range[k];
    for (unsigned k = 0; k < (unsigned)r->c->plan->unroll; k++) {
        v[n++] = h->ahead[k].w;
        if (r->pairs)
            v[n++] = h->ahead[k].first;
    }
    return n;
}

static chain chain_unpack(const tly_rows *r, const kir_value *v)
{
    chain h;
    unsigned at = 0;
    for (unsigned d = r->loads; d < r->doublings; d++)
        for (unsigned k = 0; k < looks_back(r, d); k++)
            h.windows[at++] = *v++;
    for (unsigned k = 0; k < r->history; k++)
        h.history[k] = *v++;
    for (unsigned k = 0; k < tly_range_count(r->c); k++)
        h.range[k] = *v++;
    for (unsigned k = 0; k < (unsigned)r->c->plan->unroll; k++) {
        h.ahead[k].w = *v++;
        h.ahead[k].first = r->pairs ? *v++ : 0;
    }
    return h;
}

/* Scans a segment; results are carry + y (y where there is no carry). history and range are
 * brought up to date. While a step is scanned and stored, the windows of the next are made: the way
 * from load to store is long, and so only half of it lies in one turn of the loop (bf16, 64 KiB in
 * L2: 5.4 us for 6.3). LLVM must not move them behind the stores, either: where input and output
 * agree modulo 4096, a load right behind a store would wait for it (0.45 for 1.03 of a copy). The
 * last step loads its own input once more, in vain: any other could have to wait. */
void tly_rows_scan(tly_rows *r, const tly_rows_segment *g, kir_value carry, kir_value *history,
                   kir_value *range)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_value v[KIR_MAX_CARRIED], y[MAX_UNROLL];
    if (c->plan->scalar) {
        tly_rows_scan_scalar(r, g, carry, history);
        return;
    }
    tly_rows_source in = tly_rows_prepare(r, g);
    chain h = { .range = { range[0], range[1] } };
    for (unsigned k = 0; k < MAX_HISTORY; k++) {
        h.windows[k] = tly_neutral(c, c->vec);
        h.history[k] = k < r->history ? history[k] : 0;
    }
    look_ahead(r, in.first, 1, h.windows, h.ahead);
    kir_value carries = carry ? kir_splat(b, carry, c->lanes) : 0;
    kir_value soon = kir_ptradd(b, g->in, r->ahead), step = imm(c, r->step);

    kir_loop l;
    kir_for(b, &l, imm(c, 0), tly_round_up(c, g->count, r->step), step, chain_pack(r, &h, v), v);
    h = chain_unpack(r, l.carried);
    chain now = h;
    look_ahead(r, tly_rows_next(r, &in, l.i), 0, h.windows, h.ahead);
    for (unsigned k = 0; k < (unsigned)c->plan->unroll; k++)
        h.ahead[k].w = kir_keep(b, h.ahead[k].w);
    for (unsigned k = 0; k < (unsigned)c->plan->unroll; k++)
        y[k] = scan_vector(r, now.ahead[k], h.history, h.range, carries);
    store_step(r, g, l.i, y);
    tly_rows_prefetch(r, soon, l.i);
    chain_pack(r, &h, v);
    kir_for_end(b, &l, v);
    h = chain_unpack(r, l.result);
    for (unsigned k = 0; k < r->history; k++)
        history[k] = h.history[k];
    for (unsigned k = 0; k < tly_range_count(c); k++)
        range[k] = h.range[k];
}
