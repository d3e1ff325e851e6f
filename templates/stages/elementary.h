/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions as kernel IR, of f32 and f64 (f16 and bf16 go by f32), of any lanes. They
 * are made of what rounds alike everywhere (additions, multiplications, comparisons, integers;
 * nothing is fused), so their bits are the same on every CPU level and on every device that rounds
 * to nearest even and keeps subnormals. docs/elementary.md has the errors, in
 * units in the last place of the right result.
 */
#ifndef TLY_ELEMENTARY_H
#define TLY_ELEMENTARY_H

#include "../emit.h"

/* e^x, within 1 (f32) and 2 (f64) units: 0 of -inf, inf where it is beyond the range, NaN of NaN;
 * subnormal results are rounded as the others. */
kir_value tly_exp(const tly_build *c, kir_value x);

/* For sums of such that have a 1 in them: of x that is not above 1, or NaN, within 1.25 |x| + 2
 * units; where that is no normal number, -inf too, it is the least that is, or up to twice as
 * much. */
kir_value tly_exp_below(const tly_build *c, kir_value x);
/* The same of n in place, step by step, so that those of one need not wait for each other. */
void tly_exps_below(const tly_build *c, kir_value *x, unsigned n);

/* The natural logarithm, within 1 (f32) and 2 (f64) units: -inf of both zeros, NaN of what is
 * below, inf of inf; of subnormals as of others. */
kir_value tly_log(const tly_build *c, kir_value x);
/* The same of x times 2^more, which need be no number; `more`: whole numbers up to 2000 in
 * magnitude, as floats of x's type. */
kir_value tly_log_of_product(const tly_build *c, kir_value x, kir_value more);

/* x / y and the square root, rounded to nearest even: instructions of CPUs; with a workgroup by
 * digits, in integers (digits.c), which rounds once on every device, too. */
kir_value tly_quotient(const tly_build *c, kir_value x, kir_value y);
kir_value tly_root(const tly_build *c, kir_value x);
kir_value tly_quotient_by_digits(const tly_build *c, kir_value x, kir_value y);
kir_value tly_root_by_digits(const tly_build *c, kir_value x);
/* x / y of unsigned integers, the remainder left off; y is above 0 and has no upper bit. Unless 0,
 * `high` are the digits of x above those of its type, a number below y, so that the quotient fits.
 */
kir_value tly_whole_by_digits(const tly_build *c, kir_value high, kir_value x, kir_value y);

#endif
