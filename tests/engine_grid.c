/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vulkan kernels without Vulkan: planned and built for what a profile says of a device, and their
 * kernel IR run by the interpreter, dispatch after dispatch as the runtime would record them.
 */
#include "engine_grid.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../codegen/plan/gpu.h"
#include "../runtime/launch/dispatches.h"
#include "../runtime/problem/canonicalise.h"
#include "../runtime/problem/specialise.h"
#include "../runtime/vulkan/judge.h"
#include "../templates/build.h"

typedef struct grid {
    tly_engine face;
    tly_caps caps;
    tly_problem problem;
    int empty;
    kir_kernel *kernels[TLY_GPU_PASSES];
    tly_gpu_launch launch;
    tly_gpu_steps steps;
    char *scratch;
    unsigned runs; /* of this kernel */
} grid;

static void release(grid *g)
{
    for (int pass = 0; pass < TLY_GPU_PASSES; pass++) {
        kir_free(g->kernels[pass]);
        g->kernels[pass] = NULL;
    }
    tly_gpu_steps_free(&g->steps);
    free(g->scratch);
    g->scratch = NULL;
}

static tally_status prepare(tly_engine *e, const tally_descriptor *d, const char *plan,
                            tally_error *error)
{
    grid *g = (grid *)e;
    tally_descriptor full;
    tly_problem problem;
    tly_geometry geometry;
    tly_gpu_plan made;
    memset(&problem, 0, sizeof problem);
    memset(&geometry, 0, sizeof geometry);
    memset(&made, 0, sizeof made);
    release(g);
    g->runs = 0;
    tally_status status = tly_descriptor_resolve(d, &full, error);
    if (status)
        return status;
    tly_canonicalise_resolved(&full, 1, &problem, &geometry);
    tly_specialise_for_device(&problem);
    status = tly_gpu_plan_make(&problem, &geometry, &g->caps, *plan ? plan : NULL, &made, error);
    g->problem = problem;
    g->empty = geometry.empty;
    if (status || g->empty)
        return status;
    status = tly_gpu_template_build(&problem, &g->caps, &made, g->kernels, &g->launch, error);
    if (!status && (!tly_gpu_plan_stands(&problem, &geometry, &g->caps, &made) ||
                    !tly_vk_launch_stands(&g->launch, &problem, &made))) {
        snprintf(error->message, sizeof error->message, "it is taken for no kernel when stored");
        return TALLY_INTERNAL;
    }
    if (!status)
        status = tly_gpu_steps_make(&problem, &geometry, &made, &g->launch, &g->caps, &g->steps,
                                    error);
    if (status)
        return status;
    g->scratch = aligned_alloc(64, (g->steps.scratch_bytes + 127) / 64 * 64);
    return g->scratch ? TALLY_OK : TALLY_OUT_OF_MEMORY;
}

/* A device that does not say gets small subgroups, so that every barrier counts. */
static uint32_t subgroup_of(const grid *g, const tly_gpu_pass *pass)
{
    return pass->subgroup ? pass->subgroup : g->caps.subgroup ? g->caps.subgroup : 4;
}

static tly_gpu_bases bases_of(const grid *g, const tally_buffers *buffers)
{
    const uintptr_t given[TLY_TENSOR_COUNT] = {
#define GIVEN(T, t, member, is_written, home, meaning) [TLY_##T] = (uintptr_t)buffers->member,
        TLY_TENSORS(GIVEN)
#undef GIVEN
    };
    tly_gpu_bases bases = { .scratch = (uintptr_t)g->scratch };
    for (int t = 0; t < tly_tensors_of(&g->problem); t++) {
        bases.tensor[t] = given[tly_tensor_of(&g->problem, t)];
        bases.lacking |= bases.tensor[t] ? 0 : tly_gpu_states_flag(&g->problem, t);
    }
    return bases;
}

/* Every other run has tiles withhold their totals, so that look-back takes its longer way. */
static tally_status run(tly_engine *e, const tally_buffers *buffers, int32_t threads,
                        tally_error *error)
{
    grid *g = (grid *)e;
    const uint32_t flags = g->runs++ % 2 ? TLY_GPU_STALL : 0;
    tally_status status = TALLY_OK;
    (void)threads;
    if (g->empty)
        return TALLY_OK;
    memset(g->scratch, 0xee, g->steps.scratch_bytes); /* nothing may be expected there */
    const tly_gpu_bases bases = bases_of(g, buffers);
    for (size_t i = 0; i < g->steps.count && !status; i++) {
        const tly_gpu_step *step = &g->steps.step[i];
        const tly_gpu_pass *pass = &g->launch.pass[step->pass];
        tly_push push = tly_gpu_step_place(&g->steps, i, &bases);
        push.flags |= flags;
        if (step->block) {
            const tly_gpu_block block = tly_gpu_step_block(&g->steps, i, &bases);
            memcpy(g->scratch, &block, sizeof block);
        }
        if (step->zero)
            memset(g->scratch + g->steps.zero_first, 0, g->steps.zeroed);
        status = kir_interpret_grid(g->kernels[step->pass],
                                    &(kir_grid){ .push = &push,
                                                 .groups_x = step->x,
                                                 .groups_y = step->y,
                                                 .subgroup = subgroup_of(g, pass) },
                                    error);
    }
    return status;
}

static void close_engine(tly_engine *e)
{
    release((grid *)e);
    free(e);
}

tly_engine *tly_engine_grid(const tly_caps *caps, tally_error *error)
{
    grid *g = calloc(1, sizeof *g);
    if (!g) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return NULL;
    }
    g->face = (tly_engine){ "grid", prepare, run, close_engine, 0 };
    g->caps = *caps;
    return &g->face;
}
