/* SPDX-License-Identifier: Apache-2.0 */
/* What the operations of kernels with a workgroup ask for; see rules.c. */
#include "rules.h"

static const kir_type i32 = { KIR_I32, 1 }, ptr = { KIR_PTR, 1 }, wptr = { KIR_WPTR, 1 };

const char *kir_rule_id(const struct kir_facts *f)
{
    return kir_same_type(f->type, i32) ? NULL : "an id is an i32";
}

const char *kir_rule_shared(const struct kir_facts *f)
{
    return kir_same_type(f->type, wptr) && f->inst->imm > 0
               ? NULL
               : "shared gives a wptr to at least one byte";
}

const char *kir_rule_subgroup_scan(const struct kir_facts *f)
{
    return kir_same_type(f->type, f->x[0]) && f->type.lanes == 1 && kir_is_int(f->type)
               ? NULL
               : "a scan of a subgroup is of scalar integers"; /* floats: no fixed order */
}

const char *kir_rule_from_lane(const struct kir_facts *f)
{
    return kir_same_type(f->type, f->x[0]) && f->type.lanes == 1 && f->type.kind < KIR_PTR &&
                   kir_same_type(f->x[1], i32)
               ? NULL
               : "a scalar is taken from the lane that an i32 names";
}

const char *kir_rule_ballot(const struct kir_facts *f)
{
    return kir_same_type(f->type, KIR_TYPE(KIR_I32, 4)) &&
                   kir_same_type(f->x[0], KIR_TYPE(KIR_I1, 1))
               ? NULL
               : "a ballot of an i1 is an i32x4";
}

const char *kir_rule_atomic(const struct kir_facts *f)
{
    int stored = f->inst->operand_count < 2 || kir_same_type(f->x[1], i32);
    return kir_same_type(f->type, i32) && kir_same_type(f->x[0], ptr) && stored
               ? NULL
               : "atomics are of i32 at a ptr";
}
