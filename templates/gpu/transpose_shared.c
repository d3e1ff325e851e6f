/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template "turned": one invocation goes along each lane, in the plain loop's order, where
 * neighbours in memory are positions of a lane and not lanes. A workgroup takes as many lanes as it
 * has invocations, tile by tile. It accesses memory in memory's order, and transposes each tile in
 * workgroup memory: of the input, of the output or of both (tly_gpu_transposes_in, _out).
 *
 * Short rows that lie one behind the other are one block of memory. They are moved by whole
 * accesses, whatever their length.
 */
#include "gpu.h"

#include <string.h>

/* The input or the output of the tile at hand. */
typedef struct side {
    int tensor, transposed;
    kir_value places; /* in workgroup memory: the bytes from the base to each lane */
    kir_value step;   /* bytes from a position to the next */
    int64_t known;    /* the same as a literal, or 0 */
    unsigned most;    /* neighbours of a lane that one access may take */
} side;

typedef struct transpose {
    tly_gpu *g;
    unsigned lanes, positions; /* of a tile */
    unsigned pitch;  /* slots of a lane: odd, so that neighbouring lanes' are in different banks */
    unsigned slot;   /* bytes */
    int contiguous;  /* rows, one behind the other */
    kir_value tile;  /* workgroup memory */
    kir_value local; /* the invocation's lane in the tile */
    kir_value here;  /* lanes of the workgroup that exist */
    kir_value valid; /* i1: the invocation's own does */
    kir_value from;  /* the tile's first position */
    kir_value length;
    tly_gpu_row own; /* contiguous: the workgroup's first */
    side side[TLY_FIRST_OPERAND];
} transpose;

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
static piece piece_of(const transpose *t, kir_value e)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value positions = u32(g, t->positions), number = e;
    piece p = { .e = e };
    if (!t->contiguous || t->pitch != t->positions) {
        p.lane = udiv(c, e, positions);
        p.position = sub(c, e, mul(c, p.lane, positions));
        number = add(c, mul(c, p.lane, u32(g, t->pitch)), p.position);
    }
    p.slot = ptradd(c, t->tile, mul(c, number, u32(g, t->slot)));
    return p;
}

static piece first_piece(const transpose *t, unsigned count)
{
    return piece_of(t, mul(&t->g->c, t->local, u32(t->g, count)));
}

/* What this invocation moves in its j-th round, `count` neighbours each: those of all invocations
 * lie side by side. Where a round takes whole lanes the next one's are so many lanes on. */
static piece piece_at(const transpose *t, const piece *first, unsigned j, unsigned count)
{
    tly_build *c = &t->g->c;
    unsigned each = t->lanes * count, lanes = each / t->positions;
    piece p = *first;
    if (each % t->positions == 0 || (t->contiguous && t->pitch == t->positions)) {
        p.after = j * each;
        p.offset = (int64_t)j * (lanes * t->positions == each ? lanes * t->pitch : each) * t->slot;
        if (!t->contiguous)
            p.lane = add(c, p.lane, u32(t->g, (int64_t)j * lanes));
        return p;
    }
    return j == 0 ? p : piece_of(t, add(c, first->e, u32(t->g, (int64_t)j * each)));
}

static kir_value own_slots(const transpose *t)
{
    tly_build *c = &t->g->c;
    return ptradd(c, t->tile, mul(c, t->local, u32(t->g, t->pitch * t->slot)));
}

static unsigned bytes_of(kir_type type)
{
    return kir_kind_bits((kir_kind)type.kind) / 8;
}

static void put_slots(const transpose *t, kir_value slot, int64_t offset, const kir_value *v,
                      unsigned count)
{
    tly_build *c = &t->g->c;
    for (unsigned i = 0; i < count; i++)
        kir_store(c->b, slot, offset + i * t->slot, v[i], bytes_of(type_of(c, v[i])), 0);
}

static void get_slots(const transpose *t, kir_value slot, int64_t offset, kir_type type,
                      kir_value *v, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        v[i] = kir_load(t->g->c.b, type, slot, offset + i * t->slot, bytes_of(type));
}

