/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses Vulkan on purpose wrongly, to show that tests/vulkan/validated notices:
 *
 *   violation none|core|sync|gpu [MODULE]
 *
 * core: a buffer of no size. sync: two fills of one buffer without a barrier between. gpu: the
 * module writes behind the end of its buffer, which only instrumented code can see. All but the
 * layer's messages is right, so that exactly one thing is found. Exit status 0: it ran to its end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>

enum { BYTES = 256, WORDS = 1024 };

static struct {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t family;
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkShaderModule module;
    VkDescriptorSetLayout set_layout;
    VkPipelineLayout layout;
    VkPipeline pipeline;
    VkDescriptorPool sets;
    VkDescriptorSet set;
} v;

static void must(VkResult result, const char *what)
{
    if (result == VK_SUCCESS)
        return;
    fprintf(stderr, "violation: %s: %d\n", what, (int)result);
    exit(1);
}

static void open_device(void)
{
    const VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                    .apiVersion = VK_API_VERSION_1_2 };
    const VkInstanceCreateInfo instance = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                            .pApplicationInfo = &app };
    const float priority = 1;
    VkDeviceQueueCreateInfo queue = { .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority };
    const VkDeviceCreateInfo device = { .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                        .queueCreateInfoCount = 1,
                                        .pQueueCreateInfos = &queue };
    VkQueueFamilyProperties families[16];
    uint32_t count = 1;

    must(vkCreateInstance(&instance, NULL, &v.instance), "vkCreateInstance");
    VkResult found = vkEnumeratePhysicalDevices(v.instance, &count, &v.physical);
    if (count == 0 || (found != VK_SUCCESS && found != VK_INCOMPLETE))
        must(VK_ERROR_INITIALIZATION_FAILED, "no device");
    count = sizeof families / sizeof families[0];
    vkGetPhysicalDeviceQueueFamilyProperties(v.physical, &count, families);
    while (queue.queueFamilyIndex < count &&
           !(families[queue.queueFamilyIndex].queueFlags & VK_QUEUE_COMPUTE_BIT))
        queue.queueFamilyIndex++;
    v.family = queue.queueFamilyIndex;
    must(vkCreateDevice(v.physical, &device, NULL, &v.device), "vkCreateDevice");
    vkGetDeviceQueue(v.device, v.family, 0, &v.queue);
}

static VkResult make_buffer(VkDeviceSize bytes, VkBuffer *buffer)
{
    const VkBufferCreateInfo info = { .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                      .size = bytes,
                                      .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                                               VK_BUFFER_USAGE_TRANSFER_DST_BIT };
    return vkCreateBuffer(v.device, &info, NULL, buffer);
}

static void bind_memory(void)
{
    VkMemoryRequirements needs;
    VkPhysicalDeviceMemoryProperties has;
    VkMemoryAllocateInfo info = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };

    vkGetBufferMemoryRequirements(v.device, v.buffer, &needs);
    vkGetPhysicalDeviceMemoryProperties(v.physical, &has);
    info.allocationSize = needs.size;
    while (info.memoryTypeIndex < has.memoryTypeCount &&
           !(needs.memoryTypeBits >> info.memoryTypeIndex & 1))
        info.memoryTypeIndex++;
    must(vkAllocateMemory(v.device, &info, NULL, &v.memory), "vkAllocateMemory");
    must(vkBindBufferMemory(v.device, v.buffer, v.memory, 0), "vkBindBufferMemory");
}

