/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group is the invocations that scan one tile: a part of a subgroup, or a workgroup of several
 * subgroups. The order in which it combines values depends on the plan alone.
 *
 * A cluster is the group's part of one subgroup. Its lanes exchange values by shuffles, or
 * through workgroup memory on devices without them. Lane groups exchange theirs through workgroup
 * memory. Integers may take the device's own scan; that of floats has no fixed order.
 */
#include "gpu.h"

static int by_memory(const tly_gpu *g)
{
    return g->plan->scan == 0;
}

tly_group tly_group_make(tly_gpu *g)
{
    tly_build *c = &g->c;
    const tly_gpu_plan *p = g->plan;
    unsigned subgroup = by_memory(g) ? (unsigned)p->workgroup : g->caps->subgroup;
    tly_group t = { .width = (unsigned)p->group < subgroup ? (unsigned)p->group : subgroup };
    t.clusters = (unsigned)p->group / t.width;
    t.used = t.width - t.width % g->interleave;
    t.tile = t.clusters * t.used * tly_gpu_elements(g);
    kir_value lane = by_memory(g) ? kir_get_id(c->b, KIR_ID_LOCAL) : kir_get_id(c->b, KIR_ID_LANE);
    int whole = t.width == subgroup; /* then lanes' numbers are literals where shuffles name them */
    t.lane = whole ? lane : band(c, lane, u32(g, t.width - 1));
    t.first = whole ? u32(g, 0) : sub(c, lane, t.lane);
    t.cluster = t.number = u32(g, 0);
    unsigned teams = (unsigned)(p->workgroup / p->group), slots = 2 * t.clusters;
    if (!by_memory(g) && (t.clusters > 1 || teams > 1)) {
        kir_value subgroup_id = kir_get_id(c->b, KIR_ID_SUBGROUP);
        kir_value local = add(c, mul(c, subgroup_id, u32(g, subgroup)), lane);
        unsigned shift = 0;
        for (; 1u << shift < (unsigned)p->group; shift++)
            ;
        t.number = teams > 1 ? lshr(c, local, u32(g, shift)) : t.number;
        t.cluster = t.clusters > 1 ? subgroup_id : t.cluster;
    }
    kir_value before = mul(c, t.cluster, u32(g, t.used * tly_gpu_elements(g)));
    t.base = add(c, before, mul(c, t.lane, u32(g, vector_of(g))));
    if (by_memory(g))
        slots = 2 * t.width;
    if (by_memory(g) || t.clusters > 1)
        t.exchange = kir_shared(c->b, slots * tly_gpu_slot_bytes(g->c.p));
    return t;
}

/* The address of the number-th value in this exchange's half of the memory. Values lie side by
 * side, so that one access reads several. Exchanges take the halves in turn: before a half is
 * written again, the barrier of the other half's exchange has ended all reads of it. */
static kir_value place(tly_gpu *g, const tly_group *t, kir_value number, unsigned bytes)
{
    tly_build *c = &g->c;
    unsigned half = (by_memory(g) ? t->width : t->clusters) * tly_gpu_slot_bytes(g->c.p);
    kir_value at = mul(c, number, u32(g, bytes));
    return ptradd(c, t->exchange, add(c, at, u32(g, t->turn * half)));
}

static kir_value slot(tly_gpu *g, const tly_group *t, kir_value number)
{
    return place(g, t, number, (g->c.state_bytes + 3) / 4 * 4);
}

static unsigned bytes_of(const tly_gpu *g, kir_value v)
{
    return kir_kind_bits((kir_kind)type_of(&g->c, v).kind) / 8;
}

void tly_group_put(tly_gpu *g, kir_value slot, int64_t offset, kir_value v)
{
    tly_build *c = &g->c;
    for (unsigned i = 0; i < kir_parts(c->b, v); i++) {
        kir_value part = kir_part(c->b, v, i);
        kir_store(c->b, slot, offset + i * tly_part_bytes(g->c.p), part, bytes_of(g, part), 0);
    }
}

kir_value tly_group_get(tly_gpu *g, kir_value slot, int64_t offset, kir_value like)
{
    tly_build *c = &g->c;
    kir_value v[KIR_MAX_PARTS];
    for (unsigned i = 0; i < kir_parts(c->b, like); i++) {
        kir_value part = kir_part(c->b, like, i);
        v[i] = kir_load(c->b, type_of(c, part), slot, offset + i * tly_part_bytes(g->c.p),
                        bytes_of(g, part));
    }
    return kir_tuple(c->b, kir_parts(c->b, like), v);
}

