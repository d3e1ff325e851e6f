/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations that the files of the rows template share; rows.c says how it works. A row is
 * scanned block by block. A block may hold several dense rows; the part of a row in a block is a
 * span, and a span is scanned in steps of a few vectors.
 */
#ifndef TLY_ROWS_H
#define TLY_ROWS_H

#include "../template.h"

enum {
    MAX_HISTORY = TLY_ROWS_MOST_VECTORS_BACK,
    MAX_TOTALS = TLY_ROWS_MOST_TOTALS,
    MAX_UNROLL = TLY_ROWS_MOST_UNROLL,
    SAFE_UNROLL = TLY_ROWS_SAFE_UNROLL
};

typedef struct tly_rows {
    tly_build *c;
    unsigned interleave;       /* scans that lie interleaved in a row */
    unsigned unroll;           /* vectors a step */
    unsigned loads, doublings; /* of windows: doublings by overlapping loads, and all of them */
    unsigned history;          /* vectors of results that the next one may continue */
    unsigned pairs;            /* 1: a lane loads two elements (bf16), 0: one */
    unsigned wide;             /* elements a vector */
    int windows;               /* 1: windows over vectors; 0: each vector is scanned by itself */
    int checks;                /* 1: partial results may leave the floating-point range */
    int fast;                  /* 1: a span is validated when it is done; 0: each step is */
    int by_flags;              /* fast: by the flags of arithmetic; 0: by the extremes seen */
    int ends_by_flags;  /* fast, interleaved: flags tell of zeros and infinities, extremes do not */
    int deferred;       /* 1: results are stored once the flags have been read */
    int prescale_steps; /* 1: steps of small products are scaled (rows_prescale_steps.c) */
    int prescale_rows;  /* 1: so are rows of a few steps (rows_prescale_rows.c) */
    int totals;         /* 1: a chunk's total is another value than its last result */
    int checks_total;   /* totals: flags say whether the total is valid */
    int corrects;       /* 1: products of many elements are corrected (rows_drift.c) */
    int64_t step, block, chunk; /* elements */
    int64_t widest;             /* elements of the longer of a fast step and a safe one */
    int direct_in, direct_out;  /* 1: vectors are read, written where the tensor lies */
    int maps;                   /* 1: elements are loaded where tensors lie, by their number, and go
                                   through `map` in registers; 0: when they are staged */
    int posts;                  /* 1: results go through `post`, or from keys to elements, when they
                                   are stored */
    /* Scratch. */
    kir_value work;          /* results of a step that is done again */
    kir_value input, buffer; /* staged input, staged output */
    kir_value pad;           /* a step of neutral values, as input */
    kir_value acc_results;   /* deferred, prescale_rows: a span's results as accumulators */
    kir_value prescale_hold; /* prescale_rows: how many rows are still prescaled at once */

    kir_value ahead;         /* bytes to prefetch ahead */
    kir_value length, group; /* elements of a row; rows scanned at a time */
    kir_value is_cut;        /* i1, totals: rows have several chunks */
    kir_value only_total;    /* i1, totals: this launch wants totals and no results */
    kir_value few_steps;     /* i1, prescale_rows: rows have few steps */
    kir_value small;         /* i32, prescale_steps: a product whose bits are less is small */
} tly_rows;

/* Where a scan stands. What comes next continues the true prefixes, whatever the way:
 *   interleave < lanes     last[0]: for each lane of the next vector, the newest result of its scan
 *   interleave >= lanes    last[0..history): the last vectors of results, newest first */
typedef struct tly_rows_state {
    kir_value last[MAX_HISTORY];
    /* With `totals` alone: the carry at the chunk's start, and the chunk's total so far. The total
     * of one scan is in the last lane, of products scaled (rows_chunks.c); rows_total.c says where
     * totals of interleaved scans are. */
    kir_value base, total[MAX_TOTALS];
    kir_value total_invalid; /* i1, checks_total: something in the chunk left the range */
} tly_rows_state;

/* A loop or branch carries the state. */
void tly_rows_carry(const tly_rows *r, tly_region *l, tly_rows_state *s);
/* interleave 1: the result that the next element continues. */
kir_value tly_rows_prefix(tly_rows *r, const tly_rows_state *s);

