/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the word's options (docs/word.md): one row of a table for each, in any order, none twice,
 * only those of the operator.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../host/error.h"
#include "word_reader.h"

/* After a refusal of what stands between axes. */
static tally_status refuse_axes(const tly_reader *r, const char *first)
{
    if (!tly_word_suggest_joined(r, "axes have + between them:", first, '+')) {
        tly_error_hint(r->error, "axes have + between them, as in axes=0+1; left out: all of them");
    }
    return TALLY_INVALID;
}

static tally_status read_axis(tly_reader *r, tly_span value, const char *field)
{
    int64_t axis;
    if (tly_word_int(r, value, field, &axis) != TALLY_OK) {
        tly_error_hint(r->error, "an axis is a number: 0 is the first one, -1 the last");
        return TALLY_INVALID;
    }
    if (axis < -r->d.rank || axis >= r->d.rank) {
        tly_word_refuse(r, value.at, field, "axis %" PRId64 " is not in [%d, %d]", axis,
                        -(int)r->d.rank, (int)r->d.rank - 1);
        tly_word_suggest(r, "the last axis is -1:", value, "-1");
        return TALLY_INVALID;
    }
    r->d.axis = (int32_t)(axis < 0 ? axis + r->d.rank : axis);
    return TALLY_OK;
}

static tally_status read_axes(tly_reader *r, tly_span value, const char *field)
{
    r->d.axes_given = 1;
    if (tly_word_equals(value, "none")) {
        return TALLY_OK;
    }
    const char *first = value.at;
    while (value.at != NULL) {
        tly_span axis = tly_word_cut(&value, '+');
        int64_t number;
        if (r->d.rank == 0) {
            return tly_word_refuse(r, axis.at, field, "a scalar has no axes");
        }
        if (tly_word_int(r, axis, field, &number) != TALLY_OK) {
            return refuse_axes(r, first);
        }
        tally_status s = read_axis(r, axis, field);
        if (s != TALLY_OK) {
            return s;
        }
        uint32_t bit = 1u << r->d.axis;
        if (r->d.axes & bit) {
            return tly_word_refuse(r, axis.at, field, "axis %d is named twice", (int)r->d.axis);
        }
        r->d.axes |= bit;
    }
    r->d.axis = 0;
    return TALLY_OK;
}

static tally_status read_strides(tly_reader *r, tly_span value, const char *field, int64_t *strides,
                                 int64_t *offset, int32_t *count)
{
    tly_span origin = value;
    tly_span list = tly_word_cut(&origin, '@');
    tly_span rest = list;
    /* Rank 0 has no strides: "in=@4". Whether the count fits is known after the last option. */
    while (rest.at != NULL && !(origin.at != NULL && list.at == list.end)) {
        tly_span stride = tly_word_cut(&rest, 'x');
        if (*count == TALLY_MAX_RANK) {
            return tly_word_refuse(r, stride.at, field, "more than %d strides", TALLY_MAX_RANK);
        }
        tally_status s = tly_word_int(r, stride, field, &strides[(*count)++]);
        if (s != TALLY_OK) {
            return s;
        }
    }
    return origin.at != NULL ? tly_word_int(r, origin, field, offset) : TALLY_OK;
}

static tally_status read_in(tly_reader *r, tly_span value, const char *field)
{
    return read_strides(r, value, field, r->d.in_strides, &r->d.in_offset, &r->strides[TLY_IN]);
}

static tally_status read_out(tly_reader *r, tly_span value, const char *field)
{
    return read_strides(r, value, field, r->d.out_strides, &r->d.out_offset, &r->strides[TLY_OUT]);
}

/* The value of an option that has a closed list of them. */
static tally_status one_of(tly_reader *r, tly_span value, const char *field,
                           const char *const *names, int32_t *index)
{
    for (int32_t i = 0; names[i] != NULL; i++) {
        if (tly_word_equals(value, names[i])) {
            *index = i;
            return TALLY_OK;
        }
    }
    tly_suggestion guess = tly_suggest_begin(value.at, (size_t)(value.end - value.at));
    char list[64] = "";
    for (int32_t i = 0; names[i] != NULL; i++) {
        tly_suggest_try(&guess, names[i]);
        tly_names_add(list, sizeof list, names[i]);
    }
    tly_word_refuse(r, value.at, field, "%s cannot be '%.*s'" TLY_SUGGESTION, field,
                    TLY_SHOW(value), TLY_SUGGESTED(&guess));
    if (guess.best == NULL || !tly_word_suggest(r, "type", value, guess.best)) {
        tly_error_hint(r->error, "%s= takes %s; leave it out for the default", field, list);
    }
    return TALLY_INVALID;
}

