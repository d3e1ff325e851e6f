/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: is an output right by docs/semantics.md, sections 5.3, 5.4 and 7? Where several
 * orders of combination are right, all of them are taken, and nothing else.
 */
#ifndef TLY_COMPARE_H
#define TLY_COMPARE_H

#include "reference.h"

typedef struct tly_verdict {
    int64_t wrong; /* elements that are wrong */
    int64_t checked;
    int64_t exact;      /* of the checked ones: those of which only one value was right */
    tly_fact first;     /* the first wrong element, in scan order row by row */
    uint64_t got;       /* its bits */
    const char *reason; /* why it is wrong; NULL if nothing is */
} tly_verdict;

/* What a device may do: take subnormals for zeros; and cut lanes, so that recurrences across rows
 * have other orders than the plain loop's, too. */
enum { TLY_FLUSHES = 1, TLY_CUTS_LANES = 2 };

/* `in` must hold the input as it was before the run. `may`: what it may do. Returns how many
 * elements are wrong. */
int64_t tly_judge(const tally_descriptor *d, const void *in, const void *out, int may,
                  tly_verdict *verdict);
/* The same of a word with operands, as tly_reference_buffers takes them. Where subnormals count as
 * zeros, an element is not judged if an expression has met one. */
int64_t tly_judge_buffers(const tally_descriptor *d, const void *in, const void *const *operands,
                          const void *out, int may, tly_verdict *verdict);

/* Is the plain loop's own result near the wider one, where that says something: without inf, NaN,
 * overflow, underflow? NULL if it is; else why not. */
const char *tly_judge_loop(const tally_descriptor *d, const tly_fact *fact);

/* One line on the first wrong element. */
void tly_verdict_print(const tally_descriptor *d, const tly_verdict *verdict, char *text,
                       size_t capacity);

/* Equal bits, or both NaN. */
int tly_bits_same(tally_dtype dtype, uint64_t a, uint64_t b);

#endif
