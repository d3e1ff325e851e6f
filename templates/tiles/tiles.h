/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template of tiles in four files: one tile after another (tiles.c), tiles across rows
 * (tiles_cross.c), rows that are parts of lines (tiles_lines.c), and the rows and lanes of a task
 * (tiles_rows.c).
 */
#ifndef TLY_TILES_H
#define TLY_TILES_H

#include "../../codegen/plan/limits.h"
#include "../template.h"

typedef struct tly_tiles {
    tly_build *c;
    tly_way way[TLY_TENSOR_COUNT];
    unsigned parts, steps;            /* vectors side by side, axis steps a tile */
    kir_value length, inner;          /* axis steps, lanes */
    kir_value axis[TLY_TENSOR_COUNT]; /* bytes from an axis step, a lane to the next */
    kir_value lane[TLY_TENSOR_COUNT];
    kir_value states;  /* scratch for tly_tiles_scan */
    kir_value far;     /* i1: whole lines may go past the cache; 0: there are none */
    kir_value streams; /* i1: and those at hand are aligned */
} tly_tiles;

/* So many steps of `each` bytes on. */
tly_row tly_tiles_move(tly_build *c, tly_row at, kir_value by, const kir_value *each);

/* Lanes [0, count) from `at` on, all along the axis. */
void tly_tiles_scan(tly_tiles *k, tly_row at, kir_value count);
int64_t tly_tiles_scan_bytes(const tly_tiles *k); /* of scratch */
/* Rows of a tile become columns, or the other way round; `down`: the axis runs backwards. */
void tly_tiles_turn_lanes(tly_tiles *k, kir_value *v, int out, int down);
/* Axis steps (or rows) of all parts, which lie side by side in the output; `apart` bytes. */
void tly_tiles_store_lines(tly_tiles *k, kir_value out, kir_value y[][TLY_MOST_LANES],
                           unsigned steps, kir_value apart);

/* A dim that rows are counted through; one of size 1 where there is none. */
typedef struct tly_outer {
    kir_value size, each[TLY_TENSOR_COUNT];
} tly_outer;
tly_outer tly_tiles_outer(tly_build *c, kir_value d);

/* A block of rows that are neighbours in the input (tiles_cross.c): by the dims around them,
 * outermost first, rows of a line of output, and them. Units are all rows of one index of the
 * two first. */
typedef struct tly_cross {
    tly_outer far, near, line, rows;
    kir_value left; /* outer dims that are not in a block */
    /* What whole tiles did: units [from, to), of each rows [first, end), lanes [0, lanes). */
    kir_value from, to, first, end, lanes;
} tly_cross;
int64_t tly_tiles_cross_bytes(const tly_tiles *k); /* of scratch */
/* The blocks of all outer dims but the last, negative `rank` - `rank`. */
tly_cross tly_tiles_cross_dims(tly_tiles *k, kir_value rank);
/* Rows [whole, whole_to) of the block at `at`, as far as they fill tiles. */
void tly_tiles_cross(tly_tiles *k, tly_cross *x, tly_row at, kir_value whole, kir_value whole_to);

/* Rows of a run that are parts of lines of output (tiles_lines.c). */
typedef struct tly_gather {
    kir_value scratch;
    kir_value from, to;     /* rows of the run of which all lines are whole */
    kir_value last;         /* the last row's place in its line */
    kir_value bytes, lines; /* of a row in a line; from line to line in the output */
} tly_gather;
/* Scratch for it; 0: the problem has no such rows. */
int64_t tly_tiles_gather_bytes(const tly_tiles *k);
/* Runs whose first row 0 is at `out`, `apart` bytes from one to the next; of their rows [from,
 * to) are wholly the task's. */
tly_gather tly_tiles_gather(tly_tiles *k, kir_value out, kir_value apart, kir_value run_size,
                            kir_value run_out, kir_value from, kir_value to);
/* tly_tiles_scan for a row of the run, by scratch where it is one of those. */
void tly_tiles_gather_row(tly_tiles *k, const tly_gather *g, kir_value row, tly_row at,
                          kir_value lanes);

#endif
