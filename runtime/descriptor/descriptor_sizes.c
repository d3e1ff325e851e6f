/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sizes make of a descriptor whose names are resolved: packed strides, the result's shape,
 * whether elements can be counted, and whether the output's elements are apart. Freestanding, as
 * functions made ahead of time close their open sizes here.
 */
#include "descriptor.h"

#include <string.h>

int tly_packed_strides(int32_t rank, const int64_t *sizes, int64_t *strides)
{
    int64_t step = 1;
    for (int32_t d = rank - 1; d >= 0; d--) {
        strides[d] = step;
        if (__builtin_mul_overflow(step, sizes[d] > 0 ? sizes[d] : 1, &step)) {
            return 0;
        }
    }
    return 1;
}

int tly_has_open_size(const tally_descriptor *full)
{
    for (int32_t d = 0; d < full->rank; d++) {
        if (full->sizes[d] == TALLY_OPEN_SIZE) {
            return 1;
        }
    }
    return 0;
}

int64_t tly_segment_count(const tally_descriptor *full, int64_t size)
{
    if (full->every == 0) {
        return full->segments;
    }
    return size == TALLY_OPEN_SIZE ? size : size / full->every + (size % full->every != 0);
}

int tly_operand_strides(const tally_descriptor *full, int operand, int64_t *strides)
{
    const tally_operand *o = &full->operands[operand];
    int64_t step = 1;
    for (int32_t d = full->rank - 1; d >= 0; d--) {
        if (o->place == TALLY_PLACE_STRIDES) {
            strides[d] = o->strides[d];
            continue;
        }
        const int axis = d % TALLY_MAX_RANK; /* is d: clang-tidy does not know the ranks */
        const int extends = o->place == TALLY_PLACE_PACKED || (o->axes >> axis & 1) != 0;
        strides[d] = extends ? step : 0;
        if (extends &&
            __builtin_mul_overflow(step, full->sizes[d] > 0 ? full->sizes[d] : 1, &step)) {
            return 0;
        }
    }
    return 1;
}

int32_t tly_result_shape(const tally_descriptor *full, int64_t sizes[TALLY_MAX_RANK])
{
    int32_t rank = 0;
    for (int32_t d = 0; d < full->rank; d++) {
        if ((full->axes >> d & 1) == 0) {
            sizes[rank++] = full->sizes[d];
        } else if (tly_is_segmented(full)) {
            sizes[rank++] = tly_segment_count(full, full->sizes[d]);
        } else if (full->flags & TALLY_KEEPDIMS) {
            sizes[rank++] = 1;
        }
    }
    return rank;
}

void tly_extent(int32_t rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
                int64_t *low, int64_t *high)
{
    *low = *high = offset;
    for (int32_t d = 0; d < rank; d++) {
        int64_t *end = strides[d] < 0 ? low : high;
        *end += sizes[d] > 1 ? (sizes[d] - 1) * strides[d] : 0;
    }
}

int tly_extent_fits(int32_t rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
                    int64_t bytes)
{
    int64_t low = offset;
    int64_t high = offset;
    for (int32_t d = 0; d < rank; d++) {
        int64_t reach;
        int64_t last = sizes[d] > 1 ? sizes[d] - 1 : 0;
        int64_t *end = strides[d] < 0 ? &low : &high;
        if (__builtin_mul_overflow(last, strides[d], &reach) ||
            __builtin_add_overflow(*end, reach, end)) {
            return 0;
        }
    }
    int64_t span;
    int64_t unused;
    return !__builtin_mul_overflow(low, bytes, &unused) &&
           !__builtin_add_overflow(high, 1, &high) &&
           !__builtin_mul_overflow(high, bytes, &unused) &&
           !__builtin_sub_overflow(high, low, &span) &&
           !__builtin_mul_overflow(span, bytes, &unused);
}

