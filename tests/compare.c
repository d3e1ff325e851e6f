/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guarantees: the plain loop's own bits are always accepted; what else is accepted, and why, is
 * said at each rule.
 */
#include "compare.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tolerance.h"

int tly_bits_same(tally_dtype dtype, uint64_t a, uint64_t b)
{
    return a == b || (tly_bits_are_nan(dtype, a) && tly_bits_are_nan(dtype, b));
}

/* Products over several axes take their elements in the order of memory, in which the loop need not
 * underflow. So they may be infinite, unless wider arithmetic shows that they are not. */
static int may_exceed(const tly_judging *j, const tly_fact *f)
{
    const long double largest = j->dtype == TALLY_F64 ? DBL_MAX : FLT_MAX;
    const int is_scan = tally_op_is_scan((tally_op)j->d->op);
    const int has_several = j->d->axes_given ? (j->d->axes & (j->d->axes - 1)) != 0
                                             : j->d->rank > 1;
    return !is_scan && has_several && j->dtype == j->accumulator &&
           !(isnormal(f->wide) && fabsl(f->wide) < largest / 2);
}

/* A product after a subnormal or underflowed prefix: any finite value, its sign included, will do,
 * but a zero among the inputs makes it zero. It is finite where the loop's accumulator is (narrow
 * outputs: unless that is near their end). */
static const char *judge_underflowed(const tly_judging *j, const tly_fact *f, double value)
{
    const double largest = j->dtype == TALLY_F16 ? 65504 : FLT_MAX;
    if (isnan(value))
        return "NaN where the plain loop is finite";
    if (f->flags & TLY_FACT_ZERO_IN)
        return value == 0 ? NULL : "not zero after an input zero";
    if (isinf(value) && !may_exceed(j, f) &&
        (j->dtype == j->accumulator || fabs(f->accumulator) < largest / 2))
        return "infinite where the plain loop is finite";
    return NULL;
}

/* The loop is inf or NaN from there on, so its class is its bits. Only where it had overflowed or
 * underflowed before may another order's class differ (0 * inf is NaN, and a subnormal * inf is
 * not); a NaN stays one in every order. */
static const char *judge_class(const tly_fact *f, double value)
{
    const uint32_t left = TLY_FACT_OVERFLOW | TLY_FACT_UNDERFLOW;
    if (!(f->flags & TLY_FACT_NAN_IN) && f->flags & left && !isfinite(value))
        return NULL;
    return "not the plain loop's class after an input inf or NaN";
}

/* Finite inputs, and the loop left the range: the value of any order, whose sign is that of its
 * factors. */
static const char *judge_overflowed(const tly_fact *f, double value)
{
    if (isnan(value))
        return NULL;
    if (f->flags & TLY_FACT_ZERO_IN && value != 0)
        return "neither zero nor NaN after an overflow and an input zero";
    return f->flags & TLY_FACT_UNDERFLOW || !signbit(value) == !(f->flags & TLY_FACT_NEGATIVE)
               ? NULL
               : "no order's sign after an overflow";
}

static const char *judge_product(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    const double value = tly_decode(j->dtype, got);
    if (f->flags & TLY_FACT_NONFINITE_IN)
        return judge_class(f, value);
    if (f->flags & TLY_FACT_OVERFLOW)
        return judge_overflowed(f, value);
    if (f->flags & TLY_FACT_UNDERFLOW)
        return judge_underflowed(j, f, value);
    return tly_is_near_product(j, f, got) ? NULL : "beyond the tolerance";
}

/* ---- every family ---- */

/* Only one value is right: integers, order=serial, a copy, at most one combination that does not
 * underflow, or nothing rounds. Of logarithms, and of what the loop's sum is too large or small
 * for, the last bits are open even then. */
static int only_one_is_right(const tly_judging *j, const tly_fact *f)
{
    const int recurs = j->operation->family == TLY_RECURRENCES;
    if (j->operation->family == TLY_LOG_SUMS || j->operation->projection == TLY_LOGARITHM ||
        (f->flags & TLY_FACT_STRAYED && !recurs))
        return 0;
    if (recurs && j->is_loop)
        return 1;
    return !(f->flags & TLY_FACT_FLOAT) || j->d->order == TALLY_ORDER_SERIAL || f->terms <= 1 ||
           (f->terms == 2 && !(f->flags & TLY_FACT_UNDERFLOW) &&
            j->operation->family != TLY_RECURRENCES) ||
           f->flags & TLY_FACT_ANY_ORDER;
}