/* ---- memory in its own order ---- */

/* Where a piece is in memory, but for *offset. A tile that is not `whole` repeats what exists in
 * the place of what does not. */
static kir_value place_of(const transpose *t, const side *s, const piece *p, int whole,
                          int64_t *offset)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value one = u32(g, 1), position;
    *offset = 0;
    if (t->contiguous) {
        position = p->e;
        *offset = whole ? p->after * s->known : 0;
        if (!whole) {
            kir_value all = mul(c, t->here, u32(g, t->positions));
            position = umin(c, add(c, p->e, u32(g, p->after)), sub(c, all, one));
        }
        return ptradd(c, t->own.tensor[s->tensor].at,
                      mul(c, tly_gpu_as_offset(g, position), s->step));
    }
    unsigned bytes = bytes_of(g->index);
    kir_value place = ptradd(c, s->places, mul(c, p->lane, u32(g, bytes)));
    kir_value lane = ptradd(c, arg(c, TLY_ARG(IN, s->tensor)),
                            kir_load(c->b, g->index, place, 0, bytes));
    position = add(c, t->from, p->position);
    if (!whole)
        position = umin(c, position, sub(c, t->length, one));
    return ptradd(c, lane, mul(c, tly_gpu_as_offset(g, position), s->step));
}

/* i1: a position exists, and lies in a segment. */
static kir_value is_scanned(const transpose *t, kir_value position)
{
    tly_gpu *g = t->g;
    kir_value exists = less(&g->c, position, t->length);
    return !tly_gpu_has_part(g) ? exists : band(&g->c, exists, tly_gpu_in_part(g, position, 1));
}

/* i1: the piece exists. */
static kir_value exists(const transpose *t, const piece *p)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    if (t->contiguous)
        return less(c, add(c, p->e, u32(g, p->after)), mul(c, t->here, u32(g, t->positions)));
    return band(c, is_scanned(t, add(c, t->from, p->position)), less(c, p->lane, t->here));
}

/* Neighbours an access of a whole tile: as many as divide a lane's positions, or, where no slot
 * is left out between two lanes, as fit. */
static unsigned neighbours(const transpose *t, const side *s, int whole)
{
    unsigned count = whole ? s->most : 1;
    while (t->positions % count != 0 && (!t->contiguous || t->positions % 2 == 0))
        count /= 2;
    return count;
}

/* Rounds in which an invocation moves `count` neighbours of the tile; in the last one some may be
 * idle. */
static unsigned rounds(const transpose *t, unsigned count)
{
    return (t->positions + count - 1) / count;
}

static kir_value takes_part(const transpose *t, unsigned j, unsigned count)
{
    unsigned left = t->lanes * t->positions / count - j * t->lanes;
    return less(&t->g->c, t->local, u32(t->g, left));
}

static void fetch_piece(const transpose *t, const piece *p, unsigned count, int whole, kir_value *x)
{
    const side *in = &t->side[TLY_IN];
    int64_t offset;
    kir_value at = place_of(t, in, p, whole, &offset);
    tly_gpu_fetch_along(t->g, at, offset, in->known, x, count);
}

/* Of an element of the input as it is fetched. */
static kir_type stored_type(const tly_build *c)
{
    return c->bytes[TLY_IN] < 4 ? KIR_TYPE(KIR_I32, 1)
                                : tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, 1);
}

