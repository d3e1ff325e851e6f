/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words that leave out what a file says (tally/word.h). The missing parts are inserted as text and
 * the result is read by tally_descriptor_parse, so that there is one grammar only; positions in
 * what was inserted are moved back to the word as its author wrote it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tally/descriptor.h>
#include <tally/word.h>

#include "../host/error.h"
#include "word_reader.h"

/* Whatever the word says, the file adds no more than a dtype and eight sizes. */
#define ADDED_MAX 256

typedef struct joint {
    char text[TALLY_WORD_MAX + ADDED_MAX];
    size_t length;
    size_t copied; /* bytes of `word` that are in `text` */
    struct {
        size_t at, bytes;
    } added[2]; /* where text was inserted */
    int count;
} joint;

static size_t part_length(const char *part)
{
    return strcspn(part, ":");
}

static int starts(const char *part, const char *prefix)
{
    return strncmp(part, prefix, strlen(prefix)) == 0;
}

static int is_sizes(const char *part)
{
    return (part[0] != 0 && strchr("0123456789-+?([", part[0]) != NULL) ||
           (part_length(part) == strlen("scalar") && starts(part, "scalar"));
}

/* Whether a name is nearer to an option's than to a dtype's. */
static int is_near_option(const char *part, size_t name)
{
    tly_suggestion option = tly_suggest_begin(part, name), dtype = option;
    const char *known;
    for (int i = 0, has_value; (known = tly_word_option_at(i, &has_value)) != NULL; i++) {
        if (!has_value) {
            tly_word_try(&option, known);
        }
    }
    tly_word_try(&option, ",");
    for (int i = 1; i < TALLY_DTYPE_COUNT; i++) {
        tly_word_try(&dtype, tly_dtypes[i].name);
    }
    return option.best != NULL && (dtype.best == NULL || option.distance < dtype.distance);
}

/* Options have a '=' or a name that no dtype shares; what is neither is taken for a dtype, so that
 * a misspelt dtype is reported as one. */
static int is_options(const char *part)
{
    size_t length = part_length(part);
    size_t name = strcspn(part, ":,");
    int found = memchr(part, '=', length) != NULL || length == 0 || part[0] == ',';
    const char *known;
    for (int i = 0, has_value; (known = tly_word_option_at(i, &has_value)) != NULL && !found; i++) {
        /* An option may have lost its value. */
        found = starts(part, known) && (!has_value || strlen(known) == name);
    }
    return found || is_near_option(part, name);
}

static void copy(joint *j, const char *word, size_t bytes)
{
    memcpy(j->text + j->length, word + j->copied, bytes);
    j->copied += bytes;
    j->length += bytes;
}

/* Takes one part of the word, with the ':' before it. */
static void keep(joint *j, const char *word)
{
    copy(j, word, part_length(word + j->copied + 1) + 1);
}

static void add(joint *j, const char *text)
{
    size_t bytes = strlen(text);
    j->added[j->count].at = j->length;
    j->added[j->count++].bytes = bytes;
    memcpy(j->text + j->length, text, bytes);
    j->length += bytes;
}

static void add_sizes(joint *j, int32_t rank, const int64_t *sizes)
{
    char text[ADDED_MAX] = ":scalar";
    size_t length = 0;
    for (int32_t d = 0; d < rank; d++) {
        int written = snprintf(text + length, sizeof text - length, "%c%" PRId64,
                               d == 0 ? ':' : 'x', sizes[d]);
        length += written > 0 ? (size_t)written : 0;
    }
    add(j, text);
}

/* Where a character of the full word, from 1, is in the word it was made of. */
static int32_t original(const joint *j, int32_t position)
{
    size_t at = position > 0 ? (size_t)position - 1 : 0;
    size_t before = 0;
    for (int i = 0; i < j->count && at >= j->added[i].at; i++) {
        size_t inside = at - j->added[i].at;
        before += inside < j->added[i].bytes ? inside : j->added[i].bytes;
    }
    return position > 0 ? (int32_t)(at - before) + 1 : 0;
}

