/* SPDX-License-Identifier: Apache-2.0 */
/* What the templates for Vulkan can be built with: for each the keys, then the rules. */
#include "gpu.h"
#include "limits.h"
#include "operator.h"
#include "shared_keys.h"

#define KEY(field) TLY_KEY(tly_gpu_plan, field)
#define KEY_AS(name, field) TLY_KEY_AS(tly_gpu_plan, name, field)

static const tly_plan_key columns[] = {
    TLY_GPU_KEY_WORKGROUP,
    { KEY(vector), 1, TLY_GPU_MOST_ELEMENTS, 1,
      TLY_WHY({ 1, "Elements go one by one, as scans are interleaved or the elements of a result "
                   "are shared out one by one." },
              { TLY_ELSE, "An invocation takes so many neighbouring lanes at once, as far as they "
                          "lie together and leave the device busy." }) },
    { KEY_AS("segments", vectors_per_thread), 1, TLY_GPU_MOST_SEGMENTS, 1,
      TLY_WHY(
          { TLY_ELSE,
            "So many positions are loaded at once, so that several loads are on their way." }) },
    TLY_GPU_KEY_CHUNK(0),
    TLY_GPU_KEY_MEMORY,
};

/* Segments may be any number, so that tiles fit their rows. */
static const tly_plan_key subgroups[] = {
    TLY_GPU_KEY_SCAN(1, 2),
    TLY_GPU_KEY_WORKGROUP,
    { KEY_AS("team", group), 4, TLY_GPU_MOST_WORKGROUP, 1,
      TLY_WHY({ TLY_ELSE, "So many invocations scan together: a subgroup, or a part of one where "
                          "fewer than three quarters would have elements." }) },
    TLY_GPU_KEY_VECTOR,
    TLY_GPU_KEY_SEGMENTS(0),
    TLY_GPU_KEY_WIDE,
    TLY_GPU_KEY_CHUNK(0),
    TLY_GPU_KEY_MEMORY,
};

static const tly_plan_key workgroups[] = {
    TLY_GPU_KEY_SCAN(0, 2), TLY_GPU_KEY_WORKGROUP, TLY_GPU_KEY_VECTOR, TLY_GPU_KEY_SEGMENTS(0),
    TLY_GPU_KEY_WIDE,       TLY_GPU_KEY_CHUNK(0),  TLY_GPU_KEY_MEMORY,
};

static const tly_plan_key look_back[] = {
    TLY_GPU_KEY_SCAN(1, 2),
    { KEY(workgroup), 4, TLY_GPU_MOST_WORKGROUP, 1,
      TLY_WHY(
          { TLY_ELSE,
            "A workgroup has so many invocations. Small ones, as many as registers allow, hide the "
            "waiting for carries (static figures of compilers, not measured on a GPU)." }) },
    TLY_GPU_KEY_VECTOR,
    TLY_GPU_KEY_SEGMENTS(0),
    TLY_GPU_KEY_WIDE,
    TLY_GPU_KEY_PARK,
    TLY_GPU_KEY_MEMORY,
};

static const tly_plan_key look_back_lanes[] = {
    { KEY(workgroup), 4, TLY_GPU_MOST_WORKGROUP, 1,
      TLY_WHY({ TLY_ELSE, "A workgroup has so many invocations that carries go by few records an "
                          "element (a model, not measured on a GPU)." }) },
    { KEY_AS("team", group), 1, TLY_GPU_MOST_TILE_LANES, 0,
      TLY_WHY({ TLY_ELSE,
                "A tile has so many lanes: a line of 32, or as many blocks as hold all "
                "lanes, of as many each. Fewer than 16 are turned in workgroup memory." }) },
    { KEY_AS("segments", vectors_per_thread), 1, TLY_GPU_MOST_ELEMENTS, 0,
      TLY_WHY({ TLY_ELSE, "An invocation holds so many positions in registers." }) },
    TLY_GPU_KEY_PARK,
    TLY_GPU_KEY_MEMORY,
};

static const tly_plan_key transposed[] = {
    { KEY_AS("segments", vectors_per_thread), 1, TLY_GPU_MOST_ELEMENTS, 0,
      TLY_WHY({ TLY_ELSE, "A tile has so many positions: all of a lane up to 32, else what keeps "
                          "memory busy, 16 of many lanes and 32 of fewer." }) },
    { KEY(workgroup), TLY_GPU_LEAST_TRANSPOSED, TLY_GPU_MOST_WORKGROUP, 1,
      TLY_WHY({ TLY_ELSE, "A workgroup has so many invocations, and a tile as many lanes: as few "
                          "as still let a device's limit of workgroups hold all invocations "
                          "(reasoned, not measured on a GPU)." }) },
    TLY_GPU_KEY_MEMORY,
};

