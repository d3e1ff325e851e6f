/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans for Vulkan as people see them: text, reasons, what else could be chosen. The generator has
 * this, libtally has not.
 */
#include "gpu_choose.h"

#include <stddef.h>

#include "choices.h"
#include "keys.h"
#include "operator.h"

tally_status tly_gpu_plan_print(const tly_gpu_plan *plan, tally_write write, void *user)
{
    return tly_keys_print(&tly_gpu_limits_of[plan->template_id]->keys, plan, write, user);
}

tally_status tly_gpu_plan_explain(const tly_gpu_plan *plan, tally_write write, void *user)
{
    return tly_keys_explain(&tly_gpu_limits_of[plan->template_id]->keys, plan, write, user);
}

/* ---- for who looks for the fastest ---- */

/* The arguments of tly_gpu_plan_make that stay. */
typedef struct about {
    const tly_problem *problem;
    const tly_geometry *geometry;
    const tly_caps *caps;
} about;

static tally_status make_one(const void *user, const char *overrides, void *plan)
{
    const about *a = user;
    return tly_gpu_plan_make(a->problem, a->geometry, a->caps, overrides, plan, NULL);
}

tally_status tly_gpu_plan_choices(const tly_problem *problem, const tly_geometry *geometry,
                                  const tly_caps *caps, const char *overrides, tally_write write,
                                  void *user, tally_error *error)
{
    const about a = { problem, geometry, caps };
    const tly_plan_keys *keys[TLY_GPU_TEMPLATE_COUNT];
    const tly_choosing choosing = { keys,         TLY_GPU_TEMPLATE_COUNT,
                                    TLY_GPU_COPY, sizeof(tly_gpu_plan),
                                    make_one,     &a };
    tly_gpu_plan plan;
    tly_gpu_keys(keys);
    tally_status s = tly_gpu_plan_make(problem, geometry, caps, overrides, &plan, error);
    return s == TALLY_OK ? tly_choices_print(&choosing, overrides, write, user, error) : s;
}

/* Uncut columns are the plain loop's. A reduction's lane is, too, until it is cut, where its order
 * counts: that of other operators' elements is free. */
tally_status tly_gpu_plan_order(const tly_problem *problem, const tly_gpu_plan *plan,
                                tally_write write, void *user)
{
    static const char *const lanes = " workgroup vector segments addresses index_bits wide length ";
    int in_order = problem->order == TALLY_ORDER_SERIAL ||
                   tly_is_checked_as(problem, TLY_CHECK_SUMS) ||
                   tly_is_checked_as(problem, TLY_CHECK_PRODUCTS);
    int by_lanes = tly_gpu_takes_lanes(plan) ||
                   (plan->template_id == TLY_GPU_REDUCE_LANES && in_order);
    return tly_order_print(problem, &tly_gpu_limits_of[plan->template_id]->keys,
                           by_lanes && plan->chunk == 0 ? lanes
                                                        : " addresses index_bits wide park ",
                           plan, write, user);
}
