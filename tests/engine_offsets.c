/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments of one size, whose borders are offsets in memory. Some borders of scans come more than
 * once, so that there are empty segments. Other words run as they are.
 */
#include "engine.h"
#include "random.h"
#include "reference.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct cut {
    tly_engine face;
    tally_context *context;
    char device[40];
    tally_kernel *kernel;
    void *offsets; /* NULL: none */
} cut;

static void drop(cut *e)
{
    tally_kernel_destroy(&e->kernel);
    free(e->offsets);
    e->offsets = NULL;
}

/* Each border of a scan up to three times, and once of a reduction, whose result has no more
 * room. */
static tally_status find_offsets(cut *e, tally_descriptor *d, tally_error *error)
{
    tly_layout l;
    tly_layout_of(d, &l);
    const int is_scan = tally_op_is_scan((tally_op)d->op);
    const int64_t borders = is_scan ? l.length / d->every + 2 : l.results + 1;
    tly_random r = tly_random_seed((uint64_t)l.length, (uint64_t)d->every);
    int64_t count = 0;
    d->segment_dtype = tly_random_one_in(&r, 2) ? TALLY_I32 : TALLY_I64;
    e->offsets = calloc((size_t)borders * 3, sizeof(int64_t));
    if (!e->offsets) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return TALLY_OUT_OF_MEMORY;
    }
    for (int64_t i = 0; i < borders; i++) {
        const int64_t at = i * d->every < l.length ? i * d->every : l.length;
        for (int64_t times = is_scan && tly_random_one_in(&r, 4) ? 3 : 1; times > 0; times--)
            tly_bits_store((tally_dtype)d->segment_dtype, e->offsets, count++, (uint64_t)at);
    }
    d->segments = count - 1;
    d->every = 0;
    return TALLY_OK;
}

static tally_status prepare(tly_engine *face, const tally_descriptor *d, const char *plan,
                            tally_error *error)
{
    cut *e = (cut *)face;
    tally_descriptor own = *d;
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = e->device,
                                           .plan = *plan ? plan : NULL };
    tally_status status = TALLY_OK;
    drop(e);
    /* Segments that are whole rows, or of one size, have kernels of their own without offsets. */
    face->has_own_bits = d->every && d->order != TALLY_ORDER_SERIAL;
    if (d->every)
        status = find_offsets(e, &own, error);
    return status ? status : tally_kernel_create(e->context, &own, &options, &e->kernel, error);
}

static tally_status run(tly_engine *face, const tally_buffers *buffers, int32_t threads,
                        tally_error *error)
{
    const cut *e = (const cut *)face;
    const tally_run_options with = { .size = sizeof with, .threads = threads };
    tally_buffers all = *buffers;
    all.offsets = e->offsets;
    return tally_kernel_run_buffers(e->kernel, &all, &with, error);
}

static void close_engine(tly_engine *face)
{
    drop((cut *)face);
    free(face);
}

tly_engine *tly_engine_offsets(tally_context *context, const char *device, tally_error *error)
{
    cut *e = calloc(1, sizeof *e);
    if (!e) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return NULL;
    }
    e->face = (tly_engine){ "offsets", prepare, run, close_engine, 0 };
    e->context = context;
    snprintf(e->device, sizeof e->device, "%s", device);
    return &e->face;
}
