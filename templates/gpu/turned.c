/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turned: one invocation goes along each lane, in the plain loop's own order, where neighbours in
 * memory are a lane's positions, not lanes. A workgroup goes through as many lanes as it has
 * invocations, tile by tile: memory is accessed in its own order, and the tile is turned in
 * workgroup memory. That is done for the input, the output or both (tly_gpu_turns_in, _out). Short
 * rows that lie one behind the other are one block of memory, and go by whole accesses whatever
 * their length.
 */
#include "gpu.h"

#include <string.h>

/* The input or the output of the tile at hand. */
typedef struct side {
    int turned;
    kir_arg base;
    kir_value places;     /* in workgroup memory: the bytes from the base to each lane */
    kir_value at;         /* dense: where the workgroup's first element is */
    kir_value step;       /* bytes from a position to the next */
    int64_t known;        /* the same as a literal, or 0 */
    unsigned bytes, most; /* of an element; neighbours of a lane that one access may take */
} side;

typedef struct turn {
    unsigned lanes, positions; /* of a tile */
    unsigned pitch; /* slots of a lane: odd, so that neighbouring lanes' are in different banks */
    unsigned slot;  /* bytes */
    int dense;
    kir_value tile;  /* workgroup memory */
    kir_value local; /* the invocation's lane in the tile */
    kir_value here;  /* lanes of the workgroup that exist */
    kir_value valid; /* i1: the invocation's own does */
    kir_value from;  /* the tile's first position */
    kir_value length;
    tly_gpu_row own;
    side in, out;
} turn;

/* Neighbours that an invocation moves at once, of a tile in memory's order: from element `e` +
 * `after` on. */
typedef struct piece {
    kir_value e;
    unsigned after;
    kir_value lane, position; /* e's in the tile */
    kir_value slot;           /* an address, but for *offset */
    int64_t offset;
} piece;

/* ---- the tile ---- */

/* Element e of the tile is position e mod positions of lane e / positions. */
static piece piece_of(tly_gpu *g, const turn *t, kir_value e)
{
    tly_build *c = &g->c;
    kir_value positions = u32(g, t->positions), number = e;
    piece p = { .e = e };
    if (!t->dense || t->pitch != t->positions) {
        p.lane = udiv(c, e, positions);
        p.position = sub(c, e, mul(c, p.lane, positions));
        number = add(c, mul(c, p.lane, u32(g, t->pitch)), p.position);
    }
    p.slot = ptradd(c, t->tile, mul(c, number, u32(g, t->slot)));
    return p;
}

/* What this invocation moves in its j-th turn, `count` neighbours each: those of all invocations
 * lie side by side. Where a turn takes whole lanes the next one's are so many lanes on. */
static piece piece_at(tly_gpu *g, const turn *t, const piece *first, unsigned j, unsigned count)
{
    unsigned each = t->lanes * count, lanes = each / t->positions;
    piece p = *first;
    if (each % t->positions == 0 || (t->dense && t->pitch == t->positions)) {
        p.after = j * each;
        p.offset = (int64_t)j * (lanes * t->positions == each ? lanes * t->pitch : each) * t->slot;
        if (!t->dense)
            p.lane = add(&g->c, p.lane, u32(g, (int64_t)j * lanes));
        return p;
    }
    return j == 0 ? p : piece_of(g, t, add(&g->c, first->e, u32(g, (int64_t)j * each)));
}

static kir_value own_slots(tly_gpu *g, const turn *t)
{
    return ptradd(&g->c, t->tile, mul(&g->c, t->local, u32(g, t->pitch * t->slot)));
}

static unsigned bytes_of(const tly_gpu *g, kir_value v)
{
    return kir_kind_bits((kir_kind)type_of(&g->c, v).kind) / 8;
}

static void put_slots(tly_gpu *g, const turn *t, kir_value slot, int64_t offset, const kir_value *v,
                      unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        kir_store(g->c.b, slot, offset + i * t->slot, v[i], bytes_of(g, v[i]), 0);
}

static void get_slots(tly_gpu *g, const turn *t, kir_value slot, int64_t offset, kir_type type,
                      kir_value *v, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        v[i] = kir_load(g->c.b, type, slot, offset + i * t->slot, kir_kind_bits(type.kind) / 8);
}

/* ---- memory in its own order ---- */

/* Where a piece is in memory, but for *offset. A tile that is not `whole` repeats what exists in
 * the place of what does not. */
