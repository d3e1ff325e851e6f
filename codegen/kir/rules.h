/* SPDX-License-Identifier: Apache-2.0 */
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
typedef const char *kir_rule(const struct kir_facts *f);

#define KIR_OP(NAME, text, operands, results, immediate, sort, targets, rule) \
    kir_rule kir_rule_##rule;
#include "ops.def"
#undef KIR_OP

#endif