static void make_pipeline(const char *path)
{
    static uint32_t words[WORDS];
    FILE *file = fopen(path, "rb");
    const size_t count = file ? fread(words, sizeof words[0], WORDS, file) : 0;
    const VkShaderModuleCreateInfo module = { .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                              .codeSize = 4 * count,
                                              .pCode = words };
    const VkDescriptorSetLayoutBinding binding = { 0, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1,
                                                   VK_SHADER_STAGE_COMPUTE_BIT, NULL };
    const VkDescriptorSetLayoutCreateInfo set_layout = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .bindingCount = 1,
        .pBindings = &binding
    };
    const VkPipelineLayoutCreateInfo layout = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = 1,
        .pSetLayouts = &v.set_layout
    };
    VkComputePipelineCreateInfo pipeline = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = { .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                   .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                   .pName = "main" }
    };
    const VkDescriptorPoolSize size = { VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1 };
    const VkDescriptorPoolCreateInfo sets = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = 1,
        .poolSizeCount = 1,
        .pPoolSizes = &size
    };
    VkDescriptorSetAllocateInfo set = { .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
                                        .descriptorSetCount = 1,
                                        .pSetLayouts = &v.set_layout };
    const VkDescriptorBufferInfo whole = { v.buffer, 0, VK_WHOLE_SIZE };
    VkWriteDescriptorSet write = { .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                   .descriptorCount = 1,
                                   .pBufferInfo = &whole,
                                   .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER };

    if (file)
        fclose(file);
    must(vkCreateShaderModule(v.device, &module, NULL, &v.module), path);
    must(vkCreateDescriptorSetLayout(v.device, &set_layout, NULL, &v.set_layout), "set layout");
    must(vkCreatePipelineLayout(v.device, &layout, NULL, &v.layout), "pipeline layout");
    pipeline.layout = v.layout;
    pipeline.stage.module = v.module;
    must(vkCreateComputePipelines(v.device, VK_NULL_HANDLE, 1, &pipeline, NULL, &v.pipeline),
         "pipeline");
    must(vkCreateDescriptorPool(v.device, &sets, NULL, &v.sets), "pool of sets");
    set.descriptorPool = v.sets;
    must(vkAllocateDescriptorSets(v.device, &set, &v.set), "set");
    write.dstSet = v.set;
    vkUpdateDescriptorSets(v.device, 1, &write, 0, NULL);
}

static void submit(int fills, int dispatch)
{
    const VkCommandPoolCreateInfo pool = { .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                           .queueFamilyIndex = v.family };
    VkCommandBufferAllocateInfo commands = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, .commandBufferCount = 1
    };
    const VkCommandBufferBeginInfo begin = { .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO };
    const VkSubmitInfo info = { .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                                .commandBufferCount = 1,
                                .pCommandBuffers = &v.commands };

    must(vkCreateCommandPool(v.device, &pool, NULL, &v.pool), "vkCreateCommandPool");
    commands.commandPool = v.pool;
    must(vkAllocateCommandBuffers(v.device, &commands, &v.commands), "vkAllocateCommandBuffers");
    must(vkBeginCommandBuffer(v.commands, &begin), "vkBeginCommandBuffer");
    for (int k = 0; k < fills; k++)
        vkCmdFillBuffer(v.commands, v.buffer, 0, BYTES, (uint32_t)k);
    if (dispatch) {
        vkCmdBindPipeline(v.commands, VK_PIPELINE_BIND_POINT_COMPUTE, v.pipeline);
        vkCmdBindDescriptorSets(v.commands, VK_PIPELINE_BIND_POINT_COMPUTE, v.layout, 0, 1, &v.set,
                                0, NULL);
        vkCmdDispatch(v.commands, 1, 1, 1);
    }
    must(vkEndCommandBuffer(v.commands), "vkEndCommandBuffer");
    must(vkQueueSubmit(v.queue, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit");
    must(vkQueueWaitIdle(v.queue), "vkQueueWaitIdle");
}

static void close_device(void)
{
    vkDestroyDescriptorPool(v.device, v.sets, NULL);
    vkDestroyPipeline(v.device, v.pipeline, NULL);
    vkDestroyPipelineLayout(v.device, v.layout, NULL);
    vkDestroyDescriptorSetLayout(v.device, v.set_layout, NULL);
    vkDestroyShaderModule(v.device, v.module, NULL);
    vkDestroyCommandPool(v.device, v.pool, NULL);
    vkDestroyBuffer(v.device, v.buffer, NULL);
    vkFreeMemory(v.device, v.memory, NULL);
    vkDestroyDevice(v.device, NULL);
    vkDestroyInstance(v.instance, NULL);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "none";
    VkBuffer wrong = VK_NULL_HANDLE;

    open_device();
    must(make_buffer(BYTES, &v.buffer), "vkCreateBuffer");
    bind_memory();
    if (!strcmp(kind, "core") && make_buffer(0, &wrong) == VK_SUCCESS)
        vkDestroyBuffer(v.device, wrong, NULL);
    if (argc > 2)
        make_pipeline(argv[2]);
    submit(!strcmp(kind, "sync") ? 2 : 1, !strcmp(kind, "gpu"));
    close_device();
    printf("violation: %s: ran to its end\n", kind);
    return 0;
}
