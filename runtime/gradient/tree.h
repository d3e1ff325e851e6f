/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions as trees, for the gradients of words. Equal trees are one node, so that a tree is
 * compared by its number, and a part that comes twice is stored once. The nodes lie in one array of
 * fixed size. If it is full, the tree has failed, and each further node is TLY_NOTHING.
 *
 *   tree.c       nodes, and the rules by which they are simplified
 *   tree_text.c  text to tree, tree to text
 */
#ifndef TLY_TREE_H
#define TLY_TREE_H

#include "../descriptor/expression.h"

enum {
    TLY_MOST_NODES = 1200,
    TLY_MOST_TENSORS = 64, /* a bit each in a mask */
    TLY_LEAF = 255,        /* code of a node that is a tensor */
};

/* A node's number. */
typedef uint16_t tly_node;

/* A value that is zero by a rule, as the derivative of a constant is. It vanishes from sums and
 * products, whatever stands beside it, and is the constant 0 in all other places. */
enum { TLY_NOTHING = 0 };

typedef struct tly_tree_node {
    double value;    /* TLY_POSTFIX_CONSTANT */
    tly_node arg[3]; /* operations; arg[0] of a TLY_LEAF is the tensor's number */
    uint8_t code;    /* tly_postfix: an operation, TLY_POSTFIX_CONSTANT, or TLY_POSTFIX_Y, the
                        result of the word that the tree belongs to; or TLY_LEAF */
} tly_tree_node;

typedef struct tly_tree {
    int count;
    int failed;
    /* 1: only rules that keep each bit, apart from signs of NaN. 0: also rules that may round in
     * another way, such as taking a common factor out of a sum. */
    int exact;
    tly_tree_node nodes[TLY_MOST_NODES];
} tly_tree;

void tly_tree_begin(tly_tree *t);

tly_node tly_tree_leaf(tly_tree *t, int tensor);
tly_node tly_tree_constant(tly_tree *t, double value);
tly_node tly_tree_result(tly_tree *t);

/* An operation, simplified. Arguments that it has not are ignored. */
tly_node tly_tree_make(tly_tree *t, int code, tly_node a, tly_node b, tly_node c);

/* Whether a node is the leaf of some tensor. */
static inline int tly_tree_is_leaf(const tly_tree *t, tly_node n)
{
    return t->nodes[n].code == TLY_LEAF;
}

static inline int tly_tree_arguments(const tly_tree *t, tly_node n)
{
    const int code = t->nodes[n].code;
    return code < TLY_POSTFIX_CONSTANT ? tly_operation_of[code].arguments : 0;
}

/* Marks a node and all that it is made of in `seen`, which has TLY_MOST_NODES elements. */
void tly_tree_mark(const tly_tree *t, tly_node n, uint8_t *seen);

/* The tensors among the marked nodes, a bit each. */
uint64_t tly_tree_tensors(const tly_tree *t, const uint8_t *seen);

/* `n` with `by` in the place of `part`. No rule applies to what is made. */
tly_node tly_tree_replace(tly_tree *t, tly_node n, tly_node part, tly_node by);

/* What the names of a text stand for, indexed by tly_postfix up to TLY_POSTFIX_LAST_NAME. */
typedef tly_node tly_bindings[TLY_POSTFIX_LAST_NAME + 1];

/* Reads a text that is valid. */
tly_node tly_tree_read(tly_tree *t, const char *text, const tly_bindings names);

/* What an expression exceeds; 0: nothing. */
typedef enum tly_excess {
    TLY_EXCEEDS_NOTHING,
    TLY_EXCEEDS_CHARACTERS,
    TLY_EXCEEDS_OPERATIONS,
    TLY_EXCEEDS_ALIVE,
    TLY_EXCEEDS_CONSTANTS, /* of a word */
    TLY_EXCEEDS_OPERANDS,  /* of a word */
    TLY_LACKS_INPUT        /* no tensor of the word can be its input */
} tly_excess;

/* The canonical text of a tree, zero padded. `letters` has a character for each tensor. */
tly_excess tly_tree_write(const tly_tree *t, tly_node n, const char letters[TLY_MOST_TENSORS],
                          char text[TALLY_EXPRESSION_MAX]);

#endif
