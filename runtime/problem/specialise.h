/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specialisation decides which sizes become literals of a kernel, and on which side of a limit the
 * others lie. All of these limits are here. They keep the number of kernels small: one kernel
 * serves many sizes. The specialised problem is the kernel's key.
 */
#ifndef TLY_SPECIALISE_H
#define TLY_SPECIALISE_H

#include "problem.h"

/* Rows up to this many elements have their length as a literal, and dense ones of TLY_EVEN_ROW; of
 * words without a carry and without indices also dense ones of whole TLY_EVEN_STEPs, up to
 * TLY_MEDIUM_ROW. */
#define TLY_SHORT_ROW 64
#define TLY_EVEN_ROW 128
#define TLY_EVEN_STEP 32
/* Dense rows of interleaved scans of up to so many elements are one stream, and those of narrow
 * integers of TLY_STREAM_NARROW. Of a copy, row by row and as a stream: f32 of 2x3, 7x3, 14x3,
 * 56x3, 30x4, 30x8 AVX-512 .04, .13, .26, .63, .63, .79 and .97, .98, .94, .94, 1.0, 1.0, AVX2 .05,
 * .16, .28, .56, .64, .87 and .51, .53, .56, .63, .63, .93; cummax of i8 of 7x3, 60x4 AVX-512 .05,
 * .44 and .21, .32 (Zen 5). */
#define TLY_STREAM_ROW 512
#define TLY_STREAM_NARROW 64

/* Longer dense rows, up to this many elements, share one kernel for all other lengths. */
#define TLY_MEDIUM_ROW 255

/* Packed columns are a fact up to TLY_FEW_COLUMNS_MOST lanes; where rows are whole lines of
 * output, only below TLY_FEW_COLUMNS_NEAR bytes of accumulators. Up to TLY_FEW_COLUMNS_BYTES the
 * number of lanes is a literal. */
enum { TLY_FEW_COLUMNS_MOST = 1024, TLY_FEW_COLUMNS_NEAR = 2048, TLY_FEW_COLUMNS_BYTES = 512 };

/* Where rows of recurrences, and of words with `reset`, may be cut so that pieces have the bits of
 * one run: at multiples of so many elements. */
enum { TLY_LINEAR_CUT = 128 };

/* Limits of reductions. */
enum {
    /* Rows go several at once up to so many bytes of accumulators, or so many if vectors can be
     * loaded in part. */
    TLY_REDUCED_BYTES = 512,
    TLY_REDUCED_MEDIUM_BYTES = 2048,
    /* Rows of several steps go several at once up to so many steps, if there are so many rows. */
    TLY_REDUCED_MOST_STEPS = 4096,
    TLY_REDUCED_MANY_ROWS = 32,
    /* So many of any number of steps, which fewer threads then share, if each has only so many
     * bytes of accumulators: f32 of 12000x64x10, axes 0 and 2, .84 ms for 13.1, of 80000x20x5 1.1
     * for 36; but of 16000x16x32 .57 for 1.9, of 12000x10x64 .63 for .76, and of 80000x3x10 .88 for
     * .52 (Zen 5). */
    TLY_REDUCED_SEVERAL_ROWS = 8,
    TLY_REDUCED_LEAST_BYTES = 64,
    /* Fewer lanes than this are packed, if each has so many elements or more. */
    TLY_REDUCED_FEW_LANES = 64,
    TLY_REDUCED_BLOCK = 1024,
    /* Products of up to so many lanes are long, if they have so many steps or more. */
    TLY_REDUCED_LONG_LANES = 1024,
    TLY_REDUCED_LONG_STEPS = 4096,
    /* Results that lie apart become lanes, if the last reduced dim has up to so many elements. */
    TLY_REDUCED_SHORT_STEP = 7,
    /* So many outer slices, of up to so many steps and bytes, are done without states in memory;
     * of indices and exponentials, of fewer bytes. */
    TLY_REDUCED_LEAST_SLICES = 4,
    TLY_REDUCED_SLICE_STEPS = 512,
    TLY_REDUCED_SLICE_BYTES = 16384,
    TLY_REDUCED_COSTLY_SLICE_BYTES = 1024
};

/* The form's part. A form says which dim's elements are lanes, and a geometry is cut by its form:
 * so these answer before there is a geometry, for lanes that lie as the form needs them. */

/* Whether lanes that are innermost in the input only are many enough for TLY_TRANSPOSED, whose
 * kernels turn blocks of lanes in registers. Fewer lanes do not fill a block. */
static inline int tly_takes_transposed(int64_t lanes)
{
    return lanes >= 8;
}

/* Whether packed lanes around an axis are few enough to be one row of interleaved scans. Devices do
 * without those that have states, heads or uneven operands, or apply factors, and all without
 * states of segments. Pieces that go on with each other's states have one form, long or short.
 * `is_stream`: rows may lie one behind the other. */
static inline int tly_takes_interleaved(const tly_problem *p, int is_device, int is_stream,
                                        int64_t length, int64_t lanes)
{
    enum { LEAST = 64 }; /* elements of a row that vectors pay for */
    const int is_other = p->carry || p->resets || p->segmented || p->uneven ||
                         tly_ops[p->op].has_coef;
    return lanes <= TLY_MAX_INTERLEAVE && p->order != TALLY_ORDER_SERIAL &&
           !tly_tells_index(p->op) && !(p->carry && p->segmented) &&
           (!is_other || (!is_device && (p->carry || is_stream || length * lanes >= LEAST)));
}

/* Whether lanes that lie `step` reduced elements apart are worth TLY_REDUCED_LANES. `ordered`: the
 * elements of a result come in the descriptor's order. */
int tly_takes_apart(int32_t op, int ordered, int64_t step, int64_t lanes);

/* Completes a problem whose form and geometry are known. It sets the facts that depend on sizes,
 * and drops those that no kernel for such sizes depends on. */
void tly_specialise(tly_problem *problem, const tly_geometry *geometry);

/* For Vulkan devices, after tly_specialise: drops the facts that their kernels do not use. Narrow
 * integers are compared in 32 bits, as devices have no narrower arithmetic. */
void tly_specialise_for_device(tly_problem *problem);

#endif
