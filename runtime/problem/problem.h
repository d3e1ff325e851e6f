/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canonical problem: what a descriptor comes down to once names, size-1 dims, mergeable dims
 * and directions are gone. Split in two:
 *   tly_problem   what generated code depends on; it is the kernel's key, byte for byte
 *   tly_geometry  sizes, strides and offsets that only the launch needs
 * so that a new batch size, axis length or offset costs no compilation. The generator sees
 * tly_problem alone.
 */
#ifndef TLY_PROBLEM_H
#define TLY_PROBLEM_H

#include <tally/descriptor.h>

#include "../descriptor/descriptor.h"
#include "../descriptor/tensors.h"

/* How the scanned axis lies in memory. In every form the scan runs forward: a reverse scan is the
 * same one with reflected (negated) strides and a moved first element. */
typedef enum tly_form {
    /* The axis is the innermost dim of the output: one row is a stream of `length` elements,
     * each tensor has its step. With unit > 1 the stream interleaves `unit` scans (a packed axis
     * x inner block, inner 2 to 15): position p continues position p - unit. */
    TLY_ROWS = 1,
    /* Another dim ("lanes", `inner` elements) is the innermost of the output; the tensors'
     * steps are those along it, strides along the axis are launch arguments. */
    TLY_COLUMNS = 2,
    /* The axis is innermost in the output (step 1 or -1), lanes in the input (step 1): a transposed
     * view. Strides of the input's axis and of the output's lanes are launch arguments. */
    TLY_TRANSPOSED = 3,
    /* Reductions of rows: `length` elements, a step apart, the last reduced dim; `steps` of them,
     * by the other reduced dims, make one element of the output. */
    TLY_REDUCED_ROWS = 4,
    /* Reductions of lanes: `inner` lanes, elements of the output side by side, each of `length`
     * times `steps` elements. */
    TLY_REDUCED_LANES = 5
} tly_form;

/* Forms of reductions. */
static inline int tly_reduces(int form)
{
    return form >= TLY_REDUCED_ROWS;
}

/* How the lanes of TLY_COLUMNS and TLY_TRANSPOSED lie. */
typedef enum tly_packing {
    TLY_PACKED_NOT = 0, /* nothing is known */
    /* Axis and lanes are one block in all tensors, which the scan runs through upwards or downwards
     * in memory. */
    TLY_PACKED_UP = 1,
    TLY_PACKED_DOWN = 2,
    /* Columns: lanes are apart in the input, and the scan runs through its neighbouring elements
     * upwards or downwards. Transposed views: downwards through the output's. */
    TLY_AXIS_UP = 3,
    TLY_AXIS_DOWN = 4,
    /* Columns: lanes and axis are apart in the input, neighbouring rows are neighbours there, and
     * lanes are in the output. */
    TLY_ROWS_UP = 5
} tly_packing;

/* How a reduction deals with its elements. */
typedef enum tly_reduced_way {
    TLY_REDUCED_ONE = 0,    /* row by row, lanes side by side */
    TLY_REDUCED_SHORT = 1,  /* rows: several short ones at once */
    TLY_REDUCED_MEDIUM = 2, /* rows: several longer ones, where vectors are loaded in part */
    TLY_REDUCED_PACKED =
        3,               /* few lanes: steps of the axis are one behind the other, in any order */
    TLY_REDUCED_LONG = 4 /* products of floats: lanes that are neighbours, and many steps */
} tly_reduced_way;

/* A step that is no literal of the kernel but a launch argument. */
#define TLY_ANY_STEP 127

/* Largest unit: from 16 lanes on, columns fill a vector. */
#define TLY_MAX_UNIT 15

/* What code depends on of a tensor. */
typedef struct tly_tensor_facts {
    uint8_t dtype; /* tally_dtype */
    int8_t step;   /* elements: of the input -2 to 2 or TLY_ANY_STEP; of the output -1, 1 or
                      TLY_ANY_STEP, -1 in TLY_ROWS only */
} tly_tensor_facts;

/* Facts of each form. `least` is the largest power of two, up to 16, within a size that is
 * small: what is known of it where vectors must fit; 0: the size is not small, or known better. */
typedef struct tly_row_facts {
    uint8_t dense;     /* 1: row r + 1 starts where row r ends, in all tensors */
    uint8_t length;    /* stream elements a row, as a literal; 0: a launch argument */
    uint8_t least;     /* ... of rows that are not dense */
    uint8_t is_medium; /* 1: dense, one scan each, more than TLY_SHORT_ROW elements and up to
                          TLY_MEDIUM_ROW: one kernel has all these lengths */
} tly_row_facts;

typedef struct tly_lane_facts {
    uint8_t packing; /* tly_packing */
    uint8_t count;   /* packed lanes, as a literal; 0: a launch argument */
    uint8_t least;   /* of lanes that are few, or of fewer steps of transposed views */
    uint8_t lines;   /* 1: TLY_ROWS_UP, and rows along another dim continue to whole lines of output
                        (tly_line_dim) */
} tly_lane_facts;

typedef struct tly_reduced_facts {
    uint8_t way;       /* tly_reduced_way */
    uint8_t has_steps; /* 1: rows that are dealt with several at once have several steps each */
    uint8_t least;     /* of lanes */
    uint8_t counts_32; /* 1: indices, and 32 bits count an output's elements */
} tly_reduced_facts;

