/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of `tally inspect --html`: what a kernel is, how it goes through the tensor, why, and
 * what became of it. One file that needs no other and no network, well-formed as HTML and as XML.
 * Everything it tells comes from the library's texts (tally_stage).
 */
#ifndef TLY_HTML_H
#define TLY_HTML_H

#include "../bench/bench.h"
#include "../files/text.h"

typedef struct tly_page {
    const tly_job *job;
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

/* html_stages.c: the two tensors of a carry, if the word has them. */
void tly_tell_carry(const tally_descriptor *descriptor, tly_text *to);

/* ---- html_cuts.c: lengths that are cut into pieces ---- */

enum { TLY_PIECES = 6 };

/* Where pieces lie in a drawing: all of them, or the first ones, a gap and the last one. */
typedef struct tly_pieces {
    int64_t count;
    int shown; /* with the last */
    double at[TLY_PIECES], end[TLY_PIECES];
} tly_pieces;

/* `size` in pieces of `cut` (0: one piece), from `from` on, `width` wide. */
tly_pieces tly_lay_out(int64_t size, int64_t cut, double from, double width);
int64_t tly_piece_number(const tly_pieces *pieces, int shown);

#endif
