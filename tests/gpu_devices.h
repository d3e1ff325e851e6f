/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of four sorts, and the plans that they get, for tests of plans and templates. */
#ifndef TLY_TEST_GPU_DEVICES_H
#define TLY_TEST_GPU_DEVICES_H

#include <criterion/criterion.h>

#include "../codegen/plan/gpu.h"
#include "../runtime/problem/canonicalise.h"
#include "caps.h"

enum { DEVICES = 4 };

/* Devices of four sorts, from a large GPU to one without 64 bits and one without subgroups. */
static const tly_caps devices[DEVICES] = {
    { .vendor = 0x10de,
      .subgroup = 32,
      .subgroup_ops = 0xff,
      TLY_ALL_FEATURES,
      .invocations = 1024,
      .groups_x = 0x7fffffff,
      .groups_y = 65535,
      .shared_bytes = 49152,
      .buffer_range = 0xffffffff,
      .offset_align = 16,
      .progress = 1,
      .saturation = 270336 },
    { .vendor = 0x10005,
      .subgroup = 8,
      .subgroup_ops = 0xff,
      .int64 = 1,
      .float64 = 1,
      .storage16 = 1,
      .storage8 = 1,
      .addresses = 1,
      .preserve32 = 1,
      .rte32 = 1,
      .preserve64 = 1,
      .rte64 = 1,
      .invocations = 1024,
      .groups_x = 65535,
      .groups_y = 65535,
      .shared_bytes = 32768,
      .buffer_range = 134217728,
      .offset_align = 16,
      .trip_limit = 65000,
      .saturation = 64 },
    { .vendor = 0x1ae0,
      .subgroup = 4,
      .subgroup_ops = 0xff,
      .invocations = 256,
      .groups_x = 65535,
      .groups_y = 65535,
      .shared_bytes = 16384,
      .buffer_range = 0x40000000,
      .offset_align = 256,
      .progress = 1,
      .saturation = 64 },
    { .vendor = 0x8086,
      .subgroup_ops = 1,
      .storage16 = 1,
      .storage8 = 1,
      .addresses = 1,
      .preserve32 = 1,
      .invocations = 256,
      .groups_x = 65535,
      .groups_y = 65535,
      .shared_bytes = 32768,
      .buffer_range = 0x7fffffff,
      .offset_align = 64,
      .saturation = 16384 },
};

static inline tally_status plan_for(const char *word, const tly_caps *caps, const char *overrides,
                                    tly_gpu_plan *plan, tally_error *error)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tly_problem p;
    tly_geometry g;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    tly_canonicalise(&d, 1, &p, &g);
    return tly_gpu_plan_make(&p, &g, caps, overrides, plan, error);
}

static inline tally_status plan_of(const char *word, int device, const char *overrides,
                                   tly_gpu_plan *plan, tally_error *error)
{
    return plan_for(word, &devices[device], overrides, plan, error);
}

#endif
