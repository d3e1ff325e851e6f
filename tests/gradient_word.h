/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words as plain loops over dual numbers, for gradients: each value has a derivative by one element
 * of one tensor. All is computed in f64, whatever the dtypes are. Nothing here shares code with the
 * runtime; expressions are those of formula.h.
 */
#ifndef TLY_GRADIENT_WORD_H
#define TLY_GRADIENT_WORD_H

#include <tally/descriptor.h>

typedef struct tly_dual {
    double v, d;
} tly_dual;

/* The tensors of a word: the input, the operands, and the states that a scan begins with. */
enum { TLY_WORD_X, TLY_WORD_A, TLY_WORD_CARRY = TLY_WORD_A + TALLY_MAX_OPERANDS, TLY_WORD_TENSORS };

/* Whether the word has a tensor. */
int tly_word_has(const tally_descriptor *d, int tensor);

/* The axis of a scan, or of a reduction's segments: the first one that is reduced. */
int tly_word_axis_of(const tally_descriptor *d);

/* The derivative is by element `key` of a tensor, counted in row-major order over the dims along
 * which the tensor extends. */
typedef struct tly_seed {
    int tensor; /* -1: all derivatives are 0 */
    int64_t key;
    double step; /* added to the element */
} tly_seed;

/* The sizes of the results of a reduction in segments, and of states: a dim that is cut has one
 * element for each segment; of a scan that has none, one element. */
void tly_word_sizes(const tally_descriptor *d, int64_t sizes[TALLY_MAX_RANK]);

/* The dims along which a tensor of a word extends, and strides and offset over the word's dims.
 * States are packed over tly_word_sizes. */
uint32_t tly_word_place(const tally_descriptor *d, int tensor, int64_t strides[TALLY_MAX_RANK],
                        int64_t *offset);
/* The same of the output: a reduced dim that is not cut has stride 0. */
uint32_t tly_word_output(const tally_descriptor *d, int64_t strides[TALLY_MAX_RANK],
                         int64_t *offset);
/* Lowest and highest index that such strides reach; high is below low if a size is 0. */
void tly_word_extent(int rank, const int64_t *sizes, uint32_t dims, const int64_t *strides,
                     int64_t offset, int64_t *low, int64_t *high);

/* Runs a word. Pointers are as for tally_kernel_run_buffers, to doubles and duals. No size is 0.
 * `offsets` is NULL unless the word has segments, and `last`, where the states go that a scan ends
 * with, unless the word has `carry=out`.
 *
 * Returns TLY_WORD_EXTREME if some element that is combined, some result or some output is not
 * below 1e6; results of no element do not count. Otherwise TLY_WORD_SINGULAR if some part of an
 * expression is not finite, or is the root of 0. Then a derivative of 0 may be 0 times infinity. */
enum { TLY_WORD_REGULAR, TLY_WORD_SINGULAR, TLY_WORD_EXTREME };
int tly_word_run(const tally_descriptor *d, const double *const tensors[TLY_WORD_TENSORS],
                 const int64_t *offsets, tly_seed seed, tly_dual *out, tly_dual *last);

#endif
