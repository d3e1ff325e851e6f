/* SPDX-License-Identifier: Apache-2.0 */
/* What takes turns with a word's kernel, and how many bytes both move; see bench_target.h. */
#include "bench_target.h"

#include <string.h>

/* States begin at a multiple of so many bytes, where a device can take them as a tensor. */
enum { STATES = 256 };

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

int tly_bench_target_on_gpu(const tly_bench_target *target)
{
    return strncmp(target->selector, "vulkan", 6) == 0;
}

static int has_stages(const tly_bench_target *target)
{
    const tally_descriptor *d = &target->job.descriptor;
    return d->operands[0].dtype || d->map[0] || d->post[0] || target->offsets_bytes;
}

/* Devices have no kernel that moves several tensors: they copy as many bytes. */
tly_moves tly_bench_target_moves(const tly_bench_target *target)
{
    return has_stages(target) ? (tly_bench_target_on_gpu(target) ? TLY_COPIES : TLY_MOVES)
           : target->job.scan ? TLY_COPIES
                              : TLY_READS;
}

/* The buffers hold the tensors and, where that is less, what is copied or read. */
static void measure_operands(tly_bench_target *target)
{
    const tally_descriptor *d = &target->job.descriptor;
    for (int i = 0; i < TALLY_MAX_OPERANDS && d->operands[i].dtype; i++) {
        const size_t element = tally_dtype_bytes((tally_dtype)d->operands[i].dtype);
        const tly_touched reach = tly_operand_reach(d, i);
        target->operand_touched[i] = (size_t)reach.count * element;
        target->operand_bytes[i] = (size_t)(reach.high + 1) * element;
        /* Steps of 0 may repeat elements of a stride that others skip. */
        target->operand_bytes[i] = larger(target->operand_bytes[i], target->operand_touched[i]);
        target->bytes += target->operand_touched[i];
    }
}

static size_t count_states(const tally_descriptor *d)
{
    int64_t sizes[TALLY_MAX_CARRY_RANK];
    int32_t rank;
    tally_dtype dtype;
    if (tally_descriptor_carry(d, &rank, sizes, &dtype, NULL) != TALLY_OK) {
        return 0;
    }
    size_t bytes = tally_dtype_bytes(dtype);
    for (int32_t k = 0; k < rank; k++) {
        bytes *= (size_t)sizes[k];
    }
    return bytes;
}

static size_t count_offsets(const tally_descriptor *d)
{
    const size_t element = d->segment_dtype ? tally_dtype_bytes((tally_dtype)d->segment_dtype) : 0;
    return element * (size_t)(d->segments + 1);
}

void tly_bench_target_measure(tly_bench_target *target)
{
    const tly_job *s = &target->job;
    size_t in = (size_t)s->in.count * s->in.element, out = (size_t)s->out.count * s->out.element;
    const int32_t carry = s->descriptor.carry;
    target->offsets_bytes = count_offsets(&s->descriptor);
    target->states_bytes = carry ? count_states(&s->descriptor) : 0;
    target->bytes = in + out + target->offsets_bytes;
    target->bytes += carry & TALLY_CARRY_IN ? target->states_bytes : 0;
    target->bytes += carry & TALLY_CARRY_OUT ? target->states_bytes : 0;
    target->moved = s->scan ? target->bytes : in;
    target->ceiling = s->scan ? target->moved / 2 : in;
    target->in_bytes = larger((size_t)(s->in.high + 1) * s->in.element, target->ceiling);
    target->out_bytes = larger((size_t)(s->out.high + 1) * s->out.element,
                               s->scan ? target->ceiling : 0);
    if (has_stages(target)) {
        measure_operands(target);
        target->in_bytes = larger((size_t)(s->in.high + 1) * s->in.element, in);
        target->out_bytes = larger((size_t)(s->out.high + 1) * s->out.element, out);
        target->moved = target->bytes;
        /* A copy reads one half of the bytes and writes the other. */
        target->ceiling = tly_bench_target_on_gpu(target) ? (target->bytes + 1) / 2 : target->bytes;
    }
    if (carry & TALLY_CARRY_OUT) {
        target->states_at = (target->out_bytes / STATES + 1) * STATES;
        target->out_bytes = target->states_at + target->states_bytes;
    }
}
