/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan for Vulkan (tly_gpu_plan, runtime/problem/gpu.h): every choice that a GPU template is
 * built with, made in one place from problem, geometry and caps. The heuristics live in
 * gpu_choose.c; numbers there name their measurement. Single choices can be overridden by
 * "key=value". tly_gpu_plan_make, which makes it, is declared in runtime/problem/generator.h.
 */
#ifndef TLY_PLAN_GPU_H
#define TLY_PLAN_GPU_H

#include "../../runtime/problem/generator.h"
#include "operator.h"

/* The templates for Vulkan, TEMPLATE(ID, name, what it is). */
#define TLY_GPU_TEMPLATES(TEMPLATE) \
    TEMPLATE(COLUMNS, columns, "one invocation along each lane") \
    TEMPLATE(SUBGROUPS, subgroups, "a row by (a part of) a subgroup") \
    TEMPLATE(WORKGROUPS, workgroups, "a row by a workgroup") \
    TEMPLATE(LOOK_BACK, look_back, "a row by all workgroups, in one pass") \
    TEMPLATE(LOOK_BACK_LANES, look_back_lanes, "a lane by many workgroups, in one pass") \
    TEMPLATE(TRANSPOSED, transposed, "the same as columns, through tiles that are turned") \
    TEMPLATE(STAGED, staged, "a row of one tile by a team, through workgroup memory") \
    TEMPLATE(COPY, copy, "no scan: a copy by tiles, to measure scans by") \
    TEMPLATE(REDUCE_LANES, reduce_lanes, "a reduction by one invocation an output") \
    TEMPLATE(REDUCE_ROWS, reduce_rows, "a reduction by a team") \
    TEMPLATE(READ, read, "no reduction: tiles are read, to measure reductions by")

typedef enum tly_gpu_template {
#define TLY_GPU_TEMPLATE_ID(ID, name, what) TLY_GPU_##ID,
    TLY_GPU_TEMPLATES(TLY_GPU_TEMPLATE_ID)
#undef TLY_GPU_TEMPLATE_ID
        TLY_GPU_TEMPLATE_COUNT
} tly_gpu_template;

/* Whether a plan that was stored is one for this: all of its choices, forced, make it again. */
int tly_gpu_plan_stands(const tly_problem *problem, const tly_geometry *geometry,
                        const tly_caps *caps, const tly_gpu_plan *plan);

const char *tly_gpu_template_name(const tly_gpu_plan *plan);

/* "key = value" lines, template first. */
tally_status tly_gpu_plan_print(const tly_gpu_plan *plan, tally_write write, void *user);

/* "key\tvalue\twhy" lines. */
tally_status tly_gpu_plan_explain(const tly_gpu_plan *plan, tally_write write, void *user);

/* As tly_plan_choices and tly_plan_order (plan.h). */
tally_status tly_gpu_plan_choices(const tly_problem *problem, const tly_geometry *geometry,
                                  const tly_caps *caps, const char *overrides, tally_write write,
                                  void *user, tally_error *error);
tally_status tly_gpu_plan_order(const tly_problem *problem, const tly_gpu_plan *plan,
                                tally_write write, void *user);

/* Whether the kernel takes its geometry as lanes. */
int tly_gpu_takes_lanes(const tly_gpu_plan *plan);

/* Elements of a tile of a template with groups; 0 where a group is too small for its scans. */
int32_t tly_gpu_tile(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan);

/* ---- facts that choices and limits share ---- */

/* The facts of a device for a problem: trips of loops are counted by elements, and quotients and
 * roots of expressions take many of them. */
tly_caps tly_gpu_caps_for(const tly_problem *p, const tly_caps *caps);

/* Elements that make an output of a reduction; INT64_MAX where that is more. */
int64_t tly_gpu_reduced_count(const tly_geometry *g);
/* Elements of a chunk, or of an output that is not cut, that the loops of a device can go through:
 * an invocation's times those that go together. */
int64_t tly_gpu_most_reduced(const tly_caps *caps, int32_t team);

/* Whether states go from a tensor to another, with no elements between them. */
static inline int tly_gpu_moves_states_alone(const tly_problem *p, const tly_geometry *g)
{
    return p->carry && g->length == 0;
}

/* Whether scans begin anew on their way: by an expression, or in each segment. */
static inline int tly_gpu_has_heads(const tly_problem *p)
{
    return p->resets || p->segmented != TLY_SEGMENTED_NOT;
}

