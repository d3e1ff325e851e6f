/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last steps: the chain rule, the sum over the axes along which an operand does not extend, and
 * the dtype of the result.
 */
#include "gradient.h"

#include <stdio.h>

#include "../descriptor/descriptor.h"
#include "../descriptor/operands.h"
#include "../host/error.h"

/* The dims of the forward word over which a gradient has to be added up. */
uint32_t tly_dims_to_add(const tly_gradient *g)
{
    uint32_t dims = 0;
    const int is_operand = g->wrt >= TLY_T_A && g->wrt < TLY_T_A + TALLY_MAX_OPERANDS;
    for (int32_t d = 0; d < g->full.rank && is_operand; d++) {
        dims |= (uint32_t)!tly_operand_extends(&g->full, g->wrt - TLY_T_A, d) << d;
    }
    return dims;
}

static void name_result(const tly_gradient *g, char name[16])
{
    if (g->wrt == TLY_T_CARRY) {
        snprintf(name, 16, "dcarry_in");
    } else {
        snprintf(name, 16, "d%c", g->wrt == TLY_T_X ? 'x' : 'a' + g->wrt - TLY_T_A);
    }
}

static int32_t dtype_of_result(const tly_gradient *g)
{
    return g->tensor[g->wrt].dtype;
}

int tly_make_tensor(tly_gradient *g, uint32_t dims, uint32_t reduced, tly_node tree, int32_t dtype,
                    const char *name)
{
    const int is_outside = !(reduced & TLY_STATES) && tly_reaches_outside(g, dims, tree);
    int made = -1;
    if (is_outside && reduced != 0) {
        made = tly_make_tensor(g, dims, 0, tree, 0, "");
        return made < 0
                   ? made
                   : tly_make_tensor(g, dims, reduced, tly_tree_leaf(&g->tree, made), dtype, name);
    }
    tly_draft draft = is_outside ? tly_draft_inside(g, tree, dtype, name)
                                 : tly_draft_sum(g, dims, reduced, tree, dtype, name);
    made = tly_steps_make(g, &draft, 1);
    const tly_node left = is_outside ? draft.post : draft.map; /* by cuts */
    const int may_step = reduced != 0 || !tly_tree_is_leaf(&g->tree, left) ||
                         g->tensor[g->tree.nodes[left].arg[0]].dtype != (int32_t)g->type;
    if (made < 0 && g->status == TALLY_OK && dtype != 0 && may_step) {
        made = tly_make_tensor(g, dims, reduced, left, 0,
                               ""); /* no input reaches the dtype at once */
        return made < 0 ? made
                        : tly_make_tensor(g, tly_dims_without(g, dims, reduced), 0,
                                          tly_tree_leaf(&g->tree, made), dtype, name);
    }
    if (made < 0) {
        TLY_GIVE_UP(g, TALLY_UNSUPPORTED, tly_field_of(g), "no word computes %s",
                    name[0] != 0 ? name : "a step of the gradient");
    }
    return made;
}

int tly_make_sum(tly_gradient *g, uint32_t dims, uint32_t reduced, tly_node tree, int is_last)
{
    char name[16] = "";
    if (is_last) {
        name_result(g, name);
    }
    return tly_make_tensor(g, dims, reduced, tree, is_last ? dtype_of_result(g) : 0, name);
}

void tly_finish_sum(tly_gradient *g, uint32_t dims, tly_node tree)
{
    (void)tly_make_sum(g, dims, tly_dims_to_add(g) & dims, tree, 1);
}

static tly_node apply_chain(tly_gradient *g, const tly_chain *c, tly_node du)
{
    const tly_node by_coef = c->by_coef == TLY_NOTHING
                                 ? TLY_NOTHING
                                 : tly_times(g,
                                             tly_times(g, du, tly_tree_leaf(&g->tree, g->before)),
                                             c->by_coef);
    return tly_plus(g, c->direct, tly_plus(g, tly_times(g, du, c->by_map), by_coef));
}

/* A scan whose `post` is du. */
void tly_finish_scan(tly_gradient *g, tly_draft *draft, const tly_chain *c)
{
    const int is_last = tly_dims_to_add(g) == 0;
    tly_draft whole = *draft;
    whole.post = apply_chain(g, c, draft->post);
    if (is_last) {
        whole.dtype = dtype_of_result(g);
        name_result(g, whole.name);
    }
    /* If the chain adds nothing, a step behind the scan would be a copy. */
    const int is_bare = whole.post == draft->post;
    const int made = tly_steps_make(g, &whole, is_bare);
    if (made >= 0 && !is_last) {
        tly_finish_sum(g, tly_all_axes(g->full.rank), tly_tree_leaf(&g->tree, made));
    }
    if (made >= 0 || g->status != TALLY_OK) {
        return;
    }
    const int du = tly_steps_make(g, draft, 1);
    if (du < 0) {
        TLY_GIVE_UP(g, TALLY_UNSUPPORTED, tly_field_of(g),
                    "no word computes a scan of the gradient");
        return;
    }
    tly_finish_sum(g, tly_all_axes(g->full.rank), apply_chain(g, c, tly_tree_leaf(&g->tree, du)));
}
