/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the word (docs/word.md). The grammar is read to the letter and from left to right; what
 * the parts mean together is judged by tly_descriptor_resolve, whose complaints get the position
 * of the part that they name. The caller's descriptor is untouched unless all is well.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../host/error.h"
#include "expression.h"
#include "word_reader.h"

static tally_status at(const tly_reader *r, const char *where, tally_status status)
{
    ptrdiff_t position = where - r->word + 1;
    tly_error_position(r->error, position < INT32_MAX ? (int32_t)position : INT32_MAX);
    return status;
}

tally_status tly_word_refuse(const tly_reader *r, const char *where, const char *field,
                             const char *format, ...)
{
    char message[sizeof r->error->message];
    va_list args;
    va_start(args, format);
    int written = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return at(r, where,
              tly_fail(r->error, TALLY_INVALID, field, "%s", written >= 0 ? message : "is wrong"));
}

int tly_word_equals(tly_span part, const char *name)
{
    size_t length = (size_t)(part.end - part.at);
    return strlen(name) == length && memcmp(part.at, name, length) == 0;
}

/* The first separator outside of parentheses; NULL: there is none. *depth: how many parentheses are
 * not closed. */
static const char *find_outside(tly_span rest, char separator, int *depth)
{
    *depth = 0;
    for (const char *at = rest.at; at < rest.end; at++) {
        *depth += (*at == '(') - (*at == ')' && *depth > 0);
        if (*at == separator && *depth == 0) {
            return at;
        }
    }
    return NULL;
}

tly_span tly_word_cut(tly_span *rest, char separator)
{
    int depth;
    const char *found = find_outside(*rest, separator, &depth);
    if (depth > 0) {
        found = memchr(rest->at, separator, (size_t)(rest->end - rest->at));
    }
    tly_span part = { rest->at, found != NULL ? found : rest->end };
    rest->at = found != NULL ? found + 1 : NULL;
    return part;
}

tally_status tly_word_int(tly_reader *r, tly_span part, const char *field, int64_t *value)
{
    const char *p = part.at;
    int negative = p < part.end && *p == '-';
    p += negative;
    const char *digits = p;
    int64_t n = 0;
    int fits = 1;
    for (; p < part.end && *p >= '0' && *p <= '9'; p++) {
        int digit = negative ? '0' - *p : *p - '0';
        fits = fits && !__builtin_mul_overflow(n, 10, &n) && !__builtin_add_overflow(n, digit, &n);
    }
    if (p != part.end || p == digits) {
        return tly_word_refuse(r, p, field, "'%.*s' is no decimal integer", TLY_SHOW(part));
    }
    if (*digits == '0' && (negative || p - digits > 1)) {
        return tly_word_refuse(r, part.at, field, "'%.*s' has %s", TLY_SHOW(part),
                               p - digits > 1 ? "leading zeros" : "a sign on zero");
    }
    if (!fits) {
        return tly_word_refuse(r, part.at, field, "'%.*s' does not fit 64 bits", TLY_SHOW(part));
    }
    *value = n;
    return TALLY_OK;
}

#define EXAMPLE "cumsum:f32:1024x512:axis=1, that is OP:DTYPE:SIZES:OPTION,OPTION"

static tly_suggestion suggest_op(const char *text, size_t length)
{
    tly_suggestion guess = tly_suggest_begin(text, length);
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        tly_word_try(&guess, tally_op_name((tally_op)op));
    }
    return guess;
}

static tally_status read_op(tly_reader *r)
{
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        if (tly_word_equals(r->op, tally_op_name((tally_op)op))) {
            r->d.op = op;
            return TALLY_OK;
        }
    }
    /* A name may have been ended by the wrong character. */
    size_t length = strspn(r->op.at,
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789");
    tly_suggestion guess = suggest_op(r->op.at, length);
    const char *dot = memchr(r->op.at, '.', length);
    if (guess.best == NULL && dot != NULL) { /* np.sum */
        guess = suggest_op(dot + 1, length - (size_t)(dot + 1 - r->op.at));
    }
    tly_word_refuse(r, r->op.at, "op", "'%.*s' is no operator" TLY_SUGGESTION, TLY_SHOW(r->op),
                    TLY_SUGGESTED(&guess));
    if (r->op.at + length != r->op.end) {
        tly_error_hint(r->error, "a word looks like " EXAMPLE);
    } else if (guess.best == NULL || !tly_word_suggest(r, "type", r->op, guess.best)) {
        tly_word_hint_ops(r);
    }
    return TALLY_INVALID;
}

