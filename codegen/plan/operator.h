/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators as objects: what plans and templates must know of one, as a row of a table of facts
 * (operator.c) and one of functions (operator_code.c). Nothing else asks which operator it is.
 *
 * What is combined are states: an element x, as an accumulator, goes through the problem's stages
 * (such as a square), is lifted to a state, states are combined, and a state is projected to a
 * result, an accumulator again, which goes through stages, too (such as a root). A state has up to
 * three parts; kernels that are being built hold it as a tuple (kir_tuple). Plans ask for facts
 * alone, so that libtally can plan without what builds kernels.
 */
#ifndef TLY_OPERATOR_H
#define TLY_OPERATOR_H

#include "../../runtime/problem/problem.h"
#include "../kir/kir.h"

/* Accumulators by how they are combined. */
typedef enum tly_class { TLY_SIGNED, TLY_UNSIGNED, TLY_FLOATING, TLY_CLASS_COUNT } tly_class;

/* Values that each kind of element has. */
typedef enum tly_value {
    TLY_ZERO,
    TLY_MINUS_ZERO, /* of integers: zero */
    TLY_ONE,
    TLY_LEAST, /* of floats -inf, of integers the smallest */
    TLY_MOST,
    TLY_NAN, /* of integers: zero */
    TLY_VALUE_COUNT
} tly_value;

/* How partial results that the plain loop does not have may leave the range of floats. */
typedef enum tly_range_check {
    TLY_CHECK_NONE,     /* they cannot */
    TLY_CHECK_SUMS,     /* upwards, and what overflowed stays infinite or NaN */
    TLY_CHECK_PRODUCTS, /* upwards and downwards, and both may come back */
    TLY_CHECK_LINEAR,   /* factors and addends upwards, and what overflowed stays infinite or NaN */
    TLY_CHECK_SQUARES   /* sums of squares: both ways, the plain loop's, too, but not their root */
} tly_range_check;

/* Dtypes of inputs, as bits by tally_dtype. */
#define TLY_BIT(dtype) (1u << TALLY_##dtype)
#define TLY_FLOATS (TLY_BIT(F64) | TLY_BIT(F32) | TLY_BIT(F16) | TLY_BIT(BF16))
#define TLY_NUMBERS (TLY_FLOATS | TLY_BIT(I64) | TLY_BIT(I32) | TLY_BIT(U64) | TLY_BIT(U32))
#define TLY_ORDERED (TLY_NUMBERS | TLY_BIT(I16) | TLY_BIT(I8) | TLY_BIT(U16) | TLY_BIT(U8))
#define TLY_ALL (TLY_ORDERED | TLY_BIT(BOOL))

/* Dtypes of the output. */
typedef enum tly_outputs {
    TLY_OUT_SAME,    /* the input's */
    TLY_OUT_WIDER,   /* and wider ones, also of narrower inputs than those of `dtypes` */
    TLY_OUT_SINGLE,  /* and f32 of f16 and bf16 */
    TLY_OUT_MEANS,   /* the same, and f32 and f64 of integers and bools, also of narrower ones */
    TLY_OUT_INDICES, /* i64, i32, u64, u32 */
    TLY_OUT_RUNNING  /* i64, i32 */
} tly_outputs;

/* What a part of a state is. */
typedef enum tly_part_kind {
    TLY_PART_VALUE, /* an accumulator */
    TLY_PART_INDEX  /* the position of an element, of tly_index_dtype */
} tly_part_kind;

struct tly_build; /* templates/emit.h */
struct tly_place; /* templates/template.h */

typedef struct tly_operator {
    uint8_t op;                  /* tally_op */
    uint8_t outputs;             /* tly_outputs, and ... */
    uint32_t dtypes;             /* ... inputs that kernels are made for */
    uint8_t parts;               /* of a state, from 1 */
    uint8_t part[KIR_MAX_PARTS]; /* tly_part_kind */
    uint8_t by[TLY_CLASS_COUNT]; /* kir_op: what combines states of one part, x before y */
    uint8_t converts; /* 1: beside stages, an element is not its own state, or a state no result */
    uint8_t applies;  /* 1: elements are no states but change one, by a factor and an addend */
    uint8_t takes;    /* 1: several elements at once cost less than one by one */
    uint8_t identity[KIR_MAX_PARTS]; /* tly_value: the state that an exclusive scan shows first */
    uint8_t neutral[KIR_MAX_PARTS];  /* tly_value: combines to the very bits of the other state */
    uint8_t empty;                   /* tly_value: the result of no elements (reductions) */
    uint8_t keeps;         /* 1: of floats, results are in range wherever exact ones are */
    uint8_t exact;         /* 1: of integers, results are of exact sums */
    uint8_t wide;          /* unless 0: the row that integers of 64 bits have */
    uint8_t compares;      /* 1: accumulators are integers that order as elements do */
    uint8_t searches;      /* 1: `by` makes the value of the one element that decides */
    uint8_t padding;       /* tly_value: an element that is lifted to the neutral state */
    uint8_t check;         /* tly_range_check */
    uint8_t subgroup_scan; /* kir_op of devices' subgroups, for integers; 0: none */
} tly_operator;

/* Rows for part of an operator's dtypes (`wide`), whose numbers no descriptor has. */
enum {
    TLY_WIDE_MEAN = 255 /* sums of 64-bit integers in two parts */
};

