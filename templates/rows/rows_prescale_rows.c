/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows template: prescales rows of a few steps whose products become subnormal. An instruction
 * that makes or takes a subnormal number takes 100 cycles and more on Intel's cores, and a choice
 * in each step (rows_prescale_steps.c) would double the time of such a row. So a row that
 * underflowed is scanned again from 2^110 instead of 1, which makes subnormal products normal. The
 * scale is taken out when results are stored. If nothing underflows, the bits are the same either
 * way. So rows that follow one that was prescaled are prescaled at once. docs/range.md has the
 * reasons.
 */
#include "rows.h"

enum {
    SCALE = 110,   /* 128 uniform numbers come to less than 2^-236 once in a thousand times */
    MOST = 128,    /* elements; of more, uniform numbers fall out of this range, too */
    HOLD = 64,     /* rows; of masks (a zero in 50 elements) one in ten falls */
    BIAS = 127,    /* an f32's exponent of 1 */
    NORMAL = -126, /* its least normal number */
};

static const uint64_t sign = 0x80000000;

static uint64_t power(int exponent)
{
    return (uint64_t)(BIAS + exponent) << 23;
}

/* The output is f16, which is zero where an accumulator would be subnormal. */
static int shows_half(const tly_rows *r)
{
    return r->c->p->tensor[TLY_OUT].dtype == TALLY_F16;
}

int64_t tly_rows_prescaled_elements(const tly_rows *r)
{
    return r->block < MOST ? r->block : MOST;
}

void tly_rows_begin_prescale_rows(tly_rows *r)
{
    tly_build *c = r->c;
    r->few_steps = less(c, r->length, imm(c, tly_rows_prescaled_elements(r) + 1));
    kir_store(c->b, r->prescale_hold, 0, imm(c, 0), 8, 0);
}

static kir_value prescale_hold(tly_rows *r)
{
    return kir_load(r->c->b, KIR_TYPE(KIR_I64, 1), r->prescale_hold, 0, 8);
}

kir_value tly_rows_prescales_at_once(tly_rows *r)
{
    return less(r->c, imm(r->c, 0), prescale_hold(r));
}

tly_rows_span tly_rows_prescale(tly_rows *r, const tly_rows_span *g, const tly_rows_attempt *t,
                                tly_rows_state *s)
{
    tly_build *c = r->c;
    tly_rows_span to = *g;
    s->last[0] = choose(c, t->prescaled, constant(c, c->vec, power(SCALE)), s->last[0]);
    to.prescaled = t->prescaled;
    return to;
}

/* Magnitudes plus 2^exponent, as floats. */
static kir_value plus(tly_rows *r, kir_value size, int exponent)
{
    tly_build *c = r->c;
    kir_value x = bitcast(c, c->vec, size);
    x = add(c, x, like(c, x, power(exponent)));
    return bitcast(c, type_of(c, size), x);
}

/* Magnitudes less the scale. Those that are below the normal numbers then have wrong bits, but stay
 * below 2^-126. */
static kir_value lower(tly_rows *r, kir_value size)
{
    tly_build *c = r->c;
    kir_value scale = like(c, size, (uint64_t)SCALE << 23);
    return sub(c, umax(c, size, scale), scale);
}

/* A sum with 2^-126 has ulps of 2^-149, so its bits are those of a subnormal result. The result is
 * subnormal where they are more than its own bits less the scale. An f16 shows nothing so small. */
kir_value tly_rows_unscale(tly_rows *r, kir_value prescaled, kir_value *most)
{
    tly_build *c = r->c;
    kir_value bits = bitcast(c, type_of(c, *most), prescaled);
    kir_value size = band(c, bits, like(c, bits, sign - 1)), down;
    *most = umax(c, *most, size);
    if (shows_half(r)) {
        down = lower(r, size);
    } else {
        kir_value floor = like(c, bits, power(NORMAL + SCALE));
        down = sub(c, size, like(c, bits, (uint64_t)SCALE << 23));
        down = smax(c, down, sub(c, plus(r, size, NORMAL + SCALE), floor));
    }
    bits = bor(c, down, band(c, bits, like(c, bits, sign)));
    return bitcast(c, c->vec, bits);
}

/* i1: a result is infinite in the output. */
static kir_value is_infinite(tly_rows *r, kir_value most)
{
    tly_build *c = r->c;
    if (!shows_half(r))
        return any(c, tly_not(c, tly_check_below(c, most, TLY_INFINITE)));
    return any(c, tly_check_infinite(c, lower(r, most)));
}

/* i1: without the scale, a product would have fallen below the normal numbers and stayed there. */
static kir_value has_fallen(tly_rows *r, const tly_rows_state *s)
{
    tly_build *c = r->c;
    kir_value less = tly_check_less(c, s->last[0]);
    return any(c, ult(c, less, like(r->c, less, power(NORMAL + SCALE))));
}

/* i1: a prescaled attempt failed. */
static kir_value settle_prescaled(tly_rows *r, const tly_rows_span *g, kir_value count,
                                  const tly_rows_state *s, kir_value raised,
                                  const tly_rows_attempt *t)
{
    tly_build *c = r->c;
    tly_rows_span still = *g;
    kir_value most;
    still.leaves = 0;
    tly_rows_store_deferred(r, &still, count, &most);
    kir_value bad = bor(c, is_infinite(r, most), raised);
    kir_value fallen = bor(c, t->again, has_fallen(r, s));
    kir_value next = choose(c, fallen, imm(c, HOLD), sub(c, prescale_hold(r), imm(c, 1)));
    kir_store(c->b, r->prescale_hold, 0, choose(c, bad, imm(c, 0), next), 8, 0);
    return bad;
}

void tly_rows_settle(tly_rows *r, const tly_rows_span *g, kir_value count, const tly_rows_state *s,
                     kir_value *flags, tly_rows_attempt *t)
{
    tly_build *c = r->c;
    kir_value none = like(c, *flags, 0), rest = none;
    tly_region plain = { 0 }, some = { .state = { &t->bad, &rest } },
               way = { .state = { &t->bad } };
    t->bad = i1(c, 0);
    if (r->deferred) {
        emit_if(c, &plain, tly_not(c, t->prescaled));
        tly_rows_store_deferred(r, g, count, NULL);
        emit_end(c, &plain);
    }
    kir_value any_flag = raised(c, *flags);
    emit_if(c, &some, bor(c, t->prescaled, any_flag));
    emit_if(c, &way, t->prescaled);
    t->bad = settle_prescaled(r, g, count, s, any_flag, t);
    emit_else(c, &way);
    t->bad = band(c, r->few_steps, met(c, *flags, KIR_UNDERFLOWED));
    emit_end(c, &way);
    rest = choose(c, bor(c, t->prescaled, t->bad), none, *flags);
    emit_end(c, &some);
    *flags = rest;
}
