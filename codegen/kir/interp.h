/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the interpreter share. A machine is a kernel being run; a group is a workgroup
 * of it, a team a subgroup, whose invocations go through the kernel together: each instruction is
 * done for all that are not away before the next one. A kernel for CPUs is a team of one.
 */
#ifndef KIR_INTERP_H
#define KIR_INTERP_H

#include "internal.h"

#include <string.h>

struct kir_machine {
    const kir_kernel *k;
    kir_limits *limits;                  /* NULL: addresses are the host's */
    const char *blocks[KIR_BLOCK_COUNT]; /* of arguments */
    uint32_t *slots;                     /* frame offset by value number */
    uint32_t *shared_at;      /* of a `shared`, by its result: offset in workgroup memory */
    size_t frame_bytes;       /* of an invocation: a slot for each value */
    size_t shared_bytes;      /* of a workgroup */
    uint32_t subgroup, teams; /* invocations of a team, and how many teams are a group */
    uint32_t invocations;     /* of a group */
};

/* Where a team stands when it stops. */
typedef enum kir_pause { KIR_RUNS, KIR_AT_BARRIER, KIR_DONE } kir_pause;

struct kir_team {
    uint32_t number, lanes;
    uint32_t at;    /* the next instruction */
    uint32_t depth; /* of open regions */
    kir_pause pause;
    uint8_t *away; /* by lane: 0, or the depth of the region whose end it waits for */
    char *frames;
};

struct kir_group {
    uint32_t x, y;
    int busy;
    char *shared;
    struct kir_team *teams;
};

/* An invocation at work. */
struct kir_run {
    const struct kir_machine *m;
    struct kir_group *group;
    struct kir_team *team;
    uint32_t lane;
    char *frame;
    const char *fault; /* what it did wrong */
};

typedef void (*kir_step)(struct kir_run *r, const kir_inst *inst);

/* What the operation does to one invocation; NULL: it is of structure or of a whole team. */
kir_step kir_step_of(kir_op op);

/* Runs the team until it meets a barrier, has looked at an atomic, which others may have to change
 * first, or is done; a fault is r->fault, of instruction team->at - 1 (interp_team.c). */
void kir_team_run(struct kir_run *r);

/* ---- values of the invocation at work ---- */

static inline void kir_run_select(struct kir_run *r, uint32_t lane)
{
    r->lane = lane;
    r->frame = r->team->frames + lane * r->m->frame_bytes;
}

static inline void *kir_run_slot(const struct kir_run *r, uint32_t value)
{
    return r->frame + r->m->slots[value];
}

static inline void *kir_run_operand(const struct kir_run *r, const kir_inst *inst, uint32_t i)
{
    return kir_run_slot(r, r->m->k->operands[inst->operand_first + i]);
}

static inline kir_type kir_run_operand_type(const struct kir_run *r, const kir_inst *inst,
                                            uint32_t i)
{
    return r->m->k->types[r->m->k->operands[inst->operand_first + i]];
}

static inline void *kir_run_result(const struct kir_run *r, const kir_inst *inst)
{
    return kir_run_slot(r, inst->result_first);
}

/* An i64, an i32 with its sign, or an address. */
static inline int64_t kir_run_integer(const struct kir_run *r, const kir_inst *inst, uint32_t i)
{
    const kir_kind kind = (kir_kind)kir_run_operand_type(r, inst, i).kind;
    uint64_t bits = kir_lane_get(kir_kind_bytes(kind), kir_run_operand(r, inst, i), 0);
    return kind == KIR_I32 ? (int32_t)(uint32_t)bits : (int64_t)bits;
}

#endif
