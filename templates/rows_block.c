/*
 * Blocks of the rows template: the scan of their segments, with its guard and second try.
 */
#include "rows.h"

/* ---- where a block stands ---- */

unsigned tly_rows_state_count(const tly_rows *r)
{
    return r->unit == 1 ? 2 : r->history;
}

void tly_rows_pack(const tly_rows *r, const tly_rows_state *s, kir_value *v)
{
    if (r->unit == 1) {
        v[0] = s->carry;
        v[1] = s->local;
    } else {
        for (unsigned k = 0; k < r->history; k++)
            v[k] = s->history[k];
    }
}

tly_rows_state tly_rows_unpack(const tly_rows *r, const kir_value *v)
{
    tly_rows_state s = { 0 };
    if (r->unit == 1) {
        s.carry = v[0];
        s.local = v[1];
    } else {
        for (unsigned k = 0; k < r->history; k++)
            s.history[k] = v[k];
    }
    return s;
}

void tly_rows_history(tly_rows *r, const tly_rows_state *s, kir_value local, kir_value *history)
{
    for (unsigned k = 0; k < r->history; k++)
        history[k] = r->unit == 1 ? kir_splat(r->c->b, local, r->c->lanes) : s->history[k];
}

kir_value tly_rows_prefix(tly_rows *r, const tly_rows_state *s)
{
    return tly_combine(r->c, s->carry, s->local);
}

/* ---- one block: `rows` segments of `count` elements ---- */

static kir_value segment_in(tly_rows *r, const tly_rows_block *k, kir_value segment)
{
    tly_build *c = r->c;
    kir_value element = k->position;
    if (c->p->dense) /* only dense rows are staged several at a time */
        element = add(c, element, mul(c, segment, r->length));
    return kir_ptradd(c->b, k->in, mul(c, element, tly_in_step(c)));
}

/* Segments [from, to) of a block, all from the same state (several rows start alike). */
typedef struct span {
    kir_value from, to;
} span;

static tly_rows_segment segment_of(tly_rows *r, const tly_rows_block *k, kir_value number)
{
    tly_build *c = r->c;
    kir_value first = imm(c, 0);
    if (c->p->dense)
        first = mul(c, number, r->length);
    kir_value buffer = tly_stored_at(c, r->buffer, add(c, k->buffered, first)), to = buffer;
    if (k->direct)
        to = kir_select(c->b, k->direct, tly_stored_at(c, k->out, first), buffer);
    return (tly_rows_segment){
        .in = segment_in(r, k, number), .buffer = buffer, .to = to, .lines = k->lines,
        .count = k->count,
    };
}

/* Brings history and range up to date. */
static void scan_span(tly_rows *r, const tly_rows_block *k, const tly_rows_state *s,
                      const span *p, kir_value *history, kir_value *range)
{
    tly_build *c = r->c;
    unsigned ranges = tly_range_count(c), n = r->history;
    kir_value v[KIR_MAX_CARRIED];
    for (unsigned i = 0; i < n; i++)
        v[i] = history[i];
    for (unsigned i = 0; i < ranges; i++)
        v[n + i] = range[i];
    kir_loop l;
    kir_for(c->b, &l, p->from, p->to, imm(c, 1), n + ranges, v);
    tly_rows_history(r, s, s->local, v);
    for (unsigned i = 0; i < ranges; i++)
        v[n + i] = l.carried[n + i];
    tly_rows_segment segment = segment_of(r, k, l.i);
    tly_rows_scan(r, &segment, r->unit == 1 ? s->carry : 0, v, v + n);
    kir_for_end(c->b, &l, v);
    for (unsigned i = 0; i < n; i++)
        history[i] = l.result[i];
    for (unsigned i = 0; i < ranges; i++)
        range[i] = l.result[n + i];
}

/* One segment by the plain loop. */
static void serial_span(tly_rows *r, const tly_rows_block *k, const tly_rows_state *s,
                        const span *p, kir_value *history)
{
    tly_rows_history(r, s, r->unit == 1 ? tly_rows_prefix(r, s) : 0, history);
    tly_rows_segment segment = segment_of(r, k, p->from);
    tly_rows_serial(r, &segment, history);
}

/* unit > 1: windows start anew with the next block, so that every lane of the history must hold
 * the newest prefix of its class: the element `back` before the block, 1 <= back <= unit. */
static void newest_of_class(tly_rows *r, const kir_value *history, kir_value *newest)
{
    tly_build *c = r->c;
    unsigned n = c->lanes;
    for (unsigned k = 0; k < r->history; k++) {
        uint8_t index[64];
        kir_value v = history[0];
        for (unsigned i = 0; i < n; i++) {
            unsigned back = ((k + 1) * n - i - 1) % r->unit + 1;
            index[i] = (uint8_t)(2 * n - back);
            if (r->unit > 2 * n)
                v = kir_insert(c->b, v, kir_extract(c->b, history[(back - 1) / n],
                                                    n - 1 - (back - 1) % n), i);
        }
        newest[k] = r->unit > 2 * n
            ? v : kir_shuffle(c->b, history[r->history > 1], history[0], index, n);
    }
}

/* A row's last block may be padded, which moves classes to other lanes; but then no block
 * follows. */
