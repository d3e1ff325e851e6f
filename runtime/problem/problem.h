/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical problem. Canonicalisation removes dims of size 1, merges dims, and reflects the
 * strides of reverse scans, so that many descriptors become one problem. The result has two parts:
 *   tly_problem   what generated code depends on. Its bytes are the kernel's key.
 *   tly_geometry  sizes, strides and offsets, which only the launch needs.
 * The generator sees tly_problem alone, so a new batch size, axis length or offset needs no
 * compilation.
 */
#ifndef TLY_PROBLEM_H
#define TLY_PROBLEM_H

#include <stddef.h>

#include <tally/descriptor.h>

#include "../descriptor/descriptor.h"
#include "../descriptor/expression.h"
#include "../descriptor/tensors.h"

/* How the axis lies in memory. The scan runs forward in every form: a reverse scan has negated
 * strides, and its first element is the last one in memory. */
typedef enum tly_form {
    /* The axis is the innermost dim of the output. A row is a stream of `length` elements, with
     * a step in each tensor. If `interleave` is above 1, the stream interleaves so many scans,
     * and position p continues position p - interleave. Packed lanes, 2 to TLY_MAX_INTERLEAVE of
     * them, become such a stream. */
    TLY_ROWS = 1,
    /* Another dim, the lanes, is the innermost of the output. It has `inner` elements, and the
     * tensors' steps are those along it. Strides along the axis are launch arguments. */
    TLY_COLUMNS = 2,
    /* A transposed view: the axis is innermost in the output (step 1 or -1), and the lanes are in
     * the input (step 1). The other two strides are launch arguments. */
    TLY_TRANSPOSED = 3,
    /* Reductions of rows. A row is the last reduced dim, `length` elements a step apart. The other
     * reduced dims make `steps` such rows of each element of the output. */
    TLY_REDUCED_ROWS = 4,
    /* Reductions of lanes. `inner` elements of the output lie side by side, and each is made of
     * `length` times `steps` elements. */
    TLY_REDUCED_LANES = 5
} tly_form;

/* Segments of the axis, each of which is scanned or reduced by itself. Those of one size that
 * divide the axis are none of these, but a dim of their own. */
typedef enum tly_segmented {
    TLY_SEGMENTED_NOT = 0,
    TLY_SEGMENTED_OFFSETS = 1, /* a tensor says where they begin and end */
    TLY_SEGMENTED_EVERY = 2    /* each has as many elements, but the last one */
} tly_segmented;

/* Forms of reductions. */
static inline int tly_reduces(int form)
{
    return form >= TLY_REDUCED_ROWS;
}

/* How the lanes of TLY_COLUMNS and TLY_TRANSPOSED lie. */
typedef enum tly_packing {
    TLY_PACKED_NOT = 0, /* nothing is known */
    /* Axis and lanes are one contiguous block in all tensors. The scan runs through it upwards or
     * downwards in memory. */
    TLY_PACKED_UP = 1,
    TLY_PACKED_DOWN = 2,
    /* Columns: the lanes are apart in the input, and neighbours along the axis are neighbours in
     * memory, upwards or downwards. Transposed views: the output's axis runs downwards. */
    TLY_AXIS_UP = 3,
    TLY_AXIS_DOWN = 4,
    /* Columns: lanes and axis are apart in the input, where neighbouring rows are neighbours. In
     * the output the lanes are neighbours. */
    TLY_ROWS_UP = 5
} tly_packing;

/* How a reduction's elements are combined. */
typedef enum tly_reduced_way {
    TLY_REDUCED_ONE = 0,   /* row by row, lanes side by side */
    TLY_REDUCED_SHORT = 1, /* rows: several short ones at once */
    TLY_REDUCED_MEDIUM =
        2, /* rows: several longer ones at once, if vectors can be loaded in part */
    TLY_REDUCED_PACKED = 3, /* few lanes: the steps of the axis are contiguous, in any order */
    TLY_REDUCED_LONG = 4    /* products of floats: lanes that are neighbours, and many steps */
} tly_reduced_way;

