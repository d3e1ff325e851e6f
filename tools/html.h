/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `tally inspect --html`: what a kernel is, how it goes through the tensor, why, and
 * what became of it. One file that needs no other and no network, well-formed as HTML and as XML.
 * Everything it tells comes from the library's texts (tally_stage).
 */
#ifndef TLY_HTML_H
#define TLY_HTML_H

#include "bench.h"
#include "text.h"

typedef struct tly_page {
    const tly_subject *subject;
    const char *device; /* what the kernel is for, for people */
    const char *plan;   /* overrides, comma-separated, or "" */
    const char *reasons, *launch, *kir;
    const char *llvm;                /* with lines; NULL: not for a CPU */
    const char *code;                /* assembly, or the SPIR-V's disassembly, which has lines */
    const char *code_lines;          /* assembly with lines; NULL: not for a CPU */
    const tly_measurement *measured; /* or NULL */
} tly_page;

/* Adds the page; without memory the text says so. */
void tly_html_write(const tly_page *page, tly_text *to);

/* ---- html_facts.c: what the texts say ---- */

/* A line's end, or the text's. */
const char *tly_line_end(const char *line);
/* Number `n`, from 0, of the first line `key = ...` of the launch; `otherwise` if there is none. */
int64_t tly_fact(const tly_page *page, const char *key, int n, int64_t otherwise);
int tly_fact_is(const tly_page *page, const char *key, const char *value);
/* A choice of the plan as a number; `otherwise` where the template does not read it. */
int tly_choice(const tly_page *page, const char *key, int otherwise);
int tly_template_is(const tly_page *page, const char *name);
/* One of the plan's keys is forced. */
int tly_is_by_hand(const tly_page *page, const char *key, size_t length);
/* 1, 1,024, 1,048,576. The text lives until the fourth call after. */
const char *tly_count(int64_t n);
/* "in bytes" of people: 4.0 MiB. Likewise. */
const char *tly_size(double bytes);

/* ---- the parts ---- */

void tly_html_tensor(const tly_page *page, tly_text *to); /* html_tensor.c */
void tly_html_cuts(const tly_page *page, tly_text *to);   /* html_cuts.c */
void tly_html_order(const tly_page *page, tly_text *to);  /* html_order.c */
void tly_html_code(const tly_page *page, tly_text *to);   /* html_code.c */
void tly_html_bytes(const tly_page *page, tly_text *to);  /* html_bytes.c */

/* ---- html_net.c: what is combined with what ---- */

enum { TLY_NET_COLUMNS = 64, TLY_NET_LEVELS = 24 };

/* Values side by side. At each level some become two of the level before, combined in this order, or
 * (right -1) another's copy; the others stay (left -1). */
typedef struct tly_net {
    int columns, levels;
    const char *leaf, *result; /* letters of what goes in and comes out */
    int results;               /* how many columns have one; the rest is forgotten */
    short left[TLY_NET_LEVELS][TLY_NET_COLUMNS], right[TLY_NET_LEVELS][TLY_NET_COLUMNS];
} tly_net;

void tly_net_begin(tly_net *net, int columns, const char *leaf, const char *result);
void tly_net_level(tly_net *net); /* from here on one level further */
void tly_net_set(tly_net *net, int column, int left, int right);
void tly_net_draw(const tly_net *net, const char *name, tly_text *to);

/* ---- html_draw.c: drawings of an order ---- */

/* Each result is the one `apart` columns before it, combined with the next element. */
void tly_draw_chain(int columns, int apart, const char *result, tly_text *to);
void tly_draw_fold(int columns, tly_text *to); /* one value takes one after the other */
/* Windows of 1, 2, 4, ... that end at each column, as long as a vector; then results. */
void tly_draw_windows(int lanes, int columns, tly_text *to);
/* Two vectors, each by itself, of `unit` scans side by side; then what came before. */
void tly_draw_vectors(int lanes, int unit, tly_text *to);
/* A vector whose lanes hold two neighbours each. */
void tly_draw_pairs(int lanes, tly_text *to);
void tly_draw_scalars(tly_text *to); /* a chain that goes on by two */
/* Folds: the upper half onto the lower; neighbours by pairs. */
void tly_draw_halves(int columns, const char *leaf, const char *name, tly_text *to);
void tly_draw_neighbours(int columns, const char *leaf, const char *name, tly_text *to);
/* Invocations: a scan by doubling, or a fold with the lane whose number differs in a bit. */
void tly_draw_lanes(int lanes, int unit, int folds, tly_text *to);

#endif
