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

/* The next ticket in order, or -1. */
static inline int64_t tly_ticket(tly_run *run)
{
    int64_t ticket = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed);
    return ticket < run->tickets ? ticket : -1;
}

#endif
