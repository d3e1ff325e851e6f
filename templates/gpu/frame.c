/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame around each GPU template: one builder and one kernel a pass, one launch record for all
 * of them. A template says what it needs in a record of its own (tly_gpu_algorithm), so that the
 * frame knows none of them by name.
 */
#include "gpu.h"

#include <stdio.h>
#include <string.h>

#include "../../runtime/host/error.h"
#include "../build.h"

static const tly_gpu_algorithm *const algorithms[TLY_GPU_TEMPLATE_COUNT] = {
#define ALGORITHM(ID, name, what) [TLY_GPU_##ID] = &tly_gpu_##name##_algorithm,
    TLY_GPU_TEMPLATES(ALGORITHM)
#undef ALGORITHM
};

/* ---- passes ---- */

static unsigned most_passes(const tly_gpu_algorithm *a)
{
    unsigned count = 0;
    while (count < TLY_GPU_PASSES && a->passes[count] != NULL)
        count++;
    return count;
}

/* Whether it is the pass in front that marks heads (segments.c). */
static int marks(const tly_gpu_launch *launch, unsigned pass)
{
    return launch->marked && pass == 0;
}

static const char *pass_name(const tly_gpu *g, unsigned pass)
{
    return marks(g->launch, pass)
               ? "heads"
               : g->algorithm->passes[most_passes(g->algorithm) - g->launch->passes + pass];
}

static int makes_carries(const tly_gpu_launch *launch, unsigned pass)
{
    return launch->passes == TLY_GPU_PASSES && pass == TLY_GPU_PASS_CARRIES;
}

/* Whether a middle pass goes by groups of chunks (carries_apart.c). */
static int goes_apart(const tly_gpu *g)
{
    return tly_gpu_has_chunks(g) && (tly_gpu_scans(g) > 1 || g->algorithm->carries_apart);
}

/* Invocations of a middle pass: a row's own subgroup, or as many as share out the groups of chunks.
 * One of these goes from group to group; 128 of 16 take as long for that as for their memory. */
static uint32_t carries_workgroup(const tly_gpu *g)
{
    uint32_t workgroup = (uint32_t)g->plan->workgroup;
    if (goes_apart(g))
        return workgroup < TLY_GPU_MOST_APART ? workgroup : TLY_GPU_MOST_APART;
    return g->algorithm->carries_by_subgroup ? g->caps->subgroup : workgroup;
}

/* ---- the launch record ---- */

/* Half of the trips that a driver allows: a tile that is done again takes at most as many trips as
 * elements once more. A quarter where one invocation may go through all groups, chunks and
 * positions. */
static uint32_t most_positions(const tly_gpu *g)
{
    enum { MOST_MARKED = 1 << 29 }; /* 64 MiB of marks */
    const tly_gpu_algorithm *a = g->algorithm;
    uint32_t most = tly_gpu_has_marks(g->c.p) ? MOST_MARKED : 1u << 30, multiple = 1;
    if (g->caps->trip_limit > 0 && !a->has_no_loop)
        most = g->caps->trip_limit / (goes_apart(g) ? 4 : 2);
    if (tly_gpu_has_chunks(g))
        multiple = (uint32_t)g->plan->chunk;
    else if (a->multiple != NULL)
        multiple = a->multiple(g);
    else if (!tly_gpu_takes_lanes(g->plan))
        multiple = (uint32_t)tly_gpu_tile(g->c.p, g->caps, g->plan);
    if (a->most_chunks > 0 && most / a->most_chunks > multiple)
        most = multiple * a->most_chunks;
    return most / multiple > 0 ? most / multiple * multiple : multiple;
}

/* Of what follows the block: records of scans fill lines. */
enum { RECORD_ALIGN = 16, TICKET_ALIGN = TLY_GPU_TICKET_LINE };

static uint32_t rounded_up(uint32_t bytes, uint32_t multiple)
{
    return (bytes + multiple - 1) & -multiple;
}

/* Scans go on from dispatch to dispatch. Reductions have their geometry in a block, and so have
 * operands. */
