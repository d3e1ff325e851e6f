/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks what surrounds the combination of elements: whether the operator has the options, the
 * names that expressions see, and their types. What passes has a canonical text and a program.
 */
#include "stages.h"

#include <stddef.h>
#include <string.h>

#include "../host/error.h"
#include "descriptor.h"
#include "expression.h"
#include "operands.h"

#define BIT(code) (1u << (code))
#define OPERANDS (((1u << TALLY_MAX_OPERANDS) - 1) << TLY_POSTFIX_A)

/* What each expression sees, and its default. */
static const struct {
    uint32_t names;
    uint8_t same; /* the code of the default; TLY_POSTFIX_END: there is none */
} sees[TLY_EXPRESSIONS] = {
    [TLY_EXPRESSION_MAP] = { BIT(TLY_POSTFIX_X) | OPERANDS, TLY_POSTFIX_X },
    [TLY_EXPRESSION_COEF] = { BIT(TLY_POSTFIX_X) | OPERANDS, TLY_POSTFIX_A },
    [TLY_EXPRESSION_POST] = { BIT(TLY_POSTFIX_X) | BIT(TLY_POSTFIX_Y) | OPERANDS, TLY_POSTFIX_Y },
    [TLY_EXPRESSION_RESET] = { BIT(TLY_POSTFIX_X) | OPERANDS, TLY_POSTFIX_END },
};

typedef struct check {
    tally_descriptor *full;
    const char **where;
    tally_error *error;
    tly_expression e[TLY_EXPRESSIONS]; /* count 0: there is none */
    tly_program program;
} check;

int tly_has_stages(const tally_descriptor *d)
{
    static const tally_descriptor none;
    const size_t first = offsetof(tally_descriptor, operands);
    return memcmp((const char *)d + first, (const char *)&none + first, sizeof none - first) != 0;
}

/* Kernels are made for segments if the axis' size and the number of segments are known. Those of
 * one size may be one more dim. */
static int are_segments_made(const tally_descriptor *d)
{
    const int64_t size = d->sizes[tly_axis_of(d)];
    const int is_known = size != TALLY_OPEN_SIZE && d->segments != TALLY_OPEN_SIZE;
    return is_known && d->rank < TALLY_MAX_RANK;
}

const char *tly_unmade_field(const tally_descriptor *d)
{
    const int segments = tly_is_segmented(d) && !are_segments_made(d);
    const struct {
        const char *field;
        int is_set;
    } rows[] = {
        { "segments", d->segment_dtype != 0 && segments },
        { "every", d->every != 0 && segments },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].is_set) {
            return rows[i].field;
        }
    }
    return NULL;
}

static char *text_of(tally_descriptor *full, int id)
{
    char *const texts[] = { full->map, full->coef, full->post, full->reset };
    return texts[id];
}

static tally_status check_padding(const char *text, const char *field, tally_error *error)
{
    const char *end = memchr(text, 0, TALLY_EXPRESSION_MAX);
    if (end == NULL) {
        return tly_fail(error, TALLY_INVALID, field, "the text does not end within %d characters",
                        TLY_MOST_TEXT);
    }
    for (const char *at = end; at < text + TALLY_EXPRESSION_MAX; at++) {
        if (*at != 0) {
            tly_fail(error, TALLY_INVALID, field, "byte %d, behind the text's end, is not zero",
                     (int)(at - text));
            tly_error_hint(error, "set all bytes behind the text to zero, as strncpy does");
            return TALLY_INVALID;
        }
    }
    return TALLY_OK;
}

tally_status tly_stages_begin(tally_descriptor *full, const char **where, tally_error *error)
{
    for (int id = 0; id < TLY_EXPRESSIONS; id++) {
        char *text = text_of(full, id);
        const char *field = tly_expression_name(id);
        tly_expression e;
        tally_status s = check_padding(text, field, error);
        if (s != TALLY_OK) {
            return s;
        }
        if (text[0] == 0) {
            continue;
        }
        s = tly_expression_parse(text, strlen(text), field, &e, error);
        if (s != TALLY_OK) {
            *where = field;
            return s;
        }
        const int is_refused = id == TLY_EXPRESSION_COEF && !tly_ops[full->op].has_coef;
        if (e.count == 1 && e.code[0] == sees[id].same && !is_refused) {
            memset(text, 0, TALLY_EXPRESSION_MAX);
        }
    }
    return TALLY_OK;
}

