/*
 * Segments of the rows template: the windowed scan, its variant in
 * scalar pairs, and the plain loop for a segment that left the range.
 */
#include "rows.h"

enum { MAX_STEP = 64 }; /* elements of a step in scalar pairs */

/* ---- one vector ---- */

/* x[k]: the elements k units before each lane. */
static kir_value window_of(tly_rows *r, kir_value *x)
{
    for (unsigned n = 1u << r->loads; n > 1; n /= 2)
        for (unsigned k = 0; k < n / 2; k++)
            x[k] = tly_combine(r->c, x[2 * k + 1], x[2 * k]);
    return x[0];
}

/* The window that ends at each lane of the vector at `p`, from overlapping loads alone. */
static kir_value load_window(tly_rows *r, kir_value p)
{
    tly_build *c = r->c;
    kir_value x[4];
    for (unsigned k = 0; k < 1u << r->loads; k++)
        x[k] = kir_load(c->b, c->vec, p, -(int64_t)k * r->unit * c->acc_bytes, c->acc_bytes);
    return window_of(r, x);
}

/* w: the vector's loaded window; windows: the previous vector's, one a doubling by shuffle. */
static kir_value scan_vector(tly_rows *r, kir_value w, kir_value *windows, kir_value *history)
{
    tly_build *c = r->c;
    for (unsigned d = r->loads; d < r->doublings; d++) {
        kir_value *before = &windows[d - r->loads];
        kir_value wider = tly_combine(c, tly_shift(c, *before, w, r->unit << d), w);
        *before = w;
        w = wider;
    }
    /* y of `shift` elements before: the oldest vectors of the history. */
    unsigned last = r->history - 1, over = r->history * c->lanes - r->shift;
    kir_value back = history[last];
    if (over > 0) /* then it spans two */
        back = tly_shift(c, history[last], history[last - 1], c->lanes - over);
    kir_value y = tly_combine(c, back, w);
    for (unsigned k = last; k > 0; k--)
        history[k] = history[k - 1];
    history[0] = y;
    return y;
}

/* ---- one segment: a row's part in this block ---- */

kir_value tly_rows_whole(tly_rows *r, kir_value count)
{
    return equal(r->c, kir_bin(r->c->b, KIR_AND, count, imm(r->c, r->step - 1)), imm(r->c, 0));
}

/* What tly_rows_scan does, for operators whose vector form is slow and whose order is free (64-bit
 * integer products below AVX-512): one scalar chain that advances by the product of two elements.
 * Three multiplications for two, of which one waits for the one before: 1.5 cycles an element where
 * the plain chain takes 3. It goes through the true prefixes: the carry comes in at once. */
static void scan_pairs(tly_rows *r, const tly_rows_segment *g, kir_value carry, kir_value *history)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    unsigned step = (unsigned)r->step;
    kir_value from = g->staged, y = tly_last(c, history[0]), x[MAX_STEP], v[MAX_STEP];
    if (r->direct_in)
        from = kir_select(b, tly_rows_whole(r, g->count), g->in, from);
    if (carry)
        y = tly_combine(c, carry, y);
    kir_loop l;
    kir_for(b, &l, imm(c, 0), tly_round_up(c, g->count, step), imm(c, step), 1, &y);
    y = l.carried[0];
    from = tly_at(c, from, l.i, c->acc_bytes);
    for (unsigned k = 0; k < step; k++)
        x[k] = kir_load(b, c->acc, from, k * c->acc_bytes, c->acc_bytes);
    for (unsigned k = 0; k < step; k += 2) {
        kir_value pair = kir_keep(b, tly_combine(c, x[k], x[k + 1])); /* else LLVM undoes it */
        v[k] = tly_combine(c, y, x[k]);
        v[k + 1] = y = tly_combine(c, y, pair);
    }
    kir_branch way;
    if (g->lines) {
        kir_if(b, &way, g->lines);
        kir_value lined = tly_at(c, g->out, l.i, c->acc_bytes);
        for (unsigned k = 0; k < step; k++)
            kir_store(b, lined, k * c->acc_bytes, v[k], c->acc_bytes, KIR_STREAM);
        kir_else(b, &way, 0, NULL);
    }
    kir_value plain = tly_at(c, g->plain, l.i, c->acc_bytes);
    for (unsigned k = 0; k < step; k++)
        kir_store(b, plain, k * c->acc_bytes, v[k], 1, 0);
    if (g->lines)
        kir_if_end(b, &way, 0, NULL);
    kir_prefetch(b, kir_ptradd(b, g->in, add(c, mul(c, l.i, tly_in_step(c)), r->ahead)), 0);
    kir_for_end(b, &l, &y);
    for (unsigned k = 0; k < r->history; k++)
        history[k] = kir_splat(b, l.result[0], c->lanes);
}

/* Where step `i` reads: consecutive accumulators in memory themselves, except the first steps, if
 * their windows reach before the segment, and the last if it is not whole. */
static kir_value step_input(tly_rows *r, const tly_rows_segment *g, kir_value i, kir_value inner)
{
    tly_build *c = r->c;
    kir_value staged = tly_at(c, g->staged, i, c->acc_bytes);
    if (!r->direct_in)
        return staged;
    kir_value is_inner = kir_cmp(c->b, KIR_ULT, sub(c, i, imm(c, r->head)), inner);
    return kir_select(c->b, is_inner, tly_at(c, g->in, i, c->acc_bytes), staged);
}

static void load_step(tly_rows *r, const tly_rows_segment *g, kir_value i, kir_value inner,
                      kir_value *w)
{
    tly_build *c = r->c;
    kir_value p = step_input(r, g, i, inner);
    for (unsigned k = 0; k < (unsigned)c->plan->unroll; k++) {
        kir_value at = imm(c, (int64_t)k * c->lanes * c->acc_bytes);
        w[k] = load_window(r, kir_ptradd(c->b, p, at));
    }
}

