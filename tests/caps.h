/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a device that has all that kernels may ask for, whatever its size: fields of a
 * tly_caps. */
#ifndef TLY_TEST_CAPS_H
#define TLY_TEST_CAPS_H

#include "../runtime/problem/gpu.h"

#define TLY_ALL_BUT_INT64 \
    .float64 = 1, .storage16 = 1, .storage8 = 1, .addresses = 1, .preserve32 = 1, .rte32 = 1, \
    .denorm32 = 1, .preserve64 = 1, .rte64 = 1, .denorm64 = 1, .half_exact = 1
#define TLY_ALL_FEATURES .int64 = 1, TLY_ALL_BUT_INT64

/* Its subgroups, as SPIR-V is made for them. */
#define TLY_ALL_SUBGROUPS \
    .subgroup = 32, .subgroup_ops = TLY_SUBGROUP_BASIC | TLY_SUBGROUP_ARITHMETIC | \
                                    TLY_SUBGROUP_BALLOT | TLY_SUBGROUP_SHUFFLE

#endif
