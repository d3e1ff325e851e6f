/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the operands of a descriptor and makes their places canonical: strides of a packed place
 * become that place, and a place of all axes becomes the default.
 */
#include "operands.h"

#include <inttypes.h>
#include <string.h>

#include "../host/error.h"
#include "descriptor.h"
#include "expression.h"

static const tally_operand no_operand;

static int has_strides(const tally_operand *o, int32_t rank)
{
    int64_t bits = o->offset;
    for (int32_t d = 0; d < rank; d++) {
        bits |= o->strides[d];
    }
    return bits != 0;
}

/* A field that has no effect must be zero. */
static tally_status check_fields(const tally_operand *o, int32_t rank, const char *field,
                                 tally_error *error)
{
    const char *which = NULL;
    if (o->dtype < 0 || o->dtype >= TALLY_DTYPE_COUNT) {
        return tly_fail(error, TALLY_INVALID, field, "%d is no dtype", (int)o->dtype);
    }
    if (o->place < TALLY_PLACE_PACKED || o->place > TALLY_PLACE_STRIDES) {
        return tly_fail(error, TALLY_INVALID, field, "%d is no place", (int)o->place);
    }
    if (o->dtype == 0 && memcmp(o, &no_operand, sizeof *o) != 0) {
        tly_fail(error, TALLY_INVALID, field, "the operand has no dtype, and other fields are set");
        tly_error_hint(error, "set its dtype, or leave all its fields zero");
        return TALLY_INVALID;
    }
    if (o->reserved != 0) {
        which = "reserved is set";
    } else if (o->place != TALLY_PLACE_AXES && o->axes != 0) {
        which = "axes are set, and the place is not TALLY_PLACE_AXES";
    } else if (o->place != TALLY_PLACE_STRIDES && has_strides(o, rank)) {
        which = "strides or an offset are set, and the place is not TALLY_PLACE_STRIDES";
    }
    return which != NULL ? tly_fail(error, TALLY_INVALID, field, "%s", which) : TALLY_OK;
}

/* The place of strides, if they are packed over some axes. These are the axes with strides: no
 * packed stride is 0. */
static void find_place(tally_descriptor *full, int operand)
{
    tally_operand *o = &full->operands[operand];
    const tally_operand given = *o;
    int64_t packed[TALLY_MAX_RANK] = { 0 };
    if (given.place == TALLY_PLACE_STRIDES && given.offset == 0) {
        *o = (tally_operand){ .dtype = given.dtype, .place = TALLY_PLACE_AXES };
        for (int32_t d = 0; d < full->rank; d++) {
            o->axes |= given.strides[d] != 0 ? 1u << d : 0;
        }
        if (!tly_operand_strides(full, operand, packed) ||
            memcmp(packed, given.strides, sizeof packed) != 0) {
            *o = given;
        }
    }
    if (o->place == TALLY_PLACE_AXES && o->axes == tly_all_axes(full->rank)) {
        o->place = TALLY_PLACE_PACKED;
        o->axes = 0;
    }
}

static tally_status check_place(tally_descriptor *full, uint32_t open, int operand,
                                tally_error *error)
{
    tally_operand *o = &full->operands[operand];
    const char *field = tly_operand_name(operand);
    int64_t strides[TALLY_MAX_RANK];
    if (o->axes & ~tly_all_axes(full->rank)) {
        return tly_fail(error, TALLY_INVALID, field,
                        "axes 0x%" PRIx32 " name an axis that rank %d lacks", o->axes,
                        (int)full->rank);
    }
    if (o->place == TALLY_PLACE_STRIDES && open != 0) {
        tly_fail(error, TALLY_INVALID, field, "strides of an operand need every size");
        tly_error_hint(error, "axes go with open sizes, as in %s=f32/0+1 or %s=f32/none", field,
                       field);
        return TALLY_INVALID;
    }
    for (int32_t d = full->rank; d < TALLY_MAX_RANK; d++) {
        o->strides[d] = 0;
    }
    if (!tly_operand_strides(full, operand, strides) ||
        !tly_extent_fits(full->rank, full->sizes, strides, o->offset, tly_dtypes[o->dtype].bytes)) {
        return tly_fail(error, TALLY_INVALID, field,
                        "the operand's extent in bytes overflows 64 bits");
    }
    find_place(full, operand);
    return TALLY_OK;
}

tally_status tly_operands_check(tally_descriptor *full, uint32_t open, tally_error *error)
{
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        tally_operand *o = &full->operands[i];
        const char *field = tly_operand_name(i);
        tally_status s = check_fields(o, full->rank, field, error);
        if (s == TALLY_OK && o->dtype != 0 && i > 0 && full->operands[i - 1].dtype == 0) {
            s = tly_fail(error, TALLY_INVALID, field, "there is no operand %s before %s",
                         tly_operand_name(i - 1), field);
            tly_error_hint(error, "operands are named a, b, c, d, without gaps");
        }
        if (s == TALLY_OK && o->dtype != 0) {
            s = check_place(full, open, i, error);
        }
        if (s != TALLY_OK) {
            return s;
        }
    }
    return TALLY_OK;
}

uint32_t tly_moves_operands(const tally_descriptor *full, int32_t d)
{
    uint32_t moved = 0;
    for (int i = 0; i < TALLY_MAX_OPERANDS && full->operands[i].dtype != 0; i++) {
        moved |= (uint32_t)tly_operand_extends(full, i, d) << i;
    }
    return moved;
}

int tly_operand_extends(const tally_descriptor *full, int operand, int32_t axis)
{
    const tally_operand *o = &full->operands[operand];
    return o->place == TALLY_PLACE_PACKED ||
           (o->place == TALLY_PLACE_AXES ? (int)(o->axes >> axis & 1) : o->strides[axis] != 0);
}
