/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of reductions in a GPU's memory. Elements of fewer than 32 bits are held and compared as
 * u32. Where a device cannot address an element, the aligned u32 around it is read. To store a
 * result there, an atomic addition changes it alone, while other invocations may change its
 * neighbours.
 */
#include "reduce.h"

static const tly_problem *problem(const tly_gpu_reduce *r)
{
    return r->g->c.p;
}

static const tly_operator *row(const tly_gpu_reduce *r)
{
    return tly_operator_of(problem(r));
}

/* ---- parts of words ---- */

/* Bytes, and pairs of them where 16 bits have no storage; floats are then refused. */
static int in_words(const tly_gpu_reduce *r, unsigned bytes)
{
    return bytes == 1 || (bytes == 2 && !r->g->caps->storage16);
}

static kir_value mask(tly_gpu_reduce *r, unsigned bytes)
{
    return u32(r->g, bytes == 1 ? 0xff : 0xffff);
}

/* The aligned word around an element, and by how many bits it lies above the word's lowest. */
static kir_value word_around(tly_gpu_reduce *r, kir_value p, kir_value *shift)
{
    tly_build *c = &r->g->c;
    kir_value low = convert(c, KIR_TRUNC, KIR_TYPE(KIR_I32, 1), kir_addr(c->b, p));
    low = band(c, low, u32(r->g, 3));
    *shift = shl(c, low, u32(r->g, 3));
    return ptradd(c, p, sub(c, u32(r->g, 0), low));
}

static kir_value part_of(tly_gpu_reduce *r, kir_value around, kir_value shift, unsigned bytes)
{
    tly_build *c = &r->g->c;
    return band(c, lshr(c, around, shift), mask(r, bytes));
}

static kir_value load_part(tly_gpu_reduce *r, kir_value p)
{
    tly_build *c = &r->g->c;
    kir_value shift, at = word_around(r, p, &shift);
    kir_value around = kir_load(c->b, KIR_TYPE(KIR_I32, 1), at, 0, 4);
    return part_of(r, around, shift, c->bytes[TLY_IN]);
}

static void store_part(tly_gpu_reduce *r, kir_value p, kir_value v)
{
    tly_build *c = &r->g->c;
    unsigned bytes = c->bytes[TLY_OUT];
    kir_value shift, at = word_around(r, p, &shift);
    kir_value old = part_of(r, kir_atomic_load(c->b, at, 0), shift, bytes);
    kir_value more = sub(c, band(c, v, mask(r, bytes)), old);
    kir_atomic_add(c->b, at, 0, shl(c, more, shift));
}

/* ---- from memory to accumulators ---- */

static uint64_t magnitude_of(const tly_gpu_reduce *r)
{
    return (UINT64_C(1) << (8 * r->g->c.element_bytes - 1)) - 1;
}

/* The upper bits of a narrow element's word are those of its sign, where it has one. */
static kir_value extended(tly_gpu_reduce *r, kir_value x)
{
    tly_build *c = &r->g->c;
    unsigned bytes = c->element_bytes;
    if (bytes >= 4 || tly_class_of(c->element) == TLY_UNSIGNED)
        return x;
    kir_value up = u32(r->g, 32 - 8 * bytes);
    return ashr(c, shl(c, x, up), up);
}

static kir_value as_bits(tly_gpu_reduce *r, kir_value stored)
{
    tly_build *c = &r->g->c;
    kir_type t = type_of(c, stored);
    kir_kind bits = kir_kind_bits((kir_kind)t.kind) == 64 ? KIR_I64 : KIR_I32;
    if (kir_is_float(t))
        stored = bitcast(c, KIR_TYPE(bits, 1), stored);
    return extended(r, stored);
}

kir_value tly_gpu_reduce_accumulator(tly_gpu_reduce *r, const tly_place *at, kir_value stored)
{
    tly_build *c = &r->g->c;
    const int is_mapped = c->p->program.type != 0;
    kir_value x = is_mapped ? tly_map(c, at, tly_loaded(c, stored)) : stored;
    if (tly_class_of(c->element) != TLY_FLOATING)
        return tly_reduce_integer(c, extended(r, x));
    if (row(r)->compares)
        return tly_reduce_key(c, as_bits(r, x), magnitude_of(r));
    return is_mapped ? tly_widen(c, x) : tly_gpu_widen(r->g, at, x);
}

