/* SPDX-License-Identifier: Apache-2.0 */
/* Devices of the caller's: taken over without owning them, with what the caller enabled. */
#include "internal.h"

#include "../host/error.h"
#include "../host/fork.h"

static tally_status take_host(const tally_vulkan_host *host, tally_vulkan_host *known,
                              tally_error *error)
{
    tally_status status = tly_struct_take(known, sizeof *known, host, "tally_vulkan_host", error);
    if (status != TALLY_OK) {
        return status;
    }
    if (known->reserved != 0) {
        return tly_fail(error, TALLY_INVALID, "usage", "reserved is %u, not 0", known->reserved);
    }
    if (known->instance == NULL || known->physical == NULL || known->device == NULL ||
        (known->extensions == NULL && known->extension_count > 0)) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "instance, physical, device or extensions is NULL");
    }
    if (known->api_version < VK_API_VERSION_1_1) {
        return tly_fail(error, TALLY_UNSUPPORTED, "device",
                        "the instance was made for Vulkan %u.%u, and 1.1 is needed",
                        VK_API_VERSION_MAJOR(known->api_version),
                        VK_API_VERSION_MINOR(known->api_version));
    }
    return known->get != NULL ? TALLY_OK : tly_vk_load(&known->get, error);
}

static tally_status adopt(tally_context *context, const tally_vulkan_host *h, tally_vulkan **vulkan,
                          tally_error *error)
{
    tally_vulkan *v = tly_vk_allocate(context, error);
    if (v == NULL) {
        return TALLY_OUT_OF_MEMORY;
    }
    tly_vk_enabled enabled = { h->features, h->extensions, h->extension_count };
    v->instance = h->instance;
    v->physical = h->physical;
    v->queue = h->queue;
    v->family = h->queue_family;
    v->lock_queue = h->lock_queue;
    v->lock_user = h->lock_user;
    v->pipelines = h->pipeline_cache;
    v->debug_utils = h->debug_utils != 0;
    if (h->allocator != NULL) {
        v->callbacks = *h->allocator;
        v->allocator = &v->callbacks;
    }
    tally_status status = tly_vk_instance_load(h->get, h->instance, &v->instance_fn, error);
    if (status == TALLY_OK) {
        VkResult result = tly_vk_facts_read(&v->instance_fn, h->physical, h->api_version, &enabled,
                                            &v->facts);
        if (result != VK_SUCCESS) {
            status = tly_vk_report(v->facts.name, result, "a list of extensions", error);
        } else if (v->facts.api < VK_API_VERSION_1_1) {
            status = tly_fail(error, TALLY_UNSUPPORTED, "device", "%s is below Vulkan 1.1",
                              v->facts.name);
        } else {
            status = tly_vk_facts_check(&v->facts, error);
        }
    }
    if (status == TALLY_OK) {
        v->device = h->device;
        status = tly_vk_complete(v, error);
    }
    if (status != TALLY_OK) {
        tly_vk_close(v);
        return status;
    }
    *vulkan = v;
    return TALLY_OK;
}

tally_status tally_vulkan_adopt(tally_context *context, const tally_vulkan_host *host,
                                tally_vulkan **vulkan, tally_error *error)
{
    if (context == NULL || host == NULL || vulkan == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the context, host or place is NULL");
    }
    tally_vulkan_host known;
    tally_status status = take_host(host, &known, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    status = adopt(context, &known, vulkan, error);
    tly_fork_leave();
    return status;
}
