/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements, records and carries in a GPU's memory. Devices need no arithmetic of 8 or 16 bits:
 * narrow elements are loaded and stored alone at their size, or several at once in 32 bits.
 */
#include "gpu.h"

#include <string.h>

int tly_gpu_has_vectors(const tly_gpu *g)
{
    const tly_problem *p = g->c.p;
    if (g->launch->form == TLY_GPU_LANES)
        return g->lanes > 1; /* the plan allows only such steps */
    int dense = g->interleave == 1;
    for (int t = 0; t < TLY_FIRST_OPERAND; t++)
        dense &= p->tensor[t].step == 1 || p->tensor[t].step == -1;
    return dense;
}

static int is_narrow(unsigned bytes)
{
    return bytes < 4;
}

/* ---- between stored elements and accumulators ---- */

kir_value tly_gpu_widen(tly_gpu *g, const tly_place *at, kir_value stored)
{
    tly_build *c = &g->c;
    if (c->p->program.type != 0)
        return tly_mapped(c, at, tly_loaded(c, stored));
    return is_narrow(c->bytes[TLY_IN]) ? tly_widen_u32(c, stored) : tly_widen(c, stored);
}

kir_value tly_gpu_narrow(tly_gpu *g, kir_value result)
{
    tly_build *c = &g->c;
    return is_narrow(c->bytes[TLY_OUT]) ? tly_narrow_u32(c, result) : tly_narrow(c, result);
}

kir_value tly_gpu_head(tly_gpu *g, const tly_place *at, kir_value stored)
{
    tly_build *c = &g->c;
    return c->p->resets ? tly_resets(c, at, tly_loaded(c, stored)) : tly_gpu_is_head_at(g, at);
}

kir_value tly_gpu_element_alone(tly_gpu *g, const tly_place *at, kir_value stored)
{
    tly_build *c = &g->c;
    return tly_behind_nothing(c, at, tly_element_alone(c, at, tly_gpu_widen(g, at, stored)));
}

kir_value tly_gpu_begun(tly_gpu *g, kir_value head, kir_value element)
{
    tly_build *c = &g->c;
    if (!c->p->exclusive || tly_factors(c->p) > 0)
        return element;
    /* Behind the identity, which is no literal. */
    return tly_combine(c, choose(c, head, tly_start(c, c->acc), tly_neutral(c, c->acc)), element);
}

kir_value tly_gpu_element(tly_gpu *g, const tly_place *at, kir_value stored)
{
    kir_value u = tly_gpu_element_alone(g, at, stored);
    if (tly_window_heads(g->c.p) == 0)
        return u;
    kir_value head = tly_gpu_head(g, at, stored);
    return tly_behind_head(&g->c, head, tly_gpu_begun(g, head, u));
}

kir_value tly_gpu_show(tly_gpu *g, const tly_place *at, kir_value state)
{
    tly_build *c = &g->c;
    if (c->p->exclusive)
        state = tly_shown_before(c, at, state);
    if (c->p->exclusive && tly_window_heads(c->p) > 0)
        state = choose(c, tly_gpu_is_head_at(g, at), tly_start(c, c->acc), state);
    return tly_show(c, at, state);
}

/* ---- stored elements ---- */

kir_value tly_gpu_fetch(tly_gpu *g, kir_value p, int64_t offset)
{
    tly_build *c = &g->c;
    unsigned bytes = c->bytes[TLY_IN];
    kir_type type = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, 1);
    if (is_narrow(bytes))
        type.kind = bytes == 2 ? KIR_I16 : KIR_I8;
    kir_value x = kir_load(c->b, type, p, offset, bytes);
    return is_narrow(bytes) ? convert(c, KIR_ZEXT, KIR_TYPE(KIR_I32, 1), x) : x;
}

void tly_gpu_put(tly_gpu *g, kir_value p, int64_t offset, kir_value stored)
{
    tly_build *c = &g->c;
    unsigned bytes = c->bytes[TLY_OUT];
    if (is_narrow(bytes))
        stored = convert(c, KIR_TRUNC, KIR_TYPE(bytes == 2 ? KIR_I16 : KIR_I8, 1), stored);
    kir_store(c->b, p, offset, stored, bytes, 0);
}

/* As many of `count` elements as one access takes. */
static unsigned at_once(unsigned count, unsigned bytes)
{
    return count * bytes > TLY_GPU_ACCESS_BYTES ? TLY_GPU_ACCESS_BYTES / bytes : count;
}

/* Elements that share a u32, or 1. */
static unsigned per_u32(unsigned bytes)
{
    return is_narrow(bytes) ? 4 / bytes : 1;
}

kir_value tly_gpu_element_of(tly_gpu *g, kir_value all, unsigned i, unsigned bytes)
{
    tly_build *c = &g->c;
    if (i > 0)
        all = lshr(c, all, u32(g, 8 * bytes * i));
    return i + 1 == 4 / bytes ? all : band(c, all, u32(g, (1 << 8 * bytes) - 1));
}

static void fetch_some(tly_gpu *g, kir_value p, int64_t offset, kir_value *stored, unsigned count)
{
    tly_build *c = &g->c;
    unsigned bytes = c->bytes[TLY_IN], together = per_u32(bytes);
    kir_type type = is_narrow(bytes) ? KIR_TYPE(KIR_I32, count / together)
                                     : tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, count);
    if (count < together) {
        for (unsigned i = 0; i < count; i++)
            stored[i] = tly_gpu_fetch(g, p, offset + i * bytes);
        return;
    }
    kir_value v = kir_load(c->b, type, p, offset, count * bytes);
    for (unsigned i = 0; i < count; i++) {
        kir_value x = kir_extract(c->b, v, i / together);
        stored[i] = is_narrow(bytes) ? tly_gpu_element_of(g, x, i % together, bytes) : x;
    }
}

