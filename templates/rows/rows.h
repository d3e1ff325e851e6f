/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of the rows template (rows.c says how it works): calls, blocks, spans,
 * steps.
 */
#ifndef TLY_ROWS_H
#define TLY_ROWS_H

#include "../template.h"

enum {
    MAX_HISTORY = TLY_ROWS_MOST_VECTORS_BACK,
    MAX_TOTALS = TLY_ROWS_MOST_TOTALS,
    MAX_UNROLL = TLY_ROWS_MOST_UNROLL,
    SAFE_UNROLL = TLY_ROWS_CAREFUL_UNROLL
};

typedef struct tly_rows {
    tly_build *c;
    unsigned interleave, unroll, loads, doublings, history;
    unsigned pairs, wide; /* elements a lane less 1, and a vector */
    int windows;          /* 1: windows over vectors; 0: each vector by itself */
    int fast;             /* 1: a span is judged when it is done, 0: each step, ... */
    int by_flags;         /* ... by the flags of arithmetic; 0: by what is seen */
    int deferred;         /* 1: results are narrowed when the flags have been read */
    int ends_by_flags;    /* 1: what is seen are neither zeros nor infinities */
    int checks;           /* 1: partial results may leave the range */
    int prescale_steps;   /* 1: small products are made in another way (rows_prescale_steps.c) */
    int prescale_rows;    /* 1: those of a few steps' rows in a third (rows_prescale_rows.c) */
    int totals;           /* 1: a chunk's total is another value than its last result ... */
    int checks_total;     /* ... 1: and flags say whether it is one */
    int corrects;         /* 1: blocks correct the products of many elements (rows_drift.c) */
    int64_t step, block, chunk;    /* elements */
    int64_t widest;                /* elements of a step, fast or careful */
    int direct_in, direct_out;     /* vectors of input can be read, of output written, in place */
    kir_value work, input, buffer; /* scratch: a step done again, staged input, output, ... */
    kir_value pad;                 /* ... a step of neutral values, as input, ... */
    kir_value acc_results;         /* ... a span's results as accumulators, where `deferred`, ... */
    kir_value
        prescale_hold; /* ... and, where `prescale_rows`, how many rows will be prescaled at once */
    kir_value ahead;   /* bytes to prefetch ahead */
    kir_value length, group; /* rows scanned at a time */
    kir_value is_cut;        /* i1, where `totals`: rows have several chunks */
    kir_value only_total;    /* i1, where `totals`: nothing else is wanted */
    kir_value few_steps;     /* i1, where `prescale_rows`: rows are so short */
    kir_value small; /* where `prescale_steps`, i32: magnitudes below it are small, as bits */
} tly_rows;

/* Where a scan stands. What comes next continues the true prefixes, whatever the way:
 *   unit < lanes     last[0]: of each lane of the next vector, the newest result of its class
 *   unit >= lanes    last[0..history): the last vectors of results, newest first */
typedef struct tly_rows_state {
    kir_value last[MAX_HISTORY];
    /* Only where `totals`: the carry at the chunk's start, its total so far (of one scan in the
     * last lane, of products scaled, rows_chunks.c; of several rows_total.c), and, where
     * `checks_total`, i1: it is none, as something in it left the range. */
    kir_value base, total[MAX_TOTALS], total_invalid;
} tly_rows_state;

/* Adds it to the state of a loop or branch. */
void tly_rows_carry(const tly_rows *r, tly_region *l, tly_rows_state *s);
/* unit 1: the result that the next element continues. */
kir_value tly_rows_prefix(tly_rows *r, const tly_rows_state *s);

/* One block: `rows` spans of `count` elements. */
typedef struct tly_rows_block {
    kir_value in;   /* position 0 of the first row */
    kir_value rows; /* how many */
    kir_value position, count;
    kir_value buffered;   /* elements in the buffer before it */
    kir_value direct;     /* i1: the scan stores where results belong; 0: never */
    kir_value lines, out; /* see tly_rows_span; where the block's results belong */
    kir_value leaves;     /* see tly_rows_span */
    const tly_stream *stream;
} tly_rows_block;

/* Scans a block and brings the state up to date (rows_block.c). */
void tly_rows_compute(tly_rows *r, const tly_rows_block *k, tly_rows_state *s);
/* Decides whether lines leave `out` as the block is scanned, which goes by its buffer. */
void tly_rows_go_along(tly_rows *r, tly_rows_block *k, tly_stream *out, kir_value streams,
                       kir_value totals);

