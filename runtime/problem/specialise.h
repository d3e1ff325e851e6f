/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kernel's code depends on beyond the facts of a problem: which sizes it has as literals,
 * and on which side of a limit others lie. Every limit of these is here, with its measurement. So
 * one kernel serves many sizes, and the specialised problem is the kernel's key.
 */
#ifndef TLY_SPECIALISE_H
#define TLY_SPECIALISE_H

#include "problem.h"

/* Rows up to this many elements have their length as a literal, and dense ones of TLY_EVEN_ROW. */
#define TLY_SHORT_ROW 64
#define TLY_EVEN_ROW 128

/* Other dense ones up to this many have a kernel for all lengths. */
#define TLY_MEDIUM_ROW 255

/* Packed columns are known as such up to TLY_NARROW_MOST lanes, where rows are whole lines of
 * output below TLY_NARROW_NEAR bytes of accumulators; up to TLY_NARROW_BYTES their number is a
 * literal. */
enum { TLY_NARROW_MOST = 1024, TLY_NARROW_NEAR = 2048, TLY_NARROW_BYTES = 512 };

/* Reductions. Rows go several at once from 1 up to TLY_REDUCED_BYTES of accumulators, or up to
 * TLY_REDUCED_MEDIUM_BYTES where vectors are loaded in part; those of several steps, up to
 * TLY_REDUCED_MOST_STEPS, where there are TLY_REDUCED_MANY_ROWS or more. Fewer lanes than
 * TLY_REDUCED_FEW_LANES are packed where they have TLY_REDUCED_BLOCK elements or more. Products of
 * up to TLY_REDUCED_LONG_LANES are long from TLY_REDUCED_LONG_STEPS on. Where the last reduced
 * dim has up to TLY_REDUCED_SHORT_STEP elements, outputs become lanes although they are apart
 * (problem_reduce.c). */
enum {
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

/* Completes a problem whose facts, form and geometry are known: fills what depends on sizes, and
 * drops facts that no kernel for such sizes depends on. */
void tly_specialise(tly_problem *problem, const tly_geometry *geometry);

/* The same for Vulkan devices, once tly_specialise is done: facts that their kernels do not use are
 * dropped, and narrow integers are compared in 32 bits, as devices have no others. */
void tly_specialise_for_device(tly_problem *problem);

#endif
