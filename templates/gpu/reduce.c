/*
 * Reductions: outputs side by side, an invocation each, or an output by a team. Outputs that are too
 * few to fill the device, and those of more elements than one loop takes, are cut: first every
 * chunk's state, then what the states of an output come to, in a fixed tree.
 */
#include "reduce.h"

/* ---- records ---- */

/* Parts one after the other; their kinds are those of the neutral state. */
static void save(tly_gpu_reduce *r, kir_value p, kir_value state)
{
    kir_builder *b = r->g->c.b;
    int64_t at = 0;
    for (unsigned i = 0; i < kir_parts(b, state); i++) {
        kir_value v = kir_part(b, state, i);
        kir_store(b, p, at, v, 4, 0);
        at += kir_kind_bits((kir_kind)kir_type_of(b, v).kind) / 8;
    }
}

static kir_value load(tly_gpu_reduce *r, kir_value p, kir_value like)
{
    kir_builder *b = r->g->c.b;
    kir_value v[KIR_MAX_PARTS];
    unsigned parts = kir_parts(b, like);
    int64_t at = 0;
    for (unsigned i = 0; i < parts; i++) {
        kir_type t = kir_type_of(b, kir_part(b, like, i));
        v[i] = kir_load(b, t, p, at, 4);
        at += kir_kind_bits((kir_kind)t.kind) / 8;
    }
    return kir_tuple(b, parts, v);
}

static kir_value record_at(tly_gpu_reduce *r, kir_value number)
{
    tly_gpu *g = r->g;
    kir_value bytes = tly_gpu_offset(g, g->launch->record_bytes);
    kir_value at = mul(&g->c, tly_gpu_widened(g, number), bytes);
    at = add(&g->c, at, tly_gpu_offset(g, g->launch->header_bytes));
    return kir_ptradd(g->c.b, kir_get(g->c.b, KIR_ARG_SCRATCH), at);
}

/* An output's records [from, chunks) by `stride`: those of a chunk lie side by side. */
static kir_value combine_records(tly_gpu_reduce *r, const tly_gpu_item *item, kir_value from,
                                 unsigned stride)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    const tly_gpu_rules *rules = tly_gpu_reduce_records(r);
    kir_value state = rules->neutral(c), items = tly_gpu_items(g);
    kir_loop l;
    kir_for(b, &l, from, kir_get(b, KIR_ARG_CHUNKS), word(g, stride), 1, &state);
    kir_value p = record_at(r, add(c, mul(c, l.i, items), item->index));
    state = rules->combine(c, l.carried[0], load(r, p, l.carried[0]));
    kir_for_end(b, &l, &state);
    return l.result[0];
}

/* ---- kernels ---- */

static int makes_records(const tly_gpu *g, unsigned pass)
{
    return tly_gpu_has_chunks(g) && pass == 0;
}

/* `team`: NULL for one invocation. */
static void do_item(tly_gpu_reduce *r, const tly_gpu_item *item, tly_team *team, int records)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    tly_gpu_row row = tly_gpu_row_of(g, item);
    tly_gpu_span all = tly_gpu_span_all(r, &row);
    kir_value state;
    if (records) {
        tly_gpu_span s = tly_gpu_span_chunk(r, &row, item->chunk);
        state = tly_gpu_reduce_span(r, &s, team);
    } else if (!tly_gpu_has_chunks(g)) {
        state = tly_gpu_reduce_span(r, &all, team);
    } else if (team != NULL) {
        state = combine_records(r, item, tly_gpu_team_member(r, team), tly_gpu_team_size(team));
        state = tly_gpu_reduce_fold(r, team, tly_gpu_reduce_records(r), state);
    } else {
        state = combine_records(r, item, word(g, 0), 1);
    }
    kir_branch leads;
    if (team != NULL)
        kir_if(b, &leads, tly_team_leads(g, team));
    if (records)
        save(r, record_at(r, item->record), state);
    else
        tly_gpu_reduce_store(r, row.out, tly_gpu_reduce_judge(r, &all, state));
    if (team != NULL)
        kir_if_end(b, &leads, 0, NULL);
}

static void build(tly_gpu *g, unsigned pass, tly_team *team, unsigned items, kir_value member)
{
    tly_build *c = &g->c;
    int records = makes_records(g, pass);
    kir_branch exists;
    g->launch->pass[pass].items = records ? TLY_ITEMS_CHUNKS : TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = items;
    kir_value number = add(c, mul(c, tly_gpu_group(g), word(g, items)), member);
    tly_gpu_item item = tly_gpu_item_of(g, number, records);
    tly_gpu_reduce r = tly_gpu_reduce_begin(g, team != NULL || tly_gpu_has_chunks(g));
    kir_if(c->b, &exists, item.valid);
    do_item(&r, &item, team, records);
    kir_if_end(c->b, &exists, 0, NULL);
}

void tly_gpu_build_reduce_lanes(tly_gpu *g, unsigned pass)
{
    kir_value local = kir_get_id(g->c.b, KIR_ID_LOCAL);
    build(g, pass, NULL, g->launch->pass[pass].workgroup, local);
}

void tly_gpu_build_reduce_rows(tly_gpu *g, unsigned pass)
{
    tly_team t = tly_team_make(g);
    build(g, pass, &t, (unsigned)(g->plan->workgroup / g->plan->team), t.number);
}