/* Elements of the input that are so many apart at most are loaded in whole vectors. */
#define TLY_NEAR_STEP 4

/* A step that is no literal of the kernel but a launch argument. */
#define TLY_ANY_STEP 127

/* The most interleaved scans: from 16 lanes on, columns fill a vector. */
#define TLY_MAX_INTERLEAVE 15

/* The facts of a tensor that code depends on. */
typedef struct tly_tensor_facts {
    uint8_t dtype; /* tally_dtype */
    int8_t
        step; /* elements: of the input -2 to TLY_NEAR_STEP or TLY_ANY_STEP; of the output -1, 1 or
                      TLY_ANY_STEP, -1 in TLY_ROWS only; of operands -1, 0, 1 or TLY_ANY_STEP */
} tly_tensor_facts;

/* The facts of each form. `least` is a lower bound of a small size, which vectors must fit: a power
 * of two up to 16. It is 0 where the size is not small, or is itself a fact. */
typedef struct tly_row_facts {
    uint8_t contiguous; /* 1: row r + 1 starts where row r ends, in all tensors */
    uint8_t length;     /* stream elements of a row, as a literal; 0: a launch argument */
    uint8_t least;      /* of the length of rows that are not dense, or have a carry */
    uint8_t is_medium; /* 1: dense rows of one scan each, of more than TLY_SHORT_ROW elements, up to
                          TLY_MEDIUM_ROW, or any rows of up to so many whose segments have states;
                          dense rows of interleaved scans, of up to TLY_STREAM_ROW. One kernel
                          serves all these lengths. */
} tly_row_facts;

typedef struct tly_lane_facts {
    uint8_t packing;   /* tly_packing */
    uint8_t count;     /* packed lanes, as a literal; 0: a launch argument */
    uint8_t least;     /* of the lanes; of transposed views also of the steps, if these are fewer */
    uint8_t lines : 1; /* 1: TLY_ROWS_UP, and the rows of another dim complete whole lines of
                                 output (tly_line_dim) */
    uint8_t short_slices : 1; /* 1: packed, and several outer slices of few bytes lie one behind the
                                 other */
    uint8_t zero : 6;
} tly_lane_facts;

typedef struct tly_reduced_facts {
    uint8_t way;       /* tly_reduced_way */
    uint8_t has_steps; /* 1: rows that go several at once have several steps each */
    uint8_t least;     /* of the lanes */
    uint8_t slices; /* lanes: several outer slices of few steps; 1: their lanes are an argument, or,
                       of TLY_MAX_INTERLEAVE lanes at most that lie one slice behind the other, this
                       many; 0: not so */
} tly_reduced_facts;

/* The struct has no padding, as it is compared and hashed as bytes. Set it to zero, then fill
 * it. */
typedef struct tly_problem {
    uint8_t op;        /* tally_op */
    uint8_t acc;       /* tally_dtype of the accumulator, never TALLY_DTYPE_NONE. Comparisons have
                      integers that order as the elements do (canonicalise.c). */
    uint8_t order : 7; /* tally_order */
    uint8_t counts_32 : 1; /* results are indices, and 32 bits count the elements they tell apart */
    uint8_t exclusive : 1;
    uint8_t nan_ignore : 1; /* comparisons pass over NaN */
    uint8_t last : 1;       /* of equals the last one's index */
    uint8_t carry : 1;      /* states come from a tensor and go to one; each may be missing */
    uint8_t segmented : 2;  /* tly_segmented: what cuts the axis */
    uint8_t downwards : 1;  /* the scan begins at the axis' end, but its segments and indices count
                               from the axis' start */
    uint8_t resets : 1;     /* an expression drops the state before elements */
    uint8_t form;           /* tly_form */
    uint8_t interleave : 4; /* TLY_ROWS: 1 to TLY_MAX_INTERLEAVE; else 1 */
    /* Of interleaved scans, a bit for each operand that does not lie as the input does: its step is
     * 1 once a template has laid it so, and tly_tensor_place has both its strides. */
    uint8_t uneven : 4;
    uint8_t before, after; /* TLY_STAGES of elements before they are combined, and of results */
    union {
        tly_row_facts rows;        /* TLY_ROWS */
        tly_lane_facts lanes;      /* TLY_COLUMNS, TLY_TRANSPOSED */
        tly_reduced_facts reduced; /* TLY_REDUCED_ROWS, TLY_REDUCED_LANES */
    };
    tly_tensor_facts tensor[TLY_TENSOR_FACTS]; /* those that the kernel has */
    tly_program program;                       /* zero for words without expressions */
} tly_problem;