static const char *const no_axes[] = { "none", NULL };
static const char *const orders[] = { "exact", "serial", NULL };
static const char *const wide[] = { "f64", NULL };
static const char *const ignored[] = { "ignore", NULL };

static tally_status read_order(tly_reader *r, tly_span value, const char *field)
{
    tally_status s = one_of(r, value, field, orders, &r->d.order);
    r->d.order += s == TALLY_OK ? TALLY_ORDER_EXACT : 0;
    return s;
}

static tally_status read_acc(tly_reader *r, tly_span value, const char *field)
{
    tally_status s = one_of(r, value, field, wide, &r->d.acc);
    r->d.acc = TALLY_F64;
    return s;
}

static tally_status read_nan(tly_reader *r, tly_span value, const char *field)
{
    int32_t only;
    return one_of(r, value, field, ignored, &only);
}

enum { SCANS = 1, REDUCTIONS = 2, BOTH = 3, WIDE = 4 };

typedef struct option {
    const char *name;
    /* NULL: takes no value. */
    tally_status (*read)(tly_reader *r, tly_span value, const char *field);
    uint32_t flag; /* set, and asked of the operator */
    int kinds;
    const char *const *values; /* all that it takes; NULL: no such list */
} option;

static const option options[] = {
    { "axis", read_axis, 0, SCANS, NULL },
    { "axes", read_axes, 0, REDUCTIONS, no_axes },
    { "keepdims", NULL, TALLY_KEEPDIMS, BOTH, NULL },
    { "exclusive", NULL, TALLY_EXCLUSIVE, BOTH, NULL },
    { "reverse", NULL, TALLY_REVERSE, BOTH, NULL },
    { "in", read_in, TALLY_IN_STRIDES, BOTH, NULL },
    { "out", read_out, TALLY_OUT_STRIDES, BOTH, NULL },
    { "last", NULL, TALLY_LAST, BOTH, NULL },
    { "order", read_order, 0, BOTH, orders },
    { "acc", read_acc, 0, WIDE, wide },
    { "nan", read_nan, TALLY_NAN_IGNORE, BOTH, ignored },
};

enum { OPTION_COUNT = sizeof options / sizeof options[0] };
_Static_assert(OPTION_COUNT <= TLY_WORD_OPTIONS, "room for every option");

static int is_for(const option *o, const tly_op_facts *op)
{
    const int kinds = (op->scan ? SCANS : REDUCTIONS) | (op->wide ? WIDE : 0);
    return (o->kinds & kinds) && !(o->flag & ~op->flags);
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
        if (!is_for(o, &tly_ops[op]) || index-- > 0) {
            continue;
        }
        const int is_axes = o->read == read_axis || o->read == read_axes;
        *name = (tly_word_name){ .name = o->name,
                                 .values = o->values,
                                 .takes_value = o->read != NULL,
                                 .is_axes = is_axes,
                                 .example = o->values != NULL ? o->values[0]
                                            : is_axes         ? "0"
                                            : o->read == NULL ? ""
                                                              : NULL };
        return 1;
    }
    return 0;
}

/* What is no option of the operator's, or none at all: says what is. */
static tally_status refuse_name(const tly_reader *r, tly_span name, const option *found)
{
    const tly_op_facts *op = &tly_ops[r->d.op];
    tly_suggestion guess = tly_suggest_begin(name.at, (size_t)(name.end - name.at));
    const int valued = *name.end == '=';
    int fits = 0; /* whether the nearest name takes a value as this one has it */
    char list[90] = "";
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (is_for(&options[i], op)) {
            char text[16] = "";
            const char *before = guess.best;
            tly_word_try(&guess, options[i].name);
            fits = guess.best == before ? fits : (options[i].read != NULL) == valued;
            strncpy(text, options[i].name, sizeof text - 2);
            if (options[i].read != NULL) {
                text[strlen(text)] = '=';
            }
            tly_names_add(list, sizeof list, text);
        }
    }
    if (found != NULL) {
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
        return refuse_axes(r, axes);
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
    const tly_op_facts *op = &tly_ops[r->d.op];
    if (!is_for(o, op)) {
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
    if (value.at == NULL && o->read != NULL) {
        char example[24];
        tly_word_refuse(r, name.end, o->name, "%s needs a value", o->name);
        snprintf(example, sizeof example, "%s=0", o->name);
        if (o->read == read_axis || o->read == read_axes) {
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
