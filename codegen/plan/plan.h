/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: every choice that a template is built with, made in one place from the problem and
 * the target's facts. The heuristics of kernels for CPUs live in choose_*.c (choose.h); every
 * number there names its measurement. A plan prints itself, and single choices can be overridden by
 * "key=value", for experiments; what is printed, given back, makes the same plan. What a template
 * can be built with is said beside it (codegen/plan/limits.h).
 */
#ifndef TLY_PLAN_H
#define TLY_PLAN_H

#include "../../runtime/problem/generator.h"
#include "target.h"

typedef enum tly_template {
    TLY_TEMPLATE_ROWS,         /* windows, staged block by block */
    TLY_TEMPLATE_SHORT,        /* dense rows of up to TLY_MEDIUM_ROW elements, as one stream */
    TLY_TEMPLATE_COLUMNS,      /* lanes side by side, serial along the axis */
    TLY_TEMPLATE_NARROW,       /* packed columns as one stream, serial along the axis */
    TLY_TEMPLATE_TRANSPOSED,   /* columns in, rows out */
    TLY_TEMPLATE_SERIAL,       /* the plain loop, several rows at once */
    TLY_TEMPLATE_TILES,        /* views: vectors of lanes, turned on the way in, out or both */
    TLY_TEMPLATE_REDUCE_ROWS,  /* reductions along rows, chunk by chunk */
    TLY_TEMPLATE_REDUCE_LANES, /* reductions of outputs side by side, each serial */
    TLY_TEMPLATE_REDUCE_INTERLEAVED, /* of a few, packed: several steps side by side */
    TLY_TEMPLATE_COUNT
} tly_template;

/* How rows are scanned. */
typedef enum tly_scan {
    TLY_SCAN_WINDOWS, /* windows that reach across vectors; not of interleaved scans or pairs */
    TLY_SCAN_VECTORS, /* each vector by itself */
    TLY_SCAN_SCALARS, /* a chain of scalars by pairs of elements; integers, unit 1 */
} tly_scan;

/* All fields are int32_t so that one table can name, print and override them. Each has one
 * meaning; the key by which it is printed and overridden is in its template's table
 * (codegen/plan/limits.h). */
typedef struct tly_plan {
    int32_t template_id;    /* tly_template */
    int32_t lanes;          /* accumulators a vector */
    int32_t vectors;        /* ROWS: a step; REDUCE_ROWS: of states, side by side */
    int32_t rows_at_once;   /* SERIAL, REDUCE_ROWS: rows that are dealt with side by side */
    int32_t pairs;          /* ROWS: 1: a lane takes two neighbouring elements of 16 bits */
    int32_t window_loads;   /* ROWS: doublings by overlapping loads, the rest by lane shuffles */
    int32_t block_elements; /* ROWS, SHORT: elements between two looks at the range */
    int32_t chunk;          /* elements a chunk, whose total threads hand on; 0: never cut */
    int32_t scan;           /* ROWS: tly_scan */
    int32_t careful;      /* ROWS: 1: the range is watched step by step; 0: block by block first */
    int32_t step_lines;   /* NARROW: lines of output a step */
    int32_t history;      /* NARROW: 1: the results before in registers; 0: in scratch */
    int32_t kept_results; /* NARROW: results in scratch until the last are moved to its start */
    int32_t
        pass_steps; /* COLUMNS, TRANSPOSED, REDUCE_LANES, REDUCE_INTERLEAVED: axis steps a pass */
    int32_t steps_at_once; /* REDUCE_INTERLEAVED: axis steps side by side in vectors */
    int32_t pass_lines; /* COLUMNS: 64-byte lines that a pass of one step takes; of several, one */
    int32_t slices;     /* COLUMNS: outer slices side by side past the cache */
    int32_t tile_steps; /* TILES: axis steps a tile */
    int32_t tile_lines; /* TILES: lines of output across a tile; 0: one vector */
    int32_t tile_lanes; /* COLUMNS, TRANSPOSED, TILES: lanes a tile: threads split at its multiples;
                           TILES: of all rows of a run, so many go first */
    int32_t prefetch;   /* bytes ahead */
    int32_t long_row;   /* COLUMNS: past the cache, bytes of a row from which several steps pass */
    int32_t small;      /* COLUMNS: in cache, bytes of all up to which they do */
    int32_t split_bytes; /* the launch: bytes read and written that are worth one more thread; 0: as
                            the machine says */
} tly_plan;

const char *tly_template_name(tly_template id);

/* Makes the plan for a problem; `overrides` ("key=value,key=value", or a line each; "" for none)
 * are chosen by hand, and what follows from them to suit them. TALLY_INVALID, field plan: an
 * unknown key, one that this template does not read or that comes twice, no number, a value out of
 * the key's range, or choices that cannot be together. */
tally_status tly_plan_make(const tly_problem *problem, const tly_target *target,
                           const char *overrides, tly_plan *plan, tally_error *error);

/* 1 where neighbours are bf16 in and out, accumulated in f32: a lane of 32 bits can take two. */
int tly_plan_pairs(const tly_problem *p);

/* "key = value" lines, template first. */
tally_status tly_plan_print(const tly_plan *plan, tally_write write, void *user);

/* The same keys and values, and why: "key\tvalue\twhy" lines. */
tally_status tly_plan_explain(const tly_plan *plan, tally_write write, void *user);

/* Plans one choice away from that of `overrides`, and what of a plan decides the order in which a
 * kernel combines (choices.h). */
tally_status tly_plan_choices(const tly_problem *problem, const tly_target *target,
                              const char *overrides, tally_write write, void *user,
                              tally_error *error);
tally_status tly_plan_order(const tly_problem *problem, const tly_plan *plan, tally_write write,
                            void *user);

#endif
