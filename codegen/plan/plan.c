/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: chosen (choose.h), unless by hand, held against what its template can be built with
 * (codegen/plan/limits.h), and shown.
 */
#include "plan.h"

#include "choices.h"
#include "choose.h"
#include "keys.h"

static const tly_limits *const limits[TLY_TEMPLATE_COUNT] = {
    [TLY_TEMPLATE_ROWS] = &tly_rows_limits,
    [TLY_TEMPLATE_SHORT] = &tly_short_limits,
    [TLY_TEMPLATE_COLUMNS] = &tly_columns_limits,
    [TLY_TEMPLATE_TRANSPOSED] = &tly_transposed_limits,
    [TLY_TEMPLATE_SERIAL] = &tly_serial_limits,
    [TLY_TEMPLATE_NARROW] = &tly_narrow_limits,
    [TLY_TEMPLATE_TILES] = &tly_tiles_limits,
    [TLY_TEMPLATE_REDUCE_ROWS] = &tly_reduce_rows_limits,
    [TLY_TEMPLATE_REDUCE_LANES] = &tly_reduce_lanes_limits,
    [TLY_TEMPLATE_REDUCE_INTERLEAVED] = &tly_reduce_interleaved_limits,
};

const char *tly_template_name(tly_template id)
{
    return limits[id]->keys.name;
}

static const tly_choice *const choices[TLY_TEMPLATE_COUNT] = {
    [TLY_TEMPLATE_ROWS] = tly_choices_of_rows,
    [TLY_TEMPLATE_SHORT] = tly_choices_of_short,
    [TLY_TEMPLATE_COLUMNS] = tly_choices_of_columns,
    [TLY_TEMPLATE_TRANSPOSED] = tly_choices_of_transposed,
    [TLY_TEMPLATE_SERIAL] = tly_choices_of_serial,
    [TLY_TEMPLATE_NARROW] = tly_choices_of_narrow,
    [TLY_TEMPLATE_TILES] = tly_choices_of_tiles,
    [TLY_TEMPLATE_REDUCE_ROWS] = tly_choices_of_reduce_rows,
    [TLY_TEMPLATE_REDUCE_LANES] = tly_choices_of_reduce_lanes,
    [TLY_TEMPLATE_REDUCE_INTERLEAVED] = tly_choices_of_reduce_interleaved,
};

_Static_assert(offsetof(tly_plan, template_id) == 0, "the id is a plan's first field");
_Static_assert(sizeof(tly_plan) <= TLY_PLAN_CHOICES * sizeof(int32_t), "a bit for each choice");

static void choose(const tly_problem *p, const tly_target *t, const tly_forced *forced,
                   tly_plan *plan)
{
    plan->lanes = tly_choose_lanes(p, t, plan); /* of what every kernel is made of */
    for (const tly_choice *c = choices[plan->template_id]; c->at != 0; c++) {
        int32_t v = c->choose != NULL ? c->choose(p, t, plan) : c->always;
        *(int32_t *)(void *)((char *)plan + c->at) = tly_forced_or(forced, c->at, v);
    }
}

static void list_keys(const tly_keys *keys[TLY_TEMPLATE_COUNT])
{
    for (size_t i = 0; i < TLY_TEMPLATE_COUNT; i++)
        keys[i] = &limits[i]->keys;
}

static tally_status read_overrides(const tly_problem *p, const tly_target *t, const char *text,
                                   tly_forced *forced, tally_error *e)
{
    const tly_keys *keys[TLY_TEMPLATE_COUNT];
    list_keys(keys);
    return tly_keys_read(keys, TLY_TEMPLATE_COUNT, keys[tly_choose_template(p, t)], text, forced,
                         e);
}

/* Our own choices hold to the limits, too: where they do not, it is a fault of ours. */
static tally_status check(const tly_limits *l, const tly_problem *p, const tly_forced *forced,
                          const tly_plan *plan, tally_error *e)
{
    tally_status fails = forced->given ? TALLY_INVALID : TALLY_INTERNAL;
    if (!tly_keys_hold(&l->keys, plan))
        return tly_fail(e, fails, "plan", "what follows from it is out of a key's range");
    const char *fault = l->fault(p, plan);
    return fault != NULL ? tly_fail(e, fails, "plan", "%s", fault) : TALLY_OK;
}

