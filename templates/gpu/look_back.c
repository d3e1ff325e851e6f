/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row by all workgroups, every element read and written once. Workgroups take tiles by ticket, in
 * order, so that a tile waits only for workgroups that have started. Each publishes its tile's
 * total, looks back for the carry before it, publishes the carry after it.
 *
 * The carry before a tile is the carry after its predecessor, or, strictly from left to right, an
 * earlier one combined with the totals in between: ((P + T) + T) + T is what each of those tiles
 * computes itself, so the bits do not depend on which carry happens to be there first. That holds
 * while every tile in between is good after its carry, which a looker-back can tell from carry and
 * tile alone (tly_gpu_fits_any), or while nothing but the classes of the tile's elements matters
 * (range.c), which a tile publishes where its total is no use; else it waits for that tile's own
 * carry.
 *
 * A published word holds 16 bits of a value and a mark, so that each is complete in itself and no
 * memory has to be ordered.
 */
#include "gpu.h"

/* In a mark of classes the upper bits hold as many of the distance's upper word. No mark is as
 * large as CARRY_THERE. */
enum {
    MARK_BITS = 2,
    MARK_VALUE = 1,
    MARK_NONE = 2,
    MARK_CLASSES = 3,
    UPPER_BITS = 14,
    CARRY_THERE = 0x10000
};

/* Halves of 32-bit words of a state, each published as a word. */
enum { MOST_HALVES = TLY_MOST_STATE_BYTES / 2 };

/* Room for those of a state. */
static unsigned room(const tly_gpu *g)
{
    return g->c.state_bytes / 2;
}

/* 32-bit words of a part. */
static unsigned words_of(tly_gpu *g, kir_value part)
{
    return kir_kind_bits((kir_kind)kir_type_of(g->c.b, part).kind) / 32;
}

static unsigned halves_of(tly_gpu *g, kir_value state)
{
    unsigned n = 0;
    for (unsigned p = 0; p < kir_parts(g->c.b, state); p++)
        n += 2 * words_of(g, kir_part(g->c.b, state, p));
    return n;
}

unsigned tly_gpu_look_back_bytes(const tly_gpu *g)
{
    return 2 * 4 * room(g); /* a total and a carry */
}

static kir_value record_at(tly_gpu *g, kir_value number)
{
    kir_value at = mul(&g->c, tly_gpu_widened(g, number),
                       tly_gpu_offset(g, tly_gpu_look_back_bytes(g)));
    at = add(&g->c, at, tly_gpu_offset(g, TLY_GPU_TICKET_BYTES));
    return kir_ptradd(g->c.b, kir_get(g->c.b, KIR_ARG_SCRATCH), at);
}

/* Halves of a state's parts, each in the lower 16 bits of a word. */
static void split(tly_gpu *g, kir_value state, kir_value *halves)
{
    kir_builder *b = g->c.b;
    for (unsigned p = 0; p < kir_parts(b, state); p++) {
        kir_value v = kir_part(b, state, p);
        unsigned count = words_of(g, v);
        v = kir_convert(b, KIR_BITCAST, KIR_TYPE(KIR_I32, count), v);
        for (unsigned i = 0; i < count; i++, halves += 2) {
            kir_value part = kir_extract(b, v, i);
            halves[0] = kir_bin(b, KIR_AND, part, word(g, 0xffff));
            halves[1] = kir_bin(b, KIR_LSHR, part, word(g, 16));
        }
    }
}

/* A state `like` another. */
static kir_value join(tly_gpu *g, kir_value like, const kir_value *halves)
{
    kir_builder *b = g->c.b;
    kir_value parts[KIR_MAX_PARTS];
    for (unsigned p = 0; p < kir_parts(b, like); p++) {
        kir_value v = 0, one = kir_part(b, like, p);
        unsigned count = words_of(g, one);
        for (unsigned i = 0; i < count; i++, halves += 2) {
            kir_value low = kir_bin(b, KIR_AND, halves[0], word(g, 0xffff));
            kir_value whole = kir_bin(b, KIR_OR, low, kir_bin(b, KIR_SHL, halves[1], word(g, 16)));
            v = i == 0 ? kir_splat(b, whole, count) : kir_insert(b, v, whole, i);
        }
        parts[p] = kir_convert(b, KIR_BITCAST, kir_type_of(b, one), v);
    }
    return kir_tuple(b, kir_parts(b, like), parts);
}