/* A row's part in a block. */
typedef struct tly_rows_span {
    kir_value in;    /* its input in memory */
    kir_value to;    /* where its results go: the buffer, or their place in memory ... */
    kir_value lines; /* ... which, where this (i1, or 0) says so, is whole lines past the cache */
    kir_value prescaled; /* i1, or 0: results stay in scratch, as accumulators */
    kir_value count;     /* elements */
    /* From the step at this element on (0: never), each sends lines of the stream's buffer that
     * were written a few steps before. */
    kir_value leaves;
    const tly_stream *stream;
} tly_rows_span;

/* The lines that the step at element `i` sends. */
void tly_rows_send(tly_rows *r, const tly_rows_span *g, kir_value i);

/* Scans a span and brings the state up to date (rows_validate.c, rows_scalar.c). */
void tly_rows_scan(tly_rows *r, const tly_rows_span *g, tly_rows_state *s);
void tly_rows_scan_scalar(tly_rows *r, const tly_rows_span *g, tly_rows_state *s);

/* ---- chunks (rows_chunks.c) ---- */

/* At a row's start, or, i1 `first`, where the task's carry says. */
tly_rows_state tly_rows_start(tly_rows *r, kir_value first);
/* At a chunk's border the carry is the next chunk's start; the row is scanned from `from` on. */
void tly_rows_cross_border(tly_rows *r, tly_rows_state *s, kir_value position, kir_value from);
int64_t tly_rows_record_bytes(const tly_rows *r);
/* What other threads may want of the last tile: carries, then, where `totals`, the total, and,
 * where `checks_total`, i1: it is none. So many values; before any row, and after one. */
enum { MAX_OUTCOME = MAX_HISTORY + 2 };
unsigned tly_rows_begin_outcome(tly_rows *r, kir_value *outcome);
void tly_rows_end_row(tly_rows *r, const tly_rows_state *s, kir_value *outcome);
void tly_rows_store_record(tly_rows *r, kir_value totals, const kir_value *outcome);
/* TLY_MODE_COMBINE, and what the kernel returns for it. */
kir_value tly_rows_combine(tly_rows *r);

/* ---- input ---- */

/* Where a span's steps read (rows_input.c). */
typedef struct tly_rows_source {
    kir_value first; /* the first step */
    kir_value base;  /* step i < whole: base + i */
    kir_value last;  /* the last step; where it is the first, nothing that counts */
    kir_value whole;
} tly_rows_source;
tly_rows_source tly_rows_prepare(tly_rows *r, const tly_rows_span *g);
/* Where the step after step `i` reads; after the last, the last once more. */
kir_value tly_rows_next(tly_rows *r, const tly_rows_source *in, kir_value i);
/* A vector of accumulators, its lanes in the order that costs least; and in their own. */
kir_value tly_rows_load(tly_rows *r, kir_value p);
kir_value tly_rows_order(tly_rows *r, kir_value v);
/* Vector k of a step at `p`, in its own order, of pairs both; returns where it lies. */
kir_value tly_rows_load_step(tly_rows *r, kir_value p, kir_value k, kir_value *x);
/* States of elements that were read at `from`; 0: their lanes are not neighbours there. */
kir_value tly_rows_element(tly_rows *r, kir_value from, kir_value x);
int64_t tly_rows_element_bytes(const tly_rows *r); /* from one position to the next */
int64_t tly_rows_input_bytes(const tly_rows *r);   /* scratch, on either side of r->input */
int64_t tly_rows_pad_bytes(const tly_rows *r, int64_t *zero); /* ... and how many before r->pad */
void tly_rows_fill_pad(tly_rows *r);
/* Elements before a vector that its window of overlapping loads takes in. */
int64_t tly_rows_reach(const tly_rows *r);
/* The lines that step `i` takes of an input at `soon`. */
void tly_rows_prefetch(tly_rows *r, kir_value soon, kir_value i);

/* ---- one vector (rows_vector.c) ---- */

/* A vector of scans before anything joins it: its windows, or its scan by itself; of pairs, over
 * their products, with the first of each. */
typedef struct tly_rows_part {
    kir_value scan, first;
} tly_rows_part;

