/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: no step reads or writes memory of another. */
#include "gradient_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
