/*
 * Blocks of the rows template: their segments, and where a scan stands between them.
 */
#include "rows.h"

/* Lists the values of a state in their order. */
static unsigned state_values(const tly_rows *r, tly_rows_state *s, kir_value **at)
{
    unsigned n = 0;
    for (unsigned k = 0; k < r->history; k++)
        at[n++] = &s->last[k];
    if (r->totals) {
        at[n++] = &s->base;
        at[n++] = &s->total;
        at[n++] = &s->spoiled;
    }
    return n;
}

unsigned tly_rows_state_count(const tly_rows *r)
{
    return r->history + (r->totals ? 3 : 0);
}

void tly_rows_pack(const tly_rows *r, const tly_rows_state *s, kir_value *v)
{
    tly_rows_state copy = *s;
    kir_value *at[MAX_STATE];
    unsigned n = state_values(r, &copy, at);
    for (unsigned k = 0; k < n; k++)
        v[k] = *at[k];
}

tly_rows_state tly_rows_unpack(const tly_rows *r, const kir_value *v)
{
    tly_rows_state s = { 0 };
    kir_value *at[MAX_STATE];
    unsigned n = state_values(r, &s, at);
    for (unsigned k = 0; k < n; k++)
        *at[k] = v[k];
    return s;
}

kir_value tly_rows_prefix(tly_rows *r, const tly_rows_state *s)
{
    return tly_last(r->c, s->last[0]);
}

static tly_rows_segment segment_of(tly_rows *r, const tly_rows_block *k, kir_value number)
{
    tly_build *c = r->c;
    kir_value first = imm(c, 0), element = k->position;
    if (c->p->dense) { /* only dense rows are staged several at a time */
        first = mul(c, number, r->length);
        element = add(c, element, first);
    }
    kir_value to = tly_stored_at(c, r->buffer, add(c, k->buffered, first));
    if (k->direct)
        to = kir_select(c->b, k->direct, tly_stored_at(c, k->out, first), to);
    return (tly_rows_segment){
        .in = kir_ptradd(c->b, k->in, mul(c, element, tly_in_step(c))),
        .to = to,
        .lines = k->lines,
        .leaves = k->leaves,
        .stream = k->stream,
        .count = k->count,
    };
}

/* Several rows are whole ones: each starts as the block does. */
void tly_rows_compute(tly_rows *r, const tly_rows_block *k, tly_rows_state *s)
{
    tly_build *c = r->c;
    if (!c->p->dense) {
        tly_rows_segment only = segment_of(r, k, 0);
        tly_rows_scan(r, &only, s);
        return;
    }
    kir_value v[MAX_STATE];
    tly_rows_pack(r, s, v);
    kir_loop l;
    kir_for(c->b, &l, imm(c, 0), k->rows, imm(c, 1), tly_rows_state_count(r), v);
    tly_rows_state now = *s;
    tly_rows_segment segment = segment_of(r, k, l.i);
    tly_rows_scan(r, &segment, &now);
    tly_rows_pack(r, &now, v);
    kir_for_end(c->b, &l, v);
    *s = tly_rows_unpack(r, l.result);
}
