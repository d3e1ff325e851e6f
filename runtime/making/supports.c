/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether there is a kernel for a descriptor, without making it: a creation's way up to the point
 * where code would be made. What is asked on the way is what creation asks, so that both give one
 * answer.
 */
#include "../context/internal.h"

#include "../context/backend.h"
#include "../cpu/cpu.h"
#include "../host/error.h"
#include "../host/fork.h"
#include "../host/thread.h"

/* The arguments of the two functions for Vulkan as one. */
typedef struct asking {
    tally_context *context;
    const tly_request *request;
} asking;

/* Planning wants stack, too. */
static tally_status ask_vulkan(void *state, tally_error *error)
{
    const asking *a = state;
    return a->request->vulkan != NULL ? tly_vulkan_supports(a->request->vulkan, a->request, error)
                                      : tly_vulkan_store_supports(a->context, a->request, error);
}

static tally_status supports(tally_context *context, const tally_descriptor *descriptor,
                             const tally_kernel_options *options, tally_error *error)
{
    tly_request request;
    asking a = { context, &request };
    tally_status status = tly_request_resolve(context, descriptor, options, TLY_ASKED_RUN, &request,
                                              error);
    if (status != TALLY_OK || request.geometry.empty) {
        return status;
    }
    if (request.level != TLY_LEVEL_NONE) {
        status = tly_native_supports(context, &request, error);
    } else {
        status = tly_stack_call(ask_vulkan, &a, error);
    }
    const int runs = request.level != TLY_LEVEL_NONE || request.vulkan != NULL;
    return status == TALLY_NO_GENERATOR && runs ? tly_fail_never(context, &request, error) : status;
}

tally_status tally_context_supports(tally_context *context, const tally_descriptor *descriptor,
                                    const tally_kernel_options *options, tally_error *error)
{
    if (context == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the context is NULL");
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    tally_status status = supports(context, descriptor, options, error);
    tly_fork_leave();
    return status;
}
