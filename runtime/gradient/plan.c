/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a gradient. Let h be the gradient of y, the result before `post`: the gradient g of
 * the output, times the derivative of `post` by y. The operator's rule makes the gradient of what
 * is combined from h. By the chain rule, this times the derivative of `map` is the gradient of the
 * element. What `post` and `coef` see of the element adds to it.
 *
 * The last scan computes all of that in its `post`, if this fits into one word. Otherwise the scan
 * shows the gradient of what is combined, and an element-wise step does the rest.
 */
#include "gradient.h"

#include <stdio.h>
#include <string.h>

#include "../descriptor/descriptor.h"
#include "../host/error.h"

tly_node tly_times(tly_gradient *g, tly_node a, tly_node b)
{
    return tly_tree_make(&g->tree, TLY_POSTFIX_MUL, a, b, 0);
}

tly_node tly_plus(tly_gradient *g, tly_node a, tly_node b)
{
    return tly_tree_make(&g->tree, TLY_POSTFIX_ADD, a, b, 0);
}

static uint32_t all_dims(const tly_gradient *g)
{
    return tly_all_axes(g->full.rank);
}

static int is_scan(const tly_gradient *g)
{
    return tly_ops[g->full.op].scan;
}

/* Whether the word is a reduction in segments. */
static int is_cut(const tly_gradient *g)
{
    return !is_scan(g) && tly_is_segmented(&g->full);
}

static uint32_t reduced_dims(const tly_gradient *g)
{
    return is_scan(g) ? 0 : is_cut(g) ? g->full.axes | TLY_STATES : g->full.axes;
}

int32_t tly_product_axis(const tly_gradient *g)
{
    return g->full.axes == 0 ? 0 : 31 - __builtin_clz(g->full.axes);
}

/* --- tensors that are made when they are needed ---------------------------------------------- */

static tly_draft draft_forward(tly_gradient *g, const char *name)
{
    const tally_descriptor *d = &g->full;
    tly_draft draft = { .op = d->op, .dims = all_dims(g), .reduced = reduced_dims(g) };
    draft.flags = d->flags & (TALLY_EXCLUSIVE | TALLY_REVERSE | TALLY_NAN_IGNORE);
    draft.axis = d->axis;
    draft.map = g->u;
    draft.coef = g->coef;
    draft.reset = is_scan(g) ? g->reset : TLY_NOTHING;
    draft.carry = d->carry & TALLY_CARRY_IN ? TLY_T_CARRY : 0;
    draft.post = tly_tree_result(&g->tree);
    snprintf(draft.name, sizeof draft.name, "%s", name);
    return draft;
}

static tly_draft draft_before(tly_gradient *g)
{
    tly_draft draft = draft_forward(g, "e");
    draft.flags |= TALLY_EXCLUSIVE;
    if (!is_scan(g)) {
        draft.op = TALLY_CUMPROD;
        draft.axis = tly_product_axis(g);
        draft.reduced = 0;
    }
    return draft;
}

static tly_draft draft_ties(tly_gradient *g)
{
    tly_tree *t = &g->tree;
    const tly_node result = tly_leaf(g, is_cut(g) ? TLY_T_SPREAD : g->result);
    const tly_node is_equal = tly_tree_make(t, TLY_POSTFIX_EQ, g->u, result, 0);
    const tly_node one = tly_tree_constant(t, 1), zero = tly_tree_constant(t, 0);
    const tly_node counted = tly_picks(g->full.op)
                                 ? tly_tree_make(t, TLY_POSTFIX_WHERE, is_equal, one, zero)
                                 : one;
    return tly_draft_sum(g, all_dims(g), reduced_dims(g), counted, 0, "n");
}

void tly_tensor_make(tly_gradient *g, int tensor)
{
    tly_draft draft = tensor == TLY_T_MAPPED   ? tly_draft_sum(g, all_dims(g), 0, g->map, 0, "u")
                      : tensor == TLY_T_BEFORE ? draft_before(g)
                      : tensor == TLY_T_RESULT ? draft_forward(g, "r")
                      : tensor == TLY_T_SPREAD ? tly_draft_spread(g, tly_leaf(g, g->result), "s")
                                               : draft_ties(g);
    const int made = tly_steps_make(g, &draft, 1);
    if (made >= 0) {
        g->tensor[tensor] = g->tensor[made];
    } else {
        TLY_GIVE_UP(g, TALLY_UNSUPPORTED, tly_field_of(g),
                    "no word computes step %s of the gradient", draft.name);
    }
}

/* --- operators -------------------------------------------------------------------------------- */

/* The product over the other elements of an axis: a scan from each side. What lies before each
 * element is the tensor `before`. */
