/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timing in turns. Kernel and copies (or reads) take turns on the same buffers, because a machine's
 * speed drifts: only figures of one run are compared. Work that is short is repeated within a
 * sample.
 */
#include "bench_time.h"
#include "bench_copy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEAST_RUNS = 9, MOST_RUNS = TLY_MOST_RUNS };

#define ALL_RUNS_SECONDS 1.0 /* aimed at unless said; LEAST_RUNS may take longer */
#define SAMPLE_SECONDS 4e-3  /* shorter work is repeated: the clock and waking threads cost */
#define MOST_REPEATS 1000000

/* Samples of each number of threads that a copy may take; one that takes so many times what one
 * thread takes is left out. */
enum { TRIALS = 3, HOPELESS = 3 };

/* Each kind on one thread and on several. */
enum { ROWS = 1 + 2 * TLY_COPY_MOST_KINDS };

/* A kernel, or a kind of copies or reads. */
typedef struct row {
    const tally_kernel *kernel; /* NULL: the kind */
    int kind, threads, repeats; /* in a sample */
} row;

typedef struct bench {
    const tly_race *race;
    tly_copier *copier;
    tally_error *error;
    int runs, rows;
    row row[ROWS]; /* the kernel first */
    double seconds[ROWS][MOST_RUNS];
    int32_t used[MOST_RUNS]; /* threads, by the kernel */
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

const char *tly_on_threads(int threads, char text[32])
{
    text[0] = 0;
    if (threads > 0) {
        snprintf(text, 32, " on %d thread%s", threads, threads == 1 ? "" : "s");
    }
    return text;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* `used`: how many threads a kernel took; NULL: not wanted, which is a shorter call. */
static tally_status take_one(bench *b, const row *row, int32_t *used)
{
    const tly_race *r = b->race;
    if (row->kernel && (r->moves == TLY_MOVES || r->carry_in || r->carry_out)) {
        const tally_run_options with = { .size = sizeof with,
                                         .threads = r->threads,
                                         .threads_used = used };
        tally_buffers buffers = { .size = sizeof buffers,
                                  .in = r->in,
                                  .out = r->out,
                                  .offsets = r->offsets,
                                  .carry_in = r->carry_in,
                                  .carry_out = r->carry_out };
        memcpy(buffers.operand, r->operand, sizeof buffers.operand);
        return tally_kernel_run_buffers(row->kernel, &buffers, &with, b->error);
    }
    if (row->kernel && used) {
        const tally_run_options with = { .size = sizeof with,
                                         .threads = r->threads,
                                         .threads_used = used };
        return tally_kernel_run_with(row->kernel, r->in, r->out, &with, b->error);
    }
    if (row->kernel) {
        return tally_kernel_run_threads(row->kernel, r->in, r->out, r->threads, b->error);
    }
    tly_copier_run(b->copier, r->moves, row->kind, r->out,
                   r->moves == TLY_MOVES ? (const void *)&r->moved : r->in, r->bytes);
    return TALLY_OK;
}

/* One row's work, as often as it is to be; the seconds of one. Repeated work is done once before,
 * so that what fits the caches is there, whatever row went before, and that run is asked for its
 * threads. */
static tally_status take_sample(bench *b, const row *row, double *seconds, int32_t *used)
{
    const int repeated = row->repeats > 1;
    tally_status status = TALLY_OK;
    double start;
    if (!row->kernel) {
        tly_copier_wake(b->copier, row->threads);
    }
    if (repeated) {
        status = take_one(b, row, used);
    }
    start = now();
    for (int i = 0; i < row->repeats && status == TALLY_OK; i++) {
        status = take_one(b, row, repeated ? NULL : used);
    }
    *seconds = (now() - start) / row->repeats;
    if (!row->kernel) {
        tly_copier_rest(b->copier);
    }
    return status;
}

static int clamp(double value, int low, int high)
{
    return value < low ? low : value > high ? high : (int)value;
}

/* So often that a sample is long enough, as far as two runs tell. */
static tally_status set_repeats(bench *b, row *row)
{
    tally_status status = TALLY_OK;
    double seconds = 0;
    row->repeats = 1;
    for (int i = 0; i < 2 && status == TALLY_OK; i++) {
        status = take_sample(b, row, &seconds, NULL);
    }
    row->repeats = clamp(ceil(SAMPLE_SECONDS / seconds), 1, MOST_REPEATS);
    return status;
}

/* Of a few samples of a copy, which does not fail. */
static double least_seconds(bench *b, row *row)
{
    double seconds, least = 0;
    set_repeats(b, row);
    for (int i = 0; i < TRIALS; i++) {
        take_sample(b, row, &seconds, NULL);
        least = i == 0 || seconds < least ? seconds : least;
    }
    return least;
}

/* A kind of copies or reads on one thread; and on several, those of 2, 4, 8 and so on, and of all,
 * by which it was the fastest, unless one thread is far faster. */
static void add_kind(bench *b, int kind)
{
    const int most = tly_copier_threads(b->copier);
    row one = { .kind = kind, .threads = 1 }, several = { .kind = kind };
    const double alone = least_seconds(b, &one);
    double least = HOPELESS * alone;
    for (int count = 2; count <= most;
         count = count < most && 2 * count > most ? most : 2 * count) {
        row tried = { .kind = kind, .threads = count };
        const double seconds = least_seconds(b, &tried);
        if (seconds < least) {
            least = seconds;
            several = tried;
        }
    }
    b->row[b->rows++] = one;
    if (several.threads > 0) {
        b->row[b->rows++] = several;
    }
}

static tally_status add_kernel(bench *b, const tally_kernel *kernel)
{
    b->row[b->rows++] = (row){ .kernel = kernel };
    return set_repeats(b, &b->row[b->rows - 1]);
}

static tally_status list_rows(bench *b)
{
    const tly_race *r = b->race;
    tally_status status = add_kernel(b, r->kernel);
    if (status == TALLY_OK && r->base) {
        status = add_kernel(b, r->base);
    }
    for (int kind = 0; status == TALLY_OK && !r->base && kind < tly_copy_kinds(r->moves); kind++) {
        add_kind(b, kind);
    }
    return status;
}

/* One untimed turn of everything, which also tells how many there can be. */
static tally_status warm_up(bench *b)
{
    double seconds = 0, turn = 0;
    double all = b->race->seconds > 0 ? b->race->seconds : ALL_RUNS_SECONDS;
    tally_status status = list_rows(b);
    for (int k = 0; k < b->rows && status == TALLY_OK; k++) {
        status = take_sample(b, &b->row[k], &seconds, NULL);
        turn += seconds * b->row[k].repeats;
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
            status = take_sample(b, &b->row[k], &b->seconds[k][run], k == 0 ? &b->used[run] : NULL);
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

void tly_timing_add(tly_timing *timing, const char *name, int threads, double *seconds)
{
    const tly_ceiling added = { name, threads, tly_spread_of(seconds, timing->runs) };
    tly_ceiling *last = timing->ceilings ? &timing->each[timing->ceilings - 1] : NULL;
    if (!last || last->name != name) {
        timing->each[timing->ceilings++] = added;
    } else if (added.seconds.median < last->seconds.median) {
        *last = added;
    }
    if (!last || added.seconds.median < timing->ceiling.seconds.median) {
        timing->ceiling = added;
    }
}

static int compare_numbers(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* The number that comes most often; of several the largest. */
static int most_frequent(int32_t *numbers, int count)
{
    int best = 0, found = 0;
    qsort(numbers, (size_t)count, sizeof *numbers, compare_numbers);
    for (int i = 0, times = 0; i < count; i++) {
        times = i > 0 && numbers[i] == numbers[i - 1] ? times + 1 : 1;
        if (times >= found) {
            found = times;
            best = numbers[i];
        }
    }
    return best;
}

static void sum_up(bench *b, tly_timing *timing)
{
    *timing = (tly_timing){ .runs = b->runs,
                            .sets = 1,
                            .threads = most_frequent(b->used, b->runs) };
    tly_timing_set(timing, b->seconds[0], b->race->base ? b->seconds[1] : NULL);
    for (int k = 1; k < b->rows; k++) {
        const row *row = &b->row[k];
        if (!row->kernel) {
            tly_timing_add(timing, tly_copy_name(b->race->moves, row->kind), row->threads,
                           b->seconds[k]);
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
    status = take_turns(b, race->progress);
    if (status == TALLY_OK) {
        sum_up(b, timing);
    }
    tly_copier_stop(copier);
    free(b);
    return status;
}