/* Total (0) or carry (1) of a record. */
static int64_t place(const tly_gpu *g, int carry, unsigned half)
{
    return 4 * ((int64_t)room(g) * carry + half);
}

static void publish_words(tly_gpu *g, kir_value record, int carry, kir_value v, kir_value mark)
{
    kir_value halves[MOST_HALVES];
    kir_value top = kir_bin(g->c.b, KIR_SHL, mark, word(g, 16));
    split(g, v, halves);
    for (unsigned i = 0; i < halves_of(g, v); i++)
        kir_atomic_store(g->c.b, record, place(g, carry, i),
                         kir_bin(g->c.b, KIR_OR, halves[i], top));
}

/* Value, and its mark: 0 unless all of it was there. */
static kir_value look(tly_gpu *g, kir_value record, int carry, kir_value *mark)
{
    kir_builder *b = g->c.b;
    kir_value halves[MOST_HALVES], all = 0, like = tly_neutral(&g->c, g->c.acc);
    for (unsigned i = 0; i < halves_of(g, like); i++) {
        halves[i] = kir_atomic_load(b, record, place(g, carry, i));
        kir_value has = kir_cmp(b, KIR_NE, kir_bin(b, KIR_LSHR, halves[i], word(g, 16)),
                                word(g, 0));
        all = i == 0 ? has : kir_bin(b, KIR_AND, all, has);
    }
    *mark = kir_select(b, all, kir_bin(b, KIR_LSHR, halves[0], word(g, 16)), word(g, 0));
    return join(g, like, halves);
}

typedef struct tile_state {
    tly_team *team;
    kir_value record; /* its own */
} tile_state;

static void publish_carry(tly_gpu *g, void *user, kir_value after)
{
    const tile_state *s = user;
    kir_branch leader;
    kir_if(g->c.b, &leader, tly_team_leads(g, s->team));
    publish_words(g, s->record, 1, after, word(g, MARK_VALUE));
    kir_if_end(g->c.b, &leader, 0, NULL);
}

/* The total, or, where it holds after no carry, the classes, and in the mark what of the distance
 * fits in there. */
static kir_value summarise(tly_gpu *g, const tile_state *s, tly_tile *tile)
{
    kir_builder *b = g->c.b;
    kir_value summary[2], results[2] = { tile->total, word(g, MARK_VALUE) };
    if (tly_range_count(&g->c) == 0)
        return results[1];
    kir_branch good;
    kir_if(b, &good, tly_range_good(&g->c, tile->range, 0));
    kir_else(b, &good, 2, results);
    tly_gpu_summary_begin(g, summary);
    for (unsigned i = 0; i < tly_gpu_elements(g); i++)
        tly_gpu_summary_add(g, summary, tile->x[i]);
    tly_gpu_summary_fold(g, s->team, summary);
    kir_value upper = kir_bin(b, KIR_LSHR, summary[1], word(g, 31 - UPPER_BITS));
    results[0] = summary[0];
    results[1] = kir_bin(b, KIR_OR, word(g, MARK_CLASSES),
                         kir_bin(b, KIR_SHL, upper, word(g, MARK_BITS)));
    kir_if_end(b, &good, 2, results);
    tile->summary = good.result[0];
    return good.result[1];
}

