/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The word's options (docs/word.md): one row of a table for each, in any order, none twice, only
 * those of the operator. word_values.c and word_stages.c read their values.
 */
#include <stdio.h>
#include <string.h>

#include "../host/error.h"
#include "word_reader.h"

enum {
    SCANS = 1,
    REDUCTIONS = 2,
    BOTH = 3,
    WIDE = 4,
    RECURRENCES = 8,
    VALUES = 16, /* results that are no indices */
    STATES = 32  /* scans of such */
};

typedef struct option {
    const char *name;
    /* NULL: takes no value. */
    tally_status (*read)(tly_reader *r, tly_span value, const char *field);
    uint32_t flag; /* set, and asked of the operator */
    int kinds;
    const char *const *values; /* all that it takes; NULL: no such list */
    const char *example;       /* a value that may be right; NULL: depends on sizes */
    uint8_t is_operand;        /* 1: needs no value */
} option;

static const option options[] = {
    { "axis", tly_word_axis, 0, SCANS, NULL, "0", 0 },
    { "axes", tly_word_axes, 0, REDUCTIONS, tly_no_axes, "0", 0 },
    { "keepdims", NULL, TALLY_KEEPDIMS, BOTH, NULL, "", 0 },
    { "exclusive", NULL, TALLY_EXCLUSIVE, BOTH, NULL, "", 0 },
    { "reverse", NULL, TALLY_REVERSE, BOTH, NULL, "", 0 },
    { "in", tly_word_in, TALLY_IN_STRIDES, BOTH, NULL, NULL, 0 },
    { "out", tly_word_out, TALLY_OUT_STRIDES, BOTH, NULL, NULL, 0 },
    { "a", tly_word_operand, 0, BOTH, NULL, "f32", 1 },
    { "b", tly_word_operand, 0, BOTH, NULL, "f32", 1 },
    { "c", tly_word_operand, 0, BOTH, NULL, "f32", 1 },
    { "d", tly_word_operand, 0, BOTH, NULL, "f32", 1 },
    { "map", tly_word_expression, 0, BOTH, NULL, "abs(x)", 0 },
    { "coef", tly_word_expression, 0, RECURRENCES, NULL, "abs(x)", 0 },
    { "post", tly_word_expression, 0, VALUES, NULL, "abs(y)", 0 },
    { "reset", tly_word_expression, 0, SCANS, NULL, "x==x", 0 },
    { "segments", tly_word_segments, 0, BOTH, NULL, "i32/1", 0 },
    { "every", tly_word_every, 0, BOTH, NULL, "1", 0 },
    { "carry", tly_word_carry, 0, STATES, tly_carries, "in", 0 },
    { "last", NULL, TALLY_LAST, BOTH, NULL, "", 0 },
    { "order", tly_word_order, 0, BOTH, tly_orders, "exact", 0 },
    { "acc", tly_word_acc, 0, WIDE, tly_wide, "f64", 0 },
    { "nan", tly_word_nan, TALLY_NAN_IGNORE, BOTH, tly_ignored, "ignore", 0 },
};

enum { OPTION_COUNT = sizeof options / sizeof options[0] };
_Static_assert(OPTION_COUNT <= TLY_WORD_OPTIONS, "room for every option");

const char *tly_word_option_at(int i, int *has_value)
{
    *has_value = i < OPTION_COUNT && options[i].read != NULL;
    return i < OPTION_COUNT ? options[i].name : NULL;
}

static int is_for(const option *o, int op)
{
    const tly_op_facts *f = &tly_ops[op];
    const int has_values = !tly_tells_index(op);
    const int kinds = (f->scan ? SCANS : REDUCTIONS) | (f->wide ? WIDE : 0) |
                      (f->has_coef ? RECURRENCES : 0) | (has_values ? VALUES : 0) |
                      (has_values && f->scan ? STATES : 0);
    return (o->kinds & kinds) && !(o->flag & ~f->flags);
}

static int is_axes(const option *o)
{
    return o->read == tly_word_axis || o->read == tly_word_axes;
}

static int is_dtype(tly_span name)
{
    for (int i = 1; i < TALLY_DTYPE_COUNT; i++) {
        if (tly_word_equals(name, tly_dtypes[i].name)) {
            return 1;
        }
    }
    return 0;
}

int tly_word_option_name(int index, int op, tly_word_name *name)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const option *o = &options[i];
        if (!is_for(o, op) || index-- > 0) {
            continue;
        }
        *name = (tly_word_name){ .name = o->name,
                                 .values = o->values,
                                 .takes_value = o->read != NULL,
                                 .is_axes = is_axes(o),
                                 .is_operand = o->is_operand,
                                 .is_expression = o->read == tly_word_expression,
                                 .example = o->example };
        return 1;
    }
    return 0;
}

