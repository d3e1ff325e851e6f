/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets of tensors that a benchmark goes through: all have the input, each has its turn on bytes of
 * its own, and together they are more than caches hold, or one where that is by itself.
 */
#include "../../tools/bench/bench_gpu_sets.h"

#include "bed.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST = 256 << 20 }; /* bytes of all sets */

static const struct {
    size_t bytes[TLY_SET_MOST]; /* input, output, operands */
    int tensors;
    size_t room;
} sizes[] = {
    { { 3000004, 4000 }, 2, 0 },
    { { 700, 900 }, 2, 900 },                            /* many */
    { { 1000000, 4, 2000000, 4 }, 4, 1500004 },          /* a copy takes more than either */
    { { 100 << 20, 1 << 20, 160 << 20 }, 3, 130 << 20 }, /* one by its operand */
};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static const tally_vulkan_range *range_of(const tally_vulkan_buffers *b, int tensor)
{
    return tensor == TLY_SET_IN    ? &b->in
           : tensor == TLY_SET_OUT ? &b->out
                                   : &b->operand[tensor - TLY_SET_OPERAND];
}

/* Of the tensors of all sets without the room beyond them. */
static size_t expect_turns(tly_gpu_sets *sets, const size_t *bytes, int tensors, size_t room)
{
    tally_vulkan_buffers b;
    uint64_t end[TLY_SET_MOST] = { 0 };
    size_t all = 0;
    for (int k = 0; k < 2 * sets->count; k++) {
        tly_gpu_sets_turn(sets, &b);
        for (int i = 0; i < tensors; i++) {
            const tally_vulkan_range *range = range_of(&b, i);
            const size_t least = i < TLY_SET_OPERAND && room > bytes[i] ? room : bytes[i];
            if (k == sets->count)
                end[i] = 0; /* the first comes again */
            tly_expect(range->offset >= end[i], "tensor %d of set %d is not apart", i, k);
            end[i] = range->offset + least;
            tly_expect(end[i] <= range->bytes, "tensor %d of set %d is cut", i, k);
        }
    }
    for (int i = 0; i < tensors; i++)
        all += (size_t)sets->count * (bytes[i] / 256 + 1) * 256;
    return all;
}

static void expect_filled(tally_vulkan *v, const tly_gpu_sets *sets, int tensor, size_t bytes)
{
    tally_error error = TALLY_ERROR_INIT;
    const size_t step = sets->step[tensor], all = (size_t)sets->count * step;
    char *in = malloc(step), *back = malloc(all);
    if (!in || !back)
        exit(1);
    for (size_t k = 0; k < step; k++)
        in[k] = (char)(k % bytes * 2654435761U >> 7);
    tly_expect(!tly_gpu_sets_fill(v, sets, tensor, in, bytes, &error) &&
                   !tally_vulkan_buffer_read(sets->buffer[tensor], 0, back, all, &error),
               "fill: %s", error.message);
    for (int k = 0; k < sets->count; k++)
        tly_expect(!memcmp(back + (size_t)k * step, in, step), "tensor %d, set %d of %d", tensor, k,
                   sets->count);
    free(in);
    free(back);
}

int main(void)
{
    tally_context *context = tly_bed_context();
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    tally_error error = TALLY_ERROR_INIT;
    for (int k = 0; k < SIZES; k++) {
        const size_t *bytes = sizes[k].bytes, room = sizes[k].room;
        const int tensors = sizes[k].tensors;
        size_t each = 0;
        tly_gpu_sets sets = { 0 };
        for (int i = 0; i < tensors; i++)
            each += bytes[i];
        if (tly_expect(!tly_gpu_sets_make(v, bytes, tensors, room, &sets, &error), "make: %s",
                       error.message)) {
            tly_expect((sets.count == 1) == (each >= LEAST), "%d sets", sets.count);
            tly_expect(expect_turns(&sets, bytes, tensors, room) >= LEAST, "%d sets are few",
                       sets.count);
            for (int i = 0; i < tensors; i++)
                if (i != TLY_SET_OUT)
                    expect_filled(v, &sets, i, bytes[i]);
        }
        tly_gpu_sets_drop(&sets);
    }
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    return tly_bed_end("sets", SIZES);
}
