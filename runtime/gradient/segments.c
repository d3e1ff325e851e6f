/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps that segments ask for. Offsets need not cover the axis. What lies outside of all segments
 * has the gradient 0, whatever the tensors hold there. So an element-wise step becomes a scan with
 * the same segments, of zeros, whose `post` is the expression: it writes nothing outside of them.
 */
#include "gradient.h"

#include <stdio.h>

#include "../descriptor/descriptor.h"

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