static kir_value place_of(tly_gpu *g, const turn *t, const side *s, const piece *p, int whole,
                          int64_t *offset)
{
    tly_build *c = &g->c;
    kir_value one = u32(g, 1), position;
    *offset = 0;
    if (t->dense) {
        position = p->e;
        *offset = whole ? p->after * s->known : 0;
        if (!whole) {
            kir_value all = mul(c, t->here, u32(g, t->positions));
            position = umin(c, add(c, p->e, u32(g, p->after)), sub(c, all, one));
        }
        return ptradd(c, s->at, mul(c, tly_gpu_widened(g, position), s->step));
    }
    unsigned bytes = kir_kind_bits((kir_kind)g->index.kind) / 8;
    kir_value place = ptradd(c, s->places, mul(c, p->lane, u32(g, bytes)));
    kir_value lane = ptradd(c, arg(c, s->base), kir_load(c->b, g->index, place, 0, bytes));
    position = add(c, t->from, p->position);
    if (!whole)
        position = umin(c, position, sub(c, t->length, one));
    return ptradd(c, lane, mul(c, tly_gpu_widened(g, position), s->step));
}

/* i1: the piece exists. */
static kir_value exists(tly_gpu *g, const turn *t, const piece *p)
{
    tly_build *c = &g->c;
    if (t->dense)
        return less(c, add(c, p->e, u32(g, p->after)), mul(c, t->here, u32(g, t->positions)));
    return both(g, less(c, add(c, t->from, p->position), t->length), less(c, p->lane, t->here));
}

/* Neighbours an access of a whole tile: as many as divide a lane's positions, or, where no slot
 * is left out between two lanes, as fit. */
static unsigned neighbours(const turn *t, const side *s, int whole)
{
    unsigned count = whole ? s->most : 1;
    while (t->positions % count != 0 && (!t->dense || t->positions % 2 == 0))
        count /= 2;
    return count;
}

/* Turns in which an invocation moves `count` neighbours of the tile; in the last one some may be
 * idle. */
static unsigned turns(const turn *t, unsigned count)
{
    return (t->positions + count - 1) / count;
}

static kir_value takes_part(tly_gpu *g, const turn *t, unsigned j, unsigned count)
{
    unsigned left = t->lanes * t->positions / count - j * t->lanes;
    return less(&g->c, t->local, u32(g, left));
}

static void fetch_piece(tly_gpu *g, const turn *t, const piece *p, unsigned count, int whole,
                        kir_value *x)
{
    int64_t offset;
    kir_value at = place_of(g, t, &t->in, p, whole, &offset);
    tly_gpu_fetch_along(g, at, offset, t->in.known, x, count);
}

static piece first_piece(tly_gpu *g, const turn *t, unsigned count)
{
    return piece_of(g, t, mul(&g->c, t->local, u32(g, count)));
}

/* Of an element of the input as it is fetched. */
static kir_type stored_type(const tly_gpu *g)
{
    return g->c.bytes[TLY_IN] < 4 ? KIR_TYPE(KIR_I32, 1)
                                  : tly_storage((tally_dtype)g->c.p->tensor[TLY_IN].dtype, 1);
}

/* The invocation's own lane of the input, by way of the tile. */
static void fetch_turned(tly_gpu *g, const turn *t, int whole, kir_value *x)
{
    tly_build *c = &g->c;
    unsigned count = neighbours(t, &t->in, whole), n = turns(t, count), full = t->positions / count;
    kir_value stored[2 * TLY_GPU_MOST_ELEMENTS];
    piece p[TLY_GPU_MOST_ELEMENTS], first = first_piece(g, t, count);
    for (unsigned j = 0; j < n; j++)
        p[j] = piece_at(g, t, &first, j, count);
    for (unsigned j = 0; j < full; j++)
        fetch_piece(g, t, &p[j], count, whole, stored + j * count);
    for (unsigned j = 0; j < full; j++)
        put_slots(g, t, p[j].slot, p[j].offset, stored + j * count, count);
    if (full < n) {
        kir_branch part;
        kir_if(c->b, &part, takes_part(g, t, full, count));
        fetch_piece(g, t, &p[full], count, whole, stored);
        put_slots(g, t, p[full].slot, p[full].offset, stored, count);
        kir_if_end(c->b, &part, 0, NULL);
    }
    kir_barrier(c->b);
    get_slots(g, t, own_slots(g, t), 0, stored_type(g), x, t->positions);
}

static void put_piece(tly_gpu *g, const turn *t, const piece *p, unsigned count, int whole,
                      kir_type type)
{
    kir_value stored[TLY_GPU_MOST_ELEMENTS];
    int64_t offset;
    get_slots(g, t, p->slot, p->offset, type, stored, count);
    kir_value at = place_of(g, t, &t->out, p, whole, &offset);
    tly_gpu_put_along(g, at, offset, t->out.known, stored, count);
}

