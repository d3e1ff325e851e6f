/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels for Vulkan devices as the cache's objects: made by the generator as a launch record and
 * the modules of the passes in one piece, and loaded from such a piece as pipelines, whether it was
 * just made or lay on disk.
 */
#include "internal.h"

#include "../host/error.h"
#include "../host/fork.h"
#include "../making/isolate.h"
#include "judge.h"
#include "words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What pipelines depend on, beside the device. Zeroed, then filled: padding is compared, too. */
typedef struct facts {
    tly_caps caps; /* those that code depends on: tly_caps_of_code */
    tly_problem problem;
    tly_gpu_plan plan;
} facts;

enum { MOST_WORDS = 1 << 22 }; /* of a module; those of scans have some thousand */

/* In front of the words of all passes (words.h). */
typedef struct front {
    tly_gpu_launch launch;
    uint32_t word_count[TLY_GPU_PASSES];
} front;

/* --- making --------------------------------------------------------------------------------- */

static tally_status join(const tly_gpu_artifact *a, tly_piece *made, tally_error *error)
{
    front f = { .launch = a->launch };
    size_t words = 0;
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        f.word_count[i] = (uint32_t)a->word_count[i];
        words += a->word_count[i];
    }
    const size_t most = sizeof f + tly_words_most(words);
    unsigned char *bytes = malloc(most);
    if (bytes == NULL) {
        return tly_out_of_memory(error, "a kernel", most);
    }
    memcpy(bytes, &f, sizeof f);
    made->count = sizeof f;
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        made->count += tly_words_write(a->words[i], a->word_count[i], bytes + made->count);
    }
    made->bytes = bytes;
    return TALLY_OK;
}

static tally_status generate(tally_context *context, const facts *f, tly_piece *made,
                             tally_error *error)
{
    const tly_generator *generator;
    tally_status status = tly_generator_find(context, &generator, error);
    if (status != TALLY_OK) {
        return status;
    }
    tly_gpu_artifact artifact;
    memset(&artifact, 0, sizeof artifact);
    status = tly_make_gpu(context, generator, &f->problem, &f->caps, &f->plan, &artifact, error);
    if (status == TALLY_OK) {
        status = join(&artifact, made, error);
        made->lasting = tly_generator_lasting(generator);
        tly_release_gpu_artifact(context, generator, &artifact);
    }
    return status;
}

static tally_status make(const tly_object *object, tly_piece *made, tally_error *error)
{
    const tally_vulkan *v = object->key.owner;
    return generate(v->context, object->key.facts, made, error);
}

static tally_status open_maker(tally_context *context, tally_error *error)
{
    const tly_generator *generator;
    tally_status status = tly_generator_find(context, &generator, error);
    return status == TALLY_OK ? tly_make_open(context, generator, 1, error) : status;
}

static tally_status check(const tly_key *key, tally_error *error)
{
    const tally_vulkan *v = key->owner;
    return open_maker(v->context, error);
}

/* --- loading -------------------------------------------------------------------------------- */

static tally_status make_pipeline(tally_vulkan *v, const tly_gpu_launch *launch,
                                  VkPipelineLayout layout, uint32_t pass, const uint32_t *words,
                                  size_t word_count, VkPipeline *pipeline, tally_error *error)
{
    const tly_gpu_pass *p = &launch->pass[pass];
    VkShaderModuleCreateInfo code = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = word_count * sizeof *words,
        .pCode = words,
    };
    VkShaderModule module;
    VkResult result = v->fn.CreateShaderModule(v->device, &code, v->allocator, &module);
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
        .layout = layout,
    };
    result = v->fn.CreateComputePipelines(v->device, v->pipelines, 1, &info, v->allocator,
                                          pipeline);
    v->fn.DestroyShaderModule(v->device, module, v->allocator);
    if (result != VK_SUCCESS) {
        return tly_vk_fail(v, result, "vkCreateComputePipelines", error);
    }
    tly_vk_pipelines_made(v);
    return TALLY_OK;
}