/* One block: `rows` spans of `count` elements. */
typedef struct tly_rows_block {
    tly_row at;     /* position 0 of the first row, in tensors that are read */
    kir_value rows; /* how many rows */
    kir_value position, count;
    kir_value buffered;      /* elements that the buffer held before the block */
    kir_value direct;        /* i1: results are stored at `out`, not in the buffer; 0: never */
    kir_value out;           /* the place of the block's results in memory */
    kir_value lines, leaves; /* see tly_rows_span */
    const tly_stream *stream;
} tly_rows_block;

/* Scans a block and brings the state up to date (rows_block.c). */
void tly_rows_compute(tly_rows *r, const tly_rows_block *k, tly_rows_state *s);
/* Decides whether lines of the buffer are sent to memory while the block is scanned. */
void tly_rows_go_along(tly_rows *r, tly_rows_block *k, tly_stream *out, kir_value streams,
                       kir_value totals);

/* The part of a row that is in a block. */
typedef struct tly_rows_span {
    tly_row at;      /* its input and its operands in memory */
    kir_value to;    /* where its results are stored: in the buffer, or in memory; 0: nowhere */
    kir_value lines; /* i1: `to` is whole lines of memory, to be stored past the cache; 0: never */
    kir_value prescaled; /* i1: results stay in scratch, as accumulators; 0: never */
    kir_value count;     /* elements */
    kir_value
        leaves; /* steps from this element on send lines written a few steps before; 0: none */
    const tly_stream *stream; /* whose lines are sent */
} tly_rows_span;

/* Sends the lines that the step at element `i` has to send. */
void tly_rows_send(tly_rows *r, const tly_rows_span *g, kir_value i);

/* Scans a span and brings the state up to date (rows_validate.c, rows_scalar.c). */
void tly_rows_scan(tly_rows *r, const tly_rows_span *g, tly_rows_state *s);
void tly_rows_scan_scalar(tly_rows *r, const tly_rows_span *g, tly_rows_state *s);

/* ---- chunks (rows_chunks.c) ---- */

/* The state at a row's start. Where `first` (i1) holds and the task has a carry, the carry counts.
 */
tly_rows_state tly_rows_start(tly_rows *r, kir_value first, const tly_row *at, kir_value from);
/* If a chunk ends at `position`, the next one starts from its carry. `from`: the position that the
 * scan of the row began at, where no chunk ends. */
void tly_rows_cross_border(tly_rows *r, tly_rows_state *s, kir_value position, kir_value from);
int64_t tly_rows_record_bytes(const tly_rows *r);
/* The outcome of a row is what other threads may want: carries; with `totals` the total of its last
 * chunk; with `checks_total` an i1, that the total is invalid. Before any row (returns the number
 * of values), and after one. */
enum { MAX_OUTCOME = MAX_HISTORY + 2 };
unsigned tly_rows_begin_outcome(tly_rows *r, kir_value *outcome);
void tly_rows_end_row(tly_rows *r, const tly_rows_state *s, kir_value *outcome);
void tly_rows_store_record(tly_rows *r, kir_value totals, const kir_value *outcome);
/* Does what TLY_MODE_COMBINE asks for. Returns what the kernel then returns: 0, or 1 if a total is
 * invalid. */
kir_value tly_rows_combine(tly_rows *r);

/* ---- input ---- */

/* Where a span's steps read (rows_input.c). With `maps`, places of steps are numbers of elements in
 * the span; else addresses. */
typedef struct tly_rows_source {
    const tly_rows_span *span;
    kir_value first; /* where the first step is read */
    kir_value base;  /* steps at elements i < whole are read at base + i */
    kir_value last;  /* where the last step is read; if it is the first, the value is not used */
    kir_value whole;
} tly_rows_source;
tly_rows_source tly_rows_prepare(tly_rows *r, const tly_rows_span *g);
/* Where the step at element `i` of [0, count) is read. */
kir_value tly_rows_place(tly_rows *r, const tly_rows_source *in, kir_value i);
/* Where the step after the one at element `i` is read; after the last one, the last one again. */
kir_value tly_rows_next(tly_rows *r, const tly_rows_source *in, kir_value i);
/* Loads a vector of accumulators, whose lanes are in the order that costs least; tly_rows_order
 * brings them to their own. */
