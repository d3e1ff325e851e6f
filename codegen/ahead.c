/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects made ahead of time. For each word and level they have the kernels, and the constant data
 * that the launch code in the object expects (runtime/making/ahead.h). Equal problems with equal
 * plans share a kernel.
 */
#include "../runtime/making/ahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runtime/host/error.h"
#include "draft.h"

enum { MOST_NAME = 1200 };

typedef struct code {
    tly_problem problem;
    const char *level, *plan;
    tly_launch launch;
    tly_unit_entry entry;
} code;

typedef struct work {
    const tly_ahead_order *order;
    const tly_native *native;
    tly_unit *unit;
    code *codes;
    size_t count;
    tally_error *error;
} work;

static tally_status make(work *w, const tly_ahead_word_order *word, const tly_problem *problem,
                         const char *level)
{
    char symbol[MOST_NAME];
    tly_draft d;
    tally_status status = tly_draft_make(problem, level, word->plan, &d, w->error);
    if (status != TALLY_OK) {
        return status;
    }
    code *made = &w->codes[w->count];
    *made = (code){ .problem = *problem, .level = level, .plan = word->plan, .launch = d.launch };
    snprintf(symbol, sizeof symbol, "%s.%s", word->name, level);
    status = w->native->unit_code(w->unit, d.kernel, d.target, symbol, &made->entry, w->error);
    kir_free(d.kernel);
    w->count += status == TALLY_OK;
    return status;
}

static tally_status need(work *w, const tly_ahead_word_order *word, const tly_problem *problem,
                         const char *level, const code **found)
{
    for (size_t i = 0; i < w->count; i++) {
        if (w->codes[i].level == level && strcmp(w->codes[i].plan, word->plan) == 0 &&
            memcmp(&w->codes[i].problem, problem, sizeof *problem) == 0) {
            *found = &w->codes[i];
            return TALLY_OK;
        }
    }
    tally_status status = make(w, word, problem, level);
    *found = &w->codes[w->count - 1];
    return status;
}

/* ---- words whose sizes are known ---------------------------------------------------------- */

enum { WORDS = (sizeof(tly_ahead_code) - sizeof(tly_entry)) / 8 };

static tally_status fill(work *w, const tly_ahead_word_order *word, size_t level, uint64_t *row,
                         tly_unit_entry *entry)
{
    const tly_ahead_order *o = w->order;
    tly_ahead_code made;
    memset(&made, 0, sizeof made);
    made.level = o->numbers[level];
    if (word->geometry->empty) {
        made.prepared.empty = 1;
    } else {
        const code *c;
        tally_status status = need(w, word, word->problems, o->levels[level], &c);
        if (status != TALLY_OK) {
            return status;
        }
        *entry = c->entry;
        tly_prepared_make(&made.prepared, word->problems, word->geometry, &c->launch,
                          TLY_MOST_SCRATCH, TLY_AHEAD_STREAM_BYTES);
    }
    memcpy(row, &made.level, WORDS * sizeof *row);
    return TALLY_OK;
}

static tally_status add_word(work *w, const tly_ahead_word_order *word)
{
    enum { MOST = TLY_AHEAD_LEVELS };
    uint64_t rows[MOST * WORDS];
    tly_unit_entry entries[MOST] = { NULL };
    const size_t levels = w->order->level_count;
    for (size_t i = 0; i < levels; i++) {
        tally_status status = fill(w, word, i, rows + i * WORDS, &entries[i]);
        if (status != TALLY_OK) {
            return status;
        }
    }
    const tly_unit_call call = { .name = word->name,
                                 .runner = TLY_AHEAD_RUN,
                                 .entries = entries,
                                 .rows = rows,
                                 .row_words = WORDS,
                                 .row_count = levels };
    return w->native->unit_function(w->unit, &call, w->error);
}

/* ---- words with open sizes ------------------------------------------------------------------ */

enum {
    HEAD = (offsetof(tly_ahead_open, variants) - sizeof(int64_t)) / 8,
    OPEN_WORDS = (sizeof(tly_ahead_variant) - sizeof(tly_entry)) / 8
};

