/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plain loop that every kernel is judged by, written from docs/semantics.md alone: it shares no
 * code with the runtime or the generator, only the public descriptor. Besides the loop's own bits
 * it tells, for each element, the value in wider arithmetic and what is known of the inputs so far,
 * from which compare.c derives what other orders of combination may give.
 */
#ifndef TLY_REFERENCE_H
#define TLY_REFERENCE_H

#include <tally/descriptor.h>

#include "formula.h"

/* Where elements lie. A row is what is combined with itself: a scan, or all that one element of a
 * reduction's result is made of, in row-major order. Indices are elements from the caller's
 * pointers. */
typedef struct tly_layout {
    int32_t is_scan, rank;
    uint32_t folded;               /* bit d: dim d is the axis of a scan, or reduced */
    int64_t sizes[TALLY_MAX_RANK]; /* the input's, and strides by its dims */
    int64_t in_strides[TALLY_MAX_RANK], out_strides[TALLY_MAX_RANK];
    int64_t in_offset, out_offset;
    int64_t length;  /* elements of a row */
    int64_t results; /* what a row gives: `length` for scans, else one for each segment */
    int64_t rows;    /* 0 if some other size is 0 */
    /* Where one dim is folded, it, and the steps from one position to the next; reverse is in the
     * sign. Else 0. */
    int32_t axis;
    int64_t in_step, out_step;
    int64_t in_low, in_high; /* lowest and highest index; high < low if there is no element */
    int64_t out_low, out_high;
    int is_reversed; /* positions count from the axis' end */
} tly_layout;

/* `d` must be valid. */
void tly_layout_of(const tally_descriptor *d, tly_layout *layout);
/* Index of a row's position 0. */
void tly_layout_row(const tly_layout *layout, int64_t row, int64_t *in, int64_t *out);
/* How far a position of a row lies from its position 0, in the input. */
int64_t tly_layout_step(const tly_layout *layout, int64_t position);
/* Index of an element of another tensor, whose strides are by the input's dims. */
int64_t tly_layout_index(const tly_layout *layout, const int64_t *strides, int64_t offset,
                         int64_t row, int64_t position);
/* Lowest and highest index of a tensor; high is below low if the tensor has no element. */
void tly_layout_extent(int rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
                       int64_t *low, int64_t *high);

/* What an operator does with the elements of a row: `lift` each, combine them as the family says,
 * `project` what comes out. */
typedef enum tly_family {
    TLY_SUMS,
    TLY_PRODUCTS,
    TLY_LOG_SUMS, /* log of the sum of exp */
    TLY_RECURRENCES,
    TLY_PICKS,   /* one of the elements */
    TLY_INDICES, /* the index of one */
    TLY_FAMILY_COUNT
} tly_family;

typedef enum tly_lift { TLY_ITSELF, TLY_ABSOLUTE, TLY_SQUARE } tly_lift;
typedef enum tly_projection { TLY_AS_IT_IS, TLY_BY_COUNT, TLY_ROOT, TLY_LOGARITHM } tly_projection;

typedef struct tly_operation {
    uint8_t family;
    uint8_t lift;
    uint8_t projection;
    int8_t sense; /* picks and indices: 1 for the largest, -1 for the smallest */
} tly_operation;

extern const tly_operation tly_operations[TALLY_OP_COUNT];

enum {
    TLY_FACT_FLOAT = 1 << 0,
    TLY_FACT_FINITE = 1 << 1,       /* inputs and the loop's accumulator are finite so far */
    TLY_FACT_UNDERFLOW = 1 << 2,    /* products: the loop's accumulator has been subnormal, or zero
                                      of factors that are none */
    TLY_FACT_NONFINITE_IN = 1 << 3, /* some input so far is inf or NaN */
    TLY_FACT_NAN_IN = 1 << 4,
    TLY_FACT_OVERFLOW = 1 << 5,  /* finite inputs took the loop out of range */
    TLY_FACT_ANY_ORDER = 1 << 6, /* nothing rounds: every order gives the loop's bits */
    TLY_FACT_SUBNORMAL = 1 << 7, /* sums: a partial result may be subnormal, in some order;
                                      products: an input or the loop's accumulator was */
    TLY_FACT_ZERO_IN = 1 << 8,   /* products: some input so far is zero */
    TLY_FACT_NEGATIVE = 1 << 9,  /* products: the inputs' signs multiply to minus */
    TLY_FACT_STRAYED = 1 << 10,  /* means, norms and logarithms: the loop's sum left the range, or a
                                      square did downwards; what is right follows from `wide`.
                                      Recurrences: the loop left the range by a hair */
    TLY_FACT_STAGE_SUBNORMAL = 1 << 11 /* an expression has met a subnormal number in this row */
};

