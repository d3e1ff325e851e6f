/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verifier: one walk that checks what no single operation can see, and asks rules.c for the
 * rest. After it a kernel can be lowered, printed and interpreted without further checks: every
 * operand is defined and its region still open, regions match, numbers are in order of appearance.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIDDEN = 0, VISIBLE = 1 };

struct region {
    uint32_t inst;   /* for or if */
    uint32_t start;  /* the first value inside */
    uint32_t middle; /* its else, or 0 */
};

struct walk {
    const kir_kernel *k;
    uint32_t at;   /* the instruction looked at */
    uint32_t next; /* the next value to be numbered */
    uint32_t depth;
    struct region open[KIR_MAX_DEPTH];
    uint8_t *visible; /* by value number */
};

int kir_name_valid(const char *name)
{
    size_t length = 0;
    for (; name[length] != 0; length++) {
        char c = name[length];
        int letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (length == 0 || c < '0' || c > '9')) {
            return 0;
        }
    }
    return length > 0 && length < sizeof((kir_kernel *)0)->name;
}

static kir_type operand_type(const struct walk *w, const kir_inst *inst, uint32_t i)
{
    return w->k->types[w->k->operands[inst->operand_first + i]];
}

static int in_pool(const struct walk *w, const kir_inst *inst)
{
    return inst->operand_first <= w->k->operand_count &&
           inst->operand_count <= w->k->operand_count - inst->operand_first;
}

static const char *operands_broken(const struct walk *w, const kir_inst *inst)
{
    int count = kir_op_operands((kir_op)inst->op);
    if (!in_pool(w, inst)) {
        return "its operands are in the operand pool";
    }
    if (count >= 0 && inst->operand_count != (uint32_t)count) {
        return "it has another number of operands";
    }
    for (uint32_t i = 0; i < inst->operand_count; i++) {
        uint32_t v = w->k->operands[inst->operand_first + i];
        if (v == 0 || v >= w->next) {
            return "an operand is used before it is defined";
        }
        if (w->visible[v] == HIDDEN) {
            return "an operand's region has ended, or is the one whose result it is";
        }
    }
    return NULL;
}

/* Numbers `count` values from *first on; they are visible from here, or from the region's end. */
static const char *number(struct walk *w, uint32_t first, uint32_t count, int visible)
{
    if (count == 0) {
        return NULL;
    }
    if (first != w->next || count > w->k->value_count - w->next) {
        return "values are numbered in order of appearance";
    }
    memset(w->visible + first, visible, count);
    w->next += count;
    return NULL;
}

static const char *results_broken(struct walk *w, const kir_inst *inst)
{
    int count = kir_op_results((kir_op)inst->op);
    if (count >= 0 ? inst->result_count != (uint32_t)count : inst->result_count > KIR_MAX_RESULTS) {
        return "it has another number of results";
    }
    if (inst->result_count == 0 && inst->result_first != 0) {
        return "without results the first result is 0";
    }
    const char *broken = number(w, inst->result_first, inst->result_count,
                                count >= 0 ? VISIBLE : HIDDEN);
    if (broken == NULL && count == 1 &&
        !kir_same_type(w->k->types[inst->result_first], inst->type)) {
        return "the result has the instruction's type";
    }
    return broken;
}

static const char *open_region(struct walk *w, uint32_t start)
{
    if (w->depth == KIR_MAX_DEPTH) {
        return "regions nest at most 32 deep";
    }
    w->open[w->depth++] = (struct region){ w->at, start, 0 };
    return NULL;
}

static const char *for_broken(struct walk *w, const kir_inst *inst)
{
    uint32_t count = inst->result_count, params = inst->params_first;
    if (inst->operand_count != 3 + count) {
        return "a for has two bounds, a step and an initial value for each result";
    }
    const char *broken = number(w, params, 1 + count, VISIBLE);
    if (broken != NULL) {
        return broken;
    }
    if (!kir_same_type(w->k->types[params], operand_type(w, inst, 0))) {
        return "the induction variable has the type of the bounds";
    }
    for (uint32_t i = 0; i < count; i++) {
        kir_type type = operand_type(w, inst, 3 + i);
        if (!kir_same_type(type, w->k->types[params + 1 + i]) ||
            !kir_same_type(type, w->k->types[inst->result_first + i])) {
            return "initial value, carried value and result have one type";
        }
    }
    return open_region(w, params);
}

static const char *yield_broken(const struct walk *w, const kir_inst *inst)
{
    if (w->depth == 0) {
        return "only a region yields";
    }
    uint8_t after = w->at + 1 < w->k->inst_count ? inst[1].op : KIR_OP_COUNT;
    if (after != KIR_END && after != KIR_ELSE) {
        return "yield is the last of its region";
    }
    const kir_inst *opener = &w->k->insts[w->open[w->depth - 1].inst];
    if (inst->operand_count != opener->result_count) {
        return "a region yields one value for each result";
    }
    for (uint32_t i = 0; i < inst->operand_count; i++) {
        if (!kir_same_type(operand_type(w, inst, i), w->k->types[opener->result_first + i])) {
            return "a yielded value has the result's type";
        }
    }
    return NULL;
}

