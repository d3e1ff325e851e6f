/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that segments ask for. Offsets need not cover the axis. What lies outside of all segments
 * has the gradient 0, whatever the tensors hold there. So an element-wise step becomes a scan with
 * the same segments, of zeros, whose `post` is the expression: it writes nothing outside of them.
 *
 * In a reduction each result belongs to a segment. A scan of zeros shows it to the elements, if it
 * begins with the results as its states.
 */
#include "gradient.h"

#include <stdio.h>

#include "../descriptor/descriptor.h"
#include "../host/error.h"

int tly_reaches_outside(const tly_gradient *g, uint32_t dims, tly_node tree)
{
    const int is_inside = tly_tree_is_leaf(&g->tree, tree) &&
                          g->tensor[g->tree.nodes[tree].arg[0]].is_inside;
    return g->full.segment_dtype != 0 && dims == tly_all_axes(g->full.rank) &&
           tree != TLY_NOTHING && !is_inside;
}

tly_draft tly_draft_inside(tly_gradient *g, tly_node tree, int32_t dtype, const char *name)
{
    tly_draft draft = { .op = TALLY_CUMSUM, .dims = tly_all_axes(g->full.rank), .post = tree };
    draft.axis = tly_axis_of(&g->full);
    draft.dtype = dtype;
    snprintf(draft.name, sizeof draft.name, "%s", name);
    return draft;
}

uint32_t tly_dims_without(const tly_gradient *g, uint32_t dims, uint32_t reduced)
{
    const uint32_t axis = 1u << tly_axis_of(&g->full);
    if (reduced & TLY_STATES) {
        return dims | TLY_STATES;
    }
    return dims & ~(reduced & axis ? reduced | TLY_STATES : reduced);
}

static uint32_t results(const tly_gradient *g)
{
    return tly_all_axes(g->full.rank) | TLY_STATES;
}

/* States are packed, and of the type of expressions. */
int tly_make_states(tly_gradient *g, tly_node tree)
{
    if (tly_tree_is_leaf(&g->tree, tree)) {
        const int tensor = g->tree.nodes[tree].arg[0];
        const tly_tensor *t = &g->tensor[tensor];
        if (t->dtype == 0) {
            tly_tensor_make(g, tensor);
        }
        if (t->dtype == (int32_t)g->type && !t->is_strided && t->axes == results(g)) {
            return tensor;
        }
    }
    const int made = g->status == TALLY_OK
                         ? tly_make_tensor(g, results(g), 0, tree, (int32_t)g->type, "")
                         : -1;
    return made < 0 ? 0 : made;
}

tly_draft tly_draft_spread(tly_gradient *g, tly_node tree, const char *name)
{
    tly_draft draft = tly_draft_inside(g, tly_tree_result(&g->tree), 0, name);
    draft.carry = tly_make_states(g, tree);
    return draft;
}

/* The product of the other elements of each segment, times its h. */
static tly_draft draft_others(tly_gradient *g, tly_node h)
{
    tly_draft draft = tly_draft_spread(g, h, "");
    draft.op = TALLY_CUMPROD;
    draft.flags = TALLY_EXCLUSIVE | TALLY_REVERSE;
    draft.map = g->u;
    draft.post = tly_times(g, tly_leaf(g, TLY_T_BEFORE), draft.post);
    return draft;
}

/* h, divided by those who share it. 0 in empty segments, so that derivatives are, too. */
static tly_node shared(tly_gradient *g, tly_node h)
{
    const tly_node count = tly_leaf(g, TLY_T_TIES), zero = tly_tree_constant(&g->tree, 0);
    const tly_node part = tly_tree_make(&g->tree, TLY_POSTFIX_DIV, h, count, 0);
    const tly_node none = tly_tree_make(&g->tree, TLY_POSTFIX_EQ, count, zero, 0);
    return g->full.segment_dtype == 0
               ? part
               : tly_tree_make(&g->tree, TLY_POSTFIX_WHERE, none, zero, part);
}

/* The operator's rule, in the `post` of a scan that shows h. */
static tly_draft draft_rule(tly_gradient *g, tly_node h)
{
    const char *rule = tly_reduction_rule_of(g->full.op);
    const int counts = g->full.op == TALLY_MEAN || tly_picks(g->full.op);
    tly_draft draft = tly_draft_spread(g, counts ? shared(g, h) : h, "");
    const tly_bindings names = {
        [TLY_POSTFIX_X] = g->u,
        [TLY_POSTFIX_A] = draft.post,
        [TLY_POSTFIX_A + 1] = tly_leaf(g, TLY_T_SPREAD),
        [TLY_POSTFIX_A + 2] = tly_tree_constant(&g->tree, 1), /* h is divided */
    };
    draft.post = tly_tree_read(&g->tree, rule, names);
    return draft;
}

void tly_plan_segments(tly_gradient *g, tly_node h, const tly_chain *c)
{
    const uint32_t add = tly_dims_to_add(g);
    if (h == TLY_NOTHING || c->by_map == TLY_NOTHING) {
        const uint32_t dims = c->direct == TLY_NOTHING ? tly_all_axes(g->full.rank) : results(g);
        (void)tly_make_sum(g, dims, add, c->direct, 1);
        return;
    }
    tly_draft draft = g->full.op == TALLY_PROD ? draft_others(g, h) : draft_rule(g, h);
    if (c->direct == TLY_NOTHING) {
        tly_finish_scan(g, &draft, c);
        return;
    }
    draft.post = tly_times(g, draft.post, c->by_map);
    const int made = tly_steps_make(g, &draft, 1);
    if (made >= 0) {
        tly_plan_both(g, tly_leaf(g, made), c->direct);
    } else {
        TLY_GIVE_UP(g, TALLY_UNSUPPORTED, tly_field_of(g),
                    "no word computes a step of the gradient");
    }
}
