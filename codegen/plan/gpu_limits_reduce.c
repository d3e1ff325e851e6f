/* SPDX-License-Identifier: Apache-2.0 */
/* What the templates of reductions for Vulkan can be built with. */
#include "gpu.h"
#include "limits.h"
#include "shared_keys.h"

#define KEY_AS(name, field) TLY_KEY_AS(tly_gpu_plan, name, field)

static const tly_plan_key lanes_table[] = {
    TLY_GPU_KEY_WORKGROUP, TLY_GPU_KEY_VECTOR, TLY_GPU_KEY_SEGMENTS(1), TLY_GPU_KEY_MEMORY,
    TLY_GPU_KEY_WIDE,      TLY_GPU_KEY_LENGTH, TLY_GPU_KEY_CHUNK(1),
};

static const tly_plan_key rows_table[] = {
    TLY_GPU_KEY_SCAN(0, 1),
    { KEY_AS("team", group), 4, TLY_GPU_MOST_WORKGROUP, 1,
      TLY_WHY({ TLY_ELSE, "So many invocations work together: as few as still hold the row at "
                          "once, so that more rows share a subgroup." }) },
    TLY_GPU_KEY_WORKGROUP,
    TLY_GPU_KEY_VECTOR,
    TLY_GPU_KEY_SEGMENTS(1),
    TLY_GPU_KEY_MEMORY,
    TLY_GPU_KEY_WIDE,
    TLY_GPU_KEY_LENGTH,
    TLY_GPU_KEY_CHUNK(1),
};

static const tly_plan_key read_table[] = {
    TLY_GPU_KEY_WORKGROUP, TLY_GPU_KEY_VECTOR,   TLY_GPU_KEY_SEGMENTS(1),
    TLY_GPU_KEY_MEMORY,    TLY_GPU_KEY_CHUNK(1),
};

static const char *refuses_scans(const tly_problem *p, const tly_caps *caps)
{
    (void)caps;
    return tly_reduces(p->form) ? NULL : "a reduction's template scans nothing";
}

static const char *refuses_lanes(const tly_problem *p, const tly_caps *caps)
{
    return p->form == TLY_REDUCED_LANES     ? "teams reduce rows"
           : p->order == TALLY_ORDER_SERIAL ? "serial order is one invocation's"
                                            : refuses_scans(p, caps);
}

/* Words of one row, whatever they mean. */
static const char *refuses_all_but_words(const tly_problem *p, const tly_caps *caps)
{
    int words = p->program.type == 0 && p->form == TLY_REDUCED_ROWS &&
                p->tensor[TLY_IN].step == 1 && p->acc == TALLY_U32;
    return words ? refuses_lanes(p, caps) : "what is read are rows of u32";
}

static const char *fault_of_memory(const tly_problem *p, const tly_geometry *g,
                                   const tly_caps *caps, const tly_gpu_plan *plan)
{
    if ((uint32_t)plan->workgroup > caps->invocations)
        return "the workgroup is larger than the device's";
    if (plan->vectors_per_thread * plan->vector > TLY_GPU_MOST_ELEMENTS)
        return "up to 32 elements of an invocation are loaded at once";
    if (plan->vector != tly_gpu_reduced_together(p, g, plan->wide, plan->vector))
        return "so many elements do not lie together";
    if (plan->wide && p->form == TLY_REDUCED_ROWS && p->segmented)
        return "a segment may begin anywhere, and wide accesses are aligned";
    if (plan->length != 0 && plan->length != tly_gpu_at_once(p, g, plan))
        return "a row of so many elements is not taken at once";
    return tly_gpu_fault_of_memory(g, p, caps, plan);
}

static const char *fault_of_read(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                                 const tly_gpu_plan *plan)
{
    if (g->outer_rank > 0 || g->reduced_rank > 0 || plan->chunk == 0 ||
        plan->chunk % (plan->workgroup * plan->vector * plan->vectors_per_thread) != 0 ||
        g->length % plan->chunk != 0)
        return "what is read is one row of whole chunks, and a chunk is whole tiles";
    return fault_of_memory(p, g, caps, plan);
}

static const char *fault_of_lanes(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                                  const tly_gpu_plan *plan)
{
    if (plan->chunk > 0 && p->form == TLY_REDUCED_ROWS && plan->chunk < plan->vector)
        return "a chunk is whole vectors";
    if (p->form == TLY_REDUCED_LANES && plan->vector > plan->workgroup)
        return "more outputs at once than invocations";
    if (p->order == TALLY_ORDER_SERIAL && plan->chunk > 0)
        return "serial order is never cut in chunks";
    if (plan->chunk > tly_gpu_most_reduced(caps, plan->group))
        return "a chunk is longer than the device lets a loop run";
    return fault_of_memory(p, g, caps, plan);
}

static const char *fault_of_rows(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                                 const tly_gpu_plan *plan)
{
    int32_t subgroup = plan->scan == 0 ? plan->workgroup : (int32_t)caps->subgroup;
    int64_t slots = plan->scan == 0 ? plan->workgroup : plan->group / subgroup;
    if (plan->workgroup % subgroup != 0 || plan->workgroup % plan->group != 0)
        return "a workgroup is whole subgroups and whole teams";
    if (plan->group > subgroup && plan->group != plan->workgroup)
        return "teams are parts of a subgroup, or the workgroup";
    if (plan->scan == 0 && plan->group != plan->workgroup)
        return "without shuffles a team is the workgroup";
    if (2 * (int64_t)tly_gpu_slot_bytes(p) * (slots + 1) > (int64_t)caps->shared_bytes)
        return "the workgroup asks for more memory than the device's";
    return fault_of_lanes(p, g, caps, plan);
}

const tly_gpu_limits tly_gpu_reduce_lanes_limits = {
    { "reduce_lanes", lanes_table, sizeof lanes_table / sizeof *lanes_table,
      "An invocation makes a result, as results lie side by side, have few elements, or fill the "
      "device." },
    refuses_scans,
    fault_of_lanes
};

const tly_gpu_limits tly_gpu_reduce_rows_limits = {
    { "reduce_rows", rows_table, sizeof rows_table / sizeof *rows_table,
      "A team makes a result, as results are too few to fill the device." },
    refuses_lanes,
    fault_of_rows
};

const tly_gpu_limits tly_gpu_read_limits = { { "read", read_table,
                                               sizeof read_table / sizeof *read_table, "" },
                                             refuses_all_but_words,
                                             fault_of_read };