static void put(tly_gpu *g, kir_value slot, kir_value v)
{
    tly_group_put(g, slot, 0, v);
}

static kir_value get(tly_gpu *g, kir_value slot, kir_value like)
{
    return tly_group_get(g, slot, 0, like);
}

kir_value tly_group_from(tly_gpu *g, tly_group *t, kir_value v, kir_value lane)
{
    tly_build *c = &g->c;
    if (!by_memory(g))
        return kir_from_lane(c->b, v, add(c, t->first, lane));
    put(g, slot(g, t, t->lane), v);
    kir_barrier(c->b);
    kir_value there = get(g, slot(g, t, lane), v);
    t->turn ^= 1;
    return there;
}

/* The value of the one lane that speaks (i1), for the whole group. */
static kir_value say(tly_gpu *g, tly_group *t, kir_value v, kir_value speaks)
{
    tly_build *c = &g->c;
    tly_region one = { 0 };
    emit_if(c, &one, speaks);
    put(g, slot(g, t, u32(g, 0)), v);
    emit_end(c, &one);
    kir_barrier(c->b);
    v = get(g, slot(g, t, u32(g, 0)), v);
    t->turn ^= 1;
    return v;
}

kir_value tly_group_leads(tly_gpu *g, const tly_group *t)
{
    tly_build *c = &g->c;
    kir_value lane = ult(c, t->lane, u32(g, g->interleave));
    return band(c, lane, is(g, t->cluster, 0));
}

kir_value tly_group_broadcast(tly_gpu *g, tly_group *t, kir_value v)
{
    if (t->clusters == 1)
        return tly_group_from(g, t, v, u32(g, 0));
    return say(g, t, v, tly_group_leads(g, t)); /* a group of several groups has one scan */
}

kir_value tly_group_from_group(tly_gpu *g, tly_group *t, kir_value v, kir_value group)
{
    tly_build *c = &g->c;
    kir_value its = equal(c, t->cluster, group);
    return say(g, t, v, band(c, its, is(g, t->lane, 0)));
}

void tly_group_gather(tly_gpu *g, tly_group *t, kir_value v, kir_value *all)
{
    tly_build *c = &g->c;
    tly_region speaks = { 0 };
    emit_if(c, &speaks, is(g, t->lane, 0));
    put(g, slot(g, t, t->cluster), v);
    emit_end(c, &speaks);
    kir_barrier(c->b);
    for (unsigned i = 0; i < t->clusters; i++)
        all[i] = get(g, slot(g, t, u32(g, i)), v);
    t->turn ^= 1;
}

void tly_group_rest(tly_gpu *g, tly_group *t)
{
    if (t->exchange)
        kir_barrier(g->c.b);
    t->turn = 0;
}

/* The value of the lane `by` below; where there is none, some other lane's. */
static kir_value from_below(tly_gpu *g, tly_group *t, kir_value v, unsigned by)
{
    tly_build *c = &g->c;
    kir_value lane = sub(c, t->lane, u32(g, by));
    return tly_group_from(g, t, v, band(c, lane, u32(g, t->width - 1)));
}

static kir_value neutral(tly_gpu *g)
{
    tly_build *c = &g->c;
    return tly_neutral_window(c, c->acc);
}

/* `yes` where there is a lane `by` below, else `no`. */
static kir_value if_below(tly_gpu *g, const tly_group *t, unsigned by, kir_value yes, kir_value no)
{
    tly_build *c = &g->c;
    return choose(c, ule(c, u32(g, by), t->lane), yes, no);
}

/* A u32: 1 if the sum so far fits, and all that it is of is sound. */
static kir_value go_on_sound(tly_gpu *g, tly_group *t, kir_value sum, kir_value sound, unsigned by)
{
    tly_build *c = &g->c;
    kir_value zero = u32(g, 0), other = from_below(g, t, sound, by);
    other = if_below(g, t, by, other, u32(g, 1));
    return choose(c, tly_gpu_fits_half(g, sum), band(c, sound, other), zero);
}

kir_value tly_group_scan_lanes(tly_gpu *g, tly_group *t, kir_value v, kir_value *sound)
{
    tly_build *c = &g->c;
    if (g->plan->scan == 2 && g->interleave == 1 && t->width == g->caps->subgroup)
        return kir_subgroup_scan(c->b, (kir_op)tly_operator_of(c->p)->subgroup_scan, v);
    for (unsigned by = g->interleave; by < t->used; by *= 2) {
        kir_value other = from_below(g, t, v, by);
        v = tly_combine(c, if_below(g, t, by, other, neutral(g)), v);
        if (sound != NULL)
            *sound = go_on_sound(g, t, v, *sound, by);
    }
    return v;
}