/* Any number of elements an invocation, so that rows fill their tiles. */
static const tly_plan_key staged[] = {
    TLY_GPU_KEY_SCAN(1, 2),
    { KEY(workgroup), 4, TLY_GPU_MOST_WORKGROUP, 1,
      TLY_WHY({ TLY_ELSE, "A workgroup has so many invocations: 128, or a team of more, and fewer "
                          "where workgroup memory is small (a model, not measured on a GPU)." }) },
    { KEY_AS("team", group), 4, TLY_GPU_MOST_WORKGROUP, 1,
      TLY_WHY({ TLY_ELSE, "So many invocations scan together: as few as hold the row by up to 25 "
                          "elements each, or 13 where accumulators have 8 bytes." }) },
    { KEY(vector), 1, TLY_GPU_MOST_ELEMENTS, 0,
      TLY_WHY({ 1, "Elements go one by one, as scans are interleaved or the elements of a result "
                   "are shared out one by one." },
              { TLY_ELSE, "An invocation scans so many elements: an odd number, for the banks of "
                          "workgroup memory, and a multiple of 4 and 1, so that few kernels serve "
                          "all lengths (of 8 bytes of 2 and 1)." }) },
    TLY_GPU_KEY_MEMORY,
};

static const tly_plan_key copy[] = {
    TLY_GPU_KEY_SCAN(0, 2),  TLY_GPU_KEY_WORKGROUP, TLY_GPU_KEY_VECTOR,
    TLY_GPU_KEY_SEGMENTS(0), TLY_GPU_KEY_WIDE,      TLY_GPU_KEY_MEMORY,
};

/* ---- what a template is not for ---- */

static const char *refuses_reductions(const tly_problem *p, const tly_caps *caps)
{
    (void)caps;
    return tly_reduces(p->form) ? "columns scan" : NULL;
}

static const char *refuses_lanes(const tly_problem *p, const tly_caps *caps)
{
    (void)caps;
    return p->order == TALLY_ORDER_SERIAL ? "serial order is the columns'"
           : p->form != TLY_ROWS          ? "teams scan rows"
           : p->segmented && p->carry     ? "states of segments are the columns'"
                                          : NULL;
}

static const char *refuses_lanes_beside(const tly_problem *p, const tly_caps *caps)
{
    (void)caps;
    return !tly_gpu_transposes_in(p) && !tly_gpu_transposes_out(p)
               ? "turned is for lanes whose own elements are neighbours"
           : p->segmented && p->carry ? "states of segments are the columns'"
                                      : NULL;
}

/* What is copied goes the way of elements that are states. */
static const char *refuses_states(const tly_problem *p, const tly_caps *caps)
{
    return p->program.type != 0 ? "a copy has no expressions"
           : p->carry           ? "a copy has no states"
           : p->segmented       ? "a copy has no segments"
           : tly_is_plain(p)    ? refuses_lanes(p, caps)
                                : "a copy has no use for this operator";
}

static const char *refuses_shuffles(const tly_problem *p, const tly_caps *caps)
{
    return !tly_caps_shuffle(caps) ? "the device lacks shuffles in subgroups of a known size"
                                   : refuses_lanes(p, caps);
}

static const char *refuses_staged(const tly_problem *p, const tly_caps *caps)
{
    return p->interleave > 1 ? "staged takes rows of one scan" : refuses_shuffles(p, caps);
}

static const char *refuses_look_back(const tly_problem *p, const tly_caps *caps)
{
    const char *why = refuses_shuffles(p, caps);
    return why != NULL         ? why
           : p->interleave > 1 ? "look-back takes rows of one scan"
           : !caps->progress   ? "look-back waits for workgroups, which this device may not run"
                               : NULL;
}

static const char *refuses_look_back_lanes(const tly_problem *p, const tly_caps *caps)
{
    const char *why = refuses_reductions(p, caps);
    return why != NULL                      ? why
           : p->order == TALLY_ORDER_SERIAL ? "serial order is the columns'"
           : p->segmented && p->carry       ? "states of segments are the columns'"
           : !caps->progress ? "look-back waits for workgroups, which this device may not run"
                             : NULL;
}

/* ---- what cannot be together ---- */

const char *tly_gpu_fault_of_memory(const tly_geometry *g, const tly_problem *p,
                                    const tly_caps *caps, const tly_gpu_plan *plan)
{
    if (plan->addresses && !caps->addresses)
        return "the device lacks bufferDeviceAddress";
    if (plan->index_bits == 64 && !plan->addresses)
        return "offsets of 64 bits are for addresses";
    if (!plan->addresses && tly_gpu_needs_addresses(p, g, caps))
        return "a tensor is larger than a storage buffer may be, or there are too many tensors";
    if (plan->addresses && plan->index_bits == 32 && tly_gpu_needs_64_bits(p, g))
        return "offsets of 32 bits do not reach all of a tensor";
    return NULL;
}

