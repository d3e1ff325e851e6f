/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heuristics of reductions on Vulkan: who makes an output, and how many chunks it is cut into.
 * Numbers that are not measured are reasoned, for GPUs: what keeps all invocations busy.
 */
#include "gpu_choose.h"

#include "../../runtime/host/checked.h"
#include "../../runtime/host/error.h"
#include "operator.h"

#define FIELD(name) offsetof(tly_gpu_plan, name)
#define OR_FORCED(name, chosen) tly_forced_or(forced, FIELD(name), chosen)

int64_t tly_gpu_reduced_count(const tly_geometry *g)
{
    return tly_multiply(g->steps, g->length);
}

/* Elements of a result: of segments so many on average. */
static int64_t elements_of(const tly_problem *p, const tly_geometry *g)
{
    if (p->segmented == TLY_SEGMENTED_NOT)
        return tly_gpu_reduced_count(g);
    return tly_ceil_div(g->length, g->segments > 0 ? g->segments : 1);
}

/* A quarter of the trips that a driver allows: the elements may be gone through twice. */
int64_t tly_gpu_most_reduced(const tly_caps *caps, int32_t team)
{
    int64_t most = caps->trip_limit > 0 ? caps->trip_limit / 4 : TLY_GPU_MOST_CHUNK;
    return most * team < TLY_GPU_MOST_CHUNK ? most * team : TLY_GPU_MOST_CHUNK;
}

/* Invocations that keep a device busy: with 16 elements each on their way an eighth of those
 * that it runs at once. */
static int64_t busy_from(const tly_caps *caps)
{
    return tly_gpu_is_software(caps) ? caps->saturation : caps->saturation / 8;
}

/* Rows of few elements, and on CPUs that play a device all that fill it, go an invocation each. */
static int goes_alone(const tly_problem *p, const tly_geometry *g, const tly_caps *caps)
{
    int64_t count = elements_of(p, g), rows = tly_multiply(g->rows, tly_larger(g->segments, 1));
    return p->form == TLY_REDUCED_LANES || p->order == TALLY_ORDER_SERIAL || count <= 8 ||
           (tly_gpu_is_software(caps) && rows >= caps->saturation &&
            count <= tly_gpu_most_reduced(caps, 1));
}

/* ---- loads ---- */

/* One row alone gains nothing; and lavapipe takes logarithms of negative integers for numbers
 * where all lanes load them from one address (log_sum of one i32). */
int32_t tly_gpu_at_once(const tly_problem *p, const tly_geometry *g, const tly_gpu_plan *plan)
{
    int64_t length = g->length, trip = (int64_t)plan->group * plan->vector;
    if (p->form != TLY_REDUCED_ROWS || g->reduced_rank > 0 || plan->chunk > 0 || g->rows < 2 ||
        p->segmented != TLY_SEGMENTED_NOT)
        return 0;
    if (length > (int64_t)plan->group * TLY_GPU_MOST_ELEMENTS || (plan->group > 1 && length % trip))
        return 0;
    return (int32_t)length;
}

/* Whether a row's elements are no whole vectors: a segment may begin anywhere. */
static int begins_anywhere(const tly_problem *p)
{
    return p->form == TLY_REDUCED_ROWS && p->segmented != TLY_SEGMENTED_NOT;
}

/* Where a CPU plays the device, several single elements from one address are more than one by
 * one. */
static int32_t choose_wide(const tly_problem *p, const tly_geometry *g, const tly_caps *caps)
{
    if (begins_anywhere(p))
        return 0;
    return !tly_gpu_is_software(caps) ||
           tly_gpu_reduced_together(p, g, 1, 16 / tly_gpu_bytes_of(p->tensor[TLY_IN].dtype)) > 1;
}

/* An exponential of a state for several elements, not for each (log_sum_exp). */
static int takes_several(const tly_problem *p)
{
    return tly_operator_of(p)->takes;
}

/* Its last part of a vector, and the way for inputs that are not aligned, a CPU that plays the
 * device goes through for nothing. lavapipe, 8 lanes, Emerald Rapids, sum of rows of 128 f32 to
 * a kernel that only reads: vectors of 32 .66, of 16 .98. */
enum { PLAYED_TRIPS = 8 };

