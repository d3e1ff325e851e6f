/* SPDX-License-Identifier: Apache-2.0 */
/* How tasks share the segments of a reduction; see segments.c. */
#ifndef TLY_RUN_SEGMENTS_H
#define TLY_RUN_SEGMENTS_H

#include "run.h"

/* Offsets cut the axis: tickets get about as many elements each. 0: they do not. */
int tly_segments_cut(tly_run *run);
/* Does tickets as long as there are some. */
void tly_segments_work(tly_run *run, char *scratch);
/* After all tickets, and where there is nothing to share: frees what the cut made. */
void tly_segments_end(tly_run *run, char *scratch);

#endif
