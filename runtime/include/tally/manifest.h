/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests: a kernel for a Vulkan device as plain data, for an engine that has its own device,
 * memory and command buffers. Everything that one run needs is there: SPIR-V modules, bindings,
 * push constants, what must be zero, and the list of dispatches with the barriers between them. No
 * Vulkan type, and no Vulkan at all: the device is one that is here or one of a profile.
 *
 * `tally compile WORD -o FILE.json` and `-o FILE.h` write the same (docs/vulkan.md says how to run
 * it); a C header that it makes has the types below, too.
 */
#ifndef TALLY_MANIFEST_H
#define TALLY_MANIFEST_H

#include <tally/kernel.h>

#ifndef TALLY_MANIFEST_TYPES
#define TALLY_MANIFEST_TYPES

/* A SPIR-V module, and the pipeline that is made of it. */
typedef struct tally_manifest_module {
    const char *entry;
    uint32_t workgroup;       /* invocations, as the module says itself */
    uint32_t workgroup_bytes; /* workgroup memory that the module takes, in bytes */
    uint32_t subgroup;        /* requiredSubgroupSize of the pipeline's stage; 0: none */
    uint32_t word_count;
    const uint32_t *words;
} tally_manifest_module;

/* A storage buffer, bound from a multiple of 16 bytes and of the device's alignment on. */
typedef struct tally_manifest_buffer {
    const char *name; /* in, out, scratch, parameters */
    uint32_t set, binding;
    uint64_t bytes;      /* at least; "in" and "out" begin with the element of index 0 */
    uint32_t data_bytes; /* of parameters: what the buffer begins with, else 0 */
    const unsigned char *data;
} tally_manifest_buffer;

/* Bytes that must be zero before the first dispatch of each run. */
typedef struct tally_manifest_zero {
    uint32_t buffer; /* in buffers */
    uint64_t offset, bytes;
} tally_manifest_zero;

typedef struct tally_manifest_dispatch {
    uint32_t module; /* in modules */
    uint32_t groups[3];
    uint32_t barrier;  /* 1: a memory barrier before it, from shader writes to reads and writes */
    uint32_t push[32]; /* push constants, from offset 0 */
} tally_manifest_dispatch;

typedef struct tally_manifest {
    const char *word;   /* canonical */
    const char *target; /* the device's name */
    const char *spirv;  /* version */
    /* Features that the device must have enabled, and properties that must be VK_TRUE, by the names
     * that Vulkan's structs have for them. */
    uint32_t feature_count, property_count;
    const char *const *features, *const *properties;
    uint32_t subgroup_size;       /* subgroupSize that the device must have; 0: any */
    uint32_t subgroup_operations; /* bits that supportedOperations must have */
    uint32_t module_count, buffer_count, zero_count, dispatch_count;
    const tally_manifest_module *modules;
    const tally_manifest_buffer *buffers;
    const tally_manifest_zero *zeros;
    const tally_manifest_dispatch *dispatches;
} tally_manifest;

#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes the manifest of the kernel for a descriptor. Of `options`, `device` names a Vulkan device
 * or `profile` describes one. Tensors go by storage buffers, whatever else the device has; there is
 * no module and no dispatch where there is no element. TALLY_INVALID for open sizes, for indices
 * below 0, and for a device that is a CPU; TALLY_UNSUPPORTED, beside what tally_kernel_create says,
 * for a tensor that is no storage buffer's size and where scratch would have to be zeroed again
 * between dispatches. Keeps nothing in the context's caches. Thread-safe.
 */
TALLY_API tally_status tally_manifest_create(tally_context *context,
                                             const tally_descriptor *descriptor,
                                             const tally_kernel_options *options,
                                             tally_manifest **manifest, tally_error *error);

/** Frees the manifest and sets *manifest to NULL; NULL is valid. The context may be gone. */
TALLY_API void tally_manifest_destroy(tally_manifest **manifest);

#ifdef __cplusplus
}
#endif
#endif
