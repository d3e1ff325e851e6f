/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient of a word as words. Internal; tally_gradient is in <tally/gradient.h>.
 *
 *   tree.h        expressions as trees
 *   derivative.c  derivatives of expressions
 *   rules.c       the gradient of each operator, as a table
 *   words.c       makes a step of trees: its input, its operands, its dtypes
 *   cut.c         cuts trees that exceed a word's limits into several steps
 *   plan.c        the steps of a word's gradient
 *   scans.c       those of scans
 *   segments.c    those that segments ask for
 *   finish.c      the last ones of them
 *   gradient.c    the public function: checks, and hands the steps out
 */
#ifndef TLY_GRADIENT_H
#define TLY_GRADIENT_H

#include <tally/gradient.h>

#include "tree.h"

/* Tensors by number. Steps from TLY_T_MAPPED to TLY_T_TIES are made when they are first needed. */
enum {
    TLY_T_X,
    TLY_T_G,
    TLY_T_Y,
    TLY_T_A,
    TLY_T_CARRY = TLY_T_A + TALLY_MAX_OPERANDS, /* the states that the forward word begins with */
    TLY_T_G_CARRY,                              /* the gradient of those that it ends with */
    TLY_T_MAPPED,                               /* u: `map` of each element */
    TLY_T_BEFORE,                               /* e: the exclusive scan, without `post` */
    TLY_T_RESULT,                               /* r: the forward word without `post` */
    TLY_T_SPREAD,                               /* s: the result of each element's segment */
    TLY_T_TIES,                                 /* n: how many elements equal the result, or of
                                                    a mean how many there are */
    TLY_T_STEPS,                                /* all others */
};

/* Among the dims of a tensor or a step: along the axis there is one element for each segment, or
 * one if there are no segments. */
#define TLY_STATES (1u << TALLY_MAX_RANK)

typedef struct tly_tensor {
    int32_t dtype;                   /* 0: not made yet */
    int32_t source;                  /* tally_source */
    uint32_t axes;                   /* dims of the forward word along which it extends, and
                                        TLY_STATES */
    int is_strided;                  /* 0: packed over `axes` */
    int is_inside;                   /* elements outside of all segments are 0 */
    int64_t strides[TALLY_MAX_RANK]; /* by the dims of the forward word */
    int64_t offset;
} tly_tensor;

/* What outputs an operator has besides the input's dtype (docs/word.md). */
typedef enum tly_outputs { TLY_OUTPUTS_SAME, TLY_OUTPUTS_SINGLE, TLY_OUTPUTS_WIDER } tly_outputs;

typedef struct tly_gradient {
    tally_descriptor full; /* the forward word, resolved */
    tally_dtype type;      /* of its expressions */
    int wrt;               /* tensor */
    int is_open;           /* some size is open */
    tly_tree tree;
    tly_node map, coef, post; /* as the word has them */
    tly_node reset;           /* TLY_NOTHING: there is none */
    tly_node u;               /* what is combined: map, or the tensor TLY_T_MAPPED */
    int result;               /* the tensor that y stands for: TLY_T_Y, _BEFORE or _RESULT */
    int before;               /* the tensor of the exclusive scan */
    int tensors, temporaries;
    tly_tensor tensor[TLY_MOST_TENSORS];
    tally_gradient_step *steps; /* NULL: steps are only counted */
    size_t capacity, stride, count;
    tally_error *error;
    tally_status status; /* what has failed for good */
} tly_gradient;

/* A step that is being made. Dims and axes are those of the forward word. */
typedef struct tly_draft {
    int32_t op;
    uint32_t flags;           /* of the descriptor; strides are added */
    uint32_t dims;            /* over which it runs; may have TLY_STATES */
    uint32_t reduced;         /* reductions; with TLY_STATES in the segments of the forward word,
                                 as scans are, so that the axis stays */
    int32_t axis;             /* scans */
    int carry;                /* scans: the tensor of the states that they begin with; 0: none */
    tly_node map, coef, post; /* coef: linrec only; post: with TLY_POSTFIX_Y */
    tly_node reset;           /* scans; TLY_NOTHING: there is none */
    int32_t dtype;            /* of the output; 0: that of expressions, or what is nearest to it */
    char name[16];
} tly_draft;

/* How the gradient of what is combined, du, becomes the result: direct + du*by_map + du*e*by_coef.
 */
typedef struct tly_chain {
    tly_node direct, by_map, by_coef;
} tly_chain;

/* derivative.c: the derivative of an expression with respect to a tensor. */
tly_node tly_derive(tly_tree *t, tly_node n, int tensor);

/* rules.c: how the gradient of a scan is a scan, in the other direction. In the texts, x is what
 * is combined, a the gradient of the result before `post`, b the exclusive scan, c the factor, and
 * y what the new scan shows. */
typedef struct tly_scan_rule {
    int32_t op;
    int32_t exclusive; /* the forward word is */
    int32_t by;        /* operator of the new scan, which is exclusive, except for */
    int32_t inclusive; /* those where this is 1 */
    const char *map, *coef, *post;
} tly_scan_rule;

/* NULL: there is none. */
const tly_scan_rule *tly_scan_rule_of(int32_t op, int exclusive);

/* rules.c: the gradient of a reduction, element by element: x is what is combined, a the gradient
 * of the result, b the result, c the number of elements, or of those that equal the result. NULL:
 * there is none of this form. */
