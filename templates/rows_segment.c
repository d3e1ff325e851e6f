/*
 * Segments of the rows template: the windowed scan, its scalar variant, and the plain loop
 * for a segment that left the range.
 */
#include "rows.h"

enum { MAX_STEP = 64 }; /* elements of a scalar step */

/* ---- input: vectors of accumulators, where the input lies or staged ---- */

static int64_t element_bytes(const tly_rows *r)
{
    const tly_build *c = r->c;
    return r->direct_in ? (int64_t)c->p->in_step * c->in_bytes : c->acc_bytes;
}

/* Elements before a vector that its window of overlapping loads takes in; unit 1 only. */
static int64_t reach(const tly_rows *r)
{
    return (1 << r->loads) - 1;
}

int64_t tly_rows_input_bytes(const tly_rows *r)
{
    int64_t elements = r->step + r->wide;
    if (!r->direct_in)
        elements += r->block;
    int64_t bytes = elements * (r->direct_in ? 2 * r->c->in_bytes : r->c->acc_bytes);
    return (bytes + 63) / 64 * 64;
}

static kir_value load(tly_rows *r, kir_value p)
{
    tly_build *c = r->c;
    return r->direct_in ? tly_load_vector(c, p) : kir_load(c->b, c->vec, p, 0, c->acc_bytes);
}

/* Where a segment's steps read. */
typedef struct source {
    kir_value first;  /* the first step */
    kir_value base;   /* step i < whole: base + i */
    kir_value last;   /* the last step */
    kir_value whole;
} source;

/* What follows the last whole step goes to scratch, with what its window reaches back to, in the
 * layout it had, and neutral values behind it. */
static void stage_rest(tly_rows *r, const tly_rows_segment *g, kir_value whole)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_type t = tly_storage((tally_dtype)c->p->dtype, 1);
    int64_t size = element_bytes(r), wide = c->t->vector_bytes;
    int64_t lowest = size < 0 ? (r->step - 1) * size : 0, bytes = r->step * (size < 0 ? -size : size);
    for (int64_t i = 0; i < bytes; i += wide)
        kir_store(b, r->input, lowest + i, tly_neutral_stored(c, (unsigned)(wide / c->in_bytes)),
                  c->in_bytes, 0);
    kir_value back = imm(c, -reach(r)), none = sub(c, imm(c, 0), whole);
    kir_loop l;
    kir_for(b, &l, kir_select(b, less(c, back, none), none, back), sub(c, g->count, whole),
            imm(c, 1), 0, NULL);
    kir_value from = tly_at(c, g->in, add(c, whole, l.i), size);
    kir_store(b, tly_at(c, r->input, l.i, size), 0, kir_load(b, t, from, 0, 1), c->in_bytes, 0);
    kir_for_end(b, &l, NULL);
}

static source prepare(tly_rows *r, const tly_rows_segment *g)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    int64_t size = element_bytes(r);
    if (!r->direct_in) {
        tly_stage_in(c, g->in, r->input, g->count, (unsigned)r->step);
        kir_value end = tly_round_up(c, g->count, r->step);
        return (source){ r->input, r->input, tly_at(c, r->input, sub(c, end, imm(c, r->step)), size),
                         end };
    }
    kir_value whole = tly_round_down(c, g->count, r->step);
    kir_branch odd;
    kir_if(b, &odd, less(c, whole, g->count));
    stage_rest(r, g, whole);
    kir_value in[2] = { r->input, kir_select(b, equal(c, whole, imm(c, 0)), r->input, g->in) };
    kir_else(b, &odd, 2, in);
    in[0] = tly_at(c, g->in, sub(c, whole, imm(c, r->step)), size);
    in[1] = g->in;
    kir_if_end(b, &odd, 2, in);
    return (source){ odd.result[1], g->in, odd.result[0], whole };
}

/* Where the step after step `i` reads; the last once more after the last. */
static kir_value next_step(tly_rows *r, const source *in, kir_value i)
{
    tly_build *c = r->c;
    kir_value next = add(c, i, imm(c, r->step));
    return kir_select(c->b, less(c, next, in->whole), tly_at(c, in->base, next, element_bytes(r)),
                      in->last);
}

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
    kir_value x[4];
    if (r->pairs)
        return load_pairs(r, p);
    for (int64_t k = 0; k <= reach(r); k++)
        x[k] = load(r, kir_ptradd(c->b, p, imm(c, -k * element_bytes(r))));
    return window_of(r, x);
}

