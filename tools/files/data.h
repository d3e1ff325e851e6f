/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `tally bench` fills its input with: one table of kinds, from data that no order of
 * combination takes out of range to what users have. Guarantees: the same kind, descriptor and
 * size give the same bytes on every machine, up to the last bit of libm.
 */
#ifndef TLY_DATA_H
#define TLY_DATA_H

#include <tally.h>

/* A number that looks random and depends on `index` alone. */
uint64_t tly_scramble(uint64_t index);

typedef struct tly_kind tly_kind;

/* The kind of that name, the default one for NULL; NULL if there is none. */
const tly_kind *tly_kind_find(const char *name);

const char *tly_kind_name(const tly_kind *kind);

/* All names, comma-separated. */
void tly_kind_list(char *text, size_t capacity);

/* Writes the elements 0 to count - 1 of the input's buffer, gaps included. `step` is the input's
 * stride along the axis, 0 if there is none; `at` is told how many are done, now and then, and
 * may be NULL. */
void tly_kind_fill(const tly_kind *kind, const tally_descriptor *descriptor, int64_t step, void *in,
                   int64_t count, void (*at)(uint64_t done));

#endif
