/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wait for the helper program; see helper.h. A thread of the library's own talks to the helper,
 * as the system may hold up its start (a program on a network file system) or its end, and neither
 * has a limit of its own. A caller whose time is over leaves the thread to itself: it ends the
 * helper as soon as the system lets it, and frees all. The thread also starts the helper, which
 * ends with the thread that started it.
 */
#include "helper.h"

#include "../host/clock.h"
#include "../host/error.h"
#include "../host/thread.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The helper ends itself at its limit. GRACE later it is ended: it may have been stopped, or be
 * waiting for its turn on a busy machine. SLACK after that nobody waits any more. */
enum { GRACE_MS = 900, SLACK_MS = 100, STACK = 128 << 10 };

/* One call, of the caller and the thread: the one that sees the other gone frees it. */
typedef struct talk {
    tly_helper_call call;
    int64_t until_ms;
    tly_make_reply reply;
    void *bytes[TLY_GPU_PASSES];
    tally_error error;
    tally_status status;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t over;
    int done, left;
} talk;

void tly_helper_drop(void *bytes[TLY_GPU_PASSES])
{
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        free(bytes[i]);
        bytes[i] = NULL;
    }
}

tally_status tly_helper_late(uint32_t limit_ms, tally_error *error)
{
    return tly_fail(error, TALLY_TIMEOUT, "device", "making the kernel took more than %u ms",
                    limit_ms);
}

tally_status tly_helper_missing(const char *path, const char *why, tally_error *error)
{
    tly_fail(error, TALLY_NO_GENERATOR, "device", "%s: %s", path, why);
    tly_error_hint(error, "isolate needs " TLY_MAKER_NAME " beside libtally-codegen");
    return TALLY_NO_GENERATOR;
}

/* --- the reply -------------------------------------------------------------------------------- */

/* Whether there is what such a request asks for. */
static int is_complete(const tly_make_request *request, const tly_make_reply *reply)
{
    const uint32_t what = request->what;
    if (what == TLY_MAKE_CPU || what == TLY_MAKE_CPU_QUICK) {
        return reply->bytes[0] > 0;
    }
    if (what != TLY_MAKE_GPU) {
        return 1;
    }
    int complete = reply->gpu.passes >= 1 && reply->gpu.passes <= TLY_GPU_PASSES;
    for (uint32_t i = 0; complete && i < reply->gpu.passes; i++) {
        complete = reply->bytes[i] > 0 && reply->bytes[i] % sizeof(uint32_t) == 0;
    }
    return complete;
}

#define END(text) ((text)[sizeof(text) - 1] = 0)

tally_status tly_helper_judge(const tly_make_request *request, tly_make_reply *reply,
                              tally_error *error)
{
    tally_error *said = &reply->error;
    END(said->field);
    END(said->message);
    END(said->hint);
    END(said->word);
    END(reply->launch.template_name);
    END(reply->launch.level);
    END(reply->gpu.template_name);
    if (reply->status > TALLY_OK || reply->status < TALLY_TIMEOUT) {
        return tly_fail(error, TALLY_INTERNAL, "device",
                        TLY_MAKER_NAME " answers with status %d, which is none", reply->status);
    }
    said->status = reply->status;
    if (reply->status != TALLY_OK) {
        return tly_error_pass(error, said);
    }
    return is_complete(request, reply) ? TALLY_OK
                                       : tly_fail(error, TALLY_INTERNAL, "device",
                                                  TLY_MAKER_NAME " answers without a kernel");
}

/* --- the thread ------------------------------------------------------------------------------- */

static void free_talk(talk *t)
{
    tly_helper_drop(t->bytes);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->over);
    free(t->call.plan);
    free(t);
}

/* The helper lies beside libtally-codegen, whose path it is told. */
static tally_status find_helper(tly_helper_call *c, tally_error *error)
{
    char path[PATH_MAX];
    if (realpath(c->library, path) == NULL) {
        return tly_helper_missing(c->library, strerror(errno), error);
    }
    strcpy(c->library, path);
    strcpy(c->helper, path);
    c->request.generator_bytes = (uint32_t)strlen(path) + 1;
    char *name = strrchr(c->helper, '/') + 1;
    if ((size_t)(name - c->helper) + sizeof TLY_MAKER_NAME > PATH_MAX) {
        return tly_helper_missing(path, strerror(ENAMETOOLONG), error);
    }
    strcpy(name, TLY_MAKER_NAME);
    return TALLY_OK;
}

