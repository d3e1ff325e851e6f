/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of trees, and the rules that simplify them. A minus moves outwards, so that two of them
 * meet and vanish, and a sum becomes a difference. None of these rules changes a bit. Those that
 * may are left out while a tree is `exact`.
 */
#include "tree.h"

#include <math.h>
#include <string.h>

typedef struct parts {
    tly_node a, b, c;
} parts;

void tly_tree_begin(tly_tree *t)
{
    t->count = 1;
    t->failed = 0;
    t->exact = 0;
    t->nodes[TLY_NOTHING] = (tly_tree_node){ .code = TLY_POSTFIX_CONSTANT };
}

/* Zeros of both signs differ, and a NaN equals itself. */
static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The node of these fields, new or not. */
static tly_node find(tly_tree *t, int code, double value, parts p)
{
    const tly_tree_node node = { value, { p.a, p.b, p.c }, (uint8_t)code };
    const uint64_t bits = bits_of(value);
    for (int i = 1; i < t->count; i++) {
        const tly_tree_node *n = &t->nodes[i];
        if (n->code == node.code && bits_of(n->value) == bits &&
            memcmp(n->arg, node.arg, sizeof node.arg) == 0) {
            return (tly_node)i;
        }
    }
    if (t->count == TLY_MOST_NODES) {
        t->failed = 1;
        return TLY_NOTHING;
    }
    t->nodes[t->count] = node;
    return (tly_node)t->count++;
}

tly_node tly_tree_leaf(tly_tree *t, int tensor)
{
    return find(t, TLY_LEAF, 0, (parts){ (tly_node)tensor, 0, 0 });
}

tly_node tly_tree_constant(tly_tree *t, double value)
{
    return find(t, TLY_POSTFIX_CONSTANT, value, (parts){ 0, 0, 0 });
}

tly_node tly_tree_result(tly_tree *t)
{
    return find(t, TLY_POSTFIX_Y, 0, (parts){ 0, 0, 0 });
}

static int is_code(const tly_tree *t, tly_node n, int code)
{
    return t->nodes[n].code == code;
}

static int is_constant(const tly_tree *t, tly_node n)
{
    return n != TLY_NOTHING && is_code(t, n, TLY_POSTFIX_CONSTANT);
}

static int is_value(const tly_tree *t, tly_node n, double value)
{
    return is_constant(t, n) && t->nodes[n].value == value;
}

/* A number of which sums and products are exact in each float type: no large integer. */
static int is_small(const tly_tree *t, tly_node n)
{
    const double value = t->nodes[n].value;
    return is_constant(t, n) && fabs(value) <= 1000 && floor(value) == value && value != 0;
}

static int is_negative(const tly_tree *t, tly_node n)
{
    return is_constant(t, n) && t->nodes[n].value < 0;
}

static tly_node argument(const tly_tree *t, tly_node n, int i)
{
    return t->nodes[n].arg[i];
}

static tly_node negate(tly_tree *t, tly_node n)
{
    if (n == TLY_NOTHING) {
        return n;
    }
    if (is_constant(t, n)) {
        return tly_tree_constant(t, -t->nodes[n].value);
    }
    if (is_code(t, n, TLY_POSTFIX_NEG)) {
        return argument(t, n, 0);
    }
    if (is_code(t, n, TLY_POSTFIX_SUB) && !t->exact) {
        return find(t, TLY_POSTFIX_SUB, 0, (parts){ argument(t, n, 1), argument(t, n, 0), 0 });
    }
    return find(t, TLY_POSTFIX_NEG, 0, (parts){ n, 0, 0 });
}

/* Takes the minus from a node; 0: it has none. */
static int take_minus(tly_tree *t, tly_node *n)
{
    if (is_code(t, *n, TLY_POSTFIX_NEG) || is_negative(t, *n)) {
        *n = negate(t, *n);
        return 1;
    }
    return 0;
}

static tly_node multiply(tly_tree *t, parts p);

/* A product without one of its factors, or TLY_NOTHING if it has no such factor. The factors are
 * those of a chain of products from left to right. */
static tly_node without(tly_tree *t, tly_node n, tly_node factor)
{
    if (n == factor) {
        return tly_tree_constant(t, 1);
    }
    if (!is_code(t, n, TLY_POSTFIX_MUL)) {
        return TLY_NOTHING;
    }
    const tly_node left = argument(t, n, 0), right = argument(t, n, 1);
    if (right == factor) {
        return left;
    }
    const tly_node rest = without(t, left, factor);
    return rest == TLY_NOTHING ? rest : multiply(t, (parts){ rest, right, 0 });
}