/* The invocation's own lane of the input, by way of the tile. */
static void fetch_transposed(const transpose *t, int whole, kir_value *x)
{
    tly_build *c = &t->g->c;
    unsigned count = neighbours(t, &t->side[TLY_IN], whole), n = rounds(t, count);
    unsigned full = t->positions / count;
    kir_value stored[2 * TLY_GPU_MOST_ELEMENTS];
    piece p[TLY_GPU_MOST_ELEMENTS], first = first_piece(t, count);
    for (unsigned j = 0; j < n; j++)
        p[j] = piece_at(t, &first, j, count);
    for (unsigned j = 0; j < full; j++)
        fetch_piece(t, &p[j], count, whole, stored + j * count);
    for (unsigned j = 0; j < full; j++)
        put_slots(t, p[j].slot, p[j].offset, stored + j * count, count);
    if (full < n) {
        tly_region part = { 0 };
        emit_if(c, &part, takes_part(t, full, count));
        fetch_piece(t, &p[full], count, whole, stored);
        put_slots(t, p[full].slot, p[full].offset, stored, count);
        emit_end(c, &part);
    }
    kir_barrier(c->b);
    get_slots(t, own_slots(t), 0, stored_type(c), x, t->positions);
}

static void put_piece(const transpose *t, const piece *p, unsigned count, int whole, kir_type type)
{
    const side *out = &t->side[TLY_OUT];
    kir_value stored[TLY_GPU_MOST_ELEMENTS];
    int64_t offset;
    get_slots(t, p->slot, p->offset, type, stored, count);
    kir_value at = place_of(t, out, p, whole, &offset);
    tly_gpu_put_along(t->g, at, offset, out->known, stored, count);
}

/* The invocation's own results to memory, by way of the tile. */
static void put_transposed(const transpose *t, int whole, const kir_value *shown)
{
    tly_build *c = &t->g->c;
    unsigned count = neighbours(t, &t->side[TLY_OUT], whole), full = t->positions / count;
    piece first = first_piece(t, count);
    kir_type type = type_of(c, shown[0]);
    put_slots(t, own_slots(t), 0, shown, t->positions);
    kir_barrier(c->b);
    for (unsigned j = 0; j < rounds(t, count); j++) {
        piece p = piece_at(t, &first, j, count);
        tly_region some = { 0 };
        if (!whole)
            emit_if(c, &some, exists(t, &p));
        else if (j >= full)
            emit_if(c, &some, takes_part(t, j, count));
        put_piece(t, &p, count, whole, type);
        if (!whole || j >= full)
            emit_end(c, &some);
    }
}

/* ---- memory in the lanes' order ---- */

static void fetch_own(const transpose *t, int whole, kir_value *x)
{
    tly_gpu *g = t->g;
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

static void put_own(const transpose *t, int whole, const kir_value *shown)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value at = tly_gpu_address(g, &t->own, TLY_OUT, t->from);
    for (unsigned i = 0; i < t->positions; i++) {
        int64_t offset;
        tly_region is = { 0 };
        if (!whole)
            emit_if(c, &is, band(c, t->valid, is_scanned(t, add(c, t->from, u32(g, i)))));
        kir_value p = tly_gpu_near(g, &t->own, TLY_OUT, at, i, &offset);
        tly_gpu_put(g, p, offset, shown[i]);
        if (!whole)
            emit_end(c, &is);
    }
}

/* ---- tiles ---- */

/* Of the invocation's own lane; contiguous rows are one behind the other. */
static kir_value address(tly_build *c, const tly_place *at, int tensor)
{
    const transpose *t = at->of;
    kir_value positions = u32(t->g, t->positions);
    const tly_gpu_extent lane = { .row = &t->own,
                                  .count = t->contiguous ? mul(c, t->here, positions) : t->length };
    const tly_place first = tly_gpu_place(&lane,
                                          t->contiguous ? mul(c, t->local, positions) : t->from);
    const tly_place here = tly_place_after(first, at->more_positions, 0);
    return here.address(c, &here, tensor);
}

/* Contiguous rows are not cut into segments. */
static kir_value where(tly_build *c, const tly_place *at)
{
    const transpose *t = at->of;
    const tly_gpu_extent lane = { .row = &t->own, .count = t->length };
    const tly_place first = tly_gpu_place(&lane, t->from);
    const tly_place here = tly_place_after(first, at->more_positions, 0);
    return here.where(c, &here);
}

