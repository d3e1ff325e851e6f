/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Specialisation decides which sizes become literals of a kernel, and on which side of a limit the
 * others lie. All of these limits are here. They keep the number of kernels small: one kernel
 * serves many sizes. The specialised problem is the kernel's key.
 */
#ifndef TLY_SPECIALISE_H
#define TLY_SPECIALISE_H

#include "problem.h"

/* Rows up to this many elements have their length as a literal, and dense ones of TLY_EVEN_ROW. */
#define TLY_SHORT_ROW 64
#define TLY_EVEN_ROW 128

/* Longer dense rows, up to this many elements, share one kernel for all lengths. */
#define TLY_MEDIUM_ROW 255

/* Packed columns are a fact up to TLY_FEW_COLUMNS_MOST lanes; where rows are whole lines of
 * output, only below TLY_FEW_COLUMNS_NEAR bytes of accumulators. Up to TLY_FEW_COLUMNS_BYTES the
 * number of lanes is a literal. */
enum { TLY_FEW_COLUMNS_MOST = 1024, TLY_FEW_COLUMNS_NEAR = 2048, TLY_FEW_COLUMNS_BYTES = 512 };

/* Limits of reductions (specialise.c, canonicalise_reduce.c). */
enum {
    /* Rows go several at once up to so many bytes of accumulators, or so many if vectors can be
     * loaded in part. */
    TLY_REDUCED_BYTES = 512,
    TLY_REDUCED_MEDIUM_BYTES = 2048,
    /* Rows of several steps go several at once up to so many steps, if there are so many rows. */
    TLY_REDUCED_MOST_STEPS = 1024,
    TLY_REDUCED_MANY_ROWS = 32,
    /* Fewer lanes than this are packed, if each has so many elements or more. */
    TLY_REDUCED_FEW_LANES = 64,
    TLY_REDUCED_BLOCK = 1024,
    /* Products of up to so many lanes are long, if they have so many steps or more. */
    TLY_REDUCED_LONG_LANES = 1024,
    TLY_REDUCED_LONG_STEPS = 4096,
    /* Results that lie apart become lanes, if the last reduced dim has up to so many elements. */
    TLY_REDUCED_SHORT_STEP = 7
};

/* Completes a problem whose form and geometry are known. It sets the facts that depend on sizes,
 * and drops those that no kernel for such sizes depends on. */
void tly_specialise(tly_problem *problem, const tly_geometry *geometry);

/* For Vulkan devices, after tly_specialise: drops the facts that their kernels do not use. Narrow
 * integers are compared in 32 bits, as devices have no narrower arithmetic. */
void tly_specialise_for_device(tly_problem *problem);

#endif
