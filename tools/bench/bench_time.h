/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a kernel takes beside copies, reads or moves of the same bytes. Uses Tally's public
 * headers, bench_copy.c, bench_move.c and bench_read.c alone, so that examples and benchmarks time
 * as the command does.
 */
#ifndef TLY_BENCH_TIME_H
#define TLY_BENCH_TIME_H

#include <tally.h>

#include "bench_copy.h"
#include "bench_move.h"

/* Seconds of one call. */
typedef struct tly_spread {
    double min, median, max;
} tly_spread;

/* A copy or a read. */
typedef struct tly_ceiling {
    const char *name;
    int threads; /* on which it was the fastest; 0: a device's */
    tly_spread seconds;
} tly_ceiling;

enum { TLY_MOST_RUNS = 101 };

typedef struct tly_timing {
    int runs;                /* of each */
    int sets;                /* of tensors that take turns */
    int threads;             /* of most of the kernel's runs; 0: a device's */
    tly_spread kernel, base; /* base: the kernel again where there is no other */
    double speedup;          /* of the kernel over base: median of the turns' quotients */
    tly_ceiling ceiling;     /* the one whose median is least */
    int ceilings;            /* how many there are below */
    tly_ceiling each[TLY_COPY_MOST_KINDS];
} tly_timing;

/* The unit to show a time in: multiply seconds by `scale`. */
typedef struct tly_unit {
    double least, scale;
    const char *name;
} tly_unit;

/* Least, middle and largest of `count` times, which are sorted in place. */
tly_spread tly_spread_of(double *seconds, int count);

/* Sets what a timing says of a kernel and of `base` (NULL: there is none), from the times of its
 * runs, which are sorted in place. */
void tly_timing_set(tly_timing *timing, double *kernel, double *base);

/* Adds a ceiling, from the times of `runs` runs, which are sorted in place. Of two with one name
 * that follow each other the faster stays. */
void tly_timing_add(tly_timing *timing, const char *name, int threads, double *seconds);

const tly_unit *tly_unit_for(double seconds);

/* " on N threads", or "" for 0, of a device. */
const char *tly_on_threads(int threads, char text[32]);

/* Told how many of all runs are done. */
typedef void (*tly_time_progress)(int done, int runs);

/* What takes turns: a kernel and every copy of `bytes` bytes from `in` to `out`, or every read
 * of as many; or, in their place, another kernel. Each copy runs on as many threads, up to
 * `threads`, as it is the fastest on: a small copy on one, whatever the kernel takes. The
 * buffers have at least `bytes` bytes (for reads, only the input), are 64-byte aligned and keep
 * whatever ran last. */
typedef struct tly_race {
    const tally_kernel *kernel, *base; /* base: in place of copies and reads; or NULL */
    const void *in;
    void *out;
    tly_moves moves;
    size_t bytes;
    const void *operand[TALLY_MAX_OPERANDS]; /* NULL: the word has none */
    const void *offsets, *carry_in;          /* likewise */
    void *carry_out;                         /* likewise */
    tly_moved moved;                         /* for TLY_MOVES, in place of `in` and `out` */
    int32_t threads;                         /* at most */
    double seconds;                          /* aimed at for all runs; 0: 1 */
    tly_time_progress progress;              /* may be NULL */
} tly_race;

tally_status tly_time(const tly_race *race, tly_timing *timing, tally_error *error);

#endif
