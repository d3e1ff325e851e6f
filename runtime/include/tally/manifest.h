/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests. A manifest describes a kernel for a Vulkan device as plain data. It is for an engine
 * that has its own device, memory and command buffers. It has everything that one run needs: SPIR-V
 * modules, bindings, push constants, the bytes that must be zero, and the dispatches with the
 * barriers between them. It needs no Vulkan types. The device is one of this machine or one that a
 * profile describes.
 *
 * The commands `tally compile WORD -o FILE.json` and `tally compile WORD -o FILE.h` write the same
 * data to files. docs/vulkan.md says how to run it. A C header that `tally compile` writes contains
 * the types below.
 */
#ifndef TALLY_MANIFEST_H
#define TALLY_MANIFEST_H

#include <tally/kernel.h>

#ifndef TALLY_MANIFEST_TYPES
#define TALLY_MANIFEST_TYPES

/* A SPIR-V module, and the pipeline that the engine creates from it. */
typedef struct tally_manifest_module {
    const char *entry;        /* name of the entry point */
    uint32_t workgroup;       /* invocations of a workgroup, as the module declares it */
    uint32_t workgroup_bytes; /* bytes of workgroup memory that the module uses */
    uint32_t subgroup;        /* requiredSubgroupSize of the pipeline's stage; 0: not set */
    uint32_t word_count;      /* SPIR-V words in `words` */
    const uint32_t *words;
} tally_manifest_module;

/* A storage buffer. Its offset must be a multiple of 16 bytes and of the device's alignment. */
typedef struct tally_manifest_buffer {
    const char *name; /* "in", "out", "scratch" or "parameters", "a" to "d" for operands, and
                         "carry_in" and "carry_out" for the states of a carry */
    uint32_t set, binding;
    uint64_t bytes;            /* the least size; tensors begin with the element of index 0 */
    uint32_t data_bytes;       /* bytes in `data`; 0 except for "parameters" */
    const unsigned char *data; /* the bytes that the buffer must begin with */
} tally_manifest_buffer;

/* Bytes that must be zero before the first dispatch of each run. */
typedef struct tally_manifest_zero {
    uint32_t buffer; /* index in `buffers` */
    uint64_t offset, bytes;
} tally_manifest_zero;

/* One dispatch. */
typedef struct tally_manifest_dispatch {
    uint32_t module;    /* index in `modules` */
    uint32_t groups[3]; /* workgroups in x, y and z */
    uint32_t barrier;   /* 1: a memory barrier comes first, from shader writes to shader reads
                           and writes */
    uint32_t push[32];  /* push constants, from offset 0 on */
} tally_manifest_dispatch;

/* A kernel for one descriptor and one device. */
typedef struct tally_manifest {
    const char *word;   /* the canonical word */
    const char *target; /* the name of the device */
    const char *spirv;  /* version of SPIR-V */
    /* Features that must be enabled on the device, and properties that must be VK_TRUE, by their
     * names in Vulkan's structs. */
    uint32_t feature_count, property_count;
    const char *const *features, *const *properties;
    uint32_t subgroup_size;       /* the subgroupSize that the device must have; 0: any */
    uint32_t subgroup_operations; /* bits that must be set in supportedOperations */
    uint32_t module_count, buffer_count, zero_count, dispatch_count;
    const tally_manifest_module *modules;
    const tally_manifest_buffer *buffers;
    const tally_manifest_zero *zeros;
    const tally_manifest_dispatch *dispatches;
    uint32_t storage_buffers; /* the maxPerStageDescriptorStorageBuffers that the device must have;
                                 0: 4 is enough, which every device has */
} tally_manifest;

#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Makes the manifest of the kernel for a descriptor. options->device names a Vulkan device, or
 * options->profile describes one. The caller frees the manifest with tally_manifest_destroy. The
 * call keeps nothing in the context's caches.
 *
 * The kernel accesses tensors through storage buffers, even if the device has other means. If the
 * tensor has no elements, the manifest has no modules and no dispatches.
 *
 * Returns TALLY_INVALID if a size is open, if a tensor has elements below index 0, or if the device
 * is a CPU. Returns TALLY_UNSUPPORTED in the cases of tally_kernel_create, and in two more: if a
 * tensor is too large for a storage buffer, and if scratch must be written between dispatches.
 * Thread-safe.
 */
TALLY_API tally_status tally_manifest_create(tally_context *context,
                                             const tally_descriptor *descriptor,
                                             const tally_kernel_options *options,
                                             tally_manifest **manifest, tally_error *error);

/** Frees the manifest and sets *manifest to NULL. NULL is valid. The context may already be
 *  destroyed. */
TALLY_API void tally_manifest_destroy(tally_manifest **manifest);

#ifdef __cplusplus
}
#endif
#endif
