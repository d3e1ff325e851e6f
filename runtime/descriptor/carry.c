/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a carry: states before the first and after the last element of each lane. */
#include "carry.h"

#include <string.h>

#include "descriptor.h"
#include "stages.h"

int tly_carry_parts(const tally_descriptor *full)
{
    return full->op == TALLY_CUMLOGSUMEXP ? 2 : 1;
}

/* What is compared is kept as an element is: comparisons have integers in the accumulator. */
tally_dtype tly_carry_dtype(const tally_descriptor *full)
{
    if (tly_ops[full->op].computes != TLY_COMPUTES_KEYS) {
        return tly_problem_accumulator(full);
    }
    const tally_dtype dtype = tly_has_expressions(full) ? tly_expressions_type(full)
                                                        : (tally_dtype)full->dtype;
    return full->dtype == TALLY_BOOL && dtype == TALLY_U8 ? TALLY_BOOL : dtype;
}

void tly_carry_sizes(const tally_descriptor *full, int64_t sizes[TALLY_MAX_RANK])
{
    memset(sizes, 0, TALLY_MAX_RANK * sizeof *sizes);
    memcpy(sizes, full->sizes, (size_t)full->rank * sizeof *sizes);
    sizes[full->axis] = tly_is_segmented(full) ? tly_segment_count(full, full->sizes[full->axis])
                                               : 1;
}

void tly_carry_strides(const tally_descriptor *full, int64_t strides[TALLY_MAX_RANK])
{
    int64_t sizes[TALLY_MAX_RANK];
    tly_carry_sizes(full, sizes);
    (void)tly_packed_strides(full->rank, sizes, strides);
    for (int32_t d = 0; d < full->rank; d++) {
        strides[d] *= tly_carry_parts(full);
    }
    if (!tly_is_segmented(full)) {
        strides[full->axis] = 0;
    }
}