int tly_addresses_distinct(int32_t rank, const int64_t *sizes, const int64_t *strides)
{
    int32_t order[TALLY_MAX_RANK];
    int32_t count = 0;
    for (int32_t d = 0; d < rank; d++) {
        if (sizes[d] == 0) {
            return 1;
        }
        if (sizes[d] == 1) {
            continue;
        }
        int32_t at = count++;
        for (; at > 0 && tly_distance(strides[order[at - 1]]) > tly_distance(strides[d]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = d;
    }
    uint64_t reach = 0;
    for (int32_t i = 0; i < count; i++) {
        uint64_t stride = tly_distance(strides[order[i]]);
        if (stride <= reach) {
            return 0;
        }
        reach += (uint64_t)(sizes[order[i]] - 1) * stride;
    }
    return 1;
}

tly_index tly_index_fault(const tally_descriptor *full, uint32_t open, uint64_t *extent)
{
    int is_empty = 0;
    *extent = 1; /* no overflow: the input's elements can be counted */
    if (tly_ops[full->op].out_dtype == 0) {
        return TLY_INDEX_FITS;
    }
    for (int32_t d = 0; d < full->rank; d++) {
        if (tly_ops[full->op].scan ? d == full->axis : (int)(full->axes >> d & 1)) {
            *extent *= (uint64_t)full->sizes[d];
        } else {
            is_empty |= full->sizes[d] == 0;
        }
    }
    const int has_nothing = tly_ops[full->op].scan || tly_is_segmented(full);
    if (*extent == 0 && !is_empty && open == 0 && !has_nothing) {
        return TLY_INDEX_OF_NOTHING;
    }
    const uint64_t largest = tly_dtypes[full->out_dtype].largest;
    return largest != 0 && *extent > 0 && *extent - 1 > largest ? TLY_INDEX_TOO_FAR
                                                                : TLY_INDEX_FITS;
}

/* One tensor of known sizes, packed unless its strides are given. 0: elements cannot be counted.
 * Objects made ahead of time have it once, not inlined twice (240 bytes). */
static __attribute__((noinline)) int close_tensor(int has_strides, int32_t rank,
                                                  const int64_t *sizes, int32_t dtype,
                                                  int64_t *strides, int64_t offset)
{
    int64_t packed[TALLY_MAX_RANK] = { 0 };
    if (!tly_packed_strides(rank, sizes, packed)) {
        return 0;
    }
    if (!has_strides) {
        memcpy(strides, packed, sizeof packed);
    }
    return tly_extent_fits(rank, sizes, strides, offset, tly_dtypes[dtype].bytes);
}

int tly_close_sizes(tally_descriptor *full, const int64_t *sizes)
{
    const int in_given = (full->flags & TALLY_IN_STRIDES) != 0;
    const int out_given = (full->flags & TALLY_OUT_STRIDES) != 0;
    int64_t shape[TALLY_MAX_RANK] = { 0 };
    uint64_t extent;
    for (int32_t d = 0, n = 0; d < full->rank; d++) {
        full->sizes[d] = full->sizes[d] == TALLY_OPEN_SIZE ? sizes[n++] : full->sizes[d];
        if (full->sizes[d] < 0) {
            return 0;
        }
    }
    int32_t rank = tly_result_shape(full, shape);
    for (int t = TLY_FIRST_OPERAND; t < tly_tensors_named(full); t++) {
        const int operand = t - TLY_FIRST_OPERAND;
        int64_t strides[TALLY_MAX_RANK];
        if (!tly_operand_strides(full, operand, strides) ||
            !tly_extent_fits(full->rank, full->sizes, strides, full->operands[operand].offset,
                             tly_dtypes[full->operands[operand].dtype].bytes)) {
            return 0;
        }
    }
    return close_tensor(in_given, full->rank, full->sizes, full->dtype, full->in_strides,
                        full->in_offset) &&
           close_tensor(out_given, rank, shape, full->out_dtype, full->out_strides,
                        full->out_offset) &&
           tly_index_fault(full, 0, &extent) == TLY_INDEX_FITS &&
           (!out_given || tly_addresses_distinct(rank, shape, full->out_strides));
}
