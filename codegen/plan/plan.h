/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan of a kernel for a CPU: every choice that a template is built with. planner.h makes
 * plans.
 */
#ifndef TLY_PLAN_H
#define TLY_PLAN_H

#include "../../runtime/problem/generator.h"
#include "target.h"

/* The templates for CPUs, TEMPLATE(ID, name, what it is). The first that is wanted makes the kernel
 * (tly_template_limits). */
#define TLY_TEMPLATES(TEMPLATE) \
    TEMPLATE(REDUCE_ROWS, reduce_rows, "reductions along rows, chunk by chunk") \
    TEMPLATE(REDUCE_INTERLEAVED, reduce_interleaved, \
             "of a few, packed: several steps side by side") \
    TEMPLATE(REDUCE_LANES, reduce_lanes, "reductions of outputs side by side, each serial") \
    TEMPLATE(FEW_COLUMNS, few_columns, "packed columns as one stream, serial along the axis") \
    TEMPLATE(TILES, tiles, "views: vectors of lanes, turned on the way in, out or both") \
    TEMPLATE(COLUMNS, columns, "lanes side by side, serial along the axis") \
    TEMPLATE(TRANSPOSED, transposed, "columns in, rows out") \
    TEMPLATE(ROWS, rows, "windows, staged block by block") \
    TEMPLATE(SERIAL, serial, "the plain loop, several rows at once") \
    TEMPLATE(SHORT, short, "dense rows of up to TLY_MEDIUM_ROW elements, as one stream") \
    TEMPLATE(LINEAR, linear, "linear recurrences along rows, a vector of pairs at a time")

typedef enum tly_template {
#define TLY_TEMPLATE_ID(ID, name, what) TLY_TEMPLATE_##ID,
    TLY_TEMPLATES(TLY_TEMPLATE_ID)
#undef TLY_TEMPLATE_ID
        TLY_TEMPLATE_COUNT
} tly_template;

/* How rows are scanned. */
typedef enum tly_scan {
    TLY_SCAN_WINDOWS, /* windows that reach across vectors; not of interleaved scans or pairs */
    TLY_SCAN_VECTORS, /* each vector by itself */
    TLY_SCAN_SCALARS, /* a chain of scalars by pairs of elements; integers, one scan */
} tly_scan;

/* Every field is an int32_t, so that tables can name, print and override them. A field has one
 * meaning in every template. The key that prints and overrides it is a row of its template's table
 * (limits.h). */
typedef struct tly_plan {
    int32_t template_id;    /* tly_template */
    int32_t lanes;          /* accumulators a vector */
    int32_t vectors;        /* vectors side by side: of elements, or in reductions of states */
    int32_t rows_at_once;   /* SERIAL, REDUCE_ROWS: rows side by side */
    int32_t pairs;          /* ROWS: 1: a lane takes two neighbouring elements of 16 bits */
    int32_t window_loads;   /* ROWS: doublings by overlapping loads; the rest shuffle lanes */
    int32_t block_elements; /* ROWS, SHORT: elements between two checks of the range */
    int32_t chunk;          /* elements of a chunk, whose total one thread hands to the next;
                               0: rows are never cut */
    int32_t scan;           /* ROWS: tly_scan */
    int32_t safe;           /* ROWS: 1: the range is checked after every step, not every block */
    int32_t step_lines;     /* NARROW: lines of output of a step */
    int32_t history;        /* NARROW: 1: the row before is in registers, 0: in scratch */
    int32_t kept_results;   /* NARROW: results in scratch until the last ones move to its start */
    int32_t pass_steps;     /* COLUMNS, TRANSPOSED, REDUCE_LANES, _INTERLEAVED: steps of a pass */
    int32_t steps_at_once;  /* REDUCE_INTERLEAVED: steps of the axis side by side in vectors */
    int32_t pass_lines;     /* COLUMNS: 64-byte lines of a pass of one step (of several: 1) */
    int32_t slices;         /* COLUMNS: outer slices side by side past the cache */
    int32_t tile_steps;     /* TILES: steps of the axis in a tile */
    int32_t tile_lines;     /* TILES: lines of output across a tile; 0: one vector */
    int32_t tile_lanes;     /* lanes of a tile; threads split the work at its multiples */
    int32_t prefetch;       /* bytes */
    int32_t long_row;    /* COLUMNS: past the cache, the least bytes of a row that goes by several
                               steps a pass */
    int32_t small;       /* COLUMNS: in the cache, the most bytes of an input that does */
    int32_t split_bytes; /* bytes read and written that are worth one more thread; 0: as the
                               machine says */
} tly_plan;

#endif
