/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles that fit their rows: from a row's length to the group that scans it and to the vectors that
 * an invocation of it takes, so that at least three quarters of the lanes have elements at any
 * length (tests/test_gpu_chosen.c has the table). What the length decides is part of the plan, and
 * so of the order of combination; rows of several tiles mostly share one plan.
 */
#include "gpu_choose.h"

#include "../../runtime/host/checked.h"

#define FIELD(name) offsetof(tly_gpu_plan, name)
#define OR_FORCED(name, chosen) tly_forced_or(forced, FIELD(name), chosen)

/* The least group that limits.c allows; one that goes by lines of 128 bytes. */
enum { LEAST_GROUP = 4, LINE_GROUP = 8 };

/* Rows whose groups lie within a subgroup. A workgroup starts only when there are registers for all
 * of its warps, so small workgroups fill a multiprocessor better. Hopper by NVK, f32 products, 88
 * registers: there is room for 20 warps, and workgroups of 256 invocations use 16 of them. */
enum { SHORT_WORKGROUP = 128 };

/* As few as keep a device busy whose registers hold half of its invocations: barriers and sums then
 * join 2 clusters. Hopper by NVK, bf16 sums, rows of 4,096, by 256, 128 and 64: registers
 * 72, 72, 64, instructions an element 25, 24, 24; by the model of tools/isa/rows .73, .73 and
 * 1.0 of a copy on an H200. Rows with heads by a subgroup alone, as joined windows take more of
 * each: f32 sums of 1,024 that offsets cut, by the same model .84 and 1.0 of a copy on an H100. */
static int32_t row_team(const tly_problem *p, const tly_geometry *g, const tly_caps *caps)
{
    int32_t team = tly_window_heads(p) > 0 ? (int32_t)caps->subgroup : 64;
    while (team < 256 && tly_multiply(g->rows, 2 * team) <= (int64_t)caps->saturation)
        team *= 2;
    return team;
}

/* 16 bytes a load; interleaved scans go by single elements. */
static int32_t choose_vector(const tly_problem *p)
{
    int32_t stored = tly_gpu_bytes_of(p->tensor[TLY_IN].dtype), wide = tly_gpu_bytes_of(p->acc);
    if (stored < 4 && tly_gpu_bytes_of(p->tensor[TLY_OUT].dtype) == 8)
        return p->interleave > 1 ? 1 : 4; /* a word or two a load */
    return p->interleave > 1 ? 1 : stored == 8 || wide == 8 ? 2 : stored <= 2 ? 8 : 4;
}

/* Elements of 2 bytes go by words. */
static int32_t least_vector(const tly_problem *p)
{
    return tly_gpu_bytes_of(p->tensor[TLY_IN].dtype) == 2 ? 2 : 1;
}

/* So that 16 elements an invocation are on their way. */
static int32_t wanted_segments(int32_t vector)
{
    return vector >= 8 ? 2 : 4;
}

/* A row by each subgroup alone, with long vectors: on a CPU a shuffle is a loop over the lanes, and
 * a barrier switches stacks. lavapipe, 8 lanes, f32 of 4096x4096, rows, ms: workgroups of 64 by
 * vectors of 4 450, subgroups by vectors of 8 115, of 16 103, of 32 122; a copy kernel 128. */
static void choose_played(const tly_problem *p, const tly_caps *caps, const tly_forced *forced,
                          tly_gpu_plan *plan)
{
    int32_t subgroup = (int32_t)caps->subgroup;
    plan->template_id = OR_FORCED(template_id, TLY_GPU_SUBGROUPS);
    plan->workgroup = OR_FORCED(workgroup, subgroup);
    plan->group = OR_FORCED(group, subgroup);
    plan->vector = OR_FORCED(vector, p->interleave > 1 ? 1 : 16);
    plan->vectors_per_thread = OR_FORCED(vectors_per_thread,
                                         tly_gpu_segments_of(plan, p->interleave > 1 ? 4 : 1));
}

/* ---- GPUs ---- */

static int64_t parts(int64_t x, int64_t size)
{
    return (x + size - 1) / size;
}

/* Who may scan a row: a group of `first`, or, doubled, of up to `most`, or, halved, of down to
 * `least`; each lane with so many segments, or 0: what they need. */
typedef struct teams {
    int32_t first, most, least, segments;
} teams;

/* Lanes of a group that have elements of interleaved scans: as many for each. */
static int32_t whole_units(const tly_problem *p, int32_t team)
{
    return p->interleave > 1 ? team - team % p->interleave : team;
}

/* i1: three quarters of a group's lanes have work. A segment more than wanted closes the gap
 * above the powers of two. */
static int suits(const tly_problem *p, int64_t vectors, int64_t tiles, int32_t given, int32_t team,
                 tly_gpu_plan *plan)
{
    int64_t lanes = whole_units(p, team);
    if (lanes == 0) /* fewer than interleaved scans */
        return 0;
    int64_t segments = given > 0 ? given : parts(vectors, tiles * lanes);
    int64_t tile = lanes * segments, places = parts(vectors, tile) * tile;
    plan->group = team;
    plan->vectors_per_thread = (int32_t)segments;
    return (given > 0 || segments <= wanted_segments(plan->vector) + 1) &&
           4 * vectors >= 3 * places;
}

/* Short rows by a part of a subgroup with a few segments each: what a group costs a row is shared
 * by more elements, and registers still leave place for other warps. Hopper by NVK, rows of 128,
 * instructions an element and warps, by 32 and 16 lanes: f32 products 38, 40 and 27, 36, bf16
 * sums by 16 and 8 28, 32 and 21, 32; by the model of tools/isa/rows .87, .65 of a copy on an
 * H200 and 1.0, 1.0. */
