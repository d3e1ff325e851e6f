/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The template of tiles, in four files: one tile after another (tiles.c), tiles across rows
 * (tiles_cross.c), rows that share lines of output (tiles_lines.c), and the rows and lanes of a
 * task (tiles_rows.c).
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
    kir_value axis[TLY_TENSOR_COUNT]; /* bytes from an axis step to the next */
    kir_value lane[TLY_TENSOR_COUNT]; /* bytes from a lane to the next */
    kir_value states;                 /* scratch for tly_tiles_scan */
    kir_value may_stream;             /* i1: whole lines may go past the cache; 0: there are none */
    kir_value streams;                /* i1: and the lines of the row that is scanned are aligned */
} tly_tiles;

/* `at` moved on by `by` steps of `each` bytes, by tensor. */
tly_row tly_tiles_move(tly_build *c, tly_row at, kir_value by, const kir_value *each);

/* Scans lanes [0, count) from `at` on, along the whole axis. */
void tly_tiles_scan(tly_tiles *k, tly_row at, kir_value count);
int64_t tly_tiles_scan_bytes(const tly_tiles *k); /* of scratch */
/* Transposes a vector of lanes by as many axis steps. `down`: the axis runs backwards in memory. */
void tly_tiles_transpose(tly_tiles *k, kir_value *v, int out, int down);
/* Stores `steps` axis steps (or rows) of all parts, which lie side by side in the output. `apart`:
 * bytes from a step to the next. */
void tly_tiles_store_lines(tly_tiles *k, kir_value out, kir_value y[][TLY_MOST_LANES],
                           unsigned steps, kir_value apart);

/* An outer dim; one of size 1 in place of a missing one. */
typedef struct tly_outer {
    kir_value size, each[TLY_TENSOR_COUNT];
} tly_outer;
tly_outer tly_tiles_outer(tly_build *c, kir_value d);

/* A block of rows that are neighbours in the input (tiles_cross.c). Its dims from the outermost on:
 * two around the rows, that of the rows which share a line of output, and the rows themselves. A
 * unit is all rows of one index of the first two. */
typedef struct tly_cross {
    tly_outer far, near, line, rows;
    kir_value left; /* number of outer dims that are not in a block */
    /* What whole tiles took: lanes [0, lanes) of rows [first, end) of units [from, to). */
    kir_value from, to, first, end, lanes;
} tly_cross;
int64_t tly_tiles_cross_bytes(const tly_tiles *k); /* of scratch */
/* Chooses the dims of blocks, if there are `rank` outer dims. */
tly_cross tly_tiles_cross_dims(tly_tiles *k, kir_value rank);
/* Scans those of rows [whole, whole_to) of the block at `at` that fill tiles. */
void tly_tiles_cross(tly_tiles *k, tly_cross *x, tly_row at, kir_value whole, kir_value whole_to);

/* Rows of a run that share lines of output (tiles_lines.c). */
typedef struct tly_gather {
    kir_value scratch;
    kir_value from, to;     /* the rows of the run whose lines are whole */
    kir_value last;         /* the last row's place in its line */
    kir_value bytes, lines; /* bytes of a row in a line; from a line to the next in the output */
} tly_gather;
/* Bytes of scratch for them; 0: the problem has no such rows. */
int64_t tly_tiles_gather_bytes(const tly_tiles *k);
/* For runs that begin `apart` bytes after each other, the first at `out`. Rows [from, to) of them
 * belong wholly to the task. */
tly_gather tly_tiles_gather(tly_tiles *k, kir_value out, kir_value apart, kir_value run_size,
                            kir_value run_out, kir_value from, kir_value to);
/* Scans a row as tly_tiles_scan does; by way of scratch if it shares its lines. */
void tly_tiles_gather_row(tly_tiles *k, const tly_gather *g, kir_value row, tly_row at,
                          kir_value lanes);

#endif
