/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans one row by all workgroups, and reads and writes every element once (decoupled look-back).
 * Workgroups take tiles in order, by ticket, so that a tile waits only for workgroups that have
 * started. A group has as many tiles as a cluster has lanes. Carries go by two levels:
 *
 *   carry(t) = base(g) + sum(T_b ... T_t-1)         b: the first tile of t's group g; a tree
 *   base(g)  = ((start + G_0) + G_1) + ...          G: the total of a group; from left to right
 *
 * A tile publishes its total T. The last tile of a group publishes the group's total instead, and
 * then the next group's base. No total waits for a carry. A tile that finds no base makes it of an
 * earlier base and totals, which gives the same bits.
 *
 * Where the range is checked, this holds as long as totals, their sums and the base may be
 * combined. A reader can tell that from these values alone. Behind a tile where they may not, up to
 * the group's end, the carry is the one that the tile before publishes. A reader may also combine
 * an earlier carry with totals, or with the classes of tiles without a valid total (range.c), if
 * that is what the tiles do themselves. Such a group publishes classes, too, for bases that only
 * classes can change.
 *
 * tests/look_back_model.c goes through the interleavings.
 */
#include "look_back.h"

static void publish(const tly_look_back *s, kir_value when, kir_value at, kir_value v,
                    kir_value mark)
{
    tly_build *c = &s->g->c;
    tly_region leader = { 0 };
    emit_if(c, &leader, band(c, s->leads, when));
    tly_record_publish(s->g, at, 0, v, mark);
    emit_end(c, &leader);
}

static void publish_base(const tly_look_back *s, kir_value when, kir_value base)
{
    kir_value next = add(&s->g->c, s->group, u32(s->g, 1));
    publish(s, when, tly_look_at(s, next, u32(s->g, TLY_GROUP_BASE)), base,
            u32(s->g, TLY_MARK_VALUE));
}

/* Others may need it where the range is checked. */
static void publish_carry(tly_gpu *g, void *user, kir_value after)
{
    const tly_look_back *s = user;
    if (tly_range_count(&g->c) == 0)
        return;
    publish(s, i1(&g->c, 1), tly_look_at(s, s->item->chunk, u32(g, TLY_CARRY)), after,
            u32(g, TLY_MARK_VALUE));
    publish_base(s, s->open, after);
}

kir_value tly_look_upper(tly_gpu *g, kir_value distance)
{
    return lshr(&g->c, distance, u32(g, 31 - TLY_UPPER_BITS));
}

kir_value tly_look_mark_classes(tly_gpu *g, kir_value upper)
{
    return bor(&g->c, u32(g, TLY_MARK_CLASSES), shl(&g->c, upper, u32(g, TLY_MARK_BITS)));
}

/* Of this invocation's elements, read again, vector after vector. */
static void classes_of(const tly_look_back *s, kir_value *summary)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    unsigned vector = (unsigned)g->plan->vector;
    kir_value last = sub(c, s->count, u32(g, 1)), first = s->team->base;
    kir_value end = add(c, first, u32(g, tly_group_after(g, s->team, tly_gpu_elements(g))));
    const tly_gpu_extent tile = { .row = s->at, .count = s->count };
    tly_region l = { .state = { &summary[0], &summary[1] } };
    tly_gpu_summary_begin(g, summary);
    if (!tly_gpu_has_classes(g))
        return;
    emit_for(c, &l, first, end, u32(g, tly_group_after(g, s->team, vector)));
    for (unsigned v = 0; v < vector; v++) {
        kir_value position = add(c, l.i, u32(g, v));
        const tly_place here = tly_gpu_place(&tile, position);
        kir_value p = tly_gpu_address(g, s->at, TLY_IN, umin(c, position, last));
        kir_value x = tly_gpu_element(g, &here, tly_gpu_fetch(g, p, 0));
        x = choose(c, less(c, position, s->count), x, tly_neutral_window(c, c->acc));
        tly_gpu_summary_add(g, summary, x);
    }
    emit_end(c, &l);
}

/* The total, or, where it holds after no carry, the classes. */
static void summarise(tly_look_back *s, tly_tile *tile)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    kir_value summary[2];
    tly_region bad = { .state = { &s->total, &s->mark } };
    s->total = tile->total;
    s->mark = u32(g, TLY_MARK_VALUE);
    if (tly_range_count(c) == 0)
        return;
    emit_unless(c, &bad, tly_range_is_safe(c, tile->range, 0));
    classes_of(s, summary);
    tly_gpu_summary_fold(g, s->team, summary);
    s->total = summary[0];
    s->mark = tly_look_mark_classes(g, tly_look_upper(g, summary[1]));
    emit_end(c, &bad);
    tile->summary = tly_gpu_has_classes(g) ? s->total : 0;
}

/* By the first cluster. For tests every third tile publishes its total late. */
static kir_value find_carry(tly_look_back *s, kir_value *open)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    kir_value sound, all_sound, sum, all, none = is(g, s->before, 0);
    tly_look_for_totals(s);
    all = tly_look_sum(s, s->before, &all_sound);
    sum = tly_look_sum(s, choose(c, none, u32(g, 0), sub(c, s->before, u32(g, 1))), &sound);
    sum = choose(c, none, tly_neutral_window(c, c->acc), sum);
    sound = bor(c, none, sound);
    kir_value k = choose(c, s->ends, s->group, s->item->chunk);
    kir_value at = tly_look_at(s, k,
                               choose(c, s->ends, u32(g, TLY_GROUP_TOTAL), u32(g, TLY_TOTAL)));
    all_sound = bor(c, all_sound, tly_not(c, s->ends)); /* of others it is no matter */
    kir_value group_mark, group = tly_look_summarise(s, all, all_sound, &group_mark);
    kir_value v = choose(c, s->ends, group, s->total);
    kir_value mark = choose(c, s->ends, group_mark, s->mark);
    publish(s, band(c, s->ends, tly_not(c, s->stalls)), at, v, mark);
    tly_look_for_base(s);
    kir_value base = s->base, carry = tly_combine(c, base, sum);
    publish(s, s->stalls, at, v, mark);
    kir_value told = tly_look_combines(g, base, group, group_mark, 1);
    publish_base(s, band(c, s->ends, told), tly_combine(c, base, group));
    *open = band(c, s->ends, tly_not(c, told));
    if (tly_range_count(c) == 0)
        return carry;
    tly_region fails = { .state = { &carry } };
    emit_unless(c, &fails, band(c, sound, tly_gpu_fits_half(g, base)));
    carry = tly_look_for_carry(s);
    emit_end(c, &fails);
    return carry;
}

