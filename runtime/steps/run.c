/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a gradient's kernels: all steps on one block, then all of them on the next. Threads
 * take blocks from a counter, and each has memory of its own for what is between the steps.
 */
#include "steps.h"

#include "../context/internal.h"
#include "../host/error.h"
#include "../host/huge_pages.h"
#include "../run/run.h"

#include <stdlib.h>
#include <string.h>

typedef struct gradient_run {
    const tally_gradient_kernel *k;
    char *at[TLY_GRADIENT_TENSORS];
    tally_run_options with; /* of each step */
    atomic_flag failed;     /* whose task fills `error` */
    tally_error error;
    alignas(64) _Atomic int64_t next; /* block */
} gradient_run;

/* ---- the pointers ---- */

static const char *name_of(int t)
{
    return t == TLY_GRADIENT_OUT ? "out" : tally_source_name((tally_source)t);
}

static tally_status take(const tally_gradient_buffers *buffers, char **at, tally_error *error)
{
    tally_gradient_buffers b;
    if (buffers == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the buffers are NULL");
    }
    tally_status status = tly_struct_take(&b, sizeof b, buffers, "tally_gradient_buffers", error);
    if (status != TALLY_OK) {
        return status;
    }
    const void *const all[TLY_GRADIENT_TENSORS] = { b.out,        b.x,          b.g,
                                                    b.y,          b.operand[0], b.operand[1],
                                                    b.operand[2], b.operand[3], b.carry_in,
                                                    b.g_carry,    b.offsets,    NULL };
    for (int t = 0; t < TLY_GRADIENT_TENSORS; t++) {
        at[t] = (char *)(uintptr_t)all[t];
    }
    return TALLY_OK;
}

static int overlap(const tally_gradient_kernel *k, char *const *at, int t)
{
    const tally_extent *e = &k->tensor[t].extent, *out = &k->tensor[TLY_GRADIENT_OUT].extent;
    const uintptr_t from = (uintptr_t)at[t], to = (uintptr_t)at[TLY_GRADIENT_OUT];
    return e->low < e->end && out->low < out->end &&
           from + (uintptr_t)e->low < to + (uintptr_t)out->end &&
           to + (uintptr_t)out->low < from + (uintptr_t)e->end;
}

static tally_status check_pointers(const tally_gradient_kernel *k, char *const *at,
                                   tally_error *error)
{
    for (int t = 0; t < TLY_GRADIENT_TENSORS; t++) {
        const tly_gradient_tensor *tensor = &k->tensor[t];
        if (tensor->is_needed && at[t] == NULL) {
            return tly_fail(error, TALLY_INVALID, name_of(t),
                            "%s is NULL, and the tensor is not empty", name_of(t));
        }
        if (tensor->align != 0 && (uintptr_t)at[t] % (uintptr_t)tensor->align != 0) {
            return tly_fail(error, TALLY_INVALID, name_of(t),
                            "%s is not aligned to its elements of %d bytes", name_of(t),
                            (int)tensor->align);
        }
        if (t != TLY_GRADIENT_OUT && tensor->align != 0 && at[t] != NULL && overlap(k, at, t)) {
            tly_fail(error, TALLY_INVALID, "out", "the regions of %s and the result overlap",
                     name_of(t));
            tly_error_hint(error, "pass tensors that do not overlap");
            return TALLY_INVALID;
        }
    }
    return TALLY_OK;
}

/* Offsets are checked before a step runs. */
static tally_status check_offsets(const tally_gradient_kernel *k, char *const *at,
                                  tally_error *error)
{
    tly_pointers p = { { NULL } };
    const tly_rules *rules = NULL;
    for (size_t i = 0; i < k->count; i++) {
        const tly_step *step = &k->step[i];
        rules = step->source[TLY_STEP_OFFSETS] != TALLY_SOURCE_NONE ? &step->kernel->rules : rules;
    }
    if (rules == NULL || !rules->offsets || at[TALLY_SOURCE_OFFSETS] == NULL) {
        return TALLY_OK;
    }
    p.at[tly_offsets_number(rules)] = at[TALLY_SOURCE_OFFSETS];
    return tly_offsets_fault(rules, &p) < 0 ? TALLY_OK : tly_refuse_offsets(rules, &p, error);
}

/* Without rules, which kernels of no elements have not: of no segments the result is all zeros. */
static int64_t offset_at(const tly_step *step, const char *offsets, int64_t i)
{
    int64_t wide;
    int32_t narrow;
    if (step->segment_dtype == TALLY_I64) {
        memcpy(&wide, offsets + 8 * i, sizeof wide);
        return wide;
    }
    memcpy(&narrow, offsets + 4 * i, sizeof narrow);
    return narrow;
}

