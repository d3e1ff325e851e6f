/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a reduction of segments that offsets cut. A ticket is a range of segments which together
 * have about as many elements as those of any other ticket. A segment counts as some elements of
 * its own, so that empty ones are shared, too.
 */
#include "segments.h"

#include "../host/checked.h"
#include "reduce.h"

/* A short segment takes as long as so many more elements in a long one. */
enum { WEIGHT = 8 };

int tly_segments_cut(tly_run *run)
{
    const tally_kernel *k = run->kernel;
    if (!k->rules.offsets) {
        return 0;
    }
    run->by_elements = 1;
    run->tickets = tly_smaller(k->rows, run->threads * TLY_REDUCE_TICKETS);
    return run->tickets > 1;
}

/* The first segment of a row that has so much before it. */
static int64_t find(const tly_run *run, int64_t before)
{
    const tly_rules *rules = &run->kernel->rules;
    const char *offsets = run->args->tensor[tly_offsets_number(rules)].base;
    int64_t low = 0, high = rules->segments;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (tly_offset_at(rules, offsets, middle) + WEIGHT * middle < before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Tiles count through rows, segments and blocks of lanes, the last fastest. */
int64_t tly_segments_border(const tly_run *run, int64_t ticket)
{
    const tally_kernel *k = run->kernel;
    const int64_t segments = k->rules.segments, row = k->rules.size + WEIGHT * segments;
    const int64_t blocks = k->args.blocks, rows = k->rows / (segments * blocks);
    if (ticket >= run->tickets) {
        return k->rows;
    }
    /* In parts of a row, as the product of all may overflow. */
    const int64_t whole = rows / run->tickets * ticket, left = rows % run->tickets * ticket;
    const int64_t at = whole + left / run->tickets, some = left % run->tickets;
    const int64_t before = row / run->tickets * some + row % run->tickets * some / run->tickets;
    return (at * segments + find(run, before)) * blocks;
}
