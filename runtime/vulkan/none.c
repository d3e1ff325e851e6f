/* SPDX-License-Identifier: Apache-2.0 */
/* A library that was built without Vulkan: no devices, and a clear error for each that is named. */
#include "../context/backend.h"

#include "../host/error.h"

static tally_status refuse(const char *device, tally_error *error)
{
    return tly_fail(error, TALLY_UNSUPPORTED, "device",
                    "there is no %s: this libtally was built without Vulkan", device);
}

tally_status tly_vulkan_list(tally_device *devices, size_t capacity, size_t *count,
                             tally_error *error)
{
    (void)devices;
    (void)capacity;
    (void)error;
    *count = 0;
    return TALLY_OK;
}

tally_status tly_vulkan_find(tally_context *context, const char *device, tally_vulkan **vulkan,
                             tally_error *error)
{
    (void)context;
    *vulkan = NULL;
    return tly_vulkan_selector(device)
               ? refuse(device, error)
               : tly_fail(error, TALLY_INVALID, "device", "there is no device %s", device);
}

void tly_vulkan_forget(tally_context *context)
{
    (void)context;
}

const tly_caps *tly_vulkan_caps(const tally_vulkan *vulkan)
{
    (void)vulkan;
    return NULL;
}

const char *tly_vulkan_name(const tally_vulkan *vulkan)
{
    (void)vulkan;
    return "";
}

/* No device, so no kernel: the rest is never reached. */
tally_status tly_vulkan_keep(tally_vulkan *vulkan, const tly_request *request, tally_error *error)
{
    (void)vulkan;
    (void)request;
    return refuse("device", error);
}

tally_status tly_vulkan_store(tally_context *context, const tly_request *request,
                              tally_error *error)
{
    (void)context;
    (void)request;
    return refuse("device", error);
}

tally_status tly_vulkan_store_supports(tally_context *context, const tly_request *request,
                                       tally_error *error)
{
    (void)context;
    (void)request;
    return refuse("device", error);
}

tally_status tly_vulkan_kernel_make(tally_vulkan *vulkan, const tly_request *request,
                                    tally_vulkan_kernel **kernel, tally_error *error)
{
    (void)vulkan;
    (void)request;
    (void)kernel;
    return refuse("device", error);
}

tally_status tly_vulkan_supports(tally_vulkan *vulkan, const tly_request *request,
                                 tally_error *error)
{
    (void)vulkan;
    (void)request;
    return refuse("device", error);
}

void tly_vulkan_kernel_drop(tally_vulkan_kernel *kernel)
{
    (void)kernel;
}

tally_status tly_vulkan_kernel_run(const tally_vulkan_kernel *kernel, const tly_pointers *pointers,
                                   tally_error *error)
{
    (void)kernel;
    (void)pointers;
    return refuse("device", error);
}
