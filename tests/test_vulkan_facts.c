/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of devices that are not here: what their drivers answer, and what is made of it. */
#include "../runtime/vulkan/internal.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* --- a device that answers what a test tells it ---------------------------------------------- */

typedef struct told {
    const char *extensions[4]; /* NULL beyond */
    char name[16];             /* and x behind it, to the end */
    uint32_t vendor;
    VkPhysicalDeviceType type;
    VkBool32 float16, float64, size_control;
    VkPhysicalDeviceLimits limits; /* of no invocations: 1024 of them, and nothing else */
    VkPhysicalDeviceFloatControlsProperties floats;
    VkPhysicalDeviceDriverProperties driver;
    VkPhysicalDeviceSubgroupProperties subgroup;
    VkPhysicalDeviceSubgroupSizeControlProperties sizes;
    VkPhysicalDeviceShaderSMBuiltinsPropertiesNV multiprocessors;
    VkPhysicalDeviceShaderCorePropertiesAMD cores;
    VkPhysicalDeviceShaderCoreProperties2AMD active_cores;
} told;

static told device_;

static int has_extension(const char *name)
{
    for (size_t i = 0; i < 4 && device_.extensions[i] != NULL; i++) {
        if (strcmp(device_.extensions[i], name) == 0) {
            return 1;
        }
    }
    return 0;
}

static void *link_of(void *chain, VkStructureType type)
{
    VkBaseOutStructure *link = chain;
    while (link != NULL && link->sType != type) {
        link = link->pNext;
    }
    return link;
}

/* Answers a struct if the chain has it, which then must be one that the device knows. */
static void tell(void *chain, VkStructureType type, const void *answer, size_t bytes, int known)
{
    VkBaseOutStructure *link = link_of(chain, type);
    cr_assert(link == NULL || known, "struct %d was asked for", (int)type);
    if (link != NULL) {
        memcpy(link + 1, (const VkBaseOutStructure *)answer + 1, bytes - sizeof *link);
    }
}
#define TELL(chain, TYPE, member, known) \
    tell(chain, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##TYPE, &device_.member, sizeof device_.member, \
         known)

static VKAPI_ATTR void VKAPI_CALL tell_properties(VkPhysicalDevice device,
                                                  VkPhysicalDeviceProperties2 *properties)
{
    (void)device;
    VkPhysicalDeviceLimits *limits = &properties->properties.limits;
    *limits = device_.limits;
    properties->properties.apiVersion = VK_API_VERSION_1_3;
    properties->properties.vendorID = device_.vendor;
    memset(properties->properties.deviceName, 'x', sizeof properties->properties.deviceName);
    memcpy(properties->properties.deviceName, device_.name, strlen(device_.name));
    properties->properties.deviceType = device_.type;
    if (limits->maxComputeWorkGroupInvocations == 0) {
        limits->maxComputeWorkGroupInvocations = limits->maxComputeWorkGroupSize[0] = 1024;
    }
    TELL(properties, FLOAT_CONTROLS_PROPERTIES, floats, 1);
    TELL(properties, DRIVER_PROPERTIES, driver, 1);
    TELL(properties, SUBGROUP_PROPERTIES, subgroup, 1);
    TELL(properties, SUBGROUP_SIZE_CONTROL_PROPERTIES, sizes, 1);
    TELL(properties, SHADER_SM_BUILTINS_PROPERTIES_NV, multiprocessors,
         has_extension("VK_NV_shader_sm_builtins"));
    TELL(properties, SHADER_CORE_PROPERTIES_AMD, cores,
         has_extension("VK_AMD_shader_core_properties"));
    TELL(properties, SHADER_CORE_PROPERTIES_2_AMD, active_cores,
         has_extension("VK_AMD_shader_core_properties2"));
}

static VKAPI_ATTR void VKAPI_CALL tell_features(VkPhysicalDevice device,
                                                VkPhysicalDeviceFeatures2 *features)
{
    (void)device;
    VkPhysicalDeviceShaderFloat16Int8Features *halves = link_of(
        features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES);
    VkPhysicalDeviceSubgroupSizeControlFeatures *sizes = link_of(
        features, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES);
    features->features.shaderFloat64 = device_.float64;
    cr_assert(halves != NULL && sizes != NULL);
    halves->shaderFloat16 = device_.float16;
    sizes->subgroupSizeControl = device_.size_control;
}

