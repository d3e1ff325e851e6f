/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a carry, of a resolved descriptor that has one. Both lie alike. */
#ifndef TLY_CARRY_H
#define TLY_CARRY_H

#include <tally/descriptor.h>

/* Numbers of a state, which lie side by side. */
int tly_carry_parts(const tally_descriptor *full);

/* The dtype of these numbers. */
tally_dtype tly_carry_dtype(const tally_descriptor *full);

/* States along each dim of the input. */
void tly_carry_sizes(const tally_descriptor *full, int64_t sizes[TALLY_MAX_RANK]);

/* Numbers from a state to the next along each dim of the input; along the axis from a segment's to
 * the next one's, or 0. Every size is known. */
void tly_carry_strides(const tally_descriptor *full, int64_t strides[TALLY_MAX_RANK]);

#endif