/* The first step's windows. What lies before the segment is neutral: the padding of what is staged,
 * or shifted in where the segment is read from memory. */
static void load_first(tly_rows *r, const tly_rows_segment *g, kir_value *w)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    if (!r->direct_in || r->head > r->step) {
        load_step(r, g, imm(c, 0), imm(c, 0), w);
        return;
    }
    kir_value none = tly_neutral(c, c->vec), x[4];
    kir_value p = kir_select(b, less(c, g->count, imm(c, r->step)), g->staged, g->in);
    kir_value first = kir_load(b, c->vec, p, 0, c->acc_bytes);
    for (int64_t k = 0; k < c->plan->unroll; k++) {
        for (unsigned n = 0; n < 1u << r->loads; n++) {
            int64_t before = (int64_t)n * r->unit - k * c->lanes; /* lanes before the segment */
            if (before <= 0)
                x[n] = kir_load(b, c->vec, p, -before * c->acc_bytes, c->acc_bytes);
            else
                x[n] = before < c->lanes ? tly_shift(c, none, first, (unsigned)before) : none;
        }
        w[k] = window_of(r, x);
    }
}

/* Results of a step: plainly, or to whole lines of output past the cache. */
static void step_output(tly_rows *r, const tly_rows_segment *g, kir_value i, const kir_value *y)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    int64_t bytes = (int64_t)c->lanes * c->acc_bytes;
    unsigned n = (unsigned)c->plan->unroll;
    kir_branch way;
    if (g->lines) {
        kir_value to = tly_at(c, g->out, i, c->acc_bytes);
        kir_if(b, &way, g->lines);
        for (unsigned k = 0; k < n; k++)
            kir_store(b, to, (int64_t)k * bytes, y[k], (unsigned)bytes, KIR_STREAM);
        kir_else(b, &way, 0, NULL);
    }
    kir_value to = tly_at(c, g->plain, i, c->acc_bytes);
    for (unsigned k = 0; k < n; k++)
        kir_store(b, to, (int64_t)k * bytes, y[k], 1, 0);
    if (g->lines)
        kir_if_end(b, &way, 0, NULL);
}

/* Scans a segment; results are carry + y (y where there is no carry). history and range are
 * brought up to date. The next step is loaded before this one's results are stored: where input
 * and output agree modulo 4096, a load right behind a store would wait for it (0.45 for 1.03 of a
 * copy). The last step loads its own input once more, in vain: any other could have to wait. */
void tly_rows_scan(tly_rows *r, const tly_rows_segment *g, kir_value carry, kir_value *history,
                   kir_value *range)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    unsigned windows = r->doublings - r->loads, ranges = tly_range_count(c), n = 0;
    unsigned unroll = (unsigned)c->plan->unroll;
    kir_value v[KIR_MAX_CARRIED], y[8];
    if (c->plan->pairs) {
        scan_pairs(r, g, carry, history);
        return;
    }
    for (unsigned k = 0; k < windows; k++)
        v[n++] = tly_neutral(c, c->vec);
    for (unsigned k = 0; k < r->history; k++)
        v[n++] = history[k];
    for (unsigned k = 0; k < ranges; k++)
        v[n++] = range[k];
    kir_value carries = carry ? kir_splat(b, carry, c->lanes) : 0;
    kir_value last = sub(c, g->count, imm(c, r->head + r->step - 1)), zero = imm(c, 0);
    kir_value inner = kir_select(b, less(c, zero, last), last, zero);
    load_first(r, g, v + n);
    kir_value end = tly_round_up(c, g->count, r->step), step = imm(c, r->step);

    kir_loop l;
    kir_for(b, &l, zero, end, step, n + unroll, v);
    for (unsigned k = 0; k < n + unroll; k++)
        v[k] = l.carried[k];
    load_step(r, g, tly_min(c, add(c, l.i, step), sub(c, end, step)), inner, v + n);
    for (unsigned k = 0; k < unroll; k++) {
        y[k] = scan_vector(r, l.carried[n + k], v, v + windows);
        tly_range_track(c, v + windows + r->history, y[k]);
    }
    for (unsigned k = 0; carry && k < unroll; k++)
        y[k] = tly_combine(c, carries, y[k]);
    step_output(r, g, l.i, y);
    kir_prefetch(b, kir_ptradd(b, g->in, add(c, mul(c, l.i, tly_in_step(c)), r->ahead)), 0);
    kir_for_end(b, &l, v);
    for (unsigned k = 0; k < r->history; k++)
        history[k] = l.result[windows + k];
    for (unsigned k = 0; k < ranges; k++)
        range[k] = l.result[windows + r->history + k];
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
    kir_store(c->b, tly_at(c, g->buffer, l.i, c->acc_bytes), 0, y, c->acc_bytes, 0);
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
    kir_value y = kir_load(b, c->acc, at, (before - (int64_t)r->unit) * bytes, c->acc_bytes);
    y = tly_combine(c, y, input_at(r, g, l.i));
    kir_store(b, at, before * bytes, y, c->acc_bytes, 0);
    kir_store(b, tly_at(c, g->buffer, l.i, bytes), 0, y, c->acc_bytes, 0);
    kir_for_end(b, &l, NULL);
    kir_value end = tly_at(c, r->work, g->count, bytes);
    for (unsigned k = 0; k < r->history; k++)
        history[k] = kir_load(b, c->vec, end, (before - (k + 1) * lanes) * bytes, c->acc_bytes);
}
