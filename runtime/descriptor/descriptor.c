/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors: the one place where the rules of docs/semantics.md, section Tensors, are checked. A
 * descriptor that passes here can be walked with plain int64 arithmetic, in elements and in bytes,
 * without overflow.
 */
#include "descriptor.h"

#include <inttypes.h>
#include <string.h>

#include "../host/error.h"
#include "stages.h"

static const struct {
    uint32_t flag;
    const char *field;
} flag_fields[] = {
    { TALLY_EXCLUSIVE, "exclusive" }, { TALLY_REVERSE, "reverse" }, { TALLY_KEEPDIMS, "keepdims" },
    { TALLY_LAST, "last" },           { TALLY_NAN_IGNORE, "nan" },
};

static tally_status refuse_option(tally_error *error, int32_t op, const char *field)
{
    return tly_fail(error, TALLY_INVALID, field, TLY_NOT_AN_OPTION, field,
                    tally_op_name((tally_op)op));
}

/* What a struct must hold to say anything, and more than any version of it will ever hold. */
#define LEAST_SIZE offsetof(tally_descriptor, in_strides)
#define MOST_SIZE 4096u

/* Copies a struct of any known version: see tally_descriptor. */
static tally_status copy(const tally_descriptor *d, tally_descriptor *full, tally_error *error)
{
    if (d == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the descriptor is NULL");
    }
    size_t size = d->size;
    if (size < LEAST_SIZE || size > MOST_SIZE) {
        tally_status s = tly_fail(error, TALLY_INVALID, "usage",
                                  "the descriptor's size field is %zu, which no version has", size);
        tly_error_hint(error, "set it to sizeof(tally_descriptor), or use TALLY_DESCRIPTOR_INIT");
        return s;
    }
    for (size_t i = sizeof *full; i < size; i++) {
        if (((const char *)d)[i] != 0) {
            return tly_fail(error, TALLY_INVALID, "usage",
                            "byte %zu of the descriptor, unknown to this version, is not zero", i);
        }
    }
    memset(full, 0, sizeof *full);
    memcpy(full, d, size < sizeof *full ? size : sizeof *full);
    full->size = sizeof *full;
    return TALLY_OK;
}

/* The options that depend on the dtypes. */
static tally_status check_arithmetic(tally_descriptor *full, tally_error *error)
{
    const tly_dtype_facts *computed = tly_computed(full);
    if (full->flags & TALLY_NAN_IGNORE && !tly_dtypes[full->dtype].wide) {
        return tly_fail(error, TALLY_INVALID, "nan", "nan=ignore is for floats, not for %s",
                        tly_dtypes[full->dtype].name);
    }
    if (full->acc == TALLY_F64 && !computed->wide) {
        return tly_fail(error, TALLY_INVALID, "acc", "acc=f64 is for f32, f16 and bf16, not for %s",
                        computed->name);
    }
    if (full->acc == TALLY_F64 && !tly_ops[full->op].wide && computed->accumulator != TALLY_F64) {
        return refuse_option(error, full->op, "acc");
    }
    if (full->acc != 0 && full->acc != TALLY_F64 && full->acc != computed->accumulator) {
        const char *name = tally_dtype_name((tally_dtype)full->acc);
        return tly_fail(error, TALLY_INVALID, "acc", "%s is no accumulator for %s",
                        name != NULL ? name : "an unknown dtype", computed->name);
    }
    full->acc = tly_accumulator(full);
    return TALLY_OK;
}

/* Operator and dtypes, by which all tables are read. */
static tally_status check_kind(const tally_descriptor *full, tally_error *error)
{
    if (full->op <= 0 || full->op >= TALLY_OP_COUNT) {
        return tly_fail(error, TALLY_INVALID, "op", "%d is no operator", (int)full->op);
    }
    if (full->dtype <= 0 || full->dtype >= TALLY_DTYPE_COUNT) {
        return tly_fail(error, TALLY_INVALID, "dtype", "%d is no dtype", (int)full->dtype);
    }
    if (full->out_dtype < 0 || full->out_dtype >= TALLY_DTYPE_COUNT) {
        return tly_fail(error, TALLY_INVALID, "dtype", "%d is no output dtype",
                        (int)full->out_dtype);
    }
    return TALLY_OK;
}

