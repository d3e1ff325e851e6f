/*
 * Timing in turns. Kernel and copies (or reads) take turns on the same buffers, because a machine's speed
 * drifts: only figures of one run are compared. Work that is short is repeated within a sample.
 */
#include "bench_time.h"
#include "bench_copy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_RUNS = 9, MOST_RUNS = 101 };

#define ALL_RUNS_SECONDS 1.0 /* aimed at; LEAST_RUNS may take longer */
#define SAMPLE_SECONDS 4e-3  /* shorter work is repeated: the clock and waking threads cost */
#define MOST_REPEATS 1000000

/* Row 0 is the kernel, its ceilings follow. */
enum { KERNEL = 0, ROWS = 1 + TLY_COPY_MOST_KINDS };

typedef struct bench {
    const tally_kernel *kernel;
    const void *in;
    void *out;
    tly_moves moves;
    size_t bytes;
    int32_t threads;
    tly_copier *copier;
    tally_error *error;
    int repeats, runs, rows;
    double seconds[ROWS][MOST_RUNS];
} bench;

const tly_unit *tly_unit_for(double seconds)
{
    static const tly_unit units[] = {
        { 1, 1, "s" }, { 1e-3, 1e3, "ms" }, { 1e-6, 1e6, "us" }, { 0, 1e9, "ns" }
    };
    const tly_unit *unit = units;
    while (seconds < unit->least) {
        unit++;
    }
    return unit;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static tally_status take_one(bench *b, int row)
{
    if (row == KERNEL) {
        return tally_kernel_run_threads(b->kernel, b->in, b->out, b->threads, b->error);
    }
    tly_copier_run(b->copier, b->moves, row - 1, b->out, b->in, b->bytes);
    return TALLY_OK;
}

/* One row's work, `repeats` times; the seconds of one. Repeated work is done once before, so that
 * what fits the caches is there, whatever row went before. */
static tally_status take_sample(bench *b, int row, double *seconds)
{
    tally_status status = TALLY_OK;
    double start;
    if (row != KERNEL) {
        tly_copier_wake(b->copier);
    }
    if (b->repeats > 1) {
        status = take_one(b, row);
    }
    start = now();
    for (int i = 0; i < b->repeats && status == TALLY_OK; i++) {
        status = take_one(b, row);
    }
    *seconds = (now() - start) / b->repeats;
    if (row != KERNEL) {
        tly_copier_rest(b->copier);
    }
    return status;
}

static int clamp(double value, int low, int high)
{
    return value < low ? low : value > high ? high : (int)value;
}

/* One untimed turn of everything, which also tells how often to do it. */
static tally_status warm_up(bench *b)
{
    double seconds = 0, turn = 0;
    tally_status status = TALLY_OK;
    b->repeats = 1;
    for (int i = 0; i < 2 && status == TALLY_OK; i++) {
        status = take_sample(b, KERNEL, &seconds);
    }
    b->repeats = clamp(ceil(SAMPLE_SECONDS / seconds), 1, MOST_REPEATS);
    for (int row = 0; row < b->rows && status == TALLY_OK; row++) {
        status = take_sample(b, row, &seconds);
        turn += seconds * b->repeats;
    }
    b->runs = clamp(ALL_RUNS_SECONDS / turn, LEAST_RUNS, MOST_RUNS);
    return status;
}

/* Every turn begins with another row, so that none always follows the same one. */
static tally_status take_turns(bench *b, tly_time_progress progress)
{
    tally_status status = warm_up(b);
    for (int run = 0; run < b->runs && status == TALLY_OK; run++) {
        for (int i = 0; i < b->rows && status == TALLY_OK; i++) {
            int row = (run + i) % b->rows;
            status = take_sample(b, row, &b->seconds[row][run]);
        }
        if (progress) {
            progress(run + 1, b->runs);
        }
    }
    return status;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

tly_spread tly_spread_of(double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, compare_doubles);
    return (tly_spread){ seconds[0], (seconds[(count - 1) / 2] + seconds[count / 2]) / 2,
                         seconds[count - 1] };
}

void tly_timing_add(tly_timing *timing, const char *name, double *seconds)
{
    tly_ceiling *added = &timing->each[timing->ceilings++];
    *added = (tly_ceiling){ name, tly_spread_of(seconds, timing->runs) };
    if (timing->ceilings == 1 || added->seconds.median < timing->ceiling.seconds.median) {
        timing->ceiling = *added;
    }
}

static void sum_up(bench *b, tly_timing *timing)
{
    *timing = (tly_timing){ .runs = b->runs };
    timing->kernel = tly_spread_of(b->seconds[KERNEL], b->runs);
    for (int row = KERNEL + 1; row < b->rows; row++) {
        tly_timing_add(timing, tly_copy_name(b->moves, row - 1), b->seconds[row]);
    }
}

static tally_status no_memory(tally_error *error)
{
    error->status = TALLY_OUT_OF_MEMORY;
    error->position = 0;
    strcpy(error->field, "memory");
    strcpy(error->message, "no memory or no threads for the timing");
    error->hint[0] = 0;
    return TALLY_OUT_OF_MEMORY;
}

tally_status tly_time(const tally_kernel *kernel, const void *in, void *out, tly_moves moves,
                      size_t bytes, int32_t threads, tly_time_progress progress, tly_timing *timing,
                      tally_error *error)
{
    bench *b = calloc(1, sizeof *b);
    tly_copier *copier = tly_copier_start(threads);
    tally_status status;
    if (!b || !copier) {
        free(b);
        tly_copier_stop(copier);
        return no_memory(error);
    }
    *b = (bench){ .kernel = kernel,
                  .in = in,
                  .out = out,
                  .moves = moves,
                  .bytes = bytes,
                  .threads = threads,
                  .copier = copier,
                  .error = error,
                  .rows = 1 + tly_copy_kinds(moves) };
    status = take_turns(b, progress);
    if (status == TALLY_OK) {
        sum_up(b, timing);
    }
    tly_copier_stop(copier);
    free(b);
    return status;
}
