/* SPDX-License-Identifier: Apache-2.0 */
/* The largest or smallest element, or its index. Nothing rounds: one element is right. */
#include "fold.h"

#include <math.h>

static int is_index(const tly_fold *s)
{
    return s->operation->family == TLY_INDICES;
}

/* 1: a is larger, -1: b is, 0: equal. Of numbers; -0 is less than +0, but for indices equal. */
static int order(const tly_fold *s, uint64_t a, uint64_t b)
{
    if (!tly_is_float(s->in)) {
        const long double x = tly_integer_value(s->in, tly_integer_widen(s->in, a));
        const long double y = tly_integer_value(s->in, tly_integer_widen(s->in, b));
        return (x > y) - (x < y);
    }
    const double x = tly_decode(s->in, a), y = tly_decode(s->in, b);
    if (x == 0 && y == 0 && !is_index(s))
        return (signbit(y) != 0) - (signbit(x) != 0);
    return (x > y) - (x < y);
}

/* Whether an element takes the place of the one that is picked. */
static int wins(const tly_fold *s, const tly_pick *p, uint64_t bits)
{
    const int new_nan = tly_bits_are_nan(s->in, bits), old_nan = tly_bits_are_nan(s->in, p->bits);
    const int ignores = (s->d->flags & TALLY_NAN_IGNORE) != 0;
    const int takes_ties = (s->d->flags & TALLY_LAST) != 0;
    if (!p->started)
        return 1;
    if (new_nan && old_nan)
        return takes_ties;
    if (new_nan || old_nan)
        return ignores ? old_nan : new_nan;
    const int is_better = s->operation->sense * order(s, bits, p->bits);
    return is_better > 0 || (is_better == 0 && takes_ties);
}

static void offer(const tly_fold *s, tly_pick *p, uint64_t bits)
{
    const int64_t terms = s->falls ? -s->fact.terms : s->fact.terms;
    if (wins(s, p, bits))
        *p = (tly_pick){ 1, bits, s->first + terms };
}

static uint64_t identity(const tly_fold *s)
{
    const int largest = s->operation->sense < 0;
    if (tly_is_float(s->in))
        return tly_encode(s->in, largest ? INFINITY : -INFINITY);
    return tly_integer_cut(s->in, (largest ? tly_integer_largest : tly_integer_least)(s->in));
}

static void begin(tly_fold *s)
{
    s->fact.flags = TLY_FACT_ANY_ORDER | (tly_is_float(s->out) ? TLY_FACT_FLOAT : 0u);
    s->pick = s->flushed = (tly_pick){ s->started, identity(s), 0 };
}

static void absorb(tly_fold *s, uint64_t bits)
{
    offer(s, &s->pick, bits);
    if (tly_is_float(s->in)) {
        const double x = tly_decode(s->in, bits), flushed = tly_flush(s, x);
        if (tly_may_flush(s, x))
            s->fact.flags |= TLY_FACT_SUBNORMAL;
        bits = tly_encode(s->in, flushed);
    }
    offer(s, &s->flushed, bits);
}

static void tell(tly_fold *s)
{
    tly_fact *f = &s->fact;
    if (is_index(s)) {
        f->bits = tly_integer_cut(s->out, (uint64_t)s->pick.index);
        f->flushed = (double)s->flushed.index;
        return;
    }
    f->bits = s->pick.bits;
    if (tly_is_float(s->in)) {
        if (s->in != s->out)
            f->bits = tly_encode(s->out, tly_decode(s->in, s->pick.bits));
        f->accumulator = tly_decode(s->in, s->pick.bits);
        f->wide = f->accumulator;
        f->flushed = tly_decode(s->in, s->flushed.bits);
    }
}

const tly_folding tly_fold_picks = { begin, absorb, tell };
