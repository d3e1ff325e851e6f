/* SPDX-License-Identifier: Apache-2.0 */
/* How tasks share the segments of a reduction; see segments.c. */
#ifndef TLY_RUN_SEGMENTS_H
#define TLY_RUN_SEGMENTS_H

#include "run.h"

/* Offsets cut the axis: tickets get about as many elements each. 0: they do not. */
int tly_segments_cut(tly_run *run);
/* The tile that a ticket begins with. */
int64_t tly_segments_border(const tly_run *run, int64_t ticket);

#endif
