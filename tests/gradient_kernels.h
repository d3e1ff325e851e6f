/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a gradient as kernels. Each runs in the dtypes of its word, on the results of the
 * kernels before it, and the judge of random words looks at its output.
 */
#ifndef TLY_GRADIENT_KERNELS_H
#define TLY_GRADIENT_KERNELS_H

#include <tally/gradient.h>
#include <tally/kernel.h>

/* A tensor that steps read, as doubles. memory[0] is the element at index `low`. */
typedef struct tly_gradient_source {
    const double *memory;
    int64_t low, count;
    tally_dtype dtype; /* that kernels read */
} tly_gradient_source;

/* Runs all steps on one CPU level. `sources` has TALLY_SOURCE_STEP elements, by tally_source;
 * `offsets` are those of words with segments. `last` receives the elements of the last result.
 * Returns 0, or 1 with the reason in `why`. */
int tly_gradient_run_kernels(tally_context *context, const char *device,
                             const tally_gradient_step *steps, size_t count,
                             const tly_gradient_source *sources, const int64_t *offsets,
                             double *last, char *why, size_t room);

/* The same by tally_gradient_kernel, with `between` bytes between the steps of a block (0: as many
 * as it chooses). `*blocks` counts the blocks. `*gains`: whether a run has y that only gains by it;
 * then whether the kernel did. */
int tly_gradient_run_at_once(tally_context *context, const char *device, const tally_descriptor *d,
                             tally_source wrt, int64_t between, const tly_gradient_source *sources,
                             const int64_t *offsets, double *result, int64_t *blocks, int *gains,
                             char *why, size_t room);

#endif
