/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs how a kernel was created: the event, the reasons and, with TALLY_DUMP, every stage. Also
 * says in errors which kernel is missing where none can be made.
 */
#include "../context/internal.h"

#include "../context/backend.h"
#include "../cpu/cpu.h"
#include "../descriptor/descriptor.h"
#include "../descriptor/stages.h"
#include "../host/clock.h"
#include "../host/error.h"
#include "../host/thread.h"
#include "dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sources[TLY_FROM_COUNT] = {
    [TLY_FROM_NOWHERE] = "empty", [TLY_FROM_MEMORY] = "memory", [TLY_FROM_PACK] = "pack",
    [TLY_FROM_DISK] = "disk",     [TLY_FROM_HOST] = "host",     [TLY_FROM_MADE] = "made",
    [TLY_FROM_QUICK] = "quick",
};

/* The canonical word of a request. */
static void print_word(const tly_request *request, char word[TALLY_WORD_MAX])
{
    (void)tly_word_print(&request->full, word, TALLY_WORD_MAX, NULL, NULL); /* it fits */
}

static void print_device(const tly_request *request, char *text, size_t capacity)
{
    if (request->vulkan != NULL) {
        snprintf(text, capacity, "%s", tly_vulkan_name(request->vulkan));
    } else {
        snprintf(text, capacity, "cpu:%s", tly_level_name(request->level));
    }
}

char *tly_log_word(const tally_context *context, const tly_request *request)
{
    char word[TALLY_WORD_MAX];
    if (!tly_log_tells(&context->store.log, TALLY_LOG_EVENT)) {
        return NULL;
    }
    print_word(request, word);
    return strdup(word);
}

/* --- what is not there --------------------------------------------------------------------- */

void tly_hint_missing(tally_context *context, const tly_request *request, tally_error *error)
{
    const tly_generator *generator;
    const char *refused = tly_packs_refused(&context->store.packs);
    const int any = tly_packs_any(&context->store.packs);
    if (context->cache.rules.compile == TALLY_COMPILE_NEVER || (!any && refused[0] == 0) ||
        (context->isolate != 0 &&
         tly_generator_find(context, &generator, NULL) != TALLY_NO_GENERATOR)) {
        return;
    }
    if (!any) {
        tly_error_hint(error, "%s", refused);
        return;
    }
    tly_problem asked = request->problem;
    char word[64] = "this word"; /* problems have no text of expressions */
    asked.tensor[TLY_IN].dtype = (uint8_t)request->full.dtype;
    asked.tensor[TLY_OUT].dtype = (uint8_t)request->full.out_dtype;
    if (!tly_has_stages(&request->full)) {
        tly_problem_word(&asked, word, sizeof word);
    }
    if (request->vulkan != NULL) {
        tly_error_hint(error, "no pack has %s for %.40s; tally compile --profile makes packs", word,
                       tly_vulkan_name(request->vulkan));
        return;
    }
    tly_error_hint(error, "no pack has %s for cpu:%s; tally compile makes packs where it is built",
                   word, tly_level_name(request->level));
}

/* Which kernel there is not, with its sizes, and how to have it. */
tally_status tly_fail_never(const tally_context *context, const tly_request *request,
                            tally_error *error)
{
    char word[TALLY_WORD_MAX];
    int cpu = request->level != TLY_LEVEL_NONE;
    if (context->cache.rules.compile != TALLY_COMPILE_NEVER) {
        return TALLY_NO_GENERATOR;
    }
    print_word(request, word);
    tly_fail(error, TALLY_NO_GENERATOR, "device",
             "compile is never, and neither memory nor a pack nor the disk cache has a kernel for "
             "%s%s of %s",
             cpu ? "cpu:" : "this Vulkan device", cpu ? tly_level_name(request->level) : "", word);
    tly_error_hint(error,
                   cpu ? "where there is a generator, tally compile WORD -o FILE makes a "
                         "pack of it; TALLY_PACK names it here"
                       : "where there is a generator, tally compile --profile FILE makes a pack "
                         "of it; TALLY_PACK names it here");
    return TALLY_NO_GENERATOR;
}

/* --- reasons ------------------------------------------------------------------------------- */

/* A plan as one line that can be given back. */
typedef struct line {
    char text[1024];
    size_t length;
} line;

static int add(void *user, const char *text, size_t bytes)
{
    line *l = user;
    for (size_t i = 0; i < bytes && l->length + 1 < sizeof l->text; i++) {
        if (text[i] != ' ') {
            l->text[l->length++] = text[i] == '\n' ? ',' : text[i];
        }
    }
    return 0;
}

static void tell_reasons(tally_context *context, const tly_request *request,
                         const tly_origin *origin, const char *word)
{
    const tly_log *log = &context->store.log;
    if (origin->pack != NULL) {
        tly_log_say(log, TALLY_LOG_REASON, "%s: from no pack: %s", word, origin->pack);
    }
    if (origin->disk != NULL) {
        tly_log_say(log, TALLY_LOG_REASON, "%s: not from the disk cache: %s", word, origin->disk);
    }
    if (origin->from >= TLY_FROM_MADE) {
        line plan = { .length = 0 };
        if (tly_stage_show(context, request, TALLY_STAGE_PLAN, add, &plan, NULL) == TALLY_OK) {
            plan.text[plan.length > 0 ? plan.length - 1 : 0] = 0; /* the last one's comma */
            tly_log_say(log, TALLY_LOG_REASON, "%s: plan: %s", word, plan.text);
        }
    }
}

/* --- all ----------------------------------------------------------------------------------- */

typedef struct birth {
    tally_context *context;
    const tly_request *request;
    const tly_origin *origin;
    const char *word, *device;
} birth;

/* What asks the generator wants stack. */
static tally_status tell_more(void *state, tally_error *error)
{
    const birth *b = state;
    (void)error;
    if (tly_log_tells(&b->context->store.log, TALLY_LOG_REASON)) {
        tell_reasons(b->context, b->request, b->origin, b->word);
    }
    if (b->origin->from > TLY_FROM_MEMORY) {
        tly_dump(b->context, b->request, b->word, b->device, sources[b->origin->from]);
    }
    return TALLY_OK;
}

void tly_log_creation(tally_context *context, const tly_request *request, const tly_origin *origin,
                      uint64_t start, tally_status status, const tally_error *error)
{
    const tly_log *log = &context->store.log;
    const int more = tly_dump_folder() != NULL || tly_log_tells(log, TALLY_LOG_REASON);
    char word[TALLY_WORD_MAX], device[256];
    if (!more && !tly_log_tells(log, TALLY_LOG_EVENT)) {
        return;
    }
    const uint64_t taken = tly_clock() - start;
    print_word(request, word);
    print_device(request, device, sizeof device);
    tly_log_event(log, "create", device,
                  status == TALLY_OK ? sources[origin->from] : tally_status_name(status), taken,
                  word);
    if (status == TALLY_OK && more) {
        birth b = { context, request, origin, word, device };
        (void)tly_stack_call(tell_more, &b, NULL);
    } else if (more && error != NULL) {
        tly_log_say(log, TALLY_LOG_REASON, "%s: %s", word, error->message);
    }
}