static const char *judge_by_rules(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    static const char *(*const rules[TLY_FAMILY_COUNT])(
        const tly_judging *, const tly_fact *,
        uint64_t) = { [TLY_SUMS] = tly_rule_sum,
                      [TLY_PRODUCTS] = judge_product,
                      [TLY_LOG_SUMS] = tly_rule_log_sum,
                      [TLY_RECURRENCES] = tly_rule_recurrence };
    return rules[j->operation->family](j, f, got);
}

/* What the rules above take, as a range. */
static tly_range product_range(const tly_judging *j, const tly_fact *f)
{
    const int is_zero = f->flags & TLY_FACT_ZERO_IN, flips = f->flags & TLY_FACT_UNDERFLOW;
    const int is_negative = (f->flags & TLY_FACT_NEGATIVE) != 0;
    tly_range r = { is_zero ? 0 : -DBL_MAX, is_zero ? 0 : DBL_MAX, 0, 0, 0 };
    if (f->flags & TLY_FACT_NONFINITE_IN) {
        const int open = !judge_class(f, NAN);
        r = (tly_range){ INFINITY, -INFINITY, open || f->accumulator == INFINITY,
                         open || f->accumulator == -INFINITY, open || isnan(f->accumulator) };
    } else if (f->flags & TLY_FACT_OVERFLOW) {
        r.nan = 1;
        r.plus_infinity = !is_zero && (flips || !is_negative);
        r.minus_infinity = !is_zero && (flips || is_negative);
        if (!flips)
            *(is_negative ? &r.high : &r.low) = 0;
    } else if (!flips) {
        r = tly_range_of_product(j, f);
    } else if (!is_zero) {
        r.plus_infinity = r.minus_infinity = may_exceed(j, f);
    }
    return r;
}

static const char *judge_post(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    if (tly_bits_same(j->fused->stored, got, f->bits))
        return NULL;
    if (only_one_is_right(j, f))
        return "not post of the plain loop's result";
    const tly_range y = j->operation->family == TLY_SUMS          ? tly_range_of_sum(j, f, 0)
                        : j->operation->family == TLY_PRODUCTS    ? product_range(j, f)
                        : j->operation->family == TLY_RECURRENCES ? tly_range_of_recurrence(j, f)
                                                                  : tly_range_of_log_sum(j, f);
    return tly_is_right_post(j, f, &y, got) ? NULL : "not post of a result within the tolerance";
}

static const char *judge_element(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    if (j->fused->has_post)
        return judge_post(j, f, got);
    if (tly_bits_same(j->dtype, got, f->bits))
        return NULL;
    return only_one_is_right(j, f) ? "not the plain loop's bits" : judge_by_rules(j, f, got);
}

/* Where subnormals count as zeros: the loop that does so is right, too. In other orders each input
 * and each partial sum may lose less than the least normal number, a product that lost a factor is
 * a zero of its sign, and one that lost it next to an infinity is NaN. Of elements that count as
 * zeros any may be picked. A recurrence loses so much times later factors, and a factor next to an
 * infinity. */
static int is_flushed(const tly_judging *j, const tly_fact *f, uint64_t got)
{
    if (!j->flushes)
        return 0;
    if (f->flags & TLY_FACT_STAGE_SUBNORMAL ||
        (j->fused->has_post && f->flags & TLY_FACT_SUBNORMAL))
        return 1;
    if (!(f->flags & TLY_FACT_SUBNORMAL))
        return 0;
    if (!tly_is_float(j->dtype))
        return j->operation->family == TLY_INDICES && got == (uint64_t)f->flushed;
    const double value = tly_decode(j->dtype, got), flushed = f->flushed;
    if (tly_bits_same(j->dtype, got, tly_encode(j->dtype, flushed)))
        return 1;
    if (j->dtype != TALLY_F64 && fabs(flushed) <= FLT_MIN && value == 0 && /* when it is stored */
        !signbit(value) == !signbit(flushed))
        return 1;
    if (j->operation->family == TLY_PICKS)
        return fabs(f->accumulator) < tly_least_normal_of(j) &&
               fabs(value) < tly_least_normal_of(j);
    if (j->operation->family == TLY_RECURRENCES)
        return !(f->flags & TLY_FACT_FINITE) || tly_is_flushed_recurrence(j, f, got);
    if (j->d->order == TALLY_ORDER_SERIAL || f->terms <= 1)
        return 0;
    if (j->operation->family == TLY_SUMS)
        return f->flags & TLY_FACT_FINITE && tly_is_right_sum(j, f, got, tly_least_normal_of(j));
    if (!(f->flags & TLY_FACT_FINITE))
        return f->flags & TLY_FACT_NONFINITE_IN && isnan(value);
    return value == 0 && !signbit(value) == !signbit(f->accumulator);
}

