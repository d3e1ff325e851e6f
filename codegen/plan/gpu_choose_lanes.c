/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-back along lanes: how large its tiles are, and which scans go so of those that would be cut
 * in chunks. Nothing of it was measured on a GPU; docs/tuning-notes.md has the model and its
 * results.
 */
#include "../../runtime/host/checked.h"
#include "gpu_choose.h"
#include "operator.h"

#define FIELD(name) offsetof(tly_gpu_plan, name)
#define OR_FORCED(name, chosen) tly_forced_or(forced, FIELD(name), chosen)

/* Lanes of a tile: a line of f32. Longer tiles of fewer lanes have fewer records an element. */
enum { LANES = 32 };

/* Invocations of a tile. On Hopper, whose compiler gives them 64 to 80 registers, three or four
 * such workgroups fit a multiprocessor, and one of 512 (tools/isa/table). Of a CPU that plays
 * the device. */
enum { WORKGROUP = 256, WORKGROUP_PLAYED = 64 };

/* Bytes of accumulators that an invocation holds, as tiles wait for each other, and what is on
 * its way by then keeps memory busy. Registers by these on Hopper: what is not watched 64 (of 8
 * bytes 80), f32 sums 80, f64 sums 80 by 96 and 88 by 128, products 80 by 96 and 88 by 128, of
 * which two workgroups fit. */
enum { HELD_BYTES = 128, HELD_BYTES_WATCHED = 96, HELD_BYTES_PLAYED = 64 };

/* A segment's slots are an odd number (templates/gpu/look_back_lanes_tile.c). */
int64_t tly_gpu_lanes_stage_bytes(const tly_problem *p, const tly_gpu_plan *plan)
{
    return tly_gpu_lanes_spans(plan) * (int64_t)((plan->group * plan->vectors_per_thread) | 1) *
           tly_gpu_transposed_slot(p);
}

/* States and, where the range is watched, two words of each invocation, twice; what lanes find
 * while they look; ticket and flags; elements that are turned or local results that are spilled,
 * which take each other's place. */
int64_t tly_gpu_lanes_shared_bytes(const tly_problem *p, const tly_gpu_plan *plan)
{
    int64_t each = tly_window_bytes(p) + (tly_range_sides(p) > 0 ? 8 : 0);
    int64_t found = TLY_GPU_LANES_FOUND * plan->group * (tly_window_bytes(p) + 4);
    int64_t tile = tly_gpu_lanes_are_transposed(plan->group) ? tly_gpu_lanes_stage_bytes(p, plan)
                                                             : tly_gpu_spilled_bytes(p, plan);
    return 2 * plan->workgroup * each + found + 64 + (tile > 0 ? tile + 16 : 0);
}

/* Positions that an invocation holds. Those of a turned tile's lane are a multiple of that, so that
 * there it is what leaves the tile longest. */
static int32_t positions_held(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan)
{
    int32_t wide = (int32_t)tly_window_bytes(p), played = tly_gpu_is_software(caps);
    int watched = !tly_gpu_spills(p, plan) &&
                  (tly_range_sides(p) > 1 || (tly_range_sides(p) > 0 && wide > 4));
    int32_t bytes = played ? HELD_BYTES_PLAYED : watched ? HELD_BYTES_WATCHED : HELD_BYTES;
    int32_t most = bytes / wide, best = most, longest = 0;
    for (int32_t held = most; held > 0 && !played && tly_gpu_lanes_are_transposed(plan->group);
         held--) {
        const tly_gpu_plan one = { .workgroup = plan->workgroup,
                                   .group = plan->group,
                                   .vectors_per_thread = held };
        int32_t segments = tly_gpu_lanes_spans(&one);
        if (segments % held == 0 && segments * held > longest) {
            longest = segments * held;
            best = held;
        }
    }
    return best;
}

/* As many blocks as lines, of as many lanes each. */
static int32_t lanes_of_tile(int64_t lanes)
{
    int64_t blocks = (lanes + LANES - 1) / LANES;
    return lanes > 0 ? (int32_t)((lanes + blocks - 1) / blocks) : 1;
}

void tly_gpu_choose_lanes(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                          const tly_forced *forced, tly_gpu_plan *plan)
{
    plan->template_id = TLY_GPU_LOOK_BACK_LANES;
    plan->scan = 0;
    plan->vector = 1;
    plan->wide = 0;
    plan->spill = OR_FORCED(spill, 0); /* f16 16384x16384, axis 0, 397 us, and 988 with it (H200) */
    plan->group = OR_FORCED(group, lanes_of_tile(p->form == TLY_ROWS ? p->interleave : g->inner));
    plan->workgroup = tly_gpu_workgroup_of(caps, tly_gpu_is_software(caps) ? WORKGROUP_PLAYED
                                                                           : WORKGROUP);
    plan->workgroup = OR_FORCED(workgroup, plan->workgroup);
    plan->vectors_per_thread = OR_FORCED(vectors_per_thread, positions_held(p, caps, plan));
    while (!tly_is_forced(forced, FIELD(workgroup)) && plan->workgroup > 2 * plan->group &&
           tly_gpu_lanes_shared_bytes(p, plan) > (int64_t)caps->shared_bytes) {
        plan->workgroup /= 2;
        plan->vectors_per_thread = OR_FORCED(vectors_per_thread, positions_held(p, caps, plan));
    }
    plan->chunk = plan->vectors_per_thread * tly_gpu_lanes_spans(plan);
}

int tly_gpu_looks_along_lanes(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                              const tly_forced *forced, const tly_gpu_plan *plan)
{
    static const size_t decide[] = { FIELD(template_id), FIELD(group), FIELD(vector),
                                     FIELD(scan),        FIELD(chunk), FIELD(wide) };
    int side_by_side = p->form == TLY_ROWS
                           ? p->interleave > 1
                           : g->tensor[TLY_IN].lane == 1 && g->tensor[TLY_OUT].lane == 1;
    for (size_t i = 0; i < sizeof decide / sizeof *decide; i++)
        if (tly_is_forced(forced, decide[i]))
            return 0;
    if (plan->chunk == 0 || !caps->progress || !side_by_side || (p->segmented && p->carry))
        return 0;
    tly_gpu_plan one = *plan;
    tly_gpu_choose_lanes(p, g, caps, forced, &one);
    return p->segmented || tly_gpu_lanes_pay(p, g, caps, &one); /* they have no other way */
}