/* The options that depend on nothing else. */
static tally_status check_names(tally_descriptor *full, tally_error *error)
{
    const tly_op_facts *op = &tly_ops[full->op];
    if (full->out_dtype == 0) {
        full->out_dtype = op->out_dtype != 0 ? op->out_dtype : full->dtype;
    }
    if (full->flags & ~(uint32_t)TALLY_ALL_FLAGS) {
        return tly_fail(error, TALLY_INVALID, "option", "flags 0x%" PRIx32 " have unknown bits",
                        full->flags);
    }
    for (size_t i = 0; i < sizeof flag_fields / sizeof flag_fields[0]; i++) {
        if (full->flags & flag_fields[i].flag & ~op->flags) {
            return refuse_option(error, full->op, flag_fields[i].field);
        }
    }
    if (full->order < TALLY_ORDER_RUN || full->order > TALLY_ORDER_SERIAL) {
        return tly_fail(error, TALLY_INVALID, "order", "%d is no order", (int)full->order);
    }
    return check_arithmetic(full, error);
}

/* Sets open sizes to 1, so that what is wrong whatever they are is still found, and tells which
 * they were, a bit each. */
static tally_status check_sizes(tally_descriptor *full, uint32_t *open, tally_error *error)
{
    const tly_op_facts *op = &tly_ops[full->op];
    if (full->rank < op->scan || full->rank > TALLY_MAX_RANK) {
        return tly_fail(error, TALLY_INVALID, "sizes", "%s takes rank %d to %d, not %d",
                        tally_op_name((tally_op)full->op), op->scan, TALLY_MAX_RANK,
                        (int)full->rank);
    }
    *open = 0;
    for (int32_t d = 0; d < full->rank; d++) {
        if (full->sizes[d] == TALLY_OPEN_SIZE) {
            *open |= 1u << d;
            full->sizes[d] = 1;
        } else if (full->sizes[d] < 0) {
            return tly_fail(error, TALLY_INVALID, "sizes",
                            "size %" PRId64 " of axis %d is negative", full->sizes[d], (int)d);
        }
    }
    for (int32_t d = full->rank; d < TALLY_MAX_RANK; d++) {
        full->sizes[d] = 0;
    }
    return TALLY_OK;
}

/* Puts back what check_sizes took away. */
static void open_sizes(tally_descriptor *full, uint32_t open)
{
    for (int32_t d = 0; d < full->rank; d++) {
        if (open >> d & 1) {
            full->sizes[d] = TALLY_OPEN_SIZE;
        }
    }
    if (open & TLY_OPEN_SEGMENTS) {
        full->segments = TALLY_OPEN_SIZE;
    }
}

static tally_status check_axes(tally_descriptor *full, tally_error *error)
{
    if (tly_ops[full->op].scan) {
        if (full->axes_given != 0 || full->axes != 0) {
            tally_status s = refuse_option(error, full->op, "axes");
            tly_error_hint(error, "a scan has one axis");
            return s;
        }
        if (full->axis < -full->rank || full->axis >= full->rank) {
            return tly_fail(error, TALLY_INVALID, "axis", "axis %d is not in [%d, %d]",
                            (int)full->axis, (int)-full->rank, (int)full->rank - 1);
        }
        full->axis += full->axis < 0 ? full->rank : 0;
        return TALLY_OK;
    }
    if (full->axis != 0) {
        tally_status s = refuse_option(error, full->op, "axis");
        tly_error_hint(error, "reductions have axes, a bit for each, and axes_given");
        return s;
    }
    if (full->axes_given > 1 || (full->axes_given == 0 && full->axes != 0)) {
        tally_status s = tly_fail(error, TALLY_INVALID, "axes",
                                  "axes 0x%" PRIx32 " do not fit axes_given %" PRIu32, full->axes,
                                  full->axes_given);
        tly_error_hint(error, "axes_given: 0 for all axes, 1 where axes holds");
        return s;
    }
    if (full->axes & ~tly_all_axes(full->rank)) {
        return tly_fail(error, TALLY_INVALID, "axes",
                        "axes 0x%" PRIx32 " name an axis that rank %d lacks", full->axes,
                        (int)full->rank);
    }
    full->axes = full->axes_given ? full->axes : tly_all_axes(full->rank);
    full->axes_given = 1;
    return TALLY_OK;
}

/* Whether a tensor has the same packed strides for all open sizes: none is an inner dim's. */
static int packed_are_known(const tally_descriptor *full, uint32_t open, uint32_t flag)
{
    const uint32_t reduced = flag == TALLY_OUT_STRIDES ? full->axes : 0;
    const uint32_t segments = full->segment_dtype != 0 && (open & TLY_OPEN_SEGMENTS) ? reduced : 0;
    const uint32_t unknown = (open & (full->every != 0 ? ~0u : ~reduced)) | segments;
    int outer = 0;
    for (int32_t d = 0; d < full->rank; d++) {
        if (unknown >> d & 1 && outer > 0) {
            return 0;
        }
        outer += !(reduced >> d & 1) || (full->flags & TALLY_KEEPDIMS) || tly_is_segmented(full);
    }
    return 1;
}

/* What is set and would not count is refused: whoever set it means it. Fields that are all zero,
 * and strides from the tensor's rank on, say nothing. */
