/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests: the same modules and the same list of dispatches that vulkan/record.c records, as
 * data. Bindings begin with the elements of index 0, so that the push constants are known.
 */
#include "../context/internal.h"

#include "../cpu/cpu.h"
#include "../descriptor/descriptor.h"
#include "../host/error.h"
#include "../host/fork.h"
#include "../host/thread.h"
#include "../launch/dispatches.h"
#include "isolate.h"
#include "spirv_requirements.h"

#include <tally/manifest.h>

#include <stdlib.h>
#include <string.h>

enum { SCRATCH = TLY_GPU_SCRATCH, BINDINGS = TLY_GPU_BINDINGS, ALIGN = 16 };

/* A manifest with all that it points to. */
typedef struct whole {
    tally_manifest manifest; /* first: what the caller sees */
    char word[TALLY_WORD_MAX], target[64];
    tly_spirv_requirements required;
    tly_gpu_block block;
    uint32_t *words[TLY_GPU_PASSES];
    tally_manifest_module module[TLY_GPU_PASSES];
    tally_manifest_buffer buffer[BINDINGS];
    tally_manifest_zero zero;
    tally_manifest_dispatch *dispatch;
} whole;

_Static_assert(sizeof(tly_push) == sizeof((tally_manifest_dispatch *)0)->push, "push constants");

static void drop(whole *w)
{
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        free(w->words[i]);
    }
    free(w->dispatch);
    free(w);
}

/* --- parts ----------------------------------------------------------------------------------- */

static tally_status take_modules(whole *w, const tly_gpu_artifact *a, const tly_caps *caps,
                                 tally_error *error)
{
    tally_manifest *m = &w->manifest;
    tally_status status = TALLY_OK;
    for (uint32_t i = 0; i < a->launch.passes && status == TALLY_OK; i++) {
        const tly_gpu_pass *pass = &a->launch.pass[i];
        const size_t bytes = a->word_count[i] * sizeof *w->words[i];
        w->words[i] = malloc(bytes);
        if (w->words[i] == NULL) {
            return tly_out_of_memory(error, "a module", bytes);
        }
        memcpy(w->words[i], a->words[i], bytes);
        w->module[m->module_count++] = (tally_manifest_module){
            .entry = "main",
            .workgroup = pass->workgroup,
            .subgroup = caps->size_control ? pass->subgroup : 0,
            .word_count = (uint32_t)a->word_count[i],
            .words = w->words[i],
        };
        status = tly_spirv_requirements_add(&w->required, w->words[i], a->word_count[i], error);
        if (status == TALLY_OK) {
            w->module[i].workgroup_bytes = tly_spirv_requirements_workgroup_bytes(w->words[i],
                                                                                  a->word_count[i]);
        }
        if (pass->subgroup > 0 && caps->size_control) {
            tly_spirv_requirements_feature(&w->required, "subgroupSizeControl");
        } else if (pass->subgroup > 0) {
            m->subgroup_size = pass->subgroup;
        }
    }
    m->modules = w->module;
    m->features = w->required.feature;
    m->feature_count = w->required.feature_count;
    m->properties = w->required.property;
    m->property_count = w->required.property_count;
    m->subgroup_operations = w->required.subgroup_operations;
    return status;
}

static void add_buffer(whole *w, const char *name, uint32_t binding, uint64_t bytes)
{
    w->buffer[w->manifest.buffer_count++] = (tally_manifest_buffer){
        .name = name,
        .binding = binding,
        .bytes = bytes,
    };
    w->manifest.buffers = w->buffer;
}

/* Bytes of a tensor's binding, a multiple of 4; none is without any. */
static uint64_t tensor_bytes(int64_t end)
{
    return end > 0 ? ((uint64_t)end + 3) / 4 * 4 : 4;
}

/* Modules of scans may name a scratch that this kernel has no use for; it must be bound. */
static void take_buffers(whole *w, const tly_problem *p, const tly_gpu_steps *s)
{
    for (int t = 0; t < TLY_FIRST_OPERAND; t++) {
        add_buffer(w, tly_tensor_name(t), tly_gpu_binding_of(t), tensor_bytes(s->end[t]));
    }
    if (s->has_block || w->required.bindings >> SCRATCH & 1) {
        add_buffer(w, s->has_block ? "parameters" : "scratch", SCRATCH,
                   s->scratch_bytes > ALIGN ? s->scratch_bytes : ALIGN);
    }
    if (s->has_block) {
        w->block = tly_gpu_step_block(s, 0, &(tly_gpu_bases){ .scratch = 0 });
        w->buffer[SCRATCH].data = (const unsigned char *)&w->block;
        w->buffer[SCRATCH].data_bytes = sizeof w->block;
    }
    if (s->zeroed > 0) {
        w->zero = (tally_manifest_zero){ SCRATCH, s->zero_first, s->zeroed };
        w->manifest.zeros = &w->zero;
        w->manifest.zero_count = 1;
    }
    for (int t = TLY_FIRST_OPERAND; t < tly_tensors_of(p); t++) {
        const uint32_t states = tly_gpu_states_flag(p, t); /* which the word may not name */
        add_buffer(w, tly_tensor_name(tly_tensor_of(p, t)), tly_gpu_binding_of(t),
                   tensor_bytes(states == 0 || (states & s->states) != 0 ? s->end[t] : 0));
    }
    if (tly_gpu_bindings(p) > TLY_GPU_LEAST_BINDINGS) {
        w->manifest.storage_buffers = tly_gpu_bindings(p);
    }
}

