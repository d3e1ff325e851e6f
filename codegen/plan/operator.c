/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operators. It is a file of its own, so that tests can put others in its place; so
 * are their functions (operator_code.c), which plans do not need.
 */
#include "operator.h"

#include <stddef.h>

/* Reductions that add: -0 is neutral, but nothing at all comes to +0. */
#define SUMS \
    .dtypes = TLY_NUMBERS, .parts = 1, .by = { KIR_ADD, KIR_ADD, KIR_ADD }, \
    .neutral = { TLY_MINUS_ZERO }

static const tly_operator operators[] = {
#define KERNEL(...) __VA_ARGS__
#define OPERATOR(NAME, facts, kernel, code, about) { .op = TALLY_##NAME, kernel },
#include "../../runtime/descriptor/operators.def"
#undef OPERATOR
#undef KERNEL
    { .op = TLY_WIDE_MEAN,
      .dtypes = TLY_BIT(I64) | TLY_BIT(U64),
      .parts = 2,
      .by = { KIR_CONST, KIR_CONST, KIR_CONST },
      .converts = 1,
      .empty = TLY_NAN,
      .exact = 1 },
};

const tly_operator *tly_operator_find(int op)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (operators[i].op == op && operators[i].dtypes != 0)
            return &operators[i];
    }
    return NULL;
}
