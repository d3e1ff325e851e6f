/*
 * The heuristics of reductions on Vulkan: who makes an output, and how many chunks it is cut into.
 * Numbers that are not measured are reasoned, for GPUs: what keeps all invocations busy.
 */
#include "gpu_choose.h"

#include "../../runtime/checked.h"
#include "../../runtime/error.h"

#define FIELD(name) offsetof(tly_gpu_plan, name)
#define OR_FORCED(name, chosen) tly_forced_or(forced, FIELD(name), chosen)

int64_t tly_gpu_reduced_count(const tly_geometry *g)
{
    return tly_multiply(g->steps, g->length);
}

/* A quarter of the trips that a driver allows: the elements may be gone through twice. */
int64_t tly_gpu_most_reduced(const tly_caps *caps, int32_t team)
{
    int64_t most = caps->trip_limit > 0 ? caps->trip_limit / 4 : TLY_GPU_MOST_CHUNK;
    return most * team < TLY_GPU_MOST_CHUNK ? most * team : TLY_GPU_MOST_CHUNK;
}

/* Rows of few elements, and on CPUs that play a device all that fill it, go an invocation each. */
static int goes_alone(const tly_problem *p, const tly_geometry *g, const tly_caps *caps)
{
    int64_t count = tly_gpu_reduced_count(g);
    return p->form == TLY_REDUCED_LANES || p->order == TALLY_ORDER_SERIAL || count <= 8 ||
           (tly_gpu_plays(caps) && g->rows >= caps->saturation &&
            count <= tly_gpu_most_reduced(caps, 1));
}

static void choose_team(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                        const tly_forced *forced, tly_gpu_plan *plan)
{
    int32_t subgroup = (int32_t)caps->subgroup, scan = tly_gpu_choose_scan(p, caps) > 0;
    plan->scan = OR_FORCED(scan, scan);
    plan->segments = OR_FORCED(segments, tly_gpu_plays(caps) ? 1 : 4);
    int32_t wanted = plan->scan == 0 ? 64 : 256;
    if (tly_gpu_plays(caps) && plan->scan > 0)
        wanted = subgroup;
    plan->workgroup = OR_FORCED(workgroup, tly_gpu_workgroup_of(caps, wanted));
    int32_t team = plan->workgroup;
    if (plan->scan > 0 && tly_gpu_reduced_count(g) <= 16 * (int64_t)subgroup)
        team = subgroup < team ? subgroup : team;
    plan->team = OR_FORCED(team, team);
}

/* Outputs too few to keep the device busy are cut, but not into less than what a team takes in some
 * trips. */
static int64_t choose_chunk(const tly_geometry *g, const tly_caps *caps, const tly_gpu_plan *plan,
                            int64_t outputs)
{
    int64_t count = tly_gpu_reduced_count(g), most = tly_gpu_most_reduced(caps, plan->team);
    int64_t busy = tly_multiply(outputs, plan->team), least = 16 * (int64_t)plan->team;
    int64_t chunk = 0;
    if (busy * 2 <= caps->saturation && count / 4 >= least) {
        int64_t size = count / (caps->saturation / (busy > 0 ? busy : 1));
        chunk = size > least ? size : least;
    }
    if (chunk == 0 && count > most)
        chunk = most;
    return chunk > most ? most : chunk;
}

tally_status tly_gpu_choose_reduction(const tly_problem *p, const tly_geometry *g,
                                      const tly_caps *caps, const tly_forced *forced,
                                      tly_gpu_plan *plan, tally_error *error)
{
    int32_t alone = goes_alone(p, g, caps);
    plan->vector = 1;
    plan->template_id = OR_FORCED(template_id, alone ? TLY_GPU_REDUCE_LANES : TLY_GPU_REDUCE_ROWS);
    if (plan->template_id == TLY_GPU_REDUCE_LANES) {
        plan->scan = 0;
        plan->workgroup = OR_FORCED(workgroup, tly_gpu_workgroup_of(caps, 64));
        plan->team = 1;
        plan->segments = OR_FORCED(segments, tly_gpu_plays(caps) ? 1 : 4);
    } else {
        choose_team(p, g, caps, forced, plan);
    }
    int64_t most = tly_gpu_most_reduced(caps, plan->team), count = tly_gpu_reduced_count(g);
    int64_t chunk = choose_chunk(g, caps, plan, tly_multiply(g->rows, g->inner));
    if (p->order == TALLY_ORDER_SERIAL) {
        most = caps->trip_limit > 0 ? caps->trip_limit / 2 : INT32_MAX;
        chunk = 0;
    }
    chunk = tly_gpu_power_below(chunk > 0 ? chunk : 1) * (chunk > 0);
    int64_t items = tly_multiply(tly_multiply(caps->groups_x, caps->groups_y),
                                 plan->workgroup / plan->team);
    while (chunk > 0 && 2 * chunk <= most && 2 * (count / chunk) + 1 > items)
        chunk *= 2; /* steps that fill no chunk take one each */
    plan->chunk = OR_FORCED(chunk, (int32_t)chunk);
    int64_t chunks = plan->chunk > 0 ? count / plan->chunk + 1 : 1;
    int64_t trips = caps->trip_limit > 0 ? caps->trip_limit / 4 : INT32_MAX;
    if ((plan->chunk == 0 && count > most) || chunks / plan->team > trips)
        return tly_fail(error, TALLY_UNSUPPORTED, "sizes",
                        "an output of %lld elements in this order is more than the device's loops "
                        "go through",
                        (long long)count);
    return TALLY_OK;
}
