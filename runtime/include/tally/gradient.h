/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gradients. The gradient of a word is computed by further words: no kernel is special to it.
 * tally_gradient finds these words; a tally_gradient_kernel runs them. docs/gradients.md explains
 * the formulas.
 */
#ifndef TALLY_GRADIENT_H
#define TALLY_GRADIENT_H

#include <tally/kernel.h>

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
    TALLY_SOURCE_OFFSETS = 10, /**< where its segments begin and end */
    TALLY_SOURCE_STEP = 16     /**< the result of step 0 */
} tally_source;

/** Returns the name that a source has in `tally grad`: "x", "g", "y", "a" to "d", "carry_in",
 *  "gcarry", "offsets"; NULL if the value is none or a step. Thread-safe. */
TALLY_API const char *tally_source_name(tally_source source);

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

/** The kernels of all steps of a gradient, and memory for what is between them. */
typedef struct tally_gradient_kernel tally_gradient_kernel;

/**
 * Creates the kernels that compute the gradient of a forward word with respect to `wrt`, for
 * tensors in host memory. `options` may be NULL. The caller destroys the result with
 * tally_gradient_kernel_destroy, before the context.
 *
 * On a CPU the steps run on parts of the tensors that are independent of each other, one part after
 * the other, so that the results of steps in between stay in the core's cache. These parts are
 * ranges of outer dims, such as the rows of a batch. Where no outer dim is there to be cut, as in
 * one long row or where the axis is the outermost dim, each step runs as a whole. The context keeps
 * the memory between steps for later runs; of more than 4 MiB the gradient's kernel keeps it.
 *
 * Fails as tally_gradient and tally_kernel_create do. Thread-safe.
 */
TALLY_API tally_status tally_gradient_kernel_create(
    tally_context *context, const tally_descriptor *descriptor, tally_source wrt,
    const tally_kernel_options *options, tally_gradient_kernel **kernel, tally_error *error);

/** Destroys the kernels and sets *kernel to NULL. NULL is valid. Thread-safe. */
TALLY_API void tally_gradient_kernel_destroy(tally_gradient_kernel **kernel);

/** Returns the tensors that a run reads: a bit, 1 << source, for each tally_source. A host keeps
 *  these from the forward run. 0 if `kernel` is NULL. Thread-safe. */
TALLY_API uint32_t tally_gradient_kernel_reads(const tally_gradient_kernel *kernel);

/** Returns the tensors that a run does not need, but is faster with: a bit, 1 << source, for each.
 *  It is y or none. The gradient of a scan computes what lies before each element, which the
 *  result of the scan tells; where that would not stay in the core's cache, a run that has y takes
 *  it from there, about 30 % faster and without the memory for it. 0 if `kernel` is NULL.
 *  Thread-safe. */
TALLY_API uint32_t tally_gradient_kernel_gains(const tally_gradient_kernel *kernel);

/** Returns the bytes that the results of steps in between take on each thread of a run that has
 *  what it reads and no more; 0 if there is one step, or if `kernel` is NULL. Thread-safe. */
TALLY_API size_t tally_gradient_kernel_memory(const tally_gradient_kernel *kernel);

/** The tensors of one run, by the tally_source that each is. What the run does not read is ignored.
 *  The offsets of the forward word's tensors count from these pointers; `out` is packed. */
typedef struct tally_gradient_buffers {
    size_t size;   /**< sizeof(tally_gradient_buffers) */
    const void *x; /**< the input of the forward word */
    const void *g; /**< the gradient of its output */
    const void *y; /**< its output; may be NULL where a run only gains by it */
    const void *operand[TALLY_MAX_OPERANDS]; /**< its operands a, b, c and d */
    const void *carry_in;                    /**< the states that it begins with; may be NULL as it
                                                  may be there, if no step computes with them */
    const void *g_carry; /**< the gradient of the states that it ends with; NULL: zeros */
    const void *offsets; /**< where its segments begin and end */
    void *out;           /**< receives the gradient; see tally_gradient */
} tally_gradient_buffers;

#define TALLY_GRADIENT_BUFFERS_INIT \
    { sizeof(tally_gradient_buffers), NULL, NULL, NULL, { NULL }, NULL, NULL, NULL, NULL }

/**
 * Computes a gradient and blocks until it is there. Pointers must be aligned to their elements, and
 * may be NULL only if the tensor is empty or if the struct says so. `out` must not overlap what is
 * read. Outside of all segments the result is zeros. `options` may be NULL, as for
 * tally_kernel_run_with; its `parallel` is called once for each step, or once in all if the steps
 * run on parts.
 *
 * Returns TALLY_INVALID if a rule is broken, with the name of the tensor in the field ("x", "g",
 * "y", "a", ..., "carry_in", "gcarry", "offsets", "out"); then nothing is written. Returns
 * TALLY_OUT_OF_MEMORY without memory for what is between the steps. The result does not depend on
 * the number of threads. Thread-safe: one kernel may run in many threads at once.
 */
TALLY_API tally_status tally_gradient_kernel_run(const tally_gradient_kernel *kernel,
                                                 const tally_gradient_buffers *buffers,
                                                 const tally_run_options *options,
                                                 tally_error *error);

#ifdef __cplusplus
}
#endif
#endif