/* The same where nothing comes before the vector. */
static window load_first(tly_rows *r, kir_value p)
{
    tly_build *c = r->c;
    if (r->pairs)
        return load_pairs(r, p);
    kir_value x[4] = { load(r, p) };
    for (unsigned k = 1; k <= (unsigned)reach(r); k++)
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
        kir_value at = kir_ptradd(c->b, p, imm(c, k * r->wide * element_bytes(r)));
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

/* The lines that the step's input takes, `ahead` of it. */
static void prefetch_step(tly_rows *r, kir_value soon, kir_value i)
{
    tly_build *c = r->c;
    int64_t step = c->p->in_step == TLY_ANY_STEP ? 0 : c->p->in_step * r->step * c->in_bytes;
    int64_t lines = (step < 0 ? -step : step) / 64;
    kir_value p = kir_ptradd(c->b, soon, mul(c, i, tly_in_step(c)));
    for (int64_t k = 0; k == 0 || k < lines; k++)
        kir_prefetch(c->b, p, step < 0 ? -64 * k : 64 * k);
}

/* Element k of a step, as an accumulator. */
static kir_value load_scalar(tly_rows *r, kir_value p, unsigned k)
{
    tly_build *c = r->c;
    p = kir_ptradd(c->b, p, imm(c, k * element_bytes(r)));
    return r->direct_in ? tly_load(c, p, 0, 1) : kir_load(c->b, c->acc, p, 0, c->acc_bytes);
}

static void store_scalars(tly_rows *r, kir_value to, const kir_value *y, unsigned flags)
{
    for (unsigned k = 0; k < (unsigned)r->step; k++)
        tly_store(r->c, to, k * tly_stored_step(r->c), y[k], r->c->out_bytes, flags);
}

/* What tly_rows_scan does, for operators whose vector form is slow and whose order is free (64-bit
 * integer products below AVX-512): one scalar chain that advances by the product of two elements.
 * Three multiplications for two, of which one waits for the one before: 1.5 cycles an element where
 * the plain chain takes 3. It goes through the true prefixes: the carry comes in at once. */
static void scan_scalar(tly_rows *r, const tly_rows_segment *g, kir_value carry, kir_value *history)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    unsigned step = (unsigned)r->step;
    source in = prepare(r, g);
    kir_value soon = kir_ptradd(b, g->in, r->ahead), y = tly_last(c, history[0]), zero = imm(c, 0);
    kir_value end = tly_round_up(c, g->count, step), rest = less(c, in.whole, end);
    kir_value staged = tly_at(c, in.last, sub(c, zero, in.whole), element_bytes(r));
    kir_value x[MAX_STEP], v[MAX_STEP + 1];
    v[0] = carry ? tly_combine(c, carry, y) : y;
    kir_loop part, l; /* whole steps, and the last: no choice of address within the loop */
    kir_for(b, &part, zero, kir_select(b, rest, imm(c, 2), imm(c, 1)), imm(c, 1), 1, v);
    kir_value is_first = equal(c, part.i, zero);
    kir_value from = kir_select(b, is_first, in.base, staged);
    kir_for(b, &l, kir_select(b, is_first, zero, in.whole), kir_select(b, is_first, in.whole, end),
            imm(c, step), 1, part.carried);
    v[0] = l.carried[0];
    for (unsigned k = 0; k < step; k++)
        x[k] = load_scalar(r, tly_at(c, from, l.i, element_bytes(r)), k);
    for (unsigned k = 0; k < step; k += 2) {
        kir_value pair = kir_keep(b, tly_combine(c, x[k], x[k + 1])); /* else LLVM undoes it */
        v[k + 2] = tly_combine(c, v[k], pair);
        v[k + 1] = tly_combine(c, v[k], x[k]);
    }
    const kir_value *shown = c->p->exclusive ? v : v + 1;
    kir_value to = tly_stored_at(c, g->to, l.i);
    kir_branch way;
    if (g->lines) {
        kir_if(b, &way, g->lines);
        store_scalars(r, to, shown, KIR_STREAM);
        kir_else(b, &way, 0, NULL);
    }
    store_scalars(r, to, shown, 0);
    if (g->lines)
        kir_if_end(b, &way, 0, NULL);
    prefetch_step(r, soon, l.i);
    kir_for_end(b, &l, &v[step]);
    kir_for_end(b, &part, l.result);
    for (unsigned k = 0; k < r->history; k++)
        history[k] = kir_splat(b, part.result[0], c->lanes);
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
 * brought up to date. While a step is scanned and stored, the windows of the next are made: the
 * way from load to store is long, and so only half of it lies in one turn of the loop (bf16, 64
 * KiB: .. us for 6.5). Loads before stores matter too: where input and output agree modulo 4096, a
 * load right behind a store would wait for it (0.45 for 1.03 of a copy). The last step loads its
 * own input once more, in vain: any other could have to wait. */
void tly_rows_scan(tly_rows *r, const tly_rows_segment *g, kir_value carry, kir_value *history,
                   kir_value *range)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_value v[KIR_MAX_CARRIED], y[MAX_UNROLL];
    if (c->plan->scalar) {
        scan_scalar(r, g, carry, history);
        return;
    }
    source in = prepare(r, g);
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
    look_ahead(r, next_step(r, &in, l.i), 0, h.windows, h.ahead);
    for (unsigned k = 0; k < (unsigned)c->plan->unroll; k++)
        h.ahead[k].w = kir_keep(b, h.ahead[k].w);
    for (unsigned k = 0; k < (unsigned)c->plan->unroll; k++)
        y[k] = scan_vector(r, now.ahead[k], h.history, h.range, carries);
    store_step(r, g, l.i, y);
    prefetch_step(r, soon, l.i);
    chain_pack(r, &h, v);
    kir_for_end(b, &l, v);
    h = chain_unpack(r, l.result);
    for (unsigned k = 0; k < r->history; k++)
        history[k] = h.history[k];
    for (unsigned k = 0; k < tly_range_count(c); k++)
        range[k] = h.range[k];
}

