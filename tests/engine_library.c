/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels through the public API, as a user's program has them. */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct library {
    tly_engine face;
    tally_context *context;
    tally_kernel *kernel;
    char device[40];
    tly_host *host; /* whose threads each run has; NULL: the context's */
} library;

static tally_status prepare(tly_engine *e, const tally_descriptor *d, const char *plan,
                            tally_error *error)
{
    library *l = (library *)e;
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = l->device,
                                           .plan = *plan ? plan : NULL };
    tally_kernel_destroy(&l->kernel);
    return tally_kernel_create(l->context, d, &options, &l->kernel, error);
}

static int has_more(const tally_buffers *buffers)
{
    if (buffers->carry_in || buffers->carry_out)
        return 1;
    for (int k = 0; k < TALLY_MAX_OPERANDS; k++)
        if (buffers->operand[k])
            return 1;
    return 0;
}

static tally_status run(tly_engine *e, const tally_buffers *buffers, int32_t threads,
                        tally_error *error)
{
    const library *l = (library *)e;
    tally_run_options with = {
        .size = sizeof with, .threads = threads, .parallel = tly_host_run, .parallel_user = l->host
    };
    if (!l->host)
        with.parallel = NULL;
    if (has_more(buffers))
        return tally_kernel_run_buffers(l->kernel, buffers, &with, error);
    return l->host ? tally_kernel_run_with(l->kernel, buffers->in, buffers->out, &with, error)
                   : tally_kernel_run_threads(l->kernel, buffers->in, buffers->out, threads, error);
}

static void close_engine(tly_engine *e)
{
    tally_kernel_destroy(&((library *)e)->kernel);
    free(e);
}

tly_engine *tly_engine_library(tally_context *context, const char *device, tally_error *error)
{
    library *l = calloc(1, sizeof *l);
    if (!l) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return NULL;
    }
    l->face = (tly_engine){ "library", prepare, run, close_engine, 0 };
    l->context = context;
    snprintf(l->device, sizeof l->device, "%s", device);
    return &l->face;
}

tly_engine *tly_engine_lent(tally_context *context, const char *device, tly_host *host,
                            tally_error *error)
{
    library *l = (library *)tly_engine_library(context, device, error);
    if (l) {
        l->face.name = "library on threads lent for each run";
        l->host = host;
    }
    return l ? &l->face : NULL;
}