/* Exchanges the clusters' totals. Returns the prefix before this group; *total becomes the
 * group's. *excess, that of this group's product, becomes the group's; 0: none. */
static kir_value scan_groups(tly_gpu *g, tly_group *t, kir_value own, kir_value *excess,
                             kir_value *total)
{
    tly_build *c = &g->c;
    tly_region last = { 0 };
    int64_t apart = (int64_t)t->clusters * bytes_of(g, own); /* behind the totals: slots are wide */
    if (*excess)
        own = tly_excess_correct(c, *excess, own);
    emit_if(c, &last, is(g, t->lane, t->width - 1));
    put(g, slot(g, t, t->cluster), own);
    if (*excess)
        tly_group_put(g, slot(g, t, t->cluster), apart, *excess);
    emit_end(c, &last);
    kir_barrier(c->b);
    kir_value before = neutral(g), all = before, far = 0;
    for (unsigned i = 0; i < t->clusters; i++) {
        before = i > 0 ? choose(c, is(g, t->cluster, i), all, before) : before;
        kir_value v = get(g, slot(g, t, u32(g, i)), own);
        all = i > 0 ? tly_combine(c, all, v) : v;
        if (!*excess)
            continue;
        v = tly_group_get(g, slot(g, t, u32(g, i)), apart, own);
        far = i > 0 ? tly_excess_join(c, far, v) : v;
        all = tly_excess_correct(c, far, all);
    }
    t->turn ^= 1;
    *total = all;
    *excess = far;
    return before;
}

/* Stands for tly_excess_join among the operations of kernel IR. */
enum { JOIN = -1 };

static kir_value join(tly_gpu *g, int op, kir_value x, kir_value y)
{
    tly_build *c = &g->c;
    return op == JOIN ? tly_excess_join(c, x, y) : bin(c, (kir_op)op, x, y);
}

static kir_value fold_lanes(tly_gpu *g, tly_group *t, int op, kir_value v)
{
    for (unsigned by = 1; by < t->width; by *= 2) {
        kir_value lane = bxor(&g->c, t->lane, u32(g, by));
        v = join(g, op, v, tly_group_from(g, t, v, lane));
    }
    /* All lanes have the same value. Read from one address, it is uniform for compilers, too. */
    return by_memory(g) ? tly_group_from(g, t, v, u32(g, 0)) : v;
}

kir_value tly_group_fold_lanes(tly_gpu *g, tly_group *t, kir_op op, kir_value v)
{
    return fold_lanes(g, t, (int)op, v);
}

static int votes(const tly_gpu *g)
{
    return !by_memory(g) && (g->caps->subgroup_ops & TLY_SUBGROUP_BALLOT);
}

/* A u32 that is not 0 if `says` holds in some lane of the cluster. By votes, and of a cluster of 32
 * lanes or fewer, those lanes' bits. */
static kir_value some(tly_gpu *g, tly_group *t, kir_value says)
{
    tly_build *c = &g->c;
    if (!votes(g))
        return tly_group_fold_lanes(g, t, KIR_OR, choose(c, says, u32(g, 1), u32(g, 0)));
    kir_value ballot = kir_ballot(c->b, says), lanes = kir_extract(c->b, ballot, 0);
    int is_part = t->width < g->caps->subgroup;
    for (unsigned i = 1; i < (g->caps->subgroup + 31) / 32; i++) {
        kir_value others = kir_extract(c->b, ballot, i);
        kir_value its = ule(c, u32(g, 32 * i), t->first);
        lanes = is_part ? choose(c, its, others, lanes) : bor(c, lanes, others);
    }
    if (!is_part || t->width >= 32)
        return lanes;
    kir_value from = band(c, t->first, u32(g, 31));
    return band(c, lshr(c, lanes, from), u32(g, (1 << t->width) - 1));
}

kir_value tly_group_all(tly_gpu *g, tly_group *t, kir_value holds)
{
    return is(g, some(g, t, tly_not(&g->c, holds)), 0);
}

kir_value tly_group_scan_of(tly_gpu *g, const tly_group *t)
{
    tly_build *c = &g->c;
    kir_value unit = u32(g, g->interleave);
    return g->interleave == 1 ? u32(g, 0) : sub(c, t->lane, mul(c, udiv(c, t->lane, unit), unit));
}

