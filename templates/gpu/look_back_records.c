/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records in memory. Each u32 holds 16 bits of a value and a mark. A reader sees from the mark
 * whether these bits are there, so that no barrier has to order memory.
 */
#include "look_back.h"

/* A state's 32-bit parts are published in halves, each in a u32. */
enum { MOST_HALVES = TLY_MOST_STATE_BYTES / 2 };

/* Room for those of a window. */
unsigned tly_record_words(const tly_gpu *g)
{
    return g->c.state_bytes / 2;
}

/* 32-bit words of a part. */
static unsigned words_of(const tly_build *c, kir_value part)
{
    return kir_kind_bits((kir_kind)type_of(c, part).kind) / 32;
}

static unsigned halves_of(const tly_build *c, kir_value state)
{
    unsigned n = 0;
    for (unsigned p = 0; p < kir_parts(c->b, state); p++)
        n += 2 * words_of(c, kir_part(c->b, state, p));
    return n;
}

unsigned tly_gpu_look_back_bytes(const tly_gpu *g)
{
    return 4 * tly_record_words(g) * TLY_FIELDS;
}

kir_value tly_record_at(tly_gpu *g, kir_value number, kir_value field)
{
    tly_build *c = &g->c;
    kir_value at = mul(c, tly_gpu_as_offset(g, number),
                       tly_gpu_offset(g, tly_gpu_look_back_bytes(g)));
    at = add(c, at, tly_gpu_offset(g, g->launch->header_bytes));
    at = add(c, at, tly_gpu_as_offset(g, mul(c, field, u32(g, 4 * tly_record_words(g)))));
    return ptradd(c, arg(c, KIR_ARG_SCRATCH), at);
}

/* Halves of a state's parts, each in the lower 16 bits of a u32. */
static void split(tly_gpu *g, kir_value state, kir_value *halves)
{
    tly_build *c = &g->c;
    for (unsigned p = 0; p < kir_parts(c->b, state); p++) {
        kir_value v = kir_part(c->b, state, p);
        unsigned count = words_of(c, v);
        v = bitcast(c, KIR_TYPE(KIR_I32, count), v);
        for (unsigned i = 0; i < count; i++, halves += 2) {
            kir_value part = kir_extract(c->b, v, i);
            halves[0] = band(c, part, u32(g, 0xffff));
            halves[1] = lshr(c, part, u32(g, 16));
        }
    }
}

/* A state `like` another. */
static kir_value join(tly_gpu *g, kir_value like, const kir_value *halves)
{
    tly_build *c = &g->c;
    kir_value parts[KIR_MAX_PARTS];
    for (unsigned p = 0; p < kir_parts(c->b, like); p++) {
        kir_value v = 0, one = kir_part(c->b, like, p);
        unsigned count = words_of(c, one);
        for (unsigned i = 0; i < count; i++, halves += 2) {
            kir_value low = band(c, halves[0], u32(g, 0xffff));
            kir_value whole = bor(c, low, shl(c, halves[1], u32(g, 16)));
            v = i == 0 ? kir_splat(c->b, whole, count) : kir_insert(c->b, v, whole, i);
        }
        parts[p] = bitcast(c, type_of(c, one), v);
    }
    return kir_tuple(c->b, kir_parts(c->b, like), parts);
}

/* The address of the i-th u32, without *offset. */
static kir_value word_at(tly_gpu *g, kir_value at, kir_value apart, unsigned i, int64_t *offset)
{
    tly_build *c = &g->c;
    *offset = apart != 0 ? 0 : 4 * (int64_t)i;
    if (apart == 0 || i == 0)
        return at;
    return ptradd(c, at, mul(c, apart, tly_gpu_offset(g, i)));
}

void tly_record_publish(tly_gpu *g, kir_value at, kir_value apart, kir_value v, kir_value mark)
{
    tly_build *c = &g->c;
    kir_value halves[MOST_HALVES];
    kir_value top = shl(c, mark, u32(g, 16));
    split(g, v, halves);
    for (unsigned i = 0; i < halves_of(c, v); i++) {
        int64_t offset;
        kir_value p = word_at(g, at, apart, i, &offset);
        kir_atomic_store(c->b, p, offset, bor(c, halves[i], top));
    }
}

kir_value tly_record_look(tly_gpu *g, kir_value like, kir_value at, kir_value apart,
                          kir_value *mark)
{
    tly_build *c = &g->c;
    kir_value halves[MOST_HALVES], all = 0;
    for (unsigned i = 0; i < halves_of(c, like); i++) {
        int64_t offset;
        kir_value p = word_at(g, at, apart, i, &offset);
        halves[i] = kir_atomic_load(c->b, p, offset);
        kir_value has = differ(c, lshr(c, halves[i], u32(g, 16)), u32(g, 0));
        all = i == 0 ? has : band(c, all, has);
    }
    *mark = choose(c, all, lshr(c, halves[0], u32(g, 16)), u32(g, 0));
    return join(g, like, halves);
}
