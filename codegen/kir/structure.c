/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Building regions: for and if, their results and what each region yields. Guarantees that a
 * region is closed by the call that belongs to it, and that after a failure every value these
 * calls hand out is 0.
 */
#include "internal.h"

#include <string.h>

static const kir_type no_type = { KIR_NONE, 0 };

/* 1 if `inst` began the innermost open region. */
static int innermost(kir_builder *b, uint32_t inst, kir_op op)
{
    if (b->depth > 0 && b->open[b->depth].inst == inst && kir_at(b, inst)->op == op) {
        return 1;
    }
    kir_fault(b, "%s: ended where another region is the innermost", kir_op_text(op));
    return 0;
}

static void new_values(kir_builder *b, uint32_t count, const kir_value *like, kir_value *made)
{
    for (uint32_t i = 0; i < count; i++) {
        made[i] = kir_new_value(b, kir_type_of(b, like[i]));
    }
}

/* The parts of values that go where others of `parts` went before. */
static uint32_t flatten_like(kir_builder *b, kir_op op, uint32_t count, const uint8_t *parts,
                             const kir_value *values, kir_value *flat)
{
    uint8_t given[KIR_MAX_CARRIED];
    uint32_t n = kir_flatten(b, op, count, values, given, flat);
    if (kir_alive(b) && memcmp(given, parts, count) != 0) {
        kir_fault(b, "%s: a value's parts are not what they were before", kir_op_text(op));
    }
    return n;
}

void kir_for(kir_builder *b, kir_loop *loop, kir_value lo, kir_value hi, kir_value step,
             unsigned count, const kir_value *initial)
{
    memset(loop, 0, sizeof *loop);
    if (!kir_alive(b)) {
        return;
    }
    kir_loop made = { .inst = b->insts.count, .count = count };
    kir_value operands[3 + KIR_MAX_RESULTS] = { lo, hi, step }, flat[KIR_MAX_RESULTS];
    uint32_t n = kir_flatten(b, KIR_FOR, count, initial, made.parts, operands + 3);
    if (kir_append(b, KIR_FOR, no_type, 3 + n, operands) == NULL) {
        return;
    }
    uint32_t results = b->values.count;
    new_values(b, n, operands + 3, flat);
    made.i = kir_new_value(b, kir_type_of(b, lo));
    new_values(b, n, operands + 3, flat);
    kir_regroup(b, count, made.parts, flat, made.carried);
    kir_open(b, made.inst);
    if (!kir_alive(b)) {
        return;
    }
    kir_inst *inst = kir_at(b, made.inst);
    inst->result_first = n > 0 ? results : 0;
    inst->result_count = n;
    inst->params_first = made.i;
    *loop = made;
}

void kir_for_while(kir_builder *b, const kir_loop *loop)
{
    if (kir_alive(b)) {
        kir_at(b, loop->inst)->flags = KIR_WHILE;
    }
}

void kir_for_end(kir_builder *b, kir_loop *loop, const kir_value *next)
{
    if (!kir_alive(b) || !innermost(b, loop->inst, KIR_FOR)) {
        return;
    }
    kir_value flat[KIR_MAX_RESULTS];
    uint32_t n = flatten_like(b, KIR_FOR, loop->count, loop->parts, next, flat);
    if (kir_append(b, KIR_YIELD, no_type, n, flat) == NULL) {
        return;
    }
    uint32_t end = b->insts.count;
    kir_inst *inst = kir_append(b, KIR_END, no_type, 0, NULL);
    if (inst == NULL) {
        return;
    }
    inst->match = loop->inst;
    kir_at(b, loop->inst)->match = end;
    kir_close(b);
    for (uint32_t i = 0; i < n; i++) {
        flat[i] = kir_at(b, loop->inst)->result_first + i;
    }
    kir_regroup(b, loop->count, loop->parts, flat, loop->result);
}

void kir_if(kir_builder *b, kir_branch *branch, kir_value cond)
{
    memset(branch, 0, sizeof *branch);
    if (!kir_alive(b)) {
        return;
    }
    branch->inst = b->insts.count;
    if (kir_append(b, KIR_IF, no_type, 1, &cond) != NULL) {
        kir_open(b, branch->inst);
    }
}

/* Yields, and ends one region of an if with `op`; the if's match leads to the latest. */
static int end_branch(kir_builder *b, kir_branch *branch, kir_op op, unsigned count,
                      const kir_value *values)
{
    if (!innermost(b, branch->inst, KIR_IF) ||
        kir_append(b, KIR_YIELD, no_type, count, values) == NULL ||
        kir_append(b, op, no_type, 0, NULL) == NULL) {
        return 0;
    }
    kir_close(b);
    return 1;
}

void kir_else(kir_builder *b, kir_branch *branch, unsigned count, const kir_value *values)
{
    if (!kir_alive(b)) {
        return;
    }
    if (branch->has_else) {
        kir_fault(b, "else: the if has one already");
        return;
    }
    kir_value flat[KIR_MAX_RESULTS];
    uint32_t n = kir_flatten(b, KIR_IF, count, values, branch->parts, flat);
    if (end_branch(b, branch, KIR_ELSE, n, flat)) {
        kir_at(b, branch->inst)->match = b->insts.count - 1;
        branch->has_else = 1;
        branch->count = count;
        kir_open(b, branch->inst);
    }
}

void kir_if_end(kir_builder *b, kir_branch *branch, unsigned count, const kir_value *values)
{
    if (!kir_alive(b)) {
        return;
    }
    if (branch->has_else ? count != branch->count : count != 0) {
        kir_fault(b, "if: both regions yield equally many values, and none without else");
        return;
    }
    kir_value flat[KIR_MAX_RESULTS];
    uint32_t n = flatten_like(b, KIR_IF, count, branch->parts, values, flat);
    if (!end_branch(b, branch, KIR_END, n, flat)) {
        return;
    }
    branch->count = count;
    uint32_t end = b->insts.count - 1;
    kir_at(b, end)->match = branch->inst;
    kir_inst *opener = kir_at(b, branch->inst);
    kir_at(b, branch->has_else ? opener->match : branch->inst)->match = end;
    opener->result_count = n;
    opener->result_first = n > 0 ? b->values.count : 0;
    kir_value made[KIR_MAX_RESULTS];
    new_values(b, n, flat, made);
    if (kir_alive(b)) {
        kir_regroup(b, count, branch->parts, made, branch->result);
    }
}