/* Whether a step writes less than its result: a scan in segments that do not cover the axis. */
static int leaves_gaps(const tly_step *step, const char *offsets)
{
    return step->segment_dtype != 0 && offsets != NULL &&
           (offset_at(step, offsets, 0) != 0 ||
            offset_at(step, offsets, step->segments) != step->size);
}

/* In the place of a gradient of states that is not there, where a step computes with it. */
static tally_status put_zeros(const tally_gradient_kernel *k, char **at, char **zeros,
                              tally_error *error)
{
    const int64_t bytes = k->tensor[TALLY_SOURCE_G_CARRY].extent.end;
    if (!k->computes_with_g_carry || at[TALLY_SOURCE_G_CARRY] != NULL || bytes == 0) {
        return TALLY_OK;
    }
    *zeros = calloc(1, (size_t)bytes);
    at[TALLY_SOURCE_G_CARRY] = *zeros;
    return *zeros != NULL ? TALLY_OK
                          : tly_out_of_memory(error, "a gradient of states", (size_t)bytes);
}

/* ---- memory between steps ---- */

/* So much the context keeps for all runs; of more the kernel itself keeps that of one run. */
enum { MOST_SHARED = 4 << 20, PAGE = 2 << 20 };

typedef struct memory {
    tly_block *block; /* NULL: of the kernel's own */
    char *at;
} memory;

static char *allocate(size_t bytes)
{
    const size_t pages = (bytes - 1) / PAGE + 1;
    char *at = pages <= SIZE_MAX / PAGE ? aligned_alloc(PAGE, pages * PAGE) : NULL;
    if (at != NULL) {
        tly_huge_pages(at, bytes);
    }
    return at;
}

/* What is kept is no part of what the caller sees as the kernel. */
static _Atomic(char *) *kept_of(const tally_gradient_kernel *k)
{
    return &((tally_gradient_kernel *)(uintptr_t)k)->kept;
}

static int memory_take(const tally_gradient_kernel *k, memory *m)
{
    *m = (memory){ NULL, NULL };
    if (k->between <= MOST_SHARED) {
        m->block = tly_scratch_take(&k->context->spare, k->between);
        m->at = m->block != NULL ? tly_scratch_of(m->block) : NULL;
    } else {
        m->at = atomic_exchange_explicit(kept_of(k), NULL, memory_order_acquire);
        m->at = m->at != NULL ? m->at : allocate(k->between);
    }
    return m->at != NULL;
}

static void memory_give(const tally_gradient_kernel *k, const memory *m)
{
    if (m->block != NULL) {
        tly_scratch_give(&k->context->spare, m->block);
    } else if (m->at != NULL) {
        free(atomic_exchange_explicit(kept_of(k), m->at, memory_order_acq_rel));
    }
}

/* ---- a block ---- */

typedef struct place {
    int64_t begin[TALLY_MAX_RANK]; /* first indices */
    int is_last;                   /* smaller than other blocks */
} place;

static place place_of(const tly_blocks *blocks, int64_t number)
{
    place p = { .is_last = 0 };
    for (int32_t d = blocks->rank - 1; d >= 0; d--) {
        const int64_t size = blocks->size[d] > 0 ? blocks->size[d] : 1;
        const int64_t count = blocks->sizes[d] > 0 ? (blocks->sizes[d] - 1) / size + 1 : 1;
        p.begin[d] = number % count * size;
        p.is_last |= p.begin[d] + blocks->size[d] > blocks->sizes[d];
        number /= count;
    }
    return p;
}

static char *moved(char *from, int64_t skip, const int64_t *move, const place *p, int32_t rank)
{
    int64_t bytes = skip;
    for (int32_t d = 0; d < rank; d++) {
        bytes += p->begin[d] * move[d];
    }
    return from != NULL ? from + bytes : NULL;
}

static char *tensor_of(const gradient_run *run, const tly_step *step, int tensor, const place *p,
                       char *between)
{
    const int32_t source = step->source[tensor];
    if (source == TALLY_SOURCE_NONE) {
        return NULL;
    }
    return source >= TALLY_SOURCE_STEP ? between + run->k->step[source - TALLY_SOURCE_STEP].at
                                       : moved(run->at[source], step->skip[tensor],
                                               step->move[tensor], p, run->k->blocks.rank);
}

