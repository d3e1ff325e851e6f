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

static tally_status run(tly_engine *e, const void *in, void *out, int32_t threads,
                        tally_error *error)
{
    const library *l = (library *)e;
    const tally_run_options with = {
        .size = sizeof with, .threads = threads, .parallel = tly_host_run, .parallel_user = l->host
    };
    return l->host ? tally_kernel_run_with(l->kernel, in, out, &with, error)
                   : tally_kernel_run_threads(l->kernel, in, out, threads, error);
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
    l->face = (tly_engine){ "library", prepare, run, close_engine };
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
