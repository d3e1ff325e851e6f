/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problems for targets whose input is only a plan or a record: the input's first byte chooses a
 * problem. The device has all features, so that every template can be planned.
 */
#ifndef FUZZ_CASES_H
#define FUZZ_CASES_H

#include "fuzz.h"

#include <tally.h>

#include "../../runtime/descriptor/descriptor.h"
#include "../../runtime/problem/canonicalise.h"
#include "../../runtime/problem/specialise.h"
#include "../caps.h"

static const char *const fuzz_words[] = {
    "cumsum:f32:20x3000:axis=1",       "cumprod:f64:7x40x5:axis=1,reverse",
    "cumsum:i32:300x1000:axis=0",      "cummax:f16:9x7:axis=1,exclusive",
    "cumsum:f32:40x50:axis=0,in=1x40", "cumlogsumexp:f32:3x2x2x3x400:axis=4",
    "sum:f32:40x5000:axes=1",          "argmax:i16>i64:16x32x8:axes=0+2,last",
    "mean:f32:500x30:axes=0",          "cumsum:f32:100000:axis=0",
};

enum { FUZZ_CASES = sizeof fuzz_words / sizeof *fuzz_words };

typedef struct fuzz_case {
    tly_problem problem;
    tly_geometry geometry;
} fuzz_case;

/* `on_device`: as Vulkan's plans take it. */
static inline void fuzz_case_make(size_t number, int on_device, fuzz_case *c)
{
    tally_descriptor d, full;
    memset(c, 0, sizeof *c);
    HOLDS(tally_descriptor_parse(fuzz_words[number % FUZZ_CASES], &d, NULL) == TALLY_OK);
    HOLDS(tly_descriptor_resolve(&d, &full, NULL) == TALLY_OK);
    tly_canonicalise_resolved(&full, on_device, &c->problem, &c->geometry);
    if (on_device) {
        tly_specialise_for_device(&c->problem);
    }
}

static const tly_caps fuzz_caps = {
    TLY_ALL_SUBGROUPS,      TLY_ALL_FEATURES,  .vendor = 0x10de,      .invocations = 1024,
    .groups_x = 0x7fffffff, .groups_y = 65535, .shared_bytes = 49152, .buffer_range = 0xffffffff,
    .offset_align = 16,     .progress = 1,     .saturation = 270336,
};

#endif
