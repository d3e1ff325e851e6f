/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: no step reads or writes memory of another. */
#include "gradient_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../runtime/context/internal.h"
#include "../runtime/steps/steps.h"
#include "compare.h"

enum { SOURCES = TALLY_SOURCE_STEP + TALLY_GRADIENT_MAX };

/* `at` is the pointer that indices count from. */
typedef struct buffer {
    void *memory, *at;
    int64_t count;
    tally_dtype dtype;
} buffer;

static buffer make(tally_dtype dtype, int64_t low, int64_t count)
{
    buffer b = { NULL, NULL, count, dtype };
    const size_t bytes = tally_dtype_bytes(dtype);
    b.memory = malloc((size_t)count * bytes + 1);
    if (!b.memory)
        exit(1);
    memset(b.memory, 0xb5, (size_t)count * bytes); /* where nothing writes, the judge sees it */
    b.at = (void *)((uintptr_t)b.memory - (uintptr_t)low * bytes);
    return b;
}

static buffer make_source(const tly_gradient_source *source)
{
    buffer b = make(source->dtype, source->low, source->count);
    for (int64_t i = 0; i < source->count; i++) {
        const double v = source->memory[i];
        tly_bits_store(source->dtype, b.memory, i,
                       tly_is_float(source->dtype)
                           ? tly_encode(source->dtype, v)
                           : tly_integer_saturate(source->dtype, (long double)v));
    }
    return b;
}

/* Offsets in the dtype of a word. */
static buffer make_offsets(const tally_descriptor *d, const int64_t *offsets)
{
    buffer b = { NULL, NULL, 0, 0 };
    if (d->segment_dtype != 0) {
        b = make((tally_dtype)d->segment_dtype, 0, d->segments + 1);
        for (int64_t i = 0; i < b.count; i++)
            tly_bits_store(b.dtype, b.memory, i,
                           tly_integer_saturate(b.dtype, (long double)offsets[i]));
    }
    return b;
}

static int64_t count_results(const tally_descriptor *d)
{
    int64_t sizes[TALLY_MAX_RANK], count = 1;
    int32_t rank = 0;
    tally_descriptor_result(d, &rank, sizes, NULL, NULL);
    for (int k = 0; k < rank; k++)
        count *= sizes[k];
    return count;
}

/* Whether a word reads dtypes that its sources have. */
static int dtypes_agree(const tally_gradient_step *step, const buffer *of)
{
    const tally_descriptor *d = &step->descriptor;
    int agree = of[step->in].dtype == (tally_dtype)d->dtype;
    for (int k = 0; k < TALLY_MAX_OPERANDS; k++)
        agree &= step->operand[k] == TALLY_SOURCE_NONE ||
                 of[step->operand[k]].dtype == (tally_dtype)d->operands[k].dtype;
    return agree;
}

static int run_step(tally_context *context, const char *device, const tally_gradient_step *step,
                    const buffer *of, const int64_t *offsets, buffer *result, char *why,
                    size_t room)
{
    const tally_descriptor *d = &step->descriptor;
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_kernel *kernel = NULL;
    tly_verdict verdict;
    if (!dtypes_agree(step, of)) {
        snprintf(why, room, "a source has another dtype");
        return 1;
    }
    *result = make(tly_reference_output(d), 0, count_results(d));
    if (d->segment_dtype != 0) { /* what lies outside of all segments is not written */
        memset(result->memory, 0, (size_t)result->count * tally_dtype_bytes(result->dtype));
    }
    buffer cuts = make_offsets(d, offsets);
    options.device = device;
    buffers.in = of[step->in].at;
    buffers.out = result->at;
    buffers.offsets = cuts.memory;
    buffers.carry_in = of[step->carry_in].at;
    for (int k = 0; k < TALLY_MAX_OPERANDS; k++)
        buffers.operand[k] = of[step->operand[k]].at;
    if (tally_kernel_create(context, d, &options, &kernel, &error) == TALLY_OK)
        tally_kernel_run_buffers(kernel, &buffers, NULL, &error);
    tally_kernel_destroy(&kernel);
    free(cuts.memory);
    if (error.status != TALLY_OK) {
        snprintf(why, room, "%s: %s", error.field, error.message);
        return 1;
    }
    /* The judge knows one segment. */
    if (d->every == 0 && d->segment_dtype == 0 && d->carry == 0 &&
        tly_judge_buffers(d, buffers.in, buffers.operand, buffers.out, 0, &verdict) != 0) {
        tly_verdict_print(d, &verdict, why, room);
        return 1;
    }
    return 0;
}

