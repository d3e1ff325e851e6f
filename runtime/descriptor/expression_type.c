/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of expressions: which operations and constants a type has. Here also codes and constants
 * become a program.
 */
#include "expression.h"

#include <math.h>
#include <string.h>

#include "../host/error.h"
#include "descriptor.h"

static int is_named(const char *text)
{
    return text[0] == 'i' || text[0] == 'n';
}

/* The constant of a float type: rounded to an f64, and that to the type. */
static int read_float(const char *text, int length, tally_dtype type, uint64_t *bits)
{
    double value;
    if (is_named(text)) {
        value = text[0] == 'i' ? HUGE_VAL : (double)NAN;
        memcpy(bits, &value, sizeof value);
        return 1;
    }
    value = tly_number_read(text, length);
    value = type == TALLY_F32 ? (double)(float)value : value;
    memcpy(bits, &value, sizeof value);
    return isfinite(value);
}

/* The index of a constant that the program has or gets; -1: there is no room. */
static int find_constant(tly_program *program, uint64_t bits)
{
    int i = 0;
    while (i < program->constant_count && program->constants[i] != bits) {
        i++;
    }
    if (i == program->constant_count) {
        if (i == TLY_MOST_CONSTANTS) {
            return -1;
        }
        program->constants[program->constant_count++] = bits;
    }
    return i;
}

/* A constant as a code; 0: it was refused. */
static int add_constant(tly_program *program, const char *text, int length, const char *field,
                        tally_dtype type, tally_error *error)
{
    const char *name = tly_dtypes[type].name;
    uint64_t bits = 0;
    if (tly_type_is_integer(type)) {
        if (!tly_integer_read(text, length, type, &bits)) {
            tly_fail(error, TALLY_INVALID, field, "%.*s is no %s", length, text, name);
            return 0;
        }
    } else if (!read_float(text, length, type, &bits)) {
        tly_fail(error, TALLY_INVALID, field, "%.*s is infinite as %s", length, text, name);
        return 0;
    }
    const int index = find_constant(program, bits);
    if (index < 0) {
        tly_fail(error, TALLY_INVALID, field,
                 "this is one constant more than a word has room for, which is %d",
                 TLY_MOST_CONSTANTS);
        return 0;
    }
    return TLY_POSTFIX_CONSTANT + index;
}

tally_status tly_program_add(tly_program *program, int id, const tly_expression *e,
                             tally_dtype type, tally_error *error)
{
    const char *field = tly_expression_name(id);
    for (int i = 0; i < e->count; i++) {
        const char *text = e->text + e->at[i];
        int code = e->code[i];
        if (code == TLY_POSTFIX_CONSTANT) {
            code = add_constant(program, text, e->length[i], field, type, error);
        } else if (tly_operation_of[code].arguments > 0 && !tly_operation_of[code].integers &&
                   tly_type_is_integer(type)) {
            tly_fail(error, TALLY_INVALID, field, "'%s' is not for %s", tly_operation_of[code].text,
                     tly_dtypes[type].name);
            if (tly_dtypes[type].digits < 63) {
                tly_error_hint(error, "with the output >f64 it is computed in f64");
            }
            code = 0;
        }
        if (code == 0) {
            tly_error_position(error, e->at[i] + 1);
            return TALLY_INVALID;
        }
        program->code[id][i] = (uint8_t)code;
    }
    return TALLY_OK;
}
