/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing in turns. Kernel and copies (or reads) take turns on the same buffers, because a machine's
 * speed drifts: only figures of one run are compared. Work that is short is repeated within a
 * sample.
 */
#include "bench_time.h"
#include "bench_copy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_RUNS = 9, MOST_RUNS = TLY_MOST_RUNS };

#define ALL_RUNS_SECONDS 1.0 /* aimed at unless said; LEAST_RUNS may take longer */
#define SAMPLE_SECONDS 4e-3  /* shorter work is repeated: the clock and waking threads cost */
#define MOST_REPEATS 1000000

enum { ROWS = 1 + TLY_COPY_MOST_KINDS };

/* A kernel, or a kind of copies or reads. */
typedef struct row {
    const tally_kernel *kernel; /* NULL: the kind */
    int kind;
} row;

typedef struct bench {
    const tly_race *race;
    tly_copier *copier;
    tally_error *error;
    int repeats, runs, rows;
    row row[ROWS]; /* the kernel first */
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

static tally_status take_one(bench *b, const row *row)
{
    const tly_race *r = b->race;
    if (row->kernel) {
        return tally_kernel_run_threads(row->kernel, r->in, r->out, r->threads, b->error);
    }
    tly_copier_run(b->copier, r->moves, row->kind, r->out, r->in, r->bytes);
    return TALLY_OK;
}

/* One row's work, `repeats` times; the seconds of one. Repeated work is done once before, so that
 * what fits the caches is there, whatever row went before. */
static tally_status take_sample(bench *b, const row *row, double *seconds)
{
    tally_status status = TALLY_OK;
    double start;
    if (!row->kernel) {
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
    if (!row->kernel) {
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
    double all = b->race->seconds > 0 ? b->race->seconds : ALL_RUNS_SECONDS;
    tally_status status = TALLY_OK;
    b->repeats = 1;
    for (int i = 0; i < 2 && status == TALLY_OK; i++) {
        status = take_sample(b, b->row, &seconds);
    }
    b->repeats = clamp(ceil(SAMPLE_SECONDS / seconds), 1, MOST_REPEATS);
    for (int k = 0; k < b->rows && status == TALLY_OK; k++) {
        status = take_sample(b, &b->row[k], &seconds);
        turn += seconds * b->repeats;
    }
    b->runs = clamp(all / turn, LEAST_RUNS, MOST_RUNS);
    return status;
}

/* Every turn begins with another row, so that none always follows the same one. */
static tally_status take_turns(bench *b, tly_time_progress progress)
{
    tally_status status = warm_up(b);
    for (int run = 0; run < b->runs && status == TALLY_OK; run++) {
        for (int i = 0; i < b->rows && status == TALLY_OK; i++) {
            int k = (run + i) % b->rows;
            status = take_sample(b, &b->row[k], &b->seconds[k][run]);
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

/* Quotients within a turn, because a machine's speed drifts from one to the next. */
void tly_timing_set(tly_timing *timing, double *kernel, double *base)
{
    double quotients[MOST_RUNS];
    for (int run = 0; run < timing->runs; run++) {
        quotients[run] = base ? base[run] / kernel[run] : 1;
    }
    timing->speedup = tly_spread_of(quotients, timing->runs).median;
    timing->kernel = tly_spread_of(kernel, timing->runs);
    timing->base = base ? tly_spread_of(base, timing->runs) : timing->kernel;
}

void tly_timing_add(tly_timing *timing, const char *name, double *seconds)
{
    tly_ceiling *added = &timing->each[timing->ceilings++];
    *added = (tly_ceiling){ name, tly_spread_of(seconds, timing->runs) };
    if (timing->ceilings == 1 || added->seconds.median < timing->ceiling.seconds.median) {
        timing->ceiling = *added;
    }
}

static void list_rows(bench *b)
{
    const tly_race *r = b->race;
    b->row[b->rows++] = (row){ .kernel = r->kernel };
    if (r->base) {
        b->row[b->rows++] = (row){ .kernel = r->base };
        return;
    }
    for (int kind = 0; kind < tly_copy_kinds(r->moves); kind++) {
        b->row[b->rows++] = (row){ .kind = kind };
    }
}

static void sum_up(bench *b, tly_timing *timing)
{
    *timing = (tly_timing){ .runs = b->runs, .sets = 1 };
    tly_timing_set(timing, b->seconds[0], b->race->base ? b->seconds[1] : NULL);
    for (int k = 1; k < b->rows; k++) {
        if (!b->row[k].kernel) {
            tly_timing_add(timing, tly_copy_name(b->race->moves, b->row[k].kind), b->seconds[k]);
        }
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

tally_status tly_time(const tly_race *race, tly_timing *timing, tally_error *error)
{
    bench *b = calloc(1, sizeof *b);
    tly_copier *copier = tly_copier_start(race->threads);
    tally_status status;
    if (!b || !copier) {
        free(b);
        tly_copier_stop(copier);
        return no_memory(error);
    }
    *b = (bench){ .race = race, .copier = copier, .error = error };
    list_rows(b);
    status = take_turns(b, race->progress);
    if (status == TALLY_OK) {
        sum_up(b, timing);
    }
    tly_copier_stop(copier);
    free(b);
    return status;
}