/* --- names ---------------------------------------------------------------------------------- */

/* After a refusal: the first place of a code in an expression. */
static tally_status point(const check *c, int id, int code)
{
    const tly_expression *e = &c->e[id];
    const uint8_t *at = memchr(e->code, code, (size_t)e->count);
    *c->where = tly_expression_name(id);
    tly_error_position(c->error, e->at[at - e->code] + 1);
    return TALLY_INVALID;
}

static tally_status check_reduced(const check *c, int id, int operand)
{
    for (int32_t axis = 0; axis < c->full->rank; axis++) {
        if ((c->full->axes >> axis & 1) && tly_operand_extends(c->full, operand, axis)) {
            tly_fail(c->error, TALLY_INVALID, tly_expression_name(id),
                     "%s extends along the reduced axis %d", tly_operand_name(operand), (int)axis);
            return point(c, id, TLY_POSTFIX_A + operand);
        }
    }
    return TALLY_OK;
}

static tally_status check_names(const check *c, int id)
{
    const uint32_t names = c->e[id].names;
    const char *field = tly_expression_name(id);
    if (names & ~sees[id].names & BIT(TLY_POSTFIX_Y)) {
        tly_fail(c->error, TALLY_INVALID, field, "y is the result; it is for post");
        return point(c, id, TLY_POSTFIX_Y);
    }
    if (id == TLY_EXPRESSION_POST && (names & BIT(TLY_POSTFIX_X)) && !tly_ops[c->full->op].scan) {
        tly_fail(c->error, TALLY_INVALID, field, "x has no place in a result of %s",
                 tally_op_name((tally_op)c->full->op));
        return point(c, id, TLY_POSTFIX_X);
    }
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        if (!(names & BIT(TLY_POSTFIX_A + i))) {
            continue;
        }
        if (c->full->operands[i].dtype == 0) {
            tly_fail(c->error, TALLY_INVALID, tly_operand_name(i),
                     "%s uses it, and there is no "
                     "such operand",
                     field);
            tly_error_hint(c->error, "the option %s=f32 makes it one", tly_operand_name(i));
            return point(c, id, TLY_POSTFIX_A + i);
        }
        tally_status s = id == TLY_EXPRESSION_POST ? check_reduced(c, id, i) : TALLY_OK;
        if (s != TALLY_OK) {
            return s;
        }
    }
    return TALLY_OK;
}

/* Names of all expressions from `from` on; linrec's default factor is operand a. */
static uint32_t names_of(const check *c, uint32_t expressions)
{
    uint32_t names = 0;
    for (int id = 0; id < TLY_EXPRESSIONS; id++) {
        names |= expressions >> id & 1 ? c->e[id].names : 0;
    }
    const int is_default = tly_ops[c->full->op].has_coef && c->e[TLY_EXPRESSION_COEF].count == 0;
    return names |
           (is_default && (expressions & BIT(TLY_EXPRESSION_COEF)) ? BIT(TLY_POSTFIX_A) : 0);
}

static tally_status check_used(const check *c)
{
    const uint32_t names = names_of(c, BIT(TLY_EXPRESSIONS) - 1);
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        if (c->full->operands[i].dtype != 0 && !(names & BIT(TLY_POSTFIX_A + i))) {
            tly_fail(c->error, TALLY_INVALID, tly_operand_name(i), "nothing uses it");
            tly_error_hint(c->error, "expressions use operands, as in map=%s*x",
                           tly_operand_name(i));
            return TALLY_INVALID;
        }
    }
    return TALLY_OK;
}

/* --- types ---------------------------------------------------------------------------------- */

