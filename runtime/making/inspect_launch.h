/* SPDX-License-Identifier: Apache-2.0 */
/* TALLY_STAGE_LAUNCH, for a CPU or, with `gpu`, for the request's Vulkan device. */
#ifndef TLY_INSPECT_LAUNCH_H
#define TLY_INSPECT_LAUNCH_H

#include "../context/internal.h"

tally_status tly_inspect_launch(const tally_context *context, const tly_generator *generator,
                                const tly_request *request, const tly_gpu_plan *gpu,
                                tally_write write, void *user, tally_error *error);

/* The generator's half of it: the kernel's launch record, a tly_launch or, with `gpu`, a
 * tly_gpu_launch, `bytes` long. */
tally_status tly_launch_record(const tally_context *context, const tly_generator *generator,
                               const tly_request *request, const tly_gpu_plan *gpu, void *record,
                               size_t bytes, tally_error *error);

#endif