void tly_gpu_fetch_vector(tly_gpu *g, kir_value p, int64_t offset, kir_value *stored,
                          unsigned count)
{
    tly_build *c = &g->c;
    unsigned some = at_once(count, c->bytes[TLY_IN]);
    for (unsigned i = 0; i < count; i += some)
        fetch_some(g, p, offset + (int64_t)i * c->bytes[TLY_IN], stored + i, some);
}

static void put_some(tly_gpu *g, kir_value p, int64_t offset, const kir_value *stored,
                     unsigned count)
{
    tly_build *c = &g->c;
    unsigned bytes = c->bytes[TLY_OUT], together = per_u32(bytes), parts = count / together;
    for (unsigned i = 0; i < count && parts == 0; i++)
        tly_gpu_put(g, p, offset + i * bytes, stored[i]);
    if (parts == 0)
        return;
    kir_value v = 0;
    for (unsigned i = 0; i < parts; i++) {
        kir_value x = stored[i * together];
        for (unsigned k = 1; k < together; k++)
            x = bor(c, x, shl(c, stored[i * together + k], u32(g, 8 * bytes * k)));
        v = i == 0 ? kir_splat(c->b, x, parts) : kir_insert(c->b, v, x, i);
    }
    kir_store(c->b, p, offset, v, count * bytes, 0);
}

void tly_gpu_put_vector(tly_gpu *g, kir_value p, int64_t offset, const kir_value *stored,
                        unsigned count)
{
    tly_build *c = &g->c;
    unsigned some = at_once(count, c->bytes[TLY_OUT]);
    for (unsigned i = 0; i < count; i += some)
        put_some(g, p, offset + (int64_t)i * c->bytes[TLY_OUT], stored + i, some);
}

/* ---- vectors along an axis ---- */

/* Bytes from a vector's first position to its lowest address. */
static int64_t lowest(int64_t step, unsigned count)
{
    return step < 0 ? step * (count - 1) : 0;
}

static void reverse(kir_value *v, unsigned count)
{
    for (unsigned i = 0; i < count / 2; i++) {
        kir_value other = v[i];
        v[i] = v[count - 1 - i];
        v[count - 1 - i] = other;
    }
}

void tly_gpu_fetch_along(tly_gpu *g, kir_value p, int64_t offset, int64_t step, kir_value *stored,
                         unsigned count)
{
    tly_gpu_fetch_vector(g, p, offset + lowest(step, count), stored, count);
    if (step < 0)
        reverse(stored, count);
}

void tly_gpu_put_along(tly_gpu *g, kir_value p, int64_t offset, int64_t step,
                       const kir_value *stored, unsigned count)
{
    kir_value turned[TLY_GPU_MOST_ELEMENTS];
    memcpy(turned, stored, count * sizeof *turned);
    if (step < 0)
        reverse(turned, count);
    tly_gpu_put_vector(g, p, offset + lowest(step, count), turned, count);
}

/* ---- scratch ---- */

static unsigned states(const tly_gpu *g)
{
    return tly_gpu_scans(g) * g->c.state_bytes;
}

static unsigned range_bytes(const tly_gpu *g)
{
    return 4 * tly_range_count(&g->c);
}

unsigned tly_gpu_record_bytes(const tly_gpu *g)
{
    return (states(g) + range_bytes(g) * tly_gpu_scans(g) + 7) / 8 * 8;
}

static kir_value scratch_at(tly_gpu *g, kir_value from, kir_value number, unsigned bytes)
{
    tly_build *c = &g->c;
    kir_value at = mul(c, tly_gpu_as_offset(g, number), tly_gpu_offset(g, bytes));
    at = add(c, at, tly_gpu_as_offset(g, from));
    return ptradd(c, arg(c, KIR_ARG_SCRATCH), at);
}

kir_value tly_gpu_record_at(tly_gpu *g, kir_value number)
{
    return scratch_at(g, u32(g, g->launch->header_bytes), number, tly_gpu_record_bytes(g));
}

kir_value tly_gpu_carry_at(tly_gpu *g, kir_value index)
{
    return scratch_at(g, arg(&g->c, KIR_ARG_CARRIES), index, states(g));
}

/* Within a record offsets are u32: it may lie in workgroup memory, which has no others. */
kir_value tly_gpu_state_at(tly_gpu *g, kir_value p, kir_value number)
{
    tly_build *c = &g->c;
    return ptradd(c, p, mul(c, number, u32(g, c->state_bytes)));
}

static kir_value range_at(tly_gpu *g, kir_value record, kir_value number)
{
    tly_build *c = &g->c;
    return ptradd(c, record, mul(c, number, u32(g, range_bytes(g))));
}

void tly_gpu_save_range(tly_gpu *g, kir_value record, kir_value number, const kir_value *range)
{
    tly_build *c = &g->c;
    kir_value at = tly_range_count(c) > 0 ? range_at(g, record, number) : record;
    for (unsigned k = 0; k < tly_range_count(c); k++)
        kir_store(c->b, at, states(g) + 4 * k, range[k], 4, 0);
}

void tly_gpu_load_range(tly_gpu *g, kir_value record, kir_value number, kir_value *range)
{
    tly_build *c = &g->c;
    kir_value at = tly_range_count(c) > 0 ? range_at(g, record, number) : record;
    for (unsigned k = 0; k < tly_range_count(c); k++)
        range[k] = kir_load(c->b, KIR_TYPE(KIR_I32, 1), at, states(g) + 4 * k, 4);
}
