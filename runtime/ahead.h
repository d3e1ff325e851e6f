/*
 * What functions made ahead of time call, and the constant data that they hand over: both become
 * parts of every object that `tally compile` writes (docs/ahead.md). ahead.c is compiled to LLVM's
 * bitcode while Tally is built, together with ready.c and what else it needs; libtally-llvm puts it
 * into an object beside the kernels, and writes the data as words in the order of these structs.
 */
#ifndef TLY_AHEAD_H
#define TLY_AHEAD_H

#include "ready.h"

/* A word's kernel for one level. */
typedef struct tly_ahead_code {
    tly_entry entry; /* NULL: there is nothing to do */
    int64_t level;   /* its number (cpu/features.h) */
    tly_ready ready;
} tly_ahead_code;

/* A word whose sizes are all known; the best level comes first. */
typedef struct tly_ahead_word {
    int64_t count;
    tly_ahead_code codes[];
} tly_ahead_word;

/* Does one of `parts`: 0, EINVAL, ENOMEM; ENOTSUP if the machine has none of the levels. `sizes` are
 * the open ones, in the word's order. All functions here have the same parameters, and these are
 * their names. */
#define TLY_AHEAD_RUN "tly_ahead_run"
int tly_ahead_run(const tly_ahead_word *word, const int64_t *sizes, const void *in, void *out,
                  int64_t part, int64_t parts);

#endif
