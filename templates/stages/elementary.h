/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions as kernel IR, for f32 and f64 of any number of lanes; f16 and bf16 go by
 * f32. They are made of operations that round alike everywhere: additions, multiplications,
 * comparisons and integers, never fused. So their bits are the same on every CPU level, and on
 * every device that rounds to nearest even and keeps subnormals. Errors are in units in the last
 * place of the right result (docs/elementary.md).
 */
#ifndef TLY_ELEMENTARY_H
#define TLY_ELEMENTARY_H

#include "../emit.h"

/* e^x, within 1 (f32) and 2 (f64) units, subnormal results too. 0 of -inf, inf on overflow, NaN of
 * NaN. */
kir_value tly_exp(const tly_build *c, kir_value x);

/* The same for terms of sums that contain a 1: x is at most 1, or NaN. Within 1.25 |x| + 2 units.
 * If e^x is below the least normal number, of -inf too, the result is that number or up to twice as
 * much. */
kir_value tly_exp_below(const tly_build *c, kir_value x);
/* The same of n values in place. Their steps alternate, so that n chains run side by side. */
void tly_exps_below(const tly_build *c, kir_value *x, unsigned n);

/* The natural logarithm, within 1 (f32) and 2 (f64) units, of subnormals too. -inf of both zeros,
 * NaN of numbers below, inf of inf. */
kir_value tly_log(const tly_build *c, kir_value x);
/* The logarithm of x times 2^more, a product that may overflow. `more`: whole numbers up to 2000 in
 * magnitude, as floats of x's type. */
kir_value tly_log_of_product(const tly_build *c, kir_value x, kir_value more);

/* x / y and the square root, rounded to nearest even. On CPUs they are instructions. With a
 * workgroup they go by digits, in integers (digits.c), so that every device rounds alike. */
kir_value tly_quotient(const tly_build *c, kir_value x, kir_value y);
kir_value tly_root(const tly_build *c, kir_value x);
kir_value tly_quotient_by_digits(const tly_build *c, kir_value x, kir_value y);
kir_value tly_root_by_digits(const tly_build *c, kir_value x);
/* x / y of unsigned integers, rounded down. y is above 0, and its upper bit is 0. `high`: 0, or the
 * digits of x above those of its type, as a number below y, so that the quotient fits. */
kir_value tly_udiv_by_digits(const tly_build *c, kir_value high, kir_value x, kir_value y);

#endif