/* 16 bytes an access, where a CPU plays the device two cache lines; but no more than a row has, and
 * of outputs side by side as many as still keep the device busy. lavapipe, 8 lanes, Emerald Rapids,
 * f32 4096x4096 along axis 0, ms: sum by 16 outputs 33, by 32 25; log_sum_exp by 32 and one step
 * 50, by 16 and two 26, by 8 and four 29. */
static int32_t choose_vector(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                             const tly_forced *forced, const tly_gpu_plan *plan)
{
    int32_t bytes = !tly_gpu_is_software(caps) ? 16 : takes_several(p) ? 64 : 128;
    int32_t most = bytes / tly_gpu_bytes_of(p->tensor[TLY_IN].dtype);
    int32_t fit = TLY_GPU_MOST_ELEMENTS / OR_FORCED(vectors_per_thread, 1);
    most = most < fit ? most : fit;
    if (begins_anywhere(p) && !tly_gpu_is_software(caps))
        return 1; /* neighbouring invocations take neighbours */
    if (p->form == TLY_REDUCED_ROWS) {
        int64_t own = g->reduced_rank > 0 ? g->length : elements_of(p, g);
        int64_t trip = tly_gpu_is_software(caps) && own > most ? own / PLAYED_TRIPS : own;
        int32_t length = tly_gpu_power_below(trip > 0 ? trip : 1);
        return tly_gpu_reduced_together(p, g, plan->wide, length < most ? length : most);
    }
    int64_t outputs = tly_multiply(g->rows, g->inner);
    int32_t vector = tly_gpu_reduced_together(p, g, plan->wide, most);
    while (vector > 1 && outputs / vector < busy_from(caps))
        vector = tly_gpu_reduced_together(p, g, plan->wide, vector / 2);
    return vector;
}

/* So many elements of an invocation are on their way at once: a CPU that plays a device has no use
 * for more than an access, but where several elements are cheaper than each. */
static int32_t choose_segments(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                               const tly_gpu_plan *plan)
{
    int lanes = p->form == TLY_REDUCED_LANES;
    int64_t wanted = TLY_GPU_MOST_ELEMENTS / plan->vector;
    if (tly_gpu_is_software(caps) && !(lanes && takes_several(p)))
        wanted = 1;
    else if (lanes && !tly_gpu_is_software(caps))
        wanted = 16 / plan->vector;
    int64_t trip = (int64_t)plan->group * (lanes ? 1 : plan->vector);
    int64_t trips = elements_of(p, g) / trip;
    wanted = wanted < TLY_GPU_MOST_SEGMENTS ? wanted : TLY_GPU_MOST_SEGMENTS;
    wanted = wanted < trips ? wanted : trips;
    return tly_gpu_power_below(wanted > 1 ? wanted : 1);
}

/* A row that one trip of a subgroup takes is no more than one's, or part of one's. */
static void choose_group(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                         const tly_forced *forced, tly_gpu_plan *plan)
{
    int32_t subgroup = (int32_t)caps->subgroup, scan = tly_gpu_choose_scan(p, caps) > 0;
    int64_t count = elements_of(p, g);
    plan->scan = OR_FORCED(scan, scan);
    int32_t wanted = plan->scan == 0 ? 64 : 256;
    if (tly_gpu_is_software(caps) && plan->scan > 0)
        wanted = subgroup;
    plan->workgroup = OR_FORCED(workgroup, tly_gpu_workgroup_of(caps, wanted));
    int32_t team = plan->workgroup;
    if (plan->scan > 0 && count <= TLY_GPU_MOST_ELEMENTS * (int64_t)subgroup) {
        team = subgroup < team ? subgroup : team;
        while (team > 4 && (int64_t)team / 2 * plan->vector >= count)
            team /= 2;
    }
    plan->group = OR_FORCED(group, team);
}

/* Steps that lie pages apart are many streams to a CPU that plays a device: so many at once are
 * left in its caches of pages for the lanes beside. lavapipe, 8 lanes, Emerald Rapids, sum of
 * f32 4096x4096 along axis 0, ms: all steps 27, chunks of 64 36, of 256 15, of 512 22, while
 * others worked. */
enum { PLAYED_STEPS = 256 };

/* Outputs too few to keep the device busy are cut, but not into less than what a group takes in
 * some trips. */
