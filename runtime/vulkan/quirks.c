/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What drivers do beyond what they say, each line measured (docs/vulkan.md) or known of the
 * vendor; and the words for what a device lacks.
 */
#include "facts.h"

#include <stdio.h>
#include <string.h>

/* 0 stands for any. The first line that fits holds. */
static const struct {
    uint32_t driver, vendor;
    uint32_t trip_limit; /* lavapipe ends loops after 65535 trips, all of an invocation summed */
    uint32_t progress;   /* workgroups that started make progress whatever others do */
    uint32_t unaskable;  /* bytes by which the largest allocation is below the advertised one */
} quirks[] = {
    { VK_DRIVER_ID_MESA_LLVMPIPE, 0, 65000, 0, 0 },
    { VK_DRIVER_ID_GOOGLE_SWIFTSHADER, 0, 0, 1, 256 },
    { 0, 0x10de, 0, 1, 0 }, /* NVIDIA */
    { 0, 0x1002, 0, 1, 0 }, /* AMD */
    { 0, 0x8086, 0, 1, 0 }, /* Intel */
    { 0, 0, 0, 0, 0 },
};

/* Invocations that keep a device of a type busy. */
static uint32_t saturation(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return 262144;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return 64;
    default:
        return 16384;
    }
}

void tly_vk_quirks(tly_vk_facts *facts)
{
    tly_caps *caps = &facts->caps;
    size_t i = 0;
    while ((quirks[i].driver != 0 && quirks[i].driver != caps->driver) ||
           (quirks[i].vendor != 0 && quirks[i].vendor != caps->vendor)) {
        i++;
    }
    caps->trip_limit = quirks[i].trip_limit;
    caps->progress = quirks[i].progress;
    facts->largest -= facts->largest > quirks[i].unaskable ? quirks[i].unaskable : 0;
    caps->saturation = saturation(facts->type);
}

void tly_caps_lack(const tly_caps *caps, char *text, size_t capacity)
{
    int shuffles = caps->subgroup > 0 && caps->subgroup_ops & TLY_SUBGROUP_SHUFFLE;
    const struct {
        uint32_t there;
        const char *words;
    } features[] = {
        { caps->float64, "f64" },
        { caps->int64, "i64 u64" },
        { caps->storage16, "f16 bf16 i16 u16" },
        { caps->storage8, "i8 u8 bool" },
        { caps->denorm32, "subnormals" },
        { (uint32_t)shuffles, "shuffles" },
        { caps->addresses, "addresses" },
        { caps->progress, "look-back" },
    };
    size_t length = 0;
    text[0] = 0;
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        size_t room = capacity - length;
        size_t bytes = strlen(features[i].words) + (length > 0);
        if (!features[i].there && bytes < room) {
            snprintf(text + length, room, "%s%s", length > 0 ? " " : "", features[i].words);
            length += bytes;
        }
    }
}
