/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a word can go on (tally/word.h). Names come from the tables that the parser reads, and the
 * parser judges each of them in its place, so that nothing is offered that it would refuse.
 */
#include <stdio.h>
#include <string.h>

#include <tally/word.h>

#include "../host/error.h"
#include "word_reader.h"

typedef struct offers {
    const char *begun; /* the word so far */
    size_t kept;       /* of it, in front of the name that is to be completed */
    int op;
    int32_t rank; /* of the sizes in the word; -1: it has none */
    char joint;   /* what an option that follows the name has before it */
    tally_write write;
    void *user;
    int failed;
} offers;

enum { MOST_LINE = 2 * TALLY_WORD_MAX };

static int starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int is_right(const char *word)
{
    static const int64_t ones[TALLY_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    char full[TALLY_WORD_MAX];
    return tally_word_complete(word, "f32", TALLY_MAX_RANK, ones, full, sizeof full, NULL, NULL,
                               NULL) == TALLY_OK;
}

/* An expression that uses the operands which a word has. */
static const char *use_of(const char *word)
{
    static const char *const uses[] = { "x", "a", "a+b", "a+b+c", "a+b+c+d" };
    int count = 0;
    for (const char *at = word; *at != 0; at++) {
        const int is_operand = (*at == ':' || *at == ',') && at[1] == 'a' + count &&
                               (at[2] == 0 || strchr("=,", at[2]) != NULL);
        count += is_operand && count < TALLY_MAX_OPERANDS;
    }
    return uses[count];
}

/* Whether the word is right for some file, perhaps with an axis, which scans must have, with a use
 * of its operands, and with a factor for linrec. */
static int judge(const offers *o, char *word)
{
    static const char *const stages[] = { "map", "post", "coef", "reset", NULL };
    if (tly_ops[o->op].scan && strstr(word, "axis=") == NULL) {
        const size_t length = strlen(word);
        snprintf(word + length, MOST_LINE - length, "%caxis=0", o->joint);
    }
    const size_t length = strlen(word);
    const char *use = use_of(word);
    int right = is_right(word);
    for (int i = 0; !right && stages[i] != NULL; i++) {
        if (*use == 'a' || tly_ops[o->op].has_coef) {
            snprintf(word + length, MOST_LINE - length, ",%s=%s", stages[i], use);
            right = is_right(word);
        }
    }
    return right;
}

/* Offers NAME, and END behind it, in place of what was begun, if it begins like that; and if the
 * word with `example` behind it is right. Returns 0 if another example may be. */
static int offer(offers *o, const char *name, const char *end, const char *example)
{
    char line[MOST_LINE], word[MOST_LINE];
    if (o->failed || !starts(name, o->begun + o->kept)) {
        return 1;
    }
    snprintf(word, sizeof word, "%.*s%s%s", (int)o->kept, o->begun, name,
             example != NULL ? example : "");
    if (example != NULL && !judge(o, word)) {
        return 0;
    }
    int length = snprintf(line, sizeof line, "%.*s%s%s\n", (int)o->kept, o->begun, name, end);
    o->failed = o->write(o->user, line, (size_t)length) != 0;
    return 1;
}

static void offer_ops(offers *o)
{
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        offer(o, tally_op_name((tally_op)op), ":", NULL);
    }
}

/* `part` begins behind the operator; after a '>' it is the output's. */
static void offer_dtypes(offers *o, const char *part)
{
    const char *wider = strchr(part, '>');
    o->kept = (size_t)((wider != NULL ? wider + 1 : part) - o->begun);
    for (int dtype = 1; dtype < TALLY_DTYPE_COUNT; dtype++) {
        offer(o, tly_dtypes[dtype].name, ":", "");
    }
}

static void offer_axes(offers *o)
{
    char name[16];
    for (int axis = 0; axis < o->rank; axis++) {
        snprintf(name, sizeof name, "%d", axis);
        offer(o, name, "", "");
    }
}

