/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A team's way through a kernel. Where its invocations part, those whose turn it is not are away
 * until the region's end; structured flow needs no more. What a subgroup does together is done by
 * those that are not.
 */
#include "interp.h"

static int any_here(const struct kir_team *team)
{
    for (uint32_t lane = 0; lane < team->lanes; lane++) {
        if (team->away[lane] == 0) {
            return 1;
        }
    }
    return 0;
}

/* Visits the invocations that are here, as long as nothing is wrong. */
#define FOR_EACH_HERE(r) \
    for (uint32_t lane_ = 0; lane_ < (r)->team->lanes && (r)->fault == NULL; lane_++) \
        if ((r)->team->away[lane_] == 0 && (kir_run_select(r, lane_), 1))

static void each(struct kir_run *r, const kir_inst *inst, kir_step step)
{
    FOR_EACH_HERE(r)
    {
        step(r, inst);
    }
}

/* ---- regions ---- */

/* Copies operands from `from` on to the values that follow `to`. */
static void assign(const struct kir_run *r, const kir_inst *inst, uint32_t from, uint32_t to,
                   uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        memcpy(kir_run_slot(r, to + i), kir_run_operand(r, inst, from + i),
               kir_type_bytes(r->m->k->types[to + i]));
    }
}

static void set_induction(const struct kir_run *r, const kir_inst *loop, int64_t i)
{
    unsigned bytes = kir_kind_bytes((kir_kind)r->m->k->types[loop->params_first].kind);
    kir_lane_put(bytes, kir_run_slot(r, loop->params_first), 0, (uint64_t)i);
}

/* A while goes on only if its first carried value, which stands at `first`, is true. */
static int goes_on(const kir_inst *loop, const char *first)
{
    return (loop->flags & KIR_WHILE) == 0 || *first != 0;
}

static void start_loop(struct kir_run *r, const kir_inst *inst)
{
    const int64_t low = kir_run_integer(r, inst, 0), high = kir_run_integer(r, inst, 1);
    if (kir_run_integer(r, inst, 2) <= 0) {
        r->fault = "the step is not positive";
        return;
    }
    assign(r, inst, 3, inst->result_first, inst->result_count);
    if (low < high && goes_on(inst, inst->result_count > 0 ? kir_run_result(r, inst) : NULL)) {
        set_induction(r, inst, low);
        assign(r, inst, 3, inst->params_first + 1, inst->result_count);
    } else {
        r->team->away[r->lane] = (uint8_t)r->team->depth;
    }
}

/* Every pass writes the results, which are unseen inside, and from them the next pass' carried
 * values: a yield may well permute those. */
static void next_trip(struct kir_run *r, const kir_inst *loop)
{
    const kir_type type = r->m->k->types[loop->params_first];
    const unsigned bytes = kir_kind_bytes((kir_kind)type.kind);
    const uint64_t bits = kir_lane_get(bytes, kir_run_slot(r, loop->params_first), 0);
    int64_t next = type.kind == KIR_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
    int beyond = __builtin_add_overflow(next, kir_run_integer(r, loop, 2), &next);
    if (beyond || next >= kir_run_integer(r, loop, 1) ||
        !goes_on(loop, loop->result_count > 0 ? kir_run_result(r, loop) : NULL)) {
        r->team->away[r->lane] = (uint8_t)r->team->depth;
        return;
    }
    set_induction(r, loop, next);
    for (uint32_t c = 0; c < loop->result_count; c++) {
        uint32_t from = loop->result_first + c, to = loop->params_first + 1 + c;
        memcpy(kir_run_slot(r, to), kir_run_slot(r, from), kir_type_bytes(r->m->k->types[to]));
    }
}

static void start_branch(struct kir_run *r, const kir_inst *inst)
{
    if (*(const char *)kir_run_operand(r, inst, 0) == 0) {
        r->team->away[r->lane] = (uint8_t)r->team->depth;
    }
}

static void yield(struct kir_run *r, const kir_inst *inst)
{
    const kir_inst *insts = r->m->k->insts;
    const uint32_t end = inst[1].op == KIR_ELSE ? inst[1].match : r->team->at;
    const kir_inst *opener = &insts[insts[end].match];
    FOR_EACH_HERE(r)
    {
        assign(r, inst, 0, opener->result_first, opener->result_count);
        if (opener->op == KIR_FOR) {
            next_trip(r, opener);
        }
    }
}

/* Those who waited for this depth and those who are here change places; or, without `swap`, all
 * are here again. */
