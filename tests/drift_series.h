/* SPDX-License-Identifier: Apache-2.0 */
/* Factors next to 1 whose product shows rounding errors that all go one way. */
#ifndef TLY_DRIFT_SERIES_H
#define TLY_DRIFT_SERIES_H

#include <math.h>
#include <stdint.h>

#include "splitmix.h"

typedef struct tly_series {
    const char *name;
    int64_t count;
    double apart, deviation; /* elements: 1 + apart + deviation * N(0, 1) */
} tly_series;

enum { TLY_ALL_SERIES = 2 };
static const tly_series tly_all_series[TLY_ALL_SERIES] = {
    { "equal", 100000, -1e-4, 0 },
    { "normal", 1000000, 0, 1e-4 },
};

static inline double tly_series_unit(uint64_t *state)
{
    return ((double)(tly_splitmix(state) >> 11) + 0.5) * 0x1p-53;
}

/* The next element; the state begins with 1. */
static inline double tly_series_next(const tly_series *s, uint64_t *state)
{
    double normal = 0;
    if (s->deviation > 0) {
        double radius = sqrt(-2 * log(tly_series_unit(state)));
        normal = radius * cos(6.283185307179586 * tly_series_unit(state));
    }
    return 1 + s->apart + s->deviation * normal;
}

static inline double tly_series_error(long double right, double y)
{
    return (double)fabsl(((long double)y - right) / right);
}

#endif
