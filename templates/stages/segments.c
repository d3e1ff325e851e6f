/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segments of an axis, one after another, each as an axis of its own. Where they begin and end
 * is the same for all lanes and rows.
 */
#include "../template.h"

/* Offset i as an i64. */
static kir_value offset_at(tly_build *c, kir_value i)
{
    const int t = tly_operands_end(c->p);
    const unsigned bytes = c->bytes[t];
    kir_value at = tly_at(c, arg(c, TLY_ARG(IN, t)), i, bytes);
    kir_value offset = kir_load(c->b, KIR_TYPE(bytes == 8 ? KIR_I64 : KIR_I32, 1), at, 0, bytes);
    return bytes == 8 ? offset : convert(c, KIR_SEXT, KIR_TYPE(KIR_I64, 1), offset);
}

/* Positions of rows count the elements of all their scans. */
kir_value tly_segment_border(tly_build *c, kir_value i)
{
    kir_value scans = imm(c, c->p->interleave);
    if (c->p->segmented == TLY_SEGMENTED_OFFSETS)
        return mul(c, offset_at(c, i), scans);
    kir_value border = mul(c, mul(c, i, arg(c, KIR_ARG_SEGMENT_SIZE)), scans);
    return tly_min(c, border, arg(c, KIR_ARG_LENGTH));
}

/* ---- heads ---- */

kir_value tly_segment_head(tly_build *c, kir_value i)
{
    if (!c->p->downwards)
        return tly_segment_border(c, i);
    kir_value last = tly_segment_border(c, sub(c, arg(c, KIR_ARG_SEGMENTS), i));
    return sub(c, arg(c, KIR_ARG_LENGTH), last);
}

tly_row tly_segment_states(tly_build *c, const tly_row *row, kir_value i)
{
    tly_row r = *row;
    if (c->p->downwards)
        i = sub(c, sub(c, arg(c, KIR_ARG_SEGMENTS), imm(c, 1)), i);
    for (int t = tly_carry_tensor(c->p); t < c->tensors; t++)
        r.at[t] = ptradd(c, row->at[t], mul(c, i, tly_axis(c, t)));
    return r;
}

kir_value tly_heads_before(tly_build *c, kir_value from, kir_value to)
{
    enum { HALVINGS = 32 }; /* there are 2^31 segments at most */
    kir_value low = from, high = arg(c, KIR_ARG_SEGMENTS), one = imm(c, 1);
    tly_region l = { .state = { &low, &high } };
    emit_for(c, &l, imm(c, 0), imm(c, HALVINGS), one);
    kir_value middle = lshr(c, add(c, low, high), one);
    kir_value before = band(c, less(c, low, high), less(c, tly_segment_head(c, middle), to));
    low = choose(c, before, add(c, middle, one), low);
    high = choose(c, before, high, middle);
    emit_end(c, &l);
    return low;
}

tly_heads tly_heads_begin(tly_build *c, kir_value scratch, kir_value next, kir_value again)
{
    return (tly_heads){ .marks = scratch,
                        .next = next,
                        .again = again,
                        .first = tly_segment_head(c, imm(c, 0)),
                        .end = tly_segment_head(c, arg(c, KIR_ARG_SEGMENTS)) };
}

/* The state that segment i begins with, to where its head lies: of several heads in one place, as
 * of segments that are empty, the last one stays. */
static void copy_state(tly_build *c, const tly_heads *h, kir_value i, kir_value offset)
{
    tly_region given = { 0 };
    emit_if(c, &given, h->given);
    const tly_row states = tly_segment_states(c, h->stateful, i);
    const tly_place at = tly_place_in(&states, 0, 0);
    tly_states_store(c, tly_states_at(c, h->states, offset), 0, tly_carry_load(c, &at, 1));
    emit_end(c, &given);
}

/* The same of all segments of a row whose block is marked already. */
static void copy_states(tly_build *c, const tly_heads *h, kir_value from)
{
    tly_region again = { 0 }, l = { 0 };
    emit_if(c, &again, band(c, h->again, h->given));
    emit_for(c, &l, imm(c, 0), arg(c, KIR_ARG_SEGMENTS), imm(c, 1));
    copy_state(c, h, l.i, sub(c, tly_segment_head(c, l.i), from));
    emit_end(c, &l);
    emit_end(c, &again);
}