static void call_back(struct kir_team *team, int swap)
{
    for (uint32_t lane = 0; lane < team->lanes; lane++) {
        if (team->away[lane] == team->depth) {
            team->away[lane] = 0;
        } else if (swap && team->away[lane] == 0) {
            team->away[lane] = (uint8_t)team->depth;
        }
    }
}

static void end(struct kir_team *team, const kir_inst *insts, const kir_inst *inst)
{
    if (insts[inst->match].op == KIR_FOR && any_here(team)) {
        team->at = inst->match + 1;
        return;
    }
    call_back(team, 0);
    team->depth--;
}

/* Returns 0 if the instruction is none of structure. */
static int structure(struct kir_run *r, const kir_inst *inst)
{
    struct kir_team *team = r->team;
    switch (inst->op) {
    case KIR_FOR:
    case KIR_IF:
        team->depth++;
        each(r, inst, inst->op == KIR_FOR ? start_loop : start_branch);
        break;
    case KIR_ELSE:
        call_back(team, 1);
        break;
    case KIR_YIELD:
        yield(r, inst);
        return 1;
    case KIR_END:
        end(team, r->m->k->insts, inst);
        return 1;
    default:
        return 0;
    }
    if (!any_here(team) && r->fault == NULL) {
        team->at = inst->match; /* nobody goes in */
    }
    return 1;
}

/* ---- what a subgroup does together ---- */

static void scan(struct kir_run *r, const kir_inst *inst)
{
    const kir_op op = inst->op == KIR_SCAN_ADD ? KIR_ADD : KIR_MUL;
    const unsigned bytes = kir_kind_bytes((kir_kind)inst->type.kind);
    uint64_t all = op == KIR_MUL;
    FOR_EACH_HERE(r)
    {
        uint64_t one = kir_lane_get(bytes, kir_run_operand(r, inst, 0), 0);
        all = op == KIR_ADD ? all + one : all * one;
        kir_lane_put(bytes, kir_run_result(r, inst), 0, all);
    }
}

static void from_lane(struct kir_run *r, const kir_inst *inst)
{
    const unsigned bytes = kir_kind_bytes((kir_kind)inst->type.kind);
    FOR_EACH_HERE(r)
    {
        const uint32_t lane = r->lane, other = (uint32_t)kir_run_integer(r, inst, 1);
        if (other >= r->team->lanes || r->team->away[other] != 0) {
            r->fault = "the lane takes no part";
            return;
        }
        kir_run_select(r, other);
        uint64_t bits = kir_lane_get(bytes, kir_run_operand(r, inst, 0), 0);
        kir_run_select(r, lane);
        kir_lane_put(bytes, kir_run_result(r, inst), 0, bits);
    }
}

static void ballot(struct kir_run *r, const kir_inst *inst)
{
    uint32_t words[4] = { 0 };
    FOR_EACH_HERE(r)
    {
        words[lane_ / 32] |= (uint32_t)(*(const char *)kir_run_operand(r, inst, 0) & 1)
                             << lane_ % 32;
    }
    FOR_EACH_HERE(r)
    {
        memcpy(kir_run_result(r, inst), words, sizeof words);
    }
}

/* ---- the way ---- */

/* An instruction is a step of each invocation. */
static void spend(struct kir_run *r)
{
    kir_limits *limits = r->m->limits;
    if (limits != NULL && limits->steps < r->team->lanes) {
        r->fault = "the steps are used up";
    } else if (limits != NULL) {
        limits->steps -= r->team->lanes;
    }
}

void kir_team_run(struct kir_run *r)
{
    struct kir_team *team = r->team;
    const kir_kernel *k = r->m->k;
    while (team->at < k->inst_count && r->fault == NULL) {
        const kir_inst *inst = &k->insts[team->at++];
        spend(r);
        if (r->fault != NULL) {
            return;
        }
        kir_step step = kir_step_of((kir_op)inst->op);
        if (step != NULL) {
            each(r, inst, step);
            if (inst->op == KIR_ATOMIC_LOAD) {
                return;
            }
        } else if (inst->op == KIR_BARRIER) {
            team->pause = KIR_AT_BARRIER;
            return;
        } else if (!structure(r, inst)) {
            (inst->op == KIR_FROM_LANE ? from_lane
             : inst->op == KIR_BALLOT  ? ballot
                                       : scan)(r, inst);
        }
    }
    team->pause = KIR_DONE;
}
