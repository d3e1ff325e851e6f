/*
 * Shared by the files of the rows template (rows.c says how it works): segments, blocks, calls.
 */
#ifndef TLY_ROWS_H
#define TLY_ROWS_H

#include "template.h"

enum { MAX_HISTORY = 16, RANGE_AT = 16 /* bytes, in a total record */ };

typedef struct tly_rows {
    tly_build *c;
    unsigned unit, loads, doublings, shift, history;
    int64_t step, pad, head, block, chunk; /* elements; head: staged first even of direct input */
    int direct_in, direct_out;       /* input, output are accumulators lying side by side */
    kir_value work, input, buffer;   /* scratch: unit > 1 done serially, staged block, output */
    kir_value ahead;                 /* bytes to prefetch ahead */
    kir_value length, group, pitch;  /* rows staged at a time, elements between them */
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
    kir_value starts, ends; /* i1: the first, the last block of its row in this call */
    kir_value direct;          /* i1: the scan stores where results belong; 0: never */
    kir_value lines, out;      /* see tly_rows_segment */
} tly_rows_block;

/* The state's chain as vectors: of `local`, or, unit > 1, of the true prefixes. */
void tly_rows_history(tly_rows *r, const tly_rows_state *s, kir_value local, kir_value *history);
/* unit 1: the result that the next element continues. */
kir_value tly_rows_prefix(tly_rows *r, const tly_rows_state *s);

/* A row's part in a block. */
typedef struct tly_rows_segment {
    kir_value in;     /* its input in memory */
    kir_value staged; /* its input as accumulators in scratch; direct_in: first and last step */
    kir_value buffer; /* its results in scratch */
    kir_value plain;  /* where the scan stores them: the buffer, or their place in memory, ... */
    kir_value lines;  /* ... unless this (i1, or 0) says that they go to whole lines at ... */
    kir_value out;    /* ... this address */
    kir_value count;  /* elements */
} tly_rows_segment;

/* Segments (rows_segment.c). */
kir_value tly_rows_whole(tly_rows *r, kir_value count); /* i1: whole steps of the scan */
void tly_rows_scan(tly_rows *r, const tly_rows_segment *g, kir_value carry, kir_value *history,
                   kir_value *range);
void tly_rows_serial(tly_rows *r, const tly_rows_segment *g, kir_value *history);

/* Blocks (rows_block.c). */
void tly_rows_load(tly_rows *r, const tly_rows_block *k);
/* *position, in the buffer, moves on; returns if the vector scan's results stand (i1). */
kir_value tly_rows_compute(tly_rows *r, const tly_rows_block *k, tly_rows_state *s,
                           kir_value *position, kir_value totals, kir_value *extremes);
unsigned tly_rows_state_count(const tly_rows *r);
void tly_rows_pack(const tly_rows *r, const tly_rows_state *s, kir_value *v);
tly_rows_state tly_rows_unpack(const tly_rows *r, const kir_value *v);

#endif
