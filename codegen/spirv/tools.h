/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door between libtally-codegen and libtally-spirv, which holds SPIRV-Tools: opened only when a
 * module is validated or disassembled, so that a process that makes CPU kernels never pays for it.
 */
#ifndef TLY_SPIRV_TOOLS_H
#define TLY_SPIRV_TOOLS_H

#include "../../runtime/problem/generator.h"

typedef struct tly_spirv_tools {
    uint32_t version; /* TLY_GENERATOR_VERSION */
    /* tly_spirv_validate and tly_spirv_show of spirv.h. Thread-safe. */
    tally_status (*validate)(const uint32_t *words, size_t count, uint32_t addresses,
                             const char *name, tally_error *error);
    tally_status (*show)(const uint32_t *words, size_t count, uint32_t addresses, tally_write write,
                         void *user, tally_error *error);
} tly_spirv_tools;

typedef const tly_spirv_tools *(*tly_spirv_tools_get)(void);
#define TLY_SPIRV_TOOLS_SYMBOL "tally_spirv_tools"

#endif
