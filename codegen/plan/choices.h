/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which plans a kernel could be made by, for who looks for the fastest (tally tune), and what of a
 * plan decides the bits of results. Both are of the keys that templates read
 * (codegen/plan/limits.h).
 */
#ifndef TLY_PLAN_CHOICES_H
#define TLY_PLAN_CHOICES_H

#include "keys.h"

#include "../../runtime/problem/problem.h"

/* Plans of one kind: for a CPU, or for a device. */
typedef struct tly_choosing {
    const tly_plan_keys *const *templates; /* by id, which a plan begins with */
    int32_t count;
    int32_t barred; /* a template that computes nothing; -1: none */
    size_t plan_bytes;
    tally_status (*make)(const void *about, const char *overrides, void *plan);
    const void *about; /* make's */
} tly_choosing;

/* A line for each legal plan that differs from the one of `overrides` by one more choice: the
 * overrides, then key=value. First the other templates, unless one is forced. Values are near the
 * chosen one: up to eight times as much or little, all of a few; from 0 on, powers of 16. */
tally_status tly_choices_print(const tly_choosing *choosing, const char *overrides,
                               tally_write write, void *user, tally_error *error);

/* "key = value" lines, template first, of what decides the order in which a kernel combines: plans
 * that print the same here have results of the same bits, whatever the tensors hold. "exact" where
 * no order changes a bit. `free`: the keys of this template that decide nothing of it, with
 * a blank around each; "*" for all. */
tally_status tly_order_print(const tly_problem *problem, const tly_plan_keys *keys,
                             const char *free, const void *plan, tally_write write, void *user);

#endif