static kir_value input_at(tly_rows *r, const tly_rows_segment *g, kir_value i)
{
    tly_build *c = r->c;
    return tly_load(c, kir_ptradd(c->b, g->in, mul(c, i, tly_in_step(c))), 0, 1);
}

/* unit 1: one chain in a register. */
static kir_value serial_chain(tly_rows *r, const tly_rows_segment *g, kir_value y)
{
    tly_build *c = r->c;
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), g->count, imm(c, 1), 1, &y);
    y = tly_combine(c, l.carried[0], input_at(r, g, l.i));
    tly_store(c, tly_stored_at(c, g->buffer, l.i), 0, c->p->exclusive ? l.carried[0] : y,
              c->out_bytes, 0);
    kir_for_end(c->b, &l, &y);
    return l.result[0];
}

/* The plain loop over a segment, from the true prefixes in `history`. It reads the input again,
 * which nothing has overwritten yet, in place either. */
void tly_rows_serial(tly_rows *r, const tly_rows_segment *g, kir_value *history)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    if (r->unit == 1) {
        history[0] = kir_splat(b, serial_chain(r, g, tly_last(c, history[0])), c->lanes);
        return;
    }
    int64_t bytes = c->acc_bytes, lanes = c->lanes, before = (int64_t)r->history * lanes;
    for (unsigned k = 0; k < r->history; k++)
        kir_store(b, r->work, (before - (k + 1) * lanes) * bytes, history[k], c->acc_bytes, 0);
    kir_loop l;
    kir_for(b, &l, imm(c, 0), g->count, imm(c, 1), 0, NULL);
    kir_value at = tly_at(c, r->work, l.i, bytes);
    kir_value last = kir_load(b, c->acc, at, (before - (int64_t)r->unit) * bytes, c->acc_bytes);
    kir_value y = tly_combine(c, last, input_at(r, g, l.i));
    kir_store(b, at, before * bytes, y, c->acc_bytes, 0);
    tly_store(c, tly_stored_at(c, g->buffer, l.i), 0, c->p->exclusive ? last : y, c->out_bytes, 0);
    kir_for_end(b, &l, NULL);
    kir_value end = tly_at(c, r->work, g->count, bytes);
    for (unsigned k = 0; k < r->history; k++)
        history[k] = kir_load(b, c->vec, end, (before - (k + 1) * lanes) * bytes, c->acc_bytes);
}