/* Of interleaved scans the first element of each: heads follow each other by as many or more. */
static void mark(tly_build *c, kir_value position)
{
    const kir_type t = KIR_TYPE(KIR_I8, c->p->interleave > 1 ? TLY_MAX_INTERLEAVE + 1 : 1);
    kir_value marks = constant(c, t, 1);
    if (c->p->interleave > 1) {
        kir_value number = kir_iota(c->b, t), scans = constant(c, t, c->p->interleave);
        marks = choose(c, less(c, number, scans), marks, constant(c, t, 0));
    }
    kir_store(c->b, ptradd(c, c->heads, position), 0, marks, 1, 0);
}

int64_t tly_heads_block(const tly_build *c, int64_t most, int64_t step)
{
    const int64_t scans = c->p->interleave;
    int64_t whole = step;
    while (whole % scans != 0)
        whole += step;
    return most / whole * whole;
}

/* Segments whose heads lie before `to`, several at a time: one comparison for all, as the last head
 * is the farthest. */
static void mark_groups(tly_build *c, tly_heads *h, kir_value to)
{
    enum { GROUP = 8 };
    kir_value last = imm(c, GROUP - 1), behind = sub(c, arg(c, KIR_ARG_SEGMENTS), last);
    kir_value here = i1(c, 1);
    tly_region l = { .state = { &here, &h->next } }, all = { .state = { &h->next } };
    emit_for_while(c, &l, h->next, behind, imm(c, GROUP));
    here = less(c, tly_segment_head(c, add(c, l.i, last)), to);
    emit_if(c, &all, here);
    for (unsigned j = 0; j < GROUP; j++)
        mark(c, tly_segment_head(c, add(c, l.i, imm(c, j))));
    h->next = add(c, l.i, imm(c, GROUP));
    emit_end(c, &all);
    emit_end(c, &l);
}

static void clear_marks(tly_build *c, kir_value marks, kir_value bytes)
{
    const kir_type words = KIR_TYPE(KIR_I64, 8);
    tly_region clear = { 0 };
    emit_for(c, &clear, imm(c, 0), bytes, imm(c, 64));
    kir_store(c->b, ptradd(c, marks, clear.i), 0, constant(c, words, 0), 8, 0);
    emit_end(c, &clear);
}

void tly_heads_mark_rows(tly_build *c, kir_value scratch, kir_value length, kir_value end)
{
    tly_region each = { 0 };
    kir_value block = imm(c, TLY_HEADS_BLOCK), bytes = imm(c, TLY_HEADS_BYTES - TLY_HEADS_BLOCK);
    end = tly_min(c, end, block);
    c->heads = scratch;
    clear_marks(c, scratch, add(c, end, bytes));
    emit_for(c, &each, imm(c, 0), end, length);
    mark(c, each.i);
    emit_end(c, &each);
}

void tly_heads_mark(tly_build *c, tly_heads *h, kir_value from, kir_value to)
{
    kir_value one = imm(c, 1);
    tly_region wanted = { .state = { &h->next } };
    c->heads = ptradd(c, h->marks, sub(c, imm(c, 0), from));
    emit_unless(c, &wanted, h->again);
    clear_marks(c, h->marks, imm(c, TLY_HEADS_BYTES));
    if (h->stateful == NULL)
        mark_groups(c, h, to);
    kir_value position = tly_segment_head(c, h->next), here = less(c, position, to);
    tly_region l = { .state = { &here, &h->next, &position } };
    emit_for_while(c, &l, h->next, arg(c, KIR_ARG_SEGMENTS), one);
    mark(c, position);
    if (h->stateful != NULL)
        copy_state(c, h, l.i, sub(c, position, from));
    h->next = add(c, l.i, one);
    position = tly_segment_head(c, h->next); /* of the last segment where it ends */
    here = less(c, position, to);
    emit_end(c, &l);
    emit_end(c, &wanted);
    if (h->stateful != NULL)
        copy_states(c, h, from);
}

