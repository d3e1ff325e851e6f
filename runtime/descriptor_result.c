/* The result of a descriptor: its shape and dtype, and whether its indices can be told. */
#include "descriptor.h"

#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "problem.h"

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

tally_status tly_check_index(const tally_descriptor *full, uint32_t open, tally_error *error)
{
    uint64_t extent = 1; /* no overflow: the input's elements can be counted */
    int is_empty = 0;
    if (tly_ops[full->op].out_dtype == 0) {
        return TALLY_OK;
    }
    for (int32_t d = 0; d < full->rank; d++) {
        if (full->axes >> d & 1) {
            extent *= (uint64_t)full->sizes[d];
        } else {
            is_empty |= full->sizes[d] == 0;
        }
    }
    if (extent == 0 && !is_empty && open == 0) {
        return tly_fail(error, TALLY_INVALID, "sizes", "%s of no elements has no index",
                        tly_ops[full->op].name);
    }
    const tly_dtype_facts *out = &tly_dtypes[full->out_dtype];
    if (out->largest != 0 && extent > out->largest) {
        return tly_fail(error, TALLY_INVALID, "dtype",
                        "%" PRIu64 " elements are more than %s can count", extent, out->name);
    }
    return TALLY_OK;
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
