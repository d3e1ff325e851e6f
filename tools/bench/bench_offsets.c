/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of segments for benchmarks; see bench_target.h. */
#include "bench_target.h"

#include <math.h>

/* The length of segment i beside others, exponentially distributed: so are the gaps between borders
 * that may lie anywhere. */
static double gap(int64_t i)
{
    return -log(((double)(tly_scramble((uint64_t)i) >> 11) + 1) * 0x1p-53);
}

void tly_bench_offsets(const tally_descriptor *d, int64_t size, void *offsets)
{
    double all = 0, before = 0;
    for (int64_t i = 0; i < d->segments; i++) {
        all += gap(i);
    }
    for (int64_t i = 0; i <= d->segments; i++) {
        const int64_t at = i == d->segments ? size : (int64_t)(before / all * (double)size);
        if (d->segment_dtype == TALLY_I64) {
            ((int64_t *)offsets)[i] = at;
        } else {
            ((int32_t *)offsets)[i] = (int32_t)at;
        }
        before += gap(i);
    }
}
