/* SPDX-License-Identifier: Apache-2.0 */
/* Which features and properties a device must have for SPIR-V modules, read from the modules. */
#ifndef TLY_SPIRV_REQUIREMENTS_H
#define TLY_SPIRV_REQUIREMENTS_H

#include <tally/status.h>

#include <stddef.h>
#include <stdint.h>

enum { TLY_MOST_FEATURES = 6, TLY_MOST_PROPERTIES = 9 };

/* Names are those of Vulkan's structs. */
typedef struct tly_spirv_requirements {
    uint32_t feature_count, property_count;
    const char *feature[TLY_MOST_FEATURES], *property[TLY_MOST_PROPERTIES];
    uint32_t subgroup_operations; /* VkSubgroupFeatureFlags */
    uint32_t bindings;            /* 1 << binding */
} tly_spirv_requirements;

/* Adds those of one module. TALLY_INTERNAL for a module of another form than kernels have. */
tally_status tly_spirv_requirements_add(tly_spirv_requirements *required, const uint32_t *words,
                                        size_t count, tally_error *error);

/* Workgroup memory that a module takes, in bytes: its variables are arrays of 32-bit words. The
 * module is one that tly_spirv_requirements_add has taken. */
uint32_t tly_spirv_requirements_workgroup_bytes(const uint32_t *words, size_t count);

/* A feature that the modules do not tell. */
void tly_spirv_requirements_feature(tly_spirv_requirements *required, const char *name);

#endif
