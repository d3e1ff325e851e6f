/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input side of templates. An input whose step is -1 to TLY_NEAR_STEP is loaded in vectors
 * from where it lies. Any other is staged: its elements become consecutive accumulators in
 * scratch, padded with neutral values. So one scan in registers serves every step, dtype and
 * direction.
 */
#include "../template.h"

int tly_loads_vectors(const tly_build *c)
{
    return c->p->tensor[TLY_IN].step >= -1 && c->p->tensor[TLY_IN].step <= TLY_NEAR_STEP;
}

/* Every second element. In each 128 bits, a shuffle takes the first half from a load of the first
 * lanes, and the second half from a load that ends with the last position. tly_order puts the
 * halves in order, by a second shuffle. */
static kir_value load_every_second(tly_build *c, kir_value p)
{
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, c->lanes);
    unsigned n = c->lanes, block = 16 / c->bytes[TLY_IN] < n ? 16 / c->bytes[TLY_IN] : n;
    uint8_t pick[64];
    for (unsigned i = 0; i < n; i++) {
        unsigned start = i / block * block, in = i % block;
        pick[i] = (uint8_t)(in < block / 2 ? start + 2 * in : n + start + 2 * in - block + 1);
    }
    kir_value ends = kir_load(c->b, t, p, (n - 1LL) * c->bytes[TLY_IN], 1);
    return tly_loaded(c, kir_shuffle(c->b, kir_load(c->b, t, p, 0, 1), ends, pick, n));
}

kir_value tly_load_unordered(tly_build *c, kir_value p)
{
    switch (c->p->tensor[TLY_IN].step) {
    case 0:
        return kir_splat(c->b, tly_load(c, p, 0, 1), c->lanes);
    case 1:
        return tly_load(c, p, 0, c->lanes);
    case -1:
        return tly_load(c, p, -(int64_t)(c->lanes - 1) * c->bytes[TLY_IN], c->lanes);
    case 2:
        return load_every_second(c, p);
    default:
        return tly_loaded(c, tly_load_lanes(c, TLY_IN, p, tly_step(c, TLY_IN), c->lanes));
    }
}

kir_value tly_order(tly_build *c, kir_value v)
{
    unsigned n = c->lanes, block = 16 / c->bytes[TLY_IN];
    uint8_t index[64];
    if (c->p->tensor[TLY_IN].step == -1)
        return tly_reverse(c, v);
    if (c->p->tensor[TLY_IN].step != 2 || block >= n)
        return v;
    for (unsigned i = 0; i < n; i++) {
        unsigned half = i / (n / 2), within = i % (n / 2), part = block / 2;
        index[i] = (uint8_t)(within / part * block + half * part + within % part);
    }
    return kir_shuffle(c->b, v, v, index, n);
}

kir_value tly_load_vector(tly_build *c, kir_value p)
{
    return tly_order(c, tly_load_unordered(c, p));
}

/* Fills up to a multiple with what changes nothing. */
static void pad(tly_build *c, kir_value to, kir_value count, kir_value full, unsigned multiple)
{
    tly_region padding = { 0 };
    kir_value neutral = tly_padding(c, c->vec);
    emit_for(c, &padding, full, tly_round_up(c, count, multiple), imm(c, c->lanes));
    kir_store(c->b, tly_at(c, to, padding.i, c->acc_bytes), 0, neutral, c->acc_bytes, 0);
    emit_end(c, &padding);
}

/* Elements that go through `map`: whole vectors, then one that is loaded in part. */
static void stage_mapped(tly_build *c, const tly_row *from, kir_value to, kir_value count,
                         unsigned multiple)
{
    kir_value full = tly_round_down(c, count, c->lanes), left = sub(c, count, full);
    tly_region vectors = { 0 }, rest = { 0 };
    emit_for(c, &vectors, imm(c, 0), full, imm(c, c->lanes));
    tly_place at = tly_place_in(from, vectors.i, 0);
    kir_store(c->b, tly_at(c, to, vectors.i, c->acc_bytes), 0, tly_map_at(c, &at, c->lanes),
              c->acc_bytes, 0);
    emit_end(c, &vectors);

    pad(c, to, count, full, multiple);
    emit_if(c, &rest, less(c, full, count));
    at = tly_place_in(from, full, 0);
    at.count = left;
    kir_value v = choose(c, tly_lanes_below(c, left), tly_map_at(c, &at, c->lanes),
                         tly_padding(c, c->vec));
    kir_store(c->b, tly_at(c, to, full, c->acc_bytes), 0, v, c->acc_bytes, 0);
    emit_end(c, &rest);
}

void tly_stage_in(tly_build *c, const tly_row *row, kir_value to, kir_value count,
                  unsigned multiple)
{
    kir_value full = imm(c, 0), from = row->at[TLY_IN]; /* elements that whole vectors load */
    if (c->p->program.type != 0) {
        stage_mapped(c, row, to, count, multiple);
        return;
    }
    if (c->lanes > 1) {
        tly_region vectors = { 0 };
        full = tly_round_down(c, count, c->lanes);
        emit_for(c, &vectors, imm(c, 0), full, imm(c, c->lanes));
        kir_value p = ptradd(c, from, mul(c, vectors.i, tly_step(c, TLY_IN)));
        kir_value v = tly_load_vector(c, p);
        kir_store(c->b, tly_at(c, to, vectors.i, c->acc_bytes), 0, v, c->acc_bytes, 0);
        emit_end(c, &vectors);
    }

    tly_region rest = { 0 };
    pad(c, to, count, full, multiple);
    emit_for(c, &rest, full, count, imm(c, 1));
    kir_value p = ptradd(c, from, mul(c, rest.i, tly_step(c, TLY_IN)));
    kir_store(c->b, tly_at(c, to, rest.i, c->acc_bytes), 0, tly_load(c, p, 0, 1), c->acc_bytes, 0);
    emit_end(c, &rest);
}
