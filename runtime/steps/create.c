/* SPDX-License-Identifier: Apache-2.0 */
/* tally_gradient_kernel: the kernels of all steps, and where the caller's tensors lie. */
#include "steps.h"

#include "../context/internal.h"
#include "../cpu/cpu.h"
#include "../descriptor/carry.h"
#include "../descriptor/descriptor.h"
#include "../host/checked.h"
#include "../host/error.h"

#include <stdlib.h>
#include <string.h>

/* Results in between take so much of a core's second cache, which the other tensors of a block
 * share with them. Of little there are many small blocks, for threads. The gradient of cumprod, f32
 * of 4096x4096 by 64, 128, 256, 512 KiB, 1 and 2 MiB: 7.9, 7.6, 7.3, 7.2, 7.1, 7.0 ms, and step by
 * step 8.4 (Zen 5, 1 MiB of L2). */
enum { MOST_BETWEEN = 1 << 19, LEAST_BETWEEN = 1 << 16, PARTS = 64, LEAST_PARTS = 8 };

/* ---- the steps ---- */

static tly_step_facts *facts_of(const tally_descriptor *descriptor, tally_source wrt, size_t *count,
                                tally_error *error)
{
    if (tally_gradient(descriptor, wrt, NULL, 0, count, error) != TALLY_OK) {
        return NULL;
    }
    tally_gradient_step *steps = calloc(*count, sizeof *steps);
    tly_step_facts *facts = calloc(*count, sizeof *facts);
    if (steps == NULL || facts == NULL) {
        (void)tly_out_of_memory(error, "the steps of a gradient", *count * sizeof *facts);
        free(steps);
        free(facts);
        return NULL;
    }
    steps[0].size = sizeof *steps;
    tally_status status = tally_gradient(descriptor, wrt, steps, *count, count, error);
    for (size_t i = 0; i < *count && status == TALLY_OK; i++) {
        const tally_gradient_step *s = &steps[i];
        tly_step_facts *f = &facts[i];
        f->given = s->descriptor;
        f->source[TLY_STEP_IN] = s->in;
        memcpy(&f->source[TLY_STEP_A], s->operand, sizeof s->operand);
        f->source[TLY_STEP_OFFSETS] = s->descriptor.segment_dtype != 0 ? TALLY_SOURCE_OFFSETS
                                                                       : TALLY_SOURCE_NONE;
        f->source[TLY_STEP_CARRY] = s->carry_in;
        f->is_out = i + 1 == *count;
        status = tly_descriptor_resolve(&s->descriptor, &f->full, error);
    }
    free(steps);
    if (status != TALLY_OK) {
        free(facts);
        return NULL;
    }
    return facts;
}

static int has_open_size(const tly_step_facts *facts, size_t count)
{
    int is_open = 0;
    for (size_t i = 0; i < count; i++) {
        is_open |= tly_has_open_size(&facts[i].full) || facts[i].full.segments == TALLY_OPEN_SIZE;
    }
    return is_open;
}

/* ---- the caller's tensors ---- */

static int32_t dtype_of(const tally_descriptor *full, int tensor)
{
    switch (tensor) {
    case TLY_STEP_IN:
        return full->dtype;
    case TLY_STEP_OFFSETS:
        return full->segment_dtype;
    case TLY_STEP_CARRY:
        return (int32_t)tly_carry_dtype(full);
    default:
        return full->operands[tensor - TLY_STEP_A].dtype;
    }
}