/* Of a sum that is projected, `sum`, `wide` and `scale` speak of the sum, all else of the result;
 * `wide` has inputs that are not finite in it, too. Of picks and indices one value is right, but
 * for `flushed`. */

/* Of a word with expressions, the inputs are the mapped elements, and all but `bits` speaks of the
 * result before `post`. */

/* What is known of one output element. */
typedef struct tly_fact {
    int64_t row, position; /* in scan direction; of reductions the number of the segment */
    int64_t out;           /* element index from the output's pointer */
    int64_t terms;         /* inputs that take part */
    uint64_t bits;         /* what the loop stores, zero-extended */
    uint64_t result;       /* the same before `post`, in the type of expressions; else `bits` */
    /* Words with expressions: the values of names at the result's place, y included. They are there
     * during the visit. Else NULL. */
    const tly_scalar *names;
    double accumulator; /* floats: the loop's, before it is rounded to the output */
    double sum;         /* sums: the loop's, before it is projected */
    double flushed;     /* floats: the same where operands and results that are subnormal in the
                               accumulator's type count as zeros of their sign; an index as such */
    long double wide;   /* floats: the same in wider arithmetic, before it is projected; log
                               sums of integers, too */
    long double scale;  /* sums: sum of the lifted elements' magnitudes; products: |wide|; log
                               sums: with d = x - max, the sum of |d|e^d over that of e^d;
                               recurrences: m[t] = |a[t]|*m[t-1] + |u[t]| */
    /* Recurrences: m'[t] = |a[t]|*m'[t-1] + max(m[0], ..., m[t], 2^-21), of f64 2^-50: a product of
     * factors that falls below the range has lost its share of results before it, and later factors
     * may bring that back. */
    long double lost;
    uint32_t flags;
} tly_fact;

/* Returns 0 to go on. */
typedef int (*tly_fact_visit)(void *user, const tly_fact *fact);

/* Visits every output element, row by row in scan order; returns the first non-zero answer, or -1
 * if an expression breaks the grammar. `operands` are TALLY_MAX_OPERANDS pointers. Only those of
 * the word's operands are used; NULL for words without operands. */
int tly_reference_buffers(const tally_descriptor *d, const void *in, const void *const *operands,
                          tly_fact_visit visit, void *user);
/* The same without operands. */
int tly_reference(const tally_descriptor *d, const void *in, tly_fact_visit visit, void *user);

/* Elements as bits: zero-extended, in host order. */
uint64_t tly_bits_load(tally_dtype dtype, const void *at, int64_t index);
void tly_bits_store(tally_dtype dtype, void *at, int64_t index, uint64_t bits);
int tly_is_float(tally_dtype dtype);
int tly_bits_are_nan(tally_dtype dtype, uint64_t bits);
/* Floats only: exact to double, nearest even from double. */
double tly_decode(tally_dtype dtype, uint64_t bits);
uint64_t tly_encode(tally_dtype dtype, double value);
/* Bits of a significand, the hidden one included: 53, 24, 11, 8. */
int tly_precision(tally_dtype dtype);

/* Whether what a row comes to has a function taken of it that only floats have, or is the mean of
 * integers as a float. */
static inline int tly_ends_in_reals(const tally_descriptor *d)
{
    const tly_operation *operation = &tly_operations[d->op];
    const int is_mean = operation->projection == TLY_BY_COUNT && !d->map[0];
    if (is_mean && d->out_dtype && tly_is_float((tally_dtype)d->out_dtype))
        return !tly_is_float((tally_dtype)d->dtype);
    return operation->projection == TLY_ROOT || operation->projection == TLY_LOGARITHM ||
           operation->family == TLY_LOG_SUMS;
}

/* Integers only. In 64 bits, two's complement: from an element's bits, and back to them modulo its
 * width. */
int tly_is_signed(tally_dtype dtype);
uint64_t tly_integer_widen(tally_dtype dtype, uint64_t bits);
uint64_t tly_integer_cut(tally_dtype dtype, uint64_t value);
uint64_t tly_integer_least(tally_dtype dtype);
uint64_t tly_integer_largest(tally_dtype dtype);
/* Of 64 bits that are signed as the dtype is. */
long double tly_integer_value(tally_dtype dtype, uint64_t value);
/* An element's bits: truncated toward zero, NaN to 0, and what is beyond the dtype to its end. */
uint64_t tly_integer_saturate(tally_dtype dtype, long double value);

/* The output's dtype, and the accumulator's (docs/semantics.md 4.1). */
tally_dtype tly_reference_output(const tally_descriptor *d);
tally_dtype tly_reference_accumulator(const tally_descriptor *d);

#endif
