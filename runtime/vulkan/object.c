/*
 * Pipelines, kept by problem and plan. Thread-safe: one making for one key however many threads
 * ask at once; a failed making fails for all who waited and is tried again by the next. Bounded:
 * the least recently used of those that nobody holds go.
 */
#include "internal.h"

#include "../error.h"
#include "../isolate.h"

#include <stdlib.h>
#include <string.h>

enum { MAKING, MADE, FAILED };

void tly_vk_objects_init(tly_vk_objects *objects, size_t bound)
{
    pthread_mutex_init(&objects->lock, NULL);
    pthread_cond_init(&objects->made, NULL);
    objects->bound = bound;
}

/* --- making --------------------------------------------------------------------------------- */

static tally_status make_pipeline(tally_vulkan *v, const tly_gpu_launch *launch, uint32_t pass,
                                  const tly_gpu_artefact *a, VkPipeline *pipeline,
                                  tally_error *error)
{
    const tly_gpu_pass *p = &launch->pass[pass];
    VkShaderModuleCreateInfo code = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = a->word_count[pass] * 4,
        .pCode = a->words[pass],
    };
    VkShaderModule module;
    VkResult result = v->fn.CreateShaderModule(v->device, &code, NULL, &module);
    if (result != VK_SUCCESS) {
        return tly_vk_fail(v, result, "vkCreateShaderModule", error);
    }
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = p->subgroup,
    };
    int full = v->facts.full_subgroups && p->subgroup > 0 && p->workgroup % p->subgroup == 0;
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {
            .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
            .pNext = v->facts.caps.size_control && p->subgroup > 0 ? &size : NULL,
            .flags = full ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT : 0,
            .stage = VK_SHADER_STAGE_COMPUTE_BIT,
            .module = module,
            .pName = "main",
        },
        .layout = v->layout[launch->addresses],
    };
    result = v->fn.CreateComputePipelines(v->device, VK_NULL_HANDLE, 1, &info, NULL, pipeline);
    v->fn.DestroyShaderModule(v->device, module, NULL);
    return result == VK_SUCCESS ? TALLY_OK
                                : tly_vk_fail(v, result, "vkCreateComputePipelines", error);
}

static void destroy_pipelines(tally_vulkan *v, tly_vk_object *o)
{
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        v->fn.DestroyPipeline(v->device, o->pipeline[i], NULL);
        o->pipeline[i] = VK_NULL_HANDLE;
    }
}

static int sound(const tly_gpu_artefact *a)
{
    int good = a->launch.abi == TLY_GPU_ABI_VERSION && a->launch.passes >= 1 &&
               a->launch.passes <= TLY_GPU_PASSES && a->launch.addresses <= 1;
    for (uint32_t i = 0; good && i < a->launch.passes; i++) {
        good = a->words[i] != NULL && a->word_count[i] >= 5 && a->words[i][0] == 0x07230203;
    }
    return good;
}

static tally_status make_pipelines(tally_vulkan *v, const tly_gpu_artefact *artefact,
                                   tly_vk_object *o, tally_error *error)
{
    if (!sound(artefact)) {
        return tly_fail(error, TALLY_INTERNAL, "device", "the generator's launch record is bad");
    }
    o->launch = artefact->launch;
    tally_status status = TALLY_OK;
    for (uint32_t i = 0; i < o->launch.passes && status == TALLY_OK; i++) {
        status = make_pipeline(v, &o->launch, i, artefact, &o->pipeline[i], error);
    }
    if (status != TALLY_OK) {
        destroy_pipelines(v, o);
    }
    return status;
}

static tally_status make(tally_vulkan *v, const tly_generator *generator, tly_vk_object *o,
                         tally_error *error)
{
    tly_gpu_artefact artefact;
    memset(&artefact, 0, sizeof artefact);
    tally_status status = tly_make_gpu(v->context, generator, &o->problem, &v->facts.caps, &o->plan,
                                       &artefact, error);
    if (status == TALLY_OK) {
        status = make_pipelines(v, &artefact, o, error);
        tly_release_gpu_artefact(v->context, generator, &artefact);
    }
    return status;
}

/* --- the table ------------------------------------------------------------------------------ */

