/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows that go through workgroup memory by elements: those of one tile that no vectors fit. Nothing
 * of it was measured on a GPU: the figures are from the model of tools/isa/rows (docs/isa.md).
 */
#include "gpu_choose.h"

#include "../../runtime/host/checked.h"

#define FIELD(name) offsetof(tly_gpu_plan, name)
#define OR_FORCED(name, chosen) tly_forced_or(forced, FIELD(name), chosen)

/* Shorter ones are turned (gpu_choose_transposed.c). */
enum { SHORT = 32, MOST_TEAM = 256, WORKGROUP = 128 };

/* By so few that only the shortest rows go, as a round accesses 16 bytes of f32 of each of 8
 * rows. bf16 rows of 33 and 65, by the model, of a copy on an H200: groups of 8 .48, .75, of 4
 * .79, 1.0. */
enum { LEAST_TEAM = 4, SHORT_LANE = 17, LINE_TEAM = 8 };

/* Elements an invocation at most, and of accumulators of 8 bytes: what a group costs a row is
 * shared by more of them. bf16 rows of 300, by the same model, part of a copy on an H200: 32
 * invocations of 13 .68, 16 of 21 .96; of 385, 32 of 13 .88, 16 of 25 1.0. */
enum { MOST = 25, MOST_WIDE = 13 };

/* Of f32 vectors are as good beyond 1,600 elements: products of 2,049 and 4,095 by the same
 * model 1.0 either way, where bf16 reaches .83 and .72 for .22 and .28. */
enum { MOST_TEAM_OF_WORDS = 64 };

static int is_unit(int step)
{
    return step == 1 || step == -1;
}

/* Whether vectors of 16 bytes begin at multiples of that in every row if they do in the first;
 * one row alone goes as many of them would. */
static int has_vectors(const tly_problem *p, const tly_geometry *g)
{
    int whole = is_unit(p->tensor[TLY_IN].step) && is_unit(p->tensor[TLY_OUT].step) &&
                (g->rows > 1 || tly_gpu_whole_accesses(g->length, 1, p->tensor[TLY_IN].dtype));
    for (int32_t i = 0; i < g->outer_rank; i++)
        whole = whole &&
                tly_gpu_whole_accesses(g->outer[i].stride[TLY_IN], 1, p->tensor[TLY_IN].dtype) &&
                tly_gpu_whole_accesses(g->outer[i].stride[TLY_OUT], 1, p->tensor[TLY_OUT].dtype);
    return whole;
}

static int is_wide(const tly_problem *p)
{
    return tly_gpu_bytes_of(p->acc) == 8;
}

/* Elements an invocation of a group: odd, for the banks of workgroup memory, and of so few
 * different numbers that packs hold a kernel of each. */
static int64_t share_of(const tly_problem *p, int64_t length, int32_t team)
{
    int64_t least = (length + team - 1) / team, by = is_wide(p) ? 2 : TLY_GPU_STAGED_OPEN;
    return (least - 1 + by - 1) / by * by + 1;
}

static int32_t most_share(const tly_problem *p)
{
    return is_wide(p) ? MOST_WIDE : MOST;
}

/* The smallest that holds the row, or the largest there is. */
static int32_t team_of(const tly_problem *p, const tly_geometry *g)
{
    int32_t team = g->length <= SHORT_LANE * LEAST_TEAM ? LEAST_TEAM : LINE_TEAM;
    while (team < MOST_TEAM && share_of(p, g->length, team) > most_share(p))
        team *= 2;
    return team;
}

/* i1: how groups go is up to us. */
static int is_free(const tly_forced *forced)
{
    static const size_t fields[] = { FIELD(workgroup),          FIELD(group), FIELD(vector),
                                     FIELD(vectors_per_thread), FIELD(wide),  FIELD(chunk) };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (tly_is_forced(forced, fields[i]))
            return 0;
    return 1;
}

/* 1: by vectors, a quarter of the lanes would have no work. One more vector for each invocation
 * than wanted would prevent that, but takes registers. */
static int is_crowded(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                      const tly_forced *forced, const tly_gpu_plan *plan)
{
    enum { WANTED = 4 };
    tly_gpu_plan tile = *plan;
    tly_gpu_choose_tile(p, g, caps, forced, &tile);
    return tile.vectors_per_thread > WANTED;
}

int tly_gpu_stages(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                   const tly_forced *forced, const tly_gpu_plan *plan)
{
    if (p->form != TLY_ROWS || p->interleave > 1 || p->order == TALLY_ORDER_SERIAL ||
        (p->segmented && p->carry) || g->length <= SHORT || tly_gpu_is_software(caps) ||
        plan->scan == 0 || !is_free(forced))
        return 0;
    tly_gpu_plan staged = *plan;
    tly_gpu_choose_staged(p, g, caps, forced, &staged);
    return staged.vector <= most_share(p) && staged.workgroup <= (int32_t)caps->invocations &&
           staged.group <=
               (tly_gpu_bytes_of(p->tensor[TLY_IN].dtype) < 4 ? MOST_TEAM : MOST_TEAM_OF_WORDS) &&
           tly_gpu_staged_bytes(p, caps, &staged) <= (int64_t)caps->shared_bytes &&
           (!has_vectors(p, g) || is_crowded(p, g, caps, forced, plan));
}

void tly_gpu_choose_staged(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                           const tly_forced *forced, tly_gpu_plan *plan)
{
    int32_t subgroup = (int32_t)caps->subgroup;
    plan->vectors_per_thread = 1;
    plan->group = OR_FORCED(group, team_of(p, g));
    int64_t share = share_of(p, g->length, plan->group);
    plan->vector = OR_FORCED(
        vector, (int32_t)(share < TLY_GPU_MOST_ELEMENTS ? share : TLY_GPU_MOST_ELEMENTS));
    plan->workgroup = plan->group > subgroup ? plan->group : tly_gpu_workgroup_of(caps, WORKGROUP);
    while (plan->workgroup / 2 >= subgroup && plan->group <= subgroup &&
           tly_gpu_staged_bytes(p, caps, plan) > (int64_t)caps->shared_bytes)
        plan->workgroup /= 2;
    plan->workgroup = OR_FORCED(workgroup, plan->workgroup);
}
