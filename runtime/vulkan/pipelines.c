/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a driver made of modules, for the processes that come later: the pipeline cache of a device
 * of our own lies in the folder of the disk cache, beside the kernels. On a host's device there is
 * the host's, or none. Nothing that goes wrong here is more than a pipeline made anew.
 */
#include "internal.h"

#include "../cache/store.h"

#include <stdio.h>
#include <stdlib.h>

static int make_key(const tally_vulkan *v, tly_store_key *key)
{
    const tly_vk_driver *d = &v->facts.driver;
    return tly_store_key_make(key, "vulkan pipelines", d, sizeof *d, "");
}

/* Packs and functions of the host's have kernels, but no pipelines. */
void tly_vk_pipelines_open(tally_vulkan *v)
{
    tly_store *store = &v->context->store;
    const tly_vk_functions *fn = &v->fn;
    tly_store_key key;
    void *known = NULL;
    size_t bytes = 0;
    if (store->folder == NULL || fn->CreatePipelineCache == NULL ||
        fn->DestroyPipelineCache == NULL || fn->GetPipelineCacheData == NULL ||
        !make_key(v, &key)) {
        return;
    }
    VkPipelineCacheCreateInfo info = { .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO };
    if (tly_store_load(store, &key, &known, &bytes, NULL)) {
        info.initialDataSize = v->pipeline_bytes = bytes;
        info.pInitialData = known;
    }
    if (fn->CreatePipelineCache(v->device, &info, NULL, &v->pipelines) != VK_SUCCESS) {
        v->pipelines = VK_NULL_HANDLE;
    }
    free(known);
}

/* With the lock held. Caches only grow: one of the same size has nothing new. */
static void save(tally_vulkan *v)
{
    tly_store_key key;
    tly_store_name name;
    size_t bytes = 0;
    VkResult result = v->fn.GetPipelineCacheData(v->device, v->pipelines, &bytes, NULL);
    if (result != VK_SUCCESS || bytes == v->pipeline_bytes || !make_key(v, &key)) {
        return;
    }
    void *data = malloc(bytes);
    if (data != NULL &&
        v->fn.GetPipelineCacheData(v->device, v->pipelines, &bytes, data) == VK_SUCCESS) {
        snprintf(name.word, sizeof name.word, "pipelines");
        snprintf(name.device, sizeof name.device, "%.63s", v->facts.name);
        tly_store_save(&v->context->store, &key, &name, data, bytes);
        v->pipeline_bytes = bytes;
    }
    free(data);
}

/* Saved after the first pipeline, the second, the fourth and so on, and at the end: a program
 * that never comes to its end leaves most of them, and one of many kernels does not write all
 * the time. */
void tly_vk_pipelines_made(tally_vulkan *v)
{
    if (!v->owned || v->pipelines == VK_NULL_HANDLE) {
        return;
    }
    pthread_mutex_lock(&v->pipeline_lock);
    const unsigned made = ++v->pipelines_made;
    if ((made & (made - 1)) == 0) {
        save(v);
    }
    pthread_mutex_unlock(&v->pipeline_lock);
}

void tly_vk_pipelines_close(tally_vulkan *v)
{
    if (!v->owned || v->pipelines == VK_NULL_HANDLE) {
        return;
    }
    save(v);
    v->fn.DestroyPipelineCache(v->device, v->pipelines, NULL);
}
