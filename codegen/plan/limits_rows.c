/* SPDX-License-Identifier: Apache-2.0 */
/* What the rows template can be built with. */
#include "limits.h"
#include "shared_keys.h"

#include "../../runtime/problem/abi.h"
#include "operator.h"

#define KEY(field) TLY_KEY(tly_plan, field)
#define KEY_AS(name, field) TLY_KEY_AS(tly_plan, name, field)

static const tly_plan_key table[] = {
    { KEY(lanes), TLY_LEAST_LANES, TLY_MOST_LANES, 1,
      TLY_WHY({ 1, "Elements go one by one, as they lie apart or the order is the plain loop's." },
              { 8,
                "A vector holds so many accumulators. Products of every second f32 take no more, "
                "as products of 16 leave the range far sooner." },
              { TLY_ELSE, "A vector of this CPU level holds so many accumulators." }) },
    { KEY(pairs), 0, 1, 0,
      TLY_WHY({ 0, "A lane holds one element. Only bf16 as input and output could go by twos." },
              { 1, "Two bf16 neighbours share a lane of 32 bits. That takes half the shuffles, and "
                   "none that widen." },
              { TLY_ELSE, "" }) },
    { KEY(scan), TLY_SCAN_WINDOWS, TLY_SCAN_SCALARS, 0,
      TLY_WHY({ 0, "Windows reach across vectors, which takes a shuffle a vector less than the "
                   "other ways." },
              { 1, "Each vector is scanned by itself, as scans are interleaved or go by pairs." },
              { 2, "Scalars go by pairs of elements, as this level has no instruction for vectors "
                   "of 64-bit products." },
              { TLY_ELSE, "" }) },
    { KEY_AS("careful", safe), 0, 1, 0,
      TLY_WHY({ 0, "The quick order comes first. Only what has left the range is computed again, "
                   "in the order of the plain loop." },
              { 1, "The range is watched step by step." }, { TLY_ELSE, "" }) },
    { KEY_AS("unroll", vectors), 1, TLY_ROWS_MOST_UNROLL, 1,
      TLY_WHY({ 1, "There is one vector of states, as short rows stand side by side or the order "
                   "is serial." },
              { 2, "A step takes so many vectors: products go by at most 32 elements, states have "
                   "several parts, or registers are few (AVX2 products .207 ns an element by 2, "
                   ".33 by 4; Zen 4)." },
              { 4, "A step takes so many vectors, so that loads and shuffles of one hide behind "
                   "another." },
              { TLY_ELSE, "A step takes so many vectors, or one scalar." }) },
    { KEY(window_loads), 0, TLY_ROWS_MOST_LOADS, 0,
      TLY_WHY(
          { 0, "No doubling is a load: one instruction shifts across two vectors here, elements "
               "are converted as they are loaded, or there are no windows." },
          { TLY_ELSE,
            "The first doublings are overlapping loads, one instruction each, as a shuffle across "
            "vectors is several here (f32 in L2: 4.3 us without, 3.1 with 2; Zen 3)." }) },
    { KEY_AS("block", block_elements), 8, 8192, 0,
      TLY_WHY({ TLY_ELSE, "The range is looked at after every 128 vectors, so that what is staged "
                          "stays in L1 (64 vectors .85 of a copy, 128 .92, 256 .89; Zen 3)." }) },
    { KEY(chunk), 0, 1 << 20, 0,
      TLY_WHY(
          { 0,
            "The axis is never cut. It is one chain, whose state cannot be handed on or joined." },
          { TLY_ELSE, "A chunk is 128 KiB of input. A thread that comes late reads it a second "
                      "time, from L2 (32 KiB 21.8 ms, 128 KiB 19.8; Zen 3)." }) },
    TLY_KEY_PREFETCH,
    TLY_KEY_SPLIT_BYTES,
};

int32_t tly_rows_step(const tly_problem *p, const tly_plan *plan)
{
    int32_t vectors = plan->vectors;
    if (p->interleave > 1 && vectors < TLY_ROWS_SAFE_UNROLL)
        vectors = TLY_ROWS_SAFE_UNROLL;
    return plan->lanes * vectors << plan->pairs;
}

int32_t tly_rows_period(int32_t unit, int32_t lanes)
{
    int32_t a = lanes, b = unit;
    while (b != 0) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return unit / a;
}

/* Of floats only sums have totals beside their results, in as many vectors as registers have
 * room for (15 of them cost rows of 100x15 a tenth, Zen 4). Those of products would have to be
 * watched for each scan, as flags do not say whose they are, 7 instructions a vector beside 16;
 * with those of log-sum-exp one thread took 1.3 times as long. */
static int has_totals(const tly_problem *p, const tly_plan *plan)
{
    if (tly_class_of((tally_dtype)p->acc) != TLY_FLOATING)
        return 1;
    return tly_is_checked_as(p, TLY_CHECK_SUMS) && tly_is_plain(p) && p->interleave < plan->lanes &&
           tly_rows_period(p->interleave, plan->lanes) <= TLY_ROWS_MOST_TOTALS;
}

/* Interleaved scans hand on whole vectors, of which enough lie in a record. */
int tly_rows_cuts(const tly_problem *p, const tly_plan *plan)
{
    int32_t vectors = (p->interleave + plan->lanes - 1) / plan->lanes;
    int32_t bytes = vectors * plan->lanes * (int32_t)tly_state_bytes(p);
    return p->interleave == 1 || (has_totals(p, plan) && bytes <= TLY_CARRY_BYTES);
}