static tally_status run_step(const gradient_run *run, size_t i, const place *p, char *between,
                             const tally_run_options *with, tally_error *error)
{
    const tally_gradient_kernel *k = run->k;
    const tly_step *step = &k->step[i];
    tally_buffers b = TALLY_BUFFERS_INIT;
    b.in = tensor_of(run, step, TLY_STEP_IN, p, between);
    for (int o = 0; o < TALLY_MAX_OPERANDS; o++) {
        b.operand[o] = tensor_of(run, step, TLY_STEP_A + o, p, between);
    }
    b.offsets = tensor_of(run, step, TLY_STEP_OFFSETS, p, between);
    b.carry_in = tensor_of(run, step, TLY_STEP_CARRY, p, between);
    b.out = between + step->at;
    if (step->is_out) {
        b.carry_out = step->bytes > 0 ? b.out : NULL;
        b.out = moved(run->at[TLY_GRADIENT_OUT], step->skip_out, k->move, p, k->blocks.rank);
    } else if (leaves_gaps(step, run->at[TALLY_SOURCE_OFFSETS])) {
        memset(b.out, 0, step->bytes);
    }
    return tally_kernel_run_buffers(p->is_last ? step->last : step->kernel, &b, with, error);
}

static tally_status run_block(gradient_run *run, int64_t number, char *between, tally_error *error)
{
    const place p = place_of(&run->k->blocks, number);
    tally_status status = TALLY_OK;
    for (size_t i = 0; i < run->k->count && status == TALLY_OK; i++) {
        status = run_step(run, i, &p, between, &run->with, error);
    }
    return status;
}

static void do_blocks(void *state, int64_t index)
{
    gradient_run *run = state;
    const tally_gradient_kernel *k = run->k;
    tally_error error = TALLY_ERROR_INIT;
    tally_status status = TALLY_OK;
    memory m;
    (void)index; /* a task is like any other */
    if (!memory_take(k, &m)) {
        status = tly_out_of_memory(&error, "what is between the steps of a gradient", k->between);
    }
    while (status == TALLY_OK) {
        const int64_t number = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
        if (number >= k->block_count) {
            break;
        }
        status = run_block(run, number, m.at, &error);
    }
    memory_give(k, &m);
    if (status != TALLY_OK && !atomic_flag_test_and_set(&run->failed)) {
        run->error = error;
    }
}

/* ---- a run ---- */

/* One block: threads are for each step. Of several, each step has one. */
static tally_status run_blocks(gradient_run *run, const tally_run_options *options)
{
    const tally_gradient_kernel *k = run->k;
    const int64_t threads = k->block_count > 1
                                ? tly_threads_for(k->context, options, k->block_count)
                                : 1;
    if (k->block_count > 1) {
        run->with = (tally_run_options)TALLY_RUN_OPTIONS_INIT;
        run->with.threads = 1;
    }
    if (threads > 1 && tly_fork_enter()) {
        tly_spread(k->context, options, threads, do_blocks, run);
        tly_fork_leave();
    }
    do_blocks(run, 0); /* those that are left */
    if (k->block_count > 1 && options->threads_used != NULL) {
        *options->threads_used = (int32_t)threads;
    }
    return run->error.status;
}

tally_status tally_gradient_kernel_run(const tally_gradient_kernel *kernel,
                                       const tally_gradient_buffers *buffers,
                                       const tally_run_options *options, tally_error *error)
{
    gradient_run run = { .failed = ATOMIC_FLAG_INIT, .error = TALLY_ERROR_INIT };
    tally_run_options with = TALLY_RUN_OPTIONS_INIT;
    char *zeros = NULL;
    if (kernel == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the kernel is NULL");
    }
    tally_status status = take(buffers, run.at, error);
    if (status == TALLY_OK && kernel->from_result != NULL && run.at[TALLY_SOURCE_Y] != NULL) {
        kernel = kernel->from_result;
    }
    run.k = kernel;
    run.at[TLY_GRADIENT_IDENTITY] = (char *)(uintptr_t)kernel->identity;
    if (status == TALLY_OK && options != NULL) {
        status = tly_struct_take(&with, sizeof with, options, "tally_run_options", error);
    }
    if (status == TALLY_OK) {
        status = tly_run_options_check(&with, error);
    }
    if (status == TALLY_OK) {
        status = check_pointers(kernel, run.at, error);
    }
    if (status == TALLY_OK) {
        status = check_offsets(kernel, run.at, error);
    }
    if (status == TALLY_OK) {
        status = put_zeros(kernel, run.at, &zeros, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    /* Outside of all segments gradients are 0. */
    const tally_extent *out = &kernel->tensor[TLY_GRADIENT_OUT].extent;
    if (leaves_gaps(&kernel->step[kernel->count - 1], run.at[TALLY_SOURCE_OFFSETS])) {
        memset(run.at[TLY_GRADIENT_OUT] + out->low, 0, (size_t)(out->end - out->low));
    }
    run.with = with;
    status = run_blocks(&run, &with) == TALLY_OK ? TALLY_OK : tly_error_pass(error, &run.error);
    free(zeros);
    return status;
}