/* The last lane of a lane's scan. */
static kir_value last_of_scan(tly_gpu *g, const tly_group *t)
{
    return add(&g->c, tly_group_scan_of(g, t), u32(g, t->used - g->interleave));
}

/* Reduces each interleaved scan by itself: a scan along its lanes, whose last result all get. */
static kir_value fold_scan(tly_gpu *g, tly_group *t, int op, kir_value v)
{
    if (g->interleave == 1)
        return fold_lanes(g, t, op, v);
    for (unsigned by = g->interleave; by < t->used; by *= 2)
        v = if_below(g, t, by, join(g, op, from_below(g, t, v, by), v), v);
    return tly_group_from(g, t, v, last_of_scan(g, t));
}

/* Combines the clusters' values, exchanged through workgroup memory, in their order. */
static void fold_groups(tly_gpu *g, tly_group *t, const kir_op *ops, kir_value *v, unsigned count)
{
    tly_build *c = &g->c;
    tly_region first = { 0 };
    if (t->clusters == 1)
        return;
    emit_if(c, &first, is(g, t->lane, 0));
    unsigned bytes = bytes_of(g, v[0]), row = bytes * t->clusters;
    for (unsigned k = 0; k < count; k++)
        kir_store(c->b, place(g, t, t->cluster, bytes), k * row, v[k], bytes, 0);
    emit_end(c, &first);
    kir_barrier(c->b);
    for (unsigned k = 0; k < count; k++)
        for (unsigned i = 0; i < t->clusters; i++) {
            kir_value other = kir_load(c->b, type_of(c, v[k]), place(g, t, u32(g, i), bytes),
                                       k * row, bytes);
            v[k] = i > 0 ? bin(c, ops[k], v[k], other) : other;
        }
    t->turn ^= 1;
}

kir_value tly_group_every(tly_gpu *g, tly_group *t, kir_value holds)
{
    static const kir_op op = KIR_OR;
    kir_value votes = some(g, t, tly_not(&g->c, holds));
    fold_groups(g, t, &op, &votes, 1);
    return is(g, votes, 0);
}

kir_value tly_group_fold(tly_gpu *g, tly_group *t, kir_op op, kir_value v)
{
    v = fold_scan(g, t, (int)op, v);
    fold_groups(g, t, &op, &v, 1);
    return v;
}

void tly_group_fold_range(tly_gpu *g, tly_group *t, kir_value *range)
{
    const kir_op ops[2] = { tly_range_op(&g->c, 0), tly_range_op(&g->c, 1) };
    unsigned count = tly_range_count(&g->c);
    for (unsigned k = 0; k < count; k++)
        range[k] = fold_scan(g, t, (int)ops[k], range[k]);
    if (count > 0)
        fold_groups(g, t, ops, range, count);
}

/* ---- excesses: docs/range.md, "Many factors next to 1" ---- */

/* The excess of the product of the cluster's elements; 0 where it is not wanted. */
static kir_value excess_of(tly_gpu *g, tly_group *t, const tly_tile *tile)
{
    tly_build *c = &g->c;
    kir_value v = tly_excess_far(c);
    tly_region more = { .state = { &v } };
    if (!tile->goes_on || !tly_gpu_may_drift(g, t->used / g->interleave * tly_gpu_elements(g)))
        return 0;
    if (tile->more)
        emit_if(c, &more, tile->more);
    tly_excess e = tly_excess_none(c);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        tly_excess_add(c, &e, tile->x[i]);
    v = fold_scan(g, t, JOIN, tly_excess_of(c, &e));
    if (tile->more)
        emit_end(c, &more);
    return v;
}

/* Interleaved scans have one element a lane. Each segment begins with the carries of the lanes that
 * end the one before. */
static void scan_interleaved(tly_gpu *g, tly_group *t, tly_tile *tile)
{
    kir_value ends = last_of_scan(g, t), carry = neutral(g);
    for (unsigned s = 0; s < segments_of(g); s++) {
        kir_value v = tly_group_scan_lanes(g, t, tile->x[s], NULL);
        tile->y[s] = s > 0 ? tly_combine(&g->c, carry, v) : v;
        kir_value before = from_below(g, t, tile->y[s], g->interleave);
        tile->before[s] = if_below(g, t, g->interleave, before, carry);
        carry = tly_group_from(g, t, tile->y[s], ends);
    }
    tile->total = carry;
    tile->excess = excess_of(g, t, tile);
}

/* The window of elements of a vector up to the i-th. */
static kir_value with_heads(tly_gpu *g, const tly_tile *tile, unsigned i, kir_value window)
{
    return tile->heads ? tly_with_head(&g->c, tly_tile_heads_up_to(g, tile->heads, i), window)
                       : window;
}

