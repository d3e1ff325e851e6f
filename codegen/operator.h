/*
 * Operators as objects: what plans and templates must know of one, as a row of a table
 * (operator.c). Nothing else asks which operator it is.
 */
#ifndef TLY_OPERATOR_H
#define TLY_OPERATOR_H

#include "../runtime/problem.h"
#include "kir/kir.h"

/* Accumulators by how they are combined. */
typedef enum tly_class { TLY_SIGNED, TLY_UNSIGNED, TLY_FLOATING, TLY_CLASS_COUNT } tly_class;

/* Values that each kind of element has. */
typedef enum tly_value {
    TLY_LOWEST,  /* -inf, the least integer, false */
    TLY_HIGHEST, /* inf, the largest integer, true */
    TLY_NAN,     /* of floats alone */
    TLY_ZERO,
    TLY_MINUS_ZERO, /* of integers: zero */
    TLY_ONE,
    TLY_VALUE_COUNT
} tly_value;

/* How partial results that the plain loop does not have may leave the range of floats. */
typedef enum tly_watch {
    TLY_WATCH_NONE, /* they cannot */
    TLY_WATCH_SUMS,    /* upwards, and what overflowed stays infinite or NaN */
    TLY_WATCH_PRODUCTS /* upwards and downwards, and both may come back */
} tly_watch;

/* Which end of their order elements are picked from. Accumulators are keys then, integers that order
 * as the elements do (templates/keys.c). */
typedef enum tly_pick { TLY_PICK_NONE, TLY_PICK_HIGHEST, TLY_PICK_LOWEST } tly_pick;

typedef struct tly_operator {
    uint8_t op;                       /* tally_op */
    uint8_t combine[TLY_CLASS_COUNT]; /* kir_op: x before y */
    uint8_t identity;                 /* tly_value: what an exclusive scan shows first */
    uint8_t neutral;       /* tly_value: combines to the very bits of the other operand */
    uint8_t watch;         /* tly_watch */
    uint8_t subgroup_scan; /* kir_op of devices' subgroups, for integers; 0: none */
    uint8_t picks;         /* tly_pick: elements are compared, by keys */
} tly_operator;

/* NULL: no kernel is made for it. */
const tly_operator *tly_operator_find(int op);

/* TALLY_UNSUPPORTED for an operator without a row; what follows may rely on there being one. */
tally_status tly_operator_check(const tly_problem *p, tally_error *error);

tly_class tly_class_of(tally_dtype dtype);

/* The kir_op that combines two accumulators of a problem. */
kir_op tly_combines_by(const tly_problem *p);

/* Whether partial results may leave the range in this way: those of floats may. */
int tly_is_watched_as(const tly_problem *p, tly_watch watch);

/* What combines to nothing. Ignored, a NaN does. */
tly_value tly_neutral_value(const tly_problem *p);

uint64_t tly_value_bits(tly_value value, tally_dtype dtype);

#endif
