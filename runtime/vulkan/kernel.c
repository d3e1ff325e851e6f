/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel handles, and the public ways to run one: recorded, submitted on device buffers, or on
 * host memory.
 */
#include "internal.h"

#include "../host/checked.h"
#include "../host/clock.h"
#include "../host/error.h"
#include "../host/fork.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- making ---------------------------------------------------------------------------------- */

/* What the device has, but its owner did not enable, is nothing that the device lacks. */
static tally_status explain(const tally_vulkan *v, const tally_error *why, tally_error *error)
{
    const char *const *disabled = v->facts.disabled;
    for (size_t i = 0; i < sizeof v->facts.disabled / sizeof *disabled; i++) {
        if (disabled[i] != NULL && strstr(why->message, disabled[i]) != NULL) {
            tly_fail(error, TALLY_UNSUPPORTED, why->field,
                     "the kernel needs %s, which was not "
                     "enabled on the device that was taken over",
                     disabled[i]);
            tly_error_hint(error, "%.50s has it: enable it, and say so in tally_vulkan_host",
                           v->facts.name);
            return TALLY_UNSUPPORTED;
        }
    }
    return tly_error_pass(error, why);
}

static tally_status make_plan(const tally_vulkan *v, const tly_request *request, tly_gpu_plan *plan,
                              tally_error *error)
{
    tally_error why = TALLY_ERROR_INIT;
    if (v->facts.disabled[0] == NULL) {
        return tly_vk_plan_get(v, request, plan, error);
    }
    tally_status status = tly_vk_plan_get(v, request, plan, &why);
    return status == TALLY_UNSUPPORTED ? explain(v, &why, error)
           : status == TALLY_OK        ? TALLY_OK
                                       : tly_vk_plan_get(v, request, plan, error);
}

static tally_status make_code(tally_vulkan *v, const tly_request *request, tally_vulkan_kernel *k,
                              tly_origin *origin, tally_error *error)
{
    tly_gpu_plan plan;
    tally_status status = make_plan(v, request, &plan, error);
    if (status == TALLY_OK) {
        status = tly_vk_object_get(v, &k->problem, &plan, &k->object, origin, error);
        if (status == TALLY_NO_GENERATOR) {
            tly_hint_missing(v->context, request, error);
        }
    }
    if (status == TALLY_OK) {
        status = tly_gpu_steps_make(&k->problem, &k->geometry, &plan, &k->object->launch,
                                    &v->facts.caps, &k->steps, error);
    }
    return status;
}

/* A storage buffer must hold a tensor whole. */
static tally_status check_ranges(const tally_vulkan *v, const tly_request *request,
                                 const tly_gpu_plan *plan, tally_error *error)
{
    const tly_problem *p = &request->problem;
    const tly_geometry *g = &request->geometry;
    const tly_caps *caps = &v->facts.caps;
    uint32_t most = caps->buffer_range;
    int64_t rounding = (caps->offset_align > 16 ? caps->offset_align : 16) + 4;
    int64_t larger = 0;
    for (int t = 0; t < tly_tensors_of(p); t++) {
        const int64_t count = g->tensor[t].high - g->tensor[t].low + 1;
        larger = tly_larger(larger, count * tly_element_bytes(p, t));
    }
    if (!plan->addresses && larger > (int64_t)most - rounding) {
        return tly_fail(error, TALLY_UNSUPPORTED, "sizes",
                        "a tensor spans %lld bytes, and a storage buffer of %.80s %u",
                        (long long)larger, v->facts.name, most);
    }
    return TALLY_OK;
}

tally_status tly_vulkan_kernel_make(tally_vulkan *v, const tly_request *request,
                                    tally_vulkan_kernel **kernel, tally_error *error)
{
    tally_status status = tly_vk_usable(v, error);
    if (status != TALLY_OK) {
        return status;
    }
    tally_vulkan_kernel *k = calloc(1, sizeof *k);
    if (k == NULL) {
        return tly_out_of_memory(error, "a kernel", sizeof *k);
    }
    k->vulkan = v;
    k->problem = request->problem;
    k->geometry = request->geometry;
    tly_rules_make(&k->rules, &request->problem, &request->geometry);
    const uint64_t start = tly_clock();
    tly_origin origin = { .from = TLY_FROM_NOWHERE };
    if (!k->geometry.empty) {
        status = make_code(v, request, k, &origin, error);
        if (status == TALLY_OK) {
            status = check_ranges(v, request, tly_vk_object_plan(k->object), error);
        }
    }
    tly_log_creation(v->context, request, &origin, start, status, error);
    k->word = tly_log_word(v->context, request);
    if (status != TALLY_OK) {
        tly_vulkan_kernel_drop(k);
        return status;
    }
    *kernel = k;
    return TALLY_OK;
}