static tly_draft draft_product(tly_gradient *g, uint32_t dims, int32_t axis, tly_node map,
                               tly_node factor)
{
    tly_draft draft = { .op = TALLY_CUMPROD, .dims = dims, .axis = axis, .map = map };
    draft.flags = TALLY_EXCLUSIVE | TALLY_REVERSE;
    draft.post = tly_times(g, factor, tly_tree_result(&g->tree));
    return draft;
}

/* The further axes of a product, one after the other: q is the product over the axes so far, and f
 * is the product of the other elements of q along the next axis. The product of all f. */
static tly_node plan_product_axes(tly_gradient *g, tly_node factor)
{
    uint32_t dims = all_dims(g), axes = g->full.axes;
    tly_node q = g->u;
    for (int level = 2; (axes & (axes - 1)) != 0 && g->status == TALLY_OK; level++) {
        const int32_t axis = 31 - __builtin_clz(axes);
        axes &= ~(1u << axis);
        tly_draft product = { .op = TALLY_PROD, .dims = dims, .reduced = 1u << axis, .map = q };
        product.post = tly_tree_result(&g->tree);
        snprintf(product.name, sizeof product.name, "q%d", level);
        const int made = tly_steps_make(g, &product, 1);
        if (made < 0) {
            break;
        }
        dims &= ~(1u << axis);
        q = tly_leaf(g, made);
        const int32_t next = 31 - __builtin_clz(axes);
        tly_draft before = { .op = TALLY_CUMPROD,
                             .flags = TALLY_EXCLUSIVE,
                             .dims = dims,
                             .axis = next,
                             .map = q,
                             .post = tly_tree_result(&g->tree) };
        snprintf(before.name, sizeof before.name, "e%d", level);
        const int e = tly_steps_make(g, &before, 1);
        if (e < 0) {
            break;
        }
        tly_draft others = draft_product(g, dims, next, q, tly_leaf(g, e));
        snprintf(others.name, sizeof others.name, "f%d", level);
        const int f = tly_steps_make(g, &others, 1);
        if (f < 0) {
            break;
        }
        factor = tly_times(g, factor, tly_leaf(g, f));
    }
    return factor;
}

static tly_draft plan_product(tly_gradient *g, tly_node h)
{
    const tly_node factor = plan_product_axes(g, tly_times(g, h, tly_leaf(g, TLY_T_BEFORE)));
    return draft_product(g, all_dims(g), tly_product_axis(g), g->u, factor);
}

/* The number of elements of which a mean is made; a step counts them if a size is open. */
static tly_node count_elements(tly_gradient *g)
{
    double count = 1;
    for (int32_t d = 0; d < g->full.rank; d++) {
        if (g->full.axes >> d & 1) {
            count *= (double)g->full.sizes[d];
            if (g->full.sizes[d] == TALLY_OPEN_SIZE) {
                return tly_leaf(g, TLY_T_TIES);
            }
        }
    }
    return tly_tree_constant(&g->tree, count);
}

static tly_node reduction_of(tly_gradient *g, tly_node h)
{
    const tly_bindings names = {
        [TLY_POSTFIX_X] = g->u,
        [TLY_POSTFIX_A] = h,
        [TLY_POSTFIX_A + 1] = tly_leaf(g, g->result),
        [TLY_POSTFIX_A + 2] = g->full.op == TALLY_MEAN ? count_elements(g)
                                                       : tly_leaf(g, TLY_T_TIES),
    };
    const char *rule = tly_reduction_rule_of(g->full.op);
    return rule == NULL ? h : tly_tree_read(&g->tree, rule, names);
}

void tly_plan_both(tly_gradient *g, tly_node of_elements, tly_node of_results)
{
    const uint32_t all = all_dims(g), add = tly_dims_to_add(g);
    const uint32_t results = tly_dims_without(g, all, reduced_dims(g));
    const int first = tly_make_sum(g, all, add, of_elements, 0);
    const int second = first < 0 ? -1 : tly_make_sum(g, results, add & results, of_results, 0);
    if (second >= 0) {
        (void)tly_make_sum(g, all & ~add, 0, tly_plus(g, tly_leaf(g, first), tly_leaf(g, second)),
                           1);
    }
}

