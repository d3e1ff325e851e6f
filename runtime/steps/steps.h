/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of a gradient's steps. They run on blocks of the tensors, so that what a step hands
 * to the next one stays in the core's cache.
 *
 *   block.c        which dims are cut, and a step's descriptor for a block
 *   from_result.c  the steps of a scan's gradient that spare one, where the caller has the result
 *   create.c       the kernels, and where their tensors lie
 *   run.c          checks the pointers, and gives blocks to threads
 */
#ifndef TLY_STEPS_H
#define TLY_STEPS_H

#include <tally/gradient.h>

#include <stdalign.h>
#include <stdatomic.h>

/* Tensors that a step reads, by number. */
enum {
    TLY_STEP_IN,
    TLY_STEP_A,
    TLY_STEP_OFFSETS = TLY_STEP_A + TALLY_MAX_OPERANDS,
    TLY_STEP_CARRY,
    TLY_STEP_TENSORS
};

/* The caller's tensors, by tally_source; in place of TALLY_SOURCE_NONE the result. Behind them is
 * one number, the identity of a scan. */
enum {
    TLY_GRADIENT_OUT = TALLY_SOURCE_NONE,
    TLY_GRADIENT_IDENTITY = TALLY_SOURCE_OFFSETS + 1,
    TLY_GRADIENT_TENSORS
};

/* The dims that all steps have. A block has `size` indices of each dim; the last block of a dim may
 * have fewer. */
typedef struct tly_blocks {
    int32_t rank;
    int64_t sizes[TALLY_MAX_RANK];
    int64_t size[TALLY_MAX_RANK];
} tly_blocks;

/* A step as it is, and its descriptor resolved. It reads and writes from `skip` elements behind the
 * caller's pointers on. */
typedef struct tly_step_facts {
    tally_descriptor given, full;
    int32_t source[TLY_STEP_TENSORS]; /* tally_source */
    int64_t skip[TLY_STEP_TENSORS], skip_out;
    int is_out; /* it writes the caller's result; what it hands on, if any, are its last states */
} tly_step_facts;

typedef struct tly_step {
    tally_kernel *kernel;
    tally_kernel *last; /* for the last block of a dim that blocks do not divide; NULL: none */
    int32_t source[TLY_STEP_TENSORS];
    int64_t move[TLY_STEP_TENSORS][TALLY_MAX_RANK]; /* bytes from an index to the next, of the
                                                       caller's tensors */
    int64_t skip[TLY_STEP_TENSORS], skip_out;       /* bytes behind the caller's pointers */
    int is_out;                                     /* writes the caller's result */
    size_t at, bytes;                               /* in a block's memory, of what it hands on */
    int32_t segment_dtype;                          /* of a scan whose axis offsets cut; else 0 */
    int64_t segments, size; /* into so many segments, and how long the axis is */
} tly_step;

/* Where the bytes of a caller's tensor lie, and what they are aligned to; 0: it is not read. */
typedef struct tly_gradient_tensor {
    tally_extent extent;
    int32_t align;
    int is_needed; /* it must not be NULL */
} tly_gradient_tensor;

struct tally_gradient_kernel {
    tally_context *context;
    tally_gradient_kernel *from_result; /* for runs that have y; NULL: it spares nothing */
    alignas(double) char identity[sizeof(double)];
    _Atomic(char *) kept; /* memory of a run that has ended; all else is immutable */
    tly_blocks blocks;
    int64_t block_count;
    size_t between;               /* bytes that the results in between take, of a block */
    int64_t move[TALLY_MAX_RANK]; /* bytes from an index to the next, of the result */
    tly_gradient_tensor tensor[TLY_GRADIENT_TENSORS];
    int computes_with_g_carry; /* as more than the states of a step */
    size_t count;
    tly_step step[];
};

/* from_result.c: makes two steps in place of those of a gradient, the first of which computes what
 * y tells as well, and writes the scan's identity in the output's dtype. `word` is resolved.
 * Returns 0 if there are no such steps. */
int tly_steps_from_result(const tally_descriptor *word, const tly_step_facts *steps, size_t count,
                          tly_step_facts made[2], char identity[sizeof(double)]);

/* block.c: cuts dims so that the results in between take about `most` bytes, in at least `parts`
 * blocks. Without a dim that can be cut so there is one block. */
void tly_blocks_cut(tly_blocks *blocks, const tly_step_facts *steps, size_t count, int64_t most,
                    int64_t parts);
int64_t tly_blocks_count(const tly_blocks *blocks);

/* block.c: bytes of what a step hands on, in a block. */
int64_t tly_blocks_result_bytes(const tly_blocks *blocks, const tly_step_facts *step);

/* block.c: a step's descriptor for blocks of `size` indices along each dim. The caller's tensors
 * lie as in the whole, results in between are packed. */
tally_descriptor tly_blocks_descriptor(const tly_blocks *blocks, const int64_t *size,
                                       const tly_step_facts *step, int is_last);

/* block.c: how a step's tensor lies over the dims of its input, in elements. */
void tly_step_strides(const tly_step_facts *step, int tensor, int64_t *strides);

#endif
