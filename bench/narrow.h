/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow floats as the loops of C programmers have them. */
#ifndef BENCH_NARROW_H
#define BENCH_NARROW_H

#include <stdint.h>
#include <string.h>

__extension__ typedef _Float16 half; /* ISO C11 has no such type; gcc has */

/* bf16 is the upper half of an f32, rounded to nearest even; NaNs do not occur in the benchmark. */
static inline float from_bf16(uint16_t x)
{
    uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static inline uint16_t to_bf16(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof(bits));
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

#endif
