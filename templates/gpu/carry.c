/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a scan on a device starts from, and what it hands on. A dispatch that goes on where another
 * has ended has its carries in the scratch. At the ends of a word with a carry, they are states in
 * the caller's tensors (stages/carry.c), if the run has these.
 */
#include "gpu.h"

/* ---- in the scratch ---- */

/* What a dispatch loads, or what it stores. Where these may not share a place, they take turns: odd
 * dispatches load the carries that lie behind all others. */
static kir_value carry_of(tly_gpu *g, const tly_gpu_item *item, kir_value which, int loads)
{
    tly_build *c = &g->c;
    kir_value index = item->index;
    if (g->algorithm->carries_late) {
        kir_value is_odd = tly_gpu_flag(g, TLY_GPU_ODD);
        kir_value behind = add(c, index, tly_gpu_items(g));
        index = choose(c, is_odd, loads ? behind : index, loads ? index : behind);
    }
    return tly_gpu_state_at(g, tly_gpu_carry_at(g, index), which);
}

/* ---- in the caller's tensors ---- */

/* What a scan starts from. Where elements are no states, the first one takes the neutral state; the
 * identity is what an exclusive scan shows in its place, and what comes of no elements. */
static kir_value start_of_scan(tly_gpu *g)
{
    tly_build *c = &g->c;
    kir_value start = tly_start(c, c->acc);
    if (tly_factors(c->p) == 0 || !c->p->exclusive)
        return start;
    return choose(c, is(g, arg(c, KIR_ARG_LENGTH), 0), start, tly_neutral(c, c->acc));
}

typedef struct state_of {
    tly_gpu_row row;
    kir_value which;
    kir_value segment; /* in scan direction; 0: a row has one state */
} state_of;

/* Segments' states lie in the order of memory. */
static kir_value to_segment(tly_gpu *g, const tly_gpu_axis *in, kir_value segment)
{
    tly_build *c = &g->c;
    if (c->p->downwards)
        segment = sub(c, sub(c, arg(c, KIR_ARG_SEGMENTS), u32(g, 1)), segment);
    return ptradd(c, in->at, mul(c, tly_gpu_as_offset(g, segment), in->step));
}

/* Rows of words with a carry are not interleaved (canonicalise.c), as their states do not lie along
 * the axis. So an item's scans are neighbouring lanes. */
static kir_value address_of_state(tly_build *c, const tly_place *at, int tensor)
{
    tly_gpu *g = (tly_gpu *)c; /* its first member */
    const state_of *s = at->of;
    const tly_gpu_axis *in = &s->row.tensor[tensor];
    kir_value first = s->segment != 0 ? to_segment(g, in, s->segment) : in->at;
    if (g->lanes == 1)
        return first;
    return ptradd(c, first, mul(c, tly_gpu_as_offset(g, s->which), in->lane));
}

static kir_value load_state(tly_gpu *g, const tly_gpu_item *item, kir_value which,
                            kir_value segment)
{
    tly_build *c = &g->c;
    kir_value y = start_of_scan(g);
    tly_region given = { .state = { &y } };
    if (!c->p->carry)
        return y;
    emit_if(c, &given, tly_gpu_flag(g, TLY_GPU_STATES_IN));
    const state_of s = { tly_gpu_row_of(g, item), which, segment };
    y = tly_carry_load(c, &(tly_place){ .address = address_of_state, .of = &s }, 1);
    emit_end(c, &given);
    return y;
}

static void store_state(tly_gpu *g, const tly_gpu_item *item, kir_value which, kir_value segment,
                        kir_value y)
{
    tly_build *c = &g->c;
    tly_region wanted = { 0 };
    if (!c->p->carry)
        return;
    emit_if(c, &wanted, tly_gpu_flag(g, TLY_GPU_STATES_OUT));
    const state_of s = { tly_gpu_row_of(g, item), which, segment };
    tly_carry_store(c, &(tly_place){ .address = address_of_state, .of = &s }, y);
    emit_end(c, &wanted);
}

/* ---- either ---- */

kir_value tly_gpu_start(tly_gpu *g)
{
    tly_build *c = &g->c;
    kir_value start = start_of_scan(g);
    if (!c->p->exclusive || tly_factors(c->p) > 0)
        return start;
    return choose(c, tly_gpu_flag(g, TLY_GPU_CONTINUES), tly_neutral(c, c->acc), start);
}

kir_value tly_gpu_first_carry(tly_gpu *g, const tly_gpu_item *item, kir_value which)
{
    tly_build *c = &g->c;
    kir_value carry = 0;
    tly_region continues = { .state = { &carry } };
    emit_if(c, &continues, tly_gpu_flag(g, TLY_GPU_CONTINUES));
    carry = tly_load_state(c, carry_of(g, item, which, 1), 0, 1, c->acc_bytes);
    emit_else(c, &continues);
    carry = tly_gpu_has_segment_states(g) ? tly_start(c, c->acc) : load_state(g, item, which, 0);
    emit_end(c, &continues);
    return carry;
}

void tly_gpu_last_carry(tly_gpu *g, const tly_gpu_item *item, kir_value which, kir_value carry)
{
    tly_build *c = &g->c;
    tly_region follows = { 0 };
    emit_if(c, &follows, tly_gpu_flag(g, TLY_GPU_CARRIES));
    tly_store_state(c, carry_of(g, item, which, 0), 0, carry, c->acc_bytes);
    emit_end(c, &follows);
    if (!tly_gpu_has_segment_states(g))
        store_state(g, item, which, 0, carry);
}

kir_value tly_gpu_segment_start(tly_gpu *g, const tly_gpu_item *item, kir_value which,
                                kir_value segment)
{
    return load_state(g, item, which, segment);
}

void tly_gpu_segment_finish(tly_gpu *g, const tly_gpu_item *item, kir_value which,
                            kir_value segment, kir_value state)
{
    store_state(g, item, which, segment, state);
}

kir_value tly_group_first_carry(tly_gpu *g, tly_group *t, const tly_gpu_item *item, kir_value which)
{
    tly_build *c = &g->c;
    if (!c->p->carry)
        return tly_gpu_first_carry(g, item, which);
    kir_value carry = tly_neutral(c, c->acc);
    tly_region leads = { .state = { &carry } };
    emit_if(c, &leads, tly_group_leads(g, t));
    carry = tly_gpu_first_carry(g, item, which);
    emit_end(c, &leads);
    return tly_group_broadcast(g, t, carry);
}
