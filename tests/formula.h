/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions as the tests compute them: parsed straight from the grammar of docs/word.md and
 * evaluated for one element. Nothing here shares code with the runtime or the generator.
 */
#ifndef TLY_FORMULA_H
#define TLY_FORMULA_H

#include <tally/descriptor.h>

/* Every node takes at least one character of the text. */
enum { TLY_FORMULA_MOST = TALLY_EXPRESSION_MAX };

/* What an expression may name. */
typedef enum tly_name {
    TLY_NAME_X,
    TLY_NAME_Y,
    TLY_NAME_A, /* operand k is TLY_NAME_A + k */
    TLY_NAMES = TLY_NAME_A + TALLY_MAX_OPERANDS
} tly_name;

typedef enum tly_formula_op {
    TLY_FORMULA_NAME,
    TLY_FORMULA_CONSTANT,
    TLY_FORMULA_ADD,
    TLY_FORMULA_SUB,
    TLY_FORMULA_MUL,
    TLY_FORMULA_DIV,
    TLY_FORMULA_LT,
    TLY_FORMULA_LE,
    TLY_FORMULA_GT,
    TLY_FORMULA_GE,
    TLY_FORMULA_EQ,
    TLY_FORMULA_NE,
    TLY_FORMULA_NEG,
    TLY_FORMULA_ABS,
    TLY_FORMULA_SQRT,
    TLY_FORMULA_EXP,
    TLY_FORMULA_LOG,
    TLY_FORMULA_SIG,
    TLY_FORMULA_FLOOR,
    TLY_FORMULA_ROUND,
    TLY_FORMULA_MIN,
    TLY_FORMULA_MAX,
    TLY_FORMULA_WHERE
} tly_formula_op;

/* A value of a float type as that number, or of an integer type extended to 64 bits. */
typedef union tly_scalar {
    double real;
    uint64_t whole;
} tly_scalar;

typedef struct tly_formula_node {
    uint8_t op;
    uint8_t name;         /* TLY_FORMULA_NAME: a tly_name */
    uint8_t arguments[3]; /* nodes */
    double real;          /* TLY_FORMULA_CONSTANT: as f64 */
    uint64_t whole;       /* ... and as an integer, if the text is one */
} tly_formula_node;

/* The nodes are in the order of evaluation, and the last one is the result. */
typedef struct tly_formula {
    int count;
    tly_formula_node nodes[TLY_FORMULA_MOST];
} tly_formula;

/* Returns 0, or -1 if the text breaks the grammar. */
int tly_formula_parse(const char *text, tly_formula *f);

/* The value for one element. `type` is f32, f64 or an integer type but bool, `names` has values of
 * that type. Sets *subnormal to 1 if an operation takes or gives a subnormal number, or the least
 * normal one, and else leaves it. */
tly_scalar tly_formula_evaluate(const tly_formula *f, tally_dtype type,
                                const tly_scalar names[TLY_NAMES], int *subnormal);

/* Tally's exp and log, to the bit. `single`: of f32, whose numbers x then holds. */
double tly_formula_exp(int single, double x);
double tly_formula_log(int single, double x);

/* All numbers from low to high, infinities included, and NaN if `nan` is set. There is no number if
 * low exceeds high. A zero stands for zeros of both signs. */
typedef struct tly_span {
    double low, high;
    int nan;
} tly_span;

/* Where the results of a float type lie if y is in a span: every operation rounds outwards, so the
 * span may be wider than need be. names[TLY_NAME_Y] is not used. */
tly_span tly_formula_span(const tly_formula *f, tally_dtype type, const tly_scalar names[TLY_NAMES],
                          tly_span y);

#endif
