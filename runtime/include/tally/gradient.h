/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients. The gradient of a word is computed by further words: no kernel is special to it.
 * docs/gradients.md explains the formulas.
 */
#ifndef TALLY_GRADIENT_H
#define TALLY_GRADIENT_H

#include <tally/descriptor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most steps that a gradient takes. */
#define TALLY_GRADIENT_MAX 48

/** The tensors that a step reads. A step reads the result of an earlier step, number i from 0, as
 *  TALLY_SOURCE_STEP + i. */
typedef enum tally_source {
    TALLY_SOURCE_NONE = 0, /**< the step has no such tensor */
    TALLY_SOURCE_X = 1,    /**< the input of the forward word */
    TALLY_SOURCE_G = 2,    /**< the gradient of its output; it has the output's dtype, sizes and
                                 strides */
    TALLY_SOURCE_Y = 3,    /**< the output of the forward word */
    TALLY_SOURCE_A = 4,    /**< operand a of the forward word */
    TALLY_SOURCE_B = 5,
    TALLY_SOURCE_C = 6,
    TALLY_SOURCE_D = 7,
    TALLY_SOURCE_CARRY_IN = 8, /**< the states that the forward word begins with */
    TALLY_SOURCE_G_CARRY = 9,  /**< the gradient of the states that it ends with, `carry_out` */
    TALLY_SOURCE_STEP = 16     /**< the result of step 0 */
} tally_source;

/** One step: a kernel and where its tensors come from. */
typedef struct tally_gradient_step {
    size_t size;                 /**< sizeof(tally_gradient_step) */
    char name[16];               /**< a name of its own: "e", "t1", and of the last step "dx", "da",
                                      "db", "dc", "dd" or "dcarry_in" */
    tally_descriptor descriptor; /**< normalised as tally_descriptor_parse does. The output is
                                      packed */
    int32_t in;                  /**< a tally_source: the input */
    int32_t carry_in;            /**< a tally_source: the states that a scan begins with */
    int32_t operand[TALLY_MAX_OPERANDS]; /**< a tally_source for each operand of the descriptor */
} tally_gradient_step;

/* clang-format off */
#define TALLY_GRADIENT_STEP_INIT \
    { sizeof(tally_gradient_step), { 0 }, TALLY_DESCRIPTOR_INIT, 0, 0, { 0 } }
/* clang-format on */

/**
 * Finds the words that compute the gradient of a forward word. `wrt` says with respect to which
 * tensor: TALLY_SOURCE_X, TALLY_SOURCE_A + i for operand i, or TALLY_SOURCE_CARRY_IN.
 *
 * Run the steps in their order. The result of the last one is the gradient. It has the dtype of the
 * tensor `wrt` and is packed. For the input it has the forward word's sizes. For an operand it has
 * the sizes of the axes along which the operand extends; the contributions along all other axes are
 * added. For `carry_in` it has the same shape. If strides make the input or an operand show one
 * element at several indices, each index has a gradient of its own.
 *
 * A step whose descriptor has a carry begins with the states `carry_in`. Where these are those of
 * the forward word, the pointer may be NULL as it may be there.
 *
 * A step whose descriptor has `segments` reads the offsets of the forward word. It writes nothing
 * outside of all segments, where a gradient is 0. So unless the offsets cover the axis, fill the
 * memory of its result with zeros before.
 *
 * Fills up to `capacity` elements of `steps` and sets `*count` to the number of all steps, which is
 * at most TALLY_GRADIENT_MAX. `steps` may be NULL if `capacity` is 0. The caller sets `size` of the
 * first element. `count` may be NULL. The caller owns the array; the call allocates nothing.
 *
 * Returns TALLY_INVALID
 *
 * - if the descriptor breaks a rule;
 * - with field "op" if the results are indices, which have no gradient;
 * - with field "dtype" if the input (wrt x) or the output is no float, and with the letter if the
 *   operand `wrt` is none, or if there is no such operand.
 *
 * Returns TALLY_UNSUPPORTED, with the field that is in the way,
 *
 * - for cumlogsumexp with `carry=out`, and with respect to its `carry_in`: such a state is a pair;
 * - if an operand of `reset` does not fit the type of expressions without loss;
 * - for strides that an operand would need beside open sizes;
 * - if the gradient needs more than TALLY_GRADIENT_MAX steps.
 *
 * On failure nothing except *error is written. Thread-safe.
 */
TALLY_API tally_status tally_gradient(const tally_descriptor *descriptor, tally_source wrt,
                                      tally_gradient_step *steps, size_t capacity, size_t *count,
                                      tally_error *error);

#ifdef __cplusplus
}
#endif
#endif
