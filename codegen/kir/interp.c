/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter: runs a verified kernel on host memory. It is the judge between backends, so it
 * is plain, and strict where they may assume: it refuses a misaligned access, a shift beyond the
 * width, a division by zero, a step that is not positive, an argument index outside the array, an
 * access outside of workgroup memory, a value from a lane that takes no part. Within limits a
 * kernel can do no harm, whatever it is: it has the memory that it is given, and an end.
 *
 * Workgroups run in turns, a few at a time, and within one a subgroup runs up to its next barrier
 * before another begins, in changing order: what a barrier ought to separate and does not shows.
 * Workgroup memory begins as NaNs.
 */
#include "interp.h"

#include <stdlib.h>

#include "../../runtime/problem/abi.h"

enum {
    AT_ONCE = 3,          /* workgroups: enough for each to wait for another that is under way */
    MOST_TURNS = 1 << 20, /* without any workgroup coming to its end */
    MOST_BYTES = 1 << 30  /* of values and workgroup memory of those at once */
};

static size_t rounded(size_t bytes)
{
    return (bytes + 15) & ~(size_t)15;
}

/* Offsets of slots and of workgroup memory. */
static void lay_out(struct kir_machine *m)
{
    for (uint32_t v = 0; v < m->k->value_count; v++) {
        m->slots[v] = (uint32_t)m->frame_bytes;
        m->frame_bytes += rounded(kir_type_bytes(m->k->types[v]));
    }
    for (uint32_t i = 0; i < m->k->inst_count; i++) {
        const kir_inst *inst = &m->k->insts[i];
        if (inst->op == KIR_SHARED) {
            m->shared_at[inst->result_first] = (uint32_t)m->shared_bytes;
            m->shared_bytes += rounded((size_t)inst->imm);
        }
    }
}

static size_t bytes_at_once(const struct kir_machine *m)
{
    return AT_ONCE * (m->invocations * m->frame_bytes + m->shared_bytes);
}

/* One allocation holds a group: its teams, who of them is away, frames, workgroup memory. */
static int make_group(const struct kir_machine *m, struct kir_group *g)
{
    const size_t teams = rounded(m->teams * sizeof *g->teams), away = rounded(m->invocations);
    const size_t frames = m->invocations * m->frame_bytes;
    char *memory = malloc(teams + away + frames + m->shared_bytes + 1);
    if (memory == NULL) {
        return 0;
    }
    g->teams = (struct kir_team *)(void *)memory;
    g->shared = memory + teams + away + frames;
    for (uint32_t t = 0; t < m->teams; t++) {
        const uint32_t first = t * m->subgroup, left = m->invocations - first;
        g->teams[t] = (struct kir_team){ .number = t,
                                         .lanes = left < m->subgroup ? left : m->subgroup,
                                         .away = (uint8_t *)memory + teams + first,
                                         .frames = memory + teams + away + first * m->frame_bytes };
    }
    return 1;
}

static void start_group(const struct kir_machine *m, struct kir_group *g, uint32_t x, uint32_t y)
{
    g->x = x;
    g->y = y;
    g->busy = 1;
    memset(g->shared, 0xff, m->shared_bytes);
    for (uint32_t t = 0; t < m->teams; t++) {
        struct kir_team *team = &g->teams[t];
        team->at = team->depth = 0;
        team->pause = KIR_RUNS;
        memset(team->away, 0, team->lanes);
    }
}

/* Lets all go on who stand at one barrier; the group is done once all teams are. */
static void after_turn(struct kir_run *r)
{
    struct kir_team *teams = r->group->teams;
    uint32_t counts[3] = { 0 };
    int together = 1;
    for (uint32_t t = 0; t < r->m->teams; t++) {
        counts[teams[t].pause]++;
        together = together && teams[t].at == teams[0].at;
    }
    if (counts[KIR_RUNS] > 0) {
        return;
    }
    r->group->busy = counts[KIR_AT_BARRIER] > 0;
    if (r->group->busy && !together) {
        r->fault = "not all invocations arrive at one barrier";
    }
    for (uint32_t t = 0; t < r->m->teams && r->group->busy; t++) {
        teams[t].pause = KIR_RUNS;
    }
}

