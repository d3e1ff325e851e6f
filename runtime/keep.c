/*
 * A plan that was found to be faster becomes this machine's: what it makes is stored under the key
 * of the kernel without overrides, where every later process finds it (tally/cache.h).
 */
#include <tally/cache.h>

#include "internal.h"

#include "cpu/cpu.h"
#include "error.h"
#include "fork.h"
#include "vulkan/backend.h"

#include <string.h>

/* TALLY_STAGE_ORDER of a plan, which has some dozen keys at most. */
typedef struct text {
    char bytes[1024];
    size_t length;
} text;

static int append(void *user, const char *bytes, size_t count)
{
    text *t = user;
    if (count >= sizeof t->bytes - t->length) {
        return 1;
    }
    memcpy(t->bytes + t->length, bytes, count);
    t->length += count;
    return 0;
}

/* TALLY_OK if results have the bits of the library's own plan, whatever the tensors hold. */
static tally_status check_order(tally_context *context, const tally_descriptor *descriptor,
                                const tally_kernel_options *options, tally_error *error)
{
    tally_kernel_options own = *options;
    text kept = { .length = 0 }, ours = { .length = 0 };
    own.plan = NULL;
    tally_status status = tally_inspect(context, descriptor, options, TALLY_STAGE_ORDER, append,
                                        &kept, error);
    if (status == TALLY_OK) {
        status = tally_inspect(context, descriptor, &own, TALLY_STAGE_ORDER, append, &ours, error);
    }
    if (status == TALLY_OK &&
        (kept.length != ours.length || memcmp(kept.bytes, ours.bytes, kept.length) != 0)) {
        tly_fail(error, TALLY_INVALID, "plan", "the plan combines in another order");
        tly_error_hint(error, "a plan is kept if no bit of any result can differ");
        status = TALLY_INVALID;
    }
    return status;
}

static tally_status keep(tally_context *context, const tally_descriptor *descriptor,
                         const tally_kernel_options *options, tally_error *error)
{
    tly_request request;
    tally_status status = tly_request_resolve(context, descriptor, options, 0, &request, error);
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
