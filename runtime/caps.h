/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of a Vulkan device that kernels are generated for. They come from the device, with what
 * its driver is known to get wrong (quirks), or from a profile file that describes a device which
 * is not here. Part of a kernel's key, byte for byte.
 */
#ifndef TLY_CAPS_H
#define TLY_CAPS_H

#include <stdint.h>

typedef struct tly_caps {
#define CAP(name, form, meaning) uint32_t name;
#include "caps.def"
#undef CAP
} tly_caps;

/* Bits of subgroup_ops, those of VkSubgroupFeatureFlagBits. */
enum {
    TLY_SUBGROUP_BASIC = 1,
    TLY_SUBGROUP_ARITHMETIC = 4,
    TLY_SUBGROUP_BALLOT = 8,
    TLY_SUBGROUP_SHUFFLE = 16
};

#endif
