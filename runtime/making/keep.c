/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan that was found to be faster becomes this machine's: what it makes is stored under the key
 * of the kernel without overrides, where every later process finds it (tally/cache.h).
 */
#include <tally/cache.h>

#include "../context/internal.h"

#include "../context/backend.h"
#include "../cpu/cpu.h"
#include "../host/byte_buffer.h"
#include "../host/error.h"
#include "../host/fork.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ORDER = 1024 }; /* bytes of TALLY_STAGE_ORDER, as a plan has some dozen keys at most */

/* TALLY_OK if results have the bits of the library's own plan, whatever the tensors hold. */
static tally_status check_order(tally_context *context, const tally_descriptor *descriptor,
                                const tally_kernel_options *options, tally_error *error)
{
    tally_kernel_options own = *options;
    tly_byte_buffer kept = { .most = MOST_ORDER }, ours = { .most = MOST_ORDER };
    own.plan = NULL;
    tally_status status = tally_inspect(context, descriptor, options, TALLY_STAGE_ORDER,
                                        tly_byte_buffer_add, &kept, error);
    if (status == TALLY_OK) {
        status = tally_inspect(context, descriptor, &own, TALLY_STAGE_ORDER, tly_byte_buffer_add,
                               &ours, error);
    }
    if (status == TALLY_OK &&
        (kept.count != ours.count || memcmp(kept.bytes, ours.bytes, kept.count) != 0)) {
        tly_fail(error, TALLY_INVALID, "plan", "the plan combines in another order");
        tly_error_hint(error, "a plan is kept if no bit of any result can differ");
        status = TALLY_INVALID;
    }
    free(kept.bytes);
    free(ours.bytes);
    return status;
}

static tally_status keep(tally_context *context, const tally_descriptor *descriptor,
                         const tally_kernel_options *options, tally_error *error)
{
    tly_request request;
    tally_status status = tly_request_resolve(context, descriptor, options, TLY_ASKED_RUN, &request,
                                              error);
    if (status != TALLY_OK) {
        return status;
    }
    if (request.geometry.empty || (request.level == TLY_LEVEL_NONE && request.vulkan == NULL)) {
        return tly_fail(error, TALLY_INVALID, "usage", "no kernel runs for this");
    }
    return request.vulkan != NULL ? tly_vulkan_keep(request.vulkan, &request, error)
                                  : tly_native_keep(context, &request, error);
}

tally_status tally_cache_keep(tally_context *context, const tally_descriptor *descriptor,
                              const tally_kernel_options *options, tally_error *error)
{
    tally_kernel_options known = { .size = sizeof known };
    tally_status status = TALLY_OK;
    if (context == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the context is NULL");
    }
    if (options != NULL) {
        status = tly_struct_take(&known, sizeof known, options, "tally_kernel_options", error);
    }
    if (status == TALLY_OK) {
        status = check_order(context, descriptor, &known, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    status = keep(context, descriptor, &known, error);
    tly_fork_leave();
    return status;
}
