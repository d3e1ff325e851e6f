/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of a Vulkan device that kernels are generated for. They come from the device, with what
 * its driver is known to get wrong (quirks), or from a profile file that describes a device which
 * is not here. Part of a kernel's key, byte for byte.
 */
#ifndef TLY_CAPS_H
#define TLY_CAPS_H

#include <stddef.h>
#include <stdint.h>

typedef struct tly_caps {
#define CAP(name, form, least, most, meaning) uint32_t name;
#include "caps.def"
#undef CAP
} tly_caps;

/* A row of caps.def. */
typedef struct tly_cap {
    const char *name;
    size_t at; /* in tly_caps */
    char form;
    uint32_t least, most;
} tly_cap;

enum { TLY_CAPS = sizeof(tly_caps) / sizeof(uint32_t) };

/* caps.c: all rows, and a row's value. */
extern const tly_cap tly_cap_rows[TLY_CAPS];
uint32_t tly_cap_get(const tly_caps *caps, const tly_cap *cap);
void tly_cap_set(tly_caps *caps, const tly_cap *cap, uint32_t value);

/* Whether a value is in the range of its row; the range as text, such as "0 to 128, powers of two".
 */
int tly_cap_holds(const tly_cap *cap, uint64_t value);
enum { TLY_CAP_RANGE = 48 };
void tly_cap_range(const tly_cap *cap, char *text, size_t capacity);

/* The first row whose value is out of its range; NULL: none is, and so plans and kernels can be
 * made. */
const tly_cap *tly_caps_fault(const tly_caps *caps);

/* Bits of subgroup_ops, those of VkSubgroupFeatureFlagBits. */
enum {
    TLY_SUBGROUP_BASIC = 1,
    TLY_SUBGROUP_ARITHMETIC = 4,
    TLY_SUBGROUP_BALLOT = 8,
    TLY_SUBGROUP_SHUFFLE = 16
};

/* Whether kernels can shuffle: subgroups are of a known size, and not smaller than is worth it.
 * Where Vulkan has any of their operations, it has the basic ones. */
enum { TLY_LEAST_SUBGROUP = 4 };
static inline int tly_caps_shuffle(const tly_caps *caps)
{
    enum { NEEDS = TLY_SUBGROUP_BASIC | TLY_SUBGROUP_SHUFFLE };
    return caps->subgroup >= TLY_LEAST_SUBGROUP && (caps->subgroup_ops & NEEDS) == NEEDS;
}

#endif