static void work(talk *t)
{
    t->status = find_helper(&t->call, &t->error);
    if (t->status == TALLY_OK) {
        t->status = tly_helper_talk(&t->call, t->until_ms, &t->reply, t->bytes, &t->error);
    }
    if (t->status == TALLY_OK) {
        t->status = tly_helper_judge(&t->call.request, &t->reply, &t->error);
    }
}

static void *run(void *state)
{
    talk *t = state;
    work(t);
    pthread_mutex_lock(&t->lock);
    const int left = t->left;
    t->done = 1;
    pthread_cond_signal(&t->over);
    pthread_mutex_unlock(&t->lock);
    if (left) {
        free_talk(t);
    }
    return NULL;
}

/* --- the caller ------------------------------------------------------------------------------- */

static tally_status find_library(const tly_generator *generator, char path[PATH_MAX],
                                 tally_error *error)
{
    Dl_info info;
    if (dladdr(generator, &info) == 0 || info.dli_fname == NULL ||
        strlen(info.dli_fname) >= PATH_MAX) {
        return tly_fail(error, TALLY_NO_GENERATOR, "device",
                        "where libtally-codegen lies is not known");
    }
    strcpy(path, info.dli_fname);
    return TALLY_OK;
}

tally_status tly_helper_look(const tly_generator *generator, tally_error *error)
{
    tly_helper_call c = { .plan = NULL };
    tally_status status = find_library(generator, c.library, error);
    if (status == TALLY_OK) {
        status = find_helper(&c, error);
    }
    return status == TALLY_OK && access(c.helper, X_OK) != 0
               ? tly_helper_no_start(errno, c.helper, error)
               : status;
}

static talk *new_talk(const tly_make_request *request, const char *plan, uint32_t limit_ms)
{
    talk *t = calloc(1, sizeof *t);
    char *copy = strdup(plan);
    pthread_condattr_t clock;
    if (t == NULL || copy == NULL || pthread_condattr_init(&clock) != 0) {
        free(t);
        free(copy);
        return NULL;
    }
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->over, &clock);
    pthread_condattr_destroy(&clock);
    memcpy(&t->call.request, request, sizeof *request); /* padding, too: it is sent */
    t->call.plan = copy;
    t->call.request.shape = TLY_MAKER_SHAPE;
    t->call.request.limit_ms = limit_ms;
    t->call.request.plan_bytes = (uint32_t)strlen(plan) + 1;
    t->error.size = sizeof t->error;
    t->until_ms = (int64_t)(tly_clock() / 1000000) + limit_ms + GRACE_MS;
    return t;
}

/* 0: the time is over, and all is left to the thread. */
static int wait_for(talk *t)
{
    const int64_t end = t->until_ms + SLACK_MS;
    const struct timespec until = { (time_t)(end / 1000), (long)(end % 1000) * 1000000 };
    pthread_mutex_lock(&t->lock);
    while (!t->done && pthread_cond_timedwait(&t->over, &t->lock, &until) != ETIMEDOUT) {
    }
    const int done = t->done;
    t->left = !done;
    pthread_mutex_unlock(&t->lock);
    return done;
}

/* Where there can be no thread, this one talks, and waits however long the system takes. */
static int talk_on_thread(talk *t)
{
    pthread_t thread;
    int cancel, done = 1;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (tly_thread_start(&thread, STACK, run, t) == 0) {
        pthread_detach(thread);
        done = wait_for(t);
    } else {
        work(t);
    }
    pthread_setcancelstate(cancel, NULL);
    return done;
}

tally_status tly_helper_ask(const tally_context *context, const tly_generator *generator,
                            const tly_make_request *request, const char *plan,
                            tly_make_reply *reply, void *bytes[TLY_GPU_PASSES], tally_error *error)
{
    talk *t = new_talk(request, plan, context->isolate);
    if (t == NULL) {
        return tly_out_of_memory(error, "a call of " TLY_MAKER_NAME, sizeof *t);
    }
    tally_status status = find_library(generator, t->call.library, error);
    if (status == TALLY_OK) {
        if (!talk_on_thread(t)) {
            return tly_helper_late(context->isolate, error);
        }
        status = t->status == TALLY_OK ? TALLY_OK : tly_error_pass(error, &t->error);
    }
    if (status == TALLY_OK) {
        *reply = t->reply;
        memcpy(bytes, t->bytes, sizeof t->bytes);
        memset(t->bytes, 0, sizeof t->bytes);
    }
    free_talk(t);
    return status;
}
