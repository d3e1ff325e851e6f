/* SPDX-License-Identifier: Apache-2.0 */
/* Why a caller's pointers are refused; see prepared.h. Not of objects made ahead of time, which say
 * less. */
#include "prepared.h"

#include "../host/error.h"

tally_status tly_refuse_pointers(const tly_rules *rules, const tly_pointers *p, tally_error *error)
{
    for (int t = 0; t < rules->tensors; t++) {
        const char *name = tly_tensor_name(t);
        if (p->at[t] == NULL) {
            return tly_fail(error, TALLY_INVALID, name, "%s is NULL, and the tensor is not empty",
                            name);
        }
    }
    for (int t = 0; t < rules->tensors; t++) {
        const char *name = tly_tensor_name(t);
        if (tly_is_misaligned(rules, t, p->at[t])) {
            return tly_fail(error, TALLY_INVALID, name,
                            "%s is not aligned to its elements of %d bytes", name,
                            (int)rules->misaligned[t] + 1);
        }
    }
    for (int t = TLY_FIRST_OPERAND; t < rules->tensors; t++) {
        if (!tly_is_acceptable(rules, p, t)) {
            return tly_fail(error, TALLY_INVALID, tly_tensor_name(t),
                            "operand %s and the output overlap", tly_tensor_name(t));
        }
    }
    if (p->at[TLY_IN] == p->at[TLY_OUT]) {
        return tly_fail(error, TALLY_INVALID, "out",
                        "in place needs equal strides and offsets of input and output");
    }
    tly_fail(error, TALLY_INVALID, "out", "the regions of input and output overlap");
    tly_error_hint(error, "pass the same pointer twice, or regions that are disjoint");
    return TALLY_INVALID;
}
