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

void kir_for(kir_builder *b, kir_loop *loop, kir_value lo, kir_value hi, kir_value step,
             unsigned count, const kir_value *initial)
{
    memset(loop, 0, sizeof *loop);
    if (!kir_alive(b)) {
        return;
    }
    if (count > KIR_MAX_CARRIED) {
        kir_fault(b, "for: more than %d carried values", KIR_MAX_CARRIED);
        return;
    }
    kir_value operands[3 + KIR_MAX_CARRIED] = { lo, hi, step };
    for (unsigned i = 0; i < count; i++) {
        operands[3 + i] = initial[i];
    }
    uint32_t at = b->insts.count;
    if (kir_append(b, KIR_FOR, no_type, 3 + count, operands) == NULL) {
        return;
    }
    kir_loop made = { .inst = at, .count = count };
    uint32_t results = b->values.count;
    kir_value outcomes[KIR_MAX_CARRIED];
    new_values(b, count, initial, outcomes);
    made.i = kir_new_value(b, kir_type_of(b, lo));
    new_values(b, count, initial, made.carried);
    kir_open(b, at);
    if (!kir_alive(b)) {
        return;
    }
    kir_inst *inst = kir_at(b, at);
    inst->result_first = count > 0 ? results : 0;
    inst->result_count = count;
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
    if (kir_append(b, KIR_YIELD, no_type, loop->count, next) == NULL) {
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
    for (uint32_t i = 0; i < loop->count; i++) {
        loop->result[i] = kir_at(b, loop->inst)->result_first + i;
    }
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
    if (count > KIR_MAX_CARRIED) {
        kir_fault(b, "if: more than %d results", KIR_MAX_CARRIED);
        return 0;
    }
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
    if (end_branch(b, branch, KIR_ELSE, count, values)) {
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
    if (!end_branch(b, branch, KIR_END, count, values)) {
        return;
    }
    branch->count = count;
    uint32_t end = b->insts.count - 1;
    kir_at(b, end)->match = branch->inst;
    kir_inst *opener = kir_at(b, branch->inst);
    kir_at(b, branch->has_else ? opener->match : branch->inst)->match = end;
    opener->result_count = count;
    opener->result_first = count > 0 ? b->values.count : 0;
    kir_value made[KIR_MAX_CARRIED];
    new_values(b, count, values, made);
    if (kir_alive(b)) {
        memcpy(branch->result, made, count * sizeof *made);
    }
}
