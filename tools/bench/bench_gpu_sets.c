/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of tensors; see bench_gpu_sets.h. */
#include "bench_gpu_sets.h"

/* What goes by between two uses of a set. Vulkan does not tell what caches hold; of the GPUs
 * there are, by their makers' words: 50 MB (H100), 72 MB (RTX 4090), 96 MB (RX 7900 XTX), 126 MB
 * (B200), 256 MiB (MI300X). */
#define CACHES ((size_t)256 << 20)

/* A multiple of every minStorageBufferOffsetAlignment, which is at most 256, and of every cache
 * line. */
#define STEP 256

static size_t step_of(size_t bytes)
{
    return (bytes / STEP + 1) * STEP;
}

static tally_status get_buffers(tally_vulkan *vulkan, tly_gpu_sets *sets, tally_error *error)
{
    tally_status status = TALLY_OK;
    for (int i = 0; i < sets->tensors && status == TALLY_OK; i++) {
        status = tally_vulkan_buffer_create(vulkan, (size_t)sets->count * sets->step[i],
                                            &sets->buffer[i], error);
    }
    return status;
}

tally_status tly_gpu_sets_make(tally_vulkan *vulkan, const size_t *bytes, int tensors, size_t room,
                               tly_gpu_sets *sets, tally_error *error)
{
    size_t all = 0;
    *sets = (tly_gpu_sets){ .tensors = tensors };
    for (int i = 0; i < tensors; i++) {
        const size_t least = i < TLY_SET_OPERAND ? room : 0;
        all += step_of(bytes[i]);
        sets->step[i] = step_of(bytes[i] > least ? bytes[i] : least);
    }
    sets->count = all > 0 && all < CACHES ? (int)(CACHES / all) + 1 : 1;
    tally_status status = get_buffers(vulkan, sets, error);
    if (status == TALLY_OUT_OF_MEMORY && sets->count > 1) {
        tly_gpu_sets_drop(sets);
        sets->count = 1;
        status = get_buffers(vulkan, sets, error);
    }
    return status;
}

void tly_gpu_sets_drop(tly_gpu_sets *sets)
{
    for (int i = 0; i < TLY_SET_MOST; i++) {
        tally_vulkan_buffer_destroy(&sets->buffer[i]);
    }
}

/* The device doubles the first `there` bytes of a buffer until it has `wanted`: small tensors are
 * some 500,000, each upload a submission. */
static tally_status repeat(tally_vulkan *vulkan, const tally_vulkan_buffer *buffer, size_t there,
                           size_t wanted, tally_error *error)
{
    tally_status status = TALLY_OK;
    tally_vulkan_range from, to;
    double seconds;
    tally_vulkan_buffer_info(buffer, &from);
    to = from;
    while (there > 0 && there < wanted && status == TALLY_OK) {
        const size_t more = there < wanted - there ? there : wanted - there;
        to.offset = there;
        status = tally_vulkan_time_copy(vulkan, &from, &to, more, &seconds, error);
        there += more;
    }
    return status;
}

tally_status tly_gpu_sets_fill(tally_vulkan *vulkan, const tly_gpu_sets *sets, int tensor,
                               const void *from, size_t bytes, tally_error *error)
{
    const tally_vulkan_buffer *buffer = sets->buffer[tensor];
    const size_t step = sets->step[tensor];
    tally_status status = tally_vulkan_buffer_write(sets->buffer[tensor], 0, from, bytes, error);
    if (status == TALLY_OK) {
        status = repeat(vulkan, buffer, bytes, step, error);
    }
    return status == TALLY_OK ? repeat(vulkan, buffer, step, (size_t)sets->count * step, error)
                              : status;
}

static void take_turn(const tly_gpu_sets *sets, int tensor, tally_vulkan_range *range)
{
    tally_vulkan_buffer_info(sets->buffer[tensor], range);
    range->offset = (uint64_t)sets->next * sets->step[tensor];
}

void tly_gpu_sets_turn(tly_gpu_sets *sets, tally_vulkan_buffers *buffers)
{
    take_turn(sets, TLY_SET_IN, &buffers->in);
    take_turn(sets, TLY_SET_OUT, &buffers->out);
    const int operands_end = sets->tensors - sets->has_carry_in - sets->has_offsets;
    for (int i = TLY_SET_OPERAND; i < operands_end; i++) {
        take_turn(sets, i, &buffers->operand[i - TLY_SET_OPERAND]);
    }
    if (sets->has_offsets) {
        take_turn(sets, operands_end, &buffers->offsets);
    }
    if (sets->has_carry_in) {
        take_turn(sets, sets->tensors - 1, &buffers->carry_in);
    }
    if (sets->states_at > 0) {
        buffers->carry_out = buffers->out;
        buffers->carry_out.offset += sets->states_at;
    }
    sets->next = (sets->next + 1) % sets->count;
}
