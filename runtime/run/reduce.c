/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a reduction. Its tiles are chunks of what makes an output, or a block of outputs side by
 * side; the plan's chunk and the geometry alone say where a chunk ends, so that one thread combines
 * the same states as many. Where outputs are too few for the threads, tasks make the states of
 * chunks first, and then whoever asked combines them.
 */
#include "reduce.h"

#include "../host/checked.h"

#include <stdlib.h>

enum { LINE = 64 };

int tly_reduce_cut(tly_run *run)
{
    const tally_kernel *k = run->kernel;
    /* As many outputs as threads, or so many that one more or less makes no difference. */
    int even = k->rows % run->threads == 0 || k->rows >= run->threads * TLY_REDUCE_TICKETS;
    if (k->row_tiles == 1 || (k->rows >= run->threads && even)) {
        return 0;
    }
    /* Of each task's records, none shares a line with another task's. */
    int64_t whole = LINE / tly_smaller(k->record_bytes & -k->record_bytes, LINE);
    int64_t tiles = tly_ceil_div(k->tiles, run->threads * TLY_REDUCE_TICKETS);
    size_t bytes;
    if (__builtin_mul_overflow((size_t)k->tiles, (size_t)k->record_bytes, &bytes) ||
        bytes > (size_t)run->threads * TLY_REDUCE_MOST_RECORDS) {
        return 0;
    }
    run->records = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (run->records == NULL) {
        return 0;
    }
    run->rows = tly_ceil_div(tiles, whole) * whole;
    run->tickets = tly_ceil_div(k->tiles, run->rows);
    return 1;
}

void tly_reduce_work(tly_run *run, char *scratch)
{
    const tally_kernel *k = run->kernel;
    for (int64_t ticket; (ticket = tly_ticket(run)) >= 0;) {
        int64_t begin = ticket * run->rows;
        tly_task task = { .begin = begin,
                          .end = tly_smaller(begin + run->rows, k->tiles),
                          .mode = TLY_MODE_TOTAL,
                          .scratch = scratch,
                          .carry_out = run->records + begin * k->record_bytes };
        tly_entry_of(k)(run->args, &task);
    }
}

void tly_reduce_end(tly_run *run, char *scratch)
{
    const tally_kernel *k = run->kernel;
    tly_task task = {
        .end = k->tiles, .mode = TLY_MODE_COMBINE, .scratch = scratch, .carry_in = run->records
    };
    tly_entry_of(k)(run->args, &task);
    free(run->records);
}
