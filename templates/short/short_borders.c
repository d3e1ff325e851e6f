/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short template: where rows begin in a vector. A window of 2^k elements has a border: lanes
 * that are less than that from their row's start must not take the window before. The distances
 * repeat with the rows, so each border has a table of masks, of which vectors are read. If masks
 * have registers of their own, one table of positions serves all borders.
 */
#include "short.h"

static unsigned border_count(const tly_short *s)
{
    return (s->doublings > 0 ? s->doublings : 1) + (unsigned)s->chains;
}

/* Border k is open for lanes that are so many elements from their row's start, or more. */
static unsigned reach(const tly_short *s, unsigned k)
{
    return s->chains && k + 1 == border_count(s) ? s->c->lanes : 1u << k;
}

unsigned tly_short_last_border(const tly_short *s)
{
    return border_count(s) - 1;
}

/* With 16 registers, a table of its own has what masked lanes become. A bitwise choice is one
 * operation only on machines with more registers. */
static int has_fillers(const tly_short *s)
{
    return s->by_bits && s->c->t->registers < 32;
}

/* Entries of a table for one border: the vectors up to where rows and vectors start together again,
 * where they are few, so that each is read where a vector starts: with AVX2, rows of 5 take .58 ns
 * an element from L2 by entries anywhere, .32 so (Emerald Rapids). Else a row and a vector. */
static int64_t entries(const tly_short *s)
{
    enum { MOST_VECTORS = 32 };
    int64_t lanes = s->c->lanes, length = s->literal > 0 ? s->literal : TLY_MEDIUM_ROW,
            even = length;
    while (even % lanes != 0)
        even += length;
    if (s->literal > 0 && even <= MOST_VECTORS * lanes)
        return even;
    return (length + 2 * lanes - 1) / lanes * lanes;
}

static int is_even(const tly_short *s)
{
    return s->literal > 0 && entries(s) % s->literal == 0 && entries(s) % s->c->lanes == 0;
}

/* Rows of whole vectors need no table if a step is whole rows. */
static int has_table(const tly_short *s)
{
    return !s->fixed && !(s->by_rows && s->literal % s->c->lanes == 0);
}

/* An entry is a lane of a mask or, if comparisons make masks, one byte: the position in the row. */
static int64_t entry_bytes(const tly_short *s)
{
    return s->by_positions ? 1 : s->c->acc_bytes;
}

static unsigned table_count(const tly_short *s)
{
    return s->by_positions ? 1 : (1 + (unsigned)has_fillers(s)) * border_count(s);
}

int64_t tly_short_table_bytes(const tly_short *s)
{
    return has_table(s) ? table_count(s) * entries(s) * entry_bytes(s) : 0;
}

static int64_t table_at(const tly_short *s, unsigned k)
{
    return k * entries(s) * s->c->acc_bytes;
}

/* Positions below twice the length, as positions in their row. */
static kir_value wrap(tly_short *s, kir_value position, kir_value length)
{
    tly_build *c = s->c;
    return umin(c, position, sub(c, position, length));
}

static kir_type positions_type(const tly_short *s)
{
    return KIR_TYPE(KIR_I8, s->c->lanes);
}

static void fill_table(tly_short *s, kir_value position, kir_value length)
{
    tly_build *c = s->c;
    unsigned borders = s->by_positions ? 0 : border_count(s), moves = c->lanes;
    if (s->literal > 0 && s->literal < c->lanes)
        moves = c->lanes % s->literal;
    kir_value end = is_even(s) ? imm(c, entries(s)) : add(c, s->length, imm(c, c->lanes));
    kir_value none = constant(c, s->bits, 0), all = constant(c, s->bits, UINT64_MAX);
    tly_region l = { .state = { &position } };
    emit_for(c, &l, imm(c, 0), end, imm(c, c->lanes));
    kir_value at = tly_at(c, s->table, l.i, entry_bytes(s));
    if (s->by_positions)
        kir_store(c->b, at, 0, convert(c, KIR_TRUNC, positions_type(s), position), 1, 0);
    for (unsigned k = 0; k < borders; k++) {
        kir_value open = ule(c, constant(c, s->bits, reach(s, k)), position);
        kir_store(c->b, at, table_at(s, k), choose(c, open, all, none), c->acc_bytes, 0);
        if (has_fillers(s))
            kir_store(c->b, at, table_at(s, borders + k), choose(c, open, none, s->neutral),
                      c->acc_bytes, 0);
    }
    position = wrap(s, add(c, position, constant(c, s->bits, moves)), length);
    emit_end(c, &l);
}

