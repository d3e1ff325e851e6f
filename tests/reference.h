/*
 * The plain loop that every kernel is judged by, written from docs/semantics.md alone: it shares no
 * code with the runtime or the generator, only the public descriptor. Besides the loop's own bits
 * it tells, for each element, the value in wider arithmetic and what is known of the inputs so far,
 * from which compare.c derives what other orders of combination may give.
 */
#ifndef TLY_REFERENCE_H
#define TLY_REFERENCE_H

#include <tally/descriptor.h>

/* Where the elements of a scan lie. Indices are elements from the caller's pointers. */
typedef struct tly_layout {
    int32_t rank, axis;
    int64_t sizes[TALLY_MAX_RANK];
    int64_t in_strides[TALLY_MAX_RANK], out_strides[TALLY_MAX_RANK];
    int64_t in_offset, out_offset;
    int64_t length;            /* elements along the axis */
    int64_t rows;              /* how many scans there are; 0 if some other size is 0 */
    int64_t in_step, out_step; /* from one scan position to the next; reverse is in the sign */
    int64_t in_low, in_high;   /* lowest and highest index; high < low if there is no element */
    int64_t out_low, out_high;
} tly_layout;

/* `d` must be valid. */
void tly_layout_of(const tally_descriptor *d, tly_layout *layout);
/* Index of scan position 0 of a row. */
void tly_layout_row(const tly_layout *layout, int64_t row, int64_t *in, int64_t *out);

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
    TLY_FACT_NEGATIVE = 1 << 9   /* products: the inputs' signs multiply to minus */
};

/* What is known of one output element. */
typedef struct tly_fact {
    int64_t row, position; /* position in scan direction */
    int64_t out;           /* element index from the output's pointer */
    int64_t terms;         /* inputs that take part */
    uint64_t bits;         /* what the loop stores, zero-extended */
    double accumulator;    /* floats: the loop's, before it is rounded to the output */
    double flushed;        /* floats: the same where operands and results that are subnormal in the
                               accumulator's type count as zeros of their sign */
    long double wide;      /* floats: the same sum or product in wider arithmetic */
    long double scale;     /* sums: sum of |x|; products: |wide| */
    uint32_t flags;
} tly_fact;

/* Returns 0 to go on. */
typedef int (*tly_fact_visit)(void *user, const tly_fact *fact);

/* Visits every output element, row by row in scan order; returns the first non-zero answer. */
int tly_reference(const tally_descriptor *d, const void *in, tly_fact_visit visit, void *user);

/* Elements as bits: zero-extended, in host order. */
uint64_t tly_bits_load(tally_dtype dtype, const void *at, int64_t index);
void tly_bits_store(tally_dtype dtype, void *at, int64_t index, uint64_t bits);
int tly_is_float(tally_dtype dtype);
int tly_bits_are_nan(tally_dtype dtype, uint64_t bits);
/* Floats only: exact to double, nearest even from double. */
double tly_decode(tally_dtype dtype, uint64_t bits);
uint64_t tly_encode(tally_dtype dtype, double value);
/* The accumulator's dtype (docs/semantics.md 4.1). */
tally_dtype tly_reference_accumulator(const tally_descriptor *d);
/* Bits of a significand, the hidden one included: 53, 24, 11, 8. */
int tly_precision(tally_dtype dtype);

#endif
