/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What feature levels take. The library has a row for each change of an operator's table; here each
 * data type has the level from which on it is taken.
 */
#include "directml.h"

#include <stdio.h>

enum { TYPES = 14, NEVER = 99 };

/* Levels as numbers: 21 is 2_1. By DirectML's numbers of types: those of tensors of 4 dimensions,
 * and those of 1 to 8. */
typedef struct taken_from {
    const char *name;
    int32_t type, function;
    const char *of_4, *of_any;         /* the input */
    const char *out_of_4, *out_of_any; /* NULL: the input's type alone */
} taken_from;

/* clang-format off */
/*                    f32 f16 u32 u16  u8 i32 i16  i8 f64 u64 i64 u4 i4 */
#define MEANS        "10  10  --  --  --  --  --  --  --  --  --  -- --", \
                     "30  30  --  --  --  --  --  --  --  --  --  -- --", NULL, NULL
#define SQUARES      "10  10  50  --  --  50  --  --  --  50  50  -- --", \
                     "30  30  50  --  --  50  --  --  --  50  50  -- --", NULL, NULL
#define SUMS         "10  10  21  --  --  21  --  --  --  50  50  -- --", \
                     "30  30  30  --  --  30  --  --  --  50  50  -- --", NULL, NULL
#define EXTREMES     "10  10  21  30  30  21  30  30  --  50  50  -- --", \
                     "30  30  30  30  30  30  30  30  --  50  50  -- --", NULL, NULL
#define INDICES      "10  10  21  21  21  21  21  21  --  41  41  -- --", \
                     "30  30  30  30  30  30  30  30  --  41  41  -- --", \
                     "--  --  10  --  --  30  --  --  --  30  30  -- --", \
                     "--  --  30  --  --  30  --  --  --  30  30  -- --"
#define INDICES_30   "30  30  30  30  30  30  30  30  --  41  41  -- --", \
                     "30  30  30  30  30  30  30  30  --  41  41  -- --", \
                     "--  --  30  --  --  30  --  --  --  30  30  -- --", \
                     "--  --  30  --  --  30  --  --  --  30  30  -- --"
static const taken_from table[] = {
    { "cumsum", 105, 0, "21  21  21  --  --  21  --  --  --  50  50  -- --",
                        "40  40  40  --  --  40  --  --  --  50  50  -- --", NULL, NULL },
    { "cumprod", 145, 0, "31  31  31  --  --  31  --  --  --  50  50  -- --",
                         "40  40  40  --  --  40  --  --  --  50  50  -- --", NULL, NULL },
    { "argmin", 137, 0, INDICES_30 },
    { "argmax", 138, 0, INDICES_30 },
    { "argmax", 55, 0, INDICES },
    { "argmin", 55, 1, INDICES },
    { "mean", 55, 2, MEANS },
    { "l1", 55, 3, SQUARES },
    { "l2", 55, 4, MEANS },
    { "log_sum", 55, 5, MEANS },
    { "log_sum_exp", 55, 6, MEANS },
    { "max", 55, 7, EXTREMES },
    { "min", 55, 8, EXTREMES },
    { "prod", 55, 9, SUMS },
    { "sum", 55, 10, SUMS },
    { "sum_square", 55, 11, SQUARES },
};
/* clang-format on */
static const int levels[] = { 0, 10, 20, 21, 30, 31, 40, 41, 50, 51, 52, 60, 61, 62, 63, 64 };

static void read_levels(const char *text, int from[TYPES])
{
    from[0] = NEVER;
    for (int i = 1, at = 0, used = 0; i < TYPES; i++, at += used) {
        char number[8];
        cr_assert_eq(sscanf(text + at, "%7s%n", number, &used), 1);
        from[i] = number[0] == '-' ? NEVER : (number[0] - '0') * 10 + number[1] - '0';
    }
}

typedef struct operator_levels {
    int of_4[TYPES], of_any[TYPES], out_of_4[TYPES], out_of_any[TYPES];
    int same; /* the output has the input's type */
    int first;
} operator_levels;

static void read_operator(const taken_from *row, operator_levels *l)
{
    l->same = row->out_of_4 == NULL;
    read_levels(row->of_4, l->of_4);
    read_levels(row->of_any, l->of_any);
    read_levels(l->same ? row->of_4 : row->out_of_4, l->out_of_4);
    read_levels(l->same ? row->of_any : row->out_of_any, l->out_of_any);
    l->first = NEVER;
    for (int i = 1; i < TYPES; i++) {
        l->first = l->of_4[i] < l->first ? l->of_4[i] : l->first;
    }
}

