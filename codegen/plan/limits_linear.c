/* SPDX-License-Identifier: Apache-2.0 */
/* What the template of recurrences, heads and running indices along rows can be built with. */
#include "limits.h"
#include "operator.h"
#include "shared_keys.h"

static const tly_plan_key table[] = {
    TLY_KEY_LANES(TLY_LEAST_LANES, TLY_MOST_LANES),
    { TLY_KEY_AS(tly_plan, "unroll", vectors), 1, TLY_LINEAR_MOST_VECTORS, 1,
      TLY_WHY({ TLY_ELSE, "A step takes so many vectors, whose results are checked together." }) },
    { TLY_KEY(tly_plan, chunk), 0, 1 << 20, 0,
      TLY_WHY({ 0, "The axis is not cut: rows are short, states go on from run to run, or no total "
                   "tells what comes after a chunk." },
              { TLY_ELSE,
                "Threads share a row: a chunk is 128 KiB of input, or 512 KiB if the segment that "
                "goes on beyond it is scanned apart. It has a total." }) },
    TLY_KEY_PREFETCH,
    TLY_KEY_SPLIT_BYTES,
};

static int is_dense(int step)
{
    return step == 1 || step == -1;
}

static const char *refuses(const tly_problem *p)
{
    const int heads = p->segmented || p->resets;
    const int together = p->interleave > 1 && (p->carry || p->uneven || p->rows.is_medium);
    const int is_other = tly_operator_of(p)->applies || tly_has_index(p) || heads || together;
    return !is_other             ? "linear: recurrences, indices, heads, and few columns "
                                   "that are short or have states"
           : p->form != TLY_ROWS ? "linear: the axis is not innermost"
           : p->order == TALLY_ORDER_SERIAL ? "linear: the order is not the plain loop's"
           : !is_dense(p->tensor[TLY_IN].step) || !is_dense(p->tensor[TLY_OUT].step)
               ? "linear: elements lie apart"
               : NULL;
}

_Static_assert(TLY_LINEAR_CUT % (TLY_LINEAR_MOST_VECTORS * TLY_MOST_LANES) == 0,
               "a cut between steps, whatever the plan is");

/* Segments with states of their own, of a move, by chains of scalars and in vectors: f32, one row,
 * mean length 256, 32, 3 AVX-512 .23, .28, .06 and .67, .40, .27, AVX2 .29, .25, .05 and .56, .24,
 * .19, products AVX-512 .23, .27, .09 and .74, .51, .19; but rows of 20, 100, 1000 in segments of 7
 * to 14 AVX-512 .59, .39, .33 and .08, .29, .37, AVX2 .40, .41, .34 and .12, .27, .27 (Zen 5). */
static int has_slow_states(const tly_problem *p)
{
    return p->segmented && p->carry && p->rows.is_medium;
}

/* Pieces of a row that go on with each other's states have one template, long or short. f32 past
 * the cache, of a move, in vectors and by chains of scalars: rows of 16, 32, 64, 128
 * AVX-512 .70, .59 and .71, .54 and .85, .37 and .81, .23, AVX2 .63, .65 and .73, .64 and .65, .43
 * and .84, .25; i64 of 1024 .79, .37 and .64, .36 (Zen 4). With segments, rows of 20, 24,
 * 31, 32, 48 AVX-512 .31, .47 and .21, .47 and .24, .49 and .55, .50 and .61, .26 (Zen 5). */
int tly_linear_serves(const tly_problem *p)
{
    const int length = p->rows.length;
    const int least = p->segmented ? TLY_LINEAR_LEAST_SEGMENTED : TLY_LINEAR_LEAST;
    const int is_long = p->rows.least == 0 && (length == 0 || length >= least);
    return refuses(p) == NULL && !has_slow_states(p) && (is_long || (p->carry && !p->segmented));
}

/* Rows of one scan are so on targets that have masks in registers of their own. */
int tly_linear_streams(const tly_problem *p, const tly_target *t)
{
    const int is_alone = tly_operator_of(p)->applies || p->resets;
    if (refuses(p) != NULL || !p->rows.contiguous || p->carry || p->segmented || tly_has_index(p))
        return 0;
    return p->interleave > 1
               ? p->rows.is_medium
               : is_alone && t->has_mask_registers && (p->rows.length > 0 || p->rows.is_medium);
}

int tly_linear_cuts(const tly_problem *p)
{
    const int joins = tly_operator_of(p)->parts == 1 || tly_has_index(p);
    const int is_plain = joins && !p->carry && !tly_is_checked_as(p, TLY_CHECK_PRODUCTS);
    const int is_long = p->rows.length == 0 && p->rows.least == 0;
    return p->interleave == 1 && is_long && (p->segmented || (is_plain && !p->rows.is_medium));
}

int tly_linear_goes_apart(const tly_problem *p)
{
    return tly_linear_cuts(p) && p->segmented &&
           (p->carry || tly_operator_of(p)->parts > 1 || tly_is_checked_as(p, TLY_CHECK_PRODUCTS));
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    const int32_t step = plan->lanes * plan->vectors;
    const char *lanes = tly_fault_of_lanes(p, plan);
    const int is_whole = !tly_linear_cuts(p);
    return lanes != NULL                            ? lanes
           : plan->chunk > 0 && is_whole            ? "such rows are not cut in chunks"
           : plan->chunk % step != 0                ? "the chunk is no multiple of a step"
           : (plan->chunk & (plan->chunk - 1)) != 0 ? "the chunk is a power of two"
                                                    : NULL;
}

const tly_template_limits tly_linear_limits = {
    { "linear", table, sizeof table / sizeof *table,
      "The axis is innermost, and rows are long. So vectors go along the axis, and each is scanned "
      "by itself: of recurrences as pairs of a factor and an addend." },
    0,
    tly_choices_of_linear,
    " prefetch split_bytes ",
    refuses,
    fault,
    NULL,
};
