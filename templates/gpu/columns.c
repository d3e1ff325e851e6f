/*
 * Columns: one invocation goes along one lane, in the plain loop's own order; neighbours take
 * neighbouring lanes, so that what a subgroup reads at once lies together. Also every scan in
 * serial order, and rows that are too short for a team. Lanes that are too few to fill the device
 * are cut into chunks: totals, carries, scans.
 */
#include "gpu.h"

/* Elements on their way at once: memory latency is hidden within each invocation, too. */
static unsigned ahead(const tly_gpu *g)
{
    return (unsigned)g->plan->segments;
}

typedef struct strip {
    const tly_gpu_row *row;
    int storing;
    kir_value watch[2]; /* extremes, where not storing */
    unsigned watched;
} strip;

/* One step of the plain loop, `after` positions behind the one whose result goes to `out`. */
static kir_value step(tly_gpu *g, strip *s, kir_value out, unsigned after, kir_value x,
                      kir_value carry)
{
    tly_build *c = &g->c;
    kir_value next = tly_combine(c, carry, x);
    if (s->storing) {
        int64_t offset;
        kir_value p = tly_gpu_out_near(g, s->row, out, after, &offset);
        tly_gpu_put(g, p, offset, tly_gpu_narrow(g, c->p->exclusive ? carry : next));
    } else if (s->watched > 0) {
        tly_range_track(c, s->watch, next);
    }
    return next;
}

static void take(const strip *s, kir_value carry, kir_value *state)
{
    state[0] = carry;
    for (unsigned k = 0; k < s->watched; k++)
        state[1 + k] = s->watch[k];
}

static kir_value give(strip *s, const kir_value *state)
{
    for (unsigned k = 0; k < s->watched; k++)
        s->watch[k] = state[1 + k];
    return state[0];
}

/* Positions [from, to) by `at_once`; their number is a multiple of it. */
static kir_value run(tly_gpu *g, strip *s, kir_value from, kir_value to, unsigned at_once,
                     kir_value carry)
{
    tly_build *c = &g->c;
    kir_value state[3], x[TLY_GPU_MOST_SEGMENTS];
    kir_loop l;
    take(s, carry, state);
    kir_for(c->b, &l, from, to, word(g, at_once), 1 + s->watched, state);
    carry = give(s, l.carried);
    kir_value in = tly_gpu_in_at(g, s->row, l.i), out = 0;
    for (unsigned i = 0; i < at_once; i++) {
        int64_t offset;
        kir_value p = tly_gpu_in_near(g, s->row, in, i, &offset);
        x[i] = tly_gpu_fetch(g, p, offset);
    }
    if (s->storing)
        out = tly_gpu_out_at(g, s->row, l.i);
    for (unsigned i = 0; i < at_once; i++)
        carry = step(g, s, out, i, tly_gpu_widen(g, x[i]), carry);
    take(s, carry, state);
    kir_for_end(c->b, &l, state);
    return give(s, l.result);
}

/* All of [0, count): whole groups, then the rest one by one. */
static kir_value along(tly_gpu *g, strip *s, kir_value count, kir_value carry)
{
    kir_value whole = kir_bin(g->c.b, KIR_AND, count, word(g, -(int64_t)ahead(g)));
    if (ahead(g) > 1)
        carry = run(g, s, word(g, 0), whole, ahead(g), carry);
    return run(g, s, ahead(g) > 1 ? whole : word(g, 0), count, 1, carry);
}

static void total(tly_gpu *g, const tly_gpu_item *item, const tly_gpu_row *row)
{
    tly_build *c = &g->c;
    kir_value begin = tly_gpu_chunk_begin(g, item->chunk), range[2];
    tly_gpu_row at = tly_gpu_at(g, row, begin);
    strip s = { .row = &at, .watched = tly_range_count(c) };
    tly_range_begin(c, s.watch);
    kir_value all = along(g, &s, tly_gpu_chunk_count(g, begin), tly_neutral(c, c->acc));
    kir_value record = tly_gpu_record_at(g, item->record);
    kir_store(c->b, record, 0, all, c->acc_bytes, 0);
    if (s.watched > 0)
        tly_range_fold(c, s.watch, range);
    tly_gpu_save_range(g, record, range);
}

/* Every chunk of one lane, from left to right. */
static void carries(tly_gpu *g, const tly_gpu_item *item, const tly_gpu_row *row)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value carry = tly_gpu_first_carry(g, item, word(g, 0)), range[2];
    kir_loop l;
    kir_for(b, &l, word(g, 0), kir_get(b, KIR_ARG_GPU_CHUNKS), word(g, 1), 1, &carry);
    kir_value number = add(c, mul(c, l.i, tly_gpu_items(g)), item->index);
    kir_value record = tly_gpu_record_at(g, number);
    kir_value all = kir_load(b, c->acc, record, 0, c->acc_bytes);
    tly_gpu_load_range(g, record, range);
    kir_store(b, record, 0, l.carried[0], c->acc_bytes, 0);
    kir_value next = tly_gpu_after_chunk(g, row, l.i, word(g, 0), all, range, l.carried[0]);
    kir_for_end(b, &l, &next);
    tly_gpu_last_carry(g, item, word(g, 0), l.result[0]);
}

static void scan(tly_gpu *g, const tly_gpu_item *item, const tly_gpu_row *row)
{
    tly_build *c = &g->c;
    strip s = { .row = row, .storing = 1 };
    if (!tly_gpu_has_chunks(g)) {
        kir_value carry = tly_gpu_first_carry(g, item, word(g, 0));
        carry = along(g, &s, kir_get(c->b, KIR_ARG_GPU_LENGTH), carry);
        tly_gpu_last_carry(g, item, word(g, 0), carry);
        return;
    }
    kir_value begin = tly_gpu_chunk_begin(g, item->chunk);
    tly_gpu_row at = tly_gpu_at(g, row, begin);
    s.row = &at;
    kir_value record = tly_gpu_record_at(g, item->record);
    along(g, &s, tly_gpu_chunk_count(g, begin), kir_load(c->b, c->acc, record, 0, c->acc_bytes));
}

void tly_gpu_build_columns(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    int chunks = tly_gpu_has_chunks(g) && pass != TLY_GPU_PASS_CARRIES;
    unsigned workgroup = g->launch->pass[pass].workgroup;
    g->launch->pass[pass].items = chunks ? TLY_ITEMS_CHUNKS : TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = workgroup;
    kir_value number = mul(c, tly_gpu_group(g), word(g, workgroup));
    tly_gpu_item item = tly_gpu_item_of(g, add(c, number, kir_get_id(b, KIR_ID_LOCAL)), chunks);
    kir_branch exists;
    kir_if(b, &exists, item.valid);
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    if (chunks && pass == TLY_GPU_PASS_TOTALS)
        total(g, &item, &row);
    else if (tly_gpu_has_chunks(g) && pass == TLY_GPU_PASS_CARRIES)
        carries(g, &item, &row);
    else
        scan(g, &item, &row);
    kir_if_end(b, &exists, 0, NULL);
}
