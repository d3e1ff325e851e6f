/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engines below the public API: they take the prepared launch out of a kernel handle and call
 * its entry themselves, as native code, through the interpreter or under an emulator. Launches
 * claim to be beyond the cache in every other run out of place, which must change no bit.
 */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../codegen/kir/kir.h"
#include "fused.h"
#include "remote.h"
#include "tasks.h"

typedef struct entry {
    tly_engine face;
    tally_context *context;
    tally_kernel *kernel;
    tally_descriptor d;
    char device[40];
    tly_call call;
    char *scratch; /* of the kernel */
    int runs;
    kir_kernel *ir; /* interpret */
    char *text;
    size_t text_bytes, text_room;
    remote *remote;                          /* remote */
    remote_region regions[TLY_TENSOR_COUNT]; /* ... the tensors of the current run */
} entry;

/* ---- kernels ---- */

static int append(void *user, const char *bytes, size_t count)
{
    entry *e = user;
    if (count > e->text_room - e->text_bytes) {
        size_t room = 2 * (e->text_room + count);
        char *text = realloc(e->text, room);
        if (!text)
            return 1;
        e->text = text;
        e->text_room = room;
    }
    memcpy(e->text + e->text_bytes, bytes, count);
    e->text_bytes += count;
    return 0;
}

static tally_status read_ir(entry *e, const tally_descriptor *d,
                            const tally_kernel_options *options, tally_error *error)
{
    kir_free(e->ir);
    e->ir = NULL;
    e->text_bytes = 0;
    tally_status status = tally_inspect(e->context, d, options, TALLY_STAGE_KIR, append, e, error);
    return status ? status : kir_parse(e->text, e->text_bytes, &e->ir, error);
}

static tally_status call_native(void *user, const tly_args *args, const tly_task *task,
                                int64_t *result, tally_error *error)
{
    (void)error;
    *result = ((entry *)user)->kernel->entry(args, task);
    return TALLY_OK;
}

static tally_status call_interpreter(void *user, const tly_args *args, const tly_task *task,
                                     int64_t *result, tally_error *error)
{
    return kir_interpret(((entry *)user)->ir, args, task, NULL, result, error);
}

static tally_status call_remote(void *user, const tly_args *args, const tly_task *task,
                                int64_t *result, tally_error *error)
{
    entry *e = user;
    const tly_code *code = &e->kernel->object->code;
    const int reduces = tly_reduces(e->kernel->form);
    const size_t record = (size_t)e->kernel->record_bytes;
    const size_t before = reduces ? (size_t)e->kernel->tiles * record : TLY_CARRY_BYTES;
    const size_t after = reduces ? (size_t)(task->end - task->begin) * record : TLY_TOTAL_BYTES;
    const remote_region records[] = {
        { task->scratch, e->kernel->scratch_bytes },
        { (void *)(uintptr_t)task->carry_in, task->carry_in ? before : 0 },
        { task->carry_out, task->carry_out ? after : 0 },
        { (void *)(uintptr_t)task->total, task->total ? TLY_TOTAL_BYTES : 0 }
    };
    enum { RECORDS = sizeof records / sizeof records[0] };
    remote_region used[TLY_TENSOR_COUNT + RECORDS];
    unsigned char *blob;
    size_t count = 0;
    uint64_t fault = 0;

    for (int t = 0; t < TLY_TENSOR_COUNT; t++)
        if (e->regions[t].bytes &&
            (t != TLY_OUT || e->regions[TLY_OUT].data != e->regions[TLY_IN].data))
            used[count++] = e->regions[t];
    for (size_t k = 0; k < RECORDS; k++)
        if (records[k].bytes)
            used[count++] = records[k];
    memcpy(&blob, &code->entry, sizeof blob);
    int status = remote_run(e->remote, blob, code->bytes, args, task, 1, used, count, result,
                            &fault);
    if (status == REMOTE_OK)
        return TALLY_OK;
    snprintf(error->field, sizeof error->field, "remote");
    snprintf(error->message, sizeof error->message, "%s, address 0x%llx",
             status == REMOTE_FAULT ? "a touch beyond the tensors, or no end"
                                    : "the runner is lost or refuses",
             (unsigned long long)fault);
    return TALLY_INTERNAL;
}