kir_value tly_rows_load(tly_rows *r, kir_value p);
kir_value tly_rows_order(tly_rows *r, kir_value v);
/* Vector k of a step at `p`, in its own order, of pairs both; returns where it lies. */
kir_value tly_rows_load_step(tly_rows *r, kir_value p, kir_value k, kir_value *x);
/* With `maps`: the vectors of the step at element `i`, through `map`. Behind the span's end they
 * are neutral. */
void tly_rows_map_step(tly_rows *r, const tly_rows_span *g, kir_value i, kir_value *x);
/* States of elements that were read at `from`; 0: their lanes are not neighbours there. */
kir_value tly_rows_element(tly_rows *r, kir_value from, kir_value x);
int64_t tly_rows_element_bytes(const tly_rows *r); /* from one position to the next */
int64_t tly_rows_input_bytes(const tly_rows *r);   /* of scratch, on either side of r->input */
/* Bytes of the pad; *zero of them lie before r->pad. */
int64_t tly_rows_pad_bytes(const tly_rows *r, int64_t *zero);
void tly_rows_fill_pad(tly_rows *r);
/* How many elements before a vector its overlapping loads take in. */
int64_t tly_rows_reach(const tly_rows *r);
/* Prefetches lines, as many as the step at element `i` of a span reads. */
void tly_rows_prefetch(tly_rows *r, const tly_rows_span *g, kir_value i);

/* ---- one vector (rows_vector.c) ---- */

/* A vector before it is joined to what comes before: its windows, or its scan by itself. With pairs
 * the scan is over combined pairs, and `first` has the first element of each. */
typedef struct tly_rows_part {
    kir_value scan, first;
} tly_rows_part;

/* The scan of a vector by itself, from its elements (of pairs: both), which were read at `from`. */
tly_rows_part tly_rows_part_of(tly_rows *r, kir_value from, const kir_value *x);

/* A joined vector: y = first combined with part, lane by lane. */
typedef struct tly_rows_result {
    kir_value first, part, y;
} tly_rows_result;

/* The whole windows of the vector at `p` (rows_windows.c); `is_first`: no vector is before it.
 * windows: those of the vector before, one for each doubling, which its own replace. *seen: the
 * vector's elements. */
kir_value tly_rows_window(tly_rows *r, kir_value p, int is_first, kir_value *windows,
                          kir_value *seen);
/* The same of elements that are loaded, where windows are not widened by loads. */
tly_rows_part tly_rows_window_of(tly_rows *r, kir_value x, kir_value *windows);

/* Joins a part to what comes before it; results as they are shown `at` their place: one value, of
 * pairs two. */
tly_rows_result tly_rows_join(tly_rows *r, const tly_rows_part *p, const tly_place *at,
                              tly_rows_state *s, kir_value *shown);

/* With `prescale_steps` (rows_prescale_steps.c): prepares the kernel. */
void tly_rows_begin_prescale_steps(tly_rows *r);
/* i1: a product is so small that the next step may have subnormal ones. */
kir_value tly_rows_step_is_small(tly_rows *r, const tly_rows_state *s);
/* Joins all windows of such a step. Returns i1: the span must be scanned again. */
kir_value tly_rows_join_prescaled(tly_rows *r, const kir_value *parts, tly_rows_state *s,
                                  kir_value *shown);

/* ---- totals (rows_total.c) ---- */

unsigned tly_rows_total_count(const tly_rows *r); /* values that a total is made of */
/* Adds a step's parts to it. */
void tly_rows_add_totals(tly_rows *r, const tly_rows_part *parts, kir_value *total);
/* The finished total: of one scan a scalar; of interleaved ones a vector like `last[0]`. */
kir_value tly_rows_total(tly_rows *r, const kir_value *total);

/* ---- products of many elements next to 1 (rows_drift.c) ---- */