/* FNV-1a; keys are few and long-lived. */
static uint64_t hash_bytes(uint64_t hash, const void *from, size_t bytes)
{
    const unsigned char *p = from;
    for (size_t i = 0; i < bytes; i++) {
        hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static tly_vk_object *find(tly_vk_objects *t, uint64_t hash, const tly_problem *problem,
                           const tly_gpu_plan *plan)
{
    tly_vk_object *o = t->bucket[hash % TLY_VK_BUCKETS];
    while (o != NULL && (o->hash != hash || memcmp(&o->problem, problem, sizeof *problem) != 0 ||
                         memcmp(&o->plan, plan, sizeof *plan) != 0)) {
        o = o->next;
    }
    return o;
}

static void take_out(tly_vk_objects *t, tly_vk_object *o)
{
    tly_vk_object **link = &t->bucket[o->hash % TLY_VK_BUCKETS];
    while (*link != o) {
        link = &(*link)->next;
    }
    *link = o->next;
    t->count--;
}

static void evict(tally_vulkan *v)
{
    tly_vk_objects *t = &v->objects;
    while (t->count > t->bound) {
        tly_vk_object *oldest = NULL;
        for (size_t b = 0; b < TLY_VK_BUCKETS; b++) {
            for (tly_vk_object *o = t->bucket[b]; o != NULL; o = o->next) {
                if (o->refs == 0 && (oldest == NULL || o->used < oldest->used)) {
                    oldest = o;
                }
            }
        }
        if (oldest == NULL) {
            return;
        }
        take_out(t, oldest);
        destroy_pipelines(v, oldest);
        free(oldest);
    }
}

static void count(tally_vulkan *v, int hit)
{
    tly_cache *c = &v->context->cache;
    pthread_mutex_lock(&c->lock);
    c->hits += hit;
    c->compiled += !hit;
    pthread_mutex_unlock(&c->lock);
}

/* Waits, with the lock held, until somebody else's making has ended. */
static tally_status await(tally_vulkan *v, tly_vk_object *o, tally_error *error)
{
    tly_vk_objects *t = &v->objects;
    while (o->state == MAKING) {
        pthread_cond_wait(&t->made, &t->lock);
    }
    if (o->state == MADE) {
        count(v, 1);
        return TALLY_OK;
    }
    tally_status status = tly_fail(error, (tally_status)o->failure.status, o->failure.field, "%s",
                                   o->failure.message);
    tly_error_hint(error, "%s", o->failure.hint);
    if (--o->refs == 0) {
        free(o);
    }
    return status;
}

static tally_status make_new(tally_vulkan *v, const tly_generator *generator, tly_vk_object *o,
                             tally_error *error)
{
    tly_vk_objects *t = &v->objects;
    t->count++;
    o->next = t->bucket[o->hash % TLY_VK_BUCKETS];
    t->bucket[o->hash % TLY_VK_BUCKETS] = o;
    pthread_mutex_unlock(&t->lock);
    tally_error failure = TALLY_ERROR_INIT;
    tally_status status = make(v, generator, o, &failure);
    pthread_mutex_lock(&t->lock);
    o->state = status == TALLY_OK ? MADE : FAILED;
    pthread_cond_broadcast(&t->made);
    if (status == TALLY_OK) {
        count(v, 0);
        evict(v);
        return TALLY_OK;
    }
    o->failure = failure;
    take_out(t, o);
    return await(v, o, error);
}

tally_status tly_vk_object_get(tally_vulkan *v, const tly_generator *generator,
                               const tly_problem *problem, const tly_gpu_plan *plan,
                               tly_vk_object **object, tally_error *error)
{
    uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), problem, sizeof *problem);
    hash = hash_bytes(hash, plan, sizeof *plan);
    tly_vk_objects *t = &v->objects;
    tally_status status;
    pthread_mutex_lock(&t->lock);
    tly_vk_object *o = find(t, hash, problem, plan);
    if (o != NULL) {
        o->refs++;
        o->used = ++t->clock;
        status = await(v, o, error);
    } else if ((o = calloc(1, sizeof *o)) == NULL) {
        status = tly_out_of_memory(error, "pipelines", sizeof *o);
    } else {
        o->refs = 1;
        o->used = ++t->clock;
        o->hash = hash;
        o->problem = *problem;
        memcpy(&o->plan, plan, sizeof *plan);
        status = make_new(v, generator, o, error);
    }
    pthread_mutex_unlock(&t->lock);
    if (status == TALLY_OK) {
        *object = o;
    }
    return status;
}

void tly_vk_object_hold(tally_vulkan *v, tly_vk_object *object)
{
    pthread_mutex_lock(&v->objects.lock);
    object->refs++;
    pthread_mutex_unlock(&v->objects.lock);
}

void tly_vk_object_drop(tally_vulkan *v, tly_vk_object *object)
{
    pthread_mutex_lock(&v->objects.lock);
    object->refs--;
    evict(v);
    pthread_mutex_unlock(&v->objects.lock);
}

void tly_vk_objects_end(tally_vulkan *v)
{
    tly_vk_objects *t = &v->objects;
    int alive = tly_vk_alive(v);
    for (size_t b = 0; b < TLY_VK_BUCKETS; b++) {
        while (t->bucket[b] != NULL) {
            tly_vk_object *o = t->bucket[b];
            t->bucket[b] = o->next;
            if (alive) {
                destroy_pipelines(v, o);
            }
            free(o);
        }
    }
    pthread_cond_destroy(&t->made);
    pthread_mutex_destroy(&t->lock);
}