static tally_status check_unflagged(const char *field, int32_t rank, const int64_t *strides,
                                    int64_t offset, tally_error *error)
{
    const char *flag = strcmp(field, "in") == 0 ? "TALLY_IN_STRIDES" : "TALLY_OUT_STRIDES";
    int32_t d = 0;
    while (d < rank && strides[d] == 0) {
        d++;
    }
    if (d < rank) {
        tly_fail(error, TALLY_INVALID, field, "%s_strides[%d] is %" PRId64 ", and flags lack %s",
                 field, (int)d, strides[d], flag);
    } else if (offset != 0) {
        tly_fail(error, TALLY_INVALID, field, "%s_offset is %" PRId64 ", and flags lack %s", field,
                 offset, flag);
    } else {
        return TALLY_OK;
    }
    tly_error_hint(error, "set %s where %s_strides and %s_offset hold, or leave both zero", flag,
                   field, field);
    return TALLY_INVALID;
}

/* One tensor: packed strides where none are given, the flag kept only where they say more. */
static tally_status check_tensor(tally_descriptor *full, uint32_t open, uint32_t flag, int32_t rank,
                                 const int64_t *sizes, int32_t dtype, int64_t *strides,
                                 int64_t *offset, tally_error *error)
{
    const char *field = flag == TALLY_IN_STRIDES ? "in" : "out";
    int64_t packed[TALLY_MAX_RANK] = { 0 };
    if (!tly_packed_strides(rank, sizes, packed)) {
        return tly_fail(error, TALLY_INVALID, "sizes", "the number of elements overflows 64 bits");
    }
    if (!(full->flags & flag)) {
        tally_status s = check_unflagged(field, rank, strides, *offset, error);
        if (s != TALLY_OK) {
            return s;
        }
        memcpy(strides, packed, sizeof packed);
        *offset = 0;
        field = "sizes";
    }
    for (int32_t d = rank; d < TALLY_MAX_RANK; d++) {
        strides[d] = 0;
    }
    if (!tly_extent_fits(rank, sizes, strides, *offset, tly_dtypes[dtype].bytes)) {
        return tly_fail(error, TALLY_INVALID, field, "the %s's extent in bytes overflows 64 bits",
                        flag == TALLY_IN_STRIDES ? "input" : "output");
    }
    if (memcmp(strides, packed, sizeof packed) == 0 && *offset == 0 &&
        packed_are_known(full, open, flag)) {
        full->flags &= ~flag;
    }
    return TALLY_OK;
}

tally_status tly_descriptor_judge(const tally_descriptor *d, tally_descriptor *result,
                                  const char **where, tally_error *error)
{
    tally_descriptor full;
    uint32_t open = 0;
    *where = NULL;
    tally_status s = copy(d, &full, error);
    if (s == TALLY_OK) {
        s = check_kind(&full, error);
    }
    if (s == TALLY_OK) {
        s = tly_stages_begin(&full, where, error);
    }
    if (s == TALLY_OK) {
        s = check_names(&full, error);
    }
    if (s == TALLY_OK) {
        s = check_sizes(&full, &open, error);
    }
    if (s == TALLY_OK) {
        s = check_axes(&full, error);
    }
    if (s == TALLY_OK) {
        s = check_tensor(&full, open, TALLY_IN_STRIDES, full.rank, full.sizes, full.dtype,
                         full.in_strides, &full.in_offset, error);
    }
    if (s == TALLY_OK) {
        s = tly_stages_check(&full, &open, where, error);
    }
    if (s != TALLY_OK) {
        return s;
    }
    int64_t sizes[TALLY_MAX_RANK];
    int32_t rank = tly_result_shape(&full, sizes);
    s = check_tensor(&full, open, TALLY_OUT_STRIDES, rank, sizes, full.out_dtype, full.out_strides,
                     &full.out_offset, error);
    if (s == TALLY_OK) {
        s = tly_check_index(&full, open, error);
    }
    if (s != TALLY_OK) {
        return s;
    }
    if ((full.flags & TALLY_OUT_STRIDES) &&
        !tly_addresses_distinct(rank, sizes, full.out_strides)) {
        s = tly_fail(error, TALLY_INVALID, "out", "two output elements may share an address");
        tly_error_hint(error, "sorted by size, each stride must exceed the reach of the smaller");
        return s;
    }
    open_sizes(&full, open);
    *result = full;
    return TALLY_OK;
}

tally_status tly_descriptor_resolve(const tally_descriptor *d, tally_descriptor *result,
                                    tally_error *error)
{
    const char *where;
    return tly_descriptor_judge(d, result, &where, error);
}

tally_status tally_descriptor_check(const tally_descriptor *descriptor, tally_error *error)
{
    tally_descriptor full;
    return tly_descriptor_resolve(descriptor, &full, error);
}
