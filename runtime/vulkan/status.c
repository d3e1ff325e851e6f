/* SPDX-License-Identifier: Apache-2.0 */
/* From what Vulkan answers to our status, and whether a device can still be used. */
#include "internal.h"

#include "../host/error.h"

/* What is not here is a fault of ours, or of the driver's. */
static const struct {
    VkResult result;
    tally_status status;
    const char *what;
} meanings[] = {
    { VK_ERROR_DEVICE_LOST, TALLY_DEVICE_LOST, "is lost" },
    { VK_ERROR_OUT_OF_HOST_MEMORY, TALLY_OUT_OF_MEMORY, "has no memory of the host left" },
    { VK_ERROR_OUT_OF_DEVICE_MEMORY, TALLY_OUT_OF_MEMORY, "has no memory left" },
    { VK_ERROR_TOO_MANY_OBJECTS, TALLY_OUT_OF_MEMORY, "has too many objects" },
    { VK_ERROR_OUT_OF_POOL_MEMORY, TALLY_OUT_OF_MEMORY, "has no memory left in a pool" },
    { VK_ERROR_FRAGMENTED_POOL, TALLY_OUT_OF_MEMORY, "has no memory left in a pool" },
    { VK_ERROR_FRAGMENTATION, TALLY_OUT_OF_MEMORY, "has no memory left in one piece" },
    { VK_ERROR_MEMORY_MAP_FAILED, TALLY_OUT_OF_MEMORY, "has no addresses left" },
    { VK_ERROR_INITIALIZATION_FAILED, TALLY_UNSUPPORTED, "cannot be started" },
    { VK_ERROR_INCOMPATIBLE_DRIVER, TALLY_UNSUPPORTED, "has no driver that fits" },
    { VK_ERROR_LAYER_NOT_PRESENT, TALLY_UNSUPPORTED, "lacks a layer" },
    { VK_ERROR_EXTENSION_NOT_PRESENT, TALLY_UNSUPPORTED, "lacks an extension" },
    { VK_ERROR_FEATURE_NOT_PRESENT, TALLY_UNSUPPORTED, "lacks a feature" },
};

tally_status tly_vk_report(const char *device, VkResult result, const char *what,
                           tally_error *error)
{
    for (size_t i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if (meanings[i].result == result) {
            const char *field = meanings[i].status == TALLY_OUT_OF_MEMORY ? "memory" : "device";
            return tly_fail(error, meanings[i].status, field, "%s: %s %s", what, device,
                            meanings[i].what);
        }
    }
    return tly_fail(error, TALLY_INTERNAL, "device", "%s on %s fails with %d", what, device,
                    (int)result);
}

/* Waits until the device has stopped, so that whoever learns of the loss may free all. */
static void lose(tally_vulkan *v)
{
    pthread_mutex_lock(&v->lost_lock);
    if (!atomic_load(&v->stopped)) {
        atomic_store(&v->stopped, v->device == VK_NULL_HANDLE || tly_vk_idle(v));
    }
    atomic_store(&v->lost, 1);
    pthread_mutex_unlock(&v->lost_lock);
}

tally_status tly_vk_fail(tally_vulkan *v, VkResult result, const char *what, tally_error *error)
{
    if (result == VK_ERROR_DEVICE_LOST) {
        lose(v);
    }
    return tly_vk_report(v->facts.name, result, what, error);
}

tally_status tly_vk_usable(tally_vulkan *v, tally_error *error)
{
    if (!tly_vk_alive(v)) {
        return tly_fail(error, TALLY_DEVICE_LOST, "device",
                        "this process was forked after %s was opened", v->facts.name);
    }
    if (atomic_load(&v->lost)) {
        return tly_fail(error, TALLY_DEVICE_LOST, "device", "%s is lost", v->facts.name);
    }
    return TALLY_OK;
}