static tally_status prepare(tly_engine *face, const tally_descriptor *d, const char *plan,
                            tally_error *error)
{
    entry *e = (entry *)face;
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = e->device,
                                           .plan = *plan ? plan : NULL };
    tally_kernel_destroy(&e->kernel);
    free(e->scratch);
    e->scratch = NULL;
    e->d = *d;
    e->runs = 0;
    tally_status status = tally_kernel_create(e->context, d, &options, &e->kernel, error);
    if (status || e->kernel->empty)
        return status;
    if (e->call == call_native && !e->kernel->plain) {
        snprintf(error->field, sizeof error->field, "device");
        snprintf(error->message, sizeof error->message, "this machine lacks %s", e->device);
        return TALLY_UNSUPPORTED;
    }
    if (e->call == call_interpreter && (status = read_ir(e, d, &options, error)) != TALLY_OK)
        return status;
    e->scratch = aligned_alloc(64, (e->kernel->scratch_bytes + 127) / 64 * 64);
    return e->scratch ? TALLY_OK : TALLY_OUT_OF_MEMORY;
}

/* ---- runs ---- */

static remote_region region(const void *pointer, int64_t low, int64_t high, size_t element)
{
    return (remote_region){ (void *)((uintptr_t)pointer + (uintptr_t)low * element),
                            (size_t)(high - low + 1) * element };
}

/* Where each tensor lies of which the kernel may touch something. */
static void find_regions(entry *e, const tally_buffers *buffers)
{
    tly_layout l;
    tly_layout_of(&e->d, &l);
    memset(e->regions, 0, sizeof e->regions);
    e->regions[TLY_IN] = region(buffers->in, l.in_low, l.in_high,
                                tally_dtype_bytes((tally_dtype)e->d.dtype));
    e->regions[TLY_OUT] = region(buffers->out, l.out_low, l.out_high,
                                 tally_dtype_bytes(tly_reference_output(&e->d)));
    for (int k = 0; k < TALLY_MAX_OPERANDS && e->d.operands[k].dtype; k++) {
        tly_fused_place place;
        tly_fused_place_of(&e->d, k, &place);
        e->regions[TLY_FIRST_OPERAND + k] = region(buffers->operand[k], place.low, place.high,
                                                   tally_dtype_bytes(place.dtype));
    }
}

static tally_status run(tly_engine *face, const tally_buffers *buffers, int32_t threads,
                        tally_error *error)
{
    entry *e = (entry *)face;
    const tally_kernel *k = e->kernel;
    const void *const at[TLY_TENSOR_COUNT] = {
#define AT(T, t, member, is_written, home, meaning) [TLY_##T] = buffers->member,
        TLY_TENSORS(AT)
#undef AT
    };
    static const int64_t flags[3] = { 0, TLY_LAUNCH_STREAM, TLY_LAUNCH_PREFETCHW };
    tly_args args;

    if (k->empty)
        return TALLY_OK;
    find_regions(e, buffers);
    args = k->args;
    for (int t = 0; t < k->rules.tensors; t++)
        args.tensor[t].base = (char *)((uintptr_t)at[t] + (uintptr_t)k->first[t]);
    args.flags = buffers->in != buffers->out ? flags[e->runs++ % 3] : 0;
    memset(e->scratch, 0xee, k->scratch_bytes); /* nothing may be expected there */
    return tly_tasks_run(k, &args, e->scratch, threads, e->call, e, error);
}

static void close_engine(tly_engine *face)
{
    entry *e = (entry *)face;
    tally_kernel_destroy(&e->kernel);
    remote_close(e->remote);
    kir_free(e->ir);
    free(e->text);
    free(e->scratch);
    free(e);
}

static tly_engine *open_engine(tally_context *context, const char *device, const char *name,
                               tly_call call, tally_error *error)
{
    entry *e = calloc(1, sizeof *e);
    if (!e) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return NULL;
    }
    e->face = (tly_engine){ name, prepare, run, close_engine, 0 };
    e->context = context;
    e->call = call;
    snprintf(e->device, sizeof e->device, "%s", device);
    return &e->face;
}

tly_engine *tly_engine_native(tally_context *context, const char *device, tally_error *error)
{
    return open_engine(context, device, "native", call_native, error);
}

tly_engine *tly_engine_interpret(tally_context *context, const char *device, tally_error *error)
{
    return open_engine(context, device, "interpret", call_interpreter, error);
}

tly_engine *tly_engine_remote(tally_context *context, const char *device, tally_error *error)
{
    entry *e = (entry *)open_engine(context, device, "remote", call_remote, error);
    if (!e)
        return NULL;
    e->remote = remote_open_level(device + strlen("cpu:"));
    if (!e->remote) {
        snprintf(error->message, sizeof error->message,
                 "no runner: TALLY_TEST_AARCH64 or its like must name it, and qemu-user be there");
        close_engine(&e->face);
        return NULL;
    }
    return &e->face;
}