/* The invocation's own results to memory, by way of the tile. */
static void put_turned(tly_gpu *g, const turn *t, int whole, const kir_value *shown)
{
    tly_build *c = &g->c;
    unsigned count = neighbours(t, &t->out, whole), full = t->positions / count;
    piece first = first_piece(g, t, count);
    kir_type type = type_of(c, shown[0]);
    put_slots(g, t, own_slots(g, t), 0, shown, t->positions);
    kir_barrier(c->b);
    for (unsigned j = 0; j < turns(t, count); j++) {
        piece p = piece_at(g, t, &first, j, count);
        kir_branch some;
        if (!whole)
            kir_if(c->b, &some, exists(g, t, &p));
        else if (j >= full)
            kir_if(c->b, &some, takes_part(g, t, j, count));
        put_piece(g, t, &p, count, whole, type);
        if (!whole || j >= full)
            kir_if_end(c->b, &some, 0, NULL);
    }
}

/* ---- memory in the lanes' order ---- */

static void fetch_own(tly_gpu *g, const turn *t, int whole, kir_value *x)
{
    tly_build *c = &g->c;
    kir_value at = tly_gpu_address(g, &t->own, TLY_IN, t->from);
    kir_value last = sub(c, t->length, u32(g, 1));
    for (unsigned i = 0; i < t->positions; i++) {
        int64_t offset = 0;
        kir_value p, position = add(c, t->from, u32(g, i));
        if (whole)
            p = tly_gpu_near(g, &t->own, TLY_IN, at, i, &offset);
        else
            p = tly_gpu_address(g, &t->own, TLY_IN, umin(c, position, last));
        x[i] = tly_gpu_fetch(g, p, offset);
    }
}

static void put_own(tly_gpu *g, const turn *t, int whole, const kir_value *shown)
{
    tly_build *c = &g->c;
    kir_value at = tly_gpu_address(g, &t->own, TLY_OUT, t->from);
    for (unsigned i = 0; i < t->positions; i++) {
        int64_t offset;
        kir_branch is;
        if (!whole)
            kir_if(c->b, &is, both(g, t->valid, less(c, add(c, t->from, u32(g, i)), t->length)));
        kir_value p = tly_gpu_near(g, &t->own, TLY_OUT, at, i, &offset);
        tly_gpu_put(g, p, offset, shown[i]);
        if (!whole)
            kir_if_end(c->b, &is, 0, NULL);
    }
}

/* ---- tiles ---- */

/* One tile after `carry`; returns the carry after it, which is nothing to go by where lanes end
 * within. */
static kir_value take(tly_gpu *g, const turn *t, int whole, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value x[TLY_GPU_MOST_ELEMENTS], shown[TLY_GPU_MOST_ELEMENTS];
    if (t->in.turned)
        fetch_turned(g, t, whole, x);
    else
        fetch_own(g, t, whole, x);
    for (unsigned i = 0; i < t->positions; i++) {
        kir_value next = tly_combine(c, carry, tly_lift(c, tly_gpu_widen(g, x[i])));
        shown[i] = tly_gpu_narrow(g, tly_project(c, c->p->exclusive ? carry : next));
        carry = next;
    }
    if (t->out.turned)
        put_turned(g, t, whole, shown);
    else
        put_own(g, t, whole, shown);
    return carry;
}

static int has_wide(const turn *t)
{
    return (t->in.turned && neighbours(t, &t->in, 1) > 1) ||
           (t->out.turned && neighbours(t, &t->out, 1) > 1);
}

/* The tile from t->from on: all lanes and positions of it exist, or not. */
static kir_value tile(tly_gpu *g, const turn *t, kir_value carry)
{
    tly_build *c = &g->c;
    kir_value end = add(c, t->from, u32(g, t->positions));
    kir_value whole = both(g, ule(c, end, t->length), ule(c, u32(g, t->lanes), t->here));
    if (has_wide(t))
        whole = both(g, whole, tly_gpu_flag(g, TLY_GPU_ALIGNED));
    kir_branch is;
    kir_if(c->b, &is, whole);
    kir_value after = take(g, t, 1, carry);
    kir_else(c->b, &is, 1, &after);
    after = take(g, t, 0, carry);
    kir_if_end(c->b, &is, 1, &after);
    return is.result[0];
}

static void along(tly_gpu *g, turn *t, const tly_gpu_item *item)
{
    tly_build *c = &g->c;
    kir_value carry = tly_gpu_first_carry(g, item, u32(g, 0));
    kir_loop l;
    kir_branch is;
    kir_for(c->b, &l, u32(g, 0), t->length, u32(g, t->positions), 1, &carry);
    t->from = l.i;
    carry = tile(g, t, l.carried[0]);
    kir_barrier(c->b); /* the next one's may take the places of these */
    kir_for_end(c->b, &l, &carry);
    kir_if(c->b, &is, t->valid);
    tly_gpu_last_carry(g, item, u32(g, 0), l.result[0]);
    kir_if_end(c->b, &is, 0, NULL);
}

