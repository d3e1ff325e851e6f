/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of kernels for Vulkan devices, kept as the kernels are: a plan depends on the geometry, and
 * is a part of the kernel's key, so that one in memory or on disk is found without the generator.
 * Where there is no generator, libtally plans alone, so that one in a pack is found for any
 * geometry.
 */
#include "internal.h"

#include "../../codegen/plan/gpu.h"
#include "../context/backend.h"
#include "../host/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a plan depends on, beside the overrides. Zeroed, then filled: padding is compared, too. */
typedef struct facts {
    tly_caps caps;
    tly_problem problem;
    tly_geometry geometry;
} facts;

typedef struct known {
    tly_object base;
    tly_gpu_plan plan;
} known;

tally_status tly_vk_plan_make(tally_context *context, const tly_request *request,
                              tly_gpu_plan *plan, int *lasting, tally_error *error)
{
    const tly_generator *generator;
    const int never = context->cache.rules.compile == TALLY_COMPILE_NEVER;
    if (never || tly_generator_find(context, &generator, NULL) != TALLY_OK) {
        *lasting = 1;
        return tly_plan_alone(request, plan, error);
    }
    *lasting = tly_generator_lasting(generator);
    return tly_plan_gpu(generator, request, plan, error);
}

static tally_status make(const tly_object *object, tly_piece *made, tally_error *error)
{
    const facts *f = object->key.facts;
    const tly_request request = {
        .problem = f->problem, .geometry = f->geometry, .caps = f->caps, .plan = object->key.plan
    };
    tly_gpu_plan *plan = malloc(sizeof *plan);
    if (plan == NULL) {
        return tly_out_of_memory(error, "a plan", sizeof *plan);
    }
    *made = (tly_piece){ .bytes = plan, .count = sizeof *plan };
    tally_status status = tly_vk_plan_make(object->key.owner, &request, plan, &made->lasting,
                                           error);
    if (status != TALLY_OK) {
        free(plan);
    }
    return status;
}

static tally_status load(tly_object *object, const tly_piece *made, tally_error *error)
{
    known *k = (known *)object;
    if (made->count != sizeof k->plan) {
        return tly_fail(error, TALLY_INTERNAL, "device", "the plan's length is bad");
    }
    memcpy(&k->plan, made->bytes, sizeof k->plan);
    const facts *f = object->key.facts;
    return !made->stored || tly_gpu_plan_stands(&f->problem, &f->geometry, &f->caps, &k->plan)
               ? TALLY_OK
               : tly_fail(error, TALLY_INTERNAL, "device", "the plan is none for this kernel");
}

static void unload(tly_object *object)
{
    (void)object;
}

static void name(const tly_object *object, tly_store_name *n)
{
    const facts *f = object->key.facts;
    tly_problem_word(&f->problem, n->word, sizeof n->word);
    snprintf(n->device, sizeof n->device, "vulkan plan");
}

static const tly_backend backend = {
    .kind = "vulkan plan",
    .object_bytes = sizeof(known),
    .facts_bytes = sizeof(facts),
    .make = make,
    .load = load,
    .unload = unload,
    .name = name,
};

static void find_facts(const tly_request *request, facts *f)
{
    memset(f, 0, sizeof *f);
    memcpy(&f->caps, &request->caps, sizeof f->caps);
    memcpy(&f->problem, &request->problem, sizeof f->problem);
    memcpy(&f->geometry, &request->geometry, sizeof f->geometry);
}

tally_status tly_vk_plan_get(const tally_vulkan *v, const tly_request *request, tly_gpu_plan *plan,
                             tally_error *error)
{
    facts f;
    find_facts(request, &f);
    const tly_key key = { &backend, v->context, &f, request->plan };
    tly_object *object;
    tally_status status = tly_cache_get(&v->context->plans, &key, &object, NULL, error);
    if (status == TALLY_OK) {
        *plan = ((known *)object)->plan;
        tly_object_drop(object);
    }
    return status;
}

tally_status tly_vulkan_keep(tally_vulkan *v, const tly_request *request, tally_error *error)
{
    facts f;
    find_facts(request, &f);
    const tly_key key = { &backend, v->context, &f, request->plan };
    return tly_cache_keep(&v->context->plans, &key, error);
}
