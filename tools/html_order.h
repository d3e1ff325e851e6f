/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a kernel's order share: html_order.c has scans, the others what their names say. */
#ifndef TLY_HTML_ORDER_H
#define TLY_HTML_ORDER_H

#include "html.h"

/* A kernel's order on its way to the page. */
typedef struct order {
    const tly_page *page;
    tly_text *to;
    int op;
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

void tly_tell_plain(order *o);
void tly_tell_scan_chunks(order *o);
void tly_tell_range(order *o);
void tly_tell_reduced_chunks(order *o);
void tly_tell_reduce_rows(order *o);
void tly_tell_reduce_lanes(order *o);
void tly_tell_reduce_interleaved(order *o);
void tly_tell_teams(order *o);
void tly_tell_lanes(order *o);
void tly_tell_gpu_rows(order *o);

#endif