/* ---- the workgroup ---- */

static kir_value places_of(tly_gpu *g, const turn *t, kir_value offset)
{
    tly_build *c = &g->c;
    unsigned bytes = kir_kind_bits((kir_kind)g->index.kind) / 8;
    kir_value places = kir_shared(c->b, t->lanes * bytes);
    kir_value own = ptradd(c, places, mul(c, t->local, u32(g, bytes)));
    kir_store(c->b, own, 0, offset, bytes, 0);
    return places;
}

/* Each invocation tells the others where its lane begins; past the last one, where that does. */
static void find_lanes(tly_gpu *g, turn *t)
{
    if (t->in.turned)
        t->in.places = places_of(g, t, t->own.tensor[TLY_IN].offset);
    if (t->out.turned)
        t->out.places = places_of(g, t, t->own.tensor[TLY_OUT].offset);
    kir_barrier(g->c.b);
}

static side side_of(tly_gpu *g, int turned, kir_arg base, unsigned bytes, int64_t known,
                    kir_value step)
{
    side s = { .turned = turned, .base = base, .bytes = bytes, .known = known * bytes };
    s.step = known != 0 ? tly_gpu_offset(g, s.known) : step;
    s.most = known == 1 || known == -1 ? TLY_GPU_ACCESS_BYTES / bytes : 1;
    return s;
}

/* Steps of the axis in elements where they are literals; 0: they are none. */
static int64_t literal_in(const tly_problem *p)
{
    if (p->form == TLY_COLUMNS && p->lanes.packing == TLY_AXIS_UP)
        return 1;
    if (p->form == TLY_COLUMNS && p->lanes.packing == TLY_AXIS_DOWN)
        return -1;
    return p->form == TLY_ROWS && p->tensor[TLY_IN].step != TLY_ANY_STEP ? p->tensor[TLY_IN].step
                                                                         : 0;
}

static int64_t literal_out(const tly_problem *p)
{
    if (p->form == TLY_TRANSPOSED)
        return p->lanes.packing == TLY_AXIS_DOWN ? -1 : 1;
    return p->form == TLY_ROWS && p->tensor[TLY_OUT].step != TLY_ANY_STEP ? p->tensor[TLY_OUT].step
                                                                          : 0;
}

/* A workgroup's dense rows are whole accesses, as it has 16 and more. */
static int is_dense(const tly_gpu *g)
{
    const tly_problem *p = g->c.p;
    return p->form == TLY_ROWS && p->rows.dense && p->rows.length == g->plan->segments;
}

void tly_gpu_build_turned(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    const tly_problem *p = c->p;
    turn t = { .lanes = g->launch->pass[pass].workgroup,
               .positions = (unsigned)g->plan->segments,
               .slot = tly_gpu_turned_slot(p),
               .dense = is_dense(g) };
    g->launch->pass[pass].items = TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = t.lanes;
    g->launch->loose = (t.dense || !tly_gpu_turns_in(p) ? 1u << TLY_IN : 0) |
                       (t.dense || !tly_gpu_turns_out(p) ? 1u << TLY_OUT : 0);
    kir_value begin = mul(c, tly_gpu_group(g), u32(g, t.lanes)), items = tly_gpu_items(g);
    t.local = kir_get_id(c->b, KIR_ID_LOCAL);
    kir_value number = add(c, begin, t.local);
    t.valid = ult(c, number, items);
    t.here = umin(c, sub(c, items, begin), u32(g, t.lanes));
    t.pitch = t.positions | 1;
    t.tile = kir_shared(c->b, t.lanes * t.pitch * t.slot);
    t.length = t.dense ? u32(g, t.positions) : arg(c, KIR_ARG_LENGTH);
    number = t.dense ? begin : umin(c, number, sub(c, items, u32(g, 1)));
    tly_gpu_item item = tly_gpu_item_of(g, number, 0);
    t.own = tly_gpu_row_of(g, &item);
    t.in = side_of(g, tly_gpu_turns_in(p), KIR_ARG_IN, c->bytes[TLY_IN], literal_in(p),
                   t.own.tensor[TLY_IN].step);
    t.out = side_of(g, tly_gpu_turns_out(p), KIR_ARG_OUT, c->bytes[TLY_OUT], literal_out(p),
                    t.own.tensor[TLY_OUT].step);
    if (t.dense) {
        t.from = u32(g, 0);
        t.in.at = t.own.tensor[TLY_IN].at;
        t.out.at = t.own.tensor[TLY_OUT].at;
        tile(g, &t, tly_gpu_start(g));
        return;
    }
    find_lanes(g, &t);
    along(g, &t, &item);
}