/* The field that must be told, and the status; NULL: the description is right. */
static const char *verdict(const operator_levels *l, int level, int in, int out, uint32_t count,
                           tally_status *status)
{
    level = level == 0 ? 64 : level;
    *status = TALLY_UNSUPPORTED;
    if (level < l->first) {
        return "op";
    }
    if (level < l->of_4[in]) {
        return "dtype";
    }
    if (l->same && in != out) {
        *status = TALLY_INVALID;
        return "dtype";
    }
    if (level < l->out_of_4[out]) {
        return "dtype";
    }
    if (count != 4 && (level < l->of_any[in] || level < l->out_of_any[out])) {
        return "sizes";
    }
    *status = TALLY_OK;
    return NULL;
}

static void check_one(const taken_from *row, const operator_levels *l, int level, int in, int out,
                      uint32_t count)
{
    static const uint32_t sizes[] = { 1, 1, 1, 1, 1, 1, 1, 1 }, axis = 0;
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_status due;
    given g;
    memset(&g, 0, sizeof g);
    set_tensor(&g.in, in, count, sizes);
    set_tensor(&g.out, out, count, sizes);
    set_operator(&g, row->type, row->function, 1, &axis, 0, 0);
    const char *field = verdict(l, level, in, out, count, &due);
    const tally_status s = tally_descriptor_from_dml(
        &g.o, (uint32_t)(level / 10 << 12 | level % 10 << 8), &d, &error);
    cr_expect(s == due && strcmp(error.field, field == NULL ? "" : field) == 0,
              "%s (%d) at %d: type %d to %d, %u dimensions: %s %s %s", row->name, (int)row->type,
              level, in, out, (unsigned)count, tally_status_name(s), error.field, error.message);
    if (s == TALLY_OK) {
        tally_dtype result = TALLY_DTYPE_NONE;
        cr_assert_eq(tally_descriptor_result(&d, NULL, NULL, &result, NULL), TALLY_OK);
        cr_expect(strcmp(tally_op_name((tally_op)d.op), row->name) == 0 &&
                      strcmp(tally_dtype_name((tally_dtype)d.dtype), element_dtypes[in]) == 0 &&
                      strcmp(tally_dtype_name(result), element_dtypes[out]) == 0,
                  "%s (%d): type %d to %d", row->name, (int)row->type, in, out);
    }
}

Test(directml_levels, each_row_and_level)
{
    for (size_t r = 0; r < sizeof table / sizeof *table; r++) {
        operator_levels l;
        read_operator(&table[r], &l);
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
            for (int in = 1; in <= DML_TENSOR_DATA_TYPE_INT64; in++) {
                for (int out = 1; out <= DML_TENSOR_DATA_TYPE_INT64; out++) {
                    for (uint32_t count = 1; count <= 8; count++) {
                        check_one(&table[r], &l, levels[i], in, out, count);
                    }
                }
            }
        }
    }
}

/* A level that lacks something is told which one has it. */
Test(directml_levels, hints)
{
    static const uint32_t sizes[] = { 1, 1, 1, 1 }, axis = 0;
    static const struct {
        int32_t type, function, in, out;
        uint32_t count, level;
        const char *hint;
    } cases[] = {
        { 145, 0, 1, 1, 4, 0x1000, "level 3_1 has it" },
        { 145, 0, 1, 1, 3, 0x1000, "level 4_0 has it" },
        { 145, 0, 1, 1, 3, 0x3100, "level 4_0 has it" },
        { 145, 0, 11, 11, 4, 0x4100, "level 5_0 has it" },
        { 145, 0, 9, 9, 4, 0, "" },
        { 138, 0, 1, 11, 4, 0x2100, "level 3_0 has it" },
        { 55, 0, 1, 11, 4, 0x2100, "level 3_0 has it" },
        { 55, 0, 1, 1, 4, 0, "" },
        { 55, 2, 11, 11, 4, 0x6400, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tally_error error = TALLY_ERROR_INIT;
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        given g;
        memset(&g, 0, sizeof g);
        set_tensor(&g.in, cases[i].in, cases[i].count, sizes);
        set_tensor(&g.out, cases[i].out, cases[i].count, sizes);
        set_operator(&g, cases[i].type, cases[i].function, 1, &axis, 0, 0);
        cr_expect_eq(tally_descriptor_from_dml(&g.o, cases[i].level, &d, &error),
                     TALLY_UNSUPPORTED);
        cr_expect_str_eq(error.hint, cases[i].hint, "case %zu: %s: %s", i, error.message,
                         error.hint);
    }
}
