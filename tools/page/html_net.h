/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nets: what is combined with what, from the values that go in to the results. html_net.c draws
 * them, html_words.c names their values and tells the same in words, html_draw.c has those of the
 * templates.
 */
#ifndef TLY_HTML_NET_H
#define TLY_HTML_NET_H

#include "html.h"

enum { TLY_NET_COLUMNS = 64, TLY_NET_LEVELS = 24 };

/* A letter and a number below it. Letter 0: there is no such value; 1 to 24: Greek. Number -1: the
 * letter is all. */
typedef struct tly_value_name {
    char letter;
    short number;
} tly_value_name;

/* Values side by side. At each level some become two of the level before, combined in this order,
 * or (right -1) another's copy; the others stay (left -1). */
typedef struct tly_net {
    int columns, levels;
    int running; /* one state takes all: it is called by the result's letter and the level */
    tly_value_name leaf[TLY_NET_COLUMNS], result[TLY_NET_COLUMNS];
    short left[TLY_NET_LEVELS][TLY_NET_COLUMNS], right[TLY_NET_LEVELS][TLY_NET_COLUMNS];
} tly_net;

/* ---- html_net.c ---- */

/* Leaves and results are called by a letter each and their column. Columns beyond the most are
 * dropped. */
void tly_net_begin(tly_net *net, int columns, char leaf, char result);
void tly_net_one_result(tly_net *net, int column); /* it alone has one, without a number */
void tly_net_level(tly_net *net);                  /* from here on one level further */
void tly_net_set(tly_net *net, int column, int left, int right);
/* The figure; `name`: what it is to the test that computes by it. */
void tly_net_draw(const tly_net *net, const char *name, tly_text *to);

/* ---- html_words.c ---- */

/* The level at which the column's value of `level` was made; 0: it is what goes in. */
int tly_net_made_at(const tly_net *net, int level, int column);
tly_value_name tly_net_name(const tly_net *net, int level, int column);
/* What is common to the names of a level's values that are no results; letter 0: all are results.
 */
tly_value_name tly_net_row(const tly_net *net, int level);
void tly_value_print(tly_value_name name, tly_text *to);
void tly_net_write_words(const tly_net *net, tly_text *to);

#endif
