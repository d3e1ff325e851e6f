/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of DirectML's documents; see levels.h. Each row holds from its level on, until a newer
 * row of its family. Microsoft's older pages of the cumulative operators print UINT16 where the
 * operators take INT32.
 */
#include "levels.h"

#include <inttypes.h>
#include <stdio.h>

#include "../host/error.h"

#define TYPE(name, dtype) [TALLY_DML_##name] = { #name, dtype }

const tly_dml_type tly_dml_types[TLY_DML_TYPES] = {
    TYPE(UNKNOWN, 0),         TYPE(FLOAT32, TALLY_F32),
    TYPE(FLOAT16, TALLY_F16), TYPE(UINT32, TALLY_U32),
    TYPE(UINT16, TALLY_U16),  TYPE(UINT8, TALLY_U8),
    TYPE(INT32, TALLY_I32),   TYPE(INT16, TALLY_I16),
    TYPE(INT8, TALLY_I8),     TYPE(FLOAT64, TALLY_F64),
    TYPE(UINT64, TALLY_U64),  TYPE(INT64, TALLY_I64),
    TYPE(UINT4, 0),           TYPE(INT4, 0),
};

#define OPERATOR(name, op, family) { #name, TALLY_DML_##name, TLY_DML_NO_FUNCTION, op, family }
#define FUNCTION(name, op, family) { #name, TALLY_DML_REDUCE, TALLY_DML_REDUCE_##name, op, family }

static const tly_dml_operator operators[] = {
    OPERATOR(CUMULATIVE_SUMMATION, TALLY_CUMSUM, TLY_DML_SUMMATION),
    OPERATOR(CUMULATIVE_PRODUCT, TALLY_CUMPROD, TLY_DML_PRODUCT),
    OPERATOR(ARGMIN, TALLY_ARGMIN, TLY_DML_ARGS),
    OPERATOR(ARGMAX, TALLY_ARGMAX, TLY_DML_ARGS),
    FUNCTION(ARGMAX, TALLY_ARGMAX, TLY_DML_REDUCED_ARGS),
    FUNCTION(ARGMIN, TALLY_ARGMIN, TLY_DML_REDUCED_ARGS),
    FUNCTION(AVERAGE, TALLY_MEAN, TLY_DML_MEANS),
    FUNCTION(L1, TALLY_L1, TLY_DML_SQUARES),
    FUNCTION(L2, TALLY_L2, TLY_DML_MEANS),
    FUNCTION(LOG_SUM, TALLY_LOG_SUM, TLY_DML_MEANS),
    FUNCTION(LOG_SUM_EXP, TALLY_LOG_SUM_EXP, TLY_DML_MEANS),
    FUNCTION(MAX, TALLY_MAX, TLY_DML_EXTREMES),
    FUNCTION(MIN, TALLY_MIN, TLY_DML_EXTREMES),
    FUNCTION(MULTIPLY, TALLY_PROD, TLY_DML_SUMS),
    FUNCTION(SUM, TALLY_SUM, TLY_DML_SUMS),
    FUNCTION(SUM_SQUARE, TALLY_SUM_SQUARE, TLY_DML_SQUARES),
};

/* Sets of data types, a bit each. */
#define BIT(name) (1u << TALLY_DML_##name)
enum {
    FLOATS = BIT(FLOAT32) | BIT(FLOAT16),
    OF_32 = BIT(UINT32) | BIT(INT32),
    OF_64 = BIT(UINT64) | BIT(INT64),
    NARROW = BIT(UINT16) | BIT(UINT8) | BIT(INT16) | BIT(INT8),
    SAME = 0, /* outputs: the input's */
};

typedef struct level_row {
    uint8_t family, any_count; /* any_count: 1 to 8 dimensions; else 4 alone */
    uint16_t level, input, output;
} level_row;

