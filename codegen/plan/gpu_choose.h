/* What gpu.c and gpu_choose.c share. */
#ifndef TLY_PLAN_GPU_CHOOSE_H
#define TLY_PLAN_GPU_CHOOSE_H

#include "gpu.h"

static inline int32_t tly_gpu_bytes_of(uint8_t dtype)
{
    return (int32_t)tally_dtype_bytes((tally_dtype)dtype);
}

/* Template, scan, widths and chunk; addresses and outer dims are another matter. */
void tly_gpu_choose(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                    tly_gpu_plan *plan);

/* How many neighbouring lanes an invocation can take by accesses of 16 bytes: `most` (a power of
 * two) or fewer. */
int32_t tly_gpu_lanes_together(const tly_problem *p, const tly_geometry *g, int32_t most);

#endif
