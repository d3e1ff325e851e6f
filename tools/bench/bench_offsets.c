/* SPDX-License-Identifier: Apache-2.0 */
/* Offsets of segments for benchmarks; see bench_target.h. */
#include "bench_target.h"

#include <math.h>

static uint64_t scrambled(uint64_t index)
{
    uint64_t x = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* The length of segment i beside others, exponentially distributed: so are the gaps between borders
 * that may lie anywhere. */
static double gap(int64_t i)
{
    return -log(((double)(scrambled((uint64_t)i) >> 11) + 1) * 0x1p-53);
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
