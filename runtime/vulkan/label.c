/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for debuggers and profilers of Vulkan, where VK_EXT_debug_utils is enabled: kernels by
 * their words without sizes.
 */
#include "internal.h"

/* Layers hand out the functions of an extension that is not enabled, too. */
void tly_vk_labels_off(tally_vulkan *v)
{
    v->fn.CmdBeginDebugUtilsLabelEXT = NULL;
    v->fn.CmdEndDebugUtilsLabelEXT = NULL;
    v->fn.SetDebugUtilsObjectNameEXT = NULL;
}

void tly_vk_label_begin(const tally_vulkan_kernel *k, VkCommandBuffer commands)
{
    const tly_vk_functions *fn = &k->vulkan->fn;
    char word[64];
    if (fn->CmdBeginDebugUtilsLabelEXT == NULL || fn->CmdEndDebugUtilsLabelEXT == NULL) {
        return;
    }
    tly_problem_word(&k->problem, word, sizeof word);
    const VkDebugUtilsLabelEXT label = { .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                                         .pLabelName = word };
    fn->CmdBeginDebugUtilsLabelEXT(commands, &label);
}

void tly_vk_label_end(const tally_vulkan_kernel *k, VkCommandBuffer commands)
{
    const tly_vk_functions *fn = &k->vulkan->fn;
    if (fn->CmdBeginDebugUtilsLabelEXT != NULL && fn->CmdEndDebugUtilsLabelEXT != NULL) {
        fn->CmdEndDebugUtilsLabelEXT(commands);
    }
}

void tly_vk_label_pipeline(const tally_vulkan *v, VkPipeline pipeline, const char *name)
{
    const VkDebugUtilsObjectNameInfoEXT info = {
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = VK_OBJECT_TYPE_PIPELINE,
        .objectHandle = (uint64_t)pipeline,
        .pObjectName = name,
    };
    if (v->fn.SetDebugUtilsObjectNameEXT != NULL) {
        (void)v->fn.SetDebugUtilsObjectNameEXT(v->device, &info);
    }
}
