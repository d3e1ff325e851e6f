/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether barriers stand in uniform flow: every invocation of a workgroup must arrive at each, so
 * no `if` or `for` around one may depend on what differs between invocations. A value differs if
 * it comes from the local, subgroup or lane id, from another lane, from an atomic, from memory at
 * a differing address, or from a region that differing control chose. What all read from one
 * address of workgroup memory is one value.
 */
#include "internal.h"

#include <stdlib.h>

struct flow {
    const kir_kernel *k;
    uint8_t *differs; /* by value number */
    int changed;
};

static int operands_differ(const struct flow *f, const kir_inst *inst)
{
    for (uint32_t i = 0; i < inst->operand_count; i++) {
        if (f->differs[f->k->operands[inst->operand_first + i]]) {
            return 1;
        }
    }
    return 0;
}

static void mark(struct flow *f, uint32_t value, int differs)
{
    if (differs && !f->differs[value]) {
        f->differs[value] = 1;
        f->changed = 1;
    }
}

/* 1 if invocations may take different ways at this for or if. */
static int parts(const struct flow *f, const kir_inst *inst)
{
    uint32_t bounds = inst->op == KIR_FOR ? 3 : 1;
    for (uint32_t i = 0; i < bounds; i++) {
        if (f->differs[f->k->operands[inst->operand_first + i]]) {
            return 1;
        }
    }
    return (inst->flags & KIR_WHILE) != 0 && f->differs[inst->params_first + 1];
}

static void yield(struct flow *f, const kir_inst *inst, const kir_inst *opener)
{
    for (uint32_t i = 0; i < inst->operand_count; i++) {
        int differs = f->differs[f->k->operands[inst->operand_first + i]] || parts(f, opener);
        mark(f, opener->result_first + i, differs);
        if (opener->op == KIR_FOR) {
            mark(f, opener->params_first + 1 + i, differs);
        }
    }
}

static void enter(struct flow *f, const kir_inst *inst)
{
    for (uint32_t i = 0; i < inst->result_count && inst->op == KIR_FOR; i++) {
        int differs = f->differs[f->k->operands[inst->operand_first + 3 + i]];
        mark(f, inst->params_first + 1 + i, differs);
        mark(f, inst->result_first + i, differs);
    }
    if (inst->op == KIR_FOR) {
        mark(f, inst->params_first, parts(f, inst));
    }
}

static int source(const kir_inst *inst)
{
    if (inst->op == KIR_ID) {
        return inst->imm != KIR_ID_GROUP_X && inst->imm != KIR_ID_GROUP_Y;
    }
    return kir_op_sort((kir_op)inst->op) == KIR_SORT_VARIES;
}

/* One walk; returns the first barrier in parted flow, or inst_count. */
static uint32_t walk(struct flow *f)
{
    const kir_kernel *k = f->k;
    uint32_t open[KIR_MAX_DEPTH] = { 0 }, depth = 0, parted = 0, found = k->inst_count;
    uint8_t apart[KIR_MAX_DEPTH] = { 0 };
    for (uint32_t at = 0; at < k->inst_count; at++) {
        const kir_inst *inst = &k->insts[at];
        if (inst->op == KIR_FOR || inst->op == KIR_IF) {
            enter(f, inst);
            apart[depth] = (uint8_t)parts(f, inst);
            parted += apart[depth];
            open[depth++] = at;
        } else if (inst->op == KIR_YIELD) {
            yield(f, inst, &k->insts[open[depth - 1]]);
        } else if (inst->op == KIR_END) {
            parted -= apart[--depth];
        } else if (inst->op == KIR_BARRIER) {
            found = parted > 0 && found == k->inst_count ? at : found;
        } else if (inst->result_count == 1) {
            mark(f, inst->result_first, source(inst) || operands_differ(f, inst));
        }
    }
    return found;
}

const char *kir_uniform_broken(const kir_kernel *k, uint32_t *inst, tally_status *status)
{
    struct flow f = { .k = k, .differs = calloc((size_t)k->value_count + 1, 1) };
    uint32_t found;
    if (f.differs == NULL) {
        *status = TALLY_OUT_OF_MEMORY;
        return NULL;
    }
    do { /* a for's condition can turn differing by what it carries: until nothing more does */
        f.changed = 0;
        found = walk(&f);
    } while (f.changed);
    free(f.differs);
    *inst = found;
    return found < k->inst_count ? "a barrier stands in uniform flow only" : NULL;
}
