/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial (trial.h) knows of its case, and its judgement of one run. */
#ifndef TLY_TRIAL_STATE_H
#define TLY_TRIAL_STATE_H

#include "fused.h"
#include "trial.h"

typedef struct tly_trial_state {
    tly_trial *t;
    tly_layout layout;
    tally_dtype dtype;          /* the output's */
    size_t in_element, element; /* bytes of the input's and of the output's */
    size_t in_bytes, out_bytes;
    char *input;     /* the input region as it must stay */
    char *other;     /* the same with other neighbours of one scan */
    char *expected;  /* the output's window as it must be */
    int64_t *places; /* output indices from the region's start, in scan order */
    int64_t count;
    char *first; /* elements of the first run, in scan order */
    int have_first;
    char *judged; /* a contiguous image of the first output region */
    tly_fused_place places_of[TALLY_MAX_OPERANDS];
    char *
        operands[TALLY_MAX_OPERANDS]; /* as they must stay, from their lowest element; NULL: none */
    size_t operand_bytes[TALLY_MAX_OPERANDS];
} tly_trial_state;

/* Writes t->why; 1. */
int tly_trial_fail(tly_trial *t, const char *format, ...);

/* The pointer that an index counts from, which may lie outside of the buffer. */
void *tly_trial_origin(char *low, int64_t index, size_t element);

/* Draws the data. Whatever comes of it, the state is to be released. */
int tly_trial_prepare(tly_trial_state *s, tly_trial *t);
void tly_trial_release(tly_trial_state *s);

/* The output's elements may have any value here; every other byte of its window must be as it was
 * before the run, which s->expected holds. */
int tly_trial_check_bytes(tly_trial_state *s, const tly_buffer *out, const char *label);

/* Judges a run by the reference, and keeps its elements. */
int tly_trial_check_first(tly_trial_state *s, const tly_buffer *out, const char *label);

/* Elements `begin` to `end` - 1 in scan order are those of the first run. */
int tly_trial_check_same(tly_trial_state *s, const tly_buffer *out, const char *label,
                         int64_t begin, int64_t end);

#endif
