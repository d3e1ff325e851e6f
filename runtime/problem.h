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

#include "tensors.h"

/* How the scanned axis lies in memory. In every form the scan runs forward: a reverse scan is the
 * same one with reflected (negated) strides and a moved first element. */
typedef enum tly_form {
    /* The axis is the innermost dim of the output: one row is a stream of `length` elements, each tensor
     * has its step. With unit > 1 the stream interleaves `unit` scans (a
     * packed axis x inner block, inner 2 to 15): position p continues position p - unit. */
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

/* Whether row r + 1 starts where row r ends, in both tensors; MEDIUM: and they have, one scan each,
 * more than TLY_SHORT_ROW elements and up to TLY_MEDIUM_ROW, but TLY_EVEN_ROW. */
typedef enum tly_dense { TLY_DENSE_NOT = 0, TLY_DENSE = 1, TLY_DENSE_MEDIUM = 2 } tly_dense;

/* How axis and lanes lie. Packed columns: as one block in both tensors, which the scan runs through
 * upwards or downwards in memory. Axis: of columns, lanes are apart in the input, and the scan runs
 * through its neighbouring elements up or down; of transposed views, down through the output's.
 * Rows: lanes and axis are apart in the input, of which neighbouring rows are neighbours, and lanes
 * are in the output. Lines: and there are few, which rows along another dim continue to whole lines
 * (tly_line_dim). */
typedef enum tly_packed {
    TLY_PACKED_NOT = 0,
    TLY_PACKED_UP = 1,
    TLY_PACKED_DOWN = 2,
    TLY_AXIS_UP = 3,
    TLY_AXIS_DOWN = 4,
    TLY_ROWS_UP = 5,
    TLY_ROWS_LINES = 6
} tly_packed;

/* Reductions, as bits: rows that are dealt with several at once, from 1 up to TLY_REDUCED_BYTES of
 * accumulators, along one dim; or, medium ones, up to TLY_REDUCED_MEDIUM_BYTES where vectors are
 * loaded in part; each of these of several steps, TLY_REDUCED_MOST_STEPS at most, where there are
 * TLY_REDUCED_MANY_ROWS or more; of indices: elements can be counted in 32 bits; of lanes: fewer
 * than TLY_REDUCED_FEW_LANES and more than one, steps of the axis one behind the other,
 * TLY_REDUCED_BLOCK of their elements or more, in any order; or, of products of floats, that many
 * up to TLY_REDUCED_LONG_LANES, neighbours, and TLY_REDUCED_LONG_STEPS or more along the last
 * dim. */
enum {
    TLY_REDUCED_SHORT = 1,
    TLY_REDUCED_FEW = 2,
    TLY_REDUCED_PACKED = 4,
    TLY_REDUCED_LONG = 8,
    TLY_REDUCED_MEDIUM = 16,
    TLY_REDUCED_STEPS = 32,
    TLY_REDUCED_BYTES = 512,
    TLY_REDUCED_MEDIUM_BYTES = 2048,
    TLY_REDUCED_MOST_STEPS = 1024,
    TLY_REDUCED_MANY_ROWS = 32,
    TLY_REDUCED_FEW_LANES = 64,
    TLY_REDUCED_BLOCK = 1024,
    TLY_REDUCED_LONG_LANES = 1024,
    TLY_REDUCED_LONG_STEPS = 4096,
    TLY_REDUCED_SHORT_STEP = 7
};

/* A step that is no literal of the kernel but a launch argument. */
#define TLY_ANY_STEP 127

/* Rows up to this many elements have their length as a literal, and dense ones of TLY_EVEN_ROW. */
#define TLY_SHORT_ROW 64
#define TLY_EVEN_ROW 128

/* Other dense ones up to this many have a kernel for all lengths. */
#define TLY_MEDIUM_ROW 255

/* Largest unit: from 16 lanes on, columns fill a vector. */
#define TLY_MAX_UNIT 15

/* Packed columns are known as such up to TLY_NARROW_MOST lanes, where rows are whole lines of output
 * below TLY_NARROW_NEAR bytes of accumulators; up to TLY_NARROW_BYTES their number is a literal. */
enum { TLY_NARROW_MOST = 1024, TLY_NARROW_NEAR = 2048, TLY_NARROW_BYTES = 512 };

/* What code depends on of a tensor. */
typedef struct tly_tensor_facts {
    uint8_t dtype; /* tally_dtype */
    int8_t step;   /* elements: of the input -2 to 2 or TLY_ANY_STEP; of the output -1, 1 or
                      TLY_ANY_STEP, -1 in TLY_ROWS only */
} tly_tensor_facts;

/* No padding, compared and hashed as bytes; zero first, then fill. */
typedef struct tly_problem {
    uint8_t op;         /* tally_op */
    uint8_t acc;        /* of the accumulator, resolved: never TALLY_DTYPE_NONE; of what compares,
                           integers that order as elements do (problem.c, problem_reduce.c) */
    uint8_t order;      /* tally_order */
    uint8_t exclusive;  /* 0 or 1 */
    uint8_t form;       /* tly_form */
    uint8_t dense;      /* TLY_ROWS: tly_dense; TLY_COLUMNS, TLY_TRANSPOSED: tly_packed; reductions:
                           TLY_REDUCED_... */
    uint8_t unit;       /* TLY_ROWS: 1 to TLY_MAX_UNIT; else 1 */
    uint8_t length;     /* TLY_ROWS, unit 1: stream elements a row up to TLY_SHORT_ROW if dense, and
                           TLY_EVEN_ROW in any order but the plain loop's; packed columns: lanes
                           up to TLY_NARROW_BYTES; several rows up to TLY_SHORT_ROW that are not
                           dense, up to TLY_MAX_UNIT lanes else, and up to 31 steps of transposed
                           views: the largest power of two within, up to 16; of reduced lanes
                           below 16 the same; else 0 (a launch argument) */
    uint8_t nan_ignore; /* 1: comparisons pass over NaN */
    uint8_t last;       /* 1: of equals the last one's index */
    uint8_t unused[2];  /* 0 */
    tly_tensor_facts tensor[TLY_TENSOR_COUNT];
} tly_problem;

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

/* The accumulator a descriptor asks for: itself for f64 and integers, f32 for f16 and bf16. */
tally_dtype tly_accumulator(const tally_descriptor *d);

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

/* The largest power of two within n, up to 16: what is known of a length where vectors must fit. */
uint8_t tly_power_within(int64_t n);

/* problem_reduce.c: the same of a resolved reduction whose sizes are known. */
void tly_canonicalise_reduction(const tally_descriptor *full, tly_problem *problem,
                                tly_geometry *geometry);

/* What of a reduction kernels for Vulkan have no use for is gone; and narrow integers are compared in
 * 32 bits, as devices have no others. */
void tly_reduce_on_devices(tly_problem *problem);
/* The same of a scan: what is left says whether rows are dense, and of other lanes whether their own
 * elements are neighbours. */
void tly_scan_on_devices(tly_problem *problem);

/* Lowest and highest element index that a tensor's elements have; nothing where a size is 0. */
void tly_extent(int32_t rank, const int64_t *sizes, const int64_t *strides, int64_t offset,
                int64_t *low, int64_t *high);

/* The magnitude of a stride. */
static inline uint64_t tly_distance(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

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

/* Normalises a caller's descriptor of any known size: copies it, resolves the axis, out_dtype, acc
 * and packed strides (so that in_strides and out_strides always hold real strides in *full; open
 * sizes count as 1 there), and checks it. What tally_descriptor_check does, keeping the result.
 * *full itself is none that a caller may have, as its flags say no strides where they are packed:
 * tly_descriptor_shorten makes it one again. */
tally_status tly_descriptor_resolve(const tally_descriptor *d, tally_descriptor *full,
                                    tally_error *error);

#endif