void tly_short_borders(tly_short *s)
{
    tly_build *c = s->c;
    kir_type one = KIR_TYPE(s->bits.kind, 1);
    kir_value length = s->length, position = kir_iota(c->b, s->bits);
    if (c->acc_bytes < 8)
        length = convert(c, KIR_TRUNC, one, length);
    length = kir_splat(c->b, length, c->lanes);
    for (unsigned rows = s->literal > 0 ? c->lanes / s->literal : 0; rows > 0; rows--)
        position = wrap(s, position, length);
    if (has_table(s))
        fill_table(s, position, length);
    if (s->row_by_row)
        s->ending = ult(c, kir_iota(c->b, s->bits), constant(c, s->bits, s->literal % c->lanes));
    if (!s->fixed)
        return;
    if (c->t->mask_bytes == 1)
        position = kir_keep(c->b, position);
    for (unsigned k = 0; k < border_count(s); k++)
        s->borders[k] = ule(c, constant(c, s->bits, reach(s, k)), position);
}

kir_value tly_short_next_position(tly_short *s, kir_value t)
{
    tly_build *c = s->c;
    kir_value period = is_even(s) ? imm(c, entries(s)) : s->length;
    if (s->fixed || s->by_rows)
        return t;
    t = add(c, t, imm(c, c->lanes));
    kir_value wrapped = sub(c, t, period);
    return choose(c, less(c, wrapped, imm(c, 0)), t, wrapped);
}

tly_short_vector tly_short_vector_of(const tly_short *s, unsigned k, kir_value t)
{
    int64_t lanes = s->c->lanes;
    tly_short_vector p = { .t = t };
    if (!s->by_rows)
        return p;
    int64_t from = k * lanes % s->literal;
    p.is_first = from == 0;
    p.position = from + lanes <= s->literal ? from : 0;
    p.t = imm(s->c, k * lanes % entries(s));
    return p;
}

/* Lanes far from their row's start all have the same entries, which are read where they cross no
 * line. */
static kir_value near_border(tly_short *s, kir_value t)
{
    tly_build *c = s->c;
    kir_value lanes = imm(c, c->lanes);
    if (is_even(s))
        return t;
    kir_value far = ule(c, sub(c, t, lanes), sub(c, sub(c, s->length, lanes), lanes));
    return choose(c, far, lanes, t);
}

kir_value tly_short_within(tly_short *s, kir_value v, unsigned k, const tly_short_vector *p,
                           kir_value other)
{
    tly_build *c = s->c;
    if (p->is_last && k != tly_short_last_border(s))
        return choose(c, s->ending, v, other);
    if (p->alone || p->is_first || p->position >= reach(s, k))
        return v;
    if (s->fixed)
        return choose(c, s->borders[k], v, other);
    if (s->by_positions) {
        kir_type t = positions_type(s);
        kir_value position = kir_load(c->b, t, ptradd(c, s->table, p->t), 0, 1);
        return choose(c, ule(c, constant(c, t, reach(s, k)), position), v, other);
    }
    kir_value at = tly_at(c, s->table, near_border(s, p->t), c->acc_bytes), fill;
    kir_value open = kir_load(c->b, s->bits, at, table_at(s, k), c->acc_bytes);
    if (!s->by_bits)
        return choose(c, differ(c, open, constant(c, s->bits, 0)), v, other);
    if (has_fillers(s) && other == s->neutral)
        fill = kir_load(c->b, s->bits, at, table_at(s, border_count(s) + k), c->acc_bytes);
    else
        fill = band(c, other, bxor(c, open, constant(c, s->bits, UINT64_MAX)));
    return bor(c, band(c, v, open), fill);
}