static void describe(tly_gpu *g, tly_gpu_launch *launch, int by_lanes)
{
    const tly_gpu_plan *p = g->plan;
    const tly_gpu_algorithm *a = g->algorithm;
    int reduces = tly_reduces(g->c.p->form), chunks = tly_gpu_has_chunks(g);
    *launch = (tly_gpu_launch){
        .abi = TLY_GPU_ABI_VERSION,
        .form = by_lanes ? TLY_GPU_LANES : TLY_GPU_ROWS,
        .passes = (chunks ? most_passes(a) : 1) + (tly_gpu_has_marks(g->c.p) ? 1 : 0),
        .addresses = (uint32_t)p->addresses,
        .chunk = (uint32_t)p->chunk,
        .lanes = g->lanes,
        .header_bytes = a->ticket_bytes,
        .zeroed = a->ticket_bytes > 0,
        .marked = (uint32_t)tly_gpu_has_marks(g->c.p),
    };
    snprintf(launch->template_name, sizeof launch->template_name, "%s", tly_gpu_template_name(p));
    g->launch = launch;
    if (chunks && a->record_bytes != NULL)
        launch->record_bytes = a->record_bytes(g);
    if (tly_gpu_has_block(g->c.p)) {
        launch->block_bytes = sizeof(tly_gpu_block);
        launch->header_bytes += rounded_up(sizeof(tly_gpu_block),
                                           reduces ? RECORD_ALIGN : TICKET_ALIGN);
    }
    if (!reduces) {
        launch->carry_bytes = (a->carries_late ? 2 : 1) * tly_gpu_scans(g) * g->c.state_bytes;
        launch->positions = most_positions(g);
    }
    for (unsigned pass = 0; pass < launch->passes; pass++) {
        launch->pass[pass].workgroup = makes_carries(launch, pass) ? carries_workgroup(g)
                                                                   : (uint32_t)p->workgroup;
        launch->pass[pass].subgroup = p->scan > 0 ? g->caps->subgroup : 0;
    }
}

/* ---- kernels ---- */

static tally_status build_pass(tly_gpu *g, unsigned pass, kir_kernel **kernel, tally_error *error)
{
    tly_build *c = &g->c;
    char name[64];
    snprintf(name, sizeof name, "%s_%s_%s_%s", tally_op_name((tally_op)c->p->op),
             tally_dtype_name((tally_dtype)c->p->tensor[TLY_IN].dtype),
             tly_gpu_template_name(g->plan), pass_name(g, pass));
    c->b = kir_begin_workgroup(name, g->launch->pass[pass].workgroup);
    if (c->b == NULL)
        return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory", "no memory for a kernel builder");
    kir_declare(c->b, (tly_is_apart(c->p) ? KIR_APART : 0u) |
                          (g->launch->addresses ? KIR_ADDRESSES : 0u));
    tly_gpu_load_marks(g);
    if (!marks(g->launch, pass)) {
        tly_gpu_load_operands(g);
        tly_gpu_load_borders(g);
        if (!g->algorithm->finds_part)
            tly_gpu_find_part(g);
    }
    if (marks(g->launch, pass))
        tly_gpu_build_heads(g, pass);
    else if (!makes_carries(g->launch, pass))
        g->algorithm->build(g, pass);
    else if (goes_apart(g))
        tly_gpu_build_carries_apart(g, pass);
    else
        tly_gpu_build_carries(g, pass);
    kir_return(c->b, imm(c, 0));
    return kir_finish(c->b, kernel, error);
}

tally_status tly_gpu_template_build(const tly_problem *problem, const tly_caps *caps,
                                    const tly_gpu_plan *plan, kir_kernel *kernels[TLY_GPU_PASSES],
                                    tly_gpu_launch *launch, tally_error *error)
{
    const tly_target target = { .level = "vulkan",
                                .vector_bytes = 16,
                                .has_f16 = (int32_t)caps->half_exact,
                                .no_div64 = !caps->int64,
                                .no_narrow = 1,
                                .hides = 1 };
    const tly_caps own = tly_gpu_caps_for(problem, caps);
    tly_gpu g = { .c = { .p = problem, .t = &target, .lanes = 1 },
                  .plan = plan,
                  .algorithm = algorithms[plan->template_id],
                  .caps = &own };
    g.c.acc = g.c.vec = tly_storage((tally_dtype)problem->acc, 1);
    g.c.acc_bytes = (unsigned)tally_dtype_bytes((tally_dtype)problem->acc);
    g.c.state_bytes = tly_window_bytes(problem); /* where a window is, a state may be later */
    g.c.tensors = tly_tensors_of(problem);
    g.c.element = tly_element_dtype(problem);
    g.c.element_bytes = (unsigned)tally_dtype_bytes(g.c.element);
    g.c.is_mapped = problem->program.type != 0; /* when they are loaded: some are loaded again */
    for (int t = 0; t < g.c.tensors; t++)
        g.c.bytes[t] = (unsigned)tly_element_bytes(problem, t);
    g.index = KIR_TYPE(plan->index_bits == 64 ? KIR_I64 : KIR_I32, 1);
    g.interleave = tly_gpu_takes_lanes(plan) ? 1 : problem->interleave;
    int lanes = tly_gpu_takes_lanes(plan) || problem->form == TLY_REDUCED_LANES;
    g.lanes = lanes ? (unsigned)plan->vector : 1;
    tly_gpu_launch made;
    describe(&g, &made, lanes);
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
