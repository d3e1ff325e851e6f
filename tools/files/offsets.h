/* SPDX-License-Identifier: Apache-2.0 */
/* The offsets of a word's segments (docs/word.md) as a file of the command: offsets=FILE. */
#ifndef TLY_OFFSETS_H
#define TLY_OFFSETS_H

#include "file.h"

/* All zero: the word's axis is not cut by offsets. */
typedef struct tly_offsets {
    const char *given; /* the FILE, or NULL */
    tly_input input;
    const void *from; /* after tly_offsets_load; NULL: there are none */
} tly_offsets;

/* Opens the file, which holds as many offsets as the descriptor wants, of its dtype. EXIT_USAGE if
 * one of file and segments is there and the other is not. */
int tly_offsets_place(tly_offsets *offsets, const tally_descriptor *descriptor, const char *word,
                      tly_report *report);

/* Brings the offsets into memory. */
int tly_offsets_load(tly_offsets *offsets, tly_report *report);

/* As tly_input_check. */
int tly_offsets_check(const tly_offsets *offsets, tly_report *report);

void tly_offsets_close(tly_offsets *offsets);

#endif
