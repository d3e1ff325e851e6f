/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What functions made ahead of time call, and the constant data that they hand over: both become
 * parts of every object that `tally compile` writes (docs/ahead.md). ahead.c is compiled to LLVM's
 * bitcode while Tally is built, together with prepared.c and what else it needs; libtally-llvm puts
 * it into an object beside the kernels, and writes the data as words in the order of these structs.
 *
 * It is compiled twice. The plain launch has no operands and no carry: with TLY_WITHOUT_OPERANDS
 * all arrays end behind the output, and codegen/ahead.c leaves out the rest. Its objects are a
 * tenth smaller. The other launch takes all words. An object has the functions of each launch that
 * its words use.
 */
#ifndef TLY_AHEAD_H
#define TLY_AHEAD_H

#include "../launch/prepared.h"

enum { TLY_FACT_WORDS = TLY_FACT_BYTES / 8 };

/* In front of the names of the plain launch (tools/bitcode). */
#define TLY_AHEAD_PLAIN "plain_"

/* Bytes of a descriptor that a word with open sizes has. */
#ifdef TLY_WITHOUT_OPERANDS
#define TLY_AHEAD_DESCRIPTOR offsetof(tally_descriptor, operands)
#else
#define TLY_AHEAD_DESCRIPTOR sizeof(tally_descriptor)
#endif

/* A word's kernel for one level. */
typedef struct tly_ahead_code {
    tly_entry entry; /* NULL: there is nothing to do */
    int64_t level;   /* its number (cpu/features.h) */
    tly_prepared prepared;
} tly_ahead_code;

/* A word whose sizes are all known; the best level comes first. */
typedef struct tly_ahead_word {
    int64_t count;
    tly_ahead_code codes[];
} tly_ahead_word;

/* A word with open sizes has a kernel for every problem that they may make (variants.c), in rising
 * order; those for the best level come first. */
typedef struct tly_ahead_variant {
    tly_entry entry;
    int64_t level;
    uint64_t facts[TLY_FACT_WORDS]; /* of the problem; all have one program, which is in the code */
    tly_launch launch;
} tly_ahead_variant;

typedef struct tly_ahead_open {
    int64_t count;
    int64_t each;                    /* of one level */
    char full[TLY_AHEAD_DESCRIPTOR]; /* resolved; what it lacks is zero */
    tly_ahead_variant variants[];
} tly_ahead_open;

/* The order of problems by their facts: below 0, 0, above 0. */
static inline int tly_problem_order(const void *a, const void *b)
{
    uint64_t x[TLY_FACT_WORDS], y[TLY_FACT_WORDS];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    size_t i = 0;
    while (i + 1 < TLY_FACT_WORDS && x[i] == y[i]) {
        i++;
    }
    return (x[i] > y[i]) - (x[i] < y[i]);
}

/* Words of a tly_ahead_code behind its entry. */
#define TLY_AHEAD_WORDS(tensors) \
    (43 + (tensors) * (sizeof(tly_tensor) + sizeof(tly_apart) + 2 * sizeof(int64_t)) / 8)

_Static_assert(sizeof(tly_ahead_code) == 8 + 8 * TLY_AHEAD_WORDS(TLY_TENSOR_COUNT),
               "codegen/ahead.c writes these structs");
_Static_assert(TLY_FACT_BYTES % 8 == 0 && TLY_AHEAD_DESCRIPTOR % 8 == 0 &&
                   sizeof(tly_launch) % 8 == 0,
               "words of 64 bits");

/* Does one of `parts`: 0, EINVAL, ENOMEM; ENOTSUP if the machine has none of the levels. `sizes`
 * are the open ones, in the word's order; `tensors` has the address of each tensor that the word
 * has, by its number. All functions here have the same parameters, and these are their names. */
#define TLY_AHEAD_RUN "tly_ahead_run"
int tly_ahead_run(const tly_ahead_word *word, const int64_t *sizes, char *const *tensors,
                  int64_t part, int64_t parts);

#define TLY_AHEAD_RUN_OPEN "tly_ahead_run_open"
int tly_ahead_run_open(const tly_ahead_open *word, const int64_t *sizes, char *const *tensors,
                       int64_t part, int64_t parts);

#endif