/* The value of an option: those of a closed list, or axes. */
static void offer_values(offers *o, const char *option, const char *value)
{
    const size_t length = (size_t)(value - 1 - option);
    tly_word_name name;
    for (int i = 0; tly_word_option_name(i, o->op, &name); i++) {
        if (strlen(name.name) != length || memcmp(name.name, option, length) != 0) {
            continue;
        }
        const char *plus = strrchr(value, '+');
        o->kept = (size_t)((plus != NULL && name.is_axes ? plus + 1 : value) - o->begun);
        for (int v = 0; name.values != NULL && name.values[v] != NULL; v++) {
            offer(o, name.values[v], "", "");
        }
        if (name.is_axes) {
            offer_axes(o);
        }
        for (int dtype = 1; name.is_operand && dtype < TALLY_DTYPE_COUNT; dtype++) {
            offer(o, tly_dtypes[dtype].name, "", "");
        }
    }
}

/* The last comma that stands between two options. */
static const char *last_comma(const char *part)
{
    const char *comma = NULL;
    int depth = 0;
    for (const char *at = part; *at != 0; at++) {
        depth += (*at == '(') - (*at == ')' && depth > 0);
        comma = *at == ',' && depth == 0 ? at : comma;
    }
    return comma;
}

static void offer_options(offers *o, const char *part)
{
    const char *comma = last_comma(part);
    const char *option = comma != NULL ? comma + 1 : part, *value = strchr(option, '=');
    tly_word_name name;
    if (value != NULL) {
        offer_values(o, option, value + 1);
        return;
    }
    o->kept = (size_t)(option - o->begun);
    for (int i = 0; tly_word_option_name(i, o->op, &name); i++) {
        const int strides = name.example == NULL;
        const char *end = name.takes_value ? "=" : "";
        char example[16];
        snprintf(example, sizeof example, "%s%s", name.is_operand ? "" : end,
                 strides || name.is_operand ? "" : name.example);
        const int is_offered = (strides && o->rank < 0) ||
                               offer(o, name.name, end, strides ? NULL : example);
        if (name.is_expression && !is_offered) {
            snprintf(example, sizeof example, "=%s", use_of(o->begun));
            (void)offer(o, name.name, end, example);
        }
    }
}

static int find_op(const char *word, size_t length)
{
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        const char *name = tally_op_name((tally_op)op);
        if (strlen(name) == length && memcmp(name, word, length) == 0) {
            return op;
        }
    }
    return 0;
}

/* How many sizes the parts in front of the last have; -1 if none of these is sizes. */
static int32_t count_sizes(const char *word, const char *last)
{
    for (const char *part = strchr(word, ':'); part != NULL && part + 1 < last;
         part = strchr(part + 1, ':')) {
        const size_t length = strcspn(part + 1, ":");
        if (length > 0 && strspn(part + 1, "0123456789x?") == length) {
            int32_t rank = 1;
            for (size_t i = 0; i < length; i++) {
                rank += part[1 + i] == 'x';
            }
            return rank <= TALLY_MAX_RANK ? rank : -1;
        }
    }
    return -1;
}

static void offer_all(offers *o)
{
    const char *colon = strchr(o->begun, ':'), *last = strrchr(o->begun, ':');
    if (colon == NULL) {
        offer_ops(o);
        return;
    }
    o->op = find_op(o->begun, (size_t)(colon - o->begun));
    if (o->op == 0) {
        return;
    }
    last++;
    o->rank = count_sizes(o->begun, last);
    if (strpbrk(last, "=,") == NULL) {
        o->joint = ':';
        if (last == colon + 1) {
            offer_dtypes(o, last);
        }
        o->kept = (size_t)(last - o->begun);
        if (o->rank < 0) {
            offer(o, "scalar", "", "");
        }
    }
    o->joint = ',';
    offer_options(o, last);
}

tally_status tally_word_next(const char *begun, tally_write write, void *user, tally_error *error)
{
    if (begun == NULL || write == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the %s is NULL",
                        begun == NULL ? "word" : "writer");
    }
    if (strlen(begun) >= TALLY_WORD_MAX) {
        return TALLY_OK; /* longer than any word */
    }
    offers o = { .begun = begun, .rank = -1, .write = write, .user = user };
    offer_all(&o);
    return o.failed ? tly_fail(error, TALLY_IO, "file", "the words could not be written")
                    : TALLY_OK;
}
