/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What drivers do beyond what they say, each line measured (docs/vulkan.md) or known of the
 * vendor; and the words for what a device lacks.
 */
#include "facts.h"

#include <stdio.h>
#include <string.h>

/* 0 stands for any. The first line that fits holds. */
typedef struct quirk {
    uint32_t driver, vendor;
    uint32_t trip_limit; /* lavapipe ends loops after 65535 trips, all of an invocation summed */
    uint32_t progress;   /* workgroups that started make progress whatever others do */
    uint32_t unaskable;  /* bytes by which the largest allocation is below the advertised one */
    uint32_t subgroup;   /* the best of the widths that may be asked for; 0: the driver's own */
    uint32_t keeps;      /* it is so wide throughout, whatever the driver says */
} quirk;

/* AMD's subgroups of 64 are two halves since RDNA, and a shuffle between them is a loop or a
 * detour: cumsum of f32, rows of 1024, RDNA 3: 179 instructions that shuffle, 58 by 32
 * (tools/isa/table). A thread of Intel's has 128 registers of 8 lanes, 16 since Xe2: subgroups
 * of 32 leave an invocation 32 of them. Apple's GPUs have 32 throughout; MoltenVK says 4 to 32,
 * as Metal promises nothing. */
static const quirk quirks[] = {
    { VK_DRIVER_ID_MESA_LLVMPIPE, 0, 65000, 0, 0, 0, 0 },
    { VK_DRIVER_ID_GOOGLE_SWIFTSHADER, 0, 0, 1, 256, 0, 0 },
    { VK_DRIVER_ID_MOLTENVK, 0x106b, 0, 0, 0, 32, 1 },
    { 0, 0x10de, 0, 1, 0, 0, 0 },  /* NVIDIA */
    { 0, 0x1002, 0, 1, 0, 32, 0 }, /* AMD */
    { 0, 0x8086, 0, 1, 0, 16, 0 }, /* Intel */
    { 0, 0, 0, 0, 0, 0, 0 },
};

static const quirk *quirk_of(const tly_caps *caps)
{
    const quirk *q = quirks;
    while ((q->driver != 0 && q->driver != caps->driver) ||
           (q->vendor != 0 && q->vendor != caps->vendor)) {
        q++;
    }
    return q;
}

uint32_t tly_vk_best_subgroup(const tly_caps *caps)
{
    return quirk_of(caps)->subgroup;
}

int tly_vk_keeps_subgroup(const tly_caps *caps, uint32_t size)
{
    const quirk *q = quirk_of(caps);
    return q->keeps && size == q->subgroup;
}

/* Invocations that keep a device of a type busy, where no extension tells. */
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
    const quirk *q = quirk_of(caps);
    caps->trip_limit = q->trip_limit;
    caps->progress = q->progress;
    facts->largest -= facts->largest > q->unaskable ? q->unaskable : 0;
    if (caps->saturation == 0) {
        caps->saturation = saturation(facts->type);
    }
}

void tly_caps_lack(const tly_caps *caps, char *text, size_t capacity)
{
    const struct {
        uint32_t there;
        const char *words;
    } features[] = {
        { caps->float64, "f64" },
        { caps->int64, "i64 u64" },
        { caps->storage16, "f16 bf16 i16 u16" },
        { caps->storage8, "i8 u8 bool" },
        { caps->denorm32, "subnormals" },
        { (uint32_t)tly_caps_shuffle(caps), "shuffles" },
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
