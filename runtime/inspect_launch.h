/* SPDX-License-Identifier: Apache-2.0 */
/* TALLY_STAGE_LAUNCH, for a CPU or, with `gpu`, for the request's Vulkan device. */
#ifndef TLY_INSPECT_LAUNCH_H
#define TLY_INSPECT_LAUNCH_H

#include "internal.h"

tally_status tly_inspect_launch(const tally_context *context, const tly_generator *generator,
                                const tly_request *request, const tly_gpu_plan *gpu,
                                tally_write write, void *user, tally_error *error);

#endif
