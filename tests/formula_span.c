/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An expression of intervals. Rounding is monotonic, so the rounded results at the ends of an
 * interval bound those between. exp and log are within 2 units, and need not be monotonic: their
 * ends move outwards.
 */
#include "formula.h"

#include <float.h>
#include <math.h>

static const tly_span everything = { -INFINITY, INFINITY, 1 };

static tly_span point(double x)
{
    return isnan(x) ? (tly_span){ INFINITY, -INFINITY, 1 } : (tly_span){ x, x, 0 };
}

static int is_empty(tly_span s)
{
    return s.low > s.high;
}

static int has(tly_span s, double x)
{
    return s.low <= x && x <= s.high;
}

static tly_span join(tly_span a, tly_span b)
{
    return (tly_span){ fmin(a.low, b.low), fmax(a.high, b.high), a.nan || b.nan };
}

static double step(int single, double x, double to)
{
    return single ? nextafterf((float)x, (float)to) : nextafter(x, to);
}

static tly_span widen(int single, tly_span s, int units)
{
    for (int k = 0; k < units && !is_empty(s); k++) {
        s.low = step(single, s.low, -INFINITY);
        s.high = step(single, s.high, INFINITY);
    }
    return s;
}

/* One operation on two numbers, by the evaluator itself. */
static double apply(tly_formula_op op, int single, double a, double b)
{
    const tly_formula f = { 3,
                            { { .name = TLY_NAME_X },
                              { .name = TLY_NAME_Y },
                              { .op = (uint8_t)op, .arguments = { 0, 1, 1 } } } };
    const tly_scalar names[TLY_NAMES] = { { .real = a }, { .real = b } };
    int subnormal;
    return tly_formula_evaluate(&f, single ? TALLY_F32 : TALLY_F64, names, &subnormal).real;
}

/* The hull of the results at the corners; NaN there is left to the caller. */
static tly_span corners(tly_formula_op op, int single, tly_span a, tly_span b)
{
    tly_span s = { INFINITY, -INFINITY, a.nan || b.nan };
    const double left[] = { a.low, a.high }, right[] = { b.low, b.high };
    for (int k = 0; k < 4; k++) {
        const double x = apply(op, single, left[k / 2], right[k % 2]);
        if (!isnan(x))
            s = join(s, (tly_span){ x, x, 0 });
    }
    return s;
}

static tly_span add(int single, tly_span a, tly_span b)
{
    const int differ = (has(a, INFINITY) && has(b, -INFINITY)) ||
                       (has(a, -INFINITY) && has(b, INFINITY));
    tly_span s = corners(TLY_FORMULA_ADD, single, a, b);
    if (!differ)
        return s;
    /* An infinity that is no single value meets finite numbers, too. */
    s = join(s, (tly_span){ fmin(a.low, b.low), fmax(a.high, b.high), 1 });
    return s;
}

static tly_span negate(tly_span a)
{
    return (tly_span){ -a.high, -a.low, a.nan };
}

static tly_span multiply(int single, tly_span a, tly_span b)
{
    const int has_infinity = has(a, INFINITY) || has(a, -INFINITY) || has(b, INFINITY) ||
                             has(b, -INFINITY);
    const int has_zero = has(a, 0) || has(b, 0);
    if (has_infinity && has_zero)
        return everything;
    return corners(TLY_FORMULA_MUL, single, a, b);
}

static tly_span divide(int single, tly_span a, tly_span b)
{
    const int a_reaches = has(a, INFINITY) || has(a, -INFINITY);
    const int b_reaches = has(b, INFINITY) || has(b, -INFINITY);
    if (has(b, 0) || (a_reaches && b_reaches))
        return (tly_span){ -INFINITY, INFINITY,
                           a.nan || b.nan || has(a, 0) || (a_reaches && b_reaches) };
    return corners(TLY_FORMULA_DIV, single, a, b);
}

static tly_span magnitude(tly_span a)
{
    const double low = has(a, 0) ? 0 : fmin(fabs(a.low), fabs(a.high));
    return (tly_span){ low, fmax(fabs(a.low), fabs(a.high)), a.nan };
}

/* A function that grows, of an argument from `least` on: NaN below. */
static tly_span grow(tly_formula_op op, int single, tly_span a, double least)
{
    const int below = a.low < least;
    if (a.high < least)
        return (tly_span){ INFINITY, -INFINITY, 1 };
    const double low = below ? least : a.low;
    return (tly_span){ apply(op, single, low, 0), apply(op, single, a.high, 0), a.nan || below };
}