static inline int32_t tly_gpu_bytes_of(uint8_t dtype)
{
    return (int32_t)tally_dtype_bytes((tally_dtype)dtype);
}

/* Of the template turned: whether a lane's positions are neighbours in memory, in the input and
 * in the output. */
static inline int tly_gpu_transposes_in(const tly_problem *p)
{
    return (p->form == TLY_ROWS && p->interleave == 1) ||
           (p->form == TLY_COLUMNS &&
            (p->lanes.packing == TLY_AXIS_UP || p->lanes.packing == TLY_AXIS_DOWN));
}

static inline int tly_gpu_transposes_out(const tly_problem *p)
{
    return (p->form == TLY_ROWS && p->interleave == 1) || p->form == TLY_TRANSPOSED;
}

/* Bytes of an element in workgroup memory: that of the input, then that of the output. */
static inline unsigned tly_gpu_transposed_slot(const tly_problem *p)
{
    return tly_gpu_bytes_of(p->tensor[TLY_IN].dtype) > 4 ||
                   tly_gpu_bytes_of(p->tensor[TLY_OUT].dtype) > 4
               ? 8
               : 4;
}

/* Bytes of workgroup memory: the tile, and where lanes begin. */
int64_t tly_gpu_transposed_bytes(const tly_problem *p, const tly_gpu_plan *plan);

/* Of staged rows: the last rounds, in which alone a row may end. */
enum { TLY_GPU_STAGED_OPEN = 4 };

/* Bytes of a staged element in workgroup memory: its state's, then its result's. */
unsigned tly_gpu_staged_slot(const tly_problem *p);

/* The same of staged rows: tiles, and what groups exchange (codegen/plan/gpu_limits.c). */
int64_t tly_gpu_staged_bytes(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan);

/* Whether look-back has local results in workgroup memory while a tile waits, and the bytes of a
 * tile's. */
static inline int tly_gpu_spills(const tly_problem *p, const tly_gpu_plan *plan)
{
    return plan->spill && tly_window_bytes(p) == 4;
}

static inline int64_t tly_gpu_spilled_bytes(const tly_problem *p, const tly_gpu_plan *plan)
{
    return tly_gpu_spills(p, plan)
               ? (int64_t)plan->workgroup * plan->vector * plan->vectors_per_thread * 4
               : 0;
}

/* Of look-back along lanes: whether a tile of so many goes through workgroup memory, as lanes do
 * not fill 32 bytes of two-byte elements; the bytes of that; all of it. */
static inline int tly_gpu_lanes_are_transposed(int32_t lanes)
{
    return lanes < 16;
}

/* Invocations along a lane. Of turned tiles a multiple of what each holds, where there are so many:
 * then the places of its accesses are literals apart (templates/gpu/look_back_lanes_tile.c). */
static inline int32_t tly_gpu_lanes_spans(const tly_gpu_plan *plan)
{
    int32_t all = plan->workgroup / plan->group, over = all % plan->vectors_per_thread;
    return tly_gpu_lanes_are_transposed(plan->group) && all > over ? all - over : all;
}

int64_t tly_gpu_lanes_stage_bytes(const tly_problem *p, const tly_gpu_plan *plan);
int64_t tly_gpu_lanes_shared_bytes(const tly_problem *p, const tly_gpu_plan *plan);

/* How many neighbouring lanes an invocation can take by accesses of 16 bytes: `most` (a power of
 * two) or fewer. */
int32_t tly_gpu_lanes_together(const tly_problem *p, const tly_geometry *g, int32_t most);
/* The same of a reduction's input: outputs side by side, or a row's elements, `most` a whole
 * row's at most where there are several steps. Not `wide`: by accesses of single elements. */
int32_t tly_gpu_reduced_together(const tly_problem *p, const tly_geometry *g, int wide,
                                 int32_t most);
/* Elements of a reduction's row that an item of this plan loads all at once; 0: not so. */
int32_t tly_gpu_at_once(const tly_problem *p, const tly_geometry *g, const tly_gpu_plan *plan);
/* A tensor is more than a storage buffer may hold; more than 32 bits (signed) reach. */
int tly_gpu_needs_addresses(const tly_problem *p, const tly_geometry *g, const tly_caps *caps);
int tly_gpu_needs_64_bits(const tly_problem *p, const tly_geometry *g);

#endif