static void next_state(tly_rows *r, tly_rows_state *s, const kir_value *history)
{
    if (r->unit == 1)
        s->local = tly_last(r->c, history[0]);
    if (r->c->plan->scalar) /* goes through the true prefixes */
        s->carry = tly_neutral(r->c, r->c->acc);
    if (r->unit > 1)
        newest_of_class(r, history, s->history);
}

/* Where a span left off. */
typedef struct verdict {
    tly_rows_state state;
    kir_value good; /* i1: the vector scan stands */
} verdict;

/* Scan, guard, and, for one segment that failed, the serial second try. Where only the total is
 * wanted (i1 `totals`, or 0), extremes gather and nothing is done again. */
static verdict compute_span(tly_rows *r, const tly_rows_block *k, const tly_rows_state *s,
                            const span *p, kir_value totals, kir_value *extremes)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    kir_value history[MAX_HISTORY], range[2] = { 0 }, here[2] = { 0 }, v[MAX_HISTORY];
    verdict result = { *s, kir_const(b, KIR_TYPE(KIR_I1, 1), 1) };
    tly_rows_history(r, s, s->local, history);
    tly_range_begin(c, range);
    if (r->unit > 1)
        for (unsigned i = 0; i < r->history; i++)
            tly_range_track(c, range, history[i]);
    scan_span(r, k, s, p, history, range);
    next_state(r, &result.state, history);
    if (tly_range_count(c) == 0)
        return result;
    tly_range_fold(c, range, here);
    result.good = r->unit == 1 ? tly_range_good(c, here, s->carry)
                               : tly_range_good_chain(c, here);
    if (totals) {
        tly_range_merge(c, extremes, here);
        result.good = kir_bin(b, KIR_OR, result.good, totals);
    }
    kir_value several = less(c, imm(c, 1), sub(c, p->to, p->from));
    kir_branch redo;
    kir_if(b, &redo, c->p->dense ? kir_bin(b, KIR_OR, result.good, several) : result.good);
    tly_rows_pack(r, &result.state, v);
    kir_else(b, &redo, tly_rows_state_count(r), v);
    tly_rows_state again = *s;
    serial_span(r, k, s, p, history);
    next_state(r, &again, history);
    if (r->unit == 1) {
        again.carry = again.local;
        again.local = tly_neutral(c, c->acc);
    }
    tly_rows_pack(r, &again, v);
    kir_if_end(b, &redo, tly_rows_state_count(r), v);
    result.state = tly_rows_unpack(r, redo.result);
    return result;
}

/* All segments at once; where that fails, each on its own again, in order, since a segment's last
 * vector spills into the next: how a row is combined must not depend on the rows that happen to
 * be staged with it. */
kir_value tly_rows_compute(tly_rows *r, const tly_rows_block *k, tly_rows_state *s,
                           kir_value totals, kir_value *extremes)
{
    tly_build *c = r->c;
    kir_builder *b = c->b;
    unsigned n = tly_rows_state_count(r), ranges = totals ? tly_range_count(c) : 0;
    kir_value zero = imm(c, 0), one = imm(c, 1), v[MAX_HISTORY + 3];
    if (!c->p->dense || tly_range_count(c) == 0) {
        span all = { zero, k->rows };
        verdict whole = compute_span(r, k, s, &all, totals, extremes);
        *s = whole.state;
        return whole.good;
    }
    /* try 0 is everything, try t segment t - 1; what is carried first: try 0 was good */
    kir_value tries = kir_select(b, less(c, one, k->rows), add(c, k->rows, one), one);
    v[0] = zero;
    for (unsigned i = 0; i < ranges; i++)
        v[1 + i] = extremes[i];
    tly_rows_pack(r, s, v + 1 + ranges);
    kir_loop l;
    kir_for(b, &l, zero, tries, one, 1 + ranges + n, v);
    kir_branch go;
    kir_if(b, &go, equal(c, l.carried[0], zero));
    kir_value is_first = equal(c, l.i, zero);
    span p = { kir_select(b, is_first, zero, sub(c, l.i, one)),
               kir_select(b, is_first, k->rows, l.i) };
    kir_value gathered[2] = { l.carried[1], l.carried[2] };
    tly_rows_block again = *k; /* where some rows are serial, all go by the buffer */
    if (k->direct) {
        again.direct = kir_bin(b, KIR_AND, k->direct, is_first);
        again.lines = kir_bin(b, KIR_AND, k->lines, is_first);
    }
    verdict got = compute_span(r, &again, s, &p, totals, gathered);
    v[0] = kir_select(b, kir_bin(b, KIR_AND, is_first, got.good), one, zero);
    for (unsigned i = 0; i < ranges; i++)
        v[1 + i] = gathered[i];
    tly_rows_pack(r, &got.state, v + 1 + ranges);
    kir_else(b, &go, 1 + ranges + n, v);
    kir_if_end(b, &go, 1 + ranges + n, l.carried);
    kir_for_end(b, &l, go.result);
    for (unsigned i = 0; i < ranges; i++)
        extremes[i] = l.result[1 + i];
    *s = tly_rows_unpack(r, l.result + 1 + ranges);
    return kir_cmp(b, KIR_NE, l.result[0], zero);
}
