/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a verified kernel with a workgroup to a SPIR-V module, and what one does with modules:
 * validate, disassemble. A module has one entry point "main" and reads tly_push
 * (runtime/problem/gpu.h).
 *
 * Nothing leaves tly_spirv_lower that the validator refuses, or that declares a capability the
 * device lacks. Equal kernels and options give equal words.
 */
#ifndef TLY_SPIRV_H
#define TLY_SPIRV_H

#include "../../runtime/problem/caps.h"
#include "../kir/kir.h"

typedef struct tly_spirv_options {
    const tly_caps *caps; /* what the device has, and its float controls */
    uint32_t addresses;   /* 1: address form (SPIR-V 1.5, PhysicalStorageBuffer64), 0: storage
                              buffers (SPIR-V 1.3) */
    uint32_t lines;       /* 1: OpLine with the line numbers of kir_print's text */
    uint32_t apart;       /* 1: input and output are never the same memory */
} tly_spirv_options;

/* *words is malloc'ed here and freed by the caller; untouched on failure. A kernel that has no
 * lowering, a capability that caps lack, and a module the validator refuses are TALLY_INTERNAL. */
tally_status tly_spirv_lower(const kir_kernel *kernel, const tly_spirv_options *options,
                             uint32_t **words, size_t *count, tally_error *error);

/* The first step of tly_spirv_lower alone: neither capabilities nor the module are looked at. */
tally_status tly_spirv_emit(const kir_kernel *kernel, const tly_spirv_options *options,
                            uint32_t **words, size_t *count, tally_error *error);

/* Opens libtally-spirv, which the next and tly_spirv_show do otherwise at their first call. */
tally_status tly_spirv_open(tally_error *error);

/* By SPIRV-Tools, for Vulkan 1.1 (buffers) or 1.2 (addresses). `name` is for the message. */
tally_status tly_spirv_validate(const uint32_t *words, size_t count, uint32_t addresses,
                                const char *name, tally_error *error);

/* The first capability that the module declares and caps lack, by name; NULL if there is none.
 * Drivers do not check: SwiftShader ends the process. */
const char *tly_spirv_lacks(const uint32_t *words, size_t count, const tly_caps *caps);

/* Disassembly with friendly names. TALLY_IO if `write` fails. */
tally_status tly_spirv_show(const uint32_t *words, size_t count, uint32_t addresses,
                            tally_write write, void *user, tally_error *error);

#endif