static int visit(void *user, const tly_fact *f)
{
    tly_judging *j = user;
    uint64_t got = tly_bits_load(j->fused->stored, j->out, f->out);
    const char *reason = judge_element(j, f, got);
    if (reason && is_flushed(j, f, got))
        reason = NULL;
    j->verdict->checked++;
    j->verdict->exact += only_one_is_right(j, f);
    if (!reason)
        return 0;
    if (j->verdict->wrong++ == 0) {
        j->verdict->first = *f;
        j->verdict->got = got;
        j->verdict->reason = reason;
    }
    return 0;
}

/* Whether elements of other rows lie nearer to each other in the output than those of a scan: then
 * kernels run the plain loop, for many scans at once. Few that are packed may go along the axis. */
static int is_across(const tally_descriptor *d)
{
    enum { MOST_FEW = 15 };
    tly_layout l;
    tly_layout_of(d, &l);
    if (llabs(l.out_step) <= MOST_FEW)
        return 0;
    for (int k = 0; k < l.rank && l.is_scan; k++)
        if (k != l.axis && l.sizes[k] > 1 && llabs(l.out_strides[k]) < llabs(l.out_step))
            return 1;
    return 0;
}

static tly_judging judge_of(const tly_fused *fused, int may)
{
    const tally_descriptor *d = &fused->values;
    return (tly_judging){ .d = d,
                          .fused = fused,
                          .operation = &tly_operations[d->op],
                          .dtype = tly_reference_output(d),
                          .accumulator = tly_reference_accumulator(d),
                          .is_loop = !(may & TLY_CUTS_LANES) && is_across(d),
                          .flushes = may & TLY_FLUSHES };
}

const char *tly_judge_loop(const tally_descriptor *d, const tly_fact *fact)
{
    tly_fused fused;
    tly_fused_of(d, &fused);
    tly_judging j = judge_of(&fused, 0);
    const uint32_t family = j.operation->family;
    const uint32_t open = TLY_FACT_NONFINITE_IN | TLY_FACT_OVERFLOW | TLY_FACT_UNDERFLOW;
    const int has_wide = fact->flags & TLY_FACT_FLOAT || !only_one_is_right(&j, fact);
    j.by_wide = 1;
    if (family >= TLY_RECURRENCES || !has_wide || (family != TLY_LOG_SUMS && fact->flags & open))
        return NULL;
    return judge_by_rules(&j, fact, fact->result);
}

int64_t tly_judge_buffers(const tally_descriptor *d, const void *in, const void *const *operands,
                          const void *out, int may, tly_verdict *verdict)
{
    tly_fused fused;
    memset(verdict, 0, sizeof *verdict);
    if (tly_fused_of(d, &fused)) {
        verdict->reason = "the tests' own parser refuses an expression";
        return verdict->wrong = 1;
    }
    tly_judging j = judge_of(&fused, may);
    j.out = out;
    j.verdict = verdict;
    tly_reference_buffers(d, in, operands, visit, &j);
    return verdict->wrong;
}

int64_t tly_judge(const tally_descriptor *d, const void *in, const void *out, int may,
                  tly_verdict *verdict)
{
    return tly_judge_buffers(d, in, NULL, out, may, verdict);
}

void tly_verdict_print(const tally_descriptor *d, const tly_verdict *v, char *text, size_t capacity)
{
    const tally_dtype dtype = tly_reference_output(d);
    if (!v->reason) {
        snprintf(text, capacity, "right in %lld elements", (long long)v->checked);
        return;
    }
    int used = snprintf(text, capacity,
                        "%lld of %lld wrong; first: row %lld position %lld: %s: got 0x%llx, plain "
                        "loop 0x%llx",
                        (long long)v->wrong, (long long)v->checked, (long long)v->first.row,
                        (long long)v->first.position, v->reason, (unsigned long long)v->got,
                        (unsigned long long)v->first.bits);
    if (tly_is_float(dtype) && used > 0 && (size_t)used < capacity)
        snprintf(text + used, capacity - (size_t)used, " (%.9g, %.9g, wide %.12Lg)",
                 tly_decode(dtype, v->got), tly_decode(dtype, v->first.bits), v->first.wide);
}