static tly_node add(tly_tree *t, parts p);

/* The sum or the difference of two products with a common factor, which is a tensor, as the factor
 * times the rest. TLY_NOTHING if there is none. */
static tly_node take_factor(tly_tree *t, parts p, int code)
{
    for (tly_node at = p.a;; at = argument(t, at, 0)) {
        const int is_product = is_code(t, at, TLY_POSTFIX_MUL);
        const tly_node factor = is_product ? argument(t, at, 1) : at;
        if (tly_tree_is_leaf(t, factor)) {
            const tly_node b = without(t, p.b, factor);
            if (b != TLY_NOTHING) {
                const tly_node a = without(t, p.a, factor);
                return multiply(t, (parts){ factor, tly_tree_make(t, code, a, b, 0), 0 });
            }
        }
        if (!is_product) {
            return TLY_NOTHING;
        }
    }
}

static tly_node combine(tly_tree *t, int code, parts p)
{
    if (!t->exact) {
        if (is_small(t, p.a) && is_small(t, p.b)) {
            const double b = t->nodes[p.b].value;
            return tly_tree_constant(t, t->nodes[p.a].value + (code == TLY_POSTFIX_ADD ? b : -b));
        }
        if (p.a == p.b && code == TLY_POSTFIX_ADD) {
            return multiply(t, (parts){ tly_tree_constant(t, 2), p.a, 0 });
        }
        const tly_node factored = take_factor(t, p, code);
        if (factored != TLY_NOTHING) {
            return factored;
        }
    }
    return find(t, code, 0, (parts){ p.a, p.b, 0 });
}

static tly_node subtract(tly_tree *t, parts p)
{
    if (p.a == TLY_NOTHING) {
        return negate(t, p.b);
    }
    if (p.b == TLY_NOTHING) {
        return p.a;
    }
    return combine(t, take_minus(t, &p.b) ? TLY_POSTFIX_ADD : TLY_POSTFIX_SUB, p);
}

static tly_node add(tly_tree *t, parts p)
{
    if (p.a == TLY_NOTHING || p.b == TLY_NOTHING) {
        return p.a == TLY_NOTHING ? p.b : p.a;
    }
    if (take_minus(t, &p.b)) {
        return combine(t, TLY_POSTFIX_SUB, p);
    }
    if (is_code(t, p.a, TLY_POSTFIX_NEG)) {
        return combine(t, TLY_POSTFIX_SUB, (parts){ p.b, negate(t, p.a), 0 });
    }
    return combine(t, TLY_POSTFIX_ADD, p);
}

/* A product with an exponential of which `n` is another factor, as a product with one exponential.
 * TLY_NOTHING if there is none. */
static tly_node merge_exponential(tly_tree *t, tly_node n, tly_node power)
{
    if (is_code(t, n, TLY_POSTFIX_EXP)) {
        return tly_tree_make(t, TLY_POSTFIX_EXP, add(t, (parts){ argument(t, n, 0), power, 0 }), 0,
                             0);
    }
    if (!is_code(t, n, TLY_POSTFIX_MUL)) {
        return TLY_NOTHING;
    }
    const tly_node left = argument(t, n, 0), right = argument(t, n, 1);
    const int is_right = is_code(t, right, TLY_POSTFIX_EXP);
    const tly_node merged = merge_exponential(t, is_right ? right : left, power);
    if (merged == TLY_NOTHING) {
        return merged;
    }
    return is_right ? multiply(t, (parts){ left, merged, 0 })
                    : multiply(t, (parts){ merged, right, 0 });
}

static tly_node multiply_freely(tly_tree *t, parts p)
{
    if (is_small(t, p.a) && is_small(t, p.b)) {
        return tly_tree_constant(t, t->nodes[p.a].value * t->nodes[p.b].value);
    }
    if (is_code(t, p.b, TLY_POSTFIX_MUL)) {
        const tly_node first = multiply(t, (parts){ p.a, argument(t, p.b, 0), 0 });
        return multiply(t, (parts){ first, argument(t, p.b, 1), 0 });
    }
    if (is_code(t, p.b, TLY_POSTFIX_DIV) && is_value(t, argument(t, p.b, 0), 1)) {
        return tly_tree_make(t, TLY_POSTFIX_DIV, p.a, argument(t, p.b, 1), 0);
    }
    if (is_code(t, p.b, TLY_POSTFIX_EXP)) {
        const tly_node merged = merge_exponential(t, p.a, argument(t, p.b, 0));
        if (merged != TLY_NOTHING) {
            return merged;
        }
    }
    return find(t, TLY_POSTFIX_MUL, 0, p);
}