/* The rows of a family lie together, the newest first. */
static const level_row rows[] = {
    { TLY_DML_SUMMATION, 1, 0x5000, FLOATS | OF_32 | OF_64, SAME },
    { TLY_DML_SUMMATION, 1, 0x4000, FLOATS | OF_32, SAME },
    { TLY_DML_SUMMATION, 0, 0x2100, FLOATS | OF_32, SAME },

    { TLY_DML_PRODUCT, 1, 0x5000, FLOATS | OF_32 | OF_64, SAME },
    { TLY_DML_PRODUCT, 1, 0x4000, FLOATS | OF_32, SAME },
    { TLY_DML_PRODUCT, 0, 0x3100, FLOATS | OF_32, SAME },

    { TLY_DML_MEANS, 1, 0x3000, FLOATS, SAME },
    { TLY_DML_MEANS, 0, 0x1000, FLOATS, SAME },

    { TLY_DML_SQUARES, 1, 0x5000, FLOATS | OF_32 | OF_64, SAME },
    { TLY_DML_SQUARES, 1, 0x3000, FLOATS, SAME },
    { TLY_DML_SQUARES, 0, 0x1000, FLOATS, SAME },

    { TLY_DML_SUMS, 1, 0x5000, FLOATS | OF_32 | OF_64, SAME },
    { TLY_DML_SUMS, 1, 0x3000, FLOATS | OF_32, SAME },
    { TLY_DML_SUMS, 0, 0x2100, FLOATS | OF_32, SAME },
    { TLY_DML_SUMS, 0, 0x1000, FLOATS, SAME },

    { TLY_DML_EXTREMES, 1, 0x5000, FLOATS | OF_32 | OF_64 | NARROW, SAME },
    { TLY_DML_EXTREMES, 1, 0x3000, FLOATS | OF_32 | NARROW, SAME },
    { TLY_DML_EXTREMES, 0, 0x2100, FLOATS | OF_32, SAME },
    { TLY_DML_EXTREMES, 0, 0x1000, FLOATS, SAME },

    { TLY_DML_REDUCED_ARGS, 1, 0x4100, FLOATS | OF_32 | OF_64 | NARROW, OF_32 | OF_64 },
    { TLY_DML_REDUCED_ARGS, 1, 0x3000, FLOATS | OF_32 | NARROW, OF_32 | OF_64 },
    { TLY_DML_REDUCED_ARGS, 0, 0x2100, FLOATS | OF_32 | NARROW, BIT(UINT32) },
    { TLY_DML_REDUCED_ARGS, 0, 0x1000, FLOATS, BIT(UINT32) },

    { TLY_DML_ARGS, 1, 0x4100, FLOATS | OF_32 | OF_64 | NARROW, OF_32 | OF_64 },
    { TLY_DML_ARGS, 1, 0x3000, FLOATS | OF_32 | NARROW, OF_32 | OF_64 },
};

enum { ROWS = sizeof rows / sizeof rows[0], NEWEST = 0x6400 };

const tly_dml_operator *tly_dml_find_operator(int32_t type, int32_t function)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (operators[i].type == type && operators[i].function == function) {
            return &operators[i];
        }
    }
    return NULL;
}

int tly_dml_is_level(uint32_t level)
{
#define LEVEL(name, value) value,
    static const uint32_t levels[] = { TALLY_DML_FEATURE_LEVEL_MAP(LEVEL) };
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (levels[i] == level) {
            return 1;
        }
    }
    return 0;
}

static const level_row *find_row(const tly_dml_operator *o, uint32_t level)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].family == o->family && rows[i].level <= level) {
            return &rows[i];
        }
    }
    return NULL;
}

static int takes_input(const level_row *row, const tally_dml_buffer_tensor_desc *input)
{
    return row->input >> input->DataType & 1;
}

static int takes_output(const level_row *row, const tally_dml_buffer_tensor_desc *input,
                        const tally_dml_buffer_tensor_desc *output)
{
    return row->output == SAME ? output->DataType == input->DataType
                               : row->output >> output->DataType & 1;
}

static int takes_count(const level_row *row, const tally_dml_buffer_tensor_desc *input)
{
    return row->any_count || input->DimensionCount == 4;
}

/* The oldest level that has what another one lacks, if there is one. */
static void hint_at_level(const tly_dml_operator *o, const tally_dml_buffer_tensor_desc *input,
                          const tally_dml_buffer_tensor_desc *output, tally_error *error)
{
    const level_row *oldest = NULL;
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].family == o->family && takes_input(&rows[i], input) &&
            takes_output(&rows[i], input, output) && takes_count(&rows[i], input)) {
            oldest = &rows[i];
        }
    }
    if (oldest != NULL) {
        tly_error_hint(error, "level %d_%d has it", oldest->level >> 12, oldest->level >> 8 & 15);
    }
}

tally_status tly_dml_check_level(const tly_dml_operator *o, uint32_t level,
                                 const tally_dml_buffer_tensor_desc *input,
                                 const tally_dml_buffer_tensor_desc *output, tally_error *error)
{
    const char *const in = tly_dml_types[input->DataType].name;
    const char *const out = tly_dml_types[output->DataType].name;
    char of[16];
    level = level == 0 ? NEWEST : level;
    snprintf(of, sizeof of, "%" PRIu32 "_%" PRIu32, level >> 12, level >> 8 & 15);
    const level_row *const row = find_row(o, level);
    if (row == NULL) {
        tly_fail(error, TALLY_UNSUPPORTED, "op", "level %s has no %s", of, o->name);
    } else if (!takes_input(row, input)) {
        tly_fail(error, TALLY_UNSUPPORTED, "dtype",
                 "InputTensor: level %s has no %s of DataType %s", of, o->name, in);
    } else if (row->output == SAME && !takes_output(row, input, output)) {
        return tly_fail(error, TALLY_INVALID, "dtype",
                        "OutputTensor: DataType %s is not InputTensor's %s", out, in);
    } else if (!takes_output(row, input, output)) {
        tly_fail(error, TALLY_UNSUPPORTED, "dtype",
                 "OutputTensor: level %s has no %s with results of DataType %s", of, o->name, out);
    } else if (!takes_count(row, input)) {
        tly_fail(error, TALLY_UNSUPPORTED, "sizes",
                 "InputTensor: DimensionCount %" PRIu32 ", where level %s of %s takes 4",
                 input->DimensionCount, of, o->name);
    } else {
        return TALLY_OK;
    }
    hint_at_level(o, input, output, error);
    return TALLY_UNSUPPORTED;
}