static int share_lines(const tly_problem *p, int64_t length, teams t, tly_gpu_plan *plan)
{
    enum { FEW = 3 };
    int64_t vectors = parts(length, plan->vector);
    int any_team = t.segments == 0 && t.least < t.first;
    for (int32_t team = LINE_GROUP; any_team && team <= t.first; team *= 2)
        if (parts(vectors, team) <= FEW && suits(p, vectors, 1, 0, team, plan))
            return 1;
    return 0;
}

/* A subgroup, or else the smallest group of more, or else the largest part of one, that has work
 * enough and goes through the row in as few tiles as the largest would. 0: there is none; then
 * it is the largest. Few invocations with several segments each take fewer instructions an
 * element than many with one: cumsum of f32 on RDNA 3, all code of the module: 64x1x4 152,
 * 64x4x4 108 (tools/isa/table). */
static int share_out(const tly_problem *p, int64_t length, teams t, tly_gpu_plan *plan)
{
    int64_t vectors = parts(length, plan->vector), used = whole_units(p, t.most);
    int32_t wanted = t.segments > 0 ? t.segments : wanted_segments(plan->vector);
    int64_t tiles = used > 0 ? parts(vectors, used * wanted) : 0;
    if (share_lines(p, length, t, plan))
        return 1;
    for (int32_t team = t.first; tiles > 0 && team <= t.most; team *= 2)
        if (suits(p, vectors, tiles, t.segments, team, plan))
            return 1;
    for (int32_t team = t.first / 2; tiles > 0 && team >= t.least; team /= 2)
        if (suits(p, vectors, tiles, t.segments, team, plan))
            return 1;
    plan->group = t.most;
    plan->vectors_per_thread = tiles > 0 ? (int32_t)parts(vectors, tiles * used) : wanted;
    return 0;
}

/* Any, but for what is forced and what lacks shuffles. */
static teams teams_of(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                      const tly_forced *forced, const tly_gpu_plan *plan)
{
    int32_t subgroup = (int32_t)caps->subgroup, segments = OR_FORCED(vectors_per_thread, 0);
    int looks = OR_FORCED(template_id, TLY_GPU_WORKGROUPS) == TLY_GPU_LOOK_BACK;
    int32_t most = plan->scan == 0 ? 64
                   : looks         ? TLY_GPU_LOOK_BACK_WORKGROUP
                                   : row_team(p, g, caps);
    int32_t workgroup = OR_FORCED(workgroup, tly_gpu_workgroup_of(caps, most));
    int64_t tile = (int64_t)subgroup * plan->vector * wanted_segments(plan->vector);
    int is_short = p->interleave > 1 || g->length <= tile;
    int32_t id = OR_FORCED(template_id, is_short ? TLY_GPU_SUBGROUPS : TLY_GPU_WORKGROUPS);
    if (plan->scan == 0)
        return (teams){ workgroup, workgroup, workgroup, segments };
    if (id != TLY_GPU_SUBGROUPS && tly_is_forced(forced, FIELD(workgroup)))
        return (teams){ workgroup, workgroup, workgroup, segments };
    if (tly_is_forced(forced, FIELD(template_id)) && id != TLY_GPU_SUBGROUPS)
        return (teams){ subgroup, workgroup, subgroup, segments };
    int32_t team = OR_FORCED(group, subgroup);
    if (p->interleave > 1 || tly_is_forced(forced, FIELD(group)))
        return (teams){ team, team, team, segments };
    return (teams){ subgroup, id == TLY_GPU_SUBGROUPS ? subgroup : workgroup, LEAST_GROUP,
                    segments };
}

/* Shorter vectors where no group has work enough by the longest. */
static void choose_gpu(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                       const tly_forced *forced, tly_gpu_plan *plan)
{
    int32_t first = OR_FORCED(vector, choose_vector(p)), least = first;
    if (p->interleave == 1 && !tly_is_forced(forced, FIELD(vector)))
        least = least_vector(p);
    int64_t length = g->length > 0 ? g->length : 1; /* of nothing it is any plan */
    int fits = 0;
    for (int32_t vector = first; vector >= least && !fits; vector /= 2) {
        plan->vector = vector;
        fits = share_out(p, length, teams_of(p, g, caps, forced, plan), plan);
    }
    if (!fits) {
        plan->vector = first;
        share_out(p, length, teams_of(p, g, caps, forced, plan), plan);
    }
    int within = plan->scan > 0 && plan->group <= (int32_t)caps->subgroup;
    plan->template_id = OR_FORCED(template_id, within ? TLY_GPU_SUBGROUPS : TLY_GPU_WORKGROUPS);
    int32_t workgroup = tly_gpu_workgroup_of(caps, plan->scan == 0 ? 64 : SHORT_WORKGROUP);
    if (plan->template_id != TLY_GPU_SUBGROUPS)
        workgroup = plan->group;
    plan->workgroup = OR_FORCED(workgroup, workgroup);
    plan->group = OR_FORCED(group, plan->group);
    plan->vectors_per_thread = OR_FORCED(vectors_per_thread,
                                         tly_gpu_segments_of(plan, plan->vectors_per_thread));
}

void tly_gpu_choose_tile(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                         const tly_forced *forced, tly_gpu_plan *plan)
{
    /* One row of 2^22 i32, f32: 28 and 33 ms on lavapipe, which goes both ways of each branch;
     * without 19 and 22 (Zen 4, minima of three). */
    plan->wide = OR_FORCED(wide, p->interleave == 1 && !tly_gpu_is_software(caps));
    if (tly_gpu_is_software(caps) && plan->scan > 0)
        choose_played(p, caps, forced, plan);
    else
        choose_gpu(p, g, caps, forced, plan);
}