/* What ends with a device that is no more, or that may still be at work, is left to it. */
static void unload(tly_object *object)
{
    tly_vk_object *o = (tly_vk_object *)object;
    tally_vulkan *v = object->key.owner;
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        if (o->pipeline[i] != VK_NULL_HANDLE && tly_vk_alive(v) && !v->left) {
            v->fn.DestroyPipeline(v->device, o->pipeline[i], v->allocator);
        }
        o->pipeline[i] = VK_NULL_HANDLE;
    }
}

/* Whether the front can be one. */
static int sound(const front *f)
{
    const tly_gpu_launch *l = &f->launch;
    int good = l->abi == TLY_GPU_ABI_VERSION && l->passes >= 1 && l->passes <= TLY_GPU_PASSES &&
               l->addresses <= 1 && tly_has_tensors(l->tensors);
    for (uint32_t i = 0; good && i < TLY_GPU_PASSES; i++) {
        good = i < l->passes ? f->word_count[i] >= 5 && f->word_count[i] <= MOST_WORDS
                             : f->word_count[i] == 0;
    }
    return good;
}

/* The words of all passes, from malloc, each of them a module, and nothing behind them. */
static tally_status expand(const front *f, const tly_piece *made, uint32_t **words,
                           tally_error *error)
{
    const unsigned char *from = (const unsigned char *)made->bytes + sizeof *f;
    size_t left = made->count - sizeof *f, count = 0, at = 0;
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        count += f->word_count[i];
    }
    *words = malloc(count * sizeof **words);
    if (*words == NULL) {
        return tly_out_of_memory(error, "modules", count * sizeof **words);
    }
    for (uint32_t i = 0; i < f->launch.passes; at += f->word_count[i++]) {
        const size_t used = tly_words_read(from, left, *words + at, f->word_count[i]);
        from += used;
        left -= used;
        if (!tly_vk_module_stands(*words + at, f->word_count[i])) {
            left = 1;
            break;
        }
    }
    if (left > 0) {
        free(*words);
        return tly_fail(error, TALLY_INTERNAL, "device", "the generator's modules are bad");
    }
    return TALLY_OK;
}

static tally_status make_pipelines(tly_object *object, const front *f, const uint32_t *words,
                                   tally_error *error)
{
    tly_vk_object *o = (tly_vk_object *)object;
    const tly_problem *problem = &((const facts *)object->key.facts)->problem;
    char word[64];
    tly_problem_word(problem, word, sizeof word);
    o->launch = f->launch;
    o->layout = tly_vk_layout_of(object->key.owner, problem, &o->launch);
    for (uint32_t i = 0; i < o->launch.passes; i++) {
        tally_status status = make_pipeline(object->key.owner, &o->launch, o->layout, i, words,
                                            f->word_count[i], &o->pipeline[i], error);
        if (status != TALLY_OK) {
            unload(object);
            return status;
        }
        tly_vk_label_pipeline(object->key.owner, o->pipeline[i], word);
        words += f->word_count[i];
    }
    return TALLY_OK;
}

static tally_status load(tly_object *object, const tly_piece *made, tally_error *error)
{
    front f;
    uint32_t *words;
    if (made->count >= sizeof f) {
        memcpy(&f, made->bytes, sizeof f);
    }
    const facts *of = object->key.facts;
    if (made->count < sizeof f || !sound(&f) ||
        (made->stored && !tly_vk_launch_stands(&f.launch, &of->problem, &of->plan))) {
        return tly_fail(error, TALLY_INTERNAL, "device", "the generator's launch record is bad");
    }
    tally_status status = expand(&f, made, &words, error);
    if (status == TALLY_OK) {
        status = make_pipelines(object, &f, words, error);
        free(words);
    }
    return status;
}

static void name(const tly_object *object, tly_store_name *n)
{
    const tally_vulkan *v = object->key.owner;
    const facts *f = object->key.facts;
    tly_problem_word(&f->problem, n->word, sizeof n->word);
    snprintf(n->device, sizeof n->device, "%.63s", v->facts.name);
}

/* --- the backend ---------------------------------------------------------------------------- */

static const tly_backend backend = {
    .kind = "vulkan",
    .object_bytes = sizeof(tly_vk_object),
    .facts_bytes = sizeof(facts),
    .make = make,
    .check = check,
    .load = load,
    .unload = unload,
    .name = name,
};

