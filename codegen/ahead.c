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

#include "../runtime/descriptor/descriptor.h"
#include "../runtime/descriptor/stages.h"
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

/* ---- the launches' structs (runtime/making/ahead.h) ----------------------------------------- */

/* A launch: the names of its functions begin with `prefix`, and its arrays have so many
 * elements. */
typedef struct launch {
    const char *prefix;
    size_t tensors, fact_words, descriptor_words;
} launch;

static const launch plain = { TLY_AHEAD_PLAIN, TLY_FIRST_OPERAND,
                              offsetof(tly_problem, tensor[TLY_FIRST_OPERAND]) / 8,
                              offsetof(tally_descriptor, operands) / 8 };
static const launch all = { "", TLY_TENSOR_COUNT, TLY_FACT_WORDS, sizeof(tally_descriptor) / 8 };

static const launch *launch_of(const tally_descriptor *full)
{
    return tly_shows_stages(full) ? &all : &plain;
}

/* Also where the word has no elements, and its problem no operands. */
static size_t tensors_of(const tally_descriptor *full)
{
    return (size_t)tly_carry_named(full) + (full->carry != 0 ? 2 : 0);
}

static void put(uint64_t **to, const void *from, size_t bytes)
{
    memcpy(*to, from, bytes);
    *to += bytes / 8;
}

static void put_code(const launch *l, const tly_ahead_code *code, uint64_t *to)
{
    const tly_prepared *r = &code->prepared;
    const size_t rest = offsetof(tly_prepared, rules.in_place);
    put(&to, &code->level, sizeof code->level);
    put(&to, &r->args, offsetof(tly_args, tensor) + l->tensors * sizeof *r->args.tensor);
    put(&to, r->first, l->tensors * sizeof *r->first);
    put(&to, r->rules.apart, l->tensors * sizeof *r->rules.apart);
    put(&to, r->rules.misaligned, l->tensors * sizeof *r->rules.misaligned);
    put(&to, (const char *)r + rest, sizeof *r - rest);
}

static size_t variant_words(const launch *l)
{
    return 1 + l->fact_words + sizeof(tly_launch) / 8;
}

static void put_variant(const launch *l, int64_t level, const tly_problem *problem,
                        const tly_launch *of_code, uint64_t *to)
{
    put(&to, &level, sizeof level);
    put(&to, problem, l->fact_words * 8);
    put(&to, of_code, sizeof *of_code);
}

static tally_status add_function(work *w, const launch *l, const char *runner, tly_unit_call *call)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", l->prefix, runner);
    call->runner = name;
    return w->native->unit_function(w->unit, call, w->error);
}

/* ---- words whose sizes are known ---------------------------------------------------------- */

static tally_status fill(work *w, const tly_ahead_word_order *word, const launch *l, size_t level,
                         uint64_t *row, tly_unit_entry *entry)
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
    put_code(l, &made, row);
    return TALLY_OK;
}

static tally_status add_word(work *w, const tly_ahead_word_order *word)
{
    enum { MOST = TLY_AHEAD_LEVELS };
    uint64_t rows[MOST * TLY_AHEAD_WORDS(TLY_TENSOR_COUNT)];
    tly_unit_entry entries[MOST] = { NULL };
    const size_t levels = w->order->level_count;
    const launch *l = launch_of(word->full);
    const size_t words = TLY_AHEAD_WORDS(l->tensors);
    for (size_t i = 0; i < levels; i++) {
        tally_status status = fill(w, word, l, i, rows + i * words, &entries[i]);
        if (status != TALLY_OK) {
            return status;
        }
    }
    tly_unit_call call = { .name = word->name,
                           .tensors = tensors_of(word->full),
                           .carry = word->full->carry,
                           .entries = entries,
                           .rows = rows,
                           .row_words = words,
                           .row_count = levels };
    return add_function(w, l, TLY_AHEAD_RUN, &call);
}

/* ---- words with open sizes ------------------------------------------------------------------ */

static tally_status fill_open(work *w, const tly_ahead_word_order *word, const launch *l,
                              uint64_t *rows, tly_unit_entry *entries)
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
        put_variant(l, w->order->numbers[i / each], problem, &c->launch,
                    rows + i * variant_words(l));
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
    enum { MOST_HEAD = 1 + sizeof(tally_descriptor) / 8 };
    const launch *l = launch_of(word->full);
    const size_t count = word->problem_count * w->order->level_count;
    uint64_t *rows = calloc(count + 1, variant_words(l) * sizeof *rows);
    tly_unit_entry *entries = calloc(count + 1, sizeof *entries);
    tally_status status = rows != NULL && entries != NULL
                              ? fill_open(w, word, l, rows, entries)
                              : tly_out_of_memory(w->error, "an object", count * sizeof *rows);
    if (status == TALLY_OK) {
        uint64_t head[MOST_HEAD] = { word->problem_count };
        memcpy(head + 1, word->full, l->descriptor_words * 8);
        tly_unit_call call = { .name = word->name,
                               .tensors = tensors_of(word->full),
                               .carry = word->full->carry,
                               .sizes = open_sizes(word->full),
                               .head = head,
                               .head_words = 1 + l->descriptor_words,
                               .entries = entries,
                               .rows = rows,
                               .row_words = variant_words(l),
                               .row_count = count };
        status = add_function(w, l, TLY_AHEAD_RUN_OPEN, &call);
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
        status = word->geometry == NULL ? add_open(w, word) : add_word(w, word);
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
