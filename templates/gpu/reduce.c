/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reductions: outputs side by side, an invocation each, or an output by a group. Outputs that are
 * too few to fill the device, and those of more elements than one loop takes, are cut: first every
 * chunk's state, then what the states of an output come to, in a fixed tree.
 */
#include "reduce.h"

/* ---- records ---- */

/* Parts one after the other; their kinds are those of the neutral state. */
static void save(tly_gpu_reduce *r, kir_value p, kir_value state)
{
    tly_build *c = &r->g->c;
    int64_t at = 0;
    for (unsigned i = 0; i < kir_parts(c->b, state); i++) {
        kir_value v = kir_part(c->b, state, i);
        kir_store(c->b, p, at, v, 4, 0);
        at += kir_kind_bits((kir_kind)type_of(c, v).kind) / 8;
    }
}

static kir_value load(tly_gpu_reduce *r, kir_value p, kir_value like)
{
    tly_build *c = &r->g->c;
    kir_value v[KIR_MAX_PARTS];
    unsigned parts = kir_parts(c->b, like);
    int64_t at = 0;
    for (unsigned i = 0; i < parts; i++) {
        kir_type t = type_of(c, kir_part(c->b, like, i));
        v[i] = kir_load(c->b, t, p, at, 4);
        at += kir_kind_bits((kir_kind)t.kind) / 8;
    }
    return kir_tuple(c->b, parts, v);
}

static kir_value record_at(tly_gpu_reduce *r, kir_value number)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_value bytes = tly_gpu_offset(g, g->launch->record_bytes);
    kir_value at = mul(c, tly_gpu_as_offset(g, number), bytes);
    at = add(c, at, tly_gpu_offset(g, g->launch->header_bytes));
    return ptradd(c, arg(c, KIR_ARG_SCRATCH), at);
}

/* Where one of the outputs side by side has its state in a record. */
static kir_value part_at(tly_gpu_reduce *r, kir_value record, kir_value output)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_value bytes = mul(c, output, u32(g, tly_gpu_reduce_record_bytes(g)));
    return ptradd(c, record, tly_gpu_as_offset(g, bytes));
}

/* An output's records by `stride`: those of a chunk lie side by side. */
typedef struct records {
    const tly_gpu_item *item;
    kir_value output, items;
    unsigned stride;
    const tly_gpu_records *of; /* those of a segment; NULL: all of the row's */
} records;

/* Where the i-th is. */
static kir_value record_number(tly_gpu_reduce *r, const records *of, kir_value i)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_value chunk = i;
    if (of->of != NULL) {
        kir_value later = add(c, of->of->next, shl(c, i, u32(g, 1)));
        chunk = choose(c, is(g, i, 0), of->of->first, later);
    }
    return add(c, mul(c, chunk, of->items), of->item->index);
}

/* Those of [from, to), `ahead` of them on their way before the first is combined. */
static kir_value combine_some(tly_gpu_reduce *r, const records *of, kir_value from, kir_value to,
                              unsigned ahead, kir_value state)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_value one[TLY_GPU_MOST_SEGMENTS];
    tly_region l = { .state = { &state } };
    emit_for(c, &l, from, to, u32(g, (int64_t)ahead * of->stride));
    for (unsigned i = 0; i < ahead; i++) {
        kir_value chunk = add(c, l.i, u32(g, (int64_t)i * of->stride));
        kir_value p = record_at(r, record_number(r, of, chunk));
        one[i] = load(r, part_at(r, p, of->output), state);
    }
    for (unsigned i = 0; i < ahead; i++)
        state = tly_gpu_reduce_records(r)->combine(c, state, one[i]);
    emit_end(c, &l);
    return state;
}

/* All from `from` on. As many ahead as elements are: one by one each would be waited for, and
 * columns have a thousand of them. */
static kir_value combine_records(tly_gpu_reduce *r, const tly_gpu_item *item, kir_value output,
                                 kir_value from, unsigned stride, const tly_gpu_records *own)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    const records of = { item, output, tly_gpu_items(g), stride, own };
    unsigned ahead = (unsigned)g->plan->vectors_per_thread;
    kir_value state = tly_gpu_reduce_records(r)->neutral(c);
    kir_value chunks = own != NULL ? own->count : arg(c, KIR_ARG_CHUNKS), whole = u32(g, 0);
    if (ahead > 1) {
        whole = band(c, chunks, u32(g, -(int64_t)(ahead * stride)));
        state = combine_some(r, &of, from, whole, ahead, state);
    }
    return combine_some(r, &of, add(c, whole, from), chunks, 1, state);
}

