/*
 * The input side of staged templates: whatever the step, dtype and direction of the input, the
 * scan reads consecutive accumulators from scratch, padded with neutral values. That keeps one
 * in-register scan for all inputs, and lets overlapping loads serve as shifts.
 */
#include "template.h"

int tly_loads_vectors(const tly_build *c)
{
    return c->p->in_step >= -1 && c->p->in_step <= 2;
}

kir_value tly_load_vector(tly_build *c, kir_value p)
{
    kir_type t = tly_storage((tally_dtype)c->p->dtype, c->lanes);
    uint8_t pick[64];
    switch (c->p->in_step) {
    case 0:
        return kir_splat(c->b, tly_load(c, p, 0, 1), c->lanes);
    case 1:
        return tly_load(c, p, 0, c->lanes);
    case -1:
        return tly_reverse(c, tly_load(c, p, -(int64_t)(c->lanes - 1) * c->in_bytes, c->lanes));
    default: /* 2: the second load ends with the last position */
        for (unsigned i = 0; i < c->lanes; i++)
            pick[i] = (uint8_t)(2 * i + (2 * i >= c->lanes));
        return tly_widen(c, kir_shuffle(c->b, kir_load(c->b, t, p, 0, 1),
                                        kir_load(c->b, t, p, (c->lanes - 1LL) * c->in_bytes, 1),
                                        pick, c->lanes));
    }
}

void tly_stage_in(tly_build *c, kir_value from, kir_value to, kir_value count, unsigned multiple)
{
    kir_builder *b = c->b;
    kir_loop l;
    kir_value full = imm(c, 0); /* elements that whole vectors bring */
    if (tly_loads_vectors(c)) {
        full = tly_round_down(c, count, c->lanes);
        kir_for(b, &l, imm(c, 0), full, imm(c, c->lanes), 0, NULL);
        kir_value p = tly_at(c, from, l.i, (int64_t)c->p->in_step * c->in_bytes);
        kir_value v = tly_load_vector(c, p);
        kir_store(b, tly_at(c, to, l.i, c->acc_bytes), 0, v, c->acc_bytes, 0);
        kir_for_end(b, &l, NULL);
    }

    kir_value neutral = tly_neutral(c, c->vec);
    kir_for(b, &l, full, tly_round_up(c, count, multiple), imm(c, c->lanes), 0, NULL);
    kir_store(b, tly_at(c, to, l.i, c->acc_bytes), 0, neutral, c->acc_bytes, 0);
    kir_for_end(b, &l, NULL);

    kir_for(b, &l, full, count, imm(c, 1), 0, NULL);
    kir_value p = kir_ptradd(b, from, mul(c, l.i, tly_in_step(c)));
    kir_store(b, tly_at(c, to, l.i, c->acc_bytes), 0, tly_load(c, p, 0, 1), c->acc_bytes, 0);
    kir_for_end(b, &l, NULL);
}