/* The first operand of these names that a type cannot hold; -1: there is none. */
static int find_unfit(const check *c, uint32_t names, tally_dtype type)
{
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        const tally_dtype dtype = (tally_dtype)c->full->operands[i].dtype;
        if ((names & BIT(TLY_POSTFIX_A + i)) && !tly_dtype_fits(dtype, type)) {
            return i;
        }
    }
    return -1;
}

/* How a word that computes in f32 can compute in f64. Outputs of f64 are those of docs/word.md. */
static const char *how_to_widen(const tally_descriptor *full)
{
    const tly_op_facts *op = &tly_ops[full->op];
    const int may_widen = tly_dtypes[full->dtype].wide ? full->dtype == TALLY_F32 && op->modular
                                                       : 1;
    static const char *const ways[2][2] = { { "", ">f64" }, { "acc=f64", "acc=f64, or >f64" } };
    return ways[op->wide][may_widen];
}

static tally_status refuse_operand(const check *c, int operand, tally_dtype type)
{
    const tally_dtype dtype = (tally_dtype)c->full->operands[operand].dtype;
    tly_fail(c->error, TALLY_INVALID, tly_operand_name(operand), "%s does not fit %s without loss",
             tly_dtypes[dtype].name, tly_dtypes[type].name);
    const char *wider = type == TALLY_F32 && tly_dtype_fits(dtype, TALLY_F64)
                            ? how_to_widen(c->full)
                            : "";
    const char *flags = tly_dtypes[dtype].wide ? "" : TLY_FLAGS_FIT;
    tly_error_hint(c->error, "%s%s%s", wider, *wider != 0 && *flags != 0 ? "; " : "", flags);
    return TALLY_INVALID;
}

/* reset may have its operands' own type, such as that of keys beside floats. */
static tally_status find_reset_type(check *c, tally_dtype type)
{
    const uint32_t names = c->e[TLY_EXPRESSION_RESET].names;
    const int unfit = find_unfit(c, names, type);
    c->program.reset_type = (uint8_t)type;
    if (unfit < 0) {
        return TALLY_OK;
    }
    const int32_t dtype = c->full->operands[unfit].dtype;
    int differ = (names & BIT(TLY_POSTFIX_X)) != 0;
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        differ |= (names & BIT(TLY_POSTFIX_A + i)) && c->full->operands[i].dtype != dtype;
    }
    if (differ) {
        tally_status s = refuse_operand(c, unfit, type);
        tly_error_hint(c->error, "reset has a type of its own if its operands share a dtype and it "
                                 "lacks x; " TLY_FLAGS_FIT);
        return s;
    }
    c->program.reset_type = tly_dtypes[dtype].accumulator;
    return TALLY_OK;
}

static tally_status find_types(check *c)
{
    const tally_dtype type = tly_expressions_type(c->full);
    const int unfit = find_unfit(
        c,
        names_of(c, BIT(TLY_EXPRESSION_MAP) | BIT(TLY_EXPRESSION_COEF) | BIT(TLY_EXPRESSION_POST)),
        type);
    c->program.type = (uint8_t)type;
    return unfit >= 0 ? refuse_operand(c, unfit, type) : find_reset_type(c, type);
}

static tally_dtype type_of(const check *c, int id)
{
    return (tally_dtype)(id == TLY_EXPRESSION_RESET ? c->program.reset_type : c->program.type);
}

static tally_status check_expressions(check *c)
{
    tally_status s = TALLY_OK;
    for (int id = 0; id < TLY_EXPRESSIONS && s == TALLY_OK; id++) {
        s = check_names(c, id);
    }
    if (s == TALLY_OK) {
        s = check_used(c);
    }
    if (s == TALLY_OK) {
        s = find_types(c);
    }
    for (int id = 0; id < TLY_EXPRESSIONS && s == TALLY_OK; id++) {
        s = tly_program_add(&c->program, id, &c->e[id], type_of(c, id), c->error);
        *c->where = s != TALLY_OK ? tly_expression_name(id) : NULL;
    }
    return s;
}