/* In elements: the lowest, and one beyond the highest. */
static tally_extent elements_of(const tly_step_facts *step, int tensor)
{
    const tally_descriptor *full = &step->full;
    const int is_operand = tensor >= TLY_STEP_A && tensor < TLY_STEP_OFFSETS;
    int64_t strides[TALLY_MAX_RANK], sizes[TALLY_MAX_RANK], low, high;
    int64_t states = tly_carry_parts(full);
    if (tensor == TLY_STEP_OFFSETS) {
        return (tally_extent){ 0, full->segments + 1 };
    }
    if (tensor == TLY_STEP_CARRY) {
        tly_carry_sizes(full, sizes);
        for (int32_t d = 0; d < full->rank; d++) {
            states *= sizes[d];
        }
        return (tally_extent){ 0, states };
    }
    for (int32_t d = 0; d < full->rank; d++) {
        if (full->sizes[d] == 0) {
            return (tally_extent){ 0, 0 };
        }
    }
    tly_step_strides(step, tensor, strides);
    tly_extent(full->rank, full->sizes, strides,
               is_operand ? full->operands[tensor - TLY_STEP_A].offset : full->in_offset, &low,
               &high);
    return (tally_extent){ low, high + 1 };
}

static void add_tensor(tally_gradient_kernel *k, const tly_step_facts *facts, const tly_step *step,
                       int tensor)
{
    const int64_t bytes = tly_dtypes[dtype_of(&facts->full, tensor)].bytes;
    const int32_t source = step->source[tensor];
    tally_extent e = elements_of(facts, tensor);
    tly_gradient_tensor *t = &k->tensor[source];
    e = (tally_extent){ e.low * bytes + step->skip[tensor], e.end * bytes + step->skip[tensor] };
    if (t->align != 0) {
        e.low = tly_smaller(e.low, t->extent.low);
        e.end = tly_larger(e.end, t->extent.end);
    }
    t->extent = e;
    t->align = (int32_t)bytes;
    const int is_state = source == TALLY_SOURCE_CARRY_IN && tensor == TLY_STEP_CARRY;
    k->computes_with_g_carry |= source == TALLY_SOURCE_G_CARRY && tensor != TLY_STEP_CARRY;
    t->is_needed |= e.low < e.end && source != TALLY_SOURCE_G_CARRY && !is_state;
}

static void place_tensors(tally_gradient_kernel *k, const tly_step_facts *facts, tly_step *step)
{
    for (int tensor = 0; tensor < TLY_STEP_TENSORS; tensor++) {
        const int32_t source = facts->source[tensor];
        step->source[tensor] = source;
        if (source == TALLY_SOURCE_NONE || source >= TALLY_SOURCE_STEP) {
            continue;
        }
        const int64_t bytes = tly_dtypes[dtype_of(&facts->full, tensor)].bytes;
        tly_step_strides(facts, tensor, step->move[tensor]);
        for (int32_t d = 0; d < facts->full.rank; d++) {
            step->move[tensor][d] = tly_multiply(step->move[tensor][d], bytes);
        }
        step->skip[tensor] = facts->skip[tensor] * bytes;
        add_tensor(k, facts, step, tensor);
    }
}

static void place_result(tally_gradient_kernel *k, const tly_step_facts *last)
{
    const int32_t bytes = tly_dtypes[last->full.out_dtype].bytes;
    tly_gradient_tensor *out = &k->tensor[TLY_GRADIENT_OUT];
    (void)tally_descriptor_extent(&last->given, NULL, &out->extent, NULL);
    out->align = bytes;
    out->is_needed = out->extent.low < out->extent.end;
    /* Dims that are cut lie before all that are reduced, so that they are the result's first. */
    for (int32_t d = 0; d < last->full.rank; d++) {
        k->move[d] = last->full.out_strides[d] * bytes;
    }
}

/* ---- the kernels ---- */

/* The sizes of the last block of each dim; 0: blocks divide all dims. */
static int last_size(const tly_blocks *blocks, int64_t *size)
{
    int is_smaller = 0;
    for (int32_t d = 0; d < blocks->rank; d++) {
        const int64_t rest = blocks->size[d] > 0 ? blocks->sizes[d] % blocks->size[d] : 0;
        size[d] = rest > 0 ? rest : blocks->size[d];
        is_smaller |= rest > 0;
    }
    return is_smaller;
}