/* The scan of a vector by itself, from its elements (of pairs: both), which were read at `from`. */
tly_rows_part tly_rows_part_of(tly_rows *r, kir_value from, const kir_value *x);

/* A joined vector: what each lane continued, by what, and what it became. */
typedef struct tly_rows_result {
    kir_value first, part, y;
} tly_rows_result;

/* The whole windows of the vector at `p`, `is_first` where nothing is before it (rows_windows.c);
 * windows: those of the vector before, doubling by doubling; seen: its elements. */
kir_value tly_rows_window(tly_rows *r, kir_value p, int is_first, kir_value *windows,
                          kir_value *seen);

/* Joins a part to what comes before it; results as they are shown `at` their place: one value, of
 * pairs two. */
tly_rows_result tly_rows_join(tly_rows *r, const tly_rows_part *p, const tly_place *at,
                              tly_rows_state *s, kir_value *shown);

/* What `prescale_steps` want to know of all rows. */
void tly_rows_begin_prescale_steps(tly_rows *r);
/* i1: a product is so small that one of the next step may be subnormal. */
kir_value tly_rows_step_is_small(tly_rows *r, const tly_rows_state *s);
/* Then all windows of the step are joined so (rows_prescale_steps.c); i1: nothing of the span
 * counts. */
kir_value tly_rows_join_prescaled(tly_rows *r, const kir_value *parts, tly_rows_state *s,
                                  kir_value *shown);

/* ---- totals (rows_total.c) ---- */

unsigned tly_rows_total_count(const tly_rows *r); /* values that it is made of */
/* A step joins it. */
void tly_rows_add_totals(tly_rows *r, const tly_rows_part *parts, kir_value *total);
/* The total: of one scan a scalar; of several each one's, as `last` has results. */
kir_value tly_rows_total(tly_rows *r, const kir_value *total);

/* ---- products of many elements next to 1 (rows_drift.c) ---- */

/* Lane by lane, of a span's elements so far. */
typedef struct tly_rows_distance {
    kir_value lanes;  /* their product's distance from 1 */
    kir_value lowest; /* the lowest below 1 that it has been, as bits */
} tly_rows_distance;

tly_rows_distance tly_rows_no_distance(tly_rows *r);
/* Long rows of this problem are worth it. */
int tly_rows_may_drift(const tly_rows *r);
/* A vector of elements joins. */
void tly_rows_add_distance(tly_rows *r, kir_value x, tly_rows_distance *d);
/* Corrects *y[0..n), at most 2: results (the last lane's) of a span of `count` elements that
 * began with base[0..n). All lanes of one that is corrected are equal. Only whole blocks are. */
void tly_rows_correct(tly_rows *r, kir_value count, const tly_rows_distance *d, unsigned n,
                      const kir_value *base, kir_value *const *y);

/* ---- short rows, prescaled (rows_prescale_rows.c) ---- */

/* A span's attempt: plainly, or prescaled. */
typedef struct tly_rows_attempt {
    kir_value prescaled; /* i1: it is prescaled */
    kir_value again;     /* i1: it is the second, the first came to nothing */
    kir_value bad;       /* i1, in the end: so did this one */
} tly_rows_attempt;

void tly_rows_begin_prescale_rows(tly_rows *r);
int64_t
tly_rows_prescaled_elements(const tly_rows *r);    /* results that may be prescaled at a time */
kir_value tly_rows_prescales_at_once(tly_rows *r); /* i1 */
/* The state and the span as the loop over steps has them. */
tly_rows_span tly_rows_prescale(tly_rows *r, const tly_rows_span *g, const tly_rows_attempt *t,
                                tly_rows_state *s);
/* Stores what the loop left in scratch, and judges by what it met; `flags` become those that are
 * still to be judged. */
void tly_rows_settle(tly_rows *r, const tly_rows_span *g, kir_value count, const tly_rows_state *s,
                     kir_value *flags, tly_rows_attempt *t);
/* A vector of results as it would be had it not been prescaled; `most`: their largest magnitude. */
kir_value tly_rows_unscale(tly_rows *r, kir_value prescaled, kir_value *most);

/* What each lane continues, where that is shown, from what the first ones do; 0 elsewhere. */
kir_value tly_rows_before(tly_rows *r, kir_value first, kir_value y);
/* Results as they are shown; of pairs, `odd` is that of the first of each. `at`: their place, or
 * NULL. */
