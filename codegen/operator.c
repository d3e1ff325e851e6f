/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operators. It is a file of its own, so that tests can put others in its place; so are
 * their functions (operator_code.c), which plans do not need.
 */
#include "operator.h"

#include <stddef.h>

/* Reductions that add: -0 is neutral, but nothing at all comes to +0. */
#define SUMS(op_) \
    .op = (op_), .dtypes = TLY_NUMBERS, .parts = 1, .by = { KIR_ADD, KIR_ADD, KIR_ADD }, \
    .neutral = { TLY_MINUS_ZERO }

static const tly_operator operators[] = {
    { .op = TALLY_CUMSUM,
      .dtypes = TLY_NUMBERS,
      .outputs = TLY_OUT_WIDER,
      .parts = 1,
      .by = { KIR_ADD, KIR_ADD, KIR_ADD },
      .identity = { TLY_ZERO },
      .neutral = { TLY_MINUS_ZERO },
      .padding = TLY_MINUS_ZERO,
      .watch = TLY_WATCH_SUMS,
      .subgroup_scan = KIR_SCAN_ADD },
    { .op = TALLY_CUMPROD,
      .dtypes = TLY_NUMBERS,
      .outputs = TLY_OUT_WIDER,
      .parts = 1,
      .by = { KIR_MUL, KIR_MUL, KIR_MUL },
      .identity = { TLY_ONE },
      .neutral = { TLY_ONE },
      .padding = TLY_ONE,
      .watch = TLY_WATCH_PRODUCTS,
      .subgroup_scan = KIR_SCAN_MUL },
    { .op = TALLY_CUMMAX,
      .dtypes = TLY_ALL,
      .parts = 1,
      .by = { KIR_SMAX, KIR_UMAX, KIR_CONST },
      .identity = { TLY_LEAST },
      .neutral = { TLY_LEAST },
      .padding = TLY_LEAST,
      .compares = 1 },
    { .op = TALLY_CUMMIN,
      .dtypes = TLY_ALL,
      .parts = 1,
      .by = { KIR_SMIN, KIR_UMIN, KIR_CONST },
      .identity = { TLY_MOST },
      .neutral = { TLY_MOST },
      .padding = TLY_MOST,
      .compares = 1 },
    { .op = TALLY_CUMLOGSUMEXP,
      .dtypes = TLY_FLOATS,
      .parts = 2,
      .converts = 1,
      .identity = { TLY_LEAST, TLY_ZERO },
      .neutral = { TLY_LEAST, TLY_ZERO },
      .padding = TLY_LEAST },
    { SUMS(TALLY_SUM), .outputs = TLY_OUT_WIDER, .watch = TLY_WATCH_SUMS },
    { .op = TALLY_PROD,
      .dtypes = TLY_NUMBERS,
      .outputs = TLY_OUT_WIDER,
      .parts = 1,
      .by = { KIR_MUL, KIR_MUL, KIR_MUL },
      .neutral = { TLY_ONE },
      .empty = TLY_ONE,
      .watch = TLY_WATCH_PRODUCTS },
    { SUMS(TALLY_MEAN), .converts = 1, .empty = TLY_NAN, .watch = TLY_WATCH_SUMS, .keeps = 1 },
    { SUMS(TALLY_L1), .converts = 1 },
    { SUMS(TALLY_SUM_SQUARE), .converts = 1 },
    { SUMS(TALLY_L2), .converts = 1, .watch = TLY_WATCH_SQUARES, .keeps = 1 },
    { SUMS(TALLY_LOG_SUM), .converts = 1, .of_reals = 1, .empty = TLY_LEAST,
      .watch = TLY_WATCH_SUMS, .keeps = 1 },
    { .op = TALLY_LOG_SUM_EXP,
      .dtypes = TLY_NUMBERS,
      .parts = 2,
      .converts = 1,
      .takes = 1,
      .neutral = { TLY_LEAST, TLY_ZERO },
      .empty = TLY_LEAST },
    { .op = TALLY_MAX,
      .dtypes = TLY_ALL,
      .parts = 1,
      .by = { KIR_SMAX, KIR_UMAX, KIR_CONST },
      .neutral = { TLY_LEAST },
      .empty = TLY_LEAST,
      .compares = 1 },
    { .op = TALLY_MIN,
      .dtypes = TLY_ALL,
      .parts = 1,
      .by = { KIR_SMIN, KIR_UMIN, KIR_CONST },
      .neutral = { TLY_MOST },
      .empty = TLY_MOST,
      .compares = 1 },
    { .op = TALLY_ARGMAX,
      .dtypes = TLY_ORDERED,
      .outputs = TLY_OUT_INDICES,
      .parts = 2,
      .part = { TLY_PART_VALUE, TLY_PART_INDEX },
      .by = { KIR_SMAX, KIR_UMAX, KIR_CONST },
      .searches = 1,
      .converts = 1,
      .neutral = { TLY_LEAST, TLY_MOST },
      .compares = 1 },
    { .op = TALLY_ARGMIN,
      .dtypes = TLY_ORDERED,
      .outputs = TLY_OUT_INDICES,
      .parts = 2,
      .part = { TLY_PART_VALUE, TLY_PART_INDEX },
      .by = { KIR_SMIN, KIR_UMIN, KIR_CONST },
      .searches = 1,
      .converts = 1,
      .neutral = { TLY_MOST, TLY_MOST },
      .compares = 1 },
};

const tly_operator *tly_operator_find(int op)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (operators[i].op == op)
            return &operators[i];
    }
    return NULL;
}
