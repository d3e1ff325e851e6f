/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: chosen (choose.h), unless by hand, held against what its template can be built with
 * (codegen/plan/limits.h), and shown.
 */
#include "planner.h"

#include "choices.h"
#include "choose.h"
#include "keys.h"

static const tly_template_limits *const limits[TLY_TEMPLATE_COUNT] = {
#define LIMITS(ID, name, what) [TLY_TEMPLATE_##ID] = &tly_##name##_limits,
    TLY_TEMPLATES(LIMITS)
#undef LIMITS
};

const char *tly_template_name(tly_template id)
{
    return limits[id]->keys.name;
}

_Static_assert(offsetof(tly_plan, template_id) == 0, "the id is a plan's first field");
_Static_assert(sizeof(tly_plan) <= TLY_PLAN_CHOICES * sizeof(int32_t), "a bit for each choice");

static tly_template choose_template(const tly_problem *p, const tly_target *t)
{
    int id = 0;
    while (limits[id]->wanted != NULL ? !limits[id]->wanted(p, t) : limits[id]->refuses(p) != NULL)
        id++;
    return (tly_template)id;
}

static void choose(const tly_problem *p, const tly_target *t, const tly_forced *forced,
                   tly_plan *plan)
{
    plan->lanes = tly_choose_lanes(p, t, plan); /* of what every kernel is made of */
    for (const tly_choice *c = limits[plan->template_id]->choices; c->at != 0; c++) {
        int32_t v = c->choose != NULL ? c->choose(p, t, plan) : c->always;
        *(int32_t *)(void *)((char *)plan + c->at) = tly_forced_or(forced, c->at, v);
    }
}

static void list_keys(const tly_plan_keys *keys[TLY_TEMPLATE_COUNT])
{
    for (size_t i = 0; i < TLY_TEMPLATE_COUNT; i++)
        keys[i] = &limits[i]->keys;
}

static tally_status read_overrides(const tly_problem *p, const tly_target *t, const char *text,
                                   tly_forced *forced, tally_error *e)
{
    const tly_plan_keys *keys[TLY_TEMPLATE_COUNT];
    list_keys(keys);
    return tly_keys_read(keys, TLY_TEMPLATE_COUNT, keys[choose_template(p, t)], text, forced, e);
}

/* Our own choices hold to the limits, too: where they do not, it is a fault of ours. */
static tally_status check(const tly_template_limits *l, const tly_problem *p,
                          const tly_forced *forced, const tly_plan *plan, tally_error *e)
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
    tly_plan made = { .template_id = tly_forced_or(&forced, offsetof(tly_plan, template_id),
                                                   (int32_t)choose_template(problem, target)) };
    const tly_template_limits *l = limits[made.template_id];
    const char *refusal = l->refuses(problem);
    if (tly_reduces(problem->form) && !l->reduces)
        refusal = "it is a template of scans, and this is a reduction";
    if (refusal != NULL)
        return tly_fail(error, TALLY_INVALID, "plan", "%s", refusal);
    s = tly_keys_check(&l->keys, &forced, error);
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
    const tly_plan_keys *keys[TLY_TEMPLATE_COUNT];
    const tly_choosing choosing = { keys, TLY_TEMPLATE_COUNT, -1, sizeof(tly_plan), make_one, &a };
    tly_plan plan;
    list_keys(keys);
    tally_status s = tly_plan_make(problem, target, overrides, &plan, error);
    return s == TALLY_OK ? tly_choices_print(&choosing, overrides, write, user, error) : s;
}

tally_status tly_plan_order(const tly_problem *problem, const tly_plan *plan, tally_write write,
                            void *user)
{
    return tly_order_print(problem, &limits[plan->template_id]->keys,
                           limits[plan->template_id]->memory_keys, plan, write, user);
}