/* Of a span's elements so far, lane by lane. */
typedef struct tly_rows_distance {
    kir_value lanes;  /* the distance of their product from 1 */
    kir_value lowest; /* the lowest negative distance so far, as bits */
} tly_rows_distance;

tly_rows_distance tly_rows_no_distance(tly_rows *r);
/* 1: long rows of this problem are worth a correction. */
int tly_rows_may_drift(const tly_rows *r);
/* A vector of elements joins. */
void tly_rows_add_distance(tly_rows *r, kir_value x, tly_rows_distance *d);
/* Corrects *y[0..n), n at most 2, the last lanes of which are the results of a span that began with
 * base[0..n). A corrected vector has equal lanes. Spans of fewer elements than a block stay as they
 * are. */
void tly_rows_correct(tly_rows *r, kir_value count, const tly_rows_distance *d, unsigned n,
                      const kir_value *base, kir_value *const *y);

/* ---- rows of a few steps, prescaled (rows_prescale_rows.c) ---- */

/* A span is scanned plainly or prescaled; if that fails, the other way. */
typedef struct tly_rows_attempt {
    kir_value prescaled; /* i1: it is prescaled */
    kir_value again;     /* i1: it is the second attempt */
    kir_value bad;       /* i1, set by tly_rows_settle: it failed */
} tly_rows_attempt;

void tly_rows_begin_prescale_rows(tly_rows *r);         /* prepares the kernel */
int64_t tly_rows_prescaled_elements(const tly_rows *r); /* the most that a row may have */
kir_value tly_rows_prescales_at_once(tly_rows *r);      /* i1: the first attempt is prescaled */
/* Prepares the state for the loop over steps; returns the span to be scanned. */
tly_rows_span tly_rows_prescale(tly_rows *r, const tly_rows_span *g, const tly_rows_attempt *t,
                                tly_rows_state *s);
/* Stores the results that are in scratch, and says whether the attempt failed. `flags` become those
 * that the caller still has to look at. */
void tly_rows_settle(tly_rows *r, const tly_rows_span *g, kir_value count, const tly_rows_state *s,
                     kir_value *flags, tly_rows_attempt *t);
/* Takes the scale out of a vector of results; *most: the largest scaled magnitude, brought up to
 * date. */
kir_value tly_rows_unscale(tly_rows *r, kir_value prescaled, kir_value *most);

/* Exclusive scans and pairs: the prefix before each lane of y, whose first lanes continue `first`.
 * Otherwise 0. */
kir_value tly_rows_before(tly_rows *r, kir_value first, kir_value y);
/* Results as they are shown: of y, or exclusive of `before`. With pairs, `odd` is the result of the
 * first of each, and two values are shown. `at`: their place, or NULL. */
void tly_rows_show(tly_rows *r, const tly_place *at, kir_value before, kir_value odd, kir_value y,
                   kir_value *shown);

/* ---- what left the range (rows_range.c), and is done again (rows_redo.c) ---- */

/* i1: parts of products of a step left the range, and not because of exact zeros alone. The step's
 * input is at `here`. */
kir_value tly_rows_parts_out_of_range(tly_rows *r, kir_value here, const tly_rows_part *p);
/* i1s: the same, for each lane of one part, a vector of elements x. */
kir_value tly_rows_part_out_of_range(tly_rows *r, const kir_value *x, kir_value part);
/* i1: results of a step left the range where those of the plain loop may not have. y: a result a
 * vector; shown: what they show; wide (i1): products may have moved by more than half of the range.
 * Products that the loop also lost become 0 in the state. */
kir_value tly_rows_results_out_of_range(tly_rows *r, kir_value wide, const tly_rows_result *y,
                                        const kir_value *shown, tly_rows_state *s);
/* i1s: lanes of vector k of `shown` that are infinite in the output. */
kir_value tly_rows_shows_infinity(tly_rows *r, const kir_value *shown, unsigned k);
/* Extremes over a span. */
typedef struct tly_rows_seen {
    kir_value high, low; /* by windows: of elements; else `high` is tly_check_apart of parts */
    kir_value results;   /* of results */
    kir_value bad;       /* i1, prescale_steps: some results are not the plain loop's */
} tly_rows_seen;
/* Into how many parts the range is divided, so that a step moves by half of it at most if no vector
 * (by windows, no element) leaves its part. */
