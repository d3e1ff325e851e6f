/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One small scan, lifted to every way an axis can lie, and pushed by neutral elements over the
 * borders of vectors, blocks and chunks; in run order, and in some shapes also in serial order.
 */
#ifndef TLY_LIFTS_H
#define TLY_LIFTS_H

#include "cases.h"

typedef struct tly_scan {
    const char *kernel; /* op:dtype */
    int length;
    const char *options;  /* with a leading comma; "" */
    const char *in, *out; /* as in cases.h, without "V*N" */
    const char *neutral;  /* may stand before the scan's start without a trace; NULL: nothing may */
} tly_scan;

/* Calls `wrong` with a message for each shape in which the scan is wrong; returns their count. */
int tly_scan_run(tly_levels *levels, const tly_scan *scan, void (*wrong)(const char *why));

#endif