/* All but the program, which a word's problems have in common. */
#define TLY_FACT_BYTES offsetof(tly_problem, program)

_Static_assert(TLY_FACT_BYTES == 12 + 2 * TLY_TENSOR_FACTS && TLY_FACT_BYTES % 8 == 0 &&
                   sizeof(tly_problem) == TLY_FACT_BYTES + sizeof(tly_program),
               "every byte is a fact");

/* Tensors of a kernel: the input, the output, its operands, and the two of a carry. */
static inline int tly_tensors_of(const tly_problem *p)
{
    int count = TLY_FIRST_OPERAND;
    while (count < TLY_TENSOR_COUNT && p->tensor[count].dtype != 0) {
        count++;
    }
    return count;
}

/* Whether a tensor is an operand that lies otherwise than interleaved scans do. */
static inline int tly_is_uneven(const tly_problem *p, int tensor)
{
    return tensor >= TLY_FIRST_OPERAND && tensor < TLY_FIRST_OPERAND + TALLY_MAX_OPERANDS &&
           (p->uneven >> (tensor - TLY_FIRST_OPERAND) & 1);
}

/* One beyond the last operand, where the offsets of segments are, if there are any. */
static inline int tly_operands_end(const tly_problem *p)
{
    return tly_tensors_of(p) - (p->carry ? 2 : 0) - (p->segmented == TLY_SEGMENTED_OFFSETS);
}

/* Of a problem with a carry: which of its tensors has the states before the first elements. That of
 * the states after the last elements follows. */
static inline int tly_carry_tensor(const tly_problem *p)
{
    return tly_tensors_of(p) - 2;
}

/* What a kernel's tensor t is: a tly_tensor_number. */
static inline int tly_tensor_of(const tly_problem *p, int t)
{
    const int from = tly_operands_end(p);
    const int has_offsets = p->segmented == TLY_SEGMENTED_OFFSETS;
    return t < from ? t : TLY_OPERANDS_END + t - from + !has_offsets;
}

/* Whether integers are added exactly, and their mean is a float. */
static inline int tly_is_real_mean(const tly_problem *p)
{
    return p->after == TLY_STAGES_OF_REAL_MEAN;
}

/* The dtype of what operators combine: the input's, or that of the expressions. Integers whose mean
 * is a float have no `map`, and are added as they are. */
static inline tally_dtype tly_element_dtype(const tly_problem *p)
{
    return p->program.type != 0 && !tly_is_real_mean(p) ? (tally_dtype)p->program.type
                                                        : (tally_dtype)p->tensor[TLY_IN].dtype;
}

/* The dtype whose values are combined: expressions of bools are of u8, but combine bools. */
static inline tally_dtype tly_combined(const tly_problem *p)
{
    const tally_dtype element = tly_element_dtype(p);
    return p->tensor[TLY_IN].dtype == TALLY_BOOL && element == TALLY_U8 ? TALLY_BOOL : element;
}

/* Whether an expression makes what is combined (TLY_EXPRESSION_MAP), or what is stored
 * (TLY_EXPRESSION_POST). */
static inline int tly_has_expression(const tly_problem *p, int id)
{
    return p->program.code[id][0] != TLY_POSTFIX_END;
}

typedef struct tly_dim {
    int64_t size;
    int64_t stride[TLY_TENSOR_COUNT]; /* elements */
} tly_dim;

