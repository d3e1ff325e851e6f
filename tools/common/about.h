/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command knows of operators, dtypes and operands beside what the library tells.
 * Whether an operator is a scan, its name, its result and its kernels are the library's to tell.
 */
#ifndef TLY_ABOUT_H
#define TLY_ABOUT_H

#include <tally.h>

/* How two elements become one. */
typedef enum tly_combines {
    TLY_COMBINES_NONE, /* no row */
    TLY_ADDS,
    TLY_MULTIPLIES,
    TLY_COMPARES,
    TLY_FINDS,            /* compares, and tells where */
    TLY_ADDS_EXPONENTIALS /* relative to the largest element */
} tly_combines;

/* Whose speed was measured as the operator's: operators of one kind were as fast as each other, or
 * nearly. The names are those of tools/expected. */
typedef enum tly_measured {
    TLY_MEASURED_NOT,
    TLY_MEASURED_SCAN,
    TLY_MEASURED_SUM,
    TLY_MEASURED_MAX,
    TLY_MEASURED_ARG,
    TLY_MEASURED_LSE
} tly_measured;

typedef struct tly_about {
    const char *results;   /* what a kernel of it computes, within a sentence of the page */
    const char *operation; /* what ⊕ stands for in the page's drawings */
    tly_combines combines;
    int as_loop; /* a reduction of floats by one invocation keeps the plain loop's order */
    tly_measured measured;
} tly_about;

/* A dtype in files and programs. */
typedef struct tly_about_dtype {
    char letter;        /* numpy's: f, V (bf16 comes as V2), i, u or b */
    const char *c_type; /* that holds an element's bits */
} tly_about_dtype;

const tly_about_dtype *tly_about_dtype_of(int32_t dtype);
int tly_about_is_float(int32_t dtype);
int tly_about_is_signed(int32_t dtype); /* it is an integer with a sign */

/* Of an operator that the library names. */
const tly_about *tly_about_op(int32_t op);

/* What stands on either side of a word in a command, so that no shell takes a part of it for its
 * own: "'", or "". */
const char *tly_quote_of(const char *word);

/* "a" to "d". */
const char *tly_operand_letter(int operand);

/* The operand that NAME=... names; -1: none. */
int tly_operand_of(const char *argument);

/* What follows offsets=; NULL: the argument is no such. */
const char *tly_offsets_of(const char *argument);

/* What follows carry_in=; NULL: the argument is no such. */
const char *tly_carry_in_of(const char *argument);

#endif