static tally_status make_step(tally_gradient_kernel *k, const tly_step_facts *facts, size_t i,
                              const tally_kernel_options *options, tally_error *error)
{
    const int is_result = facts->is_out;
    int64_t rest[TALLY_MAX_RANK];
    tly_step *step = &k->step[i];
    if (k->block_count == 1) {
        return tally_kernel_create(k->context, &facts->given, options, &step->kernel, error);
    }
    /* All that is read and written, past the cache; or what is in between, for it. */
    const int64_t share = is_result ? k->block_count : 0;
    tally_descriptor d = tly_blocks_descriptor(&k->blocks, k->blocks.size, facts, is_result);
    tally_status status = tly_kernel_create_part(k->context, &d, options, share, &step->kernel,
                                                 error);
    if (status == TALLY_OK && last_size(&k->blocks, rest)) {
        d = tly_blocks_descriptor(&k->blocks, rest, facts, is_result);
        status = tly_kernel_create_part(k->context, &d, options, share, &step->last, error);
    }
    return status;
}

/* So much does not stay in the core's cache. */
static int64_t most_between(const tally_gradient_kernel *k)
{
    const int64_t limit = k->context->limits.between;
    return limit > 0 ? limit : MOST_BETWEEN;
}

static void cut(tally_gradient_kernel *k, const tly_step_facts *facts, int may_cut)
{
    const int64_t limit = k->context->limits.between;
    int64_t all = 0;
    tly_blocks_cut(&k->blocks, facts, k->count, INT64_MAX, 1);
    for (size_t i = 0; i < k->count; i++) {
        all += tly_blocks_result_bytes(&k->blocks, &facts[i]);
    }
    if (may_cut) {
        const int64_t most = tly_larger(tly_smaller(all / PARTS, MOST_BETWEEN), LEAST_BETWEEN);
        tly_blocks_cut(&k->blocks, facts, k->count, limit > 0 ? limit : most,
                       limit > 0 ? 1 : LEAST_PARTS);
    }
    k->block_count = tly_blocks_count(&k->blocks);
}

static void place_between(tally_gradient_kernel *k, const tly_step_facts *facts)
{
    for (size_t i = 0; i < k->count; i++) {
        const tally_descriptor *full = &facts[i].full;
        tly_step *step = &k->step[i];
        step->segment_dtype = tly_ops[full->op].scan ? full->segment_dtype : 0;
        step->segments = full->segments;
        step->size = full->rank > 0 ? full->sizes[tly_axis_of(full)] : 0;
        step->at = k->between;
        step->bytes = (size_t)tly_blocks_result_bytes(&k->blocks, &facts[i]);
        step->is_out = facts[i].is_out;
        step->skip_out = facts[i].skip_out * tly_dtypes[full->out_dtype].bytes;
        k->between += step->bytes;
    }
}

/* `whole`: the last step as it is without parts. */
static tally_status make(tally_gradient_kernel *k, const tly_step_facts *facts,
                         const tly_step_facts *whole, const tally_kernel_options *options,
                         tally_error *error)
{
    tally_status status = TALLY_OK;
    place_between(k, facts);
    for (size_t i = 0; i < k->count && status == TALLY_OK; i++) {
        status = make_step(k, &facts[i], i, options, error);
        if (status == TALLY_OK) {
            place_tensors(k, &facts[i], &k->step[i]);
        }
    }
    place_result(k, whole);
    return status;
}

static tally_status gradient_new(tally_context *context, size_t count,
                                 tally_gradient_kernel **kernel, tally_error *error)
{
    const size_t bytes = sizeof(tally_gradient_kernel) + count * sizeof(tly_step);
    tally_gradient_kernel *k = calloc(1, bytes);
    if (k == NULL) {
        return tly_out_of_memory(error, "the kernels of a gradient", bytes);
    }
    k->context = context;
    atomic_init(&k->kept, NULL);
    k->count = count;
    *kernel = k;
    return TALLY_OK;
}

/* What runs do that have y: where the cache does not hold what is between the steps of a block, it
 * spares a pass over memory. */
