/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a descriptor for those who allocate: the shapes of the result and of a
 * carry, where tensors lie, and whether indices can be told. */
#include "carry.h"
#include "descriptor.h"

#include <inttypes.h>
#include <string.h>

#include "../host/error.h"

tally_status tly_check_index(const tally_descriptor *full, uint32_t open, tally_error *error)
{
    uint64_t extent;
    switch (tly_index_fault(full, open, &extent)) {
    case TLY_INDEX_OF_NOTHING:
        return tly_fail(error, TALLY_INVALID, "sizes", "%s of no elements has no index",
                        tally_op_name((tally_op)full->op));
    case TLY_INDEX_TOO_FAR:
        return tly_fail(error, TALLY_INVALID, "dtype",
                        "the last of %" PRIu64 " elements has an index that is beyond %s", extent,
                        tly_dtypes[full->out_dtype].name);
    default:
        return TALLY_OK;
    }
}

tally_status tally_descriptor_result(const tally_descriptor *descriptor, int32_t *rank,
                                     int64_t sizes[TALLY_MAX_RANK], tally_dtype *dtype,
                                     tally_error *error)
{
    tally_descriptor full;
    int64_t shape[TALLY_MAX_RANK] = { 0 };
    tally_status s = tly_descriptor_resolve(descriptor, &full, error);
    if (s != TALLY_OK) {
        return s;
    }
    int32_t count = tly_result_shape(&full, shape);
    if (rank != NULL) {
        *rank = count;
    }
    if (sizes != NULL) {
        memcpy(sizes, shape, sizeof shape);
    }
    if (dtype != NULL) {
        *dtype = (tally_dtype)full.out_dtype;
    }
    return TALLY_OK;
}

/* Nothing overflows: tly_extent_fits has seen the same sum. */
static tally_extent extent_of(int32_t rank, const int64_t *sizes, const int64_t *strides,
                              int64_t offset, int32_t dtype)
{
    const int64_t bytes = tly_dtypes[dtype].bytes;
    int64_t low, high;
    for (int32_t d = 0; d < rank; d++) {
        if (sizes[d] == 0) {
            return (tally_extent){ 0, 0 };
        }
    }
    tly_extent(rank, sizes, strides, offset, &low, &high);
    return (tally_extent){ low * bytes, (high + 1) * bytes };
}

tally_status tally_descriptor_extent(const tally_descriptor *descriptor, tally_extent *in,
                                     tally_extent *out, tally_error *error)
{
    tally_descriptor full;
    int64_t shape[TALLY_MAX_RANK];
    tally_status s = tly_descriptor_resolve(descriptor, &full, error);
    if (s != TALLY_OK) {
        return s;
    }
    if (tly_has_open_size(&full)) {
        tly_fail(error, TALLY_INVALID, "sizes",
                 "where a tensor lies needs every size; one is open");
        tly_error_hint(error, "put a number for each ?");
        return TALLY_INVALID;
    }
    if (in != NULL) {
        *in = extent_of(full.rank, full.sizes, full.in_strides, full.in_offset, full.dtype);
    }
    if (out != NULL) {
        const int32_t rank = tly_result_shape(&full, shape);
        *out = extent_of(rank, shape, full.out_strides, full.out_offset, full.out_dtype);
    }
    return TALLY_OK;
}

tally_status tally_descriptor_carry(const tally_descriptor *descriptor, int32_t *rank,
                                    int64_t sizes[TALLY_MAX_CARRY_RANK], tally_dtype *dtype,
                                    tally_error *error)
{
    tally_descriptor full;
    int64_t shape[TALLY_MAX_CARRY_RANK] = { 0 };
    tally_status s = tly_descriptor_resolve(descriptor, &full, error);
    if (s == TALLY_OK && full.carry == 0) {
        s = tly_fail(error, TALLY_INVALID, "carry", "the descriptor has no carry");
        tly_error_hint(error, "set carry to TALLY_CARRY_IN, TALLY_CARRY_OUT or both");
    }
    if (s != TALLY_OK) {
        return s;
    }
    tly_carry_sizes(&full, shape);
    if (tly_carry_parts(&full) > 1) {
        shape[full.rank] = tly_carry_parts(&full);
    }
    if (rank != NULL) {
        *rank = full.rank + (tly_carry_parts(&full) > 1);
    }
    if (sizes != NULL) {
        memcpy(sizes, shape, sizeof shape);
    }
    if (dtype != NULL) {
        *dtype = tly_carry_dtype(&full);
    }
    return TALLY_OK;
}