int tly_gradient_run_kernels(tally_context *context, const char *device,
                             const tally_gradient_step *steps, size_t count,
                             const tly_gradient_source *sources, const int64_t *offsets,
                             double *last, char *why, size_t room)
{
    buffer of[SOURCES] = { { NULL, NULL, 0, 0 } };
    int failed = 0;
    for (int i = 0; i < TALLY_SOURCE_STEP; i++) {
        if (sources[i].memory)
            of[i] = make_source(&sources[i]);
    }
    for (size_t i = 0; i < count && !failed; i++) {
        char word[TALLY_WORD_MAX], reason[512];
        failed = run_step(context, device, &steps[i], of, offsets, &of[TALLY_SOURCE_STEP + i],
                          reason, sizeof reason);
        if (failed) {
            tally_descriptor_print(&steps[i].descriptor, word, sizeof word, NULL, NULL);
            snprintf(why, room, "%s on %s: %s", word, device, reason);
        }
    }
    const buffer *result = &of[TALLY_SOURCE_STEP + count - 1];
    for (int64_t i = 0; i < result->count && !failed; i++)
        last[i] = tly_decode(result->dtype, tly_bits_load(result->dtype, result->memory, i));
    for (int i = 0; i < SOURCES; i++)
        free(of[i].memory);
    return failed;
}

/* The dtype and the number of elements of what the last step makes. */
static int find_result(const tally_descriptor *d, tally_source wrt, tally_dtype *dtype,
                       int64_t *count, tally_error *error)
{
    static tally_gradient_step steps[TALLY_GRADIENT_MAX];
    size_t n = 0;
    steps[0].size = sizeof steps[0];
    if (tally_gradient(d, wrt, steps, TALLY_GRADIENT_MAX, &n, error) != TALLY_OK)
        return 1;
    *dtype = tly_reference_output(&steps[n - 1].descriptor);
    *count = count_results(&steps[n - 1].descriptor);
    return 0;
}

/* What is not read is not there: not even a pointer. */
static const void *pointer_of(const tally_gradient_kernel *kernel, const buffer *of, int source)
{
    return tally_gradient_kernel_reads(kernel) >> source & 1 ? of[source].at : NULL;
}

int tly_gradient_run_at_once(tally_context *context, const char *device, const tally_descriptor *d,
                             tally_source wrt, int64_t between, const tly_gradient_source *sources,
                             const int64_t *offsets, double *result, int64_t *blocks, int *gains,
                             char *why, size_t room)
{
    buffer of[TALLY_SOURCE_STEP] = { { NULL, NULL, 0, 0 } }, out = { NULL, NULL, 0, 0 };
    tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
    tally_gradient_buffers b = TALLY_GRADIENT_BUFFERS_INIT;
    tally_error error = TALLY_ERROR_INIT;
    tally_gradient_kernel *kernel = NULL;
    tally_dtype dtype = TALLY_DTYPE_NONE;
    int64_t count = 0;
    if (find_result(d, wrt, &dtype, &count, &error) == 0) {
        options.device = device;
        context->limits.between = between;
        tally_gradient_kernel_create(context, d, wrt, &options, &kernel, &error);
        context->limits.between = 0;
    }
    if (kernel) {
        for (int i = 0; i < TALLY_SOURCE_STEP; i++) {
            if (sources[i].memory)
                of[i] = make_source(&sources[i]);
        }
        of[TALLY_SOURCE_OFFSETS] = make_offsets(d, offsets);
        of[TALLY_SOURCE_OFFSETS].at = of[TALLY_SOURCE_OFFSETS].memory;
        out = make(dtype, 0, count);
        b.x = pointer_of(kernel, of, TALLY_SOURCE_X);
        b.g = pointer_of(kernel, of, TALLY_SOURCE_G);
        b.y = pointer_of(kernel, of, TALLY_SOURCE_Y);
        *gains = *gains && tally_gradient_kernel_gains(kernel) != 0;
        if (*gains)
            b.y = of[TALLY_SOURCE_Y].at;
        for (int k = 0; k < TALLY_MAX_OPERANDS; k++)
            b.operand[k] = pointer_of(kernel, of, TALLY_SOURCE_A + k);
        b.carry_in = pointer_of(kernel, of, TALLY_SOURCE_CARRY_IN);
        b.g_carry = pointer_of(kernel, of, TALLY_SOURCE_G_CARRY);
        b.offsets = pointer_of(kernel, of, TALLY_SOURCE_OFFSETS);
        b.out = out.at;
        *blocks = kernel->block_count;
        if (tally_gradient_kernel_run(kernel, &b, NULL, &error) == TALLY_OK) {
            for (int64_t i = 0; i < count; i++)
                result[i] = tly_decode(dtype, tly_bits_load(dtype, out.memory, i));
        }
        free(out.memory);
        for (int i = 0; i < TALLY_SOURCE_STEP; i++)
            free(of[i].memory);
    }
    tally_gradient_kernel_destroy(&kernel);
    if (error.status != TALLY_OK)
        snprintf(why, room, "at once: %s: %s", error.field, error.message);
    return error.status != TALLY_OK;
}
