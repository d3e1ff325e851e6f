/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One element of an expression. Guarantees: each operation rounds once, by itself, to the type;
 * subnormals stay; integers wrap in their width.
 */
#include "formula.h"

#include <float.h>
#include <math.h>

#include "reference.h"

_Static_assert(FLT_EVAL_METHOD == 0, "float must round to float");

/* ---- floats ---- */

/* -0 is less than +0. */
static int is_less(double a, double b)
{
    return a == 0 && b == 0 ? signbit(a) && !signbit(b) : a < b;
}

static double divide(int single, double a, double b)
{
    return single ? (float)a / (float)b : a / b;
}

static double compute_real(tly_formula_op op, int single, double a, double b, double c)
{
    const float p = (float)a, q = (float)b;
    switch (op) {
    case TLY_FORMULA_ADD:
        return single ? p + q : a + b;
    case TLY_FORMULA_SUB:
        return single ? p - q : a - b;
    case TLY_FORMULA_MUL:
        return single ? p * q : a * b;
    case TLY_FORMULA_DIV:
        return divide(single, a, b);
    case TLY_FORMULA_LT:
        return a < b;
    case TLY_FORMULA_LE:
        return a <= b;
    case TLY_FORMULA_GT:
        return a > b;
    case TLY_FORMULA_GE:
        return a >= b;
    case TLY_FORMULA_EQ:
        return a == b;
    case TLY_FORMULA_NE:
        return a != b;
    case TLY_FORMULA_NEG:
        return -a;
    case TLY_FORMULA_ABS:
        return fabs(a);
    case TLY_FORMULA_SQRT:
        return single ? sqrtf(p) : sqrt(a);
    case TLY_FORMULA_EXP:
        return tly_formula_exp(single, a);
    case TLY_FORMULA_LOG:
        return tly_formula_log(single, a);
    case TLY_FORMULA_SIG:
        b = tly_formula_exp(single, -a);
        return divide(single, 1, single ? 1.0f + (float)b : 1 + b);
    case TLY_FORMULA_FLOOR:
        return floor(a);
    case TLY_FORMULA_ROUND:
        return rint(a);
    case TLY_FORMULA_MIN:
        return isnan(a) || isnan(b) ? NAN : is_less(b, a) ? b : a;
    case TLY_FORMULA_MAX:
        return isnan(a) || isnan(b) ? NAN : is_less(a, b) ? b : a;
    case TLY_FORMULA_WHERE:
        return a != 0 ? b : c;
    default:
        return NAN;
    }
}

/* ---- integers ---- */

static int is_below(tally_dtype type, uint64_t a, uint64_t b)
{
    return tly_is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t compute_whole(tly_formula_op op, tally_dtype type, uint64_t a, uint64_t b,
                              uint64_t c)
{
    switch (op) {
    case TLY_FORMULA_ADD:
        return a + b;
    case TLY_FORMULA_SUB:
        return a - b;
    case TLY_FORMULA_MUL:
        return a * b;
    case TLY_FORMULA_LT:
        return is_below(type, a, b);
    case TLY_FORMULA_LE:
        return !is_below(type, b, a);
    case TLY_FORMULA_GT:
        return is_below(type, b, a);
    case TLY_FORMULA_GE:
        return !is_below(type, a, b);
    case TLY_FORMULA_EQ:
        return a == b;
    case TLY_FORMULA_NE:
        return a != b;
    case TLY_FORMULA_NEG:
        return 0 - a;
    case TLY_FORMULA_ABS:
        return is_below(type, a, 0) ? 0 - a : a;
    case TLY_FORMULA_MIN:
        return is_below(type, b, a) ? b : a;
    case TLY_FORMULA_MAX:
        return is_below(type, a, b) ? b : a;
    case TLY_FORMULA_WHERE:
        return a ? b : c;
    default: /* the other functions are not for integers */
        return 0;
    }
}

/* ---- both ---- */

static tly_scalar compute(const tly_formula_node *n, tally_dtype type, const tly_scalar *names,
                          const tly_scalar *values)
{
    const tly_formula_op op = (tly_formula_op)n->op;
    const tly_scalar *a = &values[n->arguments[0]], *b = &values[n->arguments[1]],
                     *c = &values[n->arguments[2]];
    const int single = type == TALLY_F32;
    tly_scalar v;
    if (op == TLY_FORMULA_NAME)
        return names[n->name];
    if (tly_is_float(type)) {
        v.real = op == TLY_FORMULA_CONSTANT ? (single ? (float)n->real : n->real)
                                            : compute_real(op, single, a->real, b->real, c->real);
        return v;
    }
    v.whole = op == TLY_FORMULA_CONSTANT ? n->whole
                                         : compute_whole(op, type, a->whole, b->whole, c->whole);
    v.whole = tly_integer_widen(type, tly_integer_cut(type, v.whole));
    return v;
}

static int is_subnormal(tally_dtype type, double x)
{
    return x != 0 && fabs(x) <= (type == TALLY_F32 ? FLT_MIN : DBL_MIN);
}

tly_scalar tly_formula_evaluate(const tly_formula *f, tally_dtype type,
                                const tly_scalar names[TLY_NAMES], int *subnormal)
{
    tly_scalar values[TLY_FORMULA_MOST] = { { 0 } };
    for (int k = 0; k < f->count; k++) {
        values[k] = compute(&f->nodes[k], type, names, values);
        if (tly_is_float(type) && is_subnormal(type, values[k].real))
            *subnormal = 1;
    }
    return values[f->count - 1];
}
