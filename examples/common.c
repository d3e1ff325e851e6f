/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the examples that is the same for all: from a word to a result and its speed. */
#include "common.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "../tools/bench/bench_time.h"

void *get_array(size_t count, size_t element)
{
    void *array = aligned_alloc(64, (count * element + 63) / 64 * 64);
    if (!array) {
        fprintf(stderr, "no memory for %zu elements\n", count);
        exit(1);
    }
    return array;
}

static void check(tally_status status, const tally_error *error)
{
    if (status != TALLY_OK) {
        fprintf(stderr, "%s: %s\n", error->field, error->message);
        exit(1);
    }
}

static size_t tensor_bytes(const tally_descriptor *descriptor)
{
    size_t bytes = tally_dtype_bytes((tally_dtype)descriptor->dtype);
    for (int i = 0; i < descriptor->rank; i++) {
        bytes *= (size_t)descriptor->sizes[i];
    }
    return bytes;
}

void scan(const char *word, const void *in, void *out)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
    tally_context *context = NULL;
    tally_kernel *kernel = NULL;
    tly_timing timing;
    const tly_unit *unit;
    cpu_set_t cpus;
    int threads = sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
    check(tally_descriptor_parse(word, &descriptor, &error), &error);
    check(tally_context_create(NULL, &context, &error), &error);
    check(tally_kernel_create(context, &descriptor, NULL, &kernel, &error), &error);
    const tly_race race = { .kernel = kernel,
                            .in = in,
                            .out = out,
                            .moves = TLY_COPIES,
                            .bytes = tensor_bytes(&descriptor),
                            .threads = threads };
    check(tly_time(&race, &timing, &error), &error);
    check(tally_kernel_run(kernel, in, out, &error), &error);
    unit = tly_unit_for(timing.kernel.median);
    char on[32], copied_on[32];
    printf("%s: %.2f %s%s, %.2f of the speed of copying the same bytes%s\n", word,
           timing.kernel.median * unit->scale, unit->name, tly_on_threads(timing.threads, on),
           timing.ceiling.seconds.median / timing.kernel.median,
           tly_on_threads(timing.ceiling.threads, copied_on));
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
}
