/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the segments of a descriptor, and that the states of its carry can be counted. */
#include <inttypes.h>
#include <string.h>

#include "../host/error.h"
#include "descriptor.h"
#include "stages.h"

/* As many as a task's index can tell apart. */
#define MOST_SEGMENTS (INT64_C(1) << 31)

static tally_status check_exclusion(const tally_descriptor *full, tally_error *error)
{
    const struct {
        const char *field;
        int is_set;
    } rows[] = {
        { "reset", full->reset[0] != 0 },
        { "segments", full->segment_dtype != 0 },
        { "every", full->every != 0 },
    };
    const char *first = NULL;
    for (int i = 0; i < 3; i++) {
        if (rows[i].is_set && first != NULL) {
            return tly_fail(error, TALLY_INVALID, rows[i].field, "%s and %s exclude each other",
                            first, rows[i].field);
        }
        first = rows[i].is_set ? rows[i].field : first;
    }
    return TALLY_OK;
}

/* The tensors of a carry: a state for each lane and segment; cumlogsumexp's has two numbers. */
static int carry_fits(const tally_descriptor *full)
{
    int64_t sizes[TALLY_MAX_RANK], strides[TALLY_MAX_RANK];
    memcpy(sizes, full->sizes, sizeof sizes);
    sizes[full->axis] = tly_is_segmented(full) ? tly_segment_count(full, full->sizes[full->axis])
                                               : 1;
    return tly_packed_strides(full->rank, sizes, strides) &&
           tly_extent_fits(full->rank, sizes, strides, 0, 2 * (int64_t)sizeof(double));
}

static tally_status check_segments(const tally_descriptor *full, tally_error *error)
{
    const char *field = full->every != 0 ? "every" : "segments";
    if (full->segment_dtype != 0 && full->segment_dtype != TALLY_I32 &&
        full->segment_dtype != TALLY_I64) {
        return tly_fail(error, TALLY_INVALID, field, "offsets are i32 or i64");
    }
    if (full->segment_dtype == 0 && full->segments != 0) {
        return tly_fail(error, TALLY_INVALID, field, "segments is set, and segment_dtype is not");
    }
    if (full->segments < 0 || full->segments > MOST_SEGMENTS) {
        return tly_fail(error, TALLY_INVALID, field,
                        "%" PRId64 " is no number of segments, which is 0 to %" PRId64,
                        full->segments, MOST_SEGMENTS);
    }
    if (full->every < 0) {
        return tly_fail(error, TALLY_INVALID, field, "a segment cannot have %" PRId64 " elements",
                        full->every);
    }
    if (!tly_is_segmented(full) || tly_ops[full->op].scan) {
        return TALLY_OK;
    }
    if (full->flags & TALLY_KEEPDIMS) {
        return tly_fail(error, TALLY_INVALID, "keepdims",
                        "with %s the axis stays: a size for each segment", field);
    }
    if (__builtin_popcount(full->axes) != 1) {
        tly_fail(error, TALLY_INVALID, field, "segments are along one reduced axis, not %d",
                 __builtin_popcount(full->axes));
        tly_error_hint(error, "name it, as in axes=0");
        return TALLY_INVALID;
    }
    return TALLY_OK;
}

tally_status tly_segments_check(const tally_descriptor *full, tally_error *error)
{
    tally_status s = check_exclusion(full, error);
    if (s == TALLY_OK) {
        s = check_segments(full, error);
    }
    if (s == TALLY_OK && full->carry != 0 && !carry_fits(full)) {
        s = tly_fail(error, TALLY_INVALID, "carry",
                     "the states' extent in bytes overflows 64 bits");
    }
    return s;
}
