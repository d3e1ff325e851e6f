/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One run of a kernel, shared by its tasks. Tasks draw tickets from one counter until none are
 * left, so that it makes no difference how many tasks run at once, or in which order.
 */
#ifndef TLY_RUN_RUN_H
#define TLY_RUN_RUN_H

#include "../context/internal.h"

typedef struct tly_long_segment tly_long_segment;

typedef struct tly_run {
    const tally_kernel *kernel;
    const tly_args *args;
    int64_t tickets, threads;
    _Atomic(tly_block *) block; /* the caller's scratch, while no task has it */
    /* Ranges of tiles: a ticket is `rows` whole rows, or one of `parts` parts of one row. */
    int64_t rows, parts;
    /* Segments of reductions: `ranges` tickets are of about as many elements; those before them are
     * of the chunks of long segments; see segments.h. */
    int by_elements, long_count;
    int64_t ranges, long_tickets, long_chunks;
    tly_long_segment *longs;
    char *long_records;
    /* Chains of chunks: a ticket is one tile; see chain.h. */
    char *slots; /* NULL: no chain */
    size_t slot_bytes;
    /* A chunk at once, or late, and its total alone, as last measured; 0: not yet. */
    _Atomic int64_t once_ns, late_ns, total_ns;
    /* Reductions of few outputs: states of chunks, a ticket is `rows` of them; see reduce.h. */
    char *records;                    /* NULL: tickets are of outputs */
    alignas(64) _Atomic int64_t next; /* alone in its line: every task writes it */
} tly_run;

/* launch.c: threads for a run that has work for `worth` of them. Never more than there are CPUs, as
 * threads that take turns only hinder each other: one row of f32 on two CPUs took eight threads 4.4
 * times as long as one. */
int64_t tly_threads_for(const tally_context *context, const tally_run_options *with, int64_t worth);

/* launch.c: calls task(state, i) once for each i in [0, count), on the threads that the run or the
 * context has. Within the fork gate. */
void tly_spread(tally_context *context, const tally_run_options *with, int64_t count,
                void (*task)(void *state, int64_t index), void *state);

/* launch.c: options of this version's size, or NULL. */
tally_status tly_run_options_check(const tally_run_options *with, tally_error *error);

/* The next ticket in order, or -1. */
static inline int64_t tly_ticket(tly_run *run)
{
    int64_t ticket = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
    return ticket < run->tickets ? ticket : -1;
}

#endif
