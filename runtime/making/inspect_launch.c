/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last stage of inspection shows the problem as its kernel sees it, its sizes, and how a launch
 * cuts it into tasks. The generator knows the kernel alone, so this file asks the functions that
 * launches use.
 */
#include "inspect_launch.h"

#include "../cpu/cpu.h"
#include "../host/error.h"
#include "../launch/dispatches.h"
#include "../launch/prepared.h"
#include "isolate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Lines on their way to who asked. */
typedef struct lines {
    tally_write write;
    void *user;
    int failed;
} lines;

static void line(lines *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line(lines *to, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    to->failed = to->failed || length >= (int)sizeof text ||
                 to->write(to->user, text, (size_t)length) != 0;
}

static void number(lines *to, const char *key, int64_t value)
{
    line(to, "%s = %" PRId64 "\n", key, value);
}

static void numbers(lines *to, const char *key, const int64_t *value, int32_t count)
{
    char text[256] = "";
    size_t length = 0;
    for (int32_t i = 0; i < count; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, " %" PRId64, value[i]);
    }
    line(to, "%s =%s\n", key, text);
}

static void write_dims(lines *to, const char *name, const tly_dim *dims, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        const int64_t dim[] = { dims[i].size, dims[i].stride[TLY_IN], dims[i].stride[TLY_OUT] };
        numbers(to, name, dim, 3);
    }
}

static void write_geometry(lines *to, const tly_problem *p, const tly_geometry *g)
{
    static const char *const forms[] = { [TLY_ROWS] = "rows",
                                         [TLY_COLUMNS] = "columns",
                                         [TLY_TRANSPOSED] = "transposed",
                                         [TLY_REDUCED_ROWS] = "reduced_rows",
                                         [TLY_REDUCED_LANES] = "reduced_lanes" };
    line(to, "form = %s\n", forms[p->form]);
    line(to, "accumulator = %s\n", tally_dtype_name((tally_dtype)p->acc));
    number(to, "unit", p->interleave);
    number(to, "empty", g->empty);
    number(to, "rows", g->rows);
    number(to, "length", g->length);
    number(to, "inner", g->inner);
    number(to, "steps", g->steps);
    numbers(to, "axis_strides",
            (const int64_t[]){ g->tensor[TLY_IN].axis, g->tensor[TLY_OUT].axis }, 2);
    numbers(to, "lane_strides",
            (const int64_t[]){ g->tensor[TLY_IN].lane, g->tensor[TLY_OUT].lane }, 2);
    write_dims(to, "outer", g->outer, g->outer_rank);
    write_dims(to, "reduced", g->reduced, g->reduced_rank);
}

/* A record that arrives in pieces. */
typedef struct filling {
    char *at;
    size_t left;
} filling;

static int fill(void *user, const char *bytes, size_t count)
{
    filling *f = user;
    if (count > f->left) {
        return 1;
    }
    memcpy(f->at, bytes, count);
    f->at += count;
    f->left -= count;
    return 0;
}

tally_status tly_launch_record(const tally_context *context, const tly_generator *generator,
                               const tly_request *request, const tly_gpu_plan *gpu, void *record,
                               size_t bytes, tally_error *error)
{
    filling to = { record, bytes };
    tally_status status = tly_make_show(context, generator, request, gpu, TALLY_STAGE_LAUNCH, fill,
                                        &to, error);
    if (status == TALLY_OK && to.left != 0) {
        status = tly_fail(error, TALLY_INTERNAL, "device", "the launch record is not whole");
    }
    return status;
}

static tally_status write_cpu(const tally_context *context, const tly_generator *generator,
                              const tly_request *request, lines *to, tally_error *error)
{
    const tly_problem *p = &request->problem;
    tly_launch l;
    tally_status status = tly_launch_record(context, generator, request, NULL, &l, sizeof l, error);
    if (status != TALLY_OK) {
        return status;
    }
    tly_prepared r = { .tiles = 0 };
    tly_prepared_make(&r, p, &request->geometry, &l, context->limits.scratch_bytes,
                      tly_stream_bytes());
    number(to, "chunk", tly_reduces(p->form) ? r.args.chunk_length : l.chunk);
    number(to, "chunk_steps", tly_reduces(p->form) ? r.args.chunk_steps : 0);
    number(to, "chunks", r.args.chunks);
    number(to, "tile_lanes", l.tile_lanes);
    number(to, "blocks", r.args.blocks);
    number(to, "tiles", r.tiles);
    number(to, "scratch_bytes", l.scratch_bytes);
    number(to, "scratch_lane_bytes", l.scratch_lane_bytes);
    number(to, "record_bytes", l.record_bytes);
    return TALLY_OK;
}

static void write_dispatches(lines *to, const tly_gpu_launch *l, const tly_gpu_steps *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const tly_gpu_step *step = &s->step[i];
        const int64_t numbers_of[] = { step->pass, step->x, step->y, l->pass[step->pass].workgroup,
                                       step->barrier };
        numbers(to, "dispatch", numbers_of, 5);
    }
}

static tally_status write_gpu(const tally_context *context, const tly_generator *generator,
                              const tly_request *request, const tly_gpu_plan *plan, lines *to,
                              tally_error *error)
{
    const tly_geometry *g = &request->geometry;
    tly_gpu_launch l;
    tly_gpu_steps s = { .count = 0 };
    tally_status status = tly_launch_record(context, generator, request, plan, &l, sizeof l, error);
    if (status == TALLY_OK && !g->empty) {
        status = tly_gpu_steps_make(&request->problem, g, plan, &l, &request->caps, &s, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    int64_t chunk = l.chunk, chunks = s.count > 0 ? s.step[0].push.chunks : 1;
    if (s.has_block) {
        chunk = s.block.chunk_length;
        number(to, "chunk_steps", s.block.chunk_steps);
    }
    number(to, "chunk", chunk);
    number(to, "chunks", chunks > 0 ? chunks : 1);
    number(to, "together", l.lanes);
    number(to, "subgroup", request->caps.subgroup);
    number(to, "passes", l.passes);
    number(to, "positions", l.positions);
    number(to, "scratch_bytes", (int64_t)s.scratch_bytes);
    write_dispatches(to, &l, &s);
    tly_gpu_steps_free(&s);
    return TALLY_OK;
}

tally_status tly_inspect_launch(const tally_context *context, const tly_generator *generator,
                                const tly_request *request, const tly_gpu_plan *gpu,
                                tally_write write, void *user, tally_error *error)
{
    lines to = { write, user, 0 };
    write_geometry(&to, &request->problem, &request->geometry);
    tally_status status = gpu == NULL ? write_cpu(context, generator, request, &to, error)
                                      : write_gpu(context, generator, request, gpu, &to, error);
    return status == TALLY_OK && to.failed
               ? tly_fail(error, TALLY_IO, "file", "the text could not be written")
               : status;
}
