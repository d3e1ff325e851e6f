/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is asked for: a caller's descriptor and options, checked, and the canonical problem and the
 * target that they stand for. Everything that makes or shows a kernel begins here.
 */
#include "context/internal.h"

#include "context/backend.h"
#include "cpu/cpu.h"
#include "descriptor/descriptor.h"
#include "descriptor/stages.h"
#include "host/error.h"
#include "host/thread.h"
#include "problem/canonicalise.h"
#include "problem/specialise.h"
#include "vulkan/profile.h"

#include <stdio.h>
#include <string.h>

tally_status tly_kernel_options_take(const tally_kernel_options *options,
                                     tally_kernel_options *known, tally_error *error)
{
    *known = (tally_kernel_options){ .size = sizeof *known };
    return options == NULL
               ? TALLY_OK
               : tly_struct_take(known, sizeof *known, options, "tally_kernel_options", error);
}

/* The arguments of tly_vulkan_find as one: drivers want stack, too. */
typedef struct finding {
    tally_context *context;
    const char *device;
    tally_vulkan **vulkan;
} finding;

static tally_status find_vulkan(void *state, tally_error *error)
{
    const finding *f = state;
    return tly_vulkan_find(f->context, f->device, f->vulkan, error);
}

/* The target: a level, a Vulkan device that is here, or one that a profile describes. */
tally_status tly_request_target(tally_context *context, const tally_kernel_options *known,
                                tly_request *request, tally_error *error)
{
    request->vulkan = NULL;
    request->level = TLY_LEVEL_NONE;
    if (known->profile != NULL) {
        tly_profile profile;
        tally_status status = known->device == NULL
                                  ? tly_profile_parse(known->profile, &profile, error)
                                  : tly_fail(error, TALLY_INVALID, "usage",
                                             "device and profile exclude each other");
        if (status == TALLY_OK) {
            request->caps = profile.caps;
            memcpy(request->target, profile.device, sizeof request->target);
        }
        return status;
    }
    tally_status status = tly_device_level(known->device, &request->level, error);
    if (status == TALLY_OK && request->level == TLY_LEVEL_NONE) {
        finding f = { context, known->device, &request->vulkan };
        status = tly_stack_call(find_vulkan, &f, error);
        if (status == TALLY_OK) {
            request->caps = *tly_vulkan_caps(request->vulkan);
            snprintf(request->target, sizeof request->target, "%.63s",
                     tly_vulkan_name(request->vulkan));
        } else if (error != NULL && (status == TALLY_INVALID || error->hint[0] == 0)) {
            tly_device_hint(error);
        }
    }
    return status;
}

static void find_problem(const tally_kernel_options *known, tly_request *request)
{
    tly_problem *p = &request->problem;
    request->plan = known->plan != NULL ? known->plan : "";
    const int is_device = request->level == TLY_LEVEL_NONE;
    tly_canonicalise_resolved(&request->full, is_device, p, &request->geometry);
    if (is_device) {
        tly_specialise_for_device(p);
    }
}

/* The only place that refuses words for what they are fused with: everything that makes kernels
 * begins here. */
static tally_status refuse_stages(const tally_descriptor *full, tally_error *error)
{
    const char *field = tly_unmade_field(full);
    if (field == NULL) {
        return TALLY_OK;
    }
    if (full->rank == TALLY_MAX_RANK) {
        return tly_fail(error, TALLY_UNSUPPORTED, field, "kernels of segments have %d dims at most",
                        TALLY_MAX_RANK - 1);
    }
    if (full->segments == TALLY_OPEN_SIZE) {
        tly_fail(error, TALLY_UNSUPPORTED, field,
                 "kernels need the number of segments, which '?' leaves open");
        tly_error_hint(error, "N + 1 offsets make N segments: segments=i32/N");
    } else {
        tly_fail(error, TALLY_UNSUPPORTED, field,
                 "kernels of segments need the size of the axis, which '?' leaves open");
        tly_error_hint(error,
                       "the other sizes may be open, as in sum:f32:?x100:axes=1,segments=i32/5");
    }
    return TALLY_UNSUPPORTED;
}

/* A kernel that runs needs every size. */
static tally_status take(const tally_descriptor *descriptor, const tally_kernel_options *options,
                         tly_asked asked, tally_kernel_options *known, tly_request *request,
                         tally_error *error)
{
    if (descriptor == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the descriptor is NULL");
    }
    tally_status status = tly_kernel_options_take(options, known, error);
    if (status == TALLY_OK) {
        status = tly_descriptor_resolve(descriptor, &request->full, error);
    }
    if (status == TALLY_OK && asked != TLY_ASKED_WORD) {
        status = refuse_stages(&request->full, error);
    }
    if (status == TALLY_OK && asked == TLY_ASKED_RUN && tly_has_open_size(&request->full)) {
        tly_fail(error, TALLY_INVALID, "sizes", "a kernel that runs needs every size; one is open");
        tly_error_hint(error,
                       "put a number for each ?; word, plan and kir can be inspected as it is");
        return TALLY_INVALID;
    }
    return status;
}

tally_status tly_request_resolve(tally_context *context, const tally_descriptor *descriptor,
                                 const tally_kernel_options *options, tly_asked asked,
                                 tly_request *request, tally_error *error)
{
    tally_kernel_options known;
    tally_status status = take(descriptor, options, asked, &known, request, error);
    if (status == TALLY_OK) {
        status = tly_request_target(context, &known, request, error);
    }
    if (status == TALLY_OK && asked != TLY_ASKED_WORD) {
        find_problem(&known, request);
    }
    return status;
}

tally_status tly_request_for(tally_vulkan *vulkan, const tally_descriptor *descriptor,
                             const tally_kernel_options *options, tly_request *request,
                             tally_error *error)
{
    tally_kernel_options known;
    tally_status status = take(descriptor, options, TLY_ASKED_RUN, &known, request, error);
    if (status == TALLY_OK && (known.device != NULL || known.profile != NULL)) {
        status = tly_fail(error, TALLY_INVALID, "usage",
                          "the device is given: options must name none, and no profile");
    }
    if (status != TALLY_OK) {
        return status;
    }
    request->level = TLY_LEVEL_NONE;
    request->vulkan = vulkan;
    request->caps = *tly_vulkan_caps(vulkan);
    find_problem(&known, request);
    return TALLY_OK;
}
