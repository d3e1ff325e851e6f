/*
 * Running a reduction. Its tiles are chunks of what makes an output, or a block of outputs side by
 * side; the plan's chunk and the geometry alone say where a chunk ends, so that one thread combines
 * the same states as many. Where outputs are too few for the threads, tasks make the states of
 * chunks first, and then whoever asked combines them.
 */
#include "reduce.h"

#include "checked.h"

#include <stdlib.h>

/* Steps of the axis that are worth states of their own in lanes: those are combined once a chunk,
 * where each step is once a pass of 8. */
enum { LINE = 64, LEAST_LANE_STEPS = 128 };

static int64_t ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Elements of one output that a chunk has; in lanes the plan counts those of all side by side, and
 * records are as large as there are lanes. */
static int64_t chunk_of(const tally_kernel *k, const tly_geometry *g, const tly_launch *l)
{
    if (l->chunk == 0) {
        return INT64_MAX;
    }
    if (l->form != TLY_REDUCED_LANES) {
        return l->chunk;
    }
    int64_t most = larger(TLY_REDUCE_MOST_OUTPUT / k->record_bytes, 1);
    int64_t least = ceil_div(tly_multiply(g->length, g->steps), most);
    int64_t lanes = larger(smaller(g->inner, l->tile_lanes), 1); /* none: only inspected */
    int64_t wanted = l->chunk / lanes;
    return larger(larger(wanted / LEAST_LANE_STEPS, ceil_div(least, LEAST_LANE_STEPS)), 1) *
           LEAST_LANE_STEPS;
}

void tly_reduce_prepare(tally_kernel *k, const tly_geometry *g, const tly_launch *l,
                        int64_t in_bytes)
{
    tly_args *args = &k->args;
    k->record_bytes = l->record_bytes;
    if (l->form == TLY_REDUCED_LANES) {
        int64_t lanes = larger(smaller(g->inner, l->tile_lanes), 1);
        k->record_bytes *= ceil_div(lanes, TLY_RECORD_LANES) * TLY_RECORD_LANES;
    }
    int64_t chunk = chunk_of(k, g, l);
    args->steps = g->length > 0 ? g->steps : 0;
    args->chunk_length = larger(smaller(g->length, chunk), 1);
    args->chunk_steps = smaller(larger(chunk / args->chunk_length, 1), larger(args->steps, 1));
    if (args->chunk_length < g->length) {
        args->chunk_steps = 1;
    }
    args->chunks = larger(
        ceil_div(g->length, args->chunk_length) * ceil_div(args->steps, args->chunk_steps), 1);
    args->blocks = l->form == TLY_REDUCED_LANES ? ceil_div(g->inner, l->tile_lanes) : 1;
    args->reduced_rank = g->reduced_rank;
    for (int i = 0; i < g->reduced_rank; i++) {
        args->reduced_size[i] = g->reduced[i].size;
        args->in.reduced[i] = g->reduced[i].in_stride * in_bytes;
    }
    k->rows = g->rows * args->blocks;
    k->row_tiles = args->chunks;
    k->tiles = k->rows * k->row_tiles;
}

int tly_reduce_cut(tly_run *run)
{
    const tally_kernel *k = run->kernel;
    /* As many outputs as threads, or so many that one more or less makes no difference. */
    int even = k->rows % run->threads == 0 || k->rows >= run->threads * TLY_REDUCE_TICKETS;
    if (k->row_tiles == 1 || (k->rows >= run->threads && even)) {
        return 0;
    }
    /* Of each task's records, none shares a line with another task's. */
    int64_t whole = LINE / smaller(k->record_bytes & -k->record_bytes, LINE);
    int64_t tiles = ceil_div(k->tiles, run->threads * TLY_REDUCE_TICKETS);
    size_t bytes;
    if (__builtin_mul_overflow((size_t)k->tiles, (size_t)k->record_bytes, &bytes) ||
        bytes > (size_t)run->threads * TLY_REDUCE_MOST_RECORDS) {
        return 0;
    }
    run->records = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
    if (run->records == NULL) {
        return 0;
    }
    run->rows = ceil_div(tiles, whole) * whole;
    run->tickets = ceil_div(k->tiles, run->rows);
    return 1;
}

void tly_reduce_work(tly_run *run, char *scratch)
{
    const tally_kernel *k = run->kernel;
    for (int64_t ticket; (ticket = tly_ticket(run)) >= 0;) {
        int64_t begin = ticket * run->rows;
        tly_task task = { .begin = begin,
                          .end = smaller(begin + run->rows, k->tiles),
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