const char *tly_reduction_rule_of(int32_t op);

/* rules.c: whether an operator has a gradient. An operator without a row has none yet. */
int tly_has_rule(int32_t op);

/* rules.c */
tly_outputs tly_outputs_of(int32_t op);

/* Whether an operator shows one of its elements. */
int tly_picks(int32_t op);

/* words.c: makes a step of a draft and says what exceeds a limit. Fails in g->status if no limit is
 * the reason. All tensors of the draft have been made. */
tly_excess tly_draft_fit(tly_gradient *g, const tly_draft *draft, tally_gradient_step *step);

/* words.c: marks all nodes of a draft's expressions, as tly_tree_mark does. */
void tly_draft_mark(const tly_tree *t, const tly_draft *draft, uint8_t *seen);

/* words.c: adds a step. Returns the tensor of its result. */
int tly_step_add(tly_gradient *g, const tly_draft *draft, const tally_gradient_step *step);

/* words.c: a draft of an element-wise word, or of a sum, over some dims. */
tly_draft tly_draft_sum(tly_gradient *g, uint32_t dims, uint32_t reduced, tly_node map,
                        int32_t dtype, const char *name);

/* cut.c: makes steps of a draft. If it does not fit and `may_cut` is 0, nothing is made. Returns
 * the tensor of the result, or -1: it does not fit, or g->status tells more. */
int tly_steps_make(tly_gradient *g, tly_draft *draft, int may_cut);

/* plan.c: makes one of the tensors TLY_T_MAPPED to TLY_T_TIES. */
void tly_tensor_make(tly_gradient *g, int tensor);

/* plan.c: makes all steps. */
void tly_gradient_plan(tly_gradient *g);

/* plan.c: products and sums of trees. */
tly_node tly_times(tly_gradient *g, tly_node a, tly_node b);
tly_node tly_plus(tly_gradient *g, tly_node a, tly_node b);

/* finish.c: the dims of the forward word over which the gradient of an operand is added up. */
uint32_t tly_dims_to_add(const tly_gradient *g);

/* scans.c: the gradient of a scan. `h` is that of its result before `post`. */
void tly_plan_scan(tly_gradient *g, tly_node h, const tly_chain *c);

/* scans.c: the gradient of the states that a scan begins with. */
void tly_plan_states(tly_gradient *g, tly_node h);

/* segments.c: whether a tree over `dims` may be anything but 0 outside of all segments. */
int tly_reaches_outside(const tly_gradient *g, uint32_t dims, tly_node tree);

/* segments.c: a draft of an element-wise word that leaves out what lies outside of all segments. */
tly_draft tly_draft_inside(tly_gradient *g, tly_node tree, int32_t dtype, const char *name);

/* segments.c: the gradient of a reduction in segments. `h` and c->direct are of the results. */
void tly_plan_segments(tly_gradient *g, tly_node h, const tly_chain *c);

/* segments.c: a draft of a scan that shows to the elements of each segment the segment's value of a
 * tree over the results. If there is no such word, g->status tells it. */
tly_draft tly_draft_spread(tly_gradient *g, tly_node tree, const char *name);

/* segments.c: a tree over the results or states as a tensor that a scan can begin with. 0: there is
 * none, and g->status tells more. */
int tly_make_states(tly_gradient *g, tly_node tree);

/* segments.c: dims without those that are reduced. */
uint32_t tly_dims_without(const tly_gradient *g, uint32_t dims, uint32_t reduced);

/* finish.c: the sum of a tree over `reduced`, of a dtype or, for 0, of the nearest one to that of
 * expressions. Returns the result, or -1 after a failure. */
int tly_make_tensor(tly_gradient *g, uint32_t dims, uint32_t reduced, tly_node tree, int32_t dtype,
                    const char *name);

/* plan.c: the last steps of an operand of both `map` and `post`, which has a gradient from each
 * element and one from each result. */
void tly_plan_both(tly_gradient *g, tly_node of_elements, tly_node of_results);

/* plan.c: a tensor in trees. */
static inline tly_node tly_leaf(tly_gradient *g, int tensor)
{
    return tly_tree_leaf(&g->tree, tensor);
}

/* finish.c: the sum of a tree over `reduced`. Returns the result, or -1 after a failure. */
int tly_make_sum(tly_gradient *g, uint32_t dims, uint32_t reduced, tly_node tree, int is_last);

/* finish.c: the last steps, of a tree over `dims`, or of a scan whose `post` is du. */
void tly_finish_sum(tly_gradient *g, uint32_t dims, tly_node tree);
void tly_finish_scan(tly_gradient *g, tly_draft *draft, const tly_chain *c);

/* A name for a step that has no other. */
void tly_name_temporary(tly_gradient *g, char name[16]);

/* Fails for good with the first status. */
#define TLY_GIVE_UP(g, status_, field, ...) \
    do { \
        if ((g)->status == TALLY_OK) { \
            (g)->status = tly_fail((g)->error, status_, field, __VA_ARGS__); \
        } \
    } while (0)

/* The field of an error that the expressions of the forward word cause. */
static inline const char *tly_field_of(const tly_gradient *g)
{
    return g->full.post[0] != 0 ? "post" : g->full.map[0] != 0 ? "map" : "op";
}

#endif
