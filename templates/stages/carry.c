/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a carry in their tensors: what a lane starts from, and what it hands on. A run may
 * lack either tensor. In memory a state is an element of what is compared, or the parts of the
 * accumulator side by side.
 */
#include "../template.h"

static int compares(const tly_build *c)
{
    return tly_operator_of(c->p)->compares;
}

/* A part of a state. */
typedef struct part_of {
    const tly_place *state;
    int64_t byte;
} part_of;

static kir_value address_of_part(tly_build *c, const tly_place *at, int tensor)
{
    const part_of *p = at->of;
    return ptradd(c, p->state->address(c, p->state, tensor), imm(c, p->byte));
}

static kir_value load_part(tly_build *c, const tly_place *at, int tensor, unsigned part,
                           unsigned lanes)
{
    const part_of p = { at, (int64_t)part * c->bytes[tensor] };
    tly_place here = *at;
    here.address = address_of_part;
    here.of = &p;
    return tly_load_at(c, &here, tensor, lanes);
}

kir_value tly_carry_load(tly_build *c, const tly_place *at, unsigned lanes)
{
    const int tensor = tly_carry_tensor(c->p);
    kir_value v[KIR_MAX_PARTS] = { 0 };
    const unsigned parts = tly_operator_of(c->p)->parts;
    for (unsigned i = 0; i < parts; i++)
        v[i] = load_part(c, at, tensor, i, lanes);
    if (c->p->tensor[tensor].dtype == TALLY_BOOL)
        v[0] = tly_truth(c, v[0]);
    if (compares(c))
        return c->t->no_narrow && c->bytes[tensor] < 4 ? tly_u32_to_key(c, v[0])
                                                       : tly_to_key(c, v[0]);
    return kir_tuple(c->b, parts, v);
}

/* i1: a run on a CPU has this tensor, and the place has lanes. */
static kir_value is_there(tly_build *c, const tly_place *at, int tensor)
{
    kir_value base = kir_addr(c->b, arg(c, TLY_ARG(IN, tensor))), zero = imm(c, 0);
    kir_value there = differ(c, base, zero);
    return at->count != 0 ? band(c, there, less(c, zero, at->count)) : there;
}

kir_value tly_has_states(tly_build *c)
{
    static const tly_place all = { .count = 0 };
    return is_there(c, &all, tly_carry_tensor(c->p));
}

kir_value tly_wants_states(tly_build *c)
{
    static const tly_place all = { .count = 0 };
    return is_there(c, &all, tly_carry_tensor(c->p) + 1);
}

kir_value tly_start_at(tly_build *c, const tly_place *at, unsigned lanes)
{
    kir_value y = tly_start(c, KIR_TYPE(c->acc.kind, lanes));
    if (!c->p->carry)
        return y;
    tly_region given = { .state = { &y } };
    emit_if(c, &given, is_there(c, at, tly_carry_tensor(c->p)));
    y = tly_carry_load(c, at, lanes);
    emit_end(c, &given);
    return y;
}

/* Bytes from a lane's state to the next. */
static kir_value step_of(tly_build *c, const tly_place *at, int tensor)
{
    return at->steps != NULL ? at->steps[tensor] : tly_lane(c, tensor);
}

static void store_part(tly_build *c, kir_value p, kir_value step, kir_value count, kir_value v,
                       unsigned bytes)
{
    const unsigned lanes = type_of(c, v).lanes;
    if (c->t->no_narrow && bytes < 4)
        v = convert(c, KIR_TRUNC, KIR_TYPE(bytes == 2 ? KIR_I16 : KIR_I8, 1), v);
    if (lanes == 1 || (count == 0 && step == imm(c, bytes))) {
        kir_store(c->b, p, 0, v, bytes, 0);
        return;
    }
    if (type_of(c, v).kind == KIR_F16) /* moved as integers */
        v = bitcast(c, KIR_TYPE(KIR_I16, lanes), v);
    for (unsigned i = 0; i < lanes; i++) {
        kir_value lane = imm(c, i);
        if (count != 0)
            lane = tly_min(c, lane, sub(c, count, imm(c, 1)));
        kir_store(c->b, ptradd(c, p, mul(c, step, lane)), 0, kir_extract(c->b, v, i), bytes, 0);
    }
}

void tly_carry_store(tly_build *c, const tly_place *at, kir_value y)
{
    const int tensor = tly_carry_tensor(c->p) + 1;
    const unsigned bytes = c->bytes[tensor], lanes = type_of(c, part(c, y, 0)).lanes;
    kir_value p = at->address(c, at, tensor);
    kir_value step = lanes > 1 ? step_of(c, at, tensor) : 0;
    kir_value v = compares(c) ? tly_from_key(c, tly_kept(c, y)) : y;
    for (unsigned i = 0; i < kir_parts(c->b, v); i++)
        store_part(c, ptradd(c, p, imm(c, (int64_t)i * bytes)), step, at->count, part(c, v, i),
                   bytes);
}

void tly_end_at(tly_build *c, const tly_place *at, kir_value y)
{
    tly_region wanted = { 0 };
    if (!c->p->carry)
        return;
    emit_if(c, &wanted, is_there(c, at, tly_carry_tensor(c->p) + 1));
    tly_carry_store(c, at, y);
    emit_end(c, &wanted);
}

/* ---- rows of states ---- */

static void start_block(tly_build *c, const tly_row *row, kir_value states, kir_value lane,
                        unsigned lanes)
{
    const tly_place at = tly_place_in(row, 0, lane);
    tly_states_store(c, tly_states_at(c, states, lane), 0, tly_start_at(c, &at, lanes));
}

static void end_block(tly_build *c, const tly_row *row, kir_value states, kir_value lane,
                      unsigned lanes)
{
    const tly_place at = tly_place_in(row, 0, lane);
    tly_end_at(c, &at, tly_states_load(c, tly_states_at(c, states, lane), 0, lanes));
}

/* Vectors of lanes [0, count), and those that fill none one by one. */
static void each_block(tly_build *c, const tly_row *row, kir_value states, kir_value count,
                       void (*block)(tly_build *c, const tly_row *row, kir_value states,
                                     kir_value lane, unsigned lanes))
{
    tly_region whole = { 0 }, rest = { 0 };
    kir_value full = tly_round_down(c, count, c->lanes);
    emit_for(c, &whole, imm(c, 0), full, imm(c, c->lanes));
    block(c, row, states, whole.i, c->lanes);
    emit_end(c, &whole);
    emit_for(c, &rest, full, count, imm(c, 1));
    block(c, row, states, rest.i, 1);
    emit_end(c, &rest);
}

void tly_start_states(tly_build *c, const tly_row *row, kir_value states, kir_value count)
{
    if (c->p->carry) {
        each_block(c, row, states, count, start_block);
        return;
    }
    tly_region clear = { 0 };
    emit_for(c, &clear, imm(c, 0), tly_round_up(c, count, c->lanes), imm(c, c->lanes));
    tly_states_store(c, tly_states_at(c, states, clear.i), 0, tly_start(c, c->vec));
    emit_end(c, &clear);
}

void tly_end_states(tly_build *c, const tly_row *row, kir_value states, kir_value count)
{
    tly_region wanted = { 0 };
    if (!c->p->carry)
        return;
    const tly_place all = tly_place_in(row, 0, 0);
    emit_if(c, &wanted, is_there(c, &all, tly_carry_tensor(c->p) + 1));
    each_block(c, row, states, count, end_block);
    emit_end(c, &wanted);
}
