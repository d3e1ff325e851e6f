/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Derivatives of expressions. The rule of an operation is a text in the grammar of expressions: a,
 * b and c are its arguments, and x, y and d are their derivatives. Operations without a rule have
 * the derivative 0: comparisons, floor and round. abs, min and max give ties to the first argument.
 */
#include "gradient.h"

#include <string.h>

static const char *const rules[TLY_POSTFIX_CONSTANT] = {
    [TLY_POSTFIX_ADD] = "x+y",
    [TLY_POSTFIX_SUB] = "x-y",
    [TLY_POSTFIX_MUL] = "x*b+a*y",
    [TLY_POSTFIX_DIV] = "x/b-a/b/b*y", /* b*b might leave the range where the quotient does not */
    [TLY_POSTFIX_NEG] = "-x",
    [TLY_POSTFIX_ABS] = "where(a<0,-x,x)",
    [TLY_POSTFIX_SQRT] = "x/(2*sqrt(a))",
    [TLY_POSTFIX_EXP] = "exp(a)*x",
    [TLY_POSTFIX_LOG] = "x/a",
    [TLY_POSTFIX_SIG] = "sig(a)*sig(-a)*x", /* 1-sig(a) would cancel */
    [TLY_POSTFIX_MIN] = "where(a<=b,x,y)",
    [TLY_POSTFIX_MAX] = "where(a>=b,x,y)",
    [TLY_POSTFIX_WHERE] = "where(a,y,d)",
};

static tly_node apply(tly_tree *t, const char *rule, const tly_node arg[3], const tly_node by[3])
{
    const tly_bindings names = {
        [TLY_POSTFIX_A] = arg[0], [TLY_POSTFIX_A + 1] = arg[1], [TLY_POSTFIX_A + 2] = arg[2],
        [TLY_POSTFIX_X] = by[0],  [TLY_POSTFIX_Y] = by[1],      [TLY_POSTFIX_A + 3] = by[2],
    };
    return tly_tree_read(t, rule, names);
}

/* Arguments have smaller numbers than what is made of them, so that one pass is enough. */
tly_node tly_derive(tly_tree *t, tly_node n, int tensor)
{
    tly_node made[TLY_MOST_NODES];
    uint8_t seen[TLY_MOST_NODES] = { 0 };
    tly_tree_mark(t, n, seen);
    for (int i = 0; i <= n; i++) {
        const tly_tree_node node = t->nodes[i];
        made[i] = TLY_NOTHING;
        if (!seen[i]) {
            continue;
        }
        if (node.code == TLY_LEAF && node.arg[0] == tensor) {
            made[i] = tly_tree_constant(t, 1);
        } else if (tly_tree_arguments(t, (tly_node)i) > 0 && rules[node.code] != NULL) {
            tly_node by[3] = { TLY_NOTHING, TLY_NOTHING, TLY_NOTHING };
            int depends = 0;
            for (int k = 0; k < tly_tree_arguments(t, (tly_node)i); k++) {
                by[k] = made[node.arg[k]];
                depends |= by[k] != TLY_NOTHING;
            }
            made[i] = depends ? apply(t, rules[node.code], node.arg, by) : TLY_NOTHING;
        }
    }
    return made[n];
}