/* What only a launch needs of a tensor, in elements. */
typedef struct tly_tensor_place {
    int64_t axis;      /* TLY_ROWS: the step; else the stride along the axis */
    int64_t lane;      /* along lanes; 0 for TLY_ROWS, unless the operand is uneven */
    int64_t first;     /* index of position 0, from the caller's pointer */
    int64_t low, high; /* lowest and highest index that is accessed; high < low if there is none */
} tly_tensor_place;

typedef struct tly_geometry {
    int64_t length;     /* TLY_ROWS: stream elements a row (axis x interleave); else axis size */
    int64_t inner;      /* lanes; 1 for TLY_ROWS */
    int64_t rows;       /* product of the outer sizes; 1 if none */
    int32_t outer_rank; /* 0 to 7 */
    int32_t empty;      /* 1: some size is 0, nothing to do */
    int32_t carry;      /* TALLY_CARRY_...: which states a run takes and makes */
    int64_t segments;   /* of a problem that is segmented: how many */
    int64_t every;      /* elements of each but the last; 0: offsets tell */
    int64_t size;       /* elements along the axis, which no offset is beyond */
    tly_dim outer[TALLY_MAX_RANK - 1]; /* the dim with the nearest neighbours comes last */
    /* Reductions: the reduced dims without that of `length`, outermost first. Their strides in the
     * output are 0. */
    tly_dim reduced[TALLY_MAX_RANK];
    int32_t reduced_rank;
    int64_t steps; /* product of their sizes; 1 if none */
    tly_tensor_place tensor[TLY_TENSOR_COUNT];
} tly_geometry;

/* The codes of an expression, as bits: names, operations, and TLY_POSTFIX_CONSTANT for any
 * constant. */
static inline uint64_t tly_codes_of(const tly_problem *p, int id)
{
    uint64_t codes = 0;
    for (const uint8_t *code = p->program.code[id]; *code != TLY_POSTFIX_END; code++) {
        codes |= UINT64_C(1) << (*code < TLY_POSTFIX_CONSTANT ? *code : TLY_POSTFIX_CONSTANT);
    }
    return codes;
}

_Static_assert(TLY_POSTFIX_CONSTANT < 64, "a bit for each code");

/* 1: an expression may overflow or underflow for common values, as e^x does, and so raise flags. */
static inline int tly_raises_flags(const tly_problem *p, int id)
{
    const uint64_t raising = UINT64_C(1) << TLY_POSTFIX_EXP | UINT64_C(1) << TLY_POSTFIX_SIG;
    return (tly_codes_of(p, id) & raising) != 0;
}

/* Bytes of an element of a tensor. */
static inline int64_t tly_element_bytes(const tly_problem *p, int tensor)
{
    return (int64_t)tally_dtype_bytes((tally_dtype)p->tensor[tensor].dtype);
}

/* 1 if no launch can be in place, because a scan in place needs equal dtypes and strides. */
static inline int tly_is_apart(const tly_problem *p)
{
    return tly_reduces(p->form) || p->form == TLY_TRANSPOSED ||
           p->tensor[TLY_IN].dtype != p->tensor[TLY_OUT].dtype ||
           (p->tensor[TLY_OUT].step != TLY_ANY_STEP &&
            p->tensor[TLY_IN].step != p->tensor[TLY_OUT].step);
}

/* The dim along which rows of `row` elements are contiguous in the output, and make whole lines of
 * `line` elements; -1 if there is none. Rows that are neighbours in the input do not count. */
static inline int32_t tly_line_dim(const tly_dim *dims, int32_t count, int64_t row, int64_t line)
{
    int32_t i = row > 0 && row < line && line % row == 0 ? count - 1 : -1;
    while (i >= 0 && (dims[i].stride[TLY_OUT] != row || dims[i].stride[TLY_IN] == 1 ||
                      dims[i].size % (line / row) != 0)) {
        i--;
    }
    return i;
}

#endif