tally_status tly_word_dtype(tly_reader *r, tly_span name, const char *field, int32_t *dtype)
{
    for (int i = 1; i < TALLY_DTYPE_COUNT; i++) {
        if (tly_word_equals(name, tly_dtypes[i].name)) {
            *dtype = i;
            return TALLY_OK;
        }
    }
    tly_suggestion guess = tly_suggest_begin(name.at, (size_t)(name.end - name.at));
    char names[TLY_MOST_NAMES] = "";
    for (int i = 1; i < TALLY_DTYPE_COUNT; i++) {
        tly_word_try(&guess, tly_dtypes[i].name);
        tly_names_add(names, sizeof names, tly_dtypes[i].name);
    }
    tly_word_refuse(r, name.at, field, "'%.*s' is no dtype" TLY_SUGGESTION, TLY_SHOW(name),
                    TLY_SUGGESTED(&guess));
    const char *stop = name.at + strcspn(name.at, ",=:");
    if (stop < name.end && *stop == '=') { /* an option: dtype and sizes are missing */
        tly_word_hint_parts(r);
        return TALLY_INVALID;
    }
    const int joined = memchr(name.at, ',', (size_t)(name.end - name.at)) != NULL &&
                       tly_word_suggest_colon(r, "parts have ':' between them:", name.at);
    if (!joined && (guess.best == NULL || !tly_word_suggest(r, "type", name, guess.best))) {
        tly_error_hint(r->error, "dtypes: %s", names);
    }
    return TALLY_INVALID;
}

static tally_status read_dtypes(tly_reader *r)
{
    tly_span rest = r->dtype;
    if (rest.at < rest.end && *rest.at == '>') {
        tly_word_refuse(r, rest.at, "dtype", "the input's dtype is missing before '>'");
        tly_error_hint(r->error, "a file says it; without one it is as in 'sum:i8>i64:1024'");
        return TALLY_INVALID;
    }
    tally_status s = tly_word_dtype(r, tly_word_cut(&rest, '>'), "dtype", &r->d.dtype);
    return s == TALLY_OK && rest.at != NULL ? tly_word_dtype(r, rest, "dtype", &r->d.out_dtype) : s;
}

static tally_status read_sizes(tly_reader *r)
{
    tly_span rest = r->sizes;
    if (tly_word_equals(rest, "scalar")) {
        return TALLY_OK;
    }
    /* Options where the sizes belong: no size is that wrong. */
    if (memchr(rest.at, '=', (size_t)(rest.end - rest.at)) != NULL) {
        return tly_word_refuse(r, rest.at, "sizes", "sizes are missing before '%.*s'",
                               TLY_SHOW(rest));
    }
    while (rest.at != NULL) {
        tly_span size = tly_word_cut(&rest, 'x');
        if (r->d.rank == TALLY_MAX_RANK) {
            return tly_word_refuse(r, size.at, "sizes", "more than %d sizes", TALLY_MAX_RANK);
        }
        int64_t *value = &r->d.sizes[r->d.rank++];
        if (tly_word_equals(size, "?")) {
            *value = TALLY_OPEN_SIZE;
            continue;
        }
        tally_status s = tly_word_int(r, size, "sizes", value);
        if (s != TALLY_OK) {
            if (!tly_word_suggest_joined(r, "sizes have x between them:", r->sizes.at, 'x')) {
                tly_error_hint(r->error,
                               "sizes look like 3x4: decimal numbers with x between them");
            }
            return s;
        }
        if (*value < 0) {
            tly_word_refuse(r, size.at, "sizes", "size %" PRId64 " is negative", *value);
            tly_word_suggest_axis(r);
            return TALLY_INVALID;
        }
    }
    return TALLY_OK;
}

/* Where the part stands that a complaint names; the sizes, where nothing else fits. */
static const char *place(const tly_reader *r, const char *field)
{
    const tly_span name = { field, field + strlen(field) };
    const char *option = tly_word_option_place(r, field);
    return option != NULL                   ? option
           : tly_word_equals(name, "op")    ? r->op.at
           : tly_word_equals(name, "dtype") ? r->dtype.at
                                            : r->sizes.at;
}

