/* SPDX-License-Identifier: Apache-2.0 */
/* Asking a physical device; see answers.h. */
#include "answers.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void tly_vk_note_extension(tly_vk_extensions *e, const char *name)
{
    const struct {
        const char *name;
        int *there;
    } known[] = {
        { "VK_KHR_timeline_semaphore", &e->timeline },
        { "VK_EXT_subgroup_size_control", &e->size_control },
        { "VK_KHR_shader_float_controls", &e->floats },
        { "VK_KHR_shader_float16_int8", &e->halves },
        { "VK_KHR_8bit_storage", &e->bytes },
        { "VK_KHR_driver_properties", &e->driver },
        { "VK_KHR_portability_subset", &e->portability },
        { "VK_NV_shader_sm_builtins", &e->multiprocessors },
        { "VK_AMD_shader_core_properties", &e->cores },
        { "VK_AMD_shader_core_properties2", &e->active_cores },
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i].name, name) == 0) {
            *known[i].there = 1;
        }
    }
}

VkResult tly_vk_offered_extensions(const tly_vk_instance_functions *fn, VkPhysicalDevice physical,
                                   tly_vk_extensions *e)
{
    uint32_t count = 0;
    VkResult result = fn->EnumerateDeviceExtensionProperties(physical, NULL, &count, NULL);
    if (result < VK_SUCCESS) {
        return result;
    }
    VkExtensionProperties *list = calloc(count > 0 ? count : 1, sizeof *list);
    if (list == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    result = fn->EnumerateDeviceExtensionProperties(physical, NULL, &count, list);
    for (uint32_t i = 0; result >= VK_SUCCESS && i < count; i++) {
        tly_vk_note_extension(e, list[i].extensionName);
    }
    free(list);
    return result < VK_SUCCESS ? result : VK_SUCCESS;
}

static void append(void *chain, void *next)
{
    VkBaseOutStructure *last = chain;
    while (last->pNext != NULL) {
        last = last->pNext;
    }
    last->pNext = next;
}

int tly_vk_since(uint32_t api, uint32_t minor)
{
    return api >= VK_MAKE_API_VERSION(0, 1, minor, 0);
}

void tly_vk_ask(const tly_vk_instance_functions *fn, VkPhysicalDevice physical, uint32_t api,
                const tly_vk_extensions *e, tly_vk_answers *a)
{
    memset(a, 0, sizeof *a);
    a->features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    a->storage16.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
    a->storage8.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
    a->halves.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
    a->addresses.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
    a->timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    a->size_control.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
    a->properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    a->subgroup.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
    a->maintenance3.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
    a->driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
    a->floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
    a->sizes.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES;
    a->multiprocessors.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV;
    a->cores.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD;
    a->active_cores.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_2_AMD;
    const struct {
        void *chain, *next;
        int there;
    } links[] = {
        { &a->features, &a->storage16, 1 },
        { &a->features, &a->storage8, tly_vk_since(api, 2) || e->bytes },
        { &a->features, &a->halves, tly_vk_since(api, 2) || e->halves },
        { &a->features, &a->addresses, tly_vk_since(api, 2) },
        { &a->features, &a->timeline, tly_vk_since(api, 2) || e->timeline },
        { &a->features, &a->size_control, tly_vk_since(api, 3) || e->size_control },
        { &a->properties, &a->subgroup, 1 },
        { &a->properties, &a->maintenance3, 1 },
        { &a->properties, &a->driver, tly_vk_since(api, 2) || e->driver },
        { &a->properties, &a->floats, tly_vk_since(api, 2) || e->floats },
        { &a->properties, &a->sizes, tly_vk_since(api, 3) || e->size_control },
        { &a->properties, &a->multiprocessors, e->multiprocessors },
        { &a->properties, &a->cores, e->cores },
        { &a->properties, &a->active_cores, e->active_cores },
    };
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        if (links[i].there) {
            append(links[i].chain, links[i].next);
        }
    }
    fn->GetPhysicalDeviceFeatures2(physical, &a->features);
    fn->GetPhysicalDeviceProperties2(physical, &a->properties);
}

/* Where the structs of a caller's chain say what of ours says, too. */
typedef struct said {
    VkStructureType type;
    size_t there; /* offset of the VkBool32 in the struct of that type */
    size_t here;  /* and of ours */
} said;
#define SAID(type, suffix, there, here) \
    { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_##type##_FEATURES, \
      offsetof(VkPhysicalDevice##suffix, there), offsetof(tly_vk_answers, here.there) }
static const said known_features[] = {
    SAID(VULKAN_1_1, Vulkan11Features, storageBuffer16BitAccess, storage16),
    SAID(16BIT_STORAGE, 16BitStorageFeatures, storageBuffer16BitAccess, storage16),
    SAID(VULKAN_1_2, Vulkan12Features, storageBuffer8BitAccess, storage8),
    SAID(8BIT_STORAGE, 8BitStorageFeatures, storageBuffer8BitAccess, storage8),
    SAID(VULKAN_1_2, Vulkan12Features, shaderFloat16, halves),
    SAID(SHADER_FLOAT16_INT8, ShaderFloat16Int8Features, shaderFloat16, halves),
    SAID(VULKAN_1_2, Vulkan12Features, bufferDeviceAddress, addresses),
    SAID(BUFFER_DEVICE_ADDRESS, BufferDeviceAddressFeatures, bufferDeviceAddress, addresses),
    SAID(VULKAN_1_2, Vulkan12Features, timelineSemaphore, timeline),
    SAID(TIMELINE_SEMAPHORE, TimelineSemaphoreFeatures, timelineSemaphore, timeline),
    SAID(VULKAN_1_3, Vulkan13Features, subgroupSizeControl, size_control),
    SAID(SUBGROUP_SIZE_CONTROL, SubgroupSizeControlFeatures, subgroupSizeControl, size_control),
    SAID(VULKAN_1_3, Vulkan13Features, computeFullSubgroups, size_control),
    SAID(SUBGROUP_SIZE_CONTROL, SubgroupSizeControlFeatures, computeFullSubgroups, size_control),
};
#undef SAID
enum { KNOWN_FEATURES = sizeof known_features / sizeof known_features[0] };

void tly_vk_restrict(const VkPhysicalDeviceFeatures2 *chain, tly_vk_answers *a)
{
    const VkPhysicalDeviceFeatures none = { 0 };
    const VkBool32 no = VK_FALSE;
    a->features.features = chain != NULL ? chain->features : none;
    for (size_t i = 0; i < KNOWN_FEATURES; i++) {
        memcpy((char *)a + known_features[i].here, &no, sizeof no);
    }
    const VkBaseInStructure *link = chain != NULL ? chain->pNext : NULL;
    for (; link != NULL; link = link->pNext) {
        for (size_t i = 0; i < KNOWN_FEATURES; i++) {
            const said *s = &known_features[i];
            if (s->type == link->sType) {
                memcpy((char *)a + s->here, (const char *)link + s->there, sizeof(VkBool32));
            }
        }
    }
}
