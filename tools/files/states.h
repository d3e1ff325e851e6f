/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a word's carry (docs/state.md) as files of the command: carry_in=FILE is read, and
 * --carry-out FILE is written. carry_in=NUMBER is what all scans begin with.
 */
#ifndef TLY_STATES_H
#define TLY_STATES_H

#include "file.h"

/* All zero: the word has no carry. */
typedef struct tly_states {
    int32_t carry;      /* TALLY_CARRY_... of the word */
    const char *given;  /* FILE or NUMBER of carry_in; NULL: the scan begins from nothing */
    int is_number;      /* after tly_states_match */
    char number[8];     /* after tly_states_place: an element */
    const char *raw;    /* what --raw says of that file, or NULL */
    const char *path;   /* the FILE of carry_out, or NULL */
    tally_dtype dtype;  /* of both tensors, after tly_states_place, and so are these: */
    int32_t rank, axis; /* their rank, and the dim of one state that a file may leave out */
    int64_t sizes[TALLY_MAX_CARRY_RANK];
    size_t bytes;
    tly_input input;
    char *made;       /* elements that lie in no file in C order, or NULL */
    const void *from; /* after tly_states_load; NULL: there are none */
    char *to;         /* likewise; NULL: the word hands on no states */
} tly_states;

/* Judges the arguments beside the word, which is right: EXIT_USAGE if the word lacks what they
 * name, or names what they lack. `verb` is what stands in front of the word in hints, such as
 * "run". The paths must live on. */
int tly_states_match(tly_states *states, const char *verb, const char *word, const char *in,
                     tly_report *report);

/* Finds the shape, and opens the file of carry_in, which must have it, or reads the number. */
int tly_states_place(tly_states *states, const tally_descriptor *descriptor, tly_report *report);

/* Brings the elements of carry_in into memory, and gets memory for those of carry_out. */
int tly_states_load(tly_states *states, tly_report *report);

/* As tly_input_check. */
int tly_states_check(const tly_states *states, tly_report *report);

void tly_states_close(tly_states *states);

#endif
