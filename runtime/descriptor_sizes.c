/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What sizes make of a descriptor whose names are resolved: packed strides, the result's shape, and
 * whether elements can be counted. Freestanding, as functions made ahead of time close their open
 * sizes here.
 */
#include "descriptor.h"

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

int32_t tly_result_shape(const tally_descriptor *full, int64_t sizes[TALLY_MAX_RANK])
{
    int32_t rank = 0;
    for (int32_t d = 0; d < full->rank; d++) {
        if ((full->axes >> d & 1) == 0) {
            sizes[rank++] = full->sizes[d];
        } else if (full->flags & TALLY_KEEPDIMS) {
            sizes[rank++] = 1;
        }
    }
    return rank;
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

tly_index tly_index_fault(const tally_descriptor *full, uint32_t open, uint64_t *extent)
{
    int is_empty = 0;
    *extent = 1; /* no overflow: the input's elements can be counted */
    if (tly_ops[full->op].out_dtype == 0) {
        return TLY_INDEX_FITS;
    }
    for (int32_t d = 0; d < full->rank; d++) {
        if (full->axes >> d & 1) {
            *extent *= (uint64_t)full->sizes[d];
        } else {
            is_empty |= full->sizes[d] == 0;
        }
    }
    if (*extent == 0 && !is_empty && open == 0) {
        return TLY_INDEX_OF_NOTHING;
    }
    const uint64_t largest = tly_dtypes[full->out_dtype].largest;
    return largest != 0 && *extent > 0 && *extent - 1 > largest ? TLY_INDEX_TOO_FAR
                                                                : TLY_INDEX_FITS;
}

int tly_close_sizes(tally_descriptor *full, const int64_t *sizes)
{
    int64_t shape[TALLY_MAX_RANK] = { 0 };
    uint64_t extent;
    for (int32_t d = 0, n = 0; d < full->rank; d++) {
        full->sizes[d] = full->sizes[d] == TALLY_OPEN_SIZE ? sizes[n++] : full->sizes[d];
        if (full->sizes[d] < 0) {
            return 0;
        }
    }
    int32_t rank = tly_result_shape(full, shape);
    return tly_packed_strides(full->rank, full->sizes, full->in_strides) &&
           tly_packed_strides(rank, shape, full->out_strides) &&
           tly_extent_fits(full->rank, full->sizes, full->in_strides, 0,
                           tly_dtypes[full->dtype].bytes) &&
           tly_extent_fits(rank, shape, full->out_strides, 0, tly_dtypes[full->out_dtype].bytes) &&
           tly_index_fault(full, 0, &extent) == TLY_INDEX_FITS;
}