/* in= and out= speak of the tensor's dims, which an author who leaves out sizes does not know. */
static tally_status refuse_strides(const char *word, const char *options, tally_error *error)
{
    static const char *const names[] = { "in", "out" };
    for (const char *o = options; o != NULL; o = strchr(o, ',')) {
        o += *o == ',' || *o == ':';
        for (int i = 0; i < 2; i++) {
            if (starts(o, names[i]) && o[strlen(names[i])] == '=') {
                tly_fail(error, TALLY_INVALID, names[i], "%s= needs sizes in the word", names[i]);
                tly_error_position(error, (int32_t)(o - word) + 1);
                return TALLY_INVALID;
            }
        }
    }
    return TALLY_OK;
}

/* Copies the word to `j` with the missing parts inserted; it ends before a part that nobody knows,
 * which the parser will then report, unless an earlier part is wrong. */
static tally_status join(joint *j, const char *word, const char *dtype, int32_t rank,
                         const int64_t *sizes, int32_t *had_dtype, int32_t *had_sizes,
                         tally_error *error)
{
    j->length = j->copied = part_length(word);
    memcpy(j->text, word, j->length);

    const char *next = word[j->copied] == ':' ? word + j->copied + 1 : NULL;
    const int only_output = next != NULL && *next == '>';
    *had_dtype = next != NULL && !only_output && !is_sizes(next) && !is_options(next);
    if (*had_dtype || (only_output && dtype == NULL)) {
        keep(j, word);
    } else if (only_output) {
        copy(j, word, 1);
        add(j, dtype);
        copy(j, word, part_length(next));
    } else if (dtype != NULL) {
        char text[32];
        snprintf(text, sizeof text, ":%s", dtype);
        add(j, text);
    } else {
        return TALLY_OK;
    }

    next = word[j->copied] == ':' ? word + j->copied + 1 : NULL;
    *had_sizes = next != NULL &&
                 (is_sizes(next) || (!is_options(next) && next[part_length(next)] == ':'));
    if (*had_sizes) {
        keep(j, word);
    } else if (sizes == NULL) {
        return TALLY_OK;
    } else if (rank < 0 || rank > TALLY_MAX_RANK) {
        return tly_fail(error, TALLY_INVALID, "sizes", "the file's rank %d is not in [0, %d]",
                        (int)rank, TALLY_MAX_RANK);
    } else {
        tally_status s = refuse_strides(word, next, error);
        if (s != TALLY_OK) {
            return s;
        }
        add_sizes(j, rank, sizes);
    }
    size_t rest = strlen(word + j->copied);
    memcpy(j->text + j->length, word + j->copied, rest);
    j->length += rest;
    return TALLY_OK;
}

tally_status tally_word_complete(const char *word, const char *dtype, int32_t rank,
                                 const int64_t *sizes, char *full, size_t capacity,
                                 int32_t *had_dtype, int32_t *had_sizes, tally_error *error)
{
    if (word == NULL || full == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the %s is NULL",
                        word == NULL ? "word" : "buffer");
    }
    if (strlen(word) >= TALLY_WORD_MAX) {
        return tly_fail(error, TALLY_INVALID, "usage", "the word is longer than any word is");
    }
    joint j;
    memset(&j, 0, sizeof j);
    int32_t has_dtype = 0;
    int32_t has_sizes = 0;
    tally_status s = join(&j, word, dtype, rank, sizes, &has_dtype, &has_sizes, error);
    if (s != TALLY_OK) {
        return s;
    }
    tally_descriptor parsed;
    tally_error why = TALLY_ERROR_INIT;
    s = tly_word_parse(j.text, word, &parsed, &why);
    if (s != TALLY_OK) {
        tly_fail(error, s, why.field, "%s", why.message);
        tly_error_position(error, original(&j, why.position));
        tly_error_hint(error, "%s", why.hint);
        return s;
    }
    if (capacity <= j.length) {
        return tly_fail(error, TALLY_INVALID, "usage", "the word needs %zu bytes, there are %zu",
                        j.length + 1, capacity);
    }
    memcpy(full, j.text, j.length + 1);
    if (had_dtype != NULL) {
        *had_dtype = has_dtype;
    }
    if (had_sizes != NULL) {
        *had_sizes = has_sizes;
    }
    return TALLY_OK;
}