/* No padding, compared and hashed as bytes; zero first, then fill. */
typedef struct tly_problem {
    uint8_t op;    /* tally_op */
    uint8_t acc;   /* tally_dtype of the accumulator, resolved: never TALLY_DTYPE_NONE; of what
                      compares, integers that order as elements do (problem.c, problem_reduce.c) */
    uint8_t order; /* tally_order */
    uint8_t exclusive : 1;
    uint8_t nan_ignore : 1; /* comparisons pass over NaN */
    uint8_t last : 1;       /* of equals the last one's index */
    uint8_t form;           /* tly_form */
    uint8_t unit;           /* TLY_ROWS: 1 to TLY_MAX_UNIT; else 1 */
    uint8_t before, after;  /* TLY_STAGES of elements before they are combined, and of results */
    union {
        tly_row_facts rows;        /* TLY_ROWS */
        tly_lane_facts lanes;      /* TLY_COLUMNS, TLY_TRANSPOSED */
        tly_reduced_facts reduced; /* TLY_REDUCED_ROWS, TLY_REDUCED_LANES */
    };
    tly_tensor_facts tensor[TLY_TENSOR_COUNT];
} tly_problem;

_Static_assert(sizeof(tly_problem) == 16, "every byte is a fact");

typedef struct tly_dim {
    int64_t size;
    int64_t stride[TLY_TENSOR_COUNT]; /* elements */
} tly_dim;

/* What only a launch needs of a tensor, in elements. */
typedef struct tly_tensor_place {
    int64_t axis;      /* TLY_ROWS: the step; else the stride along the axis */
    int64_t lane;      /* along lanes; 0 for TLY_ROWS */
    int64_t first;     /* index, from the caller's pointer, of position 0 */
    int64_t low, high; /* lowest and highest index read or written; high < low if there is none */
} tly_tensor_place;

typedef struct tly_geometry {
    int64_t length;     /* TLY_ROWS: stream elements a row (axis x unit); else axis size */
    int64_t inner;      /* lanes; 1 for TLY_ROWS */
    int64_t rows;       /* product of the outer sizes; 1 if none */
    int32_t outer_rank; /* 0 to 7 */
    int32_t empty;      /* 1: some size is 0, nothing to do */
    tly_dim outer[TALLY_MAX_RANK - 1]; /* that with the nearest neighbours in memory last */
    /* Reductions: the reduced dims but that of `length`, outermost first; the output has no stride
     * there. */
    tly_dim reduced[TALLY_MAX_RANK];
    int32_t reduced_rank;
    int64_t steps; /* product of their sizes; 1 if none */
    tly_tensor_place tensor[TLY_TENSOR_COUNT];
} tly_geometry;

/* Bytes of an element of a tensor. */
static inline int64_t tly_element_bytes(const tly_problem *p, int tensor)
{
    return (int64_t)tally_dtype_bytes((tally_dtype)p->tensor[tensor].dtype);
}

/* 1 if no launch has input and output in one memory: in place is for scans of equal strides and
 * dtypes. A step that is a literal is so far from any other. */
static inline int tly_is_apart(const tly_problem *p)
{
    return tly_reduces(p->form) || p->form == TLY_TRANSPOSED ||
           p->tensor[TLY_IN].dtype != p->tensor[TLY_OUT].dtype ||
           (p->tensor[TLY_OUT].step != TLY_ANY_STEP &&
            p->tensor[TLY_IN].step != p->tensor[TLY_OUT].step);
}

/* Reduces a descriptor that tally_descriptor_check accepted. Open sizes count as large
 * ones: the problem is that of the kernel for these, and no launch has the geometry. */
void tly_canonicalise(const tally_descriptor *d, tly_problem *problem, tly_geometry *geometry);

/* The same of a resolved descriptor, which tly_canonicalise would refuse: it has strides where its
 * flags have none. */
void tly_canonicalise_resolved(const tally_descriptor *resolved, tly_problem *problem,
                               tly_geometry *geometry);

/* The same of a resolved descriptor whose sizes are known. */
void tly_canonicalise_closed(const tally_descriptor *full, tly_problem *problem,
                             tly_geometry *geometry);

/* problem_reduce.c: the same of a resolved reduction whose sizes are known. */
void tly_canonicalise_reduction(const tally_descriptor *full, tly_problem *problem,
                                tly_geometry *geometry);

/* The dim whose indices continue rows of `row` elements in the output, so that some of them make a
 * line of `line` elements; -1 where none does. Not rows that are neighbours in the input. */
static inline int32_t tly_line_dim(const tly_dim *dims, int32_t count, int64_t row, int64_t line)
{
    int32_t i = row < line && line % row == 0 ? count - 1 : -1;
    while (i >= 0 && (dims[i].stride[TLY_OUT] != row || dims[i].stride[TLY_IN] == 1 ||
                      dims[i].size % (line / row) != 0)) {
        i--;
    }
    return i;
}

/* Walks a dim from its other end; `first`: the element index of position 0, of each tensor. */
void tly_flip_dim(tly_dim *dim, int64_t *first);

/* Joins neighbours over which one walk has even steps in all tensors. */
void tly_merge_dims(tly_dim *dims, int32_t *count);

/* Takes a dim out, and joins those around it. */
tly_dim tly_take_dim(tly_dim *dims, int32_t *count, int32_t at);

/* Outer dims, outermost first, and what follows from them. */
void tly_set_outer(tly_geometry *g, const tly_dim *dims, int32_t count);

#endif
