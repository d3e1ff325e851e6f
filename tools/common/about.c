/* SPDX-License-Identifier: Apache-2.0 */
/* What the command knows of operators; see about.h. */
#include "about.h"

static const tly_about rows[TALLY_OP_COUNT] = {
#define ABOUT(...) __VA_ARGS__
#define OPERATOR(NAME, facts, kernel, code, about) [TALLY_##NAME] = { about },
#include "../../runtime/descriptor/operators.def"
#undef OPERATOR
#undef ABOUT
};

const tly_about *tly_about_op(int32_t op)
{
    return &rows[op];
}