static tally_status fill_open(work *w, const tly_ahead_word_order *word, uint64_t *rows,
                              tly_unit_entry *entries)
{
    const size_t each = word->problem_count, count = each * w->order->level_count;
    for (size_t i = 0; i < count; i++) {
        const tly_problem *problem = &word->problems[i % each];
        const code *c;
        tally_status status = need(w, word, problem, w->order->levels[i / each], &c);
        if (status != TALLY_OK) {
            return status;
        }
        entries[i] = c->entry;
        tly_ahead_variant made = { .level = w->order->numbers[i / each], .launch = c->launch };
        memcpy(made.facts, problem, sizeof made.facts);
        memcpy(rows + i * OPEN_WORDS, &made.level, OPEN_WORDS * sizeof *rows);
    }
    return TALLY_OK;
}

static size_t open_sizes(const tally_descriptor *d)
{
    size_t count = 0;
    for (int32_t i = 0; i < d->rank; i++) {
        count += d->sizes[i] == TALLY_OPEN_SIZE;
    }
    return count;
}

static tally_status add_open(work *w, const tly_ahead_word_order *word)
{
    const tly_ahead_open head = { .each = (int64_t)word->problem_count, .full = *word->open };
    const size_t count = word->problem_count * w->order->level_count;
    uint64_t *rows = calloc(count + 1, OPEN_WORDS * sizeof *rows);
    tly_unit_entry *entries = calloc(count + 1, sizeof *entries);
    tally_status status = rows != NULL && entries != NULL
                              ? fill_open(w, word, rows, entries)
                              : tly_out_of_memory(w->error, "an object", count * sizeof *rows);
    if (status == TALLY_OK) {
        uint64_t words[HEAD];
        memcpy(words, &head.each, sizeof words);
        const tly_unit_call call = { .name = word->name,
                                     .runner = TLY_AHEAD_RUN_OPEN,
                                     .sizes = open_sizes(word->open),
                                     .head = words,
                                     .head_words = HEAD,
                                     .entries = entries,
                                     .rows = rows,
                                     .row_words = OPEN_WORDS,
                                     .row_count = count };
        status = w->native->unit_function(w->unit, &call, w->error);
    }
    free(rows);
    free(entries);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static tally_status add_words(work *w)
{
    tally_status status = TALLY_OK;
    for (size_t i = 0; status == TALLY_OK && i < w->order->word_count; i++) {
        const tly_ahead_word_order *word = &w->order->words[i];
        status = word->open != NULL ? add_open(w, word) : add_word(w, word);
        if (status != TALLY_OK) {
            tly_error_where(w->error, word->name);
        }
    }
    return status;
}

static size_t most_codes(const tly_ahead_order *order)
{
    size_t problems = 0;
    for (size_t i = 0; i < order->word_count; i++) {
        problems += order->words[i].problem_count;
    }
    return problems * order->level_count;
}

tally_status tly_generate_ahead(const tly_ahead_order *order, tally_write write, void *user,
                                tally_error *error)
{
    work w = { .order = order, .error = error };
    const tly_target *target = tly_target_find(order->levels[0]);
    const size_t most = most_codes(order);
    tally_status status = target != NULL ? tly_native_need(&w.native, error)
                                         : tly_fail(error, TALLY_INVALID, "device",
                                                    "there is no CPU level '%s'", order->levels[0]);
    if (status != TALLY_OK) {
        return status;
    }
    w.codes = calloc(most + 1, sizeof *w.codes);
    if (w.codes == NULL) {
        return tly_out_of_memory(error, "an object", most * sizeof *w.codes);
    }
    status = w.native->unit_begin(target, most, &w.unit, error);
    if (status == TALLY_OK) {
        status = add_words(&w);
        if (status == TALLY_OK) {
            status = w.native->unit_write(w.unit, order->format, write, user, error);
        }
        w.native->unit_end(w.unit);
    }
    free(w.codes);
    return status;
}
