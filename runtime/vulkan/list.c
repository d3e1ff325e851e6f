/* The Vulkan devices of this machine, and which of them a text means. */
#include "internal.h"

#include "../error.h"

#include <stdlib.h>
#include <string.h>

/* 1 if the loader knows the extension that shows layered drivers, such as MoltenVK. */
static int has_portability(PFN_vkGetInstanceProcAddr get)
{
    PFN_vkEnumerateInstanceExtensionProperties enumerate =
        (PFN_vkEnumerateInstanceExtensionProperties)get(NULL,
                                                        "vkEnumerateInstanceExtensionProperties");
    uint32_t count = 0;
    if (enumerate == NULL || enumerate(NULL, &count, NULL) != VK_SUCCESS || count == 0) {
        return 0;
    }
    VkExtensionProperties *list = calloc(count, sizeof *list);
    int found = 0;
    if (list != NULL && enumerate(NULL, &count, list) >= VK_SUCCESS) {
        for (uint32_t i = 0; i < count; i++) {
            found |= strcmp(list[i].extensionName,
                            VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME) == 0;
        }
    }
    free(list);
    return found;
}

static tally_status create_instance(PFN_vkGetInstanceProcAddr get, uint32_t *api,
                                    VkInstance *instance, tally_error *error)
{
    PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
    PFN_vkEnumerateInstanceVersion version =
        (PFN_vkEnumerateInstanceVersion)get(NULL, "vkEnumerateInstanceVersion");
    uint32_t loader = 0;
    if (create == NULL || version == NULL || version(&loader) != VK_SUCCESS) {
        return tly_fail(error, TALLY_UNSUPPORTED, "device", "this Vulkan loader is below 1.1");
    }
    *api = loader < VK_API_VERSION_1_3 ? loader : VK_API_VERSION_1_3;
    VkApplicationInfo application = {
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .pEngineName = "tally", .apiVersion = *api,
    };
    static const char *const portability = VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME;
    int layered = has_portability(get);
    VkInstanceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .flags = layered ? VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR : 0,
        .pApplicationInfo = &application,
        .enabledExtensionCount = (uint32_t)layered,
        .ppEnabledExtensionNames = &portability,
    };
    VkResult result = create(&info, NULL, instance);
    if (result == VK_ERROR_OUT_OF_HOST_MEMORY) {
        return tly_out_of_memory(error, "a Vulkan instance", sizeof info);
    }
    if (result != VK_SUCCESS) {
        tly_fail(error, TALLY_UNSUPPORTED, "device", "no Vulkan driver answers (%d)", result);
        tly_error_hint(error, "install a driver (Debian: mesa-vulkan-drivers)");
        return TALLY_UNSUPPORTED;
    }
    return TALLY_OK;
}

static void read_devices(tly_vk_list *list, uint32_t api)
{
    VkPhysicalDevice all[TLY_VK_DEVICES];
    uint32_t count = TLY_VK_DEVICES;
    if (list->fn.EnumeratePhysicalDevices(list->instance, &count, all) < VK_SUCCESS) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        tly_vk_facts *facts = &list->facts[list->count];
        tly_vk_facts_read(&list->fn, all[i], api, NULL, facts);
        if (facts->family != UINT32_MAX && facts->api >= VK_API_VERSION_1_1) {
            list->physical[list->count++] = all[i];
        }
    }
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
    if (status != TALLY_OK) {
        free(l);
        return status;
    }
    read_devices(l, api);
    *list = l;
    return TALLY_OK;
}

void tly_vk_list_close(tly_vk_list *list)
{
    if (list != NULL) {
        if (list->instance != VK_NULL_HANDLE) {
            list->fn.DestroyInstance(list->instance, NULL);
        }
        free(list);
    }
}

/* --- choosing -------------------------------------------------------------------------------- */

static tally_status none(const tly_vk_list *list, const char *device, tally_error *error)
{
    if (list->count == 0) {
        tly_fail(error, TALLY_UNSUPPORTED, "device", "there is no %s: no Vulkan driver has a "
                 "device", device);
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
        VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU, VK_PHYSICAL_DEVICE_TYPE_OTHER,
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