/* ---- kernels ---- */

/* Of outputs side by side, one's address; of the input, that of its first element. */
static kir_value address(tly_build *c, const tly_place *at, int tensor)
{
    tly_gpu *g = (tly_gpu *)c; /* its first member */
    const tly_gpu_row *row = at->of;
    if (tensor >= TLY_FIRST_OPERAND)
        return tly_gpu_lane_address(g, row, tensor, tly_gpu_as_offset(g, at->lane));
    kir_value bytes = mul(c, at->lane, u32(g, c->bytes[tensor]));
    return ptradd(c, row->tensor[tensor].at, tly_gpu_as_offset(g, bytes));
}

/* One output of an item from its state. */
static void finish(tly_gpu_reduce *r, const tly_gpu_row *row, const tly_gpu_span *all,
                   kir_value output, kir_value state)
{
    const tly_place at = { .address = address, .of = row, .lane = output };
    tly_gpu_span one = tly_gpu_span_of(r, all, output);
    kir_value y = tly_gpu_reduce_result(r, &one, &at, state);
    tly_gpu_reduce_store(r, &at, y);
}

/* All outputs of an item, or their records of a chunk. `group`: NULL for one invocation. */
static void do_item(tly_gpu_reduce *r, const tly_gpu_item *item, tly_group *team)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    int records = tly_gpu_has_chunks(g);
    tly_gpu_row row = tly_gpu_row_of(g, item);
    tly_gpu_span s = records ? tly_gpu_span_chunk(r, &row, item->chunk) : tly_gpu_span_all(r, &row);
    kir_value state[TLY_GPU_MOST_ELEMENTS];
    tly_gpu_reduce_span(r, &s, team, state);
    tly_region leads = { 0 };
    if (team != NULL)
        emit_if(c, &leads, tly_group_leads(g, team));
    for (unsigned i = 0; i < g->lanes; i++) {
        if (records)
            save(r, part_at(r, record_at(r, item->record), u32(g, i)), state[i]);
        else
            finish(r, &row, &s, u32(g, i), state[i]);
    }
    if (team != NULL)
        emit_end(c, &leads);
}

/* What is in an item's records, those of a segment (own) or all of them, as one output. */
static void join_records(tly_gpu_reduce *r, const tly_gpu_item *item, tly_group *team,
                         kir_value output, const tly_gpu_span *all, const tly_gpu_records *own)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    if (team == NULL) {
        finish(r, &all->row, all, output, combine_records(r, item, output, u32(g, 0), 1, own));
        return;
    }
    kir_value from = tly_gpu_group_member(r, team);
    kir_value state = combine_records(r, item, output, from, tly_gpu_group_size(team), own);
    state = tly_gpu_reduce_fold(r, team, tly_gpu_reduce_records(r), state);
    tly_region leads = { 0 };
    emit_if(c, &leads, tly_group_leads(g, team));
    finish(r, &all->row, all, output, state);
    emit_end(c, &leads);
}

/* One output of an item, from the records of its chunks; of segments, of the one that the line
 * where the cell begins is the first to cut. */
static void do_records(tly_gpu_reduce *r, const tly_gpu_item *item, tly_group *team,
                       kir_value output)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    tly_gpu_row row = tly_gpu_row_of(g, item);
    if (!tly_gpu_has_pieces(g)) {
        tly_gpu_span all = tly_gpu_span_all(r, &row);
        join_records(r, item, team, output, &all, NULL);
        return;
    }
    const tly_gpu_piece segment = tly_gpu_segment_cut_at(r, item->chunk);
    const tly_gpu_records own = tly_gpu_records_of(r, &segment);
    const tly_gpu_span all = tly_gpu_span_of_piece(r, &row, &segment);
    tly_region cut = { 0 };
    emit_if(c, &cut, band(c, segment.exists, ult(c, u32(g, 0), own.count)));
    join_records(r, item, team, output, &all, &own);
    emit_end(c, &cut);
}

