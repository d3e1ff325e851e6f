/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans are made here, from the problem and the target's facts. Their heuristics are in choose_*.c
 * (choose.h), where every number names its measurement; what a template can be built with is in its
 * row (limits.h). A plan prints itself, and single choices can be overridden by "key=value", for
 * experiments: what is printed, given back, makes the same plan.
 */
#ifndef TLY_PLANNER_H
#define TLY_PLANNER_H

#include "plan.h"

const char *tly_template_name(tly_template id);

/* Makes the plan for a problem; `overrides` ("key=value,key=value", or a line each; "" for none)
 * are chosen by hand, and what follows from them to suit them. TALLY_INVALID, field plan: an
 * unknown key, one that this template does not read or that comes twice, no number, a value out of
 * the key's range, or choices that cannot be together. */
tally_status tly_plan_make(const tly_problem *problem, const tly_target *target,
                           const char *overrides, tly_plan *plan, tally_error *error);

/* "key = value" lines, template first. */
tally_status tly_plan_print(const tly_plan *plan, tally_write write, void *user);

/* The same keys and values, and why: "key\tvalue\twhy" lines. */
tally_status tly_plan_explain(const tly_plan *plan, tally_write write, void *user);

/* Plans one choice away from that of `overrides`, and what of a plan decides the order in which a
 * kernel combines (choices.h). */
tally_status tly_plan_choices(const tly_problem *problem, const tly_target *target,
                              const char *overrides, tally_write write, void *user,
                              tally_error *error);
tally_status tly_plan_order(const tly_problem *problem, const tly_plan *plan, tally_write write,
                            void *user);

#endif