/* Contiguous rows begin with their tile. */
static kir_value begins(tly_build *c, const tly_place *at)
{
    const transpose *t = at->of;
    const tly_gpu_extent lane = { .row = &t->own };
    if (at->more_positions > 0)
        return 0;
    if (t->contiguous)
        return i1(c, 1);
    const tly_place first = tly_gpu_place(&lane, t->from);
    return first.begins(c, &first);
}

/* The state behind the i-th position, or, where the lane has ended, the one before. Only words with
 * a carry have a use for a state behind the lane's end. */
static kir_value behind(const transpose *t, int whole, unsigned i, kir_value before, kir_value next)
{
    tly_build *c = &t->g->c;
    if (whole || !c->p->carry)
        return next;
    return choose(c, less(c, add(c, t->from, u32(t->g, i)), t->length), next, before);
}

/* One tile after `carry`; returns the carry after it. If lanes end within the tile, words without a
 * carry have no use for that, and it may be anything. */
static kir_value take(const transpose *t, int whole, kir_value carry)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value x[TLY_GPU_MOST_ELEMENTS], shown[TLY_GPU_MOST_ELEMENTS];
    if (t->side[TLY_IN].transposed)
        fetch_transposed(t, whole, x);
    else
        fetch_own(t, whole, x);
    for (unsigned i = 0; i < t->positions; i++) {
        const tly_place at = { .address = address,
                               .begins = begins,
                               .where = where,
                               .of = t,
                               .position = t->from,
                               .more_positions = i,
                               .from = t->own.index };
        kir_value next = tly_combine(c, carry, tly_gpu_element(g, &at, x[i]));
        shown[i] = tly_gpu_narrow(g, tly_gpu_show(g, &at, c->p->exclusive ? carry : next));
        carry = behind(t, whole, i, carry, next);
    }
    if (t->side[TLY_OUT].transposed)
        put_transposed(t, whole, shown);
    else
        put_own(t, whole, shown);
    return carry;
}

static int has_wide(const transpose *t)
{
    int wide = 0;
    for (int k = 0; k < TLY_FIRST_OPERAND; k++)
        wide |= t->side[k].transposed && neighbours(t, &t->side[k], 1) > 1;
    return wide;
}

/* The tile from t->from on: all lanes and positions of it exist, or not. */
static kir_value tile(const transpose *t, kir_value carry)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value end = add(c, t->from, u32(g, t->positions));
    kir_value whole = band(c, ule(c, end, t->length), ule(c, u32(g, t->lanes), t->here));
    if (tly_gpu_has_part(g))
        whole = band(c, whole, tly_gpu_in_part(g, t->from, t->positions));
    if (has_wide(t))
        whole = band(c, whole, tly_gpu_flag(g, TLY_GPU_ALIGNED));
    tly_region is = { .state = { &carry } };
    emit_if(c, &is, whole);
    carry = take(t, 1, carry);
    emit_else(c, &is);
    carry = take(t, 0, carry);
    emit_end(c, &is);
    return carry;
}

static void along(transpose *t, const tly_gpu_item *item)
{
    tly_gpu *g = t->g;
    tly_build *c = &g->c;
    kir_value carry = tly_gpu_first_carry(g, item, u32(g, 0));
    tly_region l = { .state = { &carry } }, is = { 0 };
    emit_for(c, &l, u32(g, 0), t->length, u32(g, t->positions));
    t->from = l.i;
    carry = tile(t, carry);
    kir_barrier(c->b); /* the next one's may take the places of these */
    emit_end(c, &l);
    emit_if(c, &is, t->valid);
    tly_gpu_last_carry(g, item, u32(g, 0), carry);
    emit_end(c, &is);
}

/* ---- the workgroup ---- */

/* Each invocation tells the others where its lane begins; past the last one, where that does. */
static void find_lanes(transpose *t)
{
    tly_build *c = &t->g->c;
    unsigned bytes = bytes_of(t->g->index);
    for (int k = 0; k < TLY_FIRST_OPERAND; k++) {
        if (!t->side[k].transposed)
            continue;
        t->side[k].places = kir_shared(c->b, t->lanes * bytes);
        kir_value own = ptradd(c, t->side[k].places, mul(c, t->local, u32(t->g, bytes)));
        kir_store(c->b, own, 0, t->own.tensor[k].offset, bytes, 0);
    }
    kir_barrier(c->b);
}