/* What `by` cannot say; each may be NULL: an element is its own state, as `by` says, and a state
 * its own result. `at`: where the element lies, or the one that the result belongs to; never
 * NULL. */
typedef struct tly_operator_code {
    uint8_t op;
    kir_value (*lift)(struct tly_build *c, kir_value x, const struct tly_place *at);
    kir_value (*combine)(struct tly_build *c, kir_value x, kir_value y);
    /* Of operators whose elements are no states (`applies`): the state after an element. `first`:
     * i1s, or one i1, of lanes where no state comes before the element; 0: a state comes before it
     * in all lanes. Their `combine` takes a window, which an element is, behind a state or a
     * window. */
    kir_value (*apply)(struct tly_build *c, kir_value state, kir_value element, kir_value first);
    kir_value (*project)(struct tly_build *c, kir_value state, const struct tly_place *at);
    /* What costs less than `combine`, of a state of some elements, or that a scan on a CPU starts
     * from (tly_start), and the next element's. */
    kir_value (*advance)(struct tly_build *c, kir_value state, kir_value element);
    /* Several elements at once, as accumulators. */
    kir_value (*take)(struct tly_build *c, kir_value state, const kir_value *x, unsigned n);
} tly_operator_code;

/* operator_code.c: never NULL; an operator without functions has a row of NULLs. */
const tly_operator_code *tly_operator_code_find(int op);

/* NULL: no kernel is made for it (operator.c; what follows is in operator_facts.c). */
const tly_operator *tly_operator_find(int op);

/* The rows of a problem: of its operator and its dtype. */
const tly_operator *tly_operator_of(const tly_problem *p);

/* made.c: whether kernels are made for a problem on any target. TALLY_UNSUPPORTED names what none
 * are made for, and in the hint what they are made for; what follows may rely on a row. */
tally_status tly_operator_check(const tly_problem *p, tally_error *error);

static inline const tly_operator_code *tly_operator_code_of(const tly_problem *p)
{
    return tly_operator_code_find(tly_operator_of(p)->op);
}

tly_class tly_class_of(tally_dtype dtype);
/* The dtypes that are wider than an input, and may be an output of it: bits by tally_dtype. */
uint32_t tly_wider_of(tally_dtype dtype);
/* The dtypes that an output may also have if the word has `map` or `post`, and tells no index. */
uint32_t tly_fused_outputs(tally_dtype dtype);

/* i64; i32 where as wide as accumulators and positions are known to fit. */
tally_dtype tly_index_dtype(const tly_problem *p);

/* Whether a state has the position of an element beside it. */
int tly_has_index(const tly_problem *p);

/* Whether the larger of two indices is told of equal elements: the last one's, or the first one's
 * of a scan that begins at the axis' end. */
static inline int tly_takes_later(const tly_problem *p)
{
    return p->last != p->downwards;
}

/* Bytes that decide how many lanes a vector has: an accumulator's, or a stored running index's. */
unsigned tly_lane_bytes(const tly_problem *p);

/* In memory each part of a state has as much room as the widest. */
unsigned tly_part_bytes(const tly_problem *p);

static inline unsigned tly_state_bytes(const tly_problem *p)
{
    return tly_operator_of(p)->parts * tly_part_bytes(p);
}

/* What stands for several elements, a window, has the parts of one (tly_element): those of a state,
 * before them the factor of an operator that `applies`, and first of all, on devices, a u32 that
 * says whether one of them is a head, before which the state is dropped. Segments that have states
 * of the caller's know their heads otherwise. */
static inline unsigned tly_factors(const tly_problem *p)
{
    return tly_operator_of(p)->applies;
}

static inline unsigned tly_window_heads(const tly_problem *p)
{
    return !tly_reduces(p->form) && (p->resets || (p->segmented && !p->carry));
}

static inline unsigned tly_window_parts(const tly_problem *p)
{
    return tly_window_heads(p) + tly_factors(p) + tly_operator_of(p)->parts;
}

static inline unsigned tly_window_bytes(const tly_problem *p)
{
    return tly_window_parts(p) * tly_part_bytes(p);
}

enum { TLY_MOST_STATE_BYTES = 8 * KIR_MAX_PARTS };

/* 1: elements, once mapped, are states, and states are results before `post`. */
int tly_results_are_states(const tly_problem *p);
/* The same of a word without `post`. */
int tly_is_plain(const tly_problem *p);

/* 1: results of integers are a function of f64. */
int tly_is_of_reals(const tly_problem *p);

/* The kir_op that combines two states of one part; KIR_CONST, which is none, of operators that
 * combine by a function. */
kir_op tly_combines_by(const tly_problem *p);

/* Products of integers; of 64 bits. */
int tly_multiplies_integers(const tly_problem *p);
int tly_is_wide_product(const tly_problem *p);

/* Whether partial results may leave the range in this way: those of floats may. */
int tly_is_checked_as(const tly_problem *p, tly_range_check watch);
/* Whether they may where the result has to be in range all the same, order=serial included. */
int tly_keeps_range(const tly_problem *p);
/* The ends of the range that partial results of a scan may pass: 2 of products, 1 of sums, of
 * recurrences that of factors and that of addends, 0 of what is not watched. */
unsigned tly_range_sides(const tly_problem *p);

uint64_t tly_value_bits(tly_value value, tally_dtype dtype);

#endif
