/* What the files of rules share: an instruction as a rule sees it. */
#ifndef KIR_RULES_H
#define KIR_RULES_H

#include "internal.h"

struct kir_facts {
    const kir_kernel *kernel;
    const kir_inst *inst;
    kir_type type; /* the result's, or the stored value's */
    kir_type x[3]; /* the operands' */
};

/* The rule that is broken, or NULL. */
typedef const char *(*kir_rule)(const struct kir_facts *f);

/* rules_gpu.c */
const char *kir_rule_id(const struct kir_facts *f);
const char *kir_rule_shared(const struct kir_facts *f);
const char *kir_rule_subgroup_scan(const struct kir_facts *f);
const char *kir_rule_from_lane(const struct kir_facts *f);
const char *kir_rule_atomic(const struct kir_facts *f);

#endif