/* else and end: the region before them ends. */
static const char *ending_broken(struct walk *w, const kir_inst *inst)
{
    if (w->depth == 0) {
        return "no region is open";
    }
    if (inst[-1].op != KIR_YIELD) { /* depth is not 0: there is an instruction before */
        return "a region ends with yield";
    }
    struct region *region = &w->open[w->depth - 1];
    const kir_inst *opener = &w->k->insts[region->inst];
    memset(w->visible + region->start, HIDDEN, w->next - region->start);
    if (inst->op == KIR_ELSE) {
        if (opener->op != KIR_IF || region->middle != 0) {
            return "else belongs to an if, once";
        }
        if (opener->match != w->at) {
            return "an if matches its else";
        }
        region->middle = w->at;
        region->start = w->next;
        return NULL;
    }
    uint32_t last = region->middle != 0 ? region->middle : region->inst;
    if (inst->match != region->inst || w->k->insts[last].match != w->at) {
        return "an end and what it ends match";
    }
    if (opener->op == KIR_IF && region->middle == 0 && opener->result_count != 0) {
        return "an if with results has an else";
    }
    if (opener->result_count > 0) {
        memset(w->visible + opener->result_first, VISIBLE, opener->result_count);
    }
    w->depth--;
    return NULL;
}

static const char *structure_broken(struct walk *w, const kir_inst *inst)
{
    switch (inst->op) {
    case KIR_FOR:
        return for_broken(w, inst);
    case KIR_IF:
        return open_region(w, w->next);
    case KIR_YIELD:
        return yield_broken(w, inst);
    case KIR_ELSE:
    case KIR_END:
        return ending_broken(w, inst);
    case KIR_RETURN:
        return w->depth == 0 && w->at + 1 == w->k->inst_count
                   ? NULL
                   : "return is the last instruction of a kernel";
    default:
        return w->at + 1 < w->k->inst_count ? NULL : "the last instruction of a kernel is return";
    }
}

static const char *inst_broken(struct walk *w, const kir_inst *inst)
{
    if (inst->op >= KIR_OP_COUNT) {
        return "no such operation";
    }
    int region = inst->op == KIR_FOR || inst->op == KIR_IF || inst->op == KIR_ELSE ||
                 inst->op == KIR_END;
    if ((inst->params_first != 0 && inst->op != KIR_FOR) || (inst->match != 0 && !region)) {
        return "only regions have a match, only for has params";
    }
    unsigned target = w->k->workgroup > 0 ? KIR_ON_GPU : KIR_ON_CPU;
    if ((kir_op_targets((kir_op)inst->op) & target) == 0) {
        return w->k->workgroup > 0 ? "it is no operation of kernels with a workgroup"
                                   : "it is of kernels with a workgroup";
    }
    const char *broken = operands_broken(w, inst);
    if (broken == NULL) {
        broken = kir_rule_broken(w->k, inst);
    }
    if (broken == NULL) {
        broken = results_broken(w, inst);
    }
    return broken != NULL ? broken : structure_broken(w, inst);
}

static const char *kernel_broken(struct walk *w)
{
    if (memchr(w->k->name, 0, sizeof w->k->name) == NULL || !kir_name_valid(w->k->name)) {
        return "a kernel's name is a C identifier";
    }
    if (w->k->facts & (w->k->workgroup > 0 ? ~(uint32_t)KIR_FACTS : ~0u)) {
        return "only kernels with a workgroup are told of their tensors";
    }
    for (; w->at < w->k->inst_count; w->at++) {
        const char *broken = inst_broken(w, &w->k->insts[w->at]);
        if (broken != NULL) {
            return broken;
        }
    }
    if (w->k->inst_count == 0) {
        return "the last instruction of a kernel is return";
    }
    return w->next == w->k->value_count ? NULL : "every value is defined by an instruction";
}

/* "add (%1 f32x8, %2 f32x4) : f32x8: ", as far as it fits. */
static void describe(const struct walk *w, char *text, size_t room)
{
    const kir_inst *inst = &w->k->insts[w->at];
    size_t used = (size_t)snprintf(text, room, "%s (", kir_op_text((kir_op)inst->op));
    uint32_t count = in_pool(w, inst) ? inst->operand_count : 0;
    for (uint32_t i = 0; i < count && used < room; i++) {
        uint32_t v = w->k->operands[inst->operand_first + i];
        kir_type t = v < w->k->value_count ? w->k->types[v] : KIR_TYPE(KIR_NONE, 0);
        used += (size_t)snprintf(text + used, room - used, "%s%%%u %sx%u", i > 0 ? ", " : "", v,
                                 kir_kind_text((kir_kind)t.kind), t.lanes);
    }
    if (used < room) {
        used += (size_t)snprintf(text + used, room - used, ")");
    }
    if (used < room && inst->type.kind != KIR_NONE) {
        snprintf(text + used, room - used, " : %sx%u", kir_kind_text((kir_kind)inst->type.kind),
                 inst->type.lanes);
    }
}

tally_status kir_check(const kir_kernel *k, struct kir_breach *breach)
{
    struct walk w = { .k = k, .next = 1 };
    w.visible = calloc((size_t)k->value_count + 1, 1);
    if (w.visible == NULL) {
        return TALLY_OUT_OF_MEMORY;
    }
    const char *broken = kernel_broken(&w);
    free(w.visible);
    tally_status status = TALLY_OK;
    if (broken == NULL && k->workgroup > 0) {
        broken = kir_uniform_broken(k, &w.at, &status);
    }
    if (broken == NULL) {
        return status;
    }
    char shape[100] = "the kernel";
    if (w.at < k->inst_count) {
        describe(&w, shape, sizeof shape);
    }
    breach->inst = w.at;
    snprintf(breach->text, sizeof breach->text, "%s: %s", shape, broken);
    return TALLY_INTERNAL;
}

tally_status kir_verify(const kir_kernel *kernel, tally_error *error)
{
    struct kir_breach breach;
    tally_status status = kir_check(kernel, &breach);
    if (status == TALLY_OUT_OF_MEMORY) {
        return tly_out_of_memory(error, "the verifier", (size_t)kernel->value_count + 1);
    }
    if (status != TALLY_OK) {
        return tly_fail(error, status, "kir", "kernel %s, instruction %u: %s", kernel->name,
                        breach.inst, breach.text);
    }
    return TALLY_OK;
}