static tly_node multiply(tly_tree *t, parts p)
{
    if (p.a == TLY_NOTHING || p.b == TLY_NOTHING) {
        return TLY_NOTHING;
    }
    const int minus = take_minus(t, &p.a) ^ take_minus(t, &p.b);
    p.c = 0;
    const tly_node product = is_value(t, p.a, 1)   ? p.b
                             : is_value(t, p.b, 1) ? p.a
                             : t->exact            ? find(t, TLY_POSTFIX_MUL, 0, p)
                                                   : multiply_freely(t, p);
    return minus ? negate(t, product) : product;
}

static tly_node divide(tly_tree *t, parts p)
{
    if (p.a == TLY_NOTHING) {
        return p.a;
    }
    const int minus = take_minus(t, &p.a) ^ take_minus(t, &p.b);
    const tly_node quotient = is_value(t, p.b, 1)
                                  ? p.a
                                  : find(t, TLY_POSTFIX_DIV, 0, (parts){ p.a, p.b, 0 });
    return minus ? negate(t, quotient) : quotient;
}

static tly_node choose(tly_tree *t, parts p)
{
    return p.b == p.c ? p.b : find(t, TLY_POSTFIX_WHERE, 0, p);
}

static tly_node minus(tly_tree *t, parts p)
{
    return negate(t, p.a);
}

static const struct {
    tly_node (*make)(tly_tree *t, parts p);
    int takes_nothing; /* and has a rule for it */
} rules[TLY_POSTFIX_CONSTANT] = {
    [TLY_POSTFIX_ADD] = { add, 1 },      [TLY_POSTFIX_SUB] = { subtract, 1 },
    [TLY_POSTFIX_MUL] = { multiply, 1 }, [TLY_POSTFIX_DIV] = { divide, 1 },
    [TLY_POSTFIX_NEG] = { minus, 1 },    [TLY_POSTFIX_WHERE] = { choose, 0 },
};

tly_node tly_tree_make(tly_tree *t, int code, tly_node a, tly_node b, tly_node c)
{
    const int arguments = tly_operation_of[code].arguments;
    parts p = { a, arguments > 1 ? b : 0, arguments > 2 ? c : 0 };
    if (code == TLY_POSTFIX_WHERE && b == TLY_NOTHING && c == TLY_NOTHING) {
        return TLY_NOTHING;
    }
    if (!rules[code].takes_nothing) {
        const tly_node zero = tly_tree_constant(t, 0);
        p.a = p.a == TLY_NOTHING ? zero : p.a;
        p.b = arguments > 1 && p.b == TLY_NOTHING ? zero : p.b;
        p.c = arguments > 2 && p.c == TLY_NOTHING ? zero : p.c;
    }
    return rules[code].make != NULL ? rules[code].make(t, p) : find(t, code, 0, p);
}

void tly_tree_mark(const tly_tree *t, tly_node n, uint8_t *seen)
{
    if (seen[n]) {
        return;
    }
    seen[n] = 1;
    for (int i = 0; i < tly_tree_arguments(t, n); i++) {
        tly_tree_mark(t, argument(t, n, i), seen);
    }
}

uint64_t tly_tree_tensors(const tly_tree *t, const uint8_t *seen)
{
    uint64_t tensors = 0;
    for (int i = 0; i < t->count; i++) {
        tensors |= seen[i] && t->nodes[i].code == TLY_LEAF ? UINT64_C(1) << t->nodes[i].arg[0] : 0;
    }
    return tensors;
}

/* `made` remembers what became of a node, so that each is walked once. */
static tly_node replace(tly_tree *t, tly_node n, tly_node part, tly_node by, tly_node *made)
{
    if (n == part || tly_tree_arguments(t, n) == 0) {
        return n == part ? by : n;
    }
    if (made[n] == 0 && !t->failed) {
        tly_node args[3] = { 0, 0, 0 };
        for (int i = 0; i < 3 && i < tly_tree_arguments(t, n); i++) {
            args[i] = replace(t, argument(t, n, i), part, by, made);
        }
        made[n] = find(t, t->nodes[n].code, 0, (parts){ args[0], args[1], args[2] });
    }
    return made[n];
}

tly_node tly_tree_replace(tly_tree *t, tly_node n, tly_node part, tly_node by)
{
    tly_node made[TLY_MOST_NODES];
    memset(made, 0, sizeof made);
    return replace(t, n, part, by, made);
}
