/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The door between the rest of the runtime and its Vulkan part, without a Vulkan type. A library
 * built without Vulkan has none.c behind it, where every device is TALLY_UNSUPPORTED.
 */
#ifndef TLY_BACKEND_H
#define TLY_BACKEND_H

#include "internal.h"

/* Fills up to `capacity` devices and sets *count to how many there are; 0 without libvulkan or a
 * driver. Other failures, such as TALLY_OUT_OF_MEMORY, are reported. */
tally_status tly_vulkan_list(tally_device *devices, size_t capacity, size_t *count,
                             tally_error *error);

/* The context's device for a selector or a part of a name, opened at the first call; it lives as
 * long as the context. TALLY_UNSUPPORTED for a selector that nothing answers to, TALLY_INVALID for
 * a name. Within the fork gate. */
tally_status tly_vulkan_find(tally_context *context, const char *device, tally_vulkan **vulkan,
                             tally_error *error);

/* Ends what tly_vulkan_find opened. */
void tly_vulkan_forget(tally_context *context);

const tly_caps *tly_vulkan_caps(const tally_vulkan *vulkan);
const char *tly_vulkan_name(const tally_vulkan *vulkan); /* as its driver says */

/* A kernel for a request that is not empty; its creation is told. Within the fork gate. */
tally_status tly_vulkan_kernel_make(tally_vulkan *vulkan, const tly_request *request,
                                    tally_vulkan_kernel **kernel, tally_error *error);
void tly_vulkan_kernel_drop(tally_vulkan_kernel *kernel);

/* Whether tly_vulkan_kernel_make would find or make a kernel, as far as is known without one.
 * Within the fork gate. */
tally_status tly_vulkan_supports(tally_vulkan *vulkan, const tly_request *request,
                                 tally_error *error);

/* Stores the request's plan as the one without overrides. Within the fork gate. */
tally_status tly_vulkan_keep(tally_vulkan *vulkan, const tly_request *request, tally_error *error);

/* Has the kernel for a request whose caps are a profile's made, unless the context's store has it,
 * and stores it. Within the fork gate. */
tally_status tly_vulkan_store(tally_context *context, const tly_request *request,
                              tally_error *error);

/* Whether tly_vulkan_store would find or make one. Within the fork gate. */
tally_status tly_vulkan_store_supports(tally_context *context, const tly_request *request,
                                       tally_error *error);

/* Runs on host memory that the caller has checked. Re-entrant. */
tally_status tly_vulkan_kernel_run(const tally_vulkan_kernel *kernel, const tly_pointers *pointers,
                                   tally_error *error);

#endif