static void plan_reduction(tly_gradient *g, tly_node h, const tly_chain *c)
{
    const int is_product = g->full.op == TALLY_PROD && g->full.axes != 0;
    if (h == TLY_NOTHING || c->by_map == TLY_NOTHING) {
        tly_finish_sum(g, c->direct == TLY_NOTHING ? all_dims(g) : all_dims(g) & ~reduced_dims(g),
                       c->direct);
        return;
    }
    tly_node du = TLY_NOTHING;
    if (is_product) {
        tly_draft draft = plan_product(g, h);
        if (c->direct == TLY_NOTHING) {
            tly_finish_scan(g, &draft, c);
            return;
        }
        const int made = tly_steps_make(g, &draft, 1);
        du = made < 0 ? TLY_NOTHING : tly_leaf(g, made);
    } else {
        du = reduction_of(g, h);
    }
    const tly_node of_elements = tly_times(g, du, c->by_map);
    if (c->direct == TLY_NOTHING) {
        tly_finish_sum(g, all_dims(g), of_elements);
    } else {
        tly_plan_both(g, of_elements, c->direct);
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Reads the forward word's expressions, in which y is the tensor g->result. */
static void read_word(tly_gradient *g)
{
    const tally_descriptor *d = &g->full;
    tly_bindings names;
    names[TLY_POSTFIX_END] = TLY_NOTHING;
    names[TLY_POSTFIX_X] = tly_leaf(g, TLY_T_X);
    names[TLY_POSTFIX_Y] = tly_leaf(g, g->result);
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        names[TLY_POSTFIX_A + i] = tly_leaf(g, TLY_T_A + i);
    }
    g->tree.exact = 1;
    g->map = tly_tree_read(&g->tree, d->map[0] != 0 ? d->map : "x", names);
    g->post = tly_tree_read(&g->tree, d->post[0] != 0 ? d->post : "y", names);
    g->coef = tly_ops[d->op].has_coef
                  ? tly_tree_read(&g->tree, d->coef[0] != 0 ? d->coef : "a", names)
                  : TLY_NOTHING;
    g->reset = d->reset[0] != 0 ? tly_tree_read(&g->tree, d->reset, names) : TLY_NOTHING;
    g->tree.exact = 0;
}

/* Whether the output of the forward word tells y as exactly as a step could. `is_mapped`: what is
 * combined has to become a tensor, as its dtype cannot be that of the results. */
static int output_is_result(const tly_gradient *g, int is_mapped)
{
    const tally_descriptor *d = &g->full;
    const int is_float = tly_dtypes[d->dtype].wide;
    return !is_mapped &&
           (is_float ? tly_dtype_fits((tally_dtype)d->dtype, (tally_dtype)d->out_dtype)
                     : d->out_dtype == (int32_t)g->type);
}

/* Elements of 16 bits become tensors of f32 if results are compared with them, or differ from them
 * by little, and the operator has no wider output. */
static int must_map(const tly_gradient *g)
{
    const tally_descriptor *d = &g->full;
    const int is_wide = d->map[0] != 0 || (d->post[0] != 0 && d->carry != 0); /* so are states */
    return tly_dtypes[d->dtype].wide && tly_dtypes[d->dtype].bytes == 2 &&
           ((tly_picks(d->op) && is_wide) || d->op == TALLY_CUMLOGSUMEXP);
}

/* The derivative of `post`. If the output of the forward word holds the value of `post`, a
 * derivative in which it comes again, as that of exp does, reads it from there. */
static tly_node derive_post(tly_gradient *g, int tensor, int is_shown)
{
    const tly_node by = tly_derive(&g->tree, g->post, tensor);
    return is_shown && tly_tree_arguments(&g->tree, g->post) > 0
               ? tly_tree_replace(&g->tree, by, g->post, tly_leaf(g, TLY_T_Y))
               : by;
}

void tly_gradient_plan(tly_gradient *g)
{
    const tally_descriptor *d = &g->full;
    const int is_mapped = must_map(g), is_shown = output_is_result(g, is_mapped);
    const int is_exclusive = (d->flags & TALLY_EXCLUSIVE) != 0;
    g->result = d->post[0] == 0 && is_shown ? TLY_T_Y : is_exclusive ? TLY_T_BEFORE : TLY_T_RESULT;
    g->before = is_exclusive ? g->result : TLY_T_BEFORE;
    read_word(g);
    g->u = is_mapped ? tly_leaf(g, TLY_T_MAPPED) : g->map;
    const tly_node gradient = tly_leaf(g, TLY_T_G);
    const tly_node h = tly_times(g, gradient, derive_post(g, g->result, is_shown));
    const tly_chain c = {
        .direct = d->post[0] != 0 ? tly_times(g, gradient, derive_post(g, g->wrt, is_shown))
                                  : TLY_NOTHING,
        .by_map = tly_derive(&g->tree, g->map, g->wrt),
        .by_coef = tly_derive(&g->tree, g->coef, g->wrt),
    };
    if (g->wrt == TLY_T_CARRY) {
        tly_plan_states(g, h);
    } else if (is_scan(g)) {
        tly_plan_scan(g, h, &c);
    } else if (is_cut(g)) {
        tly_plan_segments(g, h, &c);
    } else {
        plan_reduction(g, h, &c);
    }
}
