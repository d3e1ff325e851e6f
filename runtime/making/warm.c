/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making many kernels at once, before they are needed: tasks on the context's threads draw
 * descriptors, and each is asked for as a creation would.
 */
#include "../context/internal.h"

#include "../context/backend.h"
#include "../cpu/cpu.h"
#include "../host/error.h"
#include "../host/thread.h"

#include <stdio.h>
#include <string.h>

typedef struct warming {
    tally_context *context;
    const char *descriptors;
    size_t count, step; /* step: bytes from one to the next */
    const tally_kernel_options *options;
    _Atomic size_t next;
    pthread_mutex_t lock;
    size_t failed; /* the first that failed, or count; guarded by lock, as is what follows */
    tally_status status;
    tally_error error;
} warming;

static void fail(warming *w, size_t index, tally_status status, const tally_error *why)
{
    pthread_mutex_lock(&w->lock);
    if (index < w->failed) {
        w->failed = index;
        w->status = status;
        w->error = *why;
    }
    pthread_mutex_unlock(&w->lock);
}

/* The arguments of tly_vulkan_store as one. */
typedef struct storing {
    tally_context *context;
    const tly_request *request;
} storing;

static tally_status store_one(void *state, tally_error *error)
{
    const storing *s = state;
    return tly_vulkan_store(s->context, s->request, error);
}

/* Of a profile there is no device that could hold on to a kernel. */
static tally_status store(tally_context *context, const tally_descriptor *descriptor,
                          const tally_kernel_options *options, tally_error *error)
{
    tly_request request;
    storing s = { context, &request };
    tally_status status = tly_request_resolve(context, descriptor, options, TLY_ASKED_RUN, &request,
                                              error);
    return status == TALLY_OK && !request.geometry.empty ? tly_stack_call(store_one, &s, error)
                                                         : status;
}

static tally_status have(tally_context *context, const tally_descriptor *descriptor,
                         const tally_kernel_options *options, tally_error *error)
{
    const int profiled = options != NULL && options->size >= sizeof *options &&
                         options->profile != NULL;
    return profiled ? store(context, descriptor, options, error)
                    : tly_kernel_warm(context, descriptor, options, error);
}

static void work(void *state, int64_t task)
{
    warming *w = state;
    (void)task;
    for (size_t i; (i = atomic_fetch_add_explicit(&w->next, 1, memory_order_relaxed)) < w->count;) {
        tally_error error = TALLY_ERROR_INIT;
        /* As a struct of the caller's size, which is judged when it is read. */
        const void *descriptor = w->descriptors + i * w->step;
        tally_status status = have(w->context, descriptor, w->options, &error);
        if (status != TALLY_OK) {
            fail(w, i, status, &error);
        }
    }
}

/* Making a kernel wants a CPU for itself, whatever number of threads a run would take. */
static int64_t tasks_for(const tally_context *context, size_t count)
{
    int64_t tasks = tally_context_threads(context);
    int64_t cpus = context->limits.cpus > 0 ? context->limits.cpus : context->limits.host_cpus;
    tasks = tasks < cpus ? tasks : cpus;
    return (size_t)tasks < count ? tasks : (int64_t)count;
}

static tally_status warm(warming *w, tally_error *error)
{
    tally_context *context = w->context;
    int64_t tasks = tasks_for(context, w->count);
    pthread_mutex_init(&w->lock, NULL);
    if (tasks > 1 && context->parallel != NULL) {
        context->parallel(context->parallel_user, tasks, work, w);
    } else if (tasks > 1) {
        tly_pool_run(&context->pool, tasks, work, w);
    }
    work(w, 0);
    pthread_mutex_destroy(&w->lock);
    if (w->status != TALLY_OK) {
        char where[24];
        snprintf(where, sizeof where, "%zu", w->failed);
        tly_error_pass(error, &w->error);
        tly_error_where(error, where);
    }
    return w->status;
}

tally_status tally_context_warm(tally_context *context, const tally_descriptor *descriptors,
                                size_t count, const tally_kernel_options *options,
                                tally_error *error)
{
    if (context == NULL || (descriptors == NULL && count > 0)) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "the context or the place of the descriptors is NULL");
    }
    if (count == 0) {
        return TALLY_OK;
    }
    tally_descriptor first;
    tally_status status = tly_struct_take(&first, sizeof first, descriptors, "tally_descriptor",
                                          error);
    if (status != TALLY_OK) {
        return status;
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    warming w = { .context = context,
                  .descriptors = (const char *)descriptors,
                  .count = count,
                  .step = first.size,
                  .options = options,
                  .failed = count };
    status = warm(&w, error);
    tly_fork_leave();
    return status;
}