/* The heads of results. */
static void cover(tly_gpu *g, tly_tile *tile)
{
    tile->covered = tly_tile_heads_before(g, tile->heads, tile->before);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        tile->y[i] = tly_with_head(&g->c, tly_tile_head(g, tile->covered, i), tile->y[i]);
}

/* The lanes' windows of one vector each: those before them, and that of all. */
static void scan_vector(tly_gpu *g, tly_group *t, kir_value own, kir_value *before,
                        kir_value *whole)
{
    kir_value lanes = tly_group_scan_lanes(g, t, own, NULL);
    kir_value below_it = from_below(g, t, lanes, 1);
    *before = if_below(g, t, 1, below_it, neutral(g));
    *whole = tly_group_from(g, t, lanes, u32(g, t->width - 1));
}

/* The same of windows that may have heads, if lanes vote: their votes say which lanes lie behind a
 * head, so that only what is behind it goes from lane to lane. A lane's own vote is its highest
 * bit. Nothing comes before lane 0, as before a head. */
static void scan_voted(tly_gpu *g, tly_group *t, kir_value own, kir_value *before, kir_value *whole)
{
    tly_build *c = &g->c;
    kir_value heads = some(g, t, differ(c, kir_part(c->b, own, 0), u32(g, 0)));
    kir_value up = sub(c, u32(g, 31), t->lane), ends = shl(c, bor(c, heads, u32(g, 1)), up);
    kir_value v = tly_without_head(c, own);
    for (unsigned by = 1; by < t->used; by *= 2) {
        kir_value goes_on = ult(c, ends, u32(g, INT64_C(1) << (32 - by)));
        v = choose(c, goes_on, tly_combine(c, from_below(g, t, v, by), v), v);
    }
    kir_value below = band(c, shl(c, heads, up), u32(g, INT32_MAX));
    kir_value none = tly_without_head(c, neutral(g));
    *before = tly_with_head(c, below, if_below(g, t, 1, from_below(g, t, v, 1), none));
    *whole = tly_with_head(c, heads, tly_group_from(g, t, v, u32(g, t->width - 1)));
}

void tly_group_scan(tly_gpu *g, tly_group *t, tly_tile *tile)
{
    const int is_voted = tile->heads && votes(g) && t->width <= 32;
    tly_build *c = &g->c;
    unsigned n = vector_of(g), segments = segments_of(g);
    kir_value a[TLY_GPU_MOST_ELEMENTS] = { 0 }, run = neutral(g), ahead[TLY_GPU_MOST_SEGMENTS];
    if (g->interleave > 1) {
        scan_interleaved(g, t, tile);
        return;
    }
    for (unsigned s = 0; s < segments; s++) {
        for (unsigned v = 0; v < n; v++) {
            kir_value x = tile->x[s * n + v];
            x = v > 0 ? tly_combine(c, a[s * n + v - 1], x) : x;
            a[s * n + v] = with_heads(g, tile, s * n + v, x);
        }
        kir_value whole;
        (is_voted ? scan_voted : scan_vector)(g, t, a[s * n + n - 1], &tile->before[s], &whole);
        ahead[s] = run;
        run = s > 0 ? tly_combine(c, run, whole) : whole;
    }
    tile->excess = excess_of(g, t, tile);
    kir_value groups = t->clusters > 1 ? scan_groups(g, t, run, &tile->excess, &tile->total) : 0;
    if (t->clusters == 1)
        tile->total = run;
    for (unsigned s = 0; s < segments; s++) {
        kir_value lead = s > 0 ? ahead[s] : groups;
        if (s > 0 && groups)
            lead = tly_combine(c, groups, lead);
        if (lead)
            tile->before[s] = tly_combine(c, lead, tile->before[s]);
        for (unsigned v = 0; v < n; v++)
            tile->y[s * n + v] = tly_combine(c, tile->before[s], a[s * n + v]);
    }
    if (tile->heads)
        cover(g, tile);
}

unsigned tly_group_after(const tly_gpu *g, const tly_group *t, unsigned i)
{
    unsigned vector = vector_of(g);
    return i / vector * t->used * vector + i % vector;
}

tly_place tly_group_place(tly_gpu *g, const tly_group *t, const tly_gpu_extent *extent, unsigned i)
{
    tly_place first = tly_gpu_place(extent, t->base);
    first.head = extent->heads ? tly_tile_head(g, extent->heads, i) : 0;
    return tly_place_after(first, tly_group_after(g, t, i), 0);
}