static VKAPI_ATTR VkResult VKAPI_CALL tell_extensions(VkPhysicalDevice device, const char *layer,
                                                      uint32_t *count, VkExtensionProperties *list)
{
    (void)device, (void)layer;
    for (*count = 0; *count < 4 && device_.extensions[*count] != NULL; ++*count) {
        if (list != NULL) {
            snprintf(list[*count].extensionName, sizeof list->extensionName, "%s",
                     device_.extensions[*count]);
        }
    }
    return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL tell_memory(VkPhysicalDevice device,
                                              VkPhysicalDeviceMemoryProperties *memory)
{
    (void)device;
    memset(memory, 0, sizeof *memory);
}

static VKAPI_ATTR void VKAPI_CALL tell_families(VkPhysicalDevice device, uint32_t *count,
                                                VkQueueFamilyProperties *families)
{
    (void)device, (void)families;
    *count = 0;
}

static tly_vk_facts facts_of(const tly_vk_enabled *enabled)
{
    static const tly_vk_instance_functions fn = {
        .EnumerateDeviceExtensionProperties = tell_extensions,
        .GetPhysicalDeviceFeatures2 = tell_features,
        .GetPhysicalDeviceMemoryProperties = tell_memory,
        .GetPhysicalDeviceProperties2 = tell_properties,
        .GetPhysicalDeviceQueueFamilyProperties = tell_families,
    };
    tly_vk_facts facts;
    cr_assert_eq(tly_vk_facts_read(&fn, VK_NULL_HANDLE, VK_API_VERSION_1_3, enabled, &facts),
                 VK_SUCCESS);
    return facts;
}

/* A driver's name reaches terminals, logs and the lines of a profile. */
Test(vulkan_facts, name)
{
    strcpy(device_.name, "a\nb\x1b[1m");
    const tly_vk_facts facts = facts_of(NULL);
    cr_expect(strncmp(facts.name, "a\\x0ab\\x1b[1mxxx", 16) == 0, "%s", facts.name);
    cr_expect_eq(strlen(facts.name), sizeof facts.name - 1);
}

/* --- f16 ------------------------------------------------------------------------------------- */

static uint32_t half_exact(const tly_vk_enabled *enabled)
{
    tly_vk_facts facts = facts_of(enabled);
    cr_assert_leq(facts.caps.half_exact, facts.float16);
    return facts.caps.half_exact;
}

/* Every part of it is needed, and that the modes of 16 bits can stand beside the others. */
Test(vulkan_facts, half_exact)
{
    VkPhysicalDeviceFloatControlsProperties *floats = &device_.floats;
    const VkShaderFloatControlsIndependence all = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_ALL;
    const VkShaderFloatControlsIndependence none = VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_NONE;
    const VkShaderFloatControlsIndependence only32 =
        VK_SHADER_FLOAT_CONTROLS_INDEPENDENCE_32_BIT_ONLY;
    VkBool32 *const needed[] = { &device_.float16, &floats->shaderSignedZeroInfNanPreserveFloat16,
                                 &floats->shaderRoundingModeRTEFloat16,
                                 &floats->shaderDenormPreserveFloat16 };
    const size_t count = sizeof needed / sizeof *needed;
    floats->denormBehaviorIndependence = floats->roundingModeIndependence = all;
    for (size_t i = 0; i < count; i++) {
        *needed[i] = VK_TRUE;
    }
    cr_assert_eq(half_exact(NULL), 1);
    for (size_t i = 0; i < count; i++) {
        *needed[i] = VK_FALSE;
        cr_assert_eq(half_exact(NULL), 0, "without the %zu-th", i);
        *needed[i] = VK_TRUE;
    }
    const struct {
        VkShaderFloatControlsIndependence denorms, rounding;
        VkBool32 float64, has32, has64; /* modes of these widths */
        uint32_t exact;
    } cases[] = {
        { none, all, 0, 0, 0, 0 },   { all, none, 0, 0, 0, 0 },   { none, none, 0, 1, 0, 1 },
        { none, none, 1, 1, 0, 0 },  { none, none, 1, 1, 1, 1 },  { only32, only32, 0, 0, 0, 1 },
        { only32, all, 1, 1, 0, 0 }, { all, only32, 1, 1, 0, 0 }, { only32, only32, 1, 0, 1, 1 },
        { all, all, 1, 0, 0, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        floats->denormBehaviorIndependence = cases[i].denorms;
        floats->roundingModeIndependence = cases[i].rounding;
        device_.float64 = cases[i].float64;
        floats->shaderDenormPreserveFloat32 = floats->shaderRoundingModeRTEFloat32 = cases[i].has32;
        floats->shaderDenormPreserveFloat64 = floats->shaderRoundingModeRTEFloat64 = cases[i].has64;
        cr_assert_eq(half_exact(NULL), cases[i].exact, "case %zu", i);
    }
    VkPhysicalDeviceShaderFloat16Int8Features halves = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES,
        .shaderFloat16 = VK_TRUE
    };
    VkPhysicalDeviceVulkan12Features twelve = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, .shaderFloat16 = VK_TRUE
    };
    VkPhysicalDeviceFeatures2 features = { .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2 };
    const tly_vk_enabled enabled = { .features = &features };
    cr_assert_eq(half_exact(&enabled), 0, "it was not enabled");
    features.pNext = &halves;
    cr_assert_eq(half_exact(&enabled), 1);
    features.pNext = &twelve;
    cr_assert_eq(half_exact(&enabled), 1);
}

