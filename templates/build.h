/* SPDX-License-Identifier: Apache-2.0 */
/* The templates' door: from a plan to kernel IR. */
#ifndef TLY_TEMPLATES_BUILD_H
#define TLY_TEMPLATES_BUILD_H

#include "../codegen/kir/kir.h"
#include "../codegen/plan/plan.h"
#include "../runtime/host/error.h"

/* Builds and verifies the kernel; the caller frees it with kir_free. Outputs are untouched on
 * failure. Thread-safe. */
tally_status tly_template_build(const tly_problem *problem, const tly_target *target,
                                const tly_plan *plan, kir_kernel **kernel, tly_launch *launch,
                                tally_error *error);

/* The same for Vulkan: one kernel a pass, each to be freed. */
tally_status tly_gpu_template_build(const tly_problem *problem, const tly_caps *caps,
                                    const tly_gpu_plan *plan, kir_kernel *kernels[TLY_GPU_PASSES],
                                    tly_gpu_launch *launch, tally_error *error);

#endif
