/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a descriptor: its shape and dtype, and whether its indices can be told. */
#include "descriptor.h"

#include <inttypes.h>
#include <string.h>

#include "error.h"
#include "problem.h"

tally_status tly_check_index(const tally_descriptor *full, uint32_t open, tally_error *error)
{
    uint64_t extent;
    switch (tly_index_fault(full, open, &extent)) {
    case TLY_INDEX_OF_NOTHING:
        return tly_fail(error, TALLY_INVALID, "sizes", "%s of no elements has no index",
                        tly_ops[full->op].name);
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
