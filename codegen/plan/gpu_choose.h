/* What gpu.c and gpu_choose.c share. */
#ifndef TLY_PLAN_GPU_CHOOSE_H
#define TLY_PLAN_GPU_CHOOSE_H

#include "gpu.h"
#include "keys.h"

/* Template, scan, widths and chunk, but for what is forced; addresses and outer dims are another
 * matter. What is forced is in its key's range, but may not suit the rest. */
void tly_gpu_choose(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                    const tly_forced *forced, tly_gpu_plan *plan);

#endif
