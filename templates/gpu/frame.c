/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of GPU algorithms, and the frame around each: one builder and one kernel a pass, one
 * launch record for all of them.
 */
#include "reduce.h"

#include <stdio.h>
#include <string.h>

#include "../../runtime/host/error.h"
#include "../build.h"

/* Whether a middle pass goes by groups of chunks (carries_apart.c). */
static int goes_apart(const tly_gpu *g)
{
    return tly_gpu_has_chunks(g) &&
           (tly_gpu_scans(g) > 1 || g->plan->template_id == TLY_GPU_COLUMNS);
}

typedef void (*algorithm)(tly_gpu *g, unsigned pass);

static const algorithm algorithms[TLY_GPU_TEMPLATE_COUNT] = {
    [TLY_GPU_COLUMNS] = tly_gpu_build_columns,
    [TLY_GPU_SUBGROUPS] = tly_gpu_build_rows,
    [TLY_GPU_WORKGROUPS] = tly_gpu_build_rows,
    [TLY_GPU_LOOK_BACK] = tly_gpu_build_look_back,
    [TLY_GPU_LOOK_BACK_LANES] = tly_gpu_build_look_back_lanes,
    [TLY_GPU_TURNED] = tly_gpu_build_turned,
    [TLY_GPU_STAGED] = tly_gpu_build_staged,
    [TLY_GPU_COPY] = tly_gpu_build_copy,
    [TLY_GPU_REDUCE_LANES] = tly_gpu_build_reduce_lanes,
    [TLY_GPU_REDUCE_ROWS] = tly_gpu_build_reduce_rows,
    [TLY_GPU_READ] = tly_gpu_build_read,
};

/* Tiles along a lane that a dispatch looks back on: 64 lanes' records of f32 fill the scratch
 * (runtime/launch/dispatches.c), and 2 to 4 GiB of elements lie between two dispatches. */
enum { MOST_TILES = 240000 };

/* Half of the trips that a driver allows: a tile that is done again takes at most as many trips as
 * elements once more. A quarter where one invocation may go through all groups, chunks and
 * positions. A copy has no loop. */
static uint32_t most_positions(const tly_gpu *g)
{
    uint32_t most = 1u << 30, border = 1;
    if (g->caps->trip_limit > 0 && g->plan->template_id != TLY_GPU_COPY)
        most = g->caps->trip_limit / (goes_apart(g) ? 4 : 2);
    if (!tly_gpu_takes_lanes(g->plan))
        border = (uint32_t)tly_gpu_tile(g->c.p, g->caps, g->plan);
    if (tly_gpu_has_chunks(g))
        border = (uint32_t)g->plan->chunk;
    if (g->plan->template_id == TLY_GPU_TURNED)
        border = (uint32_t)g->plan->segments;
    if (g->plan->template_id == TLY_GPU_LOOK_BACK_LANES && most / MOST_TILES > border)
        most = border * MOST_TILES;
    return most / border > 0 ? most / border * border : border;
}

/* Invocations of a middle pass: a row's own subgroup, or as many as share out the groups of chunks.
 * One of these goes from group to group; 128 of 16 take as long for that as for their memory. */
static uint32_t carries_workgroup(const tly_gpu *g)
{
    const tly_gpu_plan *p = g->plan;
    uint32_t workgroup = (uint32_t)p->workgroup;
    if (goes_apart(g))
        return workgroup < TLY_GPU_MOST_APART ? workgroup : TLY_GPU_MOST_APART;
    return p->template_id == TLY_GPU_SUBGROUPS ? g->caps->subgroup : workgroup;
}

static void describe(tly_gpu *g, tly_gpu_launch *launch)
{
    const tly_gpu_plan *p = g->plan;
    int looks_by_lanes = p->template_id == TLY_GPU_LOOK_BACK_LANES;
    int look_back = looks_by_lanes || p->template_id == TLY_GPU_LOOK_BACK;
    int one_pass = look_back || p->template_id == TLY_GPU_COPY;
    *launch = (tly_gpu_launch){
        .abi = TLY_GPU_ABI_VERSION,
        .form = tly_gpu_takes_lanes(p) ? TLY_GPU_LANES : TLY_GPU_ROWS,
        .passes = p->chunk > 0 && !one_pass ? 3 : 1,
        .addresses = (uint32_t)p->addresses,
        .chunk = (uint32_t)p->chunk,
        .lanes = g->lanes,
        .carry_bytes = tly_gpu_scans(g) * g->c.state_bytes,
    };
    snprintf(launch->template_name, sizeof launch->template_name, "%s", tly_gpu_template_name(p));
    g->launch = launch;
    if (p->chunk > 0 && p->template_id != TLY_GPU_COPY)
        launch->record_bytes = looks_by_lanes ? tly_gpu_look_back_lanes_bytes(g)
                               : look_back    ? tly_gpu_look_back_bytes(g)
                                              : tly_gpu_record_bytes(g);
    launch->header_bytes = looks_by_lanes ? TLY_GPU_TICKET_LINE
                           : look_back    ? TLY_GPU_TICKET_BYTES
                                          : 0;
    launch->zeroed = (uint32_t)look_back;
    launch->positions = most_positions(g);
    for (unsigned pass = 0; pass < launch->passes; pass++) {
        int carries = launch->passes > 1 && pass == TLY_GPU_PASS_CARRIES;
        launch->pass[pass].workgroup = carries ? carries_workgroup(g) : (uint32_t)p->workgroup;
        launch->pass[pass].subgroup = p->scan > 0 ? g->caps->subgroup : 0;
    }
}

