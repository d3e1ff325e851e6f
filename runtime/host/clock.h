/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_CLOCK_H
#define TLY_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some moment. */
static inline uint64_t tly_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