static const char *fault_of_sizes(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                                  const tly_gpu_plan *plan)
{
    if ((uint32_t)plan->workgroup > caps->invocations)
        return "the workgroup is larger than the device's";
    if (plan->vectors_per_thread * plan->vector > TLY_GPU_MOST_ELEMENTS)
        return "a tile is up to 32 elements an invocation";
    if (plan->chunk > 0 && p->segmented && plan->template_id != TLY_GPU_LOOK_BACK)
        return "three passes do not mark heads";
    if (plan->chunk > TLY_GPU_MOST_CHUNK ||
        (caps->trip_limit > 0 && (uint32_t)plan->chunk > caps->trip_limit / 2))
        return "a chunk is longer than the device lets a loop run";
    return tly_gpu_fault_of_memory(g, p, caps, plan);
}

static const char *fault_of_columns(const tly_problem *p, const tly_geometry *g,
                                    const tly_caps *caps, const tly_gpu_plan *plan)
{
    if (p->order == TALLY_ORDER_SERIAL && plan->chunk)
        return "serial order is never cut in chunks";
    if (plan->chunk > 0 && plan->vector > TLY_GPU_MOST_CUT_LANES)
        return "up to 8 lanes go together in chunks";
    if (plan->vector > plan->workgroup)
        return "more lanes at once than invocations";
    if (plan->vector != tly_gpu_lanes_together(p, g, plan->vector))
        return "so many lanes do not lie together";
    return fault_of_sizes(p, g, caps, plan);
}

/* A window and its extremes. */
unsigned tly_gpu_slot_bytes(const tly_problem *p)
{
    return (tly_window_bytes(p) + 4 * tly_range_sides(p) + 15) / 16 * 16;
}

/* Bytes: slots in two halves, for each invocation or each cluster (gpu/group.c); in chunks the
 * records of up to 64 (gpu/carries.c), at most a slot and 16 more, or of interleaved scans a slot
 * for each invocation (gpu/carries_apart.c); in look-back local results while a tile waits. */
static int64_t exchange_bytes(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan)
{
    int64_t slots = plan->scan == 0 ? plan->workgroup : plan->group / (int32_t)caps->subgroup;
    int64_t slot = tly_gpu_slot_bytes(p);
    int64_t records = p->interleave > 1 ? TLY_GPU_MOST_APART * slot : 64 * (slot + 16);
    return 2 * slot * (slots + 1) + (plan->chunk > 0 ? records : 0) +
           tly_gpu_spilled_bytes(p, plan);
}

unsigned tly_gpu_staged_slot(const tly_problem *p)
{
    unsigned state = tly_window_bytes(p), stored = tly_gpu_transposed_slot(p);
    if (tly_window_heads(p) > 0 && !p->resets) /* heads come from marks of where it is scanned */
        state -= tly_part_bytes(p);
    return state > stored ? state : stored;
}

int64_t tly_gpu_staged_bytes(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan)
{
    return exchange_bytes(p, caps, plan) +
           (int64_t)plan->workgroup * plan->vector * tly_gpu_staged_slot(p);
}

static const char *fault_of_groups(const tly_problem *p, const tly_geometry *g,
                                   const tly_caps *caps, const tly_gpu_plan *plan)
{
    int32_t subgroup = plan->scan == 0 ? plan->workgroup : (int32_t)caps->subgroup;
    int narrow = p->acc == TALLY_I32 || p->acc == TALLY_U32;
    if (plan->scan == 2 && (!narrow || !(caps->subgroup_ops & TLY_SUBGROUP_ARITHMETIC)))
        return "the device's own scan is for integers of 32 bits, where it has one";
    if (plan->scan == 2 && tly_window_heads(p) > 0)
        return "devices have no scan of their own that begins anew";
    if (plan->scan == 2 && !tly_operator_of(p)->subgroup_scan)
        return "devices have no scan of their own for this operator";
    if (plan->workgroup % subgroup != 0 || plan->workgroup % plan->group != 0)
        return "a workgroup is whole subgroups and whole teams";
    if (p->interleave > 1 &&
        (plan->vector > 1 || plan->group > subgroup || p->interleave > plan->group))
        return "interleaved scans go by single elements within a subgroup";
    int by_words = p->interleave == 1 && plan->template_id != TLY_GPU_STAGED;
    if (tly_gpu_bytes_of(p->tensor[TLY_IN].dtype) == 2 && plan->vector == 1 && by_words)
        return "elements of 2 bytes go by words";
    if (exchange_bytes(p, caps, plan) > (int64_t)caps->shared_bytes)
        return "the workgroup asks for more memory than the device's";
    return fault_of_sizes(p, g, caps, plan);
}

