/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of one tensor, and its size in bytes; see tensor.h. Nothing overflows: sizes, strides
 * and the counts so far are below 2^32, and (2^32 - 1)^2 + 2^32 is below 2^64.
 */
#include "tensor.h"

#include <inttypes.h>
#include <string.h>

#include "../descriptor/descriptor.h"
#include "../host/error.h"
#include "levels.h"

/* DirectML counts elements in 32 bits. */
#define MOST_ELEMENTS UINT32_MAX

/* 0: none, or too many. */
static uint64_t count_elements(uint32_t rank, const uint32_t *sizes)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < rank; i++) {
        count *= sizes[i];
        if (count > MOST_ELEMENTS) {
            return 0;
        }
    }
    return count;
}

/* From the first element to the last one; 0: too many. No size is 0. */
static uint64_t count_spanned(uint32_t rank, const uint32_t *sizes, const uint32_t *strides)
{
    uint64_t last = 0;
    if (strides == NULL) {
        return count_elements(rank, sizes);
    }
    for (uint32_t i = 0; i < rank; i++) {
        last += (uint64_t)(sizes[i] - 1) * strides[i];
        if (last >= MOST_ELEMENTS) {
            return 0;
        }
    }
    return last + 1;
}

static uint64_t bytes_of(int32_t type, uint64_t elements)
{
    return (elements * tly_dtypes[tly_dml_types[type].dtype].bytes + 3) / 4 * 4;
}

uint64_t tally_dml_buffer_tensor_size(int32_t data_type, uint32_t dimension_count,
                                      const uint32_t *sizes, const uint32_t *strides)
{
    if (!tly_dml_is_type(data_type) || dimension_count < 1 || dimension_count > TALLY_MAX_RANK ||
        sizes == NULL || count_elements(dimension_count, sizes) == 0) {
        return 0;
    }
    return bytes_of(data_type, count_spanned(dimension_count, sizes, strides));
}

static tally_status check_kind(const tly_dml_tensor *t, tally_error *error)
{
    const int32_t type = t->buffer.DataType, flags = t->buffer.Flags;
    if (!tly_dml_is_type(type)) {
        return tly_fail(error, TALLY_INVALID, "dtype", "%s: DataType %" PRId32 " is unknown",
                        t->member, type);
    }
    if (tly_dml_types[type].dtype == 0) {
        return tly_fail(error, TALLY_UNSUPPORTED, "dtype",
                        "%s: DataType %s: Tally has no elements of 4 bits", t->member,
                        tly_dml_types[type].name);
    }
    if (flags == TALLY_DML_TENSOR_FLAG_OWNED_BY_DML) {
        tly_fail(error, TALLY_UNSUPPORTED, t->field, "%s: Flags say OWNED_BY_DML", t->member);
        tly_error_hint(error, "Tally owns no tensors: pass the pointer to each run");
        return TALLY_UNSUPPORTED;
    }
    if (flags != TALLY_DML_TENSOR_FLAG_NONE) {
        return tly_fail(error, TALLY_INVALID, t->field, "%s: Flags %" PRId32 " are unknown",
                        t->member, flags);
    }
    return TALLY_OK;
}

static tally_status read_buffer(tly_dml_tensor *t, tally_error *error)
{
    tally_dml_tensor_desc given;
    if (t->given == NULL) {
        return tly_fail(error, TALLY_INVALID, t->field, "%s is NULL", t->member);
    }
    memcpy(&given, t->given, sizeof given); /* it may be of DirectML's own type */
    if (given.Type != TALLY_DML_TENSOR_TYPE_BUFFER) {
        return tly_fail(error, TALLY_INVALID, t->field, "%s: Type %" PRId32 " is not BUFFER",
                        t->member, given.Type);
    }
    if (given.Desc == NULL) {
        return tly_fail(error, TALLY_INVALID, t->field, "%s: Desc is NULL", t->member);
    }
    memcpy(&t->buffer, given.Desc, sizeof t->buffer);
    return check_kind(t, error);
}

