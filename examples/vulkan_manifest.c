/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a kernel that was made ahead of time, on Vulkan, without libtally:
 *
 *   tally compile rows=cumsum:f32:64x1000:axis=1 -o rows.h --device vulkan
 *   cc -DHEADER='"rows.h"' -DKERNEL=rows vulkan_manifest.c vulkan_host.c vulkan_device.c -lvulkan
 *   ./a.out IN OUT [A B C D] [CARRY_IN CARRY_OUT]    # files of elements, as they lie in memory
 *
 * Here is all that the manifest asks of an engine; the other two files are in place of what an
 * engine has. The program takes any device that has what the kernel needs, also another one than
 * the kernel was made for.
 */
#include "vulkan_host.h"

#include <stdio.h>
#include <string.h>

#include HEADER

enum { ALIGN = 256, BUFFERS = 9, MODULES = 3 }; /* no device aligns more, no kernel has more */
enum { IN, OUT, FIRST_MORE = 3 };               /* of the buffers; then operands and states */

static const tally_manifest *const m = &KERNEL;

static const VkPipelineStageFlags compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
static const VkAccessFlags shader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static host_needs needs_of_kernel(void)
{
    host_needs needs = { .feature_count = m->feature_count,
                         .property_count = m->property_count,
                         .features = m->features,
                         .properties = m->properties,
                         .subgroup_size = m->subgroup_size,
                         .subgroup_operations = m->subgroup_operations,
                         .storage_buffers = m->storage_buffers };
    for (uint32_t i = 0; i < m->module_count; i++) {
        const tally_manifest_module *module = &m->modules[i];
        needs.workgroup = larger(needs.workgroup, module->workgroup);
        needs.workgroup_bytes = larger(needs.workgroup_bytes, module->workgroup_bytes);
        needs.required_subgroup = larger(needs.required_subgroup, module->subgroup);
    }
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        if (m->buffers[i].bytes > needs.buffer_bytes) {
            needs.buffer_bytes = m->buffers[i].bytes;
        }
    }
    return needs;
}

/* All buffers are ranges of one: "in", "out", what the kernel has for itself, then the other
 * tensors. */
static void make_ranges(host *h, VkDescriptorBufferInfo ranges[BUFFERS])
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        ranges[i].offset = end;
        ranges[i].range = m->buffers[i].bytes;
        end += (m->buffers[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
    }
    host_allocate(h, end);
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        const tally_manifest_buffer *b = &m->buffers[i];
        ranges[i].buffer = h->buffer;
        if (b->data_bytes > 0) { /* parameters, once before the first run */
            memcpy(h->memory + ranges[i].offset, b->data, b->data_bytes);
        }
    }
}

/* Binds the buffers and makes a pipeline of each module. */
static VkPipelineLayout make_pipelines(const host *h, const VkDescriptorBufferInfo *ranges,
                                       VkPipeline pipelines[MODULES])
{
    uint32_t bindings[BUFFERS]; /* all are of set 0 */
    VkDescriptorSetLayout set_layout;
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        bindings[i] = m->buffers[i].binding;
    }
    VkDescriptorSet set = host_bind(h, m->buffer_count, bindings, ranges, &set_layout);
    VkPipelineLayout layout = host_layout(h, set_layout, sizeof m->dispatches->push);
    for (uint32_t i = 0; i < m->module_count; i++) {
        const tally_manifest_module *module = &m->modules[i];
        pipelines[i] = host_pipeline(h, layout, module->entry, module->subgroup, module->words,
                                     module->word_count);
    }
    vkCmdBindDescriptorSets(h->commands, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                            NULL);
    return layout;
}

/* What is zero before every run, and each dispatch behind the barrier that it needs. */
static void record(const host *h, const VkDescriptorBufferInfo *ranges, VkPipelineLayout layout,
                   const VkPipeline *pipelines)
{
    for (uint32_t i = 0; i < m->zero_count; i++) {
        const tally_manifest_zero *z = &m->zeros[i];
        vkCmdFillBuffer(h->commands, h->buffer, ranges[z->buffer].offset + z->offset, z->bytes, 0);
        host_barrier(h, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, compute,
                     shader);
    }
    for (uint32_t i = 0; i < m->dispatch_count; i++) {
        const tally_manifest_dispatch *d = &m->dispatches[i];
        if (d->barrier) {
            host_barrier(h, compute, VK_ACCESS_SHADER_WRITE_BIT, compute, shader);
        }
        vkCmdBindPipeline(h->commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipelines[d->module]);
        vkCmdPushConstants(h->commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof d->push,
                           d->push);
        vkCmdDispatch(h->commands, d->groups[0], d->groups[1], d->groups[2]);
    }
    host_barrier(h, compute, VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                 VK_ACCESS_HOST_READ_BIT);
}

static void read_tensor(const host *h, const VkDescriptorBufferInfo *range, const char *path)
{
    FILE *file = fopen(path, "rb");
    must(file != NULL, "opening a tensor");
    must(fread(h->memory + range->offset, 1, range->range, file) > 0, "reading");
    fclose(file);
}

static void write_tensor(const host *h, const VkDescriptorBufferInfo *range, const char *path)
{
    FILE *file = fopen(path, "wb");
    must(file != NULL, "opening a result");
    must(fwrite(h->memory + range->offset, 1, range->range, file) == range->range &&
             fclose(file) == 0,
         "writing");
}

static int is_made(uint32_t buffer)
{
    return buffer == OUT || strcmp(m->buffers[buffer].name, "carry_out") == 0;
}

/* The file of a tensor. What the kernel has for itself has none. */
static const char *file_of(char **args, uint32_t buffer)
{
    return buffer < FIRST_MORE ? args[1 + buffer] : args[buffer];
}

int main(int count, char **args)
{
    host h;
    VkDescriptorBufferInfo ranges[BUFFERS];
    VkPipeline pipelines[MODULES];
    const uint32_t more = m->buffer_count > FIRST_MORE ? m->buffer_count - FIRST_MORE : 0;
    must(count == 3 + (int)more, "finding a file for each tensor");
    const host_needs needs = needs_of_kernel();
    host_open(&h, &needs);
    make_ranges(&h, ranges);
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        if ((i == IN || i >= FIRST_MORE) && !is_made(i)) {
            read_tensor(&h, &ranges[i], file_of(args, i));
        }
    }
    record(&h, ranges, make_pipelines(&h, ranges, pipelines), pipelines);
    host_run(&h);
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        if (is_made(i)) {
            write_tensor(&h, &ranges[i], file_of(args, i));
        }
    }
    return 0;
}