static tally_status take_dispatches(whole *w, const tly_gpu_steps *s, tally_error *error)
{
    w->dispatch = calloc(s->count, sizeof *w->dispatch);
    if (w->dispatch == NULL) {
        return tly_out_of_memory(error, "dispatches", s->count * sizeof *w->dispatch);
    }
    for (size_t i = 0; i < s->count; i++) {
        const tly_gpu_step *step = &s->step[i];
        const tly_push push = tly_gpu_step_place(s, i, &(tly_gpu_bases){ .scratch = 0 });
        if ((step->zero || step->block) && i > 0) {
            return tly_fail(error, TALLY_UNSUPPORTED, "sizes",
                            "the device's limits cut this into dispatches that need %s in "
                            "their scratch again, and a manifest has them only once",
                            step->zero ? "zeros" : "other parameters");
        }
        w->dispatch[i] = (tally_manifest_dispatch){ .module = step->pass,
                                                    .groups = { step->x, step->y, 1 },
                                                    .barrier = step->barrier };
        memcpy(w->dispatch[i].push, &push, sizeof push);
    }
    w->manifest.dispatches = w->dispatch;
    w->manifest.dispatch_count = (uint32_t)s->count;
    return TALLY_OK;
}

/* --- the whole ------------------------------------------------------------------------------- */

/* What a caller's buffers cannot be, told before anything is made. */
static tally_status check(const tly_request *r, tally_error *error)
{
    const tly_geometry *g = &r->geometry;
    if (r->level != TLY_LEVEL_NONE) {
        return tly_fail(error, TALLY_INVALID, "device",
                        "a manifest is for a Vulkan device, by its name or a profile");
    }
    const int64_t range = r->caps.buffer_range, room = range - 2 * (int64_t)r->caps.offset_align;
    for (int t = 0; t < tly_tensors_of(&r->problem) && !g->empty; t++) {
        const int64_t low = g->tensor[t].low, high = g->tensor[t].high;
        const tally_dtype dtype = (tally_dtype)r->problem.tensor[t].dtype;
        const int64_t bytes = (int64_t)tally_dtype_bytes(dtype);
        if (low < 0 && high >= low) {
            return tly_fail(error, TALLY_INVALID, tly_tensor_name(tly_tensor_of(&r->problem, t)),
                            "the tensor reaches below index 0, and a buffer begins there");
        }
        if (high >= (room - 2 * ALIGN) / bytes) {
            return tly_fail(
                error, TALLY_UNSUPPORTED, "sizes",
                "a tensor ends with element %lld, beyond a storage buffer of %lld bytes",
                (long long)high, (long long)range);
        }
    }
    return TALLY_OK;
}

typedef struct making {
    tally_context *context;
    const tly_request *request;
    whole *w;
} making;

static tally_status fill(const making *m, const tly_gpu_plan *plan, const tly_gpu_artifact *a,
                         tally_error *error)
{
    const tly_request *r = m->request;
    tly_gpu_steps steps = { 0 };
    tally_status status = tly_gpu_steps_make(&r->problem, &r->geometry, plan, &a->launch, &r->caps,
                                             &steps, error);
    if (status == TALLY_OK) {
        status = take_modules(m->w, a, &r->caps, error);
    }
    if (status == TALLY_OK) {
        take_buffers(m->w, &r->problem, &steps);
        status = take_dispatches(m->w, &steps, error);
    }
    tly_gpu_steps_free(&steps);
    return status;
}

static tally_status make(void *state, tally_error *error)
{
    const making *m = state;
    const tly_generator *generator;
    tly_gpu_plan plan;
    tly_gpu_artifact artifact = { 0 };
    tally_status status = tly_generator_find(m->context, &generator, error);
    if (status == TALLY_OK) {
        status = tly_plan_gpu(generator, m->request, &plan, error);
    }
    if (status == TALLY_OK) {
        status = tly_make_gpu(m->context, generator, &m->request->problem, &m->request->caps, &plan,
                              &artifact, error);
    }
    if (status == TALLY_OK) {
        status = fill(m, &plan, &artifact, error);
        tly_release_gpu_artifact(m->context, generator, &artifact);
    }
    return status;
}

static tally_status create(tally_context *context, tly_request *r, tally_manifest **manifest,
                           tally_error *error)
{
    tally_status status = check(r, error);
    if (status != TALLY_OK) {
        return status;
    }
    r->caps.addresses = 0; /* a manifest has no place for them */
    whole *w = calloc(1, sizeof *w);
    if (w == NULL) {
        return tly_out_of_memory(error, "a manifest", sizeof *w);
    }
    memcpy(w->target, r->target, sizeof w->target);
    w->manifest.word = w->word;
    w->manifest.target = w->target;
    w->manifest.spirv = "1.3";
    status = tly_word_print(&r->full, w->word, sizeof w->word, NULL, error);
    if (status == TALLY_OK && !r->geometry.empty) {
        making m = { context, r, w };
        status = tly_stack_call(make, &m, error);
    }
    if (status != TALLY_OK) {
        drop(w);
        return status;
    }
    *manifest = &w->manifest;
    return TALLY_OK;
}

tally_status tally_manifest_create(tally_context *context, const tally_descriptor *descriptor,
                                   const tally_kernel_options *options, tally_manifest **manifest,
                                   tally_error *error)
{
    if (context == NULL || manifest == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the context or the place is NULL");
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    tly_request request;
    tally_status status = tly_request_resolve(context, descriptor, options, TLY_ASKED_RUN, &request,
                                              error);
    if (status == TALLY_OK) {
        status = create(context, &request, manifest, error);
    }
    tly_fork_leave();
    return status;
}

void tally_manifest_destroy(tally_manifest **manifest)
{
    if (manifest != NULL && *manifest != NULL) {
        drop((whole *)*manifest);
        *manifest = NULL;
    }
}
