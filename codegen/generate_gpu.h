/* SPDX-License-Identifier: Apache-2.0 */
/* The Vulkan side of the generator's door (runtime/problem/generator.h says what each does). */
#ifndef TLY_GENERATE_GPU_H
#define TLY_GENERATE_GPU_H

#include "../runtime/problem/generator.h"
#include "kir/kir.h"
#include "plan/gpu.h"

tally_status tly_generate_gpu(const tly_problem *problem, const tly_caps *caps,
                              const tly_gpu_plan *plan, tly_gpu_artifact *artifact,
                              tally_error *error);
void tly_release_gpu(tly_gpu_artifact *artifact);
tally_status tly_show_gpu(const tly_problem *problem, const tly_caps *caps,
                          const tly_gpu_plan *plan, tally_stage stage, tally_write write,
                          void *user, tally_error *error);

/* A kernel as SPIR-V words, from malloc; `lines`: with those of its text as OpLine. And words as
 * bytes. */
tally_status tly_gpu_lower(const kir_kernel *kernel, const tly_caps *caps, int lines,
                           uint32_t **words, size_t *count, tally_error *error);
tally_status tly_gpu_write_words(const uint32_t *words, size_t count, tally_write write,
                                 void *user);

#endif
