/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What operators do that no single operation of kernel IR says. Tests put others in its place, as
 * of operator.c.
 */
#include "plan/operator.h"

#include <stddef.h>

#include "../templates/reduce/reduce_operators.h"

#define OF_EXP .lift = tly_lift_exp, .combine = tly_combine_exp, .project = tly_project_exp

static const tly_operator_code codes[] = {
#define CODE(...) __VA_ARGS__
#define OPERATOR(NAME, facts, kernel, code, about) { .op = TALLY_##NAME, code },
#include "../runtime/descriptor/operators.def"
#undef OPERATOR
#undef CODE
    { .op = TLY_WIDE_MEAN, .lift = tly_lift_wide, .combine = tly_combine_wide },
};

const tly_operator_code *tly_operator_code_find(int op)
{
    static const tly_operator_code none = { .op = 0 };
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (codes[i].op == op)
            return &codes[i];
    }
    return &none;
}
