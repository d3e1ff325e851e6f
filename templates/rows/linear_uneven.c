/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The linear template: operands that do not lie as interleaved scans do, such as a factor for each
 * column, or a weight for each step. They are laid so in scratch, a block of positions at a time.
 * What is the same for all steps is laid once a row.
 */
#include "linear.h"

/* Elements are moved as integers. */
static kir_type moved(const tly_build *c, int tensor, unsigned lanes)
{
    return KIR_TYPE(integer_of(c->bytes[tensor]), lanes);
}

/* A vector may be stored from any position on. */
static int64_t room_of(const tly_build *c, int tensor)
{
    return (int64_t)(TLY_HEADS_BLOCK + TLY_MAX_INTERLEAVE + 1) * c->bytes[tensor];
}

/* Behind what else is in scratch. */
static int64_t place_of(const tly_linear *k, int tensor)
{
    int64_t at = tly_linear_marks_bytes(k) + tly_linear_window_bytes(k);
    at = (at + 63) / 64 * 64;
    for (int t = TLY_FIRST_OPERAND; t < tensor; t++)
        at += tly_is_uneven(k->c->p, t) ? room_of(k->c, t) : 0;
    return at;
}

int64_t tly_linear_uneven_bytes(const tly_linear *k)
{
    const tly_build *c = k->c;
    int64_t bytes = 64;
    for (int t = TLY_FIRST_OPERAND; t < tly_operands_end(c->p); t++)
        bytes += tly_is_uneven(c->p, t) ? room_of(c, t) : 0;
    return bytes;
}

/* A step's element that all scans share; what is too much is laid over by the next one. */
static void lay_one(tly_build *c, int tensor, kir_value from, kir_value to)
{
    const unsigned bytes = c->bytes[tensor];
    kir_value x = kir_load(c->b, moved(c, tensor, 1), from, 0, bytes);
    kir_store(c->b, to, 0, kir_splat(c->b, x, TLY_MAX_INTERLEAVE + 1), bytes, 0);
}

static void lay_each(tly_build *c, int tensor, kir_value from, kir_value to)
{
    const unsigned bytes = c->bytes[tensor];
    kir_value lane = arg(c, TLY_ARG(IN_LANE, tensor));
    for (unsigned i = 0; i < c->p->interleave; i++) {
        kir_value at = ptradd(c, from, mul(c, lane, imm(c, i)));
        kir_store(c->b, to, (int64_t)i * bytes, kir_load(c->b, moved(c, tensor, 1), at, 0, bytes),
                  bytes, 0);
    }
}

static void lay_steps(tly_linear *k, int tensor, kir_value from, kir_value to, kir_value scratch,
                      void (*step)(tly_build *c, int tensor, kir_value from, kir_value to))
{
    tly_build *c = k->c;
    kir_value scans = imm(c, c->p->interleave), axis = tly_axis(c, tensor);
    kir_value at = ptradd(c, k->first.at[tensor], mul(c, udiv(c, from, scans), axis));
    tly_region each = { .state = { &at } };
    emit_for(c, &each, from, to, scans);
    step(c, tensor, at, tly_at(c, scratch, sub(c, each.i, from), c->bytes[tensor]));
    at = ptradd(c, at, axis);
    emit_end(c, &each);
}

static void lay(tly_linear *k, int tensor, kir_value is_first, kir_value from, kir_value to)
{
    tly_build *c = k->c;
    kir_value zero = imm(c, 0), moves = differ(c, tly_axis(c, tensor), zero);
    kir_value scratch = ptradd(c, arg(c, KIR_ARG_SCRATCH), imm(c, place_of(k, tensor)));
    tly_region wanted = { 0 }, is_one = { 0 };
    emit_if(c, &wanted, bor(c, is_first, moves));
    emit_if(c, &is_one, equal(c, arg(c, TLY_ARG(IN_LANE, tensor)), zero));
    lay_steps(k, tensor, from, to, scratch, lay_one);
    emit_else(c, &is_one);
    lay_steps(k, tensor, from, to, scratch, lay_each);
    emit_end(c, &is_one);
    emit_end(c, &wanted);
    k->row.at[tensor] = tly_at(c, scratch, sub(c, zero, from), c->bytes[tensor]);
}

void tly_linear_lay(tly_linear *k, kir_value is_first, kir_value from, kir_value to)
{
    for (int t = TLY_FIRST_OPERAND; t < tly_operands_end(k->c->p); t++)
        if (tly_is_uneven(k->c->p, t))
            lay(k, t, is_first, from, to);
}
