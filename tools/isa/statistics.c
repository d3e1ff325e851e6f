/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statistics MODULE.spv ENTRY SUBGROUP ISA: makes a compute pipeline of a module on the first
 * Vulkan device and prints what its driver says of the code, by
 * VK_KHR_pipeline_executable_properties; the code goes to the file ISA as text. SUBGROUP: the size
 * to ask for, or 0. Nothing is dispatched, so that a driver without its GPU does (docs/isa.md).
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

enum { PUSH_BYTES = 128, BUFFERS = 4, MOST = 64 };

static void fail(const char *what, int code)
{
    fprintf(stderr, "statistics: %s: %d\n", what, code);
    exit(1);
}

static void check(VkResult r, const char *what)
{
    if (r != VK_SUCCESS)
        fail(what, r);
}

static PFN_vkGetInstanceProcAddr address_of;

#define OF(instance, name) PFN_##name name = (PFN_##name)address_of(instance, #name)

static uint32_t *read_words(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0)
        fail(path, 0);
    long size = ftell(f);
    uint32_t *words = malloc((size_t)size);
    rewind(f);
    if (words == NULL || fread(words, 1, (size_t)size, f) != (size_t)size)
        fail(path, 0);
    fclose(f);
    *bytes = (size_t)size;
    return words;
}

static VkInstance make_instance(void)
{
    OF(NULL, vkCreateInstance);
    VkInstance instance;
    VkApplicationInfo app = { VK_STRUCTURE_TYPE_APPLICATION_INFO };
    VkInstanceCreateInfo info = { VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO };
    app.apiVersion = VK_API_VERSION_1_3;
    info.pApplicationInfo = &app;
    check(vkCreateInstance(&info, NULL, &instance), "vkCreateInstance");
    return instance;
}

static VkPhysicalDevice first_device(VkInstance instance)
{
    OF(instance, vkEnumeratePhysicalDevices);
    VkPhysicalDevice device;
    uint32_t one = 1;
    VkResult r = vkEnumeratePhysicalDevices(instance, &one, &device);
    if ((r != VK_SUCCESS && r != VK_INCOMPLETE) || one == 0)
        fail("no device", r);
    return device;
}

/* With all features that it has, since who made a module knows which it needs; but without the
 * checks of every access that Tally never asks for either. */
static VkDevice make_device(VkInstance instance, VkPhysicalDevice physical)
{
    OF(instance, vkGetPhysicalDeviceFeatures2);
    OF(instance, vkCreateDevice);
    static const char *const extensions[] = { "VK_KHR_pipeline_executable_properties" };
    static const float priority = 1;
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR shows = {
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR
    };
    VkPhysicalDeviceVulkan13Features v13 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES,
                                             &shows };
    VkPhysicalDeviceVulkan12Features v12 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
                                             &v13 };
    VkPhysicalDeviceVulkan11Features v11 = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
                                             &v12 };
    VkPhysicalDeviceFeatures2 all = { VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, &v11 };
    VkDeviceQueueCreateInfo queue = { VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO };
    VkDeviceCreateInfo info = { VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &all };
    VkDevice device;
    vkGetPhysicalDeviceFeatures2(physical, &all);
    all.features.robustBufferAccess = VK_FALSE;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = extensions;
    check(vkCreateDevice(physical, &info, NULL, &device), "vkCreateDevice");
    return device;
}

static VkPipelineLayout make_layout(VkInstance instance, VkDevice device)
{
    OF(instance, vkCreateDescriptorSetLayout);
    OF(instance, vkCreatePipelineLayout);
    VkDescriptorSetLayoutBinding bindings[BUFFERS] = { 0 };
    VkDescriptorSetLayoutCreateInfo set_info = {
        VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO
    };
    VkPushConstantRange push = { VK_SHADER_STAGE_COMPUTE_BIT, 0, PUSH_BYTES };
    VkPipelineLayoutCreateInfo info = { VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO };
    VkDescriptorSetLayout set;
    VkPipelineLayout layout;
    for (uint32_t i = 0; i < BUFFERS; i++) {
        bindings[i].binding = i;
        bindings[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        bindings[i].descriptorCount = 1;
        bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
    }
    set_info.bindingCount = BUFFERS;
    set_info.pBindings = bindings;
    check(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set),
          "vkCreateDescriptorSetLayout");
    info.setLayoutCount = 1;
    info.pSetLayouts = &set;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &push;
    check(vkCreatePipelineLayout(device, &info, NULL, &layout), "vkCreatePipelineLayout");
    return layout;
}

