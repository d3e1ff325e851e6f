/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call costs beside its work: running a ready kernel on a tensor of 12 elements, and asking
 * again for a kernel that was asked for before. Public API only. Medians of runs; nanoseconds.
 */
#include <tally.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define RUNS 101
#define CALLS 20000

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef struct subject {
    tally_context *context;
    tally_descriptor descriptor;
    tally_kernel *kernel;
} subject;

static int run_once(const subject *s)
{
    static const float in[12] = { 1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4 };
    static float out[12];
    return tally_kernel_run(s->kernel, in, out, NULL);
}

static int look_up_once(const subject *s)
{
    tally_kernel *kernel = NULL;
    int status = tally_kernel_create(s->context, &s->descriptor, NULL, &kernel, NULL);
    tally_kernel_destroy(&kernel);
    return status;
}

/* Median time of one call; negative if a call failed. */
static double measure(int (*call)(const subject *), const subject *s)
{
    double times[RUNS];
    for (int run = 0; run < RUNS; run++) {
        double start = now();
        int failed = 0;
        for (int i = 0; i < CALLS; i++) {
            failed |= call(s);
        }
        times[run] = (now() - start) / CALLS;
        if (failed) {
            return -1;
        }
    }
    qsort(times, RUNS, sizeof times[0], ascending);
    return times[RUNS / 2];
}

int main(void)
{
    subject s = { .context = NULL };
    tally_error error = TALLY_ERROR_INIT;
    if (tally_descriptor_parse("cumprod:f32:1x1x3x4:axis=3", &s.descriptor, &error) ||
        tally_context_create(NULL, &s.context, &error) ||
        tally_kernel_create(s.context, &s.descriptor, NULL, &s.kernel, &error)) {
        fprintf(stderr, "call: %s: %s\n", error.field, error.message);
        return 1;
    }
    printf("run of a ready kernel, 1x1x3x4      %6.1f ns\n", measure(run_once, &s));
    printf("repeated creation and destruction   %6.1f ns\n", measure(look_up_once, &s));
    tally_kernel_destroy(&s.kernel);
    tally_context_destroy(&s.context);
    return 0;
}