static int is_transposed(const tly_problem *p, int tensor)
{
    return tensor == TLY_IN ? tly_gpu_transposes_in(p) : tly_gpu_transposes_out(p);
}

/* Steps of the axis in elements where they are literals; 0: they are none. */
static int64_t literal_step(const tly_problem *p, int tensor)
{
    if (p->form == TLY_ROWS)
        return p->tensor[tensor].step != TLY_ANY_STEP ? p->tensor[tensor].step : 0;
    return !is_transposed(p, tensor) ? 0 : p->lanes.packing == TLY_AXIS_DOWN ? -1 : 1;
}

static side side_of(const transpose *t, int tensor)
{
    const tly_build *c = &t->g->c;
    unsigned bytes = c->bytes[tensor];
    int64_t step = literal_step(c->p, tensor);
    side s = { .tensor = tensor, .transposed = is_transposed(c->p, tensor), .known = step * bytes };
    s.step = step != 0 ? tly_gpu_offset(t->g, s.known) : t->own.tensor[tensor].step;
    s.most = step == 1 || step == -1 ? TLY_GPU_ACCESS_BYTES / bytes : 1;
    return s;
}

/* A workgroup's contiguous rows are whole accesses, as it has 16 and more. Its invocations are not
 * told which row is whose, so each would not find its row's state. */
static int is_contiguous(const tly_gpu *g)
{
    const tly_problem *p = g->c.p;
    return !p->carry && p->form == TLY_ROWS && p->rows.contiguous &&
           p->rows.length == g->plan->vectors_per_thread;
}

static void build(tly_gpu *g, unsigned pass)
{
    tly_build *c = &g->c;
    transpose t = { .g = g,
                    .lanes = g->launch->pass[pass].workgroup,
                    .positions = (unsigned)g->plan->vectors_per_thread,
                    .slot = tly_gpu_transposed_slot(c->p),
                    .contiguous = is_contiguous(g) };
    g->launch->pass[pass].items = TLY_ITEMS_ROWS;
    g->launch->pass[pass].per_group = t.lanes;
    for (int k = 0; k < TLY_FIRST_OPERAND; k++)
        g->launch->loose |= t.contiguous || !is_transposed(c->p, k) ? 1u << k : 0;
    kir_value begin = mul(c, tly_gpu_group(g), u32(g, t.lanes)), items = tly_gpu_items(g);
    t.local = kir_get_id(c->b, KIR_ID_LOCAL);
    kir_value number = add(c, begin, t.local);
    t.valid = ult(c, number, items);
    t.here = umin(c, sub(c, items, begin), u32(g, t.lanes));
    t.pitch = t.positions | 1;
    t.tile = kir_shared(c->b, t.lanes * t.pitch * t.slot);
    t.length = t.contiguous ? u32(g, t.positions) : arg(c, KIR_ARG_LENGTH);
    number = t.contiguous ? begin : umin(c, number, sub(c, items, u32(g, 1)));
    tly_gpu_item item = tly_gpu_item_of(g, number, 0);
    t.own = tly_gpu_row_of(g, &item);
    for (int k = 0; k < TLY_FIRST_OPERAND; k++)
        t.side[k] = side_of(&t, k);
    if (t.contiguous) {
        t.from = u32(g, 0);
        tile(&t, tly_gpu_start(g));
        return;
    }
    find_lanes(&t);
    along(&t, &item);
}

static unsigned positions_of(const tly_gpu *g)
{
    return (unsigned)g->plan->vectors_per_thread;
}

const tly_gpu_algorithm tly_gpu_transposed_algorithm = {
    .build = build,
    .passes = { "scan" },
    .multiple = positions_of,
};
