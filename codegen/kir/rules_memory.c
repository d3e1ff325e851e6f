/* SPDX-License-Identifier: Apache-2.0 */
/* What operations on addresses and memory ask for; see rules.c. */
#include "rules.h"

static const kir_type i64 = { KIR_I64, 1 }, i32 = { KIR_I32, 1 }, ptr = { KIR_PTR, 1 },
                      wptr = { KIR_WPTR, 1 };

/* What memory holds: no i1, no ptr. */
static int is_memory(kir_type t)
{
    return t.kind >= KIR_I8 && t.kind <= KIR_F64;
}

const char *kir_rule_ptradd(const struct kir_facts *f)
{
    if (kir_same_type(f->x[0], wptr) || f->kernel->workgroup > 0) {
        int fits = kir_same_type(f->x[1], i32) ||
                   (kir_same_type(f->x[1], i64) && kir_same_type(f->x[0], ptr));
        return f->x[0].kind >= KIR_PTR && kir_same_type(f->type, f->x[0]) && fits
                   ? NULL
                   : "with a workgroup, ptradd adds i32 or i64 to ptr, i32 to wptr";
    }
    return kir_same_type(f->type, ptr) && kir_same_type(f->x[0], ptr) && kir_same_type(f->x[1], i64)
               ? NULL
               : "ptradd adds i64 to ptr";
}

const char *kir_rule_addr(const struct kir_facts *f)
{
    return kir_same_type(f->type, i64) && kir_same_type(f->x[0], ptr) ? NULL
                                                                      : "addr goes from ptr to i64";
}

static int is_power_of_two(unsigned n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

const char *kir_rule_memory(const struct kir_facts *f)
{
    if (!kir_same_type(f->x[0], ptr) && !kir_same_type(f->x[0], wptr)) {
        return "the address is a ptr";
    }
    if (!is_memory(f->type)) {
        return "memory holds i8 to i64 and floats";
    }
    return is_power_of_two(f->inst->align) ? NULL : "align is a power of two";
}

const char *kir_rule_store(const struct kir_facts *f)
{
    if (!kir_same_type(f->type, f->x[1])) {
        return "the instruction has the stored value's type";
    }
    if ((f->inst->flags & KIR_STREAM) != 0) {
        unsigned bytes = kir_type_bytes(f->type);
        if (!is_power_of_two(bytes) || f->inst->align < bytes) {
            return "a stream store is aligned to the whole value, a power of two bytes";
        }
    }
    return kir_rule_memory(f);
}

const char *kir_rule_masked(const struct kir_facts *f)
{
    if (!kir_same_type(f->x[0], ptr)) {
        return "the address is a ptr";
    }
    if (!is_memory(f->type)) {
        return "memory holds i8 to i64 and floats";
    }
    if (!kir_same_type(f->x[1], i64)) {
        return "the count is i64";
    }
    return kir_same_type(f->type, f->x[2]) ? NULL : "the value has the instruction's type";
}

const char *kir_rule_prefetch(const struct kir_facts *f)
{
    return kir_same_type(f->x[0], ptr) ? NULL : "the address is a ptr";
}