static VkPipeline make_pipeline(VkInstance instance, VkDevice device, const char *path,
                                const char *entry, uint32_t subgroup)
{
    OF(instance, vkCreateShaderModule);
    OF(instance, vkCreateComputePipelines);
    VkShaderModuleCreateInfo code = { VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO };
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO
    };
    VkComputePipelineCreateInfo info = { VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO };
    VkPipeline pipeline;
    code.pCode = read_words(path, &code.codeSize);
    size.requiredSubgroupSize = subgroup;
    info.flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR |
                 VK_PIPELINE_CREATE_CAPTURE_INTERNAL_REPRESENTATIONS_BIT_KHR;
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.pNext = subgroup > 0 ? &size : NULL;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.pName = entry;
    info.layout = make_layout(instance, device);
    check(vkCreateShaderModule(device, &code, NULL, &info.stage.module), "vkCreateShaderModule");
    check(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline),
          "vkCreateComputePipelines");
    return pipeline;
}

static void print_statistics(VkInstance instance, VkDevice device,
                             const VkPipelineExecutableInfoKHR *which)
{
    OF(instance, vkGetPipelineExecutableStatisticsKHR);
    VkPipelineExecutableStatisticKHR all[MOST];
    uint32_t count = MOST;
    memset(all, 0, sizeof all);
    for (uint32_t i = 0; i < MOST; i++)
        all[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR;
    check(vkGetPipelineExecutableStatisticsKHR(device, which, &count, all), "statistics");
    for (uint32_t i = 0; i < count; i++) {
        printf("statistic\t%s\t", all[i].name);
        if (all[i].format == VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR)
            printf("%g\n", all[i].value.f64);
        else /* 32 bits of a truth value, 64 of a number */
            printf("%llu\n", (unsigned long long)all[i].value.u64);
    }
}

/* The last representation that is text is the code. */
static void write_code(VkInstance instance, VkDevice device,
                       const VkPipelineExecutableInfoKHR *which, const char *path)
{
    OF(instance, vkGetPipelineExecutableInternalRepresentationsKHR);
    VkPipelineExecutableInternalRepresentationKHR all[MOST];
    uint32_t count = MOST;
    memset(all, 0, sizeof all);
    for (uint32_t i = 0; i < MOST; i++)
        all[i].sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INTERNAL_REPRESENTATION_KHR;
    check(vkGetPipelineExecutableInternalRepresentationsKHR(device, which, &count, all), "sizes");
    for (uint32_t i = 0; i < count; i++) {
        all[i].pData = calloc(1, all[i].dataSize + 1);
        if (all[i].pData == NULL)
            fail("no memory", 0);
    }
    check(vkGetPipelineExecutableInternalRepresentationsKHR(device, which, &count, all), "code");
    FILE *f = fopen(path, "w");
    if (f == NULL)
        fail(path, 0);
    for (uint32_t i = count; i > 0; i--)
        if (all[i - 1].isText) {
            fputs(all[i - 1].pData, f);
            break;
        }
    fclose(f);
}

int main(int argc, char **argv)
{
    void *loader = dlopen("libvulkan.so.1", RTLD_NOW);
    if (argc != 5 || loader == NULL) {
        fprintf(stderr, "usage: statistics MODULE.spv ENTRY SUBGROUP ISA\n");
        return 2;
    }
    address_of = (PFN_vkGetInstanceProcAddr)dlsym(loader, "vkGetInstanceProcAddr");
    VkInstance instance = make_instance();
    VkDevice device = make_device(instance, first_device(instance));
    VkPipelineExecutableInfoKHR which = { VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR };
    which.pipeline = make_pipeline(instance, device, argv[1], argv[2],
                                   (uint32_t)strtoul(argv[3], NULL, 10));
    print_statistics(instance, device, &which);
    write_code(instance, device, &which, argv[4]);
    return 0;
}