static tally_status check_sizes(tly_dml_tensor *t, tally_error *error)
{
    const tally_dml_buffer_tensor_desc *b = &t->buffer;
    if (b->DimensionCount < 1 || b->DimensionCount > TALLY_MAX_RANK) {
        return tly_fail(error, TALLY_INVALID, "sizes",
                        "%s: DimensionCount %" PRIu32 " is not in [1, %d]", t->member,
                        b->DimensionCount, TALLY_MAX_RANK);
    }
    if (b->Sizes == NULL) {
        return tly_fail(error, TALLY_INVALID, "sizes", "%s: Sizes is NULL", t->member);
    }
    for (uint32_t i = 0; i < b->DimensionCount; i++) {
        if (b->Sizes[i] == 0) {
            return tly_fail(error, TALLY_INVALID, "sizes", "%s: Sizes[%" PRIu32 "] is 0", t->member,
                            i);
        }
    }
    if (count_elements(b->DimensionCount, b->Sizes) == 0) {
        return tly_fail(error, TALLY_INVALID, "sizes", "%s: Sizes have more than %u elements",
                        t->member, MOST_ELEMENTS);
    }
    if (count_spanned(b->DimensionCount, b->Sizes, b->Strides) == 0) {
        return tly_fail(error, TALLY_INVALID, t->field, "%s: Strides span more than %u elements",
                        t->member, MOST_ELEMENTS);
    }
    /* Rounded up, so that as many elements of any type have a size. */
    if (b->TotalTensorSizeInBytes > bytes_of(b->DataType, MOST_ELEMENTS)) {
        return tly_fail(error, TALLY_INVALID, t->field,
                        "%s: TotalTensorSizeInBytes %" PRIu64 " is more than %u elements",
                        t->member, b->TotalTensorSizeInBytes, MOST_ELEMENTS);
    }
    return TALLY_OK;
}

static tally_status check_total(tly_dml_tensor *t, tally_error *error)
{
    const tally_dml_buffer_tensor_desc *b = &t->buffer;
    const uint64_t least = tally_dml_buffer_tensor_size(b->DataType, b->DimensionCount, b->Sizes,
                                                        b->Strides);
    if (b->TotalTensorSizeInBytes < least) {
        tly_fail(error, TALLY_INVALID, t->field,
                 "%s: TotalTensorSizeInBytes %" PRIu64 " is below %" PRIu64, t->member,
                 b->TotalTensorSizeInBytes, least);
        tly_error_hint(error, "tally_dml_buffer_tensor_size computes it");
        return TALLY_INVALID;
    }
    return TALLY_OK;
}

static tally_status check_alignment(tly_dml_tensor *t, tally_error *error)
{
    const uint32_t alignment = t->buffer.GuaranteedBaseOffsetAlignment;
    const uint32_t bytes = tly_dtypes[tly_dml_types[t->buffer.DataType].dtype].bytes;
    if (alignment != 0 && ((alignment & (alignment - 1)) != 0 || alignment < bytes)) {
        return tly_fail(error, TALLY_INVALID, t->field,
                        "%s: GuaranteedBaseOffsetAlignment %" PRIu32
                        " is neither 0 nor a power of two from %" PRIu32 " on",
                        t->member, alignment, bytes);
    }
    return TALLY_OK;
}

tally_status tly_dml_check_tensors(tly_dml_tensor *tensors, int count, tally_error *error)
{
    static tally_status (*const rules[])(tly_dml_tensor *, tally_error *) = {
        read_buffer,
        check_sizes,
        check_total,
        check_alignment,
    };
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        for (int i = 0; i < count; i++) {
            const tally_status s = rules[r](&tensors[i], error);
            if (s != TALLY_OK) {
                return s;
            }
        }
    }
    return TALLY_OK;
}
