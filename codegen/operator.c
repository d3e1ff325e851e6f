/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of operators. It is a file of its own, so that tests can put others in its place.
 */
#include "operator.h"

#include <stddef.h>

#include "../templates/reduced.h"

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
      .lift = tly_lift_exp,
      .combine = tly_combine_exp,
      .project = tly_project_exp,
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
    { SUMS(TALLY_MEAN), .project = tly_project_mean, .empty = TLY_NAN, .watch = TLY_WATCH_SUMS },
    { SUMS(TALLY_L1), .lift = tly_lift_abs },
    { SUMS(TALLY_SUM_SQUARE), .lift = tly_lift_square },
    { SUMS(TALLY_L2), .lift = tly_lift_square, .project = tly_project_root, .of_reals = 1 },
    { SUMS(TALLY_LOG_SUM), .project = tly_project_log, .of_reals = 1, .empty = TLY_LEAST,
      .watch = TLY_WATCH_SUMS },
    { .op = TALLY_LOG_SUM_EXP,
      .dtypes = TLY_NUMBERS,
      .parts = 2,
      .lift = tly_lift_exp,
      .combine = tly_combine_exp,
      .project = tly_project_exp,
      .take = tly_take_exp,
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
      .lift = tly_lift_indexed,
      .combine = tly_combine_largest,
      .project = tly_project_index,
      .neutral = { TLY_LEAST, TLY_MOST },
      .compares = 1 },
    { .op = TALLY_ARGMIN,
      .dtypes = TLY_ORDERED,
      .outputs = TLY_OUT_INDICES,
      .parts = 2,
      .part = { TLY_PART_VALUE, TLY_PART_INDEX },
      .by = { KIR_SMIN, KIR_UMIN, KIR_CONST },
      .searches = 1,
      .lift = tly_lift_indexed,
      .combine = tly_combine_smallest,
      .project = tly_project_index,
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