static void find_facts(const tly_caps *caps, const tly_problem *problem, const tly_gpu_plan *plan,
                       facts *f)
{
    memset(f, 0, sizeof *f);
    tly_caps_of_code(caps, plan, &f->caps);
    memcpy(&f->problem, problem, sizeof f->problem);
    memcpy(&f->plan, plan, sizeof f->plan);
}

tally_status tly_vk_object_get(tally_vulkan *v, const tly_problem *problem,
                               const tly_gpu_plan *plan, tly_vk_object **object, tly_origin *origin,
                               tally_error *error)
{
    facts f;
    find_facts(&v->facts.caps, problem, plan, &f);
    const tly_key key = { &backend, v, &f, "" };
    tly_object *found;
    tally_status status = tly_cache_get(&v->context->cache, &key, &found, origin, error);
    if (status == TALLY_OK) {
        *object = (tly_vk_object *)found;
    }
    return status;
}

tally_status tly_vk_object_supports(tally_vulkan *v, const tly_problem *problem,
                                    const tly_gpu_plan *plan, tally_error *error)
{
    facts f;
    find_facts(&v->facts.caps, problem, plan, &f);
    const tly_key key = { &backend, v, &f, "" };
    return tly_cache_supports(&v->context->cache, &key, error);
}

void tly_vk_object_drop(tally_vulkan *v, tly_vk_object *object)
{
    tly_object_drop(&object->base);
    if (tly_vk_alive(v) && tly_cache_above(&v->context->cache) && tly_fork_enter()) {
        tly_cache_trim(&v->context->cache);
        tly_fork_leave();
    }
}

const tly_gpu_plan *tly_vk_object_plan(const tly_vk_object *object)
{
    return &((const facts *)object->base.key.facts)->plan;
}

/* --- for devices that are not here ---------------------------------------------------------- */

static tally_status make_and_store(tally_context *context, const tly_request *request,
                                   const facts *f, const tly_store_key *key, tally_error *error)
{
    tly_piece made = { .bytes = NULL };
    tally_status status = generate(context, f, &made, error);
    if (status == TALLY_OK && made.lasting) {
        tly_store_name n = { { 0 }, { 0 } };
        tly_problem_word(&f->problem, n.word, sizeof n.word);
        snprintf(n.device, sizeof n.device, "%.63s", request->target);
        tly_store_save(&context->store, key, &n, made.bytes, made.count);
    }
    free(made.bytes);
    return status;
}

/* What is wanted for a profile, and whether it is in the store. */
static tally_status look_up(tally_context *context, const tly_request *request, facts *f,
                            tly_store_key *key, int *there, tally_error *error)
{
    tly_gpu_plan plan;
    tly_piece stored = { .bytes = NULL };
    int lasting;
    tally_status status = tly_vk_plan_make(context, request, &plan, &lasting, error);
    if (status != TALLY_OK) {
        return status;
    }
    find_facts(&request->caps, &request->problem, &plan, f);
    /* A key that is too long is stored by no one: there is nothing to do, as with what is there. */
    *there = !tly_store_key_make(key, backend.kind, f, sizeof *f, "") ||
             tly_store_load(&context->store, key, &stored.bytes, &stored.count, NULL);
    free(stored.bytes);
    if (!*there && context->cache.rules.compile == TALLY_COMPILE_NEVER) {
        return tly_fail(error, TALLY_NO_GENERATOR, "device",
                        "compile is never, and the kernel for %s is not stored", request->target);
    }
    return TALLY_OK;
}

tally_status tly_vulkan_store(tally_context *context, const tly_request *request,
                              tally_error *error)
{
    facts f;
    tly_store_key key;
    int there;
    tally_status status = look_up(context, request, &f, &key, &there, error);
    return status == TALLY_OK && !there ? make_and_store(context, request, &f, &key, error)
                                        : status;
}

tally_status tly_vulkan_store_supports(tally_context *context, const tly_request *request,
                                       tally_error *error)
{
    facts f;
    tly_store_key key;
    int there;
    tally_status status = look_up(context, request, &f, &key, &there, error);
    return status == TALLY_OK && !there ? open_maker(context, error) : status;
}