/* For tests every third tile withholds it. */
static void publish_total(tly_gpu *g, const tile_state *s, tly_tile *tile, kir_value chunk)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value mark = summarise(g, s, tile);
    kir_value third = sub(c, chunk, mul(c, kir_bin(b, KIR_UDIV, chunk, word(g, 3)), word(g, 3)));
    kir_value stalls = kir_bin(b, KIR_AND, tly_gpu_flag(g, TLY_GPU_STALL),
                               kir_cmp(b, KIR_EQ, third, word(g, 1)));
    mark = kir_select(b, stalls, word(g, MARK_NONE), mark);
    kir_branch leader;
    kir_if(b, &leader, tly_team_leads(g, s->team));
    publish_words(g, s->record, 0, tile->summary ? tile->summary : tile->total, mark);
    kir_if_end(b, &leader, 0, NULL);
}

/* i1: a published total or class of this mark may be combined with a carry, whoever does it. */
static kir_value combines(tly_gpu *g, kir_value carry, kir_value total, kir_value mark)
{
    kir_builder *b = g->c.b;
    unsigned low = 31 - UPPER_BITS;
    kir_value sort = kir_bin(b, KIR_AND, mark, word(g, (1 << MARK_BITS) - 1));
    kir_value good = kir_cmp(b, KIR_EQ, sort, word(g, MARK_VALUE));
    if (tly_range_count(&g->c) == 0)
        return good;
    kir_value distance = kir_bin(b, KIR_SHL, kir_bin(b, KIR_LSHR, mark, word(g, MARK_BITS)),
                                 word(g, low));
    distance = kir_bin(b, KIR_OR, distance, word(g, (1 << low) - 1)); /* at most that far */
    kir_value decided = kir_bin(b, KIR_OR, tly_gpu_prevails(g, total),
                                tly_gpu_settled(g, carry, distance));
    kir_value classes = kir_cmp(b, KIR_EQ, sort, word(g, MARK_CLASSES));
    return kir_bin(b, KIR_OR, kir_bin(b, KIR_AND, good, tly_gpu_fits_any(g, carry)),
                   kir_bin(b, KIR_AND, classes, decided));
}

/* One look at the tiles before: lane l sees tile `chunk - width + l`. From left to right, a carry
 * that is there is taken, a total is combined, anything else is a gap. i1: the last is no gap. */
static kir_value look_back_once(tly_gpu *g, tly_team *t, const tly_gpu_item *item, kir_value *carry)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    kir_value back = sub(c, word(g, t->width), t->lane);
    kir_value exists = kir_cmp(b, KIR_ULE, back, item->chunk), has_carry, mark;
    kir_value number = sub(c, item->record, mul(c, back, tly_gpu_items(g)));
    kir_value record = record_at(g, kir_select(b, exists, number, item->record));
    kir_value after = look(g, record, 1, &has_carry), total = look(g, record, 0, &mark);
    kir_value carries = kir_const(b, KIR_TYPE(KIR_I32, 1), CARRY_THERE), none = word(g, 0);
    mark = kir_select(b, kir_cmp(b, KIR_NE, has_carry, none), carries, mark);
    mark = kir_select(b, exists, mark, none);
    kir_value one = word(g, 1), state[2] = { none, tly_neutral(c, c->acc) };
    kir_loop l;
    kir_for(b, &l, word(g, 0), word(g, t->width), one, 2, state);
    kir_value mark_there = tly_team_from(g, t, mark, l.i);
    kir_value total_there = tly_team_from(g, t, total, l.i);
    kir_value after_there = tly_team_from(g, t, after, l.i);
    kir_value known = kir_cmp(b, KIR_EQ, l.carried[0], one);
    kir_value takes = kir_cmp(b, KIR_EQ, mark_there, carries);
    kir_value goes = kir_bin(b, KIR_AND, known, combines(g, l.carried[1], total_there, mark_there));
    state[0] = kir_select(b, kir_bin(b, KIR_OR, takes, goes), one, none);
    state[1] = kir_select(b, takes, after_there, tly_combine(c, l.carried[1], total_there));
    kir_for_end(b, &l, state);
    *carry = l.result[1];
    return kir_cmp(b, KIR_EQ, l.result[0], one);
}

