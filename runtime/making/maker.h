/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libtally and its helper program tally-maker say to each other, over one socket: a request
 * and the strings behind it go there, a reply and its bytes come back. Both are of one build;
 * `shape` tells another's.
 */
#ifndef TLY_MAKER_H
#define TLY_MAKER_H

#include "../problem/generator.h"

#define TLY_MAKER_NAME "tally-maker" /* beside libtally-codegen */

typedef enum tly_made {
    TLY_MAKE_CPU,
    TLY_MAKE_GPU,
    TLY_MAKE_SHOW_CPU,
    TLY_MAKE_SHOW_GPU,
    TLY_MAKE_CPU_QUICK,
    TLY_MAKE_COUNT
} tly_made;

typedef struct tly_make_request {
    uint64_t shape;           /* TLY_MAKER_SHAPE */
    uint32_t what;            /* tly_made */
    uint32_t stage;           /* tally_stage, to be shown */
    uint32_t limit_ms;        /* the helper ends itself when it has worked for so long */
    uint32_t generator_bytes; /* of libtally-codegen's path, which follows, with its zero */
    uint32_t plan_bytes;      /* of the overrides, which follow, with their zero */
    char level[16];           /* CPU */
    tly_problem problem;
    tly_caps caps; /* Vulkan, with the next */
    tly_gpu_plan plan;
} tly_make_request;

typedef struct tly_make_reply {
    uint64_t shape;
    int32_t status;
    uint32_t reserved;
    tally_error error;
    tly_launch launch;              /* CPU */
    tly_gpu_launch gpu;             /* Vulkan */
    uint64_t bytes[TLY_GPU_PASSES]; /* that follow: the code, or each pass's words, or the text */
} tly_make_reply;

#define TLY_MAKER_SHAPE \
    ((uint64_t)TLY_ABI_VERSION << 56 | (uint64_t)TLY_GPU_ABI_VERSION << 48 | \
     (uint64_t)TLY_GENERATOR_VERSION << 32 | sizeof(tly_make_request) << 16 | \
     sizeof(tly_make_reply))

#endif
