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
    size_t in, out;
} sizes[] = {
    { 3000004, 4000 },
    { 700, 900 }, /* many */
    { (size_t)200 << 20, (size_t)60 << 20 },
};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static uint64_t end_of_turns(tly_gpu_sets *sets, size_t in, size_t out)
{
    tally_vulkan_buffers b;
    uint64_t in_end = 0, out_end = 0;
    for (int k = 0; k < 2 * sets->count; k++) {
        if (k == sets->count)
            in_end = out_end = 0; /* the first comes again */
        tly_gpu_sets_turn(sets, &b);
        tly_expect(b.in.offset >= in_end && b.out.offset >= out_end, "set %d is not apart", k);
        in_end = b.in.offset + in;
        out_end = b.out.offset + out;
        tly_expect(in_end <= b.in.bytes && out_end <= b.out.bytes, "set %d is cut", k);
    }
    return in_end + out_end;
}

static void expect_filled(tally_vulkan *v, const tly_gpu_sets *sets, size_t bytes)
{
    tally_error error = TALLY_ERROR_INIT;
    const size_t all = (size_t)sets->count * sets->in_step;
    char *in = malloc(bytes), *back = malloc(all);
    if (!in || !back)
        exit(1);
    for (size_t k = 0; k < bytes; k++)
        in[k] = (char)(k * 2654435761U >> 7);
    tly_expect(!tly_gpu_sets_fill(v, sets, in, bytes, &error) &&
                   !tally_vulkan_buffer_read(sets->in, 0, back, all, &error),
               "fill: %s", error.message);
    for (int k = 0; k < sets->count; k++)
        tly_expect(!memcmp(back + (size_t)k * sets->in_step, in, bytes), "set %d of %d", k,
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
        const size_t in = sizes[k].in, out = sizes[k].out;
        tly_gpu_sets sets = { 0 };
        if (tly_expect(!tly_gpu_sets_make(v, in, out, &sets, &error), "make: %s", error.message)) {
            tly_expect((sets.count == 1) == (in + out >= LEAST), "%d sets", sets.count);
            tly_expect(end_of_turns(&sets, in, out) >= LEAST, "%d sets are few", sets.count);
            expect_filled(v, &sets, in);
        }
        tly_gpu_sets_drop(&sets);
    }
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    return tly_bed_end("sets", SIZES);
}
