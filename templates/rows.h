/*
 * Shared by the files of the rows template (rows.c says how it works): segments, blocks, calls.
 */
#ifndef TLY_ROWS_H
#define TLY_ROWS_H

#include "template.h"

enum {
    MAX_HISTORY = TLY_ROWS_MOST_VECTORS_BACK, MAX_UNROLL = TLY_ROWS_MOST_UNROLL,
    RANGE_AT = 16 /* bytes, in a total record */
};

typedef struct tly_rows {
    tly_build *c;
    unsigned unit, loads, doublings, shift, history;
    unsigned pairs, wide;           /* elements a lane less 1, and a vector */
    int64_t step, block, chunk;     /* elements */
    int direct_in, direct_out;      /* vectors of input can be read, of output written, in place */
    kir_value work, input, buffer;  /* scratch: unit > 1 done serially, staged input, output */
    kir_value ahead;                /* bytes to prefetch ahead */
    kir_value length, group;        /* rows scanned at a time */
} tly_rows;

/* Where a block stands. unit 1: carry and local are scalars; else history is the state. */
typedef struct tly_rows_state {
    kir_value carry, local;
    kir_value history[MAX_HISTORY]; /* newest first; the last shift results */
} tly_rows_state;

/* One block: `rows` segments of `count` elements. */
typedef struct tly_rows_block {
    kir_value in;              /* position 0 of the first row */
    kir_value rows;            /* how many */
    kir_value position, count;
    kir_value buffered;        /* elements in the buffer before it */
    kir_value direct;          /* i1: the scan stores where results belong; 0: never */
    kir_value lines, out;      /* see tly_rows_segment; where the block's results belong */
} tly_rows_block;

/* The state's chain as vectors: of `local`, or, unit > 1, of the true prefixes. */
void tly_rows_history(tly_rows *r, const tly_rows_state *s, kir_value local, kir_value *history);
/* unit 1: the result that the next element continues. */
kir_value tly_rows_prefix(tly_rows *r, const tly_rows_state *s);

/* A row's part in a block. */
typedef struct tly_rows_segment {
    kir_value in;     /* its input in memory */
    kir_value buffer; /* its results in scratch */
    kir_value to;     /* where the scan stores them: the buffer, or their place in memory ... */
    kir_value lines;  /* ... which, where this (i1, or 0) says so, is whole lines past the cache */
    kir_value count;  /* elements */
} tly_rows_segment;

/* Where a segment's steps read (rows_input.c). */
typedef struct tly_rows_source {
    kir_value first;  /* the first step */
    kir_value base;   /* step i < whole: base + i */
    kir_value last;   /* the last step */
    kir_value whole;
} tly_rows_source;
tly_rows_source tly_rows_prepare(tly_rows *r, const tly_rows_segment *g);
/* Where the step after step `i` reads; after the last, the last once more. */
kir_value tly_rows_next(tly_rows *r, const tly_rows_source *in, kir_value i);
/* A vector of accumulators, its lanes in the order that costs least; and in their own. */
kir_value tly_rows_load(tly_rows *r, kir_value p);
kir_value tly_rows_order(tly_rows *r, kir_value v);
int64_t tly_rows_element_bytes(const tly_rows *r);       /* from one position to the next */
int64_t tly_rows_input_bytes(const tly_rows *r);         /* scratch, on either side of r->input */
/* Elements before a vector that its window of overlapping loads takes in; unit 1 only. */
int64_t tly_rows_reach(const tly_rows *r);
/* The lines that step `i` takes of an input at `soon`. */
void tly_rows_prefetch(tly_rows *r, kir_value soon, kir_value i);

/* Segments (rows_segment.c, rows_scalar.c). */
void tly_rows_scan(tly_rows *r, const tly_rows_segment *g, kir_value carry, kir_value *history,
                   kir_value *range);
void tly_rows_scan_scalar(tly_rows *r, const tly_rows_segment *g, kir_value carry,
                          kir_value *history);
void tly_rows_serial(tly_rows *r, const tly_rows_segment *g, kir_value *history);

/* Blocks (rows_block.c): returns if the vector scan's results stand (i1). */
kir_value tly_rows_compute(tly_rows *r, const tly_rows_block *k, tly_rows_state *s,
                           kir_value totals, kir_value *extremes);
unsigned tly_rows_state_count(const tly_rows *r);
void tly_rows_pack(const tly_rows *r, const tly_rows_state *s, kir_value *v);
tly_rows_state tly_rows_unpack(const tly_rows *r, const kir_value *v);

#endif
