/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cutting a draft that exceeds the limits of a word. A part of its expressions becomes an
 * element-wise step, and the tensor that this step makes takes the part's place. This goes on until
 * the draft fits. Each cut takes at least one operation away, so that it ends.
 */
#include "gradient.h"

#include <string.h>

#include "../descriptor/descriptor.h"
#include "../host/error.h"

/* What a draft would have after a cut; less is better. */
typedef struct cost {
    uint64_t operands; /* counted only if there are too many */
    uint64_t operations;
} cost;

static int is_better(const cost *a, const cost *b)
{
    return a->operands != b->operands ? a->operands < b->operands : a->operations < b->operations;
}

/* Operations in the text of each node, in which a node that is used twice comes twice. The part
 * that is cut has none. */
static uint64_t count_operations(const tly_tree *t, const tly_draft *draft, tly_node part)
{
    enum { MOST = 1 << 24 }; /* counts of nested parts may grow with a power of their depth */
    uint32_t counts[TLY_MOST_NODES];
    for (int i = 0; i < t->count; i++) {
        const int arguments = tly_tree_arguments(t, (tly_node)i);
        counts[i] = arguments > 0 && i != part;
        for (int k = 0; k < arguments && i != part; k++) {
            counts[i] += counts[t->nodes[i].arg[k]];
        }
        counts[i] = counts[i] < MOST ? counts[i] : MOST;
    }
    return (uint64_t)counts[draft->map] + counts[draft->coef] + counts[draft->post] +
           counts[draft->reset];
}

static uint64_t count_tensors(const tly_tree *t, const tly_draft *draft, tly_node part)
{
    uint8_t seen[TLY_MOST_NODES] = { 0 };
    seen[part] = 1; /* and so nothing that it alone is made of */
    tly_draft_mark(t, draft, seen);
    return (uint64_t)__builtin_popcountll(tly_tree_tensors(t, seen));
}

/* Which nodes are operations that can be a step of their own: those that do not depend on the
 * word's own result. */
static void find_parts(const tly_tree *t, const tly_draft *draft, uint8_t may[TLY_MOST_NODES])
{
    uint8_t depends[TLY_MOST_NODES];
    memset(may, 0, TLY_MOST_NODES);
    tly_draft_mark(t, draft, may);
    for (int i = 0; i < t->count; i++) {
        const int arguments = tly_tree_arguments(t, (tly_node)i);
        depends[i] = t->nodes[i].code == TLY_POSTFIX_Y;
        for (int k = 0; k < arguments; k++) {
            depends[i] |= depends[t->nodes[i].arg[k]];
        }
        may[i] = may[i] && !depends[i] && arguments > 0;
    }
    if (draft->op == TALLY_SUM) { /* the step would be the draft itself */
        may[draft->map] = 0;
    }
}

/* The part whose cut is best, as a step; TLY_NOTHING: no part fits. */
static tly_node find_cut(tly_gradient *g, const tly_draft *draft, tly_excess excess)
{
    uint8_t may[TLY_MOST_NODES];
    cost best = { UINT64_MAX, UINT64_MAX };
    tly_node found = TLY_NOTHING;
    find_parts(&g->tree, draft, may);
    for (int i = 0; i < g->tree.count && g->status == TALLY_OK; i++) {
        tally_gradient_step step;
        const tly_node part = (tly_node)i;
        if (!may[i]) {
            continue;
        }
        const cost now = {
            excess == TLY_EXCEEDS_OPERANDS ? count_tensors(&g->tree, draft, part) : 0,
            count_operations(&g->tree, draft, part),
        };
        const tly_draft sum = tly_draft_sum(g, draft->dims, 0, part, 0, "");
        if (is_better(&now, &best) && tly_draft_fit(g, &sum, &step) == TLY_EXCEEDS_NOTHING) {
            best = now;
            found = part;
        }
    }
    return found;
}

/* The input has to be a float, and so has to be made of the word's own `map`. */
static tly_node cut_for_input(const tly_gradient *g, const tly_draft *draft)
{
    const int is_made = tly_tree_is_leaf(&g->tree, draft->map) &&
                        g->tree.nodes[draft->map].arg[0] >= TLY_T_MAPPED;
    return draft->op == TALLY_SUM || is_made ? TLY_NOTHING : draft->map;
}

static int cut(tly_gradient *g, tly_draft *draft, tly_excess excess)
{
    const tly_node part = excess == TLY_LACKS_INPUT ? cut_for_input(g, draft)
                                                    : find_cut(g, draft, excess);
    tally_gradient_step step;
    if (part == TLY_NOTHING) {
        return 0;
    }
    tly_draft sum = tly_draft_sum(g, draft->dims, 0, part, 0, "");
    tly_name_temporary(g, sum.name);
    if (tly_draft_fit(g, &sum, &step) != TLY_EXCEEDS_NOTHING || g->status != TALLY_OK) {
        return 0;
    }
    const int made = tly_step_add(g, &sum, &step);
    if (made < 0) {
        return 0;
    }
    const tly_node leaf = tly_tree_leaf(&g->tree, made);
    draft->map = tly_tree_replace(&g->tree, draft->map, part, leaf);
    draft->coef = tly_tree_replace(&g->tree, draft->coef, part, leaf);
    draft->post = tly_tree_replace(&g->tree, draft->post, part, leaf);
    draft->reset = tly_tree_replace(&g->tree, draft->reset, part, leaf);
    return 1;
}

static void make_tensors(tly_gradient *g, const tly_draft *draft)
{
    uint8_t seen[TLY_MOST_NODES] = { 0 };
    tly_draft_mark(&g->tree, draft, seen);
    const uint64_t used = tly_tree_tensors(&g->tree, seen);
    for (int tensor = TLY_T_MAPPED; tensor < TLY_T_STEPS; tensor++) {
        if (used >> tensor & 1 && g->tensor[tensor].dtype == 0 && g->status == TALLY_OK) {
            tly_tensor_make(g, tensor);
        }
    }
}

int tly_steps_make(tly_gradient *g, tly_draft *draft, int may_cut)
{
    tally_gradient_step step;
    make_tensors(g, draft);
    while (g->status == TALLY_OK) {
        if (g->tree.failed) {
            TLY_GIVE_UP(g, TALLY_UNSUPPORTED, tly_field_of(g),
                        "the gradient has more than %d operations, which is the limit",
                        TLY_MOST_NODES);
            break;
        }
        const tly_excess excess = tly_draft_fit(g, draft, &step);
        if (g->status == TALLY_OK && excess == TLY_EXCEEDS_NOTHING) {
            if (step.name[0] == 0) {
                tly_name_temporary(g, step.name);
            }
            return tly_step_add(g, draft, &step);
        }
        if (!may_cut || !cut(g, draft, excess)) {
            break;
        }
    }
    return -1;
}
