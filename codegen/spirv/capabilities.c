/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities that modules can have, in the order in which they are declared, and what a
 * device must have for each. Drivers do not check them, so the generator does.
 */
#include "module.h"
#include "spirv.h"

#define AT(field) offsetof(tly_caps, field)
#define HAS(field, mask) { AT(field), AT(field), AT(field) }, mask
#define OF_WIDTHS(name) { AT(half_exact), AT(name##32), AT(name##64) }, ~0u

const tly_spv_capability tly_spv_capabilities[TLY_SPV_CAPABILITIES] = {
    { SpvCapabilityShader, "Shader", { 0 }, 0 },
    { SpvCapabilityInt64, "Int64", HAS(int64, ~0u) },
    { SpvCapabilityFloat16, "Float16", HAS(half_exact, ~0u) },
    { SpvCapabilityFloat64, "Float64", HAS(float64, ~0u) },
    { SpvCapabilityGroupNonUniform, "GroupNonUniform", HAS(subgroup_ops, TLY_SUBGROUP_BASIC) },
    { SpvCapabilityGroupNonUniformArithmetic, "GroupNonUniformArithmetic",
      HAS(subgroup_ops, TLY_SUBGROUP_ARITHMETIC) },
    { SpvCapabilityGroupNonUniformBallot, "GroupNonUniformBallot",
      HAS(subgroup_ops, TLY_SUBGROUP_BALLOT) },
    { SpvCapabilityGroupNonUniformShuffle, "GroupNonUniformShuffle",
      HAS(subgroup_ops, TLY_SUBGROUP_SHUFFLE) },
    { SpvCapabilityStorageBuffer16BitAccess, "StorageBuffer16BitAccess", HAS(storage16, ~0u) },
    { SpvCapabilityStorageBuffer8BitAccess, "StorageBuffer8BitAccess", HAS(storage8, ~0u) },
    { SpvCapabilityDenormPreserve, "DenormPreserve", OF_WIDTHS(denorm) },
    { SpvCapabilitySignedZeroInfNanPreserve, "SignedZeroInfNanPreserve", OF_WIDTHS(preserve) },
    { SpvCapabilityRoundingModeRTE, "RoundingModeRTE", OF_WIDTHS(rte) },
    { SpvCapabilityPhysicalStorageBufferAddresses, "PhysicalStorageBufferAddresses",
      HAS(addresses, ~0u) },
};

void tly_spv_need(tly_spv_module *m, SpvCapability capability)
{
    for (uint32_t i = 0; i < TLY_SPV_CAPABILITIES; i++) {
        if (tly_spv_capabilities[i].capability == capability) {
            m->capabilities |= 1u << i;
            return;
        }
    }
    tly_spv_fail(m, "capability %u is not in the table", (unsigned)capability);
}

static int has(const tly_caps *caps, const tly_spv_capability *row)
{
    uint32_t any = 0;
    for (size_t i = 0; i < sizeof row->fields / sizeof *row->fields; i++) {
        any |= *(const uint32_t *)(const void *)((const char *)caps + row->fields[i]);
    }
    return row->mask == 0 || (any & row->mask) != 0;
}

const char *tly_spirv_lacks(const uint32_t *words, size_t count, const tly_caps *caps)
{
    enum { HEADER = 5 };
    for (size_t at = HEADER; at + 1 < count; at += 2) {
        if (words[at] != (2u << SpvWordCountShift | SpvOpCapability)) {
            return NULL; /* capabilities come first */
        }
        uint32_t i = 0;
        while (i < TLY_SPV_CAPABILITIES &&
               (uint32_t)tly_spv_capabilities[i].capability != words[at + 1]) {
            i++;
        }
        if (i == TLY_SPV_CAPABILITIES) {
            return "unknown";
        }
        if (!has(caps, &tly_spv_capabilities[i])) {
            return tly_spv_capabilities[i].name;
        }
    }
    return NULL;
}
