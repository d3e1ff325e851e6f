/* SPDX-License-Identifier: Apache-2.0 */
/* What the command knows of operators, dtypes and operands; see about.h. */
#include "about.h"

#include <string.h>

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

const char *tly_quote_of(const char *word)
{
    return strpbrk(word, "()<>*?;&| ") != NULL ? "'" : "";
}

const char *tly_operand_letter(int operand)
{
    static const char *const letters[TALLY_MAX_OPERANDS] = { "a", "b", "c", "d" };
    return letters[operand];
}

int tly_operand_of(const char *argument)
{
    const int operand = argument[0] - 'a';
    return operand >= 0 && operand < TALLY_MAX_OPERANDS && argument[1] == '=' ? operand : -1;
}

const char *tly_offsets_of(const char *argument)
{
    return strncmp(argument, "offsets=", 8) == 0 ? argument + 8 : NULL;
}

const char *tly_carry_in_of(const char *argument)
{
    return strncmp(argument, "carry_in=", 9) == 0 ? argument + 9 : NULL;
}