static tly_span exponential(int single, tly_span a)
{
    const tly_span s = widen(single, grow(TLY_FORMULA_EXP, single, a, -INFINITY), 4);
    return (tly_span){ fmax(s.low, 0), s.high, s.nan };
}

static tly_span sigmoid(int single, tly_span a)
{
    const tly_span down = exponential(single, negate(a));
    return divide(single, point(1), add(single, point(1), down));
}

static tly_span truth(int can_be, int can_fail)
{
    return (tly_span){ can_fail ? 0 : 1, can_be ? 1 : 0, 0 };
}

static tly_span compare(tly_formula_op op, tly_span a, tly_span b)
{
    const int nan = a.nan || b.nan, numbers = !is_empty(a) && !is_empty(b);
    const int less = numbers && a.low < b.high, more = numbers && a.high > b.low;
    const int same = numbers && a.low <= b.high && b.low <= a.high;
    switch (op) {
    case TLY_FORMULA_LT:
        return truth(less, more || same || nan);
    case TLY_FORMULA_LE:
        return truth(less || same, more || nan);
    case TLY_FORMULA_GT:
        return truth(more, less || same || nan);
    case TLY_FORMULA_GE:
        return truth(more || same, less || nan);
    case TLY_FORMULA_EQ:
        return truth(same, less || more || nan);
    default:
        return truth(less || more || nan, same);
    }
}

static tly_span choose(tly_span c, tly_span p, tly_span q)
{
    const int can_be_zero = has(c, 0);
    const int can_differ = c.nan || (!is_empty(c) && !(c.low == 0 && c.high == 0));
    return can_be_zero && can_differ ? join(p, q) : can_be_zero ? q : p;
}

/* Of two numbers; NaN if one is. */
static tly_span pick(tly_formula_op op, tly_span a, tly_span b)
{
    double (*const of)(double, double) = op == TLY_FORMULA_MIN ? fmin : fmax;
    return (tly_span){ of(a.low, b.low), of(a.high, b.high), a.nan || b.nan };
}

static tly_span compute(tly_formula_op op, int single, tly_span a, tly_span b, tly_span c)
{
    if (op == TLY_FORMULA_WHERE)
        return choose(a, b, c);
    if (op >= TLY_FORMULA_LT && op <= TLY_FORMULA_NE)
        return compare(op, a, b);
    const int is_pair = op <= TLY_FORMULA_DIV || op == TLY_FORMULA_MIN || op == TLY_FORMULA_MAX;
    if (is_empty(a) || (is_pair && is_empty(b)))
        return (tly_span){ INFINITY, -INFINITY, 1 };
    switch (op) {
    case TLY_FORMULA_ADD:
        return add(single, a, b);
    case TLY_FORMULA_SUB:
        return add(single, a, negate(b));
    case TLY_FORMULA_MUL:
        return multiply(single, a, b);
    case TLY_FORMULA_DIV:
        return divide(single, a, b);
    case TLY_FORMULA_NEG:
        return negate(a);
    case TLY_FORMULA_ABS:
        return magnitude(a);
    case TLY_FORMULA_SQRT:
        return grow(op, single, a, 0);
    case TLY_FORMULA_LOG:
        return widen(single, grow(op, single, a, 0), 4);
    case TLY_FORMULA_EXP:
        return exponential(single, a);
    case TLY_FORMULA_SIG:
        return sigmoid(single, a);
    case TLY_FORMULA_FLOOR:
    case TLY_FORMULA_ROUND:
        return grow(op, single, a, -INFINITY);
    case TLY_FORMULA_MIN:
    case TLY_FORMULA_MAX:
        return pick(op, a, b);
    default:
        return everything;
    }
}

tly_span tly_formula_span(const tly_formula *f, tally_dtype type, const tly_scalar names[TLY_NAMES],
                          tly_span y)
{
    const int single = type == TALLY_F32;
    tly_span spans[TLY_FORMULA_MOST] = { { 0, 0, 0 } };
    for (int k = 0; k < f->count; k++) {
        const tly_formula_node *n = &f->nodes[k];
        spans[k] = n->op == TLY_FORMULA_CONSTANT ? point(single ? (float)n->real : n->real)
                   : n->op != TLY_FORMULA_NAME
                       ? compute((tly_formula_op)n->op, single, spans[n->arguments[0]],
                                 spans[n->arguments[1]], spans[n->arguments[2]])
                   : n->name == TLY_NAME_Y ? y
                                           : point(names[n->name].real);
    }
    return spans[f->count - 1];
}
