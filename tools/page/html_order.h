/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a kernel's order share. html_order.c has scans on CPUs, html_order_reduce.c
 * reductions on CPUs; html_order_gpu.c, _lanes.c, _chunks.c and _gpu_reduce.c have kernels for
 * devices.
 */
#ifndef TLY_HTML_ORDER_H
#define TLY_HTML_ORDER_H

#include "../common/about.h"
#include "html_net.h"

/* A kernel's order on its way to the page. */
typedef struct order {
    const tly_page *page;
    tly_text *to;
    const tly_about *about; /* the operator */
} order;

static inline void begin_step(order *o, const char *title)
{
    tly_text_print(o->to, "<li><h3>%s</h3>", title);
}

static inline void end_step(order *o)
{
    tly_text_print(o->to, "</li>");
}

static inline int smaller(int a, int b)
{
    return a < b ? a : b;
}

static inline int larger(int a, int b)
{
    return a > b ? a : b;
}

/* "s" where there are several. */
static inline const char *plural(int64_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- html_draw.c: nets of an order; `name` as of tly_net_draw ---- */

/* Each result is the one `apart` columns before it, combined with the next element. */
void tly_draw_chain(int columns, int apart, char leaf, char result, const char *name, tly_text *to);
/* A chain that begins with a carry. Results are what there is behind each of the columns, or, for
 * `before`, what there is before each: the carry is the first. */
void tly_draw_carried(int columns, char carry, char leaf, char result, int before, const char *name,
                      tly_text *to);
/* One state takes one value after the other. */
void tly_draw_fold(int columns, char leaf, char result, const char *name, tly_text *to);
/* The second letter's value up to the last one's, from left to right; then the first one's in
 * front. */
void tly_draw_parts(const char *letters, char result, const char *name, tly_text *to);
/* Windows of 1, 2, 4, ... that end at each column, as long as a vector; then results. */
void tly_draw_windows(int lanes, int columns, tly_text *to);
/* Two vectors, each by itself, of `unit` scans side by side; then what came before. */
void tly_draw_vectors(int lanes, int unit, tly_text *to);
/* A vector whose lanes hold two neighbours each. */
void tly_draw_pairs(int lanes, tly_text *to);
void tly_draw_scalars(tly_text *to); /* a chain that goes on by two */
/* Folds: the upper half onto the lower; neighbours by pairs. */
void tly_draw_halves(int columns, char leaf, const char *name, tly_text *to);
void tly_draw_neighbours(int columns, char leaf, const char *name, tly_text *to);
/* Invocations: a scan by doubling, of `unit` scans side by side. */
void tly_draw_doubling(int lanes, int unit, char leaf, char result, const char *name, tly_text *to);
/* A fold with the lane whose number differs in a bit. */
void tly_draw_exchange(int lanes, char leaf, char result, const char *name, tly_text *to);

/* ---- html_tiles.c: tiles of devices ---- */

/* One direction in which a tile's elements lie. */
typedef struct tly_reach {
    const char *name;
    int64_t count;         /* how many there are in it */
    int64_t along, beside; /* elements of the axis, and lanes, from one to the next */
    int who;               /* each one is another invocation's */
} tly_reach;

/* Which invocation holds what. The first `down` directions go downwards in the drawing, the next
 * `across` ones to the right, and the others are within a cell. */
typedef struct tly_hold {
    tly_reach reach[5];
    int count, down, across;
} tly_hold;

void tly_draw_hold(const tly_hold *hold, const char *name, const char *caption, tly_text *to);

/* Pieces of a length that follow each other. */
typedef struct tly_strip {
    const char *piece, *of; /* "tile", "elements" */
    int64_t size, cut;
    char carry; /* what one hands to the next; 0: nothing */
} tly_strip;

void tly_draw_strip(const tly_strip *strip, const char *name, tly_text *to);

/* ---- steps that several templates share ---- */

void tly_tell_plain(order *o);
void tly_tell_scan_chunks(order *o);
void tly_tell_range(order *o);
int tly_is_floating(const order *o); /* what it is computed in */
int tly_is_product_of_floats(const order *o);
const char *tly_exclusive(const order *o); /* a paragraph about exclusive scans; else nothing */

void tly_tell_takes(order *o, int together, const char *what);
void tly_tell_reduced_chunks(order *o);

/* html_order_chunks.c: carries of devices, from one chunk or dispatch to the next. */
typedef struct tly_cut {
    int64_t length, chunk; /* along the axis */
    const char *of;        /* elements, positions */
    const char *who;       /* goes through a chunk: "a team", "an invocation" */
    int64_t tile;          /* of a chunk; 0: it goes element by element */
    int grouped;           /* carries go by groups of chunks */
} tly_cut;
void tly_tell_totals(order *o, const tly_cut *cut);
void tly_tell_carries(order *o, const tly_cut *cut);
/* How much of the axis one dispatch goes through; where that is not all, a step about the others.
 */
int64_t tly_one_dispatch(const order *o, int64_t length);
void tly_tell_dispatches(order *o, int64_t length, const char *of);

/* html_stages.c: a step for each expression of the word. */
void tly_tell_map(order *o);
void tly_tell_post(order *o);

/* ---- templates ---- */

void tly_tell_reduce_rows(order *o);
void tly_tell_reduce_lanes(order *o);
void tly_tell_reduce_interleaved(order *o);

void tly_tell_teams(order *o);
void tly_tell_staged(order *o);
void tly_tell_look_back(order *o);
void tly_tell_columns(order *o);
void tly_tell_turned(order *o);
void tly_tell_look_back_lanes(order *o);
void tly_tell_gpu_reduce_rows(order *o);
void tly_tell_gpu_reduce_lanes(order *o);

#endif
