/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints about words: what was meant by a name that is none, and the whole word as it should be, to
 * be typed. A hint that would not fit whole is not given.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../host/error.h"
#include "../host/suggest.h"
#include "word_reader.h"

/* Names that others have for what Tally has, in small letters and without '_' (suggest.h). */
static const struct {
    const char *other, *name;
} aliases[] = {
    { "logsumexp", "log_sum_exp" },
    { "logcumsumexp", "cumlogsumexp" },
    { "cumulativesum", "cumsum" },
    { "cumulativesummation", "cumsum" },
    { "prefixsum", "cumsum" },
    { "add.accumulate", "cumsum" },
    { "cumulativeprod", "cumprod" },
    { "cumulativeproduct", "cumprod" },
    { "multiply.accumulate", "cumprod" },
    { "maximum.accumulate", "cummax" },
    { "minimum.accumulate", "cummin" },
    { "reducesum", "sum" },
    { "reduceprod", "prod" },
    { "product", "prod" },
    { "reducemean", "mean" },
    { "average", "mean" },
    { "avg", "mean" },
    { "reducel1", "l1" },
    { "reducel2", "l2" },
    { "norm", "l2" },
    { "reducesumsquare", "sum_square" },
    { "reducelogsum", "log_sum" },
    { "reducelogsumexp", "log_sum_exp" },
    { "reducemax", "max" },
    { "maximum", "max" },
    { "amax", "max" },
    { "nanmax", "max" },
    { "reducemin", "min" },
    { "minimum", "min" },
    { "amin", "min" },
    { "nanmin", "min" },
    { "nanargmax", "argmax" },
    { "nanargmin", "argmin" },
    { "double", "f64" },
    { "float", "f32" },
    { "single", "f32" },
    { "half", "f16" },
    { "f8", "f64" },
    { "f4", "f32" },
    { "f2", "f16" },
    { "long", "i64" },
    { "s64", "i64" },
    { "int64t", "i64" },
    { "int", "i32" },
    { "i4", "i32" },
    { "s32", "i32" },
    { "int32t", "i32" },
    { "short", "i16" },
    { "i2", "i16" },
    { "s16", "i16" },
    { "i1", "i8" },
    { "s8", "i8" },
    { "uint", "u32" },
    { "u4", "u32" },
    { "u2", "u16" },
    { "byte", "u8" },
    { "u1", "u8" },
    { "boolean", "bool" },
    { "b1", "bool" },
    { "dim", "axis" },
    { "dim", "axes" },
    { "dims", "axes" },
    { "axis", "axes" },
    { "axes", "axis" },
    { "dimension", "axis" },
    { "dimension", "axes" },
    { "keepdim", "keepdims" },
    { "reversed", "reverse" },
    { "selectlastindex", "last" },
};

void tly_word_try(tly_suggestion *guess, const char *name)
{
    tly_suggest_try(guess, name);
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcmp(aliases[i].name, name) == 0) {
            tly_suggest_alias(guess, aliases[i].other, name);
        }
    }
}

/* As much as a hint holds, and a sign that there was more. */
typedef struct line {
    char text[sizeof(((tally_error *)NULL)->hint) + 1];
    size_t length;
} line;

static void add(line *l, const char *from, size_t bytes)
{
    const size_t room = sizeof l->text - 1 - l->length;
    bytes = bytes < room ? bytes : room;
    memcpy(l->text + l->length, from, bytes);
    l->length += bytes;
    l->text[l->length] = 0;
}

/* "why: word", the word in quotes where a shell would read something else. */
static int give(const tly_reader *r, const char *why, const line *word)
{
    const char *quote = strpbrk(word->text, "<>?*()[] ;!") != NULL ? "'" : "";
    char hint[2 * sizeof word->text];
    const int length = snprintf(hint, sizeof hint, "%s %s%s%s", why, quote, word->text, quote);
    const int whole = length > 0 && (size_t)length < sizeof word->text - 1;
    if (whole) {
        tly_error_hint(r->error, "%s", hint);
    }
    return whole;
}

static int is_edge(char c)
{
    return c == 0 || strchr(":,>=x+", c) != NULL;
}

/* Where a part of the word stands in what its author wrote; NULL if it came from elsewhere. What
 * was inserted stands behind the operator: either all before a part is the author's, or all behind
 * it, but for an output's dtype alone. */