static tally_status make_from_result(tally_gradient_kernel *k, const tally_descriptor *descriptor,
                                     const tly_step_facts *facts,
                                     const tally_kernel_options *options, tally_error *error)
{
    tly_step_facts made[2];
    tally_descriptor word;
    tally_gradient_kernel *from = NULL;
    char identity[sizeof(double)];
    if ((int64_t)k->between <= most_between(k) ||
        tly_descriptor_resolve(descriptor, &word, NULL) != TALLY_OK ||
        !tly_steps_from_result(&word, facts, k->count, made, identity)) {
        return TALLY_OK;
    }
    tally_status status = gradient_new(k->context, 2, &from, error);
    if (status != TALLY_OK) {
        return status;
    }
    memcpy(from->identity, identity, sizeof identity);
    cut(from, made, 0);
    status = make(from, made, &facts[k->count - 1], options, error);
    if (status != TALLY_OK) {
        tally_gradient_kernel_destroy(&from);
    }
    k->from_result = from;
    return status;
}

static tally_status make_all(tally_gradient_kernel *k, const tally_descriptor *descriptor,
                             const tly_step_facts *facts, const tally_kernel_options *options,
                             tally_error *error)
{
    tally_kernel_options known;
    int level;
    tally_status status = tly_kernel_options_take(options, &known, error);
    if (status == TALLY_OK) {
        status = tly_device_level(known.device, &level, error);
    }
    if (status == TALLY_OK) {
        cut(k, facts, level != TLY_LEVEL_NONE);
        status = make(k, facts, &facts[k->count - 1], options, error);
    }
    if (status == TALLY_OK && level != TLY_LEVEL_NONE) {
        status = make_from_result(k, descriptor, facts, options, error);
    }
    return status;
}

tally_status tally_gradient_kernel_create(tally_context *context,
                                          const tally_descriptor *descriptor, tally_source wrt,
                                          const tally_kernel_options *options,
                                          tally_gradient_kernel **kernel, tally_error *error)
{
    size_t count = 0;
    tally_error own = TALLY_ERROR_INIT;
    tally_gradient_kernel *k = NULL;
    if (context == NULL || kernel == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "the context or the place for the kernel is NULL");
    }
    tly_step_facts *facts = facts_of(descriptor, wrt, &count, &own);
    if (facts == NULL) {
        return tly_error_pass(error, &own);
    }
    if (has_open_size(facts, count)) {
        free(facts);
        tly_fail(error, TALLY_INVALID, "sizes", "a gradient runs with every size; one is open");
        tly_error_hint(error, "put a number for each ?");
        return TALLY_INVALID;
    }
    tally_status status = gradient_new(context, count, &k, error);
    if (status == TALLY_OK) {
        status = make_all(k, descriptor, facts, options, error);
    }
    free(facts);
    if (status != TALLY_OK) {
        tally_gradient_kernel_destroy(&k);
        return status;
    }
    *kernel = k;
    return TALLY_OK;
}

void tally_gradient_kernel_destroy(tally_gradient_kernel **kernel)
{
    if (kernel == NULL || *kernel == NULL) {
        return;
    }
    for (size_t i = 0; i < (*kernel)->count; i++) {
        tally_kernel_destroy(&(*kernel)->step[i].kernel);
        tally_kernel_destroy(&(*kernel)->step[i].last);
    }
    tally_gradient_kernel_destroy(&(*kernel)->from_result);
    free(atomic_load(&(*kernel)->kept));
    free(*kernel);
    *kernel = NULL;
}

uint32_t tally_gradient_kernel_reads(const tally_gradient_kernel *kernel)
{
    uint32_t reads = 0;
    for (int source = TALLY_SOURCE_X; kernel != NULL && source <= TALLY_SOURCE_OFFSETS; source++) {
        reads |= kernel->tensor[source].align != 0 ? 1u << source : 0;
    }
    return reads;
}

uint32_t tally_gradient_kernel_gains(const tally_gradient_kernel *kernel)
{
    return kernel != NULL && kernel->from_result != NULL ? 1u << TALLY_SOURCE_Y : 0;
}

size_t tally_gradient_kernel_memory(const tally_gradient_kernel *kernel)
{
    return kernel != NULL ? kernel->between : 0;
}