unsigned tly_rows_range_parts(const tly_rows *r);
tly_rows_seen tly_rows_see_none(tly_rows *r);
void tly_rows_see_part(tly_rows *r, tly_rows_seen *seen, kir_value v);
void tly_rows_see_result(tly_rows *r, tly_rows_seen *seen, const tly_rows_result *y);
/* i1: elements (or parts) of products in the span lay too far apart. */
kir_value tly_rows_seen_apart(tly_rows *r, const tly_rows_seen *seen);
/* i1: a fast scan is of no use, since a sum is infinite or NaN already. */
kir_value tly_rows_is_lost(tly_rows *r, const tly_rows_state *s);
/* i1: something in a span, whose end is state s, may have left the range. */
kir_value tly_rows_seen_out_of_range(tly_rows *r, const tly_rows_seen *seen, tly_rows_state *s);
/* For each lane of the step's vector k: the last result of its scan in the step. `last`: the
 * results of the step's last vector. */
kir_value tly_rows_end_of(tly_rows *r, kir_value last, unsigned k);
/* Does a step again in which lanes left the range. here: its input; end: the results of its last
 * vector; apart (i1): parts of products left the range; shown: what it showed, which is replaced.
 * The result of a scan does not depend on the scans that are interleaved with it. */
void tly_rows_redo(tly_rows *r, kir_value here, kir_value end, kir_value apart, tly_rows_state *s,
                   kir_value *shown);
kir_value tly_rows_elements_not_zero(tly_rows *r, const kir_value *x); /* i1s; of pairs: both */
kir_value tly_rows_is_zero(tly_rows *r, kir_value v);                  /* i1s */
kir_value tly_rows_sums_out_of_range(tly_rows *r, const tly_rows_result *y);
/* v, with 0 in lanes where `newest`, the product that v continues, is below all normal numbers. */
kir_value tly_rows_flush(tly_rows *r, kir_value v, kir_value newest);
int64_t tly_rows_work_bytes(const tly_rows *r);

/* ---- loops over a span (rows_span.c) ---- */

/* What a loop over steps does. */
enum { TLY_ROWS_RESULTS = 1, TLY_ROWS_TOTAL = 2 };

/* Scans elements [0, count) of a span. In safe mode each step is checked, and done again if need
 * be. In fast mode the caller validates the whole span, by the flags, which are cleared before, or
 * by what was `seen`. */
void tly_rows_run(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in, kir_value count,
                  unsigned what, tly_rows_state *s, tly_rows_seen *seen);
/* Where the results from element i of the span on are kept as accumulators. */
kir_value tly_rows_acc_results_at(tly_rows *r, kir_value i);
/* Stores those of elements [0, count) as the span says. `most`, unless NULL: they are prescaled
 * (tly_rows_unscale). */
void tly_rows_store_deferred(tly_rows *r, const tly_rows_span *g, kir_value count, kir_value *most);

/* ---- flags (rows_flags.c) ---- */

/* The flags of a span of products whose results went through `post` while it was scanned: where
 * there are some, those of the same loop without that, since small results underflow there. Results
 * that were prescaled did not. */
kir_value tly_rows_flags_again(tly_rows *r, const tly_rows_span *g, const tly_rows_source *in,
                               kir_value count, const tly_rows_attempt *attempt,
                               tly_rows_state from, kir_value flags);
/* i1: a span must be scanned again in safe mode. */
kir_value tly_rows_flags_out_of_range(tly_rows *r, const tly_rows_span *g,
                                      const tly_rows_source *in, kir_value flags,
                                      tly_rows_state *s);
/* i1: all products ended below the normal numbers, but a result is shown as infinite. A product may
 * have come back from below the normal numbers where the plain loop's did not, and be infinite in
 * the output though finite as an accumulator. may (i1): that is possible. */
kir_value tly_rows_shown_out_of_range(tly_rows *r, const tly_rows_span *g, kir_value may,
                                      const tly_rows_state *from, const tly_rows_state *s);

#endif