static kir_value wait_for_carry(tly_gpu *g, tly_team *t, const tly_gpu_item *item)
{
    kir_builder *b = g->c.b;
    kir_value state[2] = { kir_const(b, KIR_TYPE(KIR_I1, 1), 1), tly_neutral(&g->c, g->c.acc) };
    kir_loop l;
    kir_for(b, &l, word(g, 0), word(g, INT32_MAX), word(g, 1), 2, state);
    kir_for_while(b, &l);
    kir_value found = look_back_once(g, t, item, &state[1]);
    state[0] = kir_select(b, found, kir_const(b, KIR_TYPE(KIR_I1, 1), 0), l.carried[0]);
    kir_for_end(b, &l, state);
    return l.result[1];
}

/* The first lane group finds the carry, for all. */
static kir_value carry_before(tly_gpu *g, tly_team *t, const tly_gpu_item *item)
{
    kir_builder *b = g->c.b;
    kir_branch first, looks;
    kir_value neutral = tly_neutral(&g->c, g->c.acc);
    kir_if(b, &looks, kir_cmp(b, KIR_EQ, t->group, word(g, 0)));
    kir_if(b, &first, kir_cmp(b, KIR_EQ, item->chunk, word(g, 0)));
    kir_value start = tly_gpu_first_carry(g, item, word(g, 0));
    kir_else(b, &first, 1, &start);
    kir_value found = wait_for_carry(g, t, item);
    kir_if_end(b, &first, 1, &found);
    kir_else(b, &looks, 1, &first.result[0]);
    kir_if_end(b, &looks, 1, &neutral);
    return tly_team_broadcast(g, t, looks.result[0]);
}

/* The workgroup's tile: a ticket that one invocation draws. */
static kir_value draw(tly_gpu *g)
{
    kir_builder *b = g->c.b;
    kir_value place = kir_shared(b, 16), scratch = kir_get(b, KIR_ARG_SCRATCH);
    kir_branch one;
    kir_if(b, &one, kir_cmp(b, KIR_EQ, kir_get_id(b, KIR_ID_LOCAL), word(g, 0)));
    kir_store(b, place, 0, kir_atomic_add(b, scratch, 0, word(g, 1)), 4, 0);
    kir_if_end(b, &one, 0, NULL);
    kir_barrier(b);
    return kir_load(b, KIR_TYPE(KIR_I32, 1), place, 0, 4);
}

void tly_gpu_build_look_back(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    kir_builder *b = c->b;
    g->launch->pass[pass].items = TLY_ITEMS_CHUNKS;
    g->launch->pass[pass].per_group = 1;
    tly_team t = tly_team_make(g);
    tly_gpu_item item = tly_gpu_item_of(g, draw(g), 1);
    kir_branch exists;
    kir_if(b, &exists, item.valid);
    tly_gpu_row row = tly_gpu_row_of(g, &item);
    kir_value begin = mul(c, item.chunk, word(g, t.tile));
    kir_value count = sub(c, kir_get(b, KIR_ARG_LENGTH), begin);
    tly_gpu_row at = tly_gpu_at(g, &row, begin);
    tile_state s = { &t, record_at(g, item.record) };
    tly_tile tile = { .publish = publish_carry, .user = &s };
    tly_tile_load(g, &t, &at, count, &tile);
    tly_team_scan(g, &t, &tile);
    tly_tile_watch(g, &t, &tile);
    publish_total(g, &s, &tile, item.chunk);
    kir_value carry = carry_before(g, &t, &item);
    carry = tly_tile_finish(g, &t, &at, count, &tile, carry);
    kir_branch last;
    kir_value is_last = kir_cmp(b, KIR_SLE, count, word(g, t.tile));
    kir_if(b, &last, kir_bin(b, KIR_AND, is_last, tly_team_leads(g, &t)));
    tly_gpu_last_carry(g, &item, word(g, 0), carry);
    kir_if_end(b, &last, 0, NULL);
    kir_if_end(b, &exists, 0, NULL);
}