static const char *find_written(const tly_reader *r, tly_span part)
{
    const size_t bytes = (size_t)(part.end - part.at), length = strlen(r->written);
    const size_t before = (size_t)(part.at - r->word), behind = strlen(part.at);
    const char *const places[] = { behind <= length ? r->written + length - behind : NULL,
                                   before <= length ? r->written + before : NULL,
                                   strchr(r->written, '>') };
    for (int i = 0; i < 3; i++) {
        const char *at = places[i];
        if (i == 2 && at != NULL) {
            at++;
        }
        if (at != NULL && (at == r->written || is_edge(at[-1])) &&
            strncmp(at, part.at, bytes) == 0 && is_edge(at[bytes])) {
            return at;
        }
    }
    return NULL;
}

int tly_word_suggest(const tly_reader *r, const char *why, tly_span wrong, const char *right)
{
    const char *at = wrong.end > wrong.at ? find_written(r, wrong) : NULL;
    line word = { .length = 0 };
    if (at == NULL) {
        return 0;
    }
    add(&word, r->written, (size_t)(at - r->written));
    add(&word, right, strlen(right));
    at += wrong.end - wrong.at;
    add(&word, at, strlen(at));
    return give(r, why, &word);
}

int tly_word_suggest_option(const tly_reader *r, const char *why, const char *option)
{
    line word = { .length = 0 };
    int any = 0;
    for (int i = 0; i < TLY_WORD_OPTIONS; i++) {
        any |= r->values[i].at != NULL;
    }
    add(&word, r->written, strlen(r->written));
    add(&word, any ? "," : ":", 1);
    add(&word, option, strlen(option));
    return give(r, why, &word);
}

int tly_word_suggest_joined(const tly_reader *r, const char *why, const char *numbers, char joint)
{
    static const char separators[] = ",;x*X+";
    tly_span part = { numbers, numbers + strspn(numbers, "0123456789-+,;x*X()[] ") };
    line right = { .length = 0 };
    while (part.end > part.at && part.end[-1] == ',' && *part.end != 0 && *part.end != ':') {
        part.end--; /* an option follows */
    }
    for (const char *at = part.at; at < part.end; at++) {
        if (strchr("()[] ", *at) == NULL) {
            add(&right, strchr(separators, *at) != NULL ? &joint : at, 1);
        }
    }
    while (right.length > 0 && right.text[right.length - 1] == joint) {
        right.text[--right.length] = 0;
    }
    return right.length > 0 && tly_word_suggest(r, why, part, right.text);
}

int tly_word_suggest_colon(const tly_reader *r, const char *why, const char *part)
{
    const char *end = part + strcspn(part, ":"), *comma = memchr(part, ',', (size_t)(end - part));
    line right = { .length = 0 };
    if (comma == NULL) {
        return 0;
    }
    add(&right, part, (size_t)(comma - part));
    add(&right, ":", 1);
    add(&right, comma + 1, (size_t)(end - comma - 1));
    return tly_word_suggest(r, why, (tly_span){ part, end }, right.text);
}

int tly_word_suggest_axis(const tly_reader *r)
{
    char option[24];
    const char *behind = r->written + (r->op.end - r->op.at);
    const int64_t number = r->d.sizes[0];
    snprintf(option, sizeof option, "%s=%" PRId64, tly_ops[r->d.op].scan ? "axis" : "axes", number);
    return r->d.rank == 1 && number >= -TALLY_MAX_RANK && number < TALLY_MAX_RANK &&
           *behind == ':' && strchr(behind + 1, ':') == NULL &&
           tly_word_suggest(r, "an axis has a name:", r->sizes, option);
}

void tly_word_hint_ops(const tly_reader *r)
{
    const int scan = strncmp(r->op.at, "cum", 3) == 0;
    char names[TLY_MOST_NAMES] = "";
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        if (tly_ops[op].scan == scan) {
            tly_names_add(names, sizeof names, tally_op_name((tally_op)op));
        }
    }
    tly_error_hint(r->error, scan ? "scans: %s" : "reductions: %s; scans begin with cum or lin",
                   names);
}

void tly_word_hint_parts(const tly_reader *r)
{
    const tly_op_facts *op = &tly_ops[r->d.op];
    tly_error_hint(r->error, "a word looks like %s:%s:1024x512%s, that is OP:DTYPE:SIZES:OPTIONS",
                   tally_op_name((tally_op)r->d.op),
                   tly_dtypes[r->d.dtype != 0 ? r->d.dtype : TALLY_F32].name,
                   op->scan ? ":axis=1" : "");
}
