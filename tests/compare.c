/*
 * Guarantees: the plain loop's own bits are always accepted; what else is accepted, and why, is
 * said at each rule.
 */
#include "compare.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct judge {
    const tally_descriptor *d;
    const void *out;
    tally_dtype dtype, accumulator;
    int sum, flushes;
    tly_verdict *verdict;
} judge;

int tly_bits_same(tally_dtype dtype, uint64_t a, uint64_t b)
{
    return a == b || (tly_bits_are_nan(dtype, a) && tly_bits_are_nan(dtype, b));
}

/* Rounding is monotonic, so an accumulator within [low, high] is stored within the rounded borders:
 * that is the half ulp of the output, at its exact value. */
static int is_near(const judge *j, const tly_fact *f, double value, long double tolerance)
{
    if (j->dtype == j->accumulator)
        return isfinite(value) && fabsl(value - f->wide) <= tolerance;
    double low = nextafter((double)(f->wide - tolerance), -INFINITY);
    double high = nextafter((double)(f->wide + tolerance), INFINITY);
    return value >= tly_decode(j->dtype, tly_encode(j->dtype, low)) &&
           value <= tly_decode(j->dtype, tly_encode(j->dtype, high));
}

/* Section 7. */
static long double tolerance_of(const judge *j, const tly_fact *f)
{
    const long double unit = ldexpl(1, -tly_precision(j->accumulator));
    return (j->sum ? 1 : 2) * (long double)f->terms * unit * f->scale;
}

/* Infinite is near the largest numbers, too. */
static int within_tolerance(const judge *j, const tly_fact *f, double value)
{
    const long double allowed = tolerance_of(j, f);
    if (isinf(value) && j->dtype == j->accumulator) {
        const long double largest = j->accumulator == TALLY_F32 ? FLT_MAX : DBL_MAX;
        return fabsl(f->wide) + allowed >= largest && (value > 0) == (f->wide > 0);
    }
    return is_near(j, f, value, allowed);
}

/* A product after a subnormal or underflowed prefix: any finite value, its sign included, will do,
 * but a zero among the inputs makes it zero. It is finite where the loop's accumulator is (narrow
 * outputs: unless that is near their end). */
static const char *judge_underflowed(const judge *j, const tly_fact *f, double value)
{
    const double largest = j->dtype == TALLY_F16 ? 65504 : FLT_MAX;
    if (isnan(value))
        return "NaN where the plain loop is finite";
    if (f->flags & TLY_FACT_ZERO_IN)
        return value == 0 ? NULL : "not zero after an input zero";
    if (isinf(value) && (j->dtype == j->accumulator || fabs(f->accumulator) < largest / 2))
        return "infinite where the plain loop is finite";
    return NULL;
}

/* The loop is inf or NaN from there on, so its class is its bits. Only where it had overflowed or
 * underflowed before may another order's class differ (0 * inf is NaN, and a subnormal * inf is
 * not); a NaN stays one in every order. */
static const char *judge_class(const tly_fact *f, double value)
{
    if (!(f->flags & TLY_FACT_NAN_IN) && f->flags & TLY_FACT_OVERFLOW && !isfinite(value))
        return NULL;
    if (!(f->flags & TLY_FACT_NAN_IN) && f->flags & TLY_FACT_UNDERFLOW && !isfinite(value))
        return NULL;
    return "not the plain loop's class after an input inf or NaN";
}

/* Finite inputs, and the loop left the range: the value of any order. A sum that another order
 * keeps in range is the sum; a product's sign is that of its factors in every order. */
static const char *judge_overflowed(const judge *j, const tly_fact *f, double value)
{
    if (isnan(value))
        return NULL;
    if (j->sum)
        return !isfinite(value) || within_tolerance(j, f, value)
                   ? NULL
                   : "no order's value after an overflow";
    if (f->flags & TLY_FACT_ZERO_IN && value != 0)
        return "neither zero nor NaN after an overflow and an input zero";
    return f->flags & TLY_FACT_UNDERFLOW || !signbit(value) == !(f->flags & TLY_FACT_NEGATIVE)
               ? NULL
               : "no order's sign after an overflow";
}

/* Only one value is right: integers, order=serial, a copy, at most one combination that does not
 * underflow, or nothing rounds. */
static int only_one_is_right(const judge *j, const tly_fact *f)
{
    return !(f->flags & TLY_FACT_FLOAT) || j->d->order == TALLY_ORDER_SERIAL || f->terms <= 1 ||
           (f->terms == 2 && !(f->flags & TLY_FACT_UNDERFLOW)) || f->flags & TLY_FACT_ANY_ORDER;
}

static const char *judge_element(const judge *j, const tly_fact *f, uint64_t got)
{
    if (tly_bits_same(j->dtype, got, f->bits))
        return NULL;
    if (only_one_is_right(j, f))
        return "not the plain loop's bits";
    double value = tly_decode(j->dtype, got);
    if (f->flags & TLY_FACT_NONFINITE_IN)
        return judge_class(f, value);
    if (f->flags & TLY_FACT_OVERFLOW)
        return judge_overflowed(j, f, value);
    if (f->flags & TLY_FACT_UNDERFLOW)
        return judge_underflowed(j, f, value);
    return within_tolerance(j, f, value) ? NULL : "beyond the tolerance";
}

/* Where subnormals count as zeros: the loop that does so is right, too. In other orders each input
 * and each partial sum may lose less than the least normal number, a product that lost a factor is
 * a zero of its sign, and one that lost it next to an infinity is NaN. */
static int is_flushed(const judge *j, const tly_fact *f, uint64_t got)
{
    if (!j->flushes || !(f->flags & TLY_FACT_SUBNORMAL))
        return 0;
    const double value = tly_decode(j->dtype, got);
    if (tly_bits_same(j->dtype, got, tly_encode(j->dtype, f->flushed)))
        return 1;
    if (j->d->order == TALLY_ORDER_SERIAL || f->terms <= 1)
        return 0;
    if (!(f->flags & TLY_FACT_FINITE))
        return !j->sum && f->flags & TLY_FACT_NONFINITE_IN && isnan(value);
    if (!j->sum)
        return value == 0 && !signbit(value) == !signbit(f->accumulator);
    const long double least = j->accumulator == TALLY_F32 ? FLT_MIN : DBL_MIN;
    return is_near(j, f, value,
                   2 * (long double)f->terms * least +
                       (only_one_is_right(j, f) ? 0 : tolerance_of(j, f)));
}

static int visit(void *user, const tly_fact *f)
{
    judge *j = user;
    uint64_t got = tly_bits_load(j->dtype, j->out, f->out);
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

int64_t tly_judge(const tally_descriptor *d, const void *in, const void *out, int flushes,
                  tly_verdict *verdict)
{
    judge j = {
        d,       out,    (tally_dtype)d->dtype, tly_reference_accumulator(d), d->op == TALLY_CUMSUM,
        flushes, verdict
    };
    memset(verdict, 0, sizeof *verdict);
    tly_reference(d, in, visit, &j);
    return verdict->wrong;
}

void tly_verdict_print(const tally_descriptor *d, const tly_verdict *v, char *text, size_t capacity)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
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