void tly_rows_show(tly_rows *r, const tly_place *at, kir_value before, kir_value odd, kir_value y,
                   kir_value *shown);

/* ---- what left the range (rows_range.c), and is done again (rows_redo.c) ---- */

/* i1: parts of products of a step left the range, and not by exact zeros alone; each vector by
 * itself. The step's input is at `here`. */
kir_value tly_rows_parts_out_of_range(tly_rows *r, kir_value here, const tly_rows_part *p);
/* i1s: the same of each lane of a vector of elements x. */
kir_value tly_rows_part_out_of_range(tly_rows *r, const kir_value *x, kir_value part);
/* i1: a step's results `y`, one a vector, left the range on a way that the plain loop may not have
 * taken; `shown`: as they are shown; `wide` (i1): its products moved by more than half of the
 * range, perhaps. Products that the loop lost in any case become 0 in the state. */
kir_value tly_rows_results_out_of_range(tly_rows *r, kir_value wide, const tly_rows_result *y,
                                        const kir_value *shown, tly_rows_state *s);
/* i1s: of the results of vector k, `shown`, some are infinite in the output. */
kir_value tly_rows_shows_infinity(tly_rows *r, const kir_value *shown, unsigned k);
/* Extremes over a span: of its elements (by windows), or how far its parts lie from the lower
 * end of their part of the range (no low); and of its results. */
typedef struct tly_rows_seen {
    kir_value high, low, results;
    kir_value bad; /* i1, where small products are made in another way: some are not the loop's */
} tly_rows_seen;
/* How many parts of the range a vector (by windows, an element) may take for a step to move by half
 * of it. */
unsigned tly_rows_range_parts(const tly_rows *r);
tly_rows_seen tly_rows_see_none(tly_rows *r);
void tly_rows_see_part(tly_rows *r, tly_rows_seen *seen, kir_value v);
void tly_rows_see_result(tly_rows *r, tly_rows_seen *seen, const tly_rows_result *y);
/* i1: elements, or parts, of products in the span were too far apart. */
kir_value tly_rows_seen_apart(tly_rows *r, const tly_rows_seen *seen);
/* i1: it is no use to try: a sum is infinite or NaN already. */
kir_value tly_rows_is_lost(tly_rows *r, const tly_rows_state *s);
/* i1: something in a span that came to state s may have left the range. */
kir_value tly_rows_seen_out_of_range(tly_rows *r, const tly_rows_seen *seen, tly_rows_state *s);
/* The last result in the step of each lane of its vector k, from those of its last vector. */
kir_value tly_rows_end_of(tly_rows *r, kir_value last, unsigned k);
/* A step with lanes that left the range, by its input at `here`. `end`: the results of its last
 * vector, and `shown`: all that it shows, which do not count and are replaced; `apart` (i1):
 * parts of products left it. No scan's outcome depends on the others that lie beside it. */
void tly_rows_redo(tly_rows *r, kir_value here, kir_value end, kir_value apart, tly_rows_state *s,
                   kir_value *shown);
kir_value tly_rows_elements_not_zero(tly_rows *r, const kir_value *x); /* i1s; of pairs: both */
kir_value tly_rows_is_zero(tly_rows *r, kir_value v);                  /* i1s */
kir_value tly_rows_sums_out_of_range(tly_rows *r, const tly_rows_result *y);
/* v, but 0 where `newest`, the product that it continues, is below all normal numbers. */
kir_value tly_rows_flush(tly_rows *r, kir_value v, kir_value newest);
int64_t tly_rows_work_bytes(const tly_rows *r);

/* ---- loops over a span (rows_span.c) ---- */

/* What a loop over steps does. */
enum { TLY_ROWS_RESULTS = 1, TLY_ROWS_TOTAL = 2 };

/* Elements [0, count) of a span, with or without results. Careful, each step is judged; fast,
 * nothing counts where flags were raised, which are cleared before, or something was `seen`. */
void tly_rows_run(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in, kir_value count,
                  unsigned what, tly_rows_state *s, tly_rows_seen *seen);
/* Where `deferred`: results as accumulators, from element i of the span on. */
kir_value tly_rows_acc_results_at(tly_rows *r, kir_value i);
/* They go where they belong, narrowed: elements [0, count); `most`, unless NULL: they are
 * prescaled. */
void tly_rows_store_deferred(tly_rows *r, const tly_rows_span *g, kir_value count, kir_value *most);

#endif
