/* SPDX-License-Identifier: Apache-2.0 */
/* Data and the loop that judges; see gpu_judge.h. */
#include "gpu_judge.h"

#include <math.h>
#include <string.h>

static uint64_t scramble(uint64_t index)
{
    uint64_t x = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static float real_at(tly_whole_data kind, int64_t i)
{
    const float u = (float)(scramble((uint64_t)i) >> 40) * 0x1p-24f;
    switch (kind) {
    case TLY_WHOLE_NEAR1:
        return 1 + (u - .5f) * 0x1p-10f;
    case TLY_WHOLE_DECAY:
        return 1 - .05f * u;
    case TLY_WHOLE_GROW:
        return 1 + .05f * u;
    default:
        return u - .5f;
    }
}

/* Odd, so that products do not come to nothing. */
static uint64_t integer_at(int64_t i)
{
    return scramble((uint64_t)i) | 1;
}

void tly_whole_fill(const tly_whole *w, int64_t from, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const uint64_t x = integer_at(from + k);
        const float f = real_at(w->data, from + k);
        const void *value = w->d.dtype == TALLY_F32 ? (const void *)&f : (const void *)&x;
        memcpy(w->piece + (size_t)k * w->element, value, w->element);
    }
}

/* ---- judging ---- */

static int multiplies(const tly_whole *w)
{
    return w->d.op == TALLY_CUMPROD;
}

/* The loop's next value in its lane, against what the kernel gave; `at` counts along the axis. */
static int is_right_integer(const tly_whole *w, uint64_t *sum, uint64_t x, const char *got)
{
    uint64_t value = 0;
    *sum = multiplies(w) ? *sum * x : *sum + x;
    memcpy(&value, got, w->element);
    return value == (w->element == 4 ? (uint32_t)*sum : *sum);
}

static int is_right_real(const tly_whole *w, double *sum, double *largest, int64_t at, float x,
                         const char *got)
{
    float value;
    memcpy(&value, got, sizeof value);
    *sum = multiplies(w) ? *sum * x : *sum + x;
    *largest = fmax(*largest, fabs(*sum));
    const double loss = (double)(at + 16) * 0x1p-24;
    if (multiplies(w) && fabs(*sum) < 0x1p-120) {
        return fabsf(value) < 0x1p-119f;
    }
    if (multiplies(w) && fabs(*sum) > 0x1p127) {
        return isinf(value) || fabsf(value) > 0x1p126f;
    }
    return fabs(value - *sum) <= loss * (multiplies(w) ? fabs(*sum) : 1 + *largest);
}

int64_t tly_whole_judge(const tly_whole *w, int64_t from, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t i = from + k, at = i / w->lanes % w->length;
        const size_t lane = (size_t)(i % w->lanes);
        const char *got = w->piece + (size_t)k * w->element;
        if (at == 0) {
            w->integer[lane] = (uint64_t)multiplies(w);
            w->real[lane] = multiplies(w);
            w->largest[lane] = 0;
        }
        const int right = w->d.dtype == TALLY_F32
                              ? is_right_real(w, &w->real[lane], &w->largest[lane], at,
                                              real_at(w->data, i), got)
                              : is_right_integer(w, &w->integer[lane], integer_at(i), got);
        if (!right) {
            return k;
        }
    }
    return -1;
}

int tly_whole_judge_sum(const tly_whole *w)
{
    uint64_t sum = 0;
    double real = 0, largest = 0;
    int right = 0;
    for (int64_t i = 0; i < w->count; i++) {
        right = w->d.dtype == TALLY_F32
                    ? is_right_real(w, &real, &largest, i, real_at(w->data, i), w->piece)
                    : is_right_integer(w, &sum, integer_at(i), w->piece);
    }
    return right;
}
