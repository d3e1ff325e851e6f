/* SPDX-License-Identifier: Apache-2.0 */
/* Calls whose word was read. */
#ifndef TALLY_XLA_PREPARED_H
#define TALLY_XLA_PREPARED_H

#include "xla_ffi.h"

#include <tally.h>

/* A tensor of a word: which buffer it must be, and where tally_buffers has it. */
typedef struct tly_xla_tensor {
    const char *name;
    tally_dtype dtype;
    size_t member;
    int64_t count;
} tly_xla_tensor;

enum {
    TLY_XLA_ARGUMENTS = 3 + TALLY_MAX_OPERANDS,
    TLY_XLA_RESULTS = 2,
    TLY_XLA_DIMS = 16 /* calls with more dimensions are not kept */
};

/* What a call with this word, on an input of these sizes, comes to. */
typedef struct tly_xla_prepared {
    tally_kernel *kernel;
    int is_kept; /* as long as the process lives */
    int arguments, results;
    tly_xla_tensor argument[TLY_XLA_ARGUMENTS], result[TLY_XLA_RESULTS];
    int64_t scanned; /* the size of the axis of a scan in segments; -1: the word is none */
    int64_t segments, rank, sizes[TLY_XLA_DIMS];
    tally_dtype offsets;
    size_t bytes;
    char word[];
} tly_xla_prepared;

/* The prepared call of a word, which is an attribute, on the input x; NULL with an error. */
const tly_xla_prepared *tly_xla_prepare(const xla_attributes *attributes, const xla_buffer *x,
                                        tally_error *e);

/* Ends a use of it. */
void tly_xla_release(const tly_xla_prepared *p);

/* Sets an error of the handler's own. */
tally_status tly_xla_fail(tally_error *e, tally_status status, const char *field,
                          const char *message);

#endif