/* Of what follows the block. */
enum { RECORD_ALIGN = 16 };

/* Chunks' states, then what they come to; or both in one. */
static void describe_reduction(tly_gpu *g, tly_gpu_launch *launch)
{
    const tly_gpu_plan *p = g->plan;
    int records = p->chunk > 0 && p->template_id != TLY_GPU_READ;
    *launch = (tly_gpu_launch){
        .abi = TLY_GPU_ABI_VERSION,
        .form = g->c.p->form == TLY_REDUCED_LANES ? TLY_GPU_LANES : TLY_GPU_ROWS,
        .passes = records ? 2 : 1,
        .addresses = (uint32_t)p->addresses,
        .chunk = (uint32_t)p->chunk,
        .lanes = g->lanes,
        .record_bytes = records ? g->lanes * tly_gpu_reduce_record_bytes(g) : 0,
        .header_bytes = (sizeof(tly_gpu_block) + RECORD_ALIGN - 1) / RECORD_ALIGN * RECORD_ALIGN,
        .block_bytes = sizeof(tly_gpu_block),
    };
    snprintf(launch->template_name, sizeof launch->template_name, "%s", tly_gpu_template_name(p));
    g->launch = launch;
    for (unsigned pass = 0; pass < launch->passes; pass++) {
        launch->pass[pass].workgroup = (uint32_t)p->workgroup;
        launch->pass[pass].subgroup = p->scan > 0 ? g->caps->subgroup : 0;
    }
}

/* Of what is cut, whatever the template, the middle pass is one of two. */
static algorithm builder_of(const tly_gpu *g, unsigned pass)
{
    int carries = g->launch->passes == TLY_GPU_PASSES && pass == TLY_GPU_PASS_CARRIES;
    return !carries        ? algorithms[g->plan->template_id]
           : goes_apart(g) ? tly_gpu_build_carries_apart
                           : tly_gpu_build_carries;
}

static tally_status build_pass(tly_gpu *g, unsigned pass, kir_kernel **kernel, tally_error *error)
{
    static const char *const parts[] = { "totals", "carries", "scan" };
    static const char *const reduced[] = { "states", "results" };
    int reduces = tly_reduces(g->c.p->form);
    char name[64];
    snprintf(name, sizeof name, "%s_%s_%s_%s", tally_op_name((tally_op)g->c.p->op),
             tally_dtype_name((tally_dtype)g->c.p->tensor[TLY_IN].dtype),
             tly_gpu_template_name(g->plan),
             reduces                 ? reduced[pass + 2 - g->launch->passes]
             : g->launch->passes > 1 ? parts[pass]
                                     : "scan");
    g->c.b = kir_begin_workgroup(name, g->launch->pass[pass].workgroup);
    if (g->c.b == NULL)
        return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory", "no memory for a kernel builder");
    kir_declare(g->c.b, (tly_is_apart(g->c.p) ? KIR_APART : 0u) |
                            (g->launch->addresses ? KIR_ADDRESSES : 0u));
    builder_of(g, pass)(g, pass);
    kir_return(g->c.b, kir_int(g->c.b, 0));
    return kir_finish(g->c.b, kernel, error);
}

tally_status tly_gpu_template_build(const tly_problem *problem, const tly_caps *caps,
                                    const tly_gpu_plan *plan, kir_kernel *kernels[TLY_GPU_PASSES],
                                    tly_gpu_launch *launch, tally_error *error)
{
    const tly_target target = { .level = "vulkan",
                                .vector_bytes = 16,
                                .has_f16 = (int32_t)caps->half_exact,
                                .no_div64 = !caps->int64 };
    tly_gpu g = { .c = { .p = problem, .t = &target, .lanes = 1 }, .plan = plan, .caps = caps };
    g.c.acc = g.c.vec = tly_storage((tally_dtype)problem->acc, 1);
    g.c.acc_bytes = (unsigned)tally_dtype_bytes((tally_dtype)problem->acc);
    g.c.state_bytes = tly_state_bytes(problem);
    for (int t = 0; t < TLY_TENSOR_COUNT; t++)
        g.c.bytes[t] = (unsigned)tly_element_bytes(problem, t);
    g.index = KIR_TYPE(plan->index_bits == 64 ? KIR_I64 : KIR_I32, 1);
    g.unit = tly_gpu_takes_lanes(plan) ? 1 : problem->unit;
    int lanes = tly_gpu_takes_lanes(plan) || problem->form == TLY_REDUCED_LANES;
    g.lanes = lanes ? (unsigned)plan->vector : 1;
    tly_gpu_launch made;
    if (tly_reduces(problem->form))
        describe_reduction(&g, &made);
    else
        describe(&g, &made);
    tally_status status = TALLY_OK;
    memset(kernels, 0, TLY_GPU_PASSES * sizeof *kernels);
    for (unsigned pass = 0; pass < made.passes && status == TALLY_OK; pass++) {
        status = build_pass(&g, pass, &kernels[pass], error);
        made.tensors |= status == TALLY_OK ? kir_tensors(kernels[pass]) : 0;
    }
    if (status == TALLY_OK) {
        *launch = made;
        return status;
    }
    for (unsigned pass = 0; pass < TLY_GPU_PASSES; pass++) {
        kir_free(kernels[pass]);
        kernels[pass] = NULL;
    }
    return status;
}