static kir_value load_one(tly_gpu_reduce *r, kir_value p, int64_t offset)
{
    tly_gpu *g = r->g;
    if (!in_words(r, g->c.bytes[TLY_IN]))
        return tly_gpu_fetch(g, p, offset);
    return load_part(r, ptradd(&g->c, p, tly_gpu_offset(g, offset)));
}

/* The first of each cache line before all others, so that the lines are on their way together
 * where a CPU plays the device. */
static void load_singly(tly_gpu_reduce *r, kir_value p, int64_t offset, kir_value *x,
                        unsigned count)
{
    enum { LINE = 64 };
    unsigned bytes = r->g->c.bytes[TLY_IN], line = LINE / bytes;
    for (unsigned i = 0; i < count; i += line)
        x[i] = load_one(r, p, offset + (int64_t)i * bytes);
    for (unsigned i = 0; i < count; i++) {
        if (i % line > 0)
            x[i] = load_one(r, p, offset + (int64_t)i * bytes);
    }
}

void tly_gpu_reduce_fetch(tly_gpu_reduce *r, kir_value p, int64_t offset, kir_value *x,
                          unsigned count, int by_vectors)
{
    if (by_vectors)
        tly_gpu_fetch_vector(r->g, p, offset, x, count);
    else
        load_singly(r, p, offset, x, count);
}

/* ---- from states to memory ---- */

/* A result as a value of the expressions' type. */
static kir_value element_of(tly_gpu_reduce *r, kir_value y)
{
    tly_build *c = &r->g->c;
    if (!row(r)->compares)
        return tly_as_element(c, y);
    return tly_class_of(c->element) == TLY_FLOATING
               ? bitcast(c, tly_storage(c->element, 1), tly_order_bits(c, y, magnitude_of(r)))
               : y;
}

static kir_value stored(tly_gpu_reduce *r, kir_value y)
{
    tly_build *c = &r->g->c;
    int floating = tly_class_of((tally_dtype)problem(r)->tensor[TLY_OUT].dtype) == TLY_FLOATING;
    if (row(r)->compares && !r->indexed)
        return floating ? tly_order_bits(c, y, magnitude_of(r)) : y;
    if (kir_is_float(type_of(c, y)) && floating)
        return tly_gpu_narrow(r->g, y);
    return tly_reduce_as(c, KIR_TYPE(c->bytes[TLY_OUT] == 8 ? KIR_I64 : KIR_I32, 1), y);
}

/* Unless there were no elements. */
static kir_value of_some(tly_gpu_reduce *r, tally_dtype dtype, kir_value y)
{
    tly_build *c = &r->g->c;
    uint64_t bits = r->indexed && c->p->segmented != TLY_SEGMENTED_NOT
                        ? UINT64_MAX >> (64 - kir_kind_bits((kir_kind)type_of(c, y).kind))
                        : tly_value_bits((tly_value)row(r)->empty, dtype);
    kir_value none = equal(c, r->steps, u32(r->g, 0));
    return choose(c, none, like(c, y, bits), y);
}

void tly_gpu_reduce_store(tly_gpu_reduce *r, const tly_place *at, kir_value y)
{
    tly_gpu *g = r->g;
    tly_build *c = &g->c;
    kir_value p = at->address(c, at, TLY_OUT);
    if (c->p->program.type == 0 || r->indexed) {
        y = of_some(r, (tally_dtype)problem(r)->tensor[TLY_OUT].dtype, stored(r, y));
    } else {
        y = of_some(r, (tally_dtype)c->p->program.type, element_of(r, y));
        y = tly_gpu_narrow(g, tly_post_element(c, at, y));
    }
    if (in_words(r, c->bytes[TLY_OUT]))
        store_part(r, p, y);
    else
        tly_gpu_put(g, p, 0, y);
}
