/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What surrounds the combination of elements: operands and where they lie, the expressions `map`
 * and `post`, their type, and the values that an operator sees because of them.
 */
#ifndef TLY_FUSED_H
#define TLY_FUSED_H

#include "formula.h"
#include "reference.h"

/* An operand by the input's dims. Indices are elements from the operand's pointer. */
typedef struct tly_fused_place {
    tally_dtype dtype; /* TALLY_DTYPE_NONE: there is no such operand */
    int64_t strides[TALLY_MAX_RANK];
    int64_t offset;
    int64_t low, high; /* lowest and highest index; high < low if there is no element */
} tly_fused_place;

typedef struct tly_fused {
    int has_map, has_coef, has_post, has_reset;
    tly_formula map, coef, post, reset;
    tally_dtype type;       /* the expressions' */
    tally_dtype in, stored; /* the input's and the output's */
    tally_descriptor
        values; /* the same word for a tensor of mapped elements. With `post` its output
                                has the expressions' type */
    tly_fused_place places[TALLY_MAX_OPERANDS];
} tly_fused;

/* Whether a descriptor has operands or expressions. */
int tly_is_fused(const tally_descriptor *d);

/* The type of expressions, whether or not there are any. */
tally_dtype tly_fused_type(const tally_descriptor *d);

/* Whether each value of a dtype is one of a type. */
int tly_fused_fits(tally_dtype dtype, tally_dtype type);

void tly_fused_place_of(const tally_descriptor *d, int operand, tly_fused_place *place);

/* `d` must be valid. Without operands and expressions, `values` is the word itself. Returns -1
 * if an expression breaks the grammar. */
int tly_fused_of(const tally_descriptor *d, tly_fused *f);

/* Sets names but x and y to the operands' values at a place; `operands` are their pointers. */
void tly_fused_load(const tly_fused *f, const tly_layout *l, const void *const *operands,
                    int64_t row, int64_t position, tly_scalar names[TLY_NAMES]);

/* An element as a value of the expressions' type, and such a value as an element. */
tly_scalar tly_fused_widen(const tly_fused *f, tally_dtype dtype, uint64_t bits);
uint64_t tly_fused_store(const tly_fused *f, tally_dtype dtype, tly_scalar value);

/* Whether integers are added as they are, and their mean is the float that `post` sees. */
int tly_fused_is_mean(const tly_fused *f);

/* Whether elements have a factor beside them. */
int tly_fused_recurs(const tly_fused *f);

/* What is combined, its factor, and what is stored, of names; *subnormal as of
 * tly_formula_evaluate. */
uint64_t tly_fused_map(const tly_fused *f, const tly_scalar names[TLY_NAMES], int *subnormal);
uint64_t tly_fused_coef(const tly_fused *f, const tly_scalar names[TLY_NAMES], int *subnormal);
/* Whether the state before an element is dropped; the names are of the type of the other
 * expressions. */
int tly_fused_resets(const tly_fused *f, const tly_scalar names[TLY_NAMES], int *subnormal);
uint64_t tly_fused_post(const tly_fused *f, const tly_scalar names[TLY_NAMES], int *subnormal);

#endif
