/* SPDX-License-Identifier: Apache-2.0 */
/* The Vulkan devices of this machine, and which of them a text means. */
#include "internal.h"

#include "../host/error.h"

#include <stdlib.h>
#include <string.h>

#define LOADER "the Vulkan loader"

/* Sets *found to 1 if the loader knows the extension that shows layered drivers, such as
 * MoltenVK. */
static VkResult has_portability(PFN_vkGetInstanceProcAddr get, int *found)
{
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)get(NULL,
                                                        "vkEnumerateInstanceExtensionProperties");
    uint32_t count = 0;
    VkResult result = enumerate != NULL ? enumerate(NULL, &count, NULL) : VK_SUCCESS;
    if (result < VK_SUCCESS || count == 0) {
        return result;
    }
    VkExtensionProperties *list = calloc(count, sizeof *list);
    if (list == NULL) {
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    result = enumerate(NULL, &count, list);
    for (uint32_t i = 0; result >= VK_SUCCESS && i < count; i++) {
        *found |= strcmp(list[i].extensionName, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME) == 0;
    }
    free(list);
    return result;
}

/* No driver, unless memory is what lacks. */
static tally_status refuse(VkResult result, const char *what, tally_error *error)
{
    tally_status status = tly_vk_report(LOADER, result, what, error);
    if (status == TALLY_OUT_OF_MEMORY || status == TALLY_INTERNAL) {
        return status;
    }
    tly_fail(error, TALLY_UNSUPPORTED, "device", "no Vulkan driver answers (%s: %d)", what,
             (int)result);
    tly_error_hint(error, "install a driver (Debian: mesa-vulkan-drivers)");
    return TALLY_UNSUPPORTED;
}

static tally_status create_instance(PFN_vkGetInstanceProcAddr get, uint32_t *api,
                                    VkInstance *instance, tally_error *error)
{
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    PFN_vkEnumerateInstanceVersion version = (PFN_vkEnumerateInstanceVersion)get(
        NULL, "vkEnumerateInstanceVersion");
    uint32_t loader = 0;
    if (create == NULL || version == NULL) {
        return tly_fail(error, TALLY_UNSUPPORTED, "device", "this Vulkan loader is below 1.1");
    }
    int layered = 0;
    VkResult result = version(&loader);
    if (result == VK_SUCCESS) {
        result = has_portability(get, &layered);
    }
    if (result < VK_SUCCESS) {
        return refuse(result, "a list of instance extensions", error);
    }
    *api = loader < VK_API_VERSION_1_3 ? loader : VK_API_VERSION_1_3;
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pEngineName = "tally",
        .apiVersion = *api,
    };
    static const char *const portability = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .flags = layered ? VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR : 0,
        .pApplicationInfo = &application,
        .enabledExtensionCount = (uint32_t)layered,
        .ppEnabledExtensionNames = &portability,
    };
    result = create(&info, NULL, instance);
    if (result != VK_SUCCESS) {
        *instance = VK_NULL_HANDLE;
        return refuse(result, "vkCreateInstance", error);
    }
    return TALLY_OK;
}

static tally_status read_devices(tly_vk_list *list, uint32_t api, tally_error *error)
{
    VkPhysicalDevice all[TLY_VK_DEVICES];
    uint32_t count = TLY_VK_DEVICES;
    VkResult result = list->fn.EnumeratePhysicalDevices(list->instance, &count, all);
    if (result < VK_SUCCESS) {
        return refuse(result, "vkEnumeratePhysicalDevices", error);
    }
    for (uint32_t i = 0; i < count; i++) {
        tly_vk_facts *facts = &list->facts[list->count];
        result = tly_vk_facts_read(&list->fn, all[i], api, NULL, facts);
        if (result != VK_SUCCESS) {
            return tly_vk_report(facts->name, result, "a list of extensions", error);
        }
        if (facts->family != UINT32_MAX && facts->api >= VK_API_VERSION_1_1) {
            list->physical[list->count++] = all[i];
        }
    }
    return TALLY_OK;
}

tally_status tly_vk_list_open(tly_vk_list **list, tally_error *error)
{
    PFN_vkGetInstanceProcAddr get;
    tally_status status = tly_vk_load(&get, error);
    if (status != TALLY_OK) {
        return status;
    }
    tly_vk_list *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return tly_out_of_memory(error, "a list of devices", sizeof *l);
    }
    uint32_t api = 0;
    status = create_instance(get, &api, &l->instance, error);
    if (status == TALLY_OK) {
        status = tly_vk_instance_load(get, l->instance, &l->fn, error);
    }
    if (status == TALLY_OK) {
        status = read_devices(l, api, error);
    }
    if (status != TALLY_OK) {
        tly_vk_list_close(l);
        return status;
    }
    *list = l;
    return TALLY_OK;
}

void tly_vk_list_close(tly_vk_list *list)
{
    if (list != NULL) {
        if (list->instance != VK_NULL_HANDLE && list->fn.DestroyInstance != NULL) {
            list->fn.DestroyInstance(list->instance, NULL);
        }
        free(list);
    }
}

/* --- choosing -------------------------------------------------------------------------------- */

static tally_status none(const tly_vk_list *list, const char *device, tally_error *error)
{
    if (list->count == 0) {
        tly_fail(error, TALLY_UNSUPPORTED, "device",
                 "there is no %s: no Vulkan driver has a "
                 "device",
                 device);
        tly_error_hint(error, "install a driver (Debian: mesa-vulkan-drivers)");
        return TALLY_UNSUPPORTED;
    }
    return tly_fail(error, TALLY_UNSUPPORTED, "device", "there is no %s, but %zu other device%s",
                    device, list->count, list->count == 1 ? "" : "s");
}

/* The first of the best kind. A CPU would be slower than the kernels for CPUs: it is taken where
 * Vulkan was asked for by name, and there is nothing else. */
static tally_status choose_best(const tly_vk_list *list, int by_name, size_t *index,
                                tally_error *error)
{
    static const VkPhysicalDeviceType order[] = {
        VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU,
        VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU,  VK_PHYSICAL_DEVICE_TYPE_OTHER,
        VK_PHYSICAL_DEVICE_TYPE_CPU,
    };
    size_t kinds = sizeof order / sizeof order[0] - (by_name ? 0 : 1);
    for (size_t o = 0; o < kinds; o++) {
        for (size_t i = 0; i < list->count; i++) {
            if (list->facts[i].type == order[o]) {
                *index = i;
                return TALLY_OK;
            }
        }
    }
    if (list->count == 0) {
        return none(list, "vulkan", error);
    }
    tly_fail(error, TALLY_UNSUPPORTED, "device",
             "there is no GPU, and the only devices are CPUs, such as %.80s", list->facts[0].name);
    tly_error_hint(error, "\"vulkan\" by name takes that device");
    return TALLY_UNSUPPORTED;
}

tally_status tly_vk_choose(const tly_vk_list *list, const char *device, size_t *index,
                           tally_error *error)
{
    if (device == NULL || strcmp(device, "vulkan") == 0) {
        return choose_best(list, device != NULL, index, error);
    }
    if (tly_vulkan_selector(device)) {
        unsigned long long n = strtoull(device + 7, NULL, 10);
        if (n >= list->count) {
            return none(list, device, error);
        }
        *index = (size_t)n;
        return TALLY_OK;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (device[0] != 0 && strcasestr(list->facts[i].name, device) != NULL) {
            *index = i;
            return TALLY_OK;
        }
    }
    return tly_fail(error, TALLY_INVALID, "device", "there is no device %s", device);
}
