/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops and branches whose state are variables of the template (emit.h).
 */
#include "../template.h"

static unsigned count_state(const tly_region *r)
{
    unsigned count = 0;
    while (count < KIR_MAX_CARRIED && r->state[count] != NULL)
        count++;
    return count;
}

static void get_state(const tly_region *r, kir_value *v)
{
    for (unsigned i = 0; i < r->count; i++)
        v[i] = *r->state[i];
}

static void set_state(tly_region *r, const kir_value *v)
{
    for (unsigned i = 0; i < r->count; i++)
        *r->state[i] = v[i];
}

void emit_carry(tly_region *r, unsigned count, kir_value *variables)
{
    unsigned first = count_state(r);
    for (unsigned i = 0; i < count; i++)
        r->state[first + i] = &variables[i];
}

void emit_for(const tly_build *c, tly_region *r, kir_value lo, kir_value hi, kir_value step)
{
    kir_value v[KIR_MAX_CARRIED];
    r->is_loop = 1;
    r->count = count_state(r);
    get_state(r, v);
    kir_for(c->b, &r->loop, lo, hi, step, r->count, v);
    r->i = r->loop.i;
    set_state(r, r->loop.carried);
}

void emit_for_while(const tly_build *c, tly_region *r, kir_value lo, kir_value hi, kir_value step)
{
    emit_for(c, r, lo, hi, step);
    kir_for_while(c->b, &r->loop);
}

void emit_if(const tly_build *c, tly_region *r, kir_value cond)
{
    r->is_loop = 0;
    r->count = count_state(r);
    get_state(r, r->before);
    kir_if(c->b, &r->branch, cond);
}

void emit_unless(const tly_build *c, tly_region *r, kir_value cond)
{
    emit_if(c, r, cond);
    emit_else(c, r);
}

void emit_else(const tly_build *c, tly_region *r)
{
    kir_value v[KIR_MAX_CARRIED];
    get_state(r, v);
    kir_else(c->b, &r->branch, r->count, v);
    set_state(r, r->before);
}

void emit_end(const tly_build *c, tly_region *r)
{
    kir_value v[KIR_MAX_CARRIED];
    if (!r->is_loop && !r->branch.has_else && r->count > 0)
        emit_else(c, r);
    get_state(r, v);
    if (r->is_loop)
        kir_for_end(c->b, &r->loop, v);
    else
        kir_if_end(c->b, &r->branch, r->count, v);
    set_state(r, r->is_loop ? r->loop.result : r->branch.result);
}