static kir_value carry_before(tly_look_back *s)
{
    tly_gpu *g = s->g;
    tly_build *c = &g->c;
    kir_value carry = tly_neutral(c, c->acc);
    tly_region first = { 0 }, looks = { .state = { &carry, &s->open } };
    emit_if(c, &first, band(c, s->leads, is(g, s->item->chunk, 0)));
    tly_record_publish(g, tly_look_at(s, u32(g, 0), u32(g, TLY_GROUP_BASE)), 0,
                       tly_gpu_first_carry(g, s->item, u32(g, 0)), u32(g, TLY_MARK_VALUE));
    emit_end(c, &first);
    publish(s, tly_not(c, bor(c, s->ends, s->stalls)),
            tly_look_at(s, s->item->chunk, u32(g, TLY_TOTAL)), s->total, s->mark);
    s->open = s->ends;
    emit_if(c, &looks, is(g, s->team->cluster, 0));
    carry = find_carry(s, &s->open);
    emit_end(c, &looks);
    return tly_group_broadcast(g, s->team, carry);
}

kir_value tly_look_draw(tly_gpu *g)
{
    tly_build *c = &g->c;
    kir_value ticket = kir_shared(c->b, 16), scratch = arg(c, KIR_ARG_SCRATCH);
    const int64_t at = (int64_t)g->launch->header_bytes - g->algorithm->ticket_bytes;
    tly_region one = { 0 };
    emit_if(c, &one, is(g, kir_get_id(c->b, KIR_ID_LOCAL), 0));
    kir_store(c->b, ticket, 0, kir_atomic_add(c->b, scratch, at, u32(g, 1)), 4, 0);
    emit_end(c, &one);
    kir_barrier(c->b);
    return kir_load(c->b, KIR_TYPE(KIR_I32, 1), ticket, 0, 4);
}

kir_value tly_look_stalls(tly_gpu *g, kir_value tile)
{
    tly_build *c = &g->c;
    kir_value three = u32(g, 3);
    kir_value third = sub(c, tile, mul(c, udiv(c, tile, three), three));
    return band(c, tly_gpu_flag(g, TLY_GPU_STALL), is(g, third, 1));
}

static tly_look_back state_of(tly_gpu *g, tly_group *t, const tly_gpu_item *item)
{
    tly_build *c = &g->c;
    tly_look_back s = { .g = g, .team = t, .item = item, .leads = tly_group_leads(g, t) };
    kir_value chunk = item->chunk, group = u32(g, t->width);
    s.stalls = tly_look_stalls(g, chunk);
    s.group = udiv(c, chunk, group);
    s.first = mul(c, s.group, group);
    s.before = sub(c, chunk, s.first);
    s.ends = is(g, s.before, t->width - 1);
    return s;
}

static void build(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    g->launch->pass[pass].items = TLY_ITEMS_CHUNKS;
    g->launch->pass[pass].per_group = 1;
    tly_group t = tly_group_make(g);
    tly_gpu_item item = tly_gpu_item_of(g, tly_look_draw(g), 1);
    tly_region exists = { 0 }, last = { 0 };
    emit_if(c, &exists, item.valid);
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    kir_value begin = mul(c, item.chunk, u32(g, t.tile));
    kir_value count = sub(c, arg(c, KIR_ARG_LENGTH), begin);
    tly_gpu_row at = tly_gpu_at(g, &row, begin);
    tly_look_back s = state_of(g, &t, &item);
    s.at = &at;
    s.count = count;
    /* It does not keep its elements, lest all tiles hold registers for this while they wait.
     * Nothing of it has been stored by then. */
    tly_tile tile = { .publish = publish_carry, .user = &s, .rereads = 1, .goes_on = 1 };
    tly_tile_scan(g, &t, &at, count, &tile);
    tly_tile_fold(g, &t, &tile);
    if (tile.excess) /* whoever combines the total must find what the tile itself does */
        tile.total = tly_excess_correct(c, tile.excess, tile.total);
    tile.excess = 0;
    tly_tile_spill(g, &tile);
    summarise(&s, &tile);
    kir_value before = carry_before(&s);
    tly_tile_restore(g, &tile);
    kir_value carry = tly_tile_finish(g, &t, &at, count, &tile, before);
    kir_value is_last = at_most(c, count, u32(g, t.tile));
    emit_if(c, &last, band(c, is_last, tly_group_leads(g, &t)));
    tly_gpu_last_carry(g, &item, u32(g, 0), carry);
    emit_end(c, &last);
    emit_end(c, &exists);
}

const tly_gpu_algorithm tly_gpu_look_back_algorithm = {
    .build = build,
    .passes = { "scan" },
    .record_bytes = tly_gpu_look_back_bytes,
    .ticket_bytes = TLY_GPU_TICKET_BYTES,
    .finds_part = 1,
};
