/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a scan is a scan in the other direction, by a table of rules (rules.c). Restarts
 * are factors of 0. The gradient of the states that the forward word ends with is what the new scan
 * begins with. That of the states that it begins with is what the new scan would end with: each
 * element's addend times the factors before it.
 */
#include "gradient.h"

#include <stdio.h>

#include "../descriptor/descriptor.h"
#include "../host/error.h"

/* What flows back past an element: nothing, where the state before it is dropped. */
static tly_node keep(tly_gradient *g, tly_node value)
{
    return g->reset == TLY_NOTHING
               ? value
               : tly_tree_make(&g->tree, TLY_POSTFIX_WHERE, g->reset, TLY_NOTHING, value);
}

/* The new scan. Its `post` is du. */
static tly_draft draft_scan(tly_gradient *g, tly_node h)
{
    const tally_descriptor *d = &g->full;
    const tly_node one = tly_tree_constant(&g->tree, 1);
    const int is_sum = d->op == TALLY_CUMSUM;
    /* A sum that restarts is a recurrence, whose factors are 0 there. States ask for factors. */
    const int is_restarted = is_sum && (g->reset != TLY_NOTHING || g->wrt == TLY_T_CARRY);
    const tly_scan_rule *rule = tly_scan_rule_of(is_restarted ? TALLY_LINREC : d->op,
                                                 (d->flags & TALLY_EXCLUSIVE) != 0);
    const tly_bindings names = {
        [TLY_POSTFIX_X] = g->u,
        [TLY_POSTFIX_Y] = tly_tree_result(&g->tree),
        [TLY_POSTFIX_A] = h,
        [TLY_POSTFIX_A + 1] = tly_leaf(g, g->before),
        [TLY_POSTFIX_A + 2] = is_restarted ? one : g->coef,
    };
    tly_draft draft = { .op = rule->by, .dims = tly_all_axes(g->full.rank), .axis = d->axis };
    draft.flags = (~d->flags & TALLY_REVERSE) | (rule->inclusive ? 0 : TALLY_EXCLUSIVE);
    draft.map = keep(g, tly_tree_read(&g->tree, rule->map, names));
    draft.coef = rule->by == TALLY_LINREC ? keep(g, tly_tree_read(&g->tree, rule->coef, names))
                                          : TLY_NOTHING;
    draft.post = tly_tree_read(&g->tree, rule->post, names);
    return draft;
}

void tly_plan_scan(tly_gradient *g, tly_node h, const tly_chain *c)
{
    const int ends = (g->full.carry & TALLY_CARRY_OUT) != 0;
    if ((h == TLY_NOTHING && !ends) || (c->by_map == TLY_NOTHING && c->by_coef == TLY_NOTHING)) {
        tly_finish_sum(g, tly_all_axes(g->full.rank), c->direct);
        return;
    }
    tly_draft draft = draft_scan(g, h);
    draft.carry = ends ? tly_make_states(g, tly_leaf(g, TLY_T_G_CARRY)) : 0;
    tly_finish_scan(g, &draft, c);
}

/* The product of factors: of those before each element, or of all. */
static tly_node multiply_factors(tly_gradient *g, tly_node coef, int op, const char *name)
{
    const tly_node one = tly_tree_constant(&g->tree, 1);
    tly_draft draft = {
        .op = op, .dims = tly_all_axes(g->full.rank), .axis = g->full.axis, .map = coef
    };
    draft.flags = op == TALLY_CUMPROD ? TALLY_EXCLUSIVE | (g->full.flags & TALLY_REVERSE) : 0;
    draft.reduced = op == TALLY_PROD ? 1u << g->full.axis | TLY_STATES : 0;
    draft.post = tly_tree_result(&g->tree);
    snprintf(draft.name, sizeof draft.name, "%s", name);
    const int made = coef == one ? -1 : tly_steps_make(g, &draft, 1);
    if (made < 0 && coef != one) {
        TLY_GIVE_UP(g, TALLY_UNSUPPORTED, "carry", "no word computes step %s of the gradient",
                    name);
    }
    return made < 0 ? one : tly_leaf(g, made);
}

void tly_plan_states(tly_gradient *g, tly_node h)
{
    const tly_draft scan = draft_scan(g, h);
    const int ends = (g->full.carry & TALLY_CARRY_OUT) != 0;
    const uint32_t all = tly_all_axes(g->full.rank), states = all | TLY_STATES;
    tly_node by_elements = TLY_NOTHING, by_end = TLY_NOTHING;
    if (scan.map != TLY_NOTHING) {
        const tly_node before = multiply_factors(g, scan.coef, TALLY_CUMPROD, "p");
        const int made = tly_make_sum(g, all, 1u << g->full.axis | TLY_STATES,
                                      tly_times(g, scan.map, before), !ends);
        if (made < 0 || !ends) {
            return;
        }
        by_elements = tly_leaf(g, made);
    }
    if (ends) {
        by_end = tly_times(g, tly_leaf(g, TLY_T_G_CARRY),
                           multiply_factors(g, scan.coef, TALLY_PROD, "q"));
    }
    (void)tly_make_sum(g, states, 0, tly_plus(g, by_elements, by_end), 1);
}
