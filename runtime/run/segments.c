/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running a reduction of segments that offsets cut. A ticket is a range of segments which together
 * have about as many elements as those of any other ticket. A segment counts as some elements of
 * its own, so that empty ones are shared, too. The longest segments of rows are left out of these
 * ranges: the first tickets make the states of their chunks, which whoever asked combines.
 */
#include "segments.h"

#include "../host/checked.h"
#include "reduce.h"

#include <stdlib.h>

/* A short segment takes as long as so many more elements in a long one. */
enum { WEIGHT = 8 };
/* A segment is long if it has this part of what a thread should have, or more. */
enum { LONG_PARTS = 4 };
enum { LINE = 64 };

struct tly_long_segment {
    int64_t number; /* of all rows' segments */
    int64_t chunks, first;
};

static int64_t offset_at(const tly_run *run, int64_t i)
{
    const tly_rules *rules = &run->kernel->rules;
    return tly_offset_at(rules, run->args->tensor[tly_offsets_number(rules)].base, i);
}

/* The first segment of a row that has so much before it: elements, and `weight` a segment. */
static int64_t find(const tly_run *run, int64_t before, int64_t weight)
{
    int64_t low = 0, high = run->kernel->rules.segments;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (offset_at(run, middle) + weight * middle < before) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* ---- long segments ---- */

/* The long segments of a row, `most` of them at most; how many there are. One of so many elements
 * has one of the positions that lie as many apart. */
static int find_long(const tly_run *run, int64_t least, tly_long_segment *found, int most)
{
    int count = 0;
    for (int64_t at = 0; at < run->kernel->rules.size && count < most; at += least) {
        const int64_t i = find(run, at + 1, 0) - 1;
        const int64_t elements = i < 0 ? 0 : offset_at(run, i + 1) - offset_at(run, i);
        if (elements >= least && (count == 0 || found[count - 1].number != i)) {
            found[count].number = i;
            found[count++].chunks = tly_ceil_div(elements, TLY_SEGMENT_CHUNK);
        }
    }
    return count;
}

/* The same for each row, and where their records begin. */
static void repeat_for_rows(tly_run *run, int count, int64_t rows)
{
    int64_t first = 0;
    for (int64_t row = 0; row < rows; row++) {
        for (int k = 0; k < count; k++) {
            tly_long_segment *s = &run->longs[row * count + k];
            *s = run->longs[k];
            s->number = run->longs[k].number % run->kernel->rules.segments +
                        row * run->kernel->rules.segments;
            s->first = first;
            first += s->chunks;
        }
    }
    run->long_count = (int)rows * count;
    run->long_chunks = first;
}

/* Few rows whose segments are long for so many threads. Without memory none is. */
static void take_long(tly_run *run)
{
    const tally_kernel *k = run->kernel;
    const int64_t rows = k->rows / tly_larger(k->rules.segments, 1);
    const int64_t parts = LONG_PARTS * run->threads, share = k->rules.size / parts + 1;
    if (k->form != TLY_REDUCED_ROWS || rows >= parts) {
        return;
    }
    const int64_t least = tly_larger(share * rows, 2 * TLY_SEGMENT_CHUNK);
    const int64_t most = k->rules.size / least; /* parts at most */
    run->longs = most > 0 ? calloc((size_t)(most * rows), sizeof *run->longs) : NULL;
    const int count = run->longs != NULL ? find_long(run, least, run->longs, (int)most) : 0;
    if (count == 0) {
        free(run->longs);
        run->longs = NULL;
        return;
    }
    repeat_for_rows(run, count, rows);
    const size_t bytes = (size_t)(run->long_chunks * k->record_bytes);
    run->long_records = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (run->long_records == NULL) {
        run->long_count = 0;
        return;
    }
    run->long_tickets = tly_smaller(run->long_chunks, run->threads * TLY_REDUCE_TICKETS);
}

/* The chunks of a ticket, which counts through all long segments' chunks. */
static void make_states(const tly_run *run, int64_t ticket, char *scratch)
{
    const int64_t from = run->long_chunks * ticket / run->long_tickets;
    const int64_t to = run->long_chunks * (ticket + 1) / run->long_tickets;
    for (int i = 0; i < run->long_count; i++) {
        const tly_long_segment *s = &run->longs[i];
        tly_task task = { .begin = tly_larger(from - s->first, 0),
                          .end = tly_smaller(to - s->first, s->chunks),
                          .mode = TLY_MODE_TOTAL,
                          .scratch = scratch,
                          .ahead = s->number };
        task.carry_out = run->long_records + (s->first + task.begin) * run->kernel->record_bytes;
        if (task.begin < task.end) {
            tly_entry_of(run->kernel)(run->args, &task);
        }
    }
}

/* ---- the others ---- */

int tly_segments_cut(tly_run *run)
{
    const tally_kernel *k = run->kernel;
    if (!k->rules.offsets) {
        return 0;
    }
    take_long(run);
    run->by_elements = 1;
    run->ranges = tly_smaller(k->rows, run->threads * TLY_REDUCE_TICKETS);
    run->tickets = run->long_tickets + run->ranges;
    return run->tickets > 1;
}

/* The tile that a range begins with. Tiles count through rows, segments and blocks of lanes, the
 * last fastest. */
static int64_t border(const tly_run *run, int64_t range)
{
    const tally_kernel *k = run->kernel;
    const int64_t segments = k->rules.segments, row = k->rules.size + WEIGHT * segments;
    const int64_t blocks = k->args.blocks, rows = k->rows / (segments * blocks);
    if (range >= run->ranges) {
        return k->rows;
    }
    /* In parts of a row, as the product of all may overflow. */
    const int64_t whole = rows / run->ranges * range, left = rows % run->ranges * range;
    const int64_t at = whole + left / run->ranges, some = left % run->ranges;
    const int64_t before = row / run->ranges * some + row % run->ranges * some / run->ranges;
    return (at * segments + find(run, before, WEIGHT)) * blocks;
}

static void do_tiles(const tly_run *run, int64_t begin, int64_t end, char *scratch)
{
    const tly_task task = { .begin = begin, .end = end, .scratch = scratch };
    if (begin < end) {
        tly_call_tiles(&run->kernel->prepared, tly_entry_of(run->kernel), run->args, task);
    }
}

static void do_range(const tly_run *run, int64_t range, char *scratch)
{
    int64_t begin = border(run, range);
    const int64_t end = border(run, range + 1);
    for (int i = 0; i < run->long_count; i++) {
        const int64_t number = run->longs[i].number;
        if (number >= begin && number < end) {
            do_tiles(run, begin, number, scratch);
            begin = number + 1;
        }
    }
    do_tiles(run, begin, end, scratch);
}

void tly_segments_work(tly_run *run, char *scratch)
{
    for (int64_t ticket; (ticket = tly_ticket(run)) >= 0;) {
        if (ticket < run->long_tickets) {
            make_states(run, ticket, scratch);
        } else {
            do_range(run, ticket - run->long_tickets, scratch);
        }
    }
}

void tly_segments_end(tly_run *run, char *scratch)
{
    const tally_kernel *k = run->kernel;
    for (int i = 0; i < run->long_count; i++) {
        const tly_long_segment *s = &run->longs[i];
        const tly_task task = { .end = s->chunks,
                                .mode = TLY_MODE_COMBINE,
                                .scratch = scratch,
                                .carry_in = run->long_records + s->first * k->record_bytes,
                                .ahead = s->number };
        tly_entry_of(k)(run->args, &task);
    }
    free(run->long_records);
    free(run->longs);
}
