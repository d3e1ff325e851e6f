/* SPDX-License-Identifier: Apache-2.0 */
/* What a command is to compute: a descriptor, made of a word and perhaps of a file. */
#ifndef TLY_JOB_H
#define TLY_JOB_H

#include "operands.h"

/* What a tensor's elements are and where they lie in its buffer, in elements. */
typedef struct tly_layout {
    tally_dtype dtype;
    int32_t rank;
    int64_t sizes[TALLY_MAX_RANK], strides[TALLY_MAX_RANK];
    int64_t offset;
    int64_t low, high; /* lowest and highest index reached; high < low if there is none */
    int64_t count;     /* logical elements */
    size_t element;    /* bytes of one */
} tly_layout;

typedef struct tly_job {
    tally_descriptor descriptor;
    char word[TALLY_WORD_MAX]; /* canonical */
    int scan;                  /* not a reduction */
    int flat_in, flat_out;     /* the word has in=, out=: the file is a flat buffer */
    tly_layout in, out;        /* neither where a size is open */
} tly_job;

/* Judges what can be judged of a word before its file is opened: a bad word is EXIT_USAGE even if
 * the file is missing. No size may be open. *dtype is the word's, or TALLY_DTYPE_NONE. */
int tly_job_check(const char *word, tally_dtype *dtype, tly_report *report);

/* EXIT_USAGE where a size is open; `file`: a file could have said it. */
int tly_job_need_sizes(const tally_descriptor *descriptor, int file, tly_report *report);

/* Makes a job of a word and, unless `npy` is NULL, of the file `name`, which completes the word and
 * must not contradict it. `operands`, matched with the word, open their files and complete it, too;
 * NULL: an operand is what the word says. */
int tly_job_make(const char *word, const tly_npy *npy, const char *name, tly_operands *operands,
                 tly_job *job, tly_report *report);

#endif
