/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels made ahead of time: words and levels become an order to the generator, which answers with
 * an object (docs/ahead.md).
 */
#include "../context/internal.h"

#include "../cpu/cpu.h"
#include "../descriptor/descriptor.h"
#include "../host/error.h"
#include "../host/fork.h"
#include "../host/thread.h"
#include "names.h"
#include "variants.h"

#include <stdlib.h>
#include <string.h>

/* What an order points to. */
typedef struct draft {
    tly_ahead_order order;
    tly_ahead_word_order *words;
    tly_request *requests;
    tly_problem **variants; /* of words with open sizes */
} draft;

/* ---- levels --------------------------------------------------------------------------------- */

static tally_status add_level(tly_ahead_order *order, int level, tally_error *error)
{
    size_t at = order->level_count;
    for (size_t i = 0; i < order->level_count; i++) {
        if (order->numbers[i] == level) {
            return TALLY_OK;
        }
    }
    if (at > 0 && strcmp(tly_level_machine(order->numbers[0]), tly_level_machine(level)) != 0) {
        return tly_fail(error, TALLY_INVALID, "device",
                        "%s and %s: an object is of one architecture", order->levels[0],
                        tly_level_name(level));
    }
    for (; at > 0 && order->numbers[at - 1] < level; at--) { /* best first */
        order->numbers[at] = order->numbers[at - 1];
        order->levels[at] = order->levels[at - 1];
    }
    order->numbers[at] = level;
    order->levels[at] = tly_level_name(level);
    order->level_count++;
    return TALLY_OK;
}

static tally_status find_levels(tly_ahead_order *order, const char *const *devices, size_t count,
                                tally_error *error)
{
    tally_status status = TALLY_OK;
    for (size_t i = 0; status == TALLY_OK && i < count; i++) {
        int level;
        status = tly_device_level(devices[i], &level, error);
        if (status == TALLY_OK) {
            status = level != TLY_LEVEL_NONE
                         ? add_level(order, level, error)
                         : tly_fail(error, TALLY_UNSUPPORTED, "device",
                                    "%s is no CPU, and objects are for CPUs", devices[i]);
        }
    }
    return status;
}

_Static_assert((int)TLY_AHEAD_LEVELS >= TLY_LEVELS, "room for every level");

/* ---- words ---------------------------------------------------------------------------------- */

static tally_status add_word(draft *d, tally_context *context, const tally_function *function,
                             tally_error *error)
{
    tly_request *request = &d->requests[d->order.word_count];
    char device[32] = "cpu:";
    strncat(device, d->order.levels[0], sizeof device - 5);
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = device,
                                           .plan = function->plan };
    tally_status status = tly_request_resolve(context, function->descriptor, &options,
                                              TLY_ASKED_SHOW, request, error);
    if (status != TALLY_OK) {
        return status;
    }
    tly_ahead_word_order *word = &d->words[d->order.word_count];
    *word = (tly_ahead_word_order){ .name = function->name,
                                    .problems = &request->problem,
                                    .problem_count = 1,
                                    .geometry = &request->geometry,
                                    .full = &request->full,
                                    .plan = request->plan };
    if (tly_has_open_size(&request->full)) {
        if (tly_variants_too_many(&request->full)) {
            return tly_fail(error, TALLY_UNSUPPORTED, "sizes",
                            "%s: more than %d open sizes together with strides", function->name,
                            (int)TLY_VARIANTS_MOST_STRIDED);
        }
        d->variants[d->order.word_count] = tly_variants_find(&request->full, &word->problem_count);
        word->problems = d->variants[d->order.word_count];
        word->geometry = NULL;
        if (word->problems == NULL) {
            return tly_out_of_memory(error, "a word's kernels", sizeof(tly_problem));
        }
    }
    d->order.word_count++;
    return TALLY_OK;
}

/* The functions lie one behind the other, each as large as the first says. */
static tally_status take(const tally_function *functions, size_t i, tally_function *taken,
                         tally_error *error)
{
    return tly_struct_take(taken, sizeof *taken, (const char *)functions + i * functions[0].size,
                           "tally_function", error);
}

static tally_status check_names(const tally_function *functions, size_t count, tally_error *error)
{
    tly_name_set names = { .count = 0 };
    tally_status status = TALLY_OK;
    for (size_t i = 0; status == TALLY_OK && i < count; i++) {
        tally_function f;
        const char *fault = NULL;
        status = take(functions, i, &f, error);
        if (status == TALLY_OK && f.name == NULL) {
            status = tly_fail(error, TALLY_INVALID, "usage", "function %zu has no name", i);
        } else if (status == TALLY_OK && !tly_name_set_add(&names, f.name, &fault)) {
            status = tly_out_of_memory(error, "names", names.room * sizeof *names.slots);
        } else if (fault != NULL) {
            status = tly_fail(error, TALLY_INVALID, "usage", "%.60s: %s", f.name, fault);
        }
    }
    tly_name_set_end(&names);
    return status;
}

static tally_status add_words(draft *d, tally_context *context, const tally_function *functions,
                              size_t count, tally_error *error)
{
    d->words = calloc(count + 1, sizeof *d->words);
    d->requests = calloc(count + 1, sizeof *d->requests);
    d->variants = calloc(count + 1, sizeof *d->variants);
    if (d->words == NULL || d->requests == NULL || d->variants == NULL) {
        return tly_out_of_memory(error, "an object", count * sizeof *d->requests);
    }
    d->order.words = d->words;
    tally_status status = TALLY_OK;
    for (size_t i = 0; status == TALLY_OK && i < count; i++) {
        tally_function f;
        status = take(functions, i, &f, error);
        if (status == TALLY_OK) {
            status = add_word(d, context, &f, error);
        }
    }
    return status;
}

/* ---- the call ------------------------------------------------------------------------------- */

static tally_status make(draft *d, tally_context *context, tally_write write, void *user,
                         tally_error *error)
{
    const tly_generator *generator;
    tally_status status = tly_stack_check(error); /* `write` must be called on this thread */
    if (status == TALLY_OK) {
        status = tly_generator_find(context, &generator, error);
    }
    return status == TALLY_OK ? generator->ahead(&d->order, write, user, error) : status;
}

tally_status tally_compile(tally_context *context, const tally_function *functions, size_t count,
                           const char *const *devices, size_t device_count, tally_format format,
                           tally_write write, void *user, tally_error *error)
{
    if (context == NULL || functions == NULL || count == 0 || devices == NULL ||
        device_count == 0 || write == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "a context, functions, devices and a writer are needed");
    }
    if ((unsigned)format > TALLY_FORMAT_LLVM) {
        return tly_fail(error, TALLY_INVALID, "usage", "there is no format %d", (int)format);
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    draft d = { .order = { .format = format } };
    tally_status status = check_names(functions, count, error);
    if (status == TALLY_OK) {
        status = find_levels(&d.order, devices, device_count, error);
    }
    if (status == TALLY_OK) {
        status = add_words(&d, context, functions, count, error);
    }
    if (status == TALLY_OK) {
        status = make(&d, context, write, user, error);
    }
    for (size_t i = 0; d.variants != NULL && i < count; i++) {
        free(d.variants[i]);
    }
    free(d.variants);
    free(d.words);
    free(d.requests);
    tly_fork_leave();
    return status;
}