/* --- subgroups, and how many invocations are held -------------------------------------------- */

static void tell_device(uint32_t vendor, VkDriverId driver, uint32_t size, uint32_t least,
                        uint32_t most, VkBool32 size_control)
{
    memset(&device_, 0, sizeof device_);
    device_.vendor = vendor;
    device_.driver.driverID = driver;
    device_.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
    device_.subgroup.subgroupSize = size;
    device_.subgroup.supportedStages = VK_SHADER_STAGE_COMPUTE_BIT;
    device_.sizes.minSubgroupSize = least;
    device_.sizes.maxSubgroupSize = most;
    device_.sizes.maxComputeWorkgroupSubgroups = 64;
    device_.sizes.requiredSubgroupSizeStages = size_control ? VK_SHADER_STAGE_COMPUTE_BIT : 0;
    device_.size_control = size_control;
}

Test(vulkan_facts, subgroups)
{
    static const struct {
        uint32_t vendor;
        VkDriverId driver;
        uint32_t size, least, most;
        VkBool32 size_control;
        uint32_t subgroup, asks, invocations;
    } cases[] = {
        { 0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 32, 32, 1, 32, 0, 1024 },
        { 0x1002, VK_DRIVER_ID_MESA_RADV, 64, 32, 64, 1, 32, 1, 1024 },
        { 0x1002, VK_DRIVER_ID_MESA_RADV, 64, 64, 64, 1, 64, 0, 1024 }, /* before RDNA */
        { 0x1002, VK_DRIVER_ID_MESA_RADV, 64, 32, 64, 0, 0, 0, 1024 },
        { 0x8086, VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, 32, 8, 32, 1, 16, 1, 1024 },
        { 0x8086, VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, 32, 8, 32, 0, 0, 0, 1024 },
        { 0x8086, VK_DRIVER_ID_INTEL_PROPRIETARY_WINDOWS, 32, 0, 0, 0, 0, 0, 1024 },
        { 0x106b, VK_DRIVER_ID_MOLTENVK, 32, 4, 32, 0, 32, 0, 1024 },
        { 0x106b, VK_DRIVER_ID_MOLTENVK, 8, 4, 8, 0, 0, 0, 1024 },
        { 0x5143, VK_DRIVER_ID_MESA_TURNIP, 128, 64, 128, 1, 128, 1, 1024 },
        { 0x5143, VK_DRIVER_ID_MESA_TURNIP, 8, 8, 16, 1, 8, 1, 512 }, /* 64 subgroups at most */
        /* What no device has is not known. */
        { 0x5143, VK_DRIVER_ID_MESA_TURNIP, 0, 8, 16, 1, 0, 0, 1024 },
        { 0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY, 48, 48, 48, 1, 0, 0, 1024 },
        { 0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY, 256, 256, 256, 1, 0, 0, 1024 },
        { 0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY, 0x80000000, 0, 0, 0, 0, 0, 1024 },
        { 0x5143, VK_DRIVER_ID_MESA_TURNIP, UINT32_MAX, 8, 16, 1, 0, 0, 1024 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tell_device(cases[i].vendor, cases[i].driver, cases[i].size, cases[i].least, cases[i].most,
                    cases[i].size_control);
        tly_vk_facts facts = facts_of(NULL);
        cr_assert_eq(facts.caps.subgroup, cases[i].subgroup, "case %zu", i);
        cr_assert_eq(facts.caps.size_control, cases[i].asks, "case %zu", i);
        cr_assert_eq(facts.caps.invocations, cases[i].invocations, "case %zu", i);
    }
}

/* Profiles have what those devices' drivers tell, so that both have the same plans. */
Test(vulkan_facts, saturation)
{
    tell_device(0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 32, 32, 1);
    cr_assert_eq(facts_of(NULL).caps.saturation, 262144, "of any discrete GPU");
    device_.multiprocessors.shaderSMCount = 132;
    device_.multiprocessors.shaderWarpsPerSM = 64;
    device_.extensions[0] = "VK_NV_shader_sm_builtins";
    cr_assert_eq(facts_of(NULL).caps.saturation, 270336);
    const tly_vk_enabled nothing = { 0 };
    cr_assert_eq(facts_of(&nothing).caps.saturation, 270336, "properties need not be enabled");
    tell_device(0x1002, VK_DRIVER_ID_MESA_RADV, 64, 32, 64, 1);
    device_.cores.shaderEngineCount = 6;
    device_.cores.shaderArraysPerEngineCount = 2;
    device_.cores.computeUnitsPerShaderArray = 8;
    device_.cores.simdPerComputeUnit = 2;
    device_.cores.wavefrontsPerSimd = 16;
    device_.active_cores.activeComputeUnitCount = 84;
    device_.extensions[0] = "VK_AMD_shader_core_properties";
    cr_assert_eq(facts_of(NULL).caps.saturation, 98304);
    device_.extensions[1] = "VK_AMD_shader_core_properties2";
    cr_assert_eq(facts_of(NULL).caps.saturation, 84 * 1024, "those that are there");
    device_.cores.simdPerComputeUnit = UINT32_MAX;
    cr_assert_eq(facts_of(NULL).caps.saturation, INT32_MAX);
}

/* --- answers that no device gives ------------------------------------------------------------- */

static void tell_limits(void)
{
    tell_device(0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY, 32, 32, 32, 1);
    device_.limits = (VkPhysicalDeviceLimits){
        .maxComputeWorkGroupInvocations = 1024,
        .maxComputeWorkGroupSize = { 1024, 1024, 64 },
        .maxComputeWorkGroupCount = { 65535, 65535, 65535 },
        .maxComputeSharedMemorySize = 32768,
        .maxStorageBufferRange = 134217728,
        .minStorageBufferOffsetAlignment = 64,
        .maxPerStageDescriptorStorageBuffers = 16,
        .maxDescriptorSetStorageBuffers = 64,
    };
}

/* More than plans have use for is the most of it; flags are flags. */
Test(vulkan_facts, more_than_enough)
{
    tell_limits();
    device_.limits.maxComputeWorkGroupInvocations = UINT32_MAX;
    device_.limits.maxComputeWorkGroupSize[0] = UINT32_MAX;
    device_.limits.maxComputeSharedMemorySize = UINT32_MAX;
    device_.float64 = 2;
    device_.floats.shaderDenormPreserveFloat32 = UINT32_MAX;
    tally_error error = TALLY_ERROR_INIT;
    const tly_vk_facts facts = facts_of(NULL);
    cr_assert_eq(tly_vk_facts_check(&facts, &error), TALLY_OK, "%s", error.message);
    cr_expect_eq(facts.caps.invocations, 65536);
    cr_expect_eq(facts.caps.shared_bytes, UINT32_MAX);
    cr_expect_eq(facts.caps.float64, 1);
    cr_expect_eq(facts.caps.denorm32, 1);
}

/* Less than Vulkan requires of every device is refused by name. */
Test(vulkan_facts, less_than_vulkan_requires)
{
    VkPhysicalDeviceLimits *l = &device_.limits;
    const struct {
        uint32_t *at, value;
        const char *says;
    } cases[] = {
        { &l->maxComputeWorkGroupInvocations, 64, "invocations = 64 is out of its range: 128 to" },
        { &l->maxComputeWorkGroupSize[0], 0, "invocations = 0 " },
        { &l->maxComputeWorkGroupCount[0], 0, "groups_x = 0 " },
        { &l->maxComputeWorkGroupCount[1], 1, "groups_y = 1 " },
        { &l->maxComputeSharedMemorySize, 16383, "shared_bytes = 16383 " },
        { &l->maxStorageBufferRange, 0, "buffer_range = 0 " },
        { &l->maxPerStageDescriptorStorageBuffers, 3, "storage_buffers = 3 " },
        { &l->maxDescriptorSetStorageBuffers, 3, "storage_buffers = 3 " },
        { (uint32_t *)&l->minStorageBufferOffsetAlignment, 0, "offset_align = 0 " },
        { (uint32_t *)&l->minStorageBufferOffsetAlignment, 48, "offset_align = 48 " },
        { (uint32_t *)&l->minStorageBufferOffsetAlignment + 1, 1, "offset_align = 4294967295 " },
    };
    tell_limits();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tally_error error = TALLY_ERROR_INIT;
        tell_limits();
        *cases[i].at = cases[i].value;
        const tly_vk_facts facts = facts_of(NULL);
        cr_expect_eq(tly_vk_facts_check(&facts, &error), TALLY_UNSUPPORTED, "case %zu", i);
        cr_expect_not_null(strstr(error.message, cases[i].says), "%s", error.message);
        cr_expect_str_eq(error.field, "device");
    }
}
