/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests/headers, as C and as C++: everything public in one file, and each struct that begins
 * with a size set up by its macro. A field that a macro forgets is a warning there.
 */
#include <tally.h>
#ifdef WITH_VULKAN
#include <tally/vulkan.h>
#endif

int main(void)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor descriptor = TALLY_DESCRIPTOR_INIT;
    tally_context_options context = TALLY_CONTEXT_OPTIONS_INIT;
    tally_kernel_options kernel = TALLY_KERNEL_OPTIONS_INIT;
    tally_device device = TALLY_DEVICE_INIT;
    tally_stats stats = TALLY_STATS_INIT;
    tally_run_options run = TALLY_RUN_OPTIONS_INIT;
    tally_gradient_step step = TALLY_GRADIENT_STEP_INIT;
    size_t sizes = error.size + descriptor.size + context.size + kernel.size + device.size +
                   stats.size + run.size + step.size + step.descriptor.size;
#ifdef WITH_VULKAN
    tally_vulkan_host host = TALLY_VULKAN_HOST_INIT;
    tally_vulkan_facts facts = TALLY_VULKAN_FACTS_INIT;
    tally_vulkan_buffers buffers = TALLY_VULKAN_BUFFERS_INIT;
    tally_vulkan_sync sync = TALLY_VULKAN_SYNC_INIT;
    sizes += host.size + facts.size + buffers.size + sync.size;
#endif
    return sizes == 0;
}