/* As many strides as the tensor has dims: what the struct cannot say, so it is judged here. */
static tally_status check_counts(tly_reader *r)
{
    tally_descriptor d = r->d;
    if (!tly_ops[d.op].scan && !d.axes_given) {
        d.axes = tly_all_axes(d.rank);
    }
    int64_t sizes[TALLY_MAX_RANK];
    const struct {
        uint32_t flag;
        int32_t rank;
        const char *field, *tensor;
    } tensors[] = {
        [TLY_IN] = { TALLY_IN_STRIDES, d.rank, "in", "input" },
        [TLY_OUT] = { TALLY_OUT_STRIDES, tly_result_shape(&d, sizes), "out", "output" },
    };
    for (int t = TLY_IN; t <= TLY_OUT; t++) {
        if ((d.flags & tensors[t].flag) && r->strides[t] != tensors[t].rank) {
            return tly_word_refuse(r, place(r, tensors[t].field), tensors[t].field,
                                   "%d strides for the %s's rank %d", (int)r->strides[t],
                                   tensors[t].tensor, (int)tensors[t].rank);
        }
    }
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        const char *field = tly_operand_name(i);
        if (d.operands[i].place == TALLY_PLACE_STRIDES && r->operand_strides[i] != d.rank) {
            return tly_word_refuse(r, place(r, field), field, "%d strides for the input's rank %d",
                                   (int)r->operand_strides[i], (int)d.rank);
        }
    }
    return TALLY_OK;
}

tally_status tly_word_pass(const tly_reader *r, const char *from, const tally_error *why)
{
    const int32_t behind = why->position > 0 ? why->position - 1 : 0;
    tly_word_refuse(r, from + behind, why->field, "%s", why->message);
    tly_error_hint(r->error, "%s", why->hint);
    return TALLY_INVALID;
}

static tally_status resolve(tly_reader *r, tally_descriptor *full)
{
    tally_error why = TALLY_ERROR_INIT;
    const char *where;
    tally_status s = tly_descriptor_judge(&r->d, full, &where, &why);
    return s == TALLY_OK ? s : tly_word_pass(r, place(r, where != NULL ? where : why.field), &why);
}

static tally_status read_word(tly_reader *r, tally_descriptor *full)
{
    tly_span rest = { r->word, r->word + strlen(r->word) };
    const char *end = rest.end;
    struct {
        tly_span *part;
        tally_status (*read)(tly_reader *r);
        const char *field;
    } parts[] = {
        { &r->op, read_op, "op" },
        { &r->dtype, read_dtypes, "dtype" },
        { &r->sizes, read_sizes, "sizes" },
    };
    for (int i = 0; i < 3; i++) {
        if (rest.at == NULL) {
            tly_word_refuse(r, end, parts[i].field, "the word ends before its %s", parts[i].field);
            tly_word_hint_parts(r);
            return TALLY_INVALID;
        }
        *parts[i].part = tly_word_cut(&rest, ':');
        tally_status s = parts[i].read(r);
        if (s != TALLY_OK) {
            return s;
        }
    }
    const tly_op_facts *op = &tly_ops[r->d.op];
    if (op->scan && r->d.rank == 0) {
        return tly_word_refuse(r, r->sizes.at, "sizes", "%s takes rank 1 to %d, not a scalar",
                               tally_op_name((tally_op)r->d.op), TALLY_MAX_RANK);
    }
    while (rest.at != NULL) {
        tally_status s = tly_word_option(r, tly_word_cut(&rest, ','));
        if (s != TALLY_OK) {
            return s;
        }
    }
    if (op->scan && tly_word_option_place(r, "axis") == NULL) {
        tly_word_refuse(r, end, "axis", "%s needs axis=", tally_op_name((tally_op)r->d.op));
        if (!tly_word_suggest_axis(r) &&
            !tly_word_suggest_option(r, "along the last axis it is", "axis=-1")) {
            tly_error_hint(r->error, "axis=-1 is the last axis");
        }
        return TALLY_INVALID;
    }
    tally_status s = check_counts(r);
    return s == TALLY_OK ? resolve(r, full) : s;
}

tally_status tly_word_parse(const char *word, const char *written, tally_descriptor *descriptor,
                            tally_error *error)
{
    tly_reader r = { .word = word, .written = written, .error = error, .d = TALLY_DESCRIPTOR_INIT };
    tally_descriptor full;
    tally_status s = read_word(&r, &full);
    if (s == TALLY_OK) {
        tly_descriptor_shorten(&full);
        *descriptor = full;
    }
    return s;
}

tally_status tally_descriptor_parse(const char *word, tally_descriptor *descriptor,
                                    tally_error *error)
{
    if (word == NULL || descriptor == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the %s is NULL",
                        word == NULL ? "word" : "descriptor");
    }
    return tly_word_parse(word, word, descriptor, error);
}