tally_status tly_vulkan_supports(tally_vulkan *v, const tly_request *request, tally_error *error)
{
    tly_gpu_plan plan;
    tally_status status = tly_vk_usable(v, error);
    if (status == TALLY_OK) {
        status = make_plan(v, request, &plan, error);
    }
    if (status == TALLY_OK) {
        status = tly_vk_object_supports(v, &request->problem, &plan, error);
        if (status == TALLY_NO_GENERATOR) {
            tly_hint_missing(v->context, request, error);
        }
    }
    return status == TALLY_OK ? check_ranges(v, request, &plan, error) : status;
}

void tly_vulkan_kernel_drop(tally_vulkan_kernel *k)
{
    if (k->object != NULL) {
        tly_vk_object_drop(k->vulkan, k->object);
    }
    tly_gpu_steps_free(&k->steps);
    free(k->word);
    free(k);
}

void tly_vk_tell(const tally_vulkan_kernel *k, const char *what, uint64_t nanoseconds)
{
    char how[32];
    if (k->word != NULL) {
        snprintf(how, sizeof how, "dispatches=%zu", k->steps.count);
        tly_log_event(&k->vulkan->context->store.log, what, k->vulkan->facts.name, how, nanoseconds,
                      k->word);
    }
}

tally_status tally_vulkan_kernel_create(tally_vulkan *vulkan, const tally_descriptor *descriptor,
                                        const tally_kernel_options *options,
                                        tally_vulkan_kernel **kernel, tally_error *error)
{
    if (vulkan == NULL || kernel == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the device or the place is NULL");
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    tly_request request;
    tally_status status = tly_request_for(vulkan, descriptor, options, &request, error);
    if (status == TALLY_OK) {
        status = tly_vulkan_kernel_make(vulkan, &request, kernel, error);
    }
    tly_fork_leave();
    return status;
}

void tally_vulkan_kernel_destroy(tally_vulkan_kernel **kernel)
{
    if (kernel != NULL && *kernel != NULL) {
        tly_vulkan_kernel_drop(*kernel);
        *kernel = NULL;
    }
}

_Static_assert(TLY_FIRST_OPERAND + TALLY_MAX_OPERANDS == TLY_OPERANDS_END,
               "operands are followed by the tensors of a carry");

void tally_vulkan_kernel_facts(const tally_vulkan_kernel *kernel, tally_vulkan_facts *facts)
{
    static const tly_gpu_steps none;
    const tly_gpu_steps *s = kernel != NULL ? &kernel->steps : &none;
    if (facts == NULL) {
        return;
    }
    tally_vulkan_facts all = {
        .size = facts->size,
        .scratch_bytes = s->scratch_bytes,
        .in_low = s->low[TLY_IN],
        .in_end = s->end[TLY_IN],
        .out_low = s->low[TLY_OUT],
        .out_end = s->end[TLY_OUT],
        .dispatches = (uint32_t)s->count,
    };
    for (int i = 0; kernel != NULL && i < kernel->problem.program.operands; i++) {
        all.operand_low[i] = s->low[TLY_FIRST_OPERAND + i];
        all.operand_end[i] = s->end[TLY_FIRST_OPERAND + i];
    }
    if (kernel != NULL && kernel->object != NULL) {
        const tly_gpu_launch *l = &kernel->object->launch;
        all.passes = l->passes;
        all.addresses = l->addresses;
        memcpy(all.template_name, l->template_name, sizeof all.template_name);
        all.template_name[sizeof all.template_name - 1] = 0;
    }
    memcpy(facts, &all, facts->size < sizeof all ? facts->size : sizeof all);
}