/* What is no option of the operator's, or none at all: says what is. */
static tally_status refuse_name(const tly_reader *r, tly_span name, const option *found)
{
    tly_suggestion guess = tly_suggest_begin(name.at, (size_t)(name.end - name.at));
    const int valued = *name.end == '=';
    int fits = 0; /* whether the nearest name takes a value as this one has it */
    char list[104] = "";
    for (int i = 0; i < OPTION_COUNT; i++) {
        /* Of operands the list has the first. A guess takes none: these letters are near to
         * everything short. */
        const int is_listed = !options[i].is_operand || options[i].name[0] == 'a';
        if (is_for(&options[i], r->d.op) && is_listed) {
            char text[16] = "";
            const char *before = guess.best;
            if (!options[i].is_operand) {
                tly_word_try(&guess, options[i].name);
            }
            fits = guess.best == before ? fits : (options[i].read != NULL) == valued;
            strncpy(text, options[i].name, sizeof text - 2);
            if (options[i].read != NULL) {
                text[strlen(text)] = '=';
            }
            tly_names_add(list, sizeof list, text);
        }
    }
    if (found != NULL && found->kinds == RECURRENCES) {
        tly_word_refuse(r, name.at, found->name, TLY_NO_COEF);
    } else if (found != NULL) {
        tly_word_refuse(r, name.at, found->name, TLY_NOT_AN_OPTION TLY_SUGGESTION, found->name,
                        tally_op_name((tally_op)r->d.op), TLY_SUGGESTED(&guess));
    } else {
        tly_word_refuse(r, name.at, "option", "'%.*s' is no option" TLY_SUGGESTION, TLY_SHOW(name),
                        TLY_SUGGESTED(&guess));
    }
    if (tly_word_equals(name, "dtype")) {
        tly_error_hint(r->error, "dtypes follow the operator, the output's behind '>': '%s:>f64'",
                       tally_op_name((tally_op)r->d.op));
    } else if (is_dtype(name) &&
               tly_word_suggest_colon(r, "parts have ':' between them:", name.at)) {
        return TALLY_INVALID;
    } else if (!fits || !tly_word_suggest(r, "type", name, guess.best)) {
        tly_error_hint(r->error, "%s takes %s", tally_op_name((tally_op)r->d.op), list);
    }
    return TALLY_INVALID;
}

/* A number in the place of an option: several axes were meant. */
static tally_status refuse_axis(const tly_reader *r, tly_span text)
{
    const char *axes = tly_word_option_place(r, "axes");
    if (axes != NULL) {
        tly_word_refuse(r, text.at - 1, "axes", "',' stands between two axes");
        return tly_word_refuse_axes(r, axes);
    }
    tly_word_refuse(r, text.at, "option", "'%.*s' is no option", TLY_SHOW(text));
    tly_error_hint(r->error, tly_ops[r->d.op].scan ? "a scan goes along one axis: axis=0"
                                                   : "axes have a name: axes=0+1");
    return TALLY_INVALID;
}

tally_status tly_word_option(tly_reader *r, tly_span text)
{
    const char *colon = memchr(text.at, ':', (size_t)(text.end - text.at));
    if (colon != NULL) {
        const tly_span before = { text.at, colon };
        if (is_dtype(before)) {
            tly_word_refuse(r, text.at, "option", "the dtype stands behind the sizes");
            tly_error_hint(r->error, "a word is OP:DTYPE:SIZES:OPTIONS");
            return TALLY_INVALID;
        }
        tly_word_refuse(r, colon, "option", "':' stands between two options");
        tly_error_hint(r->error, "options have commas between them: axis=1,reverse");
        return TALLY_INVALID;
    }
    tly_span value = text;
    tly_span name = tly_word_cut(&value, '=');
    int i = 0;
    while (i < OPTION_COUNT && !tly_word_equals(name, options[i].name)) {
        i++;
    }
    if (text.at == text.end) {
        return tly_word_refuse(r, text.at, "option", "an option is empty");
    }
    const char *digit = text.at + (*text.at == '-');
    if (*digit >= '0' && *digit <= '9') {
        return refuse_axis(r, text);
    }
    if (i == OPTION_COUNT) {
        return refuse_name(r, name, NULL);
    }
    const option *o = &options[i];
    if (!is_for(o, r->d.op)) {
        return refuse_name(r, name, o);
    }
    if (r->values[i].at != NULL) {
        return tly_word_refuse(r, text.at, o->name, "%s is given twice", o->name);
    }
    if (value.at != NULL && o->read == NULL) {
        tly_word_refuse(r, name.end, o->name, "%s takes no value", o->name);
        tly_word_suggest(r, "type", text, o->name);
        return TALLY_INVALID;
    }
    if (value.at == NULL && o->read != NULL && !o->is_operand) {
        char example[24];
        tly_word_refuse(r, name.end, o->name, "%s needs a value", o->name);
        snprintf(example, sizeof example, "%s=0", o->name);
        if (is_axes(o)) {
            tly_word_suggest(r, "along the first axis it is", text, example);
        }
        return TALLY_INVALID;
    }
    r->values[i] = value.at != NULL ? value : text;
    r->d.flags |= o->flag;
    return o->read != NULL ? o->read(r, value, o->name) : TALLY_OK;
}

const char *tly_word_option_place(const tly_reader *r, const char *name)
{
    const tly_span wanted = { name, name + strlen(name) };
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (r->values[i].at != NULL && tly_word_equals(wanted, options[i].name)) {
            return r->values[i].at;
        }
    }
    return NULL;
}
