/* SPDX-License-Identifier: Apache-2.0 */
/* What the command knows of operators and dtypes; see about.h. */
#include "about.h"

static const tly_about rows[TALLY_OP_COUNT] = {
#define ABOUT(...) __VA_ARGS__
#define OPERATOR(NAME, facts, kernel, code, about) [TALLY_##NAME] = { about },
#include "../../runtime/descriptor/operators.def"
#undef OPERATOR
};

static const tly_about_dtype dtypes[TALLY_DTYPE_COUNT] = {
#define DTYPE(NAME, facts, kernel, about) [TALLY_##NAME] = { about },
#include "../../runtime/descriptor/dtypes.def"
#undef DTYPE
#undef ABOUT
};

const tly_about *tly_about_op(int32_t op)
{
    return &rows[op];
}

const tly_about_dtype *tly_about_dtype_of(int32_t dtype)
{
    return &dtypes[dtype];
}

int tly_about_is_float(int32_t dtype)
{
    return dtypes[dtype].letter == 'f' || dtypes[dtype].letter == 'V';
}

int tly_about_is_signed(int32_t dtype)
{
    return dtypes[dtype].letter == 'i';
}
