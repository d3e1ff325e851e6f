/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a descriptor to the canonical problem (problem.h): names, size-1 dims, mergeable dims, the
 * order of dims and directions go. Descriptors that touch the same elements in the same way become
 * the same bytes, so that they share a kernel.
 */
#ifndef TLY_CANONICALISE_H
#define TLY_CANONICALISE_H

#include "problem.h"

/* Canonicalises a descriptor that tally_descriptor_check accepted. Open sizes count as large ones:
 * the problem is that of the kernel for large sizes, and the geometry is of no use. `is_device`:
 * the kernel is for Vulkan devices, which interleave fewer scans (tly_takes_interleaved). */
void tly_canonicalise(const tally_descriptor *d, int is_device, tly_problem *problem,
                      tly_geometry *geometry);

/* The same of a resolved descriptor. tly_canonicalise would refuse it, as it has strides that its
 * flags do not state. */
void tly_canonicalise_resolved(const tally_descriptor *resolved, int is_device,
                               tly_problem *problem, tly_geometry *geometry);

/* The same of a resolved descriptor whose sizes are known. */
void tly_canonicalise_closed(const tally_descriptor *full, int is_device, tly_problem *problem,
                             tly_geometry *geometry);

/* The same for kernels that are made ahead of time, of a word with open sizes: short slices are no
 * fact of theirs, as that would double the number of kernels. */
void tly_canonicalise_variant(const tally_descriptor *full, tly_problem *problem,
                              tly_geometry *geometry);

/* canonicalise_reduce.c: the same of a resolved reduction whose sizes are known. */
void tly_canonicalise_reduction(const tally_descriptor *full, tly_problem *problem,
                                tly_geometry *geometry);

/* --- shared by scans and reductions --- */

/* tly_segmented, of an axis. */
uint8_t tly_segmented_of(const tally_descriptor *full, int32_t axis);

/* The operands' part of a dim, and of the first indices: the stride along dim `d` of the input. */
void tly_add_operands(const tally_descriptor *full, int32_t d, tly_dim *dim);
void tly_begin_operands(const tally_descriptor *full, int64_t *first);

/* Cuts the axis into segments of `every` elements: `dim` becomes that of a segment, and what is
 * returned that of the segments, of size 1 if there is one. */
tly_dim tly_cut_axis(const tally_descriptor *full, tly_dim *dim);

/* Sets what of the operands' facts and places follows from axis, lanes and first indices. `along`:
 * the strides of what a vector's elements lie along. */
void tly_set_operands(const tally_descriptor *full, const tly_dim *along, tly_problem *problem,
                      tly_geometry *geometry);

/* Walks a dim from its other end. `first` has the index of position 0 in each tensor. */
void tly_flip_dim(tly_dim *dim, int64_t *first);

/* Merges neighbouring dims that one walk passes in even steps in all tensors. */
void tly_merge_dims(tly_dim *dims, int32_t *count);

/* Takes a dim out, and merges the dims around it. */
tly_dim tly_take_dim(tly_dim *dims, int32_t *count, int32_t at);

/* A step as a literal of kernels if it is within these; else TLY_ANY_STEP. */
int8_t tly_literal_step(int64_t step, int64_t least, int64_t most);

/* Sets the outer dims, outermost first, and what follows from them. */
void tly_set_outer(tly_geometry *g, const tly_dim *dims, int32_t count);

#endif