static const char *fault_of_look_back_lanes(const tly_problem *p, const tly_geometry *g,
                                            const tly_caps *caps, const tly_gpu_plan *plan)
{
    if ((uint32_t)plan->workgroup > caps->invocations)
        return "the workgroup is larger than the device's";
    if (plan->group > plan->workgroup)
        return "a tile has more lanes than the workgroup has invocations";
    if (tly_gpu_lanes_shared_bytes(p, plan) > (int64_t)caps->shared_bytes)
        return "the workgroup asks for more memory than the device's";
    return tly_gpu_fault_of_memory(g, p, caps, plan);
}

static const char *fault_of_transposed(const tly_problem *p, const tly_geometry *g,
                                       const tly_caps *caps, const tly_gpu_plan *plan)
{
    if ((uint32_t)plan->workgroup > caps->invocations)
        return "the workgroup is larger than the device's";
    if (tly_gpu_transposed_bytes(p, plan) > (int64_t)caps->shared_bytes)
        return "the workgroup asks for more memory than the device's";
    return tly_gpu_fault_of_memory(g, p, caps, plan);
}

static const char *fault_of_subgroups(const tly_problem *p, const tly_geometry *g,
                                      const tly_caps *caps, const tly_gpu_plan *plan)
{
    if (plan->group > (int32_t)caps->subgroup)
        return "teams are parts of a subgroup, or the workgroup";
    return fault_of_groups(p, g, caps, plan);
}

static const char *fault_of_staged(const tly_problem *p, const tly_geometry *g,
                                   const tly_caps *caps, const tly_gpu_plan *plan)
{
    int64_t tile = (int64_t)plan->group * plan->vector,
            open = TLY_GPU_STAGED_OPEN * (int64_t)plan->group;
    if (plan->group > (int32_t)caps->subgroup && plan->group != plan->workgroup)
        return "teams are parts of a subgroup, or the workgroup";
    if (g->length > tile || g->length <= tile - open)
        return "staged rows fill one tile, but for the last four elements of each invocation";
    if (tly_gpu_staged_bytes(p, caps, plan) > (int64_t)caps->shared_bytes)
        return "the workgroup asks for more memory than the device's";
    return fault_of_groups(p, g, caps, plan);
}

#define LIMITS(name_, printed_, refuses_, fault_, why_) \
    const tly_gpu_limits tly_gpu_##name_##_limits = { \
        { printed_, name_, sizeof name_ / sizeof *name_, why_ }, refuses_, fault_ \
    }

LIMITS(columns, "columns", refuses_reductions, fault_of_columns,
       "One invocation goes along each lane. The axis is not innermost, the order is the plain "
       "loop's, or a CPU plays the device and rows alone fill it.");
LIMITS(subgroups, "subgroups", refuses_shuffles, fault_of_subgroups,
       "A row fits the tile of a subgroup. So a part of a subgroup scans each row, by shuffles and "
       "without barriers.");
LIMITS(workgroups, "workgroups", refuses_lanes, fault_of_groups,
       "Rows are longer than the tile of a subgroup. So a workgroup scans each row.");
LIMITS(look_back, "look_back", refuses_look_back, fault_of_groups,
       "Rows are too few to fill the device, its workgroups make progress, and an estimate says "
       "that waiting for carries takes less than reading twice. So there is one pass, in which "
       "each tile looks back for its carry.");
LIMITS(look_back_lanes, "look_back_lanes", refuses_look_back_lanes, fault_of_look_back_lanes,
       "Lanes are too few to fill the device, its workgroups make progress, and an estimate says "
       "that waiting for carries takes less than reading twice. So there is one pass, in which "
       "each lane of a tile looks back for its carry.");
LIMITS(transposed, "turned", refuses_lanes_beside, fault_of_transposed,
       "One invocation goes along each lane, and a lane's elements are neighbours in memory: rows "
       "of up to 32, transposed views, or rows in the order of the plain loop. Tiles are turned in "
       "workgroup memory, so that memory is accessed in its own order.");
LIMITS(staged, "staged", refuses_staged, fault_of_staged,
       "A row fits one tile, and vectors do not fit rows. So a team scans each row, neighbouring "
       "invocations access neighbouring elements, and workgroup memory passes these to the "
       "invocations that scan them.");
LIMITS(copy, "copy", refuses_states, fault_of_groups,
       "This is no scan, but a copy by the same tiles, to measure scans by.");