static int64_t choose_chunk(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                            const tly_gpu_plan *plan, int64_t outputs)
{
    int64_t count = tly_gpu_reduced_count(g), most = tly_gpu_most_reduced(caps, plan->group);
    int32_t trip = g->inner > 1 ? plan->vectors_per_thread
                                : plan->vectors_per_thread * plan->vector;
    int64_t busy = tly_multiply(outputs, plan->group), full = busy_from(caps);
    int64_t least = (trip > 16 ? trip : 16) * (int64_t)plan->group, chunk = 0;
    if (busy * 2 <= full && count / 4 >= least) {
        int64_t size = count / (full / (busy > 0 ? busy : 1));
        chunk = size > least ? size : least;
    }
    /* Of products the plain loop takes 12.9 ms there, chunks 13.5. */
    if (chunk == 0 && g->inner > 1 && tly_gpu_is_software(caps) && count >= 4 * PLAYED_STEPS &&
        !tly_is_checked_as(p, TLY_CHECK_PRODUCTS))
        chunk = PLAYED_STEPS;
    if (chunk == 0 && count > most)
        chunk = most;
    return chunk > most ? most : chunk;
}

/* Elements of an output that is not cut. */
static int64_t most_at_once(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan)
{
    if (p->order == TALLY_ORDER_SERIAL)
        return caps->trip_limit > 0 ? caps->trip_limit / 2 : INT32_MAX;
    return tly_gpu_most_reduced(caps, plan->group);
}

void tly_gpu_choose_reduction(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                              const tly_forced *forced, tly_gpu_plan *plan)
{
    int32_t alone = goes_alone(p, g, caps);
    plan->template_id = OR_FORCED(template_id, alone ? TLY_GPU_REDUCE_LANES : TLY_GPU_REDUCE_ROWS);
    plan->wide = plan->template_id == TLY_GPU_READ || OR_FORCED(wide, choose_wide(p, g, caps));
    plan->vector = OR_FORCED(vector, choose_vector(p, g, caps, forced, plan));
    if (plan->template_id == TLY_GPU_REDUCE_ROWS) {
        choose_group(p, g, caps, forced, plan);
    } else {
        plan->scan = 0;
        plan->workgroup = OR_FORCED(workgroup, tly_gpu_workgroup_of(caps, 64));
        plan->group = 1;
    }
    plan->vectors_per_thread = OR_FORCED(vectors_per_thread, choose_segments(p, g, caps, plan));
    if (plan->template_id == TLY_GPU_READ) {
        plan->group = plan->workgroup;
        plan->chunk = OR_FORCED(chunk, plan->workgroup * plan->vector * plan->vectors_per_thread);
        return;
    }
    int64_t most = most_at_once(p, caps, plan), count = tly_gpu_reduced_count(g);
    int64_t chunk = choose_chunk(
        p, g, caps, plan, tly_multiply(g->rows, g->inner) / (g->inner > 1 ? plan->vector : 1));
    if (p->order == TALLY_ORDER_SERIAL)
        chunk = 0;
    chunk = tly_gpu_power_below(chunk > 0 ? chunk : 1) * (chunk > 0);
    int64_t items = tly_multiply(tly_multiply(caps->groups_x, caps->groups_y),
                                 plan->workgroup / plan->group);
    while (chunk > 0 && 2 * chunk <= most && 2 * (count / chunk) + 1 > items)
        chunk *= 2; /* steps that fill no chunk take one each */
    plan->chunk = OR_FORCED(chunk, (int32_t)chunk);
    plan->length = OR_FORCED(length, tly_gpu_at_once(p, g, plan));
}

tally_status tly_gpu_check_reduction(const tly_problem *p, const tly_geometry *g,
                                     const tly_caps *caps, const tly_gpu_plan *plan,
                                     tally_error *error)
{
    int64_t count = tly_gpu_reduced_count(g);
    int64_t chunks = plan->chunk > 0 ? count / plan->chunk + 1 : 1;
    int64_t trips = caps->trip_limit > 0 ? caps->trip_limit / 4 : INT32_MAX;
    if (plan->template_id != TLY_GPU_READ &&
        ((plan->chunk == 0 && count > most_at_once(p, caps, plan)) || chunks / plan->group > trips))
        return tly_fail(error, TALLY_UNSUPPORTED, "sizes",
                        "an output of %lld elements in this order is more than the device's loops "
                        "go through",
                        (long long)count);
    return TALLY_OK;
}
