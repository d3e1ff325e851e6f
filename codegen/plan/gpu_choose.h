/* SPDX-License-Identifier: Apache-2.0 */
/* What gpu_planner.c and gpu_choose*.c share. */
#ifndef TLY_PLAN_GPU_CHOOSE_H
#define TLY_PLAN_GPU_CHOOSE_H

#include "gpu.h"
#include "keys.h"

/* By template (gpu_planner.c): limits, and the keys of each. */
extern const tly_gpu_limits *const tly_gpu_limits_of[TLY_GPU_TEMPLATE_COUNT];
void tly_gpu_keys(const tly_plan_keys *keys[TLY_GPU_TEMPLATE_COUNT]);

/* Template, scan, widths and chunk, but for what is forced; addresses and outer dims are another
 * matter. What is forced is in its key's range, but may not suit the rest. */
void tly_gpu_choose(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                    const tly_forced *forced, tly_gpu_plan *plan);

/* Of groups: template, workgroup, group, vector and segments (gpu_choose_tile.c); scan is known. */
void tly_gpu_choose_tile(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                         const tly_forced *forced, tly_gpu_plan *plan);

/* Whether a scan goes by tiles that are turned, and workgroup and segments of these
 * (gpu_choose_transposed.c). */
int tly_gpu_transposes(const tly_problem *p, const tly_geometry *g, const tly_caps *caps);
void tly_gpu_choose_transposed(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                               const tly_forced *forced, tly_gpu_plan *plan);

/* Whether rows go through workgroup memory by elements; group and elements of each
 * (gpu_choose_staged.c). */
int tly_gpu_stages(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                   const tly_forced *forced, const tly_gpu_plan *plan);
void tly_gpu_choose_staged(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                           const tly_forced *forced, tly_gpu_plan *plan);

/* Invocations of a workgroup that looks back. Watched scans of f32 have 96 registers on Hopper
 * (tools/isa/table). A multiprocessor holds 16 such subgroups as workgroups of 256, and 20 as
 * workgroups of this size. */
enum { TLY_GPU_LOOK_BACK_WORKGROUP = 128 };

/* One long row by tiles of this plan: look-back is faster than reading twice (gpu_cost.c). */
int tly_gpu_look_back_pays(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan);

/* Look-back along lanes (gpu_choose_lanes.c): template, widths and the tile; whether a scan that
 * is cut in chunks by this plan is to go so, where nothing that is forced says otherwise;
 * whether it is faster (gpu_cost.c). */
void tly_gpu_choose_lanes(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                          const tly_forced *forced, tly_gpu_plan *plan);
int tly_gpu_looks_along_lanes(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                              const tly_forced *forced, const tly_gpu_plan *plan);
int tly_gpu_lanes_pay(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                      const tly_gpu_plan *plan);

/* What tly_gpu_choose does, of reductions (gpu_choose_reduce.c). */
void tly_gpu_choose_reduction(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                              const tly_forced *forced, tly_gpu_plan *plan);

/* Of a plan within its limits. TALLY_UNSUPPORTED, field sizes: more elements an output than the
 * device's loops go through by it. */
tally_status tly_gpu_check_reduction(const tly_problem *p, const tly_geometry *g,
                                     const tly_caps *caps, const tly_gpu_plan *plan,
                                     tally_error *error);

/* What both ask (gpu_choose.c): whether and how groups exchange values; a CPU that plays the
 * device; a workgroup as large as wanted, and allowed. */
int32_t tly_gpu_choose_scan(const tly_problem *p, const tly_caps *caps);
int tly_gpu_is_software(const tly_caps *caps);
int32_t tly_gpu_segments_of(const tly_gpu_plan *plan,
                            int32_t wanted); /* as far as a tile holds them */
int32_t tly_gpu_workgroup_of(const tly_caps *caps, int32_t wanted);
int32_t tly_gpu_power_below(int64_t x); /* largest power of two at most x, from 1 */
/* Whether `times` of a stride are a multiple of 16 bytes, for strides of any size. */
int tly_gpu_whole_accesses(int64_t stride, int64_t times, uint8_t dtype);

#endif
