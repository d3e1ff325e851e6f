/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making kernels, in this process or, where the context asks for that, in one of their own: a crash
 * or an endless loop there is a status here. See tally_context_options.isolate.
 */
#ifndef TLY_ISOLATE_H
#define TLY_ISOLATE_H

#include "../context/internal.h"

/* As the generator's functions of these names; `quick`: as generate_quick, which it must have. What
 * they make is given back by the release functions here. */
tally_status tly_make_cpu(const tally_context *context, const tly_generator *generator,
                          const tly_problem *problem, const char *level, const char *plan,
                          int quick, tly_artifact *artifact, tally_error *error);
void tly_release_cpu(const tally_context *context, const tly_generator *generator,
                     tly_artifact *artifact);

tally_status tly_make_gpu(const tally_context *context, const tly_generator *generator,
                          const tly_problem *problem, const tly_caps *caps,
                          const tly_gpu_plan *plan, tly_gpu_artifact *artifact, tally_error *error);
void tly_release_gpu_artifact(const tally_context *context, const tly_generator *generator,
                              tly_gpu_artifact *artifact);

/* Opens what these need beside the generator, `gpu` for the latter two; in a process of its own:
 * looks for its program. */
tally_status tly_make_open(const tally_context *context, const tly_generator *generator, int gpu,
                           tally_error *error);

/* A stage for a CPU, or, with `gpu`, for the request's Vulkan device. */
tally_status tly_make_show(const tally_context *context, const tly_generator *generator,
                           const tly_request *request, const tly_gpu_plan *gpu, tally_stage stage,
                           tally_write write, void *user, tally_error *error);

#endif
