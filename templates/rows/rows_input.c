/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: where a span's input is read. Vectors are read from memory. Elements that do
 * not fill the last step are copied to scratch first and padded there. Input with a stride that
 * only the launch knows is staged whole, as accumulators.
 */
#include "rows.h"

int64_t tly_rows_element_bytes(const tly_rows *r)
{
    const tly_build *c = r->c;
    return r->direct_in ? (int64_t)c->p->tensor[TLY_IN].step * c->bytes[TLY_IN] : c->acc_bytes;
}

int64_t tly_rows_reach(const tly_rows *r)
{
    return (1 << r->loads) - 1;
}

int64_t tly_rows_input_bytes(const tly_rows *r)
{
    int64_t elements = r->widest + r->wide;
    if (!r->direct_in)
        elements += r->block;
    int64_t apart = TLY_NEAR_STEP * r->c->bytes[TLY_IN];
    int64_t bytes = elements * (r->direct_in ? apart : r->c->acc_bytes);
    return (bytes + 63) / 64 * 64;
}

kir_value tly_rows_load(tly_rows *r, kir_value p)
{
    tly_build *c = r->c;
    return r->direct_in ? tly_load_unordered(c, p) : kir_load(c->b, c->vec, p, 0, c->acc_bytes);
}

kir_value tly_rows_order(tly_rows *r, kir_value v)
{
    return r->direct_in ? tly_order(r->c, v) : v;
}

kir_value tly_rows_load_step(tly_rows *r, kir_value p, kir_value k, kir_value *x)
{
    p = tly_at(r->c, p, k, r->wide * tly_rows_element_bytes(r));
    if (r->pairs)
        tly_load_pairs(r->c, p, x);
    else
        x[0] = tly_rows_order(r, tly_rows_load(r, p));
    return p;
}

kir_value tly_rows_element(tly_rows *r, kir_value from, kir_value x)
{
    const tly_stretch here = { .from = from };
    const tly_place at = tly_place_along(&here, 0);
    return tly_element(r->c, from != 0 && r->direct_in ? &at : NULL, x);
}

/* Neutral values where a last step will be read. */
static void fill_step(tly_rows *r)
{
    tly_build *c = r->c;
    int64_t size = tly_rows_element_bytes(r), wide = c->t->vector_bytes;
    int64_t lowest = size < 0 ? (r->step - 1) * size : 0;
    int64_t bytes = r->step * (size < 0 ? -size : size);
    kir_type filled = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype,
                                  (unsigned)wide / c->bytes[TLY_IN]);
    for (int64_t i = 0; i < bytes; i += wide)
        kir_store(c->b, r->input, lowest + i, tly_padding(c, filled), c->bytes[TLY_IN], 0);
}

/* Copies elements [whole + first, whole + rest) one by one. */
static void stage_singles(tly_rows *r, const tly_rows_span *g, kir_value whole, kir_value first,
                          kir_value rest)
{
    tly_build *c = r->c;
    int64_t size = tly_rows_element_bytes(r);
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, 1);
    tly_region l = { 0 };
    fill_step(r);
    emit_for(c, &l, first, rest, imm(c, 1));
    kir_value from = tly_at(c, g->at.at[TLY_IN], add(c, whole, l.i), size);
    kir_store(c->b, tly_at(c, r->input, l.i, size), 0, kir_load(c->b, t, from, 0, 1),
              c->bytes[TLY_IN], 0);
    emit_end(c, &l);
}

/* The same by masked vectors, upwards in memory. With a stride of 2 the elements between are
 * copied, too. f32 rows of 127 in L2, ns an element: one by one .37, so .28 (Zen 4). */
static void stage_masked(tly_rows *r, const tly_rows_span *g, kir_value whole, kir_value first,
                         kir_value rest)
{
    tly_build *c = r->c;
    int64_t size = tly_rows_element_bytes(r), apart = size < 0 ? 1 : size / c->bytes[TLY_IN];
    int64_t lanes = c->t->vector_bytes / (int64_t)c->bytes[TLY_IN];
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, (unsigned)lanes);
    kir_value lowest = size < 0 ? sub(c, rest, imm(c, 1)) : first;
    kir_value from = tly_at(c, g->at.at[TLY_IN], add(c, whole, lowest), size);
    kir_value to = tly_at(c, r->input, lowest, size);
    kir_value count = sub(c, mul(c, sub(c, rest, first), imm(c, apart)), imm(c, apart - 1));
    if (size < 0)
        fill_step(r);
    for (int64_t i = 0; i < (r->step + tly_rows_reach(r)) * apart; i += lanes) {
        kir_value v = kir_mload(c->b, t, from, i * c->bytes[TLY_IN], sub(c, count, imm(c, i)),
                                tly_padding(c, t));
        kir_store(c->b, to, i * c->bytes[TLY_IN], v, c->bytes[TLY_IN], 0);
    }
}

/* Copies what follows the last whole step to scratch in the layout of memory, together with the
 * elements that its windows reach back to. Neutral values follow. */
static void stage_rest(tly_rows *r, const tly_rows_span *g, kir_value whole)
{
    tly_build *c = r->c;
    kir_value back = imm(c, -tly_rows_reach(r)), none = sub(c, imm(c, 0), whole);
    kir_value first = choose(c, less(c, back, none), none, back);
    kir_value rest = sub(c, g->count, whole);
    int masks = tly_target_masks(c->t, c->bytes[TLY_IN]);
    (masks ? stage_masked : stage_singles)(r, g, whole, first, rest);
}

/* If the last step is also the first, its windows would reach back to before the row. Nothing uses
 * them, but what is loaded in their place must raise no flags, so it is neutral values. */