kir_value tly_heads_at(tly_build *c, const tly_place *at, unsigned lanes)
{
    kir_value position = add(c, at->position, imm(c, at->more_positions));
    kir_value marks = kir_load(c->b, KIR_TYPE(KIR_I8, lanes), ptradd(c, c->heads, position), 0, 1);
    if (!c->t->has_mask_registers && c->acc_bytes > 1) /* as wide as what the i1s will choose */
        marks = to_kind(c, KIR_ZEXT, integer_of(c->acc_bytes), marks);
    return differ(c, marks, like(c, marks, 0));
}

tly_segment tly_segment_of(tly_build *c, const tly_row *row, kir_value i)
{
    kir_value from = tly_segment_border(c, i), to = tly_segment_border(c, add(c, i, imm(c, 1)));
    tly_segment s = { .count = sub(c, to, from), .row = *row };
    kir_value first = c->p->downwards ? sub(c, arg(c, KIR_ARG_LENGTH), to) : from;
    const int elements = tly_operands_end(c->p);
    s.first = first;
    for (int t = 0; t < c->tensors; t++) {
        if (t == TLY_OUT && tly_reduces(c->p->form))
            s.row.at[t] = ptradd(c, row->at[t], mul(c, i, tly_axis(c, t)));
        else if (t < elements)
            s.row.at[t] = ptradd(c, row->at[t], mul(c, first, tly_axis(c, t)));
        else if (c->p->carry && t >= tly_carry_tensor(c->p))
            s.row.at[t] = ptradd(c, row->at[t], mul(c, i, tly_axis(c, t)));
    }
    return s;
}

/* n offsets from number `first` on. */
static kir_value offsets_from(tly_build *c, kir_value first, unsigned n)
{
    const int t = tly_operands_end(c->p);
    const unsigned bytes = c->bytes[t];
    kir_value at = tly_at(c, arg(c, TLY_ARG(IN, t)), first, bytes);
    return kir_load(c->b, KIR_TYPE(bytes == 8 ? KIR_I64 : KIR_I32, n), at, 0, bytes);
}

static kir_value as_counts(tly_build *c, kir_value offsets)
{
    const kir_type t = type_of(c, offsets);
    return t.kind == KIR_I64 ? convert(c, KIR_TRUNC, KIR_TYPE(KIR_I32, t.lanes), offsets) : offsets;
}

static kir_value size_of_each(tly_build *c, unsigned n)
{
    return kir_splat(c->b, as_counts(c, arg(c, KIR_ARG_SEGMENT_SIZE)), n);
}

kir_value tly_segment_counts(tly_build *c, kir_value first, unsigned n)
{
    if (c->p->segmented != TLY_SEGMENTED_OFFSETS)
        return size_of_each(c, n);
    kir_value to = offsets_from(c, add(c, first, imm(c, 1)), n);
    return as_counts(c, sub(c, to, offsets_from(c, first, n)));
}

kir_value tly_segment_starts(tly_build *c, kir_value first, unsigned n)
{
    if (c->p->segmented != TLY_SEGMENTED_OFFSETS)
        return mul(c, size_of_each(c, n), kir_iota(c->b, KIR_TYPE(KIR_I32, n)));
    kir_value from = offsets_from(c, first, n);
    return as_counts(c, sub(c, from, kir_splat(c->b, kir_extract(c->b, from, 0), n)));
}

void tly_each_segment(tly_build *c, const tly_row *row, tly_segment_body body, void *of)
{
    if (c->p->segmented == TLY_SEGMENTED_NOT) {
        const tly_segment all = { *row, imm(c, 0), arg(c, KIR_ARG_LENGTH) };
        body(c, &all, of);
        return;
    }
    tly_region l = { 0 };
    emit_for(c, &l, imm(c, 0), arg(c, KIR_ARG_SEGMENTS), imm(c, 1));
    const tly_segment one = tly_segment_of(c, row, l.i);
    c->from = one.first;
    body(c, &one, of);
    c->from = 0;
    emit_end(c, &l);
}