static void run_turn(struct kir_run *r, uint32_t turn)
{
    for (uint32_t i = 0; i < r->m->teams && r->fault == NULL; i++) {
        r->team = &r->group->teams[turn % 2 == 0 ? i : r->m->teams - 1 - i];
        if (r->team->pause == KIR_RUNS) {
            kir_team_run(r);
        }
    }
    if (r->fault == NULL) {
        after_turn(r);
    }
}

/* All workgroups of x times y, AT_ONCE of them under way. */
static void run_groups(struct kir_run *r, struct kir_group *groups, uint32_t x, uint32_t y)
{
    uint64_t next = 0, count = (uint64_t)x * y;
    int busy = 1;
    for (uint32_t turn = 0; busy && r->fault == NULL; turn++) {
        busy = 0;
        for (uint32_t g = 0; g < AT_ONCE && g < count && r->fault == NULL; g++) {
            if (!groups[g].busy && next < count) {
                start_group(r->m, &groups[g], (uint32_t)(next % x), (uint32_t)(next / x));
                next++;
                turn = 0;
            }
            if (groups[g].busy) {
                r->group = &groups[g];
                run_turn(r, turn);
                busy = 1;
            }
        }
        if (turn == MOST_TURNS) {
            r->fault = "the workgroups wait for each other";
        }
    }
}

static tally_status run(struct kir_machine *m, uint32_t x, uint32_t y, int64_t *result,
                        tally_error *error)
{
    const kir_kernel *k = m->k;
    struct kir_group groups[AT_ONCE] = { 0 };
    struct kir_run r = { .m = m };
    int whole = 1;
    m->slots = calloc((size_t)k->value_count * 2 + 1, sizeof *m->slots);
    if (m->slots != NULL) {
        m->shared_at = m->slots + k->value_count;
        lay_out(m);
    }
    for (int g = 0; g < AT_ONCE && (uint64_t)g < (uint64_t)x * y && whole; g++) {
        whole = m->slots != NULL && bytes_at_once(m) <= MOST_BYTES && make_group(m, &groups[g]);
    }
    tally_status status = TALLY_OK;
    if (!whole) {
        status = tly_out_of_memory(error, "the interpreter's values", bytes_at_once(m));
    } else {
        run_groups(&r, groups, x, y);
    }
    if (r.fault != NULL) {
        const uint32_t at = r.team->at - 1;
        if (m->limits != NULL) {
            m->limits->fault = at;
        }
        status = tly_fail(error, TALLY_INTERNAL, "kir", "kernel %s, instruction %u: %s: %s",
                          k->name, at, kir_op_text((kir_op)k->insts[at].op), r.fault);
    } else if (whole && result != NULL) {
        *result = kir_run_integer(&r, &k->insts[k->inst_count - 1], 0);
    }
    for (int g = 0; g < AT_ONCE; g++) {
        free(groups[g].teams);
    }
    free(m->slots);
    return status;
}

static tally_status refuse(const kir_kernel *k, const char *call, tally_error *error)
{
    return tly_fail(error, TALLY_INTERNAL, "kir", "kernel %s %s a workgroup: %s runs it", k->name,
                    k->workgroup > 0 ? "has" : "has not", call);
}

tally_status kir_interpret(const kir_kernel *kernel, const struct tly_args *args,
                           const struct tly_task *task, kir_limits *limits, int64_t *result,
                           tally_error *error)
{
    if (kernel->workgroup > 0) {
        return refuse(kernel, "kir_interpret_grid", error);
    }
    struct kir_machine m = {
        .k = kernel,
        .limits = limits,
        .blocks = { [KIR_IN_ARGS] = (const char *)args, [KIR_IN_TASK] = (const char *)task },
        .subgroup = 1,
        .teams = 1,
        .invocations = 1
    };
    return run(&m, 1, 1, result, error);
}

tally_status kir_interpret_grid(const kir_kernel *kernel, const kir_grid *grid, tally_error *error)
{
    if (kernel->workgroup == 0) {
        return refuse(kernel, "kir_interpret", error);
    }
    struct kir_machine m = { .k = kernel,
                             .limits = grid->limits,
                             .blocks = { [KIR_IN_PUSH] = (const char *)grid->push },
                             .subgroup = grid->subgroup,
                             .teams = (kernel->workgroup + grid->subgroup - 1) / grid->subgroup,
                             .invocations = kernel->workgroup };
    return run(&m, grid->groups_x, grid->groups_y, NULL, error);
}
