/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as text: overrides ("key=value,key=value", or the lines that a print gave) and the print,
 * both from the keys that a template reads (codegen/plan/limits.h). Overrides are read first; then
 * each choice is made in turn, or, where it is forced, taken from them: what follows from a forced
 * choice is chosen to suit it.
 */
#ifndef TLY_PLAN_KEYS_H
#define TLY_PLAN_KEYS_H

#include <stddef.h>
#include <stdint.h>

#include <tally/kernel.h>

#include "limits.h"

/* Choices that are made by hand, by their place in the plan. */
enum { TLY_PLAN_CHOICES = 32 };
typedef struct tly_forced {
    uint32_t given; /* bits */
    int32_t value[TLY_PLAN_CHOICES];
    const char *name[TLY_PLAN_CHOICES];
} tly_forced;

/* Reads overrides; `templates`: the keys of all, by id; `chosen`: of the one that hints should
 * speak of, or NULL. "" and NULL are none. `template` is a key of its own, whose values are the
 * templates' names. TALLY_INVALID, field plan: no key=value, an unknown key, one that comes
 * twice, no whole number. */
tally_status tly_keys_read(const tly_plan_keys *const *templates, size_t count,
                           const tly_plan_keys *chosen, const char *text, tly_forced *forced,
                           tally_error *error);

/* TALLY_INVALID, field plan: a forced choice that this template does not read, or out of range. */
tally_status tly_keys_check(const tly_plan_keys *keys, const tly_forced *forced,
                            tally_error *error);

/* What is forced for the field at `at`, else `chosen`. */
static inline int tly_is_forced(const tly_forced *forced, size_t at)
{
    return (forced->given >> at / sizeof(int32_t) & 1) != 0;
}

static inline int32_t tly_forced_or(const tly_forced *forced, size_t at, int32_t chosen)
{
    return tly_is_forced(forced, at) ? forced->value[at / sizeof(int32_t)] : chosen;
}

/* 1 if every key of the plan is in its range. */
int tly_keys_hold(const tly_plan_keys *keys, const void *plan);

/* "key = value" lines, template first. */
tally_status tly_keys_print(const tly_plan_keys *keys, const void *plan, tally_write write,
                            void *user);

/* "key\tvalue\twhy" lines, in the order of the print. */
tally_status tly_keys_explain(const tly_plan_keys *keys, const void *plan, tally_write write,
                              void *user);

#endif
