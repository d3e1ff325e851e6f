/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans that random cases are forced to: small blocks and chunks, so that their borders come often;
 * every template of a GPU; and any value of any key that the planner prints for the case, most of
 * which it must refuse or be right with.
 */
#ifndef TLY_PLANS_H
#define TLY_PLANS_H

#include "random.h"
#include "targets.h"

/* Overrides as tally_kernel_options takes them; "" in about every second case. */
void tly_plan_draw(tly_random *r, tally_context *context, const tally_device *device,
                   const tally_descriptor *d, char *plan, size_t capacity);

/* The template's name in the plan that is made with those overrides; "unknown" if none is. */
void tly_plan_template(tally_context *context, const tally_device *device,
                       const tally_descriptor *d, const char *overrides, char name[24]);

#endif
