/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic on sizes, strides and addresses that cannot overflow. Every element of a tensor that
 * passed tally_descriptor_check has an address that fits int64; what lies one step beyond the last
 * one, or a caller's offset added to it, need not.
 */
#ifndef TLY_CHECKED_H
#define TLY_CHECKED_H

#include <stdint.h>

/* The nearest number that there is: a limit that is compared stays a limit. */
static inline int64_t tly_multiply(int64_t a, int64_t b)
{
    int64_t product;
    return !__builtin_mul_overflow(a, b, &product) ? product
           : (a < 0) != (b < 0)                    ? INT64_MIN
                                                   : INT64_MAX;
}

static inline int64_t tly_add(int64_t a, int64_t b)
{
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t tly_subtract(int64_t a, int64_t b)
{
    int64_t difference;
    return !__builtin_sub_overflow(a, b, &difference) ? difference : a < b ? INT64_MIN : INT64_MAX;
}

static inline int64_t tly_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tly_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How many parts of `b`, which is above 0, hold `a`, which is not below. */
static inline int64_t tly_ceil_div(int64_t a, int64_t b)
{
    return a / b + (a % b != 0);
}

/* Modulo 2^64: for steps that are never taken, and for addresses relative to a base that come out
 * right when the base is added. */
static inline int64_t tly_wrap_multiply(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline int64_t tly_wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t tly_wrap_subtract(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

#endif
