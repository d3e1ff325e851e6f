/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles that are turned in workgroup memory: which scans go so, and how large the tiles are.
 * Nothing of it was measured on a GPU: the figures are counts of tools/isa/table (docs/isa.md).
 */
#include "../../runtime/host/checked.h"
#include "gpu_choose.h"

#define FIELD(name) offsetof(tly_gpu_plan, name)
#define OR_FORCED(name, chosen) tly_forced_or(forced, FIELD(name), chosen)

/* Two subgroups of 32: half as many workgroups fit a multiprocessor as subgroups do. */
enum { WORKGROUP = 64 };

/* Lanes of 32 positions on their way at once that are half a machine's memory busy; fewer are cut
 * in chunks (gpu_choose.c) where they are long enough. */
enum { LEAST_LANES = 4096, LEAST_CUT = 4096 };

/* Rows up to this many elements are scanned by one invocation each. */
enum { SHORT_ROW = 32 };

int64_t tly_gpu_transposed_bytes(const tly_problem *p, const tly_gpu_plan *plan)
{
    int64_t slots = plan->vectors_per_thread | 1, places = plan->index_bits / 8;
    return plan->workgroup * (slots * tly_gpu_transposed_slot(p) +
                              places * (tly_gpu_transposes_in(p) + tly_gpu_transposes_out(p)));
}

/* Where a CPU plays the device neighbours of other lanes cost nothing. Rows of more elements are
 * groups', unless the plain loop's order is asked for. */
int tly_gpu_transposes(const tly_problem *p, const tly_geometry *g, const tly_caps *caps)
{
    int64_t lanes = tly_multiply(g->rows, g->inner);
    if (tly_gpu_is_software(caps) || lanes < WORKGROUP || (p->segmented && p->carry) ||
        !(tly_gpu_transposes_in(p) || tly_gpu_transposes_out(p)))
        return 0;
    int serial = p->order == TALLY_ORDER_SERIAL;
    if (p->form == TLY_ROWS)
        return serial || g->length <= SHORT_ROW;
    return serial || lanes >= LEAST_LANES || g->length < LEAST_CUT;
}

/* All of short lanes; as much of others as keeps the memory busy: 64 bytes of each of 32,768
 * lanes, and twice that where they are fewer. */
static int32_t positions_of(const tly_geometry *g)
{
    int64_t lanes = tly_multiply(g->rows, g->inner);
    if (g->length <= SHORT_ROW)
        return g->length > 0 ? (int32_t)g->length : 1;
    return lanes < 32768 ? 32 : 16;
}

void tly_gpu_choose_transposed(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                               const tly_forced *forced, tly_gpu_plan *plan)
{
    plan->scan = 0;
    plan->vector = 1;
    plan->vectors_per_thread = OR_FORCED(vectors_per_thread, positions_of(g));
    plan->workgroup = tly_gpu_workgroup_of(caps, WORKGROUP);
    while (plan->workgroup > TLY_GPU_LEAST_TRANSPOSED &&
           tly_gpu_transposed_bytes(p, plan) > (int64_t)caps->shared_bytes)
        plan->workgroup /= 2;
    plan->workgroup = OR_FORCED(workgroup, plan->workgroup);
    plan->group = plan->workgroup;
}