tally_status tly_plan_make(const tly_problem *problem, const tly_target *target,
                           const char *overrides, tly_plan *plan, tally_error *error)
{
    tly_forced forced;
    tally_status s = tly_operator_check(problem, error);
    if (s == TALLY_OK)
        s = read_overrides(problem, target, overrides, &forced, error);
    if (s != TALLY_OK)
        return s;
    tly_plan made = { .template_id = tly_forced_or(&forced, KEY(template_id),
                                                   (int32_t)tly_choose_template(problem, target)) };
    const tly_limits *l = limits[made.template_id];
    int reduces = made.template_id >= TLY_TEMPLATE_REDUCE_ROWS;
    const char *refusal = l->refuses(problem);
    if (tly_reduces(problem->form) && !reduces)
        refusal = "it is a template of scans, and this is a reduction";
    if (refusal != NULL)
        return tly_fail(error, TALLY_INVALID, "plan", "%s", refusal);
    s = tly_keys_judge(&l->keys, &forced, error);
    if (s != TALLY_OK)
        return s;
    choose(problem, target, &forced, &made);
    s = check(l, problem, &forced, &made, error);
    if (s == TALLY_OK)
        *plan = made;
    return s;
}

tally_status tly_plan_print(const tly_plan *plan, tally_write write, void *user)
{
    return tly_keys_print(&limits[plan->template_id]->keys, plan, write, user);
}

tally_status tly_plan_explain(const tly_plan *plan, tally_write write, void *user)
{
    return tly_keys_explain(&limits[plan->template_id]->keys, plan, write, user);
}

/* ---- for who looks for the fastest ---- */

/* The arguments of tly_plan_make that stay. */
typedef struct about {
    const tly_problem *problem;
    const tly_target *target;
} about;

static tally_status make_one(const void *user, const char *overrides, void *plan)
{
    const about *a = user;
    return tly_plan_make(a->problem, a->target, overrides, plan, NULL);
}

tally_status tly_plan_choices(const tly_problem *problem, const tly_target *target,
                              const char *overrides, tally_write write, void *user,
                              tally_error *error)
{
    const about a = { problem, target };
    const tly_keys *keys[TLY_TEMPLATE_COUNT];
    const tly_choosing choosing = { keys, TLY_TEMPLATE_COUNT, -1, sizeof(tly_plan), make_one, &a };
    tly_plan plan;
    list_keys(keys);
    tally_status s = tly_plan_make(problem, target, overrides, &plan, error);
    return s == TALLY_OK ? tly_choices_print(&choosing, overrides, write, user, error) : s;
}

/* Where each result is the plain loop's, no choice tells. Of the others these alone are known to be
 * about memory and threads. */
static const char *const free_keys[TLY_TEMPLATE_COUNT] = {
    [TLY_TEMPLATE_ROWS] = " prefetch split_bytes ",
    [TLY_TEMPLATE_SHORT] = " prefetch split_bytes ",
    [TLY_TEMPLATE_COLUMNS] = "*",
    [TLY_TEMPLATE_NARROW] = "*",
    [TLY_TEMPLATE_TRANSPOSED] = "*",
    [TLY_TEMPLATE_SERIAL] = "*",
    [TLY_TEMPLATE_TILES] = "*",
    [TLY_TEMPLATE_REDUCE_ROWS] = " prefetch split_bytes ",
    [TLY_TEMPLATE_REDUCE_LANES] = " tile_lanes split_bytes ",
    [TLY_TEMPLATE_REDUCE_INTERLEAVED] = " split_bytes ",
};

tally_status tly_plan_order(const tly_problem *problem, const tly_plan *plan, tally_write write,
                            void *user)
{
    return tly_order_print(problem, &limits[plan->template_id]->keys, free_keys[plan->template_id],
                           plan, write, user);
}