static const char *refuses(const tly_problem *p)
{
    return p->form != TLY_ROWS             ? "rows: the axis is not innermost"
           : p->segmented || p->resets     ? "rows: the axis is not cut"
           : p->uneven                     ? "rows: operands lie as the input does"
           : p->carry && p->interleave > 1 ? "rows: states go on in rows of one scan"
           : p->rows.is_medium && p->interleave > 1
               ? "rows: short rows of interleaved scans are one stream"
           : p->order == TALLY_ORDER_SERIAL ? "rows: the order is not the plain loop's"
           : tly_operator_of(p)->applies    ? "rows: states of this operator are not combined"
           : tly_has_index(p)               ? "rows: elements do not know their positions"
                                            : NULL;
}

static const char *fault(const tly_problem *p, const tly_plan *plan)
{
    int32_t step = tly_rows_step(p, plan);
    int integer = p->acc != TALLY_F64 && p->acc != TALLY_F32;
    const char *lanes = tly_fault_of_lanes(p, plan);
    if (lanes != NULL)
        return lanes;
    if (plan->pairs &&
        (!tly_plan_pairs(p) || p->interleave > 1 || p->tensor[TLY_OUT].step == TLY_ANY_STEP))
        return "pairs are bf16 side by side, of one scan";
    if (plan->scan == TLY_SCAN_SCALARS &&
        (!integer || p->interleave > 1 || step > TLY_ROWS_MOST_SCALARS || p->program.type != 0))
        return "scan 2: only integers, one row at a time, up to 64 a step, no expressions";
    if (plan->scan == TLY_SCAN_WINDOWS && (p->interleave > 1 || plan->pairs))
        return "scan 0: one row at a time, no pairs";
    if (plan->window_loads && plan->scan != TLY_SCAN_WINDOWS)
        return "windows by loads are scan 0's";
    if (plan->block_elements % step != 0 || plan->block_elements % p->interleave != 0)
        return "the block is no multiple of lanes x unroll (side by side: x 4 at least) and of the "
               "scans side by side";
    if (plan->chunk > 0 && !tly_rows_cuts(p, plan))
        return "scans of floats side by side are cut in chunks only if they are sums, of few "
               "vectors of totals";
    if (plan->chunk % plan->block_elements != 0)
        return "the chunk is no multiple of the block";
    if (p->interleave == 1 && (plan->chunk == 0 || (plan->chunk & (plan->chunk - 1)) != 0))
        return "the chunk of one scan is a power of two";
    return NULL;
}

/* Dense rows by the template of long ones: ns an element from L2, short and long rows' template
 * (Emerald Rapids). f64 rows of 100 and 200, AVX-512 .86, .93 and .96, .46, AVX2 .92, 1.3 and .69,
 * .51. SSE, f32 rows of 64 and 100 .86, .72 and .35, .35 (past the cache .63, .69 and .38, .53);
 * bf16 100 1.17 and .91, f16 1.85 and 2.79. Rows of 128, the long rows' first (Zen 5): f32 AVX-512,
 * AVX2 .23, .20 and .085, .11 (past the cache .24, .21 and .19, .17; of numbers in [0, 1) and masks
 * of them, which fall below the range, .22, .50 and .19, .35), f16 AVX-512 .19 and .10, AVX2 .20
 * and .24, f64 .20 and .13 (past the cache .35 and .36), AVX2 .22 and .22. i32 products of 100,
 * AVX-512, AVX2, SSE .54, .80, 1.39 and .44, .57, .94. Products with post, AVX2, of a move: rows of
 * 96, 100, 192 .44, .39, .64 and .44, .43, .47 (Zen 4). Of a copy, in cache, by the short rows'
 * template first (Zen 5): AVX-512 f64 of 72, 100, 200 1.1, 1.1, 1.1 and .63, .74, 1.2, of 128 2.5
 * and 1.5, i32 products of 128 1.4 and 1.0; AVX2 f32 of 128 1.26 and .83, f16 of 72, 100, 200 .17,
 * .18, .17 and .18, .23, .28, bf16 of 96, 128 .20, .32 and .20, .35. */
static int is_long(const tly_problem *p, const tly_target *t)
{
    enum { LONG_OF_FOURS = 48 };
    const int lanes = t->vector_bytes / (int)tly_lane_bytes(p), masks = t->mask_bytes == 1;
    const int is_bf16 = p->tensor[TLY_IN].dtype == TALLY_BF16;
    const int narrow = p->tensor[TLY_IN].dtype == TALLY_F16 || is_bf16;
    const int fours = t->vector_bytes == 16 && !narrow;
    if (p->rows.length > TLY_SHORT_ROW)
        return tly_short_vectors_by_rows(p, lanes) == 0 ||
               (is_bf16 && !masks && p->rows.length >= TLY_EVEN_ROW);
    if (p->rows.length > 0)
        return fours && p->rows.length >= LONG_OF_FOURS;
    if (tly_has_expression(p, TLY_EXPRESSION_POST) && tly_is_checked_as(p, TLY_CHECK_PRODUCTS) &&
        !masks)
        return 1;
    if (!p->rows.is_medium || masks)
        return !p->rows.is_medium;
    return p->acc == TALLY_F64 || fours || tly_multiplies_integers(p) ||
           (narrow && t->vector_bytes == 32);
}

static int is_wanted(const tly_problem *p, const tly_target *t)
{
    return refuses(p) == NULL && (tly_shows_otherwise(p) || is_long(p, t));
}

const tly_template_limits tly_rows_limits = {
    { "rows", table, sizeof table / sizeof *table,
      "The axis is innermost in the output, and rows are long or "
      "interleave several scans. So vectors go along the axis." },
    0,
    tly_choices_of_rows,
    " prefetch split_bytes ",
    refuses,
    fault,
    is_wanted,
};