/* --- options -------------------------------------------------------------------------------- */

/* Options that only some operators have. */
static tally_status check_operator(const tally_descriptor *full, tally_error *error)
{
    const tly_op_facts *op = &tly_ops[full->op];
    const int tells_index = tly_tells_index(full->op);
    const struct {
        const char *field;
        int is_set, is_for;
    } rows[] = {
        { "coef", full->coef[0] != 0, op->has_coef },
        { "post", full->post[0] != 0, !tells_index },
        { "reset", full->reset[0] != 0, op->scan },
        { "carry", full->carry != 0, op->scan && !tells_index },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].is_set && !rows[i].is_for) {
            return tly_fail(error, TALLY_INVALID, rows[i].field,
                            i == 0 ? TLY_NO_COEF : TLY_NOT_AN_OPTION, rows[i].field,
                            tally_op_name((tally_op)full->op));
        }
    }
    if (full->carry & ~(TALLY_CARRY_IN | TALLY_CARRY_OUT)) {
        return tly_fail(error, TALLY_INVALID, "carry", "%d is no carry", (int)full->carry);
    }
    if (op->has_coef && full->coef[0] == 0 && full->operands[0].dtype == 0) {
        tly_fail(error, TALLY_INVALID, "coef", "%s needs a factor: coef, or operand a",
                 tally_op_name((tally_op)full->op));
        tly_error_hint(error, "a=f32 is a tensor of factors, coef=0.9 is the same one everywhere");
        return TALLY_INVALID;
    }
    return TALLY_OK;
}

/* --- all of it ------------------------------------------------------------------------------ */

static void read_expressions(check *c)
{
    for (int id = 0; id < TLY_EXPRESSIONS; id++) {
        const char *text = text_of(c->full, id);
        c->e[id].count = 0;
        c->e[id].names = 0;
        if (text[0] != 0) { /* tly_stages_begin has read it */
            (void)tly_expression_parse(text, strlen(text), "", &c->e[id], NULL);
        }
    }
}

static void print_expressions(check *c)
{
    for (int id = 0; id < TLY_EXPRESSIONS; id++) {
        char text[TALLY_EXPRESSION_MAX];
        if (c->e[id].count > 0) {
            tly_expression_print(&c->e[id], tly_type_is_integer(type_of(c, id)), text);
            memcpy(text_of(c->full, id), text, sizeof text);
        }
    }
}

static void list_operands(check *c)
{
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        c->program.operand_dtype[i] = (uint8_t)c->full->operands[i].dtype;
        c->program.operands += c->full->operands[i].dtype != 0;
    }
}

tally_status tly_stages_check(tally_descriptor *full, uint32_t *open, const char **where,
                              tally_error *error)
{
    if (!tly_has_stages(full) && !tly_ops[full->op].has_coef) {
        return TALLY_OK;
    }
    check c;
    c.full = full;
    c.where = where;
    c.error = error;
    memset(&c.program, 0, sizeof c.program);
    if (full->segments == TALLY_OPEN_SIZE) {
        *open |= TLY_OPEN_SEGMENTS;
        full->segments = 1;
    }
    tally_status s = check_operator(full, error);
    if (s == TALLY_OK) {
        s = tly_operands_check(full, *open, error);
    }
    if (s == TALLY_OK) {
        read_expressions(&c);
        s = check_expressions(&c);
    }
    if (s == TALLY_OK) {
        s = tly_segments_check(full, error);
    }
    if (s == TALLY_OK) {
        print_expressions(&c);
    }
    return s;
}

void tly_program_make(const tally_descriptor *full, tly_program *program)
{
    tally_descriptor copy = *full;
    const char *where = NULL;
    check c;
    c.full = &copy;
    c.where = &where;
    c.error = NULL;
    memset(&c.program, 0, sizeof c.program);
    read_expressions(&c);
    (void)check_expressions(&c); /* it passed before */
    list_operands(&c);
    *program = c.program;
}
