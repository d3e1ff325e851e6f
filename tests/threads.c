/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads in one context at once: creating, warming, running, destroying, evicting, ending,
 * with kernels that are waited for and with those that take over from quick code. A plain program,
 * to be run under ThreadSanitizer, which Criterion does not survive. Exit status 0: right.
 */
#include "fake.h"

#include <stdio.h>

#define THREADS 6
#define ROUNDS 60

static const struct {
    const char *word;
    int length; /* of the axis, which is the last; negative: it is reduced */
} words[] = {
    { "cumsum:i64:400:axis=0", 400 },
    { "cumsum:i64:3x130:axis=1", 130 },
    { "cumsum:i64:200x4:axis=1", 4 },
    { "cumsum:i64:5x20:axis=1", 20 },
    { "cumsum:u64:400:axis=0", 400 },
    { "cumprod:i64:400:axis=0,reverse", 0 },
    { "cumsum:i64:400:axis=0,order=serial", 400 },
    { "sum:i64:400", -400 },
    { "sum:i64:3x130:axes=1", -130 },
};

static atomic_int failures;

static void backwards(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    (void)user;
    while (count-- > 0) {
        task(state, count);
    }
}

/* `with`: threads of its own, or NULL. */
static void check_run(const tally_kernel *kernel, int length, const tally_run_options *with)
{
    int64_t in[800], out[800] = { 0 };
    for (int i = 0; i < 800; i++) {
        in[i] = i;
    }
    if (tally_kernel_run_with(kernel, in, out, with, NULL) != TALLY_OK) {
        failures++;
        return;
    }
    int64_t sum = 0;
    for (int i = 0; i < length; i++) {
        sum += in[i];
        failures += out[i] != sum;
    }
    for (int i = 0; i < -length; i++) {
        sum += in[i];
    }
    failures += length < 0 && out[0] != sum;
}

enum { WORDS = sizeof words / sizeof words[0] };

static void warm(tally_context *context)
{
    tally_descriptor d[WORDS];
    for (int w = 0; w < WORDS; w++) {
        failures += tally_descriptor_parse(words[w].word, &d[w], NULL) != TALLY_OK;
    }
    failures += tally_context_warm(context, d, WORDS, NULL, NULL) != TALLY_OK;
}

static void *work(void *argument)
{
    static const tally_run_options lent = { .size = sizeof lent,
                                            .threads = 2,
                                            .parallel = backwards };
    tally_context *context = argument;
    for (int round = 0; round < ROUNDS; round++) {
        size_t w = (size_t)round % WORDS;
        if (round % 16 == 8) {
            warm(context);
        }
        tally_kernel *kernel = fake_kernel(context, words[w].word, NULL);
        if (kernel == NULL) {
            failures++;
            continue;
        }
        check_run(kernel, words[w].length, round % 3 ? NULL : &lent);
        tally_kernel_destroy(&kernel);
        tally_stats stats = { .size = sizeof stats };
        tally_context_stats(context, &stats);
    }
    return NULL;
}

/* One thread's kernel, used and dropped by another. */
static void *use_and_drop(void *argument)
{
    tally_kernel *kernel = argument;
    check_run(kernel, 400, NULL);
    tally_kernel_destroy(&kernel);
    return NULL;
}

static void all_at_once(uint32_t bound, uint32_t compile)
{
    tally_context_options options = {
        .size = sizeof options, .threads = 3, .cache_kernels = bound, .compile = compile
    };
    tally_context *context = fake_context(&options);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        failures += pthread_create(&threads[i], NULL, work, context) != 0;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        tally_kernel *kernel = fake_kernel(context, words[0].word, NULL);
        failures += pthread_create(&threads[i], NULL, use_and_drop, kernel) != 0;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    tally_context_destroy(&context);
}

int main(void)
{
    fake_delay_us = 300;
    for (uint32_t compile = TALLY_COMPILE_WAIT; compile <= TALLY_COMPILE_BACKGROUND; compile++) {
        all_at_once(0, compile);
        all_at_once(2, compile);
    }
    failures += fake_faults;
    printf("%d failures, %d kernels made and %d quickly, %d carries combined\n", failures,
           fake_made, fake_quickly_made, fake_combined);
    return failures != 0;
}
