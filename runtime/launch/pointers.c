/* SPDX-License-Identifier: Apache-2.0 */
/* Why a caller's pointers are refused; see prepared.h. Not of objects made ahead of time, which say
 * less. */
#include "prepared.h"

#include <inttypes.h>

#include "../host/error.h"

static const char *name_of(const tly_rules *rules, int t)
{
    const int carry = (int)rules->tensors - (rules->carry != 0 ? 2 : 0);
    const int offsets = carry - (rules->offsets != 0);
    return tly_tensor_name(t < offsets ? t : t < carry ? TLY_OFFSETS : TLY_STATES_IN + t - carry);
}

static tally_status refuse_carry(const tly_rules *rules, const tly_pointers *p, tally_error *error)
{
    const int from = (int)rules->tensors - 2, to = from + 1;
    if (p->at[from] != NULL && !tly_is_acceptable(rules, p, from)) {
        return tly_fail(error, TALLY_INVALID, "carry_in", "carry_in and the output overlap");
    }
    if (!tly_is_acceptable(rules, p, to)) {
        return tly_fail(error, TALLY_INVALID, "carry_out", "carry_out and the output overlap");
    }
    for (int t = TLY_IN; t < from; t++) {
        if (!tly_is_apart_from_states(rules, p, t)) {
            return tly_fail(error, TALLY_INVALID, "carry_out", "carry_out and %s overlap",
                            name_of(rules, t));
        }
    }
    tly_fail(error, TALLY_INVALID, "carry_out", "carry_in and carry_out overlap in part");
    tly_error_hint(error, "pass the same tensor twice, or tensors that do not overlap");
    return TALLY_INVALID;
}

tally_status tly_refuse_offsets(const tly_rules *rules, const tly_pointers *p, tally_error *error)
{
    const char *offsets = p->at[tly_offsets_number(rules)];
    const int64_t fault = tly_offsets_fault(rules, p);
    const int64_t at = fault > 0 ? fault : 0; /* a caller's thread may have mended them since */
    const int64_t offset = tly_offset_at(rules, offsets, at);
    const int64_t before = at > 0 ? tly_offset_at(rules, offsets, at - 1) : offset;
    if (offset < before) {
        tly_fail(error, TALLY_INVALID, "offsets",
                 "offset %" PRId64 " is %" PRId64 ", below the %" PRId64 " before it", at, offset,
                 before);
    } else {
        tly_fail(error, TALLY_INVALID, "offsets",
                 "offset %" PRId64 " is %" PRId64 ", and not in [0, %" PRId64 "]", at, offset,
                 rules->size);
    }
    tly_error_hint(error, "offsets are %" PRId64 " indices that never fall", rules->segments + 1);
    return TALLY_INVALID;
}

tally_status tly_refuse_pointers(const tly_rules *rules, const tly_pointers *p, tally_error *error)
{
    for (int t = 0; t < rules->tensors; t++) {
        const char *name = name_of(rules, t);
        if (p->at[t] == NULL && !tly_may_be_missing(rules, t)) {
            return tly_fail(error, TALLY_INVALID, name, "%s is NULL, and the tensor is not empty",
                            name);
        }
    }
    for (int t = 0; t < rules->tensors; t++) {
        const char *name = name_of(rules, t);
        if (tly_is_misaligned(rules, t, p->at[t])) {
            return tly_fail(error, TALLY_INVALID, name,
                            "%s is not aligned to its elements of %d bytes", name,
                            (int)rules->misaligned[t] + 1);
        }
    }
    const int operands_end = (int)rules->tensors - (rules->carry != 0 ? 2 : 0);
    for (int t = TLY_FIRST_OPERAND; t < operands_end; t++) {
        if (!tly_is_acceptable(rules, p, t)) {
            return tly_fail(error, TALLY_INVALID, name_of(rules, t), "%s%s and the output overlap",
                            rules->offsets && t == operands_end - 1 ? "" : "operand ",
                            name_of(rules, t));
        }
    }
    if (rules->carry != 0 && !tly_carry_is_acceptable(rules, p)) {
        return refuse_carry(rules, p, error);
    }
    if (tly_acceptable(rules, p)) {
        return tly_refuse_offsets(rules, p, error);
    }
    if (p->at[TLY_IN] == p->at[TLY_OUT]) {
        tly_fail(
            error, TALLY_INVALID, "out",
            "in place needs a scan, and equal dtypes, strides and offsets of input and output");
    } else {
        tly_fail(error, TALLY_INVALID, "out", "the regions of input and output overlap");
    }
    tly_error_hint(error, rules->in_place
                              ? "pass the same tensor twice, or tensors that do not overlap"
                              : "pass tensors that do not overlap");
    return TALLY_INVALID;
}