int64_t tly_rows_pad_bytes(const tly_rows *r, int64_t *zero)
{
    int64_t size = tly_rows_element_bytes(r), wide = r->c->t->vector_bytes;
    int64_t before = size < 0 ? (r->step - 1) * -size : tly_rows_reach(r) * size;
    int64_t behind = size < 0 ? (tly_rows_reach(r) + 1) * -size : r->step * size;
    *zero = (before + wide - 1) / wide * wide;
    return tly_rows_reach(r) > 0 ? *zero + (behind + wide - 1) / wide * wide : 0;
}

void tly_rows_fill_pad(tly_rows *r)
{
    tly_build *c = r->c;
    int64_t zero, bytes = tly_rows_pad_bytes(r, &zero), wide = c->t->vector_bytes;
    kir_type t = r->direct_in ? tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, 1) : c->acc;
    unsigned size = r->direct_in ? c->bytes[TLY_IN] : c->acc_bytes;
    t.lanes = (uint8_t)(wide / size);
    for (int64_t i = 0; i < bytes; i += wide)
        kir_store(c->b, r->pad, i - zero, tly_padding(c, t), size, 0);
}

void tly_rows_map_step(tly_rows *r, const tly_rows_span *g, kir_value i, kir_value *x)
{
    const tly_place first = tly_place_in(&g->at, i, 0);
    tly_map_step(r->c, &first, sub(r->c, g->count, i), x, r->unroll);
}

tly_rows_source tly_rows_prepare(tly_rows *r, const tly_rows_span *g)
{
    tly_build *c = r->c;
    int64_t size = tly_rows_element_bytes(r);
    if (r->maps) {
        kir_value end = tly_round_up(c, g->count, r->step);
        return (tly_rows_source){
            .span = g, .first = imm(c, 0), .last = sub(c, end, imm(c, r->step)), .whole = end
        };
    }
    if (!r->direct_in) {
        tly_stage_in(c, &g->at, r->input, g->count, (unsigned)r->step);
        kir_value end = tly_round_up(c, g->count, r->step);
        kir_value last = tly_at(c, r->input, sub(c, end, imm(c, r->step)), size);
        if (tly_rows_reach(r) > 0)
            last = choose(c, less(c, imm(c, r->step), end), last, r->pad);
        return (tly_rows_source){ g, r->input, r->input, last, end };
    }
    kir_value whole = tly_round_down(c, g->count, r->step);
    tly_rows_source in = { .span = g, .base = g->at.at[TLY_IN], .whole = whole };
    tly_region odd = { .state = { &in.last, &in.first } };
    emit_if(c, &odd, less(c, whole, g->count));
    stage_rest(r, g, whole);
    kir_value none = equal(c, whole, imm(c, 0));
    in.first = choose(c, none, r->input, g->at.at[TLY_IN]);
    in.last = tly_rows_reach(r) > 0 ? choose(c, none, r->pad, r->input) : r->input;
    emit_else(c, &odd);
    kir_value several = less(c, imm(c, r->step), whole);
    in.first = g->at.at[TLY_IN];
    in.last = tly_at(c, g->at.at[TLY_IN], sub(c, whole, imm(c, r->step)), size);
    if (tly_rows_reach(r) > 0)
        in.last = choose(c, several, in.last, r->pad);
    emit_end(c, &odd);
    return in;
}

kir_value tly_rows_next(tly_rows *r, const tly_rows_source *in, kir_value i)
{
    tly_build *c = r->c;
    kir_value next = add(c, i, imm(c, r->step));
    kir_value there = r->maps ? next : tly_at(c, in->base, next, tly_rows_element_bytes(r));
    return choose(c, less(c, next, in->whole), there, in->last);
}

kir_value tly_rows_place(tly_rows *r, const tly_rows_source *in, kir_value i)
{
    tly_build *c = r->c;
    if (r->maps)
        return i;
    kir_value there = tly_at(c, in->base, i, tly_rows_element_bytes(r));
    there = choose(c, less(c, i, in->whole), there, in->last);
    return choose(c, equal(c, i, imm(c, 0)), in->first, there);
}

/* The lines of one tensor. */
static void prefetch(tly_rows *r, const tly_rows_span *g, kir_value i, int tensor)
{
    tly_build *c = r->c;
    const int8_t along = c->p->tensor[tensor].step;
    const int64_t step = along == TLY_ANY_STEP ? 0 : along * r->step * c->bytes[tensor];
    const int64_t lines = (step < 0 ? -step : step) / 64;
    kir_value p = ptradd(c, g->at.at[tensor], add(c, mul(c, i, tly_step(c, tensor)), r->ahead));
    for (int64_t k = 0; k == 0 || k < lines; k++)
        kir_prefetch(c->b, p, step < 0 ? -64 * k : 64 * k);
}

/* Of operands, too: of a move, sums of x*a past the cache in rows of 500, 1,000, 4,096 f32 1.07,
 * 1.06, .97 for .52, .64, .90, products in rows of 500 1.16 for .49 (Zen 5). */
void tly_rows_prefetch(tly_rows *r, const tly_rows_span *g, kir_value i)
{
    tly_build *c = r->c;
    const int8_t along = c->p->tensor[TLY_IN].step;
    prefetch(r, g, i, TLY_IN);
    for (int t = TLY_FIRST_OPERAND; r->maps && t < tly_operands_end(c->p); t++)
        if (c->p->tensor[t].step == along && along * along == 1 && !tly_is_uneven(c->p, t))
            prefetch(r, g, i, t);
}