/* A piece of a segment: its outputs if it is whole, or else their records. */
static void do_piece(tly_gpu_reduce *r, const tly_gpu_item *item, tly_group *team)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    const int cuts = tly_gpu_has_chunks(g);
    const tly_gpu_row row = tly_gpu_row_of(g, item);
    const tly_gpu_piece piece = cuts ? tly_gpu_piece_of(r, item->chunk)
                                     : tly_gpu_segment_alone(r, item->chunk);
    const tly_gpu_span s = tly_gpu_span_of_piece(r, &row, &piece);
    kir_value state[TLY_GPU_MOST_ELEMENTS];
    tly_region exists = { 0 }, leads = { 0 }, whole = { 0 };
    emit_if(c, &exists, piece.exists);
    tly_gpu_reduce_span(r, &s, team, state);
    if (team != NULL)
        emit_if(c, &leads, tly_group_leads(g, team));
    emit_if(c, &whole, piece.is_whole);
    for (unsigned i = 0; i < g->lanes; i++)
        finish(r, &s.row, &s, u32(g, i), state[i]);
    if (cuts) {
        emit_else(c, &whole);
        kir_value number = add(c, mul(c, piece.record, tly_gpu_items(g)), item->index);
        for (unsigned i = 0; i < g->lanes; i++)
            save(r, part_at(r, record_at(r, number), u32(g, i)), state[i]);
    }
    emit_end(c, &whole);
    if (team != NULL)
        emit_end(c, &leads);
    emit_end(c, &exists);
}

/* `items` of a workgroup, of which this is number `member`. The last of two passes takes the
 * outputs one by one: it is short, and wants many invocations. */
static void build(tly_gpu *g, unsigned pass, tly_group *team, unsigned items, kir_value member)
{
    tly_build *c = &g->c;
    int chunks = tly_gpu_has_chunks(g), last = chunks && pass > 0;
    kir_value output = u32(g, 0);
    tly_region exists = { 0 };
    if (last && g->lanes > 1) {
        items /= g->lanes;
        output = band(c, member, u32(g, g->lanes - 1)); /* a power of two */
        member = udiv(c, member, u32(g, g->lanes));
    }
    const int pieces = tly_gpu_has_pieces(g);
    g->launch->pass[pass].items = chunks && !last  ? TLY_ITEMS_CHUNKS
                                  : pieces && last ? TLY_ITEMS_CELLS
                                  : pieces         ? TLY_ITEMS_STATES
                                                   : TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = items;
    kir_value number = add(c, mul(c, tly_gpu_group(g), u32(g, items)), member);
    tly_gpu_item item = tly_gpu_item_of(g, number, pieces || (chunks && !last));
    tly_gpu_reduce r = tly_gpu_reduce_begin(g, team != NULL || chunks);
    emit_if(c, &exists, item.valid);
    if (last)
        do_records(&r, &item, team, output);
    else if (pieces)
        do_piece(&r, &item, team);
    else
        do_item(&r, &item, team);
    emit_end(c, &exists);
}

static void build_lanes(tly_gpu *g, unsigned pass)
{
    kir_value local = kir_get_id(g->c.b, KIR_ID_LOCAL);
    build(g, pass, NULL, g->launch->pass[pass].workgroup, local);
}

static void build_rows(tly_gpu *g, unsigned pass)
{
    tly_group t = tly_group_make(g);
    build(g, pass, &t, (unsigned)(g->plan->workgroup / g->plan->group), t.number);
}

/* Records of a chunk of the outputs side by side. */
static unsigned chunk_bytes(const tly_gpu *g)
{
    return g->lanes * tly_gpu_reduce_record_bytes(g);
}

const tly_gpu_algorithm tly_gpu_reduce_lanes_algorithm = {
    .build = build_lanes,
    .passes = { "states", "results" },
    .record_bytes = chunk_bytes,
};
const tly_gpu_algorithm tly_gpu_reduce_rows_algorithm = {
    .build = build_rows,
    .passes = { "states", "results" },
    .record_bytes = chunk_bytes,
};
