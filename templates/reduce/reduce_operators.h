/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reductions do to elements and states, as kernel IR. The rows of the table of operators'
 * functions (codegen/operator_code.c) point here.
 */
#ifndef TLY_REDUCE_OPERATORS_H
#define TLY_REDUCE_OPERATORS_H

#include "../template.h"

/* Elements to states. */
kir_value tly_lift_exp(tly_build *c, kir_value x, const tly_place *at); /* e^x as (x, 1) */
kir_value tly_lift_indexed(tly_build *c, kir_value x, const tly_place *at);
kir_value tly_lift_running(tly_build *c, kir_value x, const tly_place *at); /* of scans */

/* Sums of e^x as (largest x, sum of e^(x - largest)): no sum overflows. */
kir_value tly_combine_exp(tly_build *c, kir_value x, kir_value y);
kir_value tly_take_exp(tly_build *c, kir_value state, const kir_value *x, unsigned n);
/* Sums of 64-bit integers as (sum modulo 2^64, sum of the elements' upper 32 bits), which are exact
 * for up to 2^32 elements. */
kir_value tly_lift_wide(tly_build *c, kir_value x, const tly_place *at);
kir_value tly_combine_wide(tly_build *c, kir_value x, kir_value y);
/* The (element, index) whose element is larger, or smaller; of equals the first or the last. */
kir_value tly_combine_largest(tly_build *c, kir_value x, kir_value y);
kir_value tly_combine_smallest(tly_build *c, kir_value x, kir_value y);

/* The same of an element that comes after all of a state. */
kir_value tly_advance_index(tly_build *c, kir_value state, kir_value element);

/* States to results. */
kir_value tly_project_exp(tly_build *c, kir_value state,
                          const tly_place *at); /* the logarithm of the sum */
kir_value tly_project_index(tly_build *c, kir_value state, const tly_place *at);
kir_value tly_project_running(tly_build *c, kir_value state, const tly_place *at);

#endif
