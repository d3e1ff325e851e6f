/* From what Vulkan answers to our status, and whether a device can still be used. */
#include "internal.h"

#include "../error.h"

tally_status tly_vk_fail(tally_vulkan *v, VkResult result, const char *what, tally_error *error)
{
    switch ((int)result) {
    case VK_ERROR_DEVICE_LOST:
        atomic_store(&v->lost, 1);
        return tly_fail(error, TALLY_DEVICE_LOST, "device", "%s: %s is lost", what, v->facts.name);
    case VK_ERROR_OUT_OF_HOST_MEMORY:
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
    case VK_ERROR_TOO_MANY_OBJECTS:
    case VK_ERROR_OUT_OF_POOL_MEMORY:
        return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory", "%s: %s has no memory left", what,
                        v->facts.name);
    default:
        return tly_fail(error, TALLY_INTERNAL, "device", "%s on %s fails with %d", what,
                        v->facts.name, (int)result);
    }
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
