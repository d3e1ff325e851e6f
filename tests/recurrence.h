/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data of linear recurrences, `linrec:f32` with operand `a`: where scans begin, classes behind
 * infinities and NaN, and factors that leave the range of floats.
 */
#ifndef TLY_RECURRENCE_H
#define TLY_RECURRENCE_H

#include <stddef.h>
#include <tally/descriptor.h>

enum { TLY_MOST_RECURRING = 48000 }; /* elements of a word */

typedef struct tly_recurring {
    tally_descriptor d;
    float x[TLY_MOST_RECURRING], a[TLY_MOST_RECURRING], y[TLY_MOST_RECURRING];
} tly_recurring;

/* What a word's elements are: by their number, which grows along memory. */
typedef struct tly_recurring_kind {
    const char *name;
    void (*fill)(tly_recurring *c, size_t i);
} tly_recurring_kind;

enum { TLY_RECURRING_KINDS = 8 };
extern const tly_recurring_kind tly_recurring_kinds[TLY_RECURRING_KINDS];

void tly_recurring_fill(tly_recurring *c, size_t kind);

#endif
