/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a physical device's facts; see facts.h. */
#include "facts.h"

#include "../host/error.h"
#include "../host/printable.h"
#include "answers.h"

#include <string.h>

/* The features that plans ask for by these names. */
static void note_disabled(const tly_vk_answers *offers, const tly_vk_answers *enabled,
                          tly_vk_facts *facts)
{
    const struct {
        const char *name;
        VkBool32 there, enabled;
    } features[] = {
#define FEATURE(link, name) { #name, offers->link.name, enabled->link.name }
        FEATURE(features.features, shaderInt64),      FEATURE(features.features, shaderFloat64),
        FEATURE(storage16, storageBuffer16BitAccess), FEATURE(storage8, storageBuffer8BitAccess),
        FEATURE(addresses, bufferDeviceAddress),
#undef FEATURE
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        if (features[i].there && !features[i].enabled) {
            facts->disabled[count++] = features[i].name;
        }
    }
}

/* No device has subgroups of no power of two, or wider ones. */
static int is_width(uint32_t size)
{
    enum { MOST = 128 };
    return size > 0 && size <= MOST && (size & (size - 1)) == 0;
}

/* The width that kernels can rely on: fixed, or asked for; 0 where a driver varies it, or says what
 * none is. */
static void set_subgroup(const tly_vk_answers *a, tly_caps *caps)
{
    const VkPhysicalDeviceSubgroupSizeControlProperties *sizes = &a->sizes;
    uint32_t size = a->subgroup.subgroupSize, wanted = tly_vk_best_subgroup(caps);
    int compute = (a->subgroup.supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    int fixed = sizes->maxSubgroupSize > 0 && sizes->minSubgroupSize == sizes->maxSubgroupSize;
    int asked = a->size_control.subgroupSizeControl &&
                (sizes->requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
    int has_wanted = wanted >= sizes->minSubgroupSize && wanted <= sizes->maxSubgroupSize;
    /* Intel's drivers choose a width for each shader. */
    int varies = sizes->maxSubgroupSize > 0 ? !fixed : caps->vendor == 0x8086;
    caps->subgroup_ops = compute ? a->subgroup.supportedOperations : 0;
    caps->size_control = compute && !fixed && asked;
    if (caps->size_control && wanted > 0 && has_wanted) {
        size = wanted;
    }
    int known = caps->size_control || !varies || tly_vk_keeps_subgroup(caps, size);
    caps->subgroup = compute && known && is_width(size) ? size : 0;
    caps->size_control = caps->size_control && caps->subgroup > 0; /* for set_limits, too */
}

/* Invocations that the device holds at once, by its vendor's extension; 0: it has none. */
static uint32_t held_invocations(const tly_vk_answers *a, uint32_t subgroup)
{
    const VkPhysicalDeviceShaderCorePropertiesAMD *cores = &a->cores;
    uint64_t units = a->active_cores.activeComputeUnitCount;
    if (units == 0) {
        units = (uint64_t)cores->shaderEngineCount * cores->shaderArraysPerEngineCount *
                cores->computeUnitsPerShaderArray;
    }
    uint64_t waves = units * cores->simdPerComputeUnit * cores->wavefrontsPerSimd +
                     (uint64_t)a->multiprocessors.shaderSMCount *
                         a->multiprocessors.shaderWarpsPerSM;
    uint64_t held = waves * (subgroup > 0 ? subgroup : a->subgroup.subgroupSize);
    return held <= INT32_MAX ? (uint32_t)held : INT32_MAX;
}

/* A mode of 16 bits can be asked for beside those of the other widths, which kernels ask for where
 * the device has them. */
static int stands_beside(VkShaderFloatControlsIndependence independence, VkBool32 has32,
                         VkBool32 has64, const tly_vk_answers *a)
{
    int with32 = independence != VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE || has32;
    int with64 = independence == VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL || has64;
    return with32 && (with64 || !a->features.features.shaderFloat64);
}

static int converts_halves(const tly_vk_answers *a)
{
    const VkPhysicalDeviceFloatControlsProperties *f = &a->floats;
    return a->halves.shaderFloat16 && f->shaderSignedZeroInfNanPreserveFloat16 &&
           f->shaderRoundingModeRTEFloat16 && f->shaderDenormPreserveFloat16 &&
           stands_beside(f->roundingModeIndependence, f->shaderRoundingModeRTEFloat32,
                         f->shaderRoundingModeRTEFloat64, a) &&
           stands_beside(f->denormBehaviorIndependence, f->shaderDenormPreserveFloat32,
                         f->shaderDenormPreserveFloat64, a);
}

static void set_floats(const tly_vk_answers *a, int there, tly_caps *caps)
{
    const VkPhysicalDeviceFloatControlsProperties *f = &a->floats;
    if (!there) {
        return;
    }
    caps->preserve32 = f->shaderSignedZeroInfNanPreserveFloat32;
    caps->rte32 = f->shaderRoundingModeRTEFloat32;
    caps->denorm32 = f->shaderDenormPreserveFloat32;
    caps->preserve64 = f->shaderSignedZeroInfNanPreserveFloat64;
    caps->rte64 = f->shaderRoundingModeRTEFloat64;
    caps->denorm64 = f->shaderDenormPreserveFloat64;
    caps->half_exact = (uint32_t)converts_halves(a);
    caps->denorm_together = f->denormBehaviorIndependence ==
                            VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    caps->rounding_together = f->roundingModeIndependence ==
                              VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
}

static uint32_t least(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

static void set_limits(const tly_vk_answers *a, tly_caps *caps)
{
    const VkPhysicalDeviceLimits *l = &a->properties.properties.limits;
    uint32_t subgroups = a->sizes.maxComputeWorkgroupSubgroups;
    caps->invocations = least(l->maxComputeWorkGroupInvocations, l->maxComputeWorkGroupSize[0]);
    if (caps->size_control && subgroups < caps->invocations / caps->subgroup) {
        caps->invocations = subgroups * caps->subgroup;
    }
    caps->groups_x = l->maxComputeWorkGroupCount[0];
    caps->groups_y = l->maxComputeWorkGroupCount[1];
    caps->shared_bytes = l->maxComputeSharedMemorySize;
    caps->buffer_range = l->maxStorageBufferRange;
    caps->offset_align = least(l->minStorageBufferOffsetAlignment, UINT32_MAX);
    caps->storage_buffers = least(l->maxPerStageDescriptorStorageBuffers,
                                  l->maxDescriptorSetStorageBuffers);
}

/* A flag is 0 or 1, and more of a limit than plans have use for is the most of it. What is less
 * than Vulkan requires stays, and is refused (tly_vk_facts_check). */
static void settle(tly_caps *caps)
{
    for (size_t i = 0; i < TLY_CAPS; i++) {
        const tly_cap *cap = &tly_cap_rows[i];
        const uint32_t value = tly_cap_get(caps, cap);
        if (cap->form == 'b' || cap->form == 'd') {
            tly_cap_set(caps, cap, value < cap->most ? value : cap->most);
        }
    }
}

tally_status tly_vk_facts_check(const tly_vk_facts *facts, tally_error *error)
{
    const tly_cap *cap = tly_caps_fault(&facts->caps);
    char range[TLY_CAP_RANGE];
    if (cap == NULL) {
        return TALLY_OK;
    }
    tly_cap_range(cap, range, sizeof range);
    return tly_fail(error, TALLY_UNSUPPORTED, "device",
                    "%.80s cannot be used: %s = %u is out of its range: %s", facts->name, cap->name,
                    tly_cap_get(&facts->caps, cap), range);
}

static uint32_t compute_family(const tly_vk_instance_functions *fn, VkPhysicalDevice physical)
{
    VkQueueFamilyProperties families[32];
    uint32_t count = sizeof families / sizeof families[0];
    fn->GetPhysicalDeviceQueueFamilyProperties(physical, &count, families);
    for (uint32_t i = 0; i < count; i++) {
        if (families[i].queueFlags & VK_QUEUE_COMPUTE_BIT && families[i].queueCount > 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

VkResult tly_vk_facts_read(const tly_vk_instance_functions *fn, VkPhysicalDevice physical,
                           uint32_t api, const tly_vk_enabled *enabled, tly_vk_facts *facts)
{
    memset(facts, 0, sizeof *facts);
    VkPhysicalDeviceProperties2 first = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2 };
    fn->GetPhysicalDeviceProperties2(physical, &first);
    facts->api = least(api, first.properties.apiVersion);
    char *name = first.properties.deviceName; /* the driver's: it reaches terminals and profiles */
    name[sizeof first.properties.deviceName - 1] = 0;
    tly_printable(facts->name, sizeof facts->name, name);
    tly_vk_extensions offered = { 0 };
    VkResult result = tly_vk_offered_extensions(fn, physical, &offered);
    if (result != VK_SUCCESS) {
        return result;
    }
    tly_vk_extensions usable = offered;
    tly_vk_answers a;
    tly_vk_ask(fn, physical, facts->api, &offered, &a);
    if (enabled != NULL) {
        usable = (tly_vk_extensions){ 0 };
        for (uint32_t i = 0; i < enabled->extension_count; i++) {
            tly_vk_note_extension(&usable, enabled->extensions[i]);
        }
        tly_vk_answers offers = a;
        tly_vk_restrict(enabled->features, &a);
        note_disabled(&offers, &a, facts);
    }
    const VkPhysicalDeviceProperties *p = &a.properties.properties;
    facts->type = p->deviceType;
    facts->family = compute_family(fn, physical);
    facts->full_subgroups = a.size_control.computeFullSubgroups;
    facts->size_control = a.size_control.subgroupSizeControl;
    facts->timeline = a.timeline.timelineSemaphore;
    facts->float16 = a.halves.shaderFloat16;
    facts->portability = offered.portability;
    facts->size_extension = !tly_vk_since(facts->api, 3) && offered.size_control;
    facts->float_extension = !tly_vk_since(facts->api, 2) && offered.floats;
    facts->half_extension = !tly_vk_since(facts->api, 2) && offered.halves;
    facts->byte_extension = !tly_vk_since(facts->api, 2) && offered.bytes;
    facts->largest = a.maintenance3.maxMemoryAllocationSize;
    facts->atom = p->limits.nonCoherentAtomSize;
    facts->allocations = p->limits.maxMemoryAllocationCount;
    fn->GetPhysicalDeviceMemoryProperties(physical, &facts->memory);

    tly_caps *caps = &facts->caps;
    caps->vendor = p->vendorID;
    caps->driver = (uint32_t)a.driver.driverID;
    caps->int64 = a.features.features.shaderInt64;
    caps->float64 = a.features.features.shaderFloat64;
    caps->storage16 = a.storage16.storageBuffer16BitAccess;
    caps->storage8 = a.storage8.storageBuffer8BitAccess;
    caps->addresses = tly_vk_since(facts->api, 2) && a.addresses.bufferDeviceAddress;
    facts->driver = (tly_vk_driver){
        caps->vendor, p->deviceID, caps->driver, p->driverVersion, { 0 }
    };
    memcpy(facts->driver.pipelines, p->pipelineCacheUUID, sizeof facts->driver.pipelines);
    set_subgroup(&a, caps);
    set_floats(&a, tly_vk_since(facts->api, 2) || usable.floats, caps);
    set_limits(&a, caps);
    caps->saturation = held_invocations(&a, caps->subgroup);
    tly_vk_quirks(facts);
    settle(caps);
    return VK_SUCCESS;
}
