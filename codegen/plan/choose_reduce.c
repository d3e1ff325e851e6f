/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of reductions; see choose.h. */
#include "choose.h"

static int is_serial_row(const tly_problem *p)
{
    return p->form == TLY_REDUCED_ROWS && p->order == TALLY_ORDER_SERIAL;
}

/* Vectors are put together lane by lane. f32 of 2000x2000 that lie 5 apart, past the cache, us,
 * with all lanes of AVX-512 and with half of them: sum along axis 0 2723, 2094; along axis 1 by 1,
 * 2, 4, 8 vectors of all lanes 1913, 2004, 2044, 2674, by 1, 2 of half 1918, 1940, and of argmax of
 * 200 rows 159, 88; but log_sum_exp of these by 2 of half 172, of all 115 (Zen 5). */
static int goes_far(const tly_problem *p)
{
    return p->tensor[TLY_IN].step == TLY_ANY_STEP;
}

static int32_t choose_reduce_lanes(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    enum { FAR_BYTES = 32 };
    const int32_t bytes = (int32_t)tally_dtype_bytes((tally_dtype)p->acc);
    int32_t lanes = is_serial_row(p) ? 1 : tly_choose_lanes(p, t, plan);
    if (goes_far(p) && !tly_operator_of(p)->takes && lanes * bytes > FAR_BYTES)
        lanes = FAR_BYTES / bytes;
    int few = plan->template_id == TLY_TEMPLATE_REDUCE_LANES && p->reduced.least > 0 &&
              !tly_merges_slices(p, t);
    while (few && lanes > p->reduced.least)
        lanes /= 2;
    return lanes;
}

/* Enough to hide the latency of one, and no more than there are registers for: log_sum_exp of
 * f32 from L2, ns an element, 1, 2, 4, 8 vectors taken at once: AVX-512 .36, .38, .34, .32, AVX2
 * .50, .47, .41, .38 (Zen 4, medians beside other work). Of short rows one, as rows stand side
 * by side. Of sums of e^x four are as fast as eight, and made in 29 ms for 36 (Zen 4). */
static int32_t choose_reduce_unroll(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)plan;
    if (is_serial_row(p) || tly_reduces_together(p, t))
        return 1;
    return goes_far(p) ? 2 : tly_raises_flags(p, TLY_EXPRESSION_MAP) ? 4 : 8;
}

/* Rows side by side, as many as lanes and as there are registers for. Of the time of one by one,
 * f32 from L3, AVX-512: sums of 166, 300, 500 .56, .89, .97, max of 200, 400 .70, 1.0, prod .23,
 * .49, argmax .38, .74, log_sum_exp .56, .65; sums of 250 from L2 .61; of 100, 200 of f64 .55, .86;
 * past the cache sums of 166, 400 1.02, 1.07. AVX2: 400 sums .79, prod .50; 250 argmax .69 (Zen 5,
 * minima beside other work). Of long code few are enough: sums of e^x in rows of 33 by 4, 8, 16
 * 11.3, 10.5, 10.3 ms, made in 37, 56, 96 ms (Zen 4). Of long rows whose elements only join
 * their states two lines of vectors are enough, and are read nearly in the order of memory. Of
 * reading, f32 past the cache and 256 KiB of it, AVX-512 by 2 and 16 sums of 200, 300, 512 .89, .63
 * and .77, .66 and .76, .67; .67, .63 and .72, .61 and .74, .62; max of 300 .80, .60; AVX2 by 2, 4,
 * 8 sums of 160 .91, .81, .78 and .36, .67, .61, prod of 300 .84, .83, .72 and .34, .50, .37. f16,
 * which are converted, of 256 by 2 and 16 .69, .72 and .37, .43 (Zen 5). */
static int32_t choose_reduce_rows(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    enum { LINES = 128 };
    const int32_t bytes = (int32_t)tally_dtype_bytes((tally_dtype)p->acc);
    int32_t most = t->registers / 2;
    int32_t rows = plan->lanes < most ? plan->lanes : most;
    if (p->segmented)
        return !tly_takes_segments(p) || !tly_is_masked(p, t) ? 1 : rows > most ? most : rows;
    if (!tly_reduces_together(p, t) || plan->vectors > 1)
        return 1;
    const int is_one = tly_operator_of(p)->parts == 1;
    const int is_plain = is_one && !tly_has_expression(p, TLY_EXPRESSION_MAP) &&
                         tly_element_bytes(p, TLY_IN) == bytes;
    if (!is_one || tly_raises_flags(p, TLY_EXPRESSION_MAP))
        most = 8;
    if (is_plain && p->reduced.way == TLY_REDUCED_MEDIUM)
        most = LINES / (plan->lanes * bytes);
    return rows > most ? most : rows;
}

static int32_t choose_reduce_chunk(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int lanes = plan->template_id == TLY_TEMPLATE_REDUCE_LANES;
    int serial = lanes ? tly_reduces_plainly(p) : is_serial_row(p);
    int uncut = plan->rows_at_once > 1 && p->reduced.has_steps;
    return serial || (uncut && !lanes) || p->segmented ? 0 : tly_choose_chunk(p, t, plan);
}

/* Steps a pass. argmax of f32 by 4 and 8, ms, minima: 4096x4096, axis 0, AVX-512 2.54, 2.57,
 * AVX2 7.9, 5.2; 2^20x8 AVX-512 1.64, 1.37, AVX2, whose registers do not hold the indices, 2.8,
 * 3.2 (Emerald Rapids). log_sum_exp of f32 by 2, 4, 8, 16, us: 4096x1024, axis 0, AVX-512 2163,
 * 1616, 1482, 1406, AVX2 3134, 2652, 2385, 2552; 2^17x8 405, 366, 338, 320 and 468, 438, 400,
 * 435 (Zen 4, minima). */
static int32_t choose_reduce_steps(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    const tly_operator *o = tly_operator_of(p);
    int roomy = t->registers >= 32 || plan->template_id == TLY_TEMPLATE_REDUCE_LANES;
    return o->parts > 1 && !o->takes && !(o->searches && roomy) ? 4 : 8;
}

/* A page of input or two, and 16 KiB of states, which stay in L1. 4096x4096, axis 0, of reading, by
 * 1024 and 4096 lanes, AVX-512 and AVX2: sum of bf16 .75, .74 and .88, .88; max of f16 .80, .71 and
 * .93, .83, of i8 .87, .78 and .96, .95. Sum of f32 on one and two threads, us: 2464, 1220 and
 * 2510, 1389 (Emerald Rapids). Where there are no chunks, tiles are what threads share. */
static int32_t choose_reduce_tile(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    enum { LEAST = 1024, MOST = 4096 };
    int32_t lanes = 16384 / (int32_t)tly_state_bytes(p);
    (void)t;
    (void)plan;
    if (tly_reduces_plainly(p) || tly_element_bytes(p, TLY_IN) > 2)
        return LEAST;
    return lanes < LEAST ? LEAST : lanes > MOST ? MOST : lanes;
}

/* So many that states fill eight vectors and more, which hide the latency of one; many columns
 * do. */
static int32_t choose_reduce_block(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    if (p->reduced.way == TLY_REDUCED_LONG)
        return 1;
    int32_t block = 8 * plan->lanes / (p->reduced.least > 1 ? p->reduced.least : 1);
    return block > plan->lanes ? block : plan->lanes;
}

const tly_choice tly_choices_of_reduce_rows[] = {
    { KEY(lanes), choose_reduce_lanes, 0 },
    { KEY(vectors), choose_reduce_unroll, 0 },
    { KEY(rows_at_once), choose_reduce_rows, 0 },
    { KEY(chunk), choose_reduce_chunk, 0 },
    /* Sums of f32, us, by 1, 2, 4, 8 KiB: rows of 1,024 1928, 1591, 1471, 1313, reading 1053; of
     * bf16, rows of 4,096, by 4, 8, 12, 16, 32 KiB 1578, 1323, 1283, 1299, 1470; of f32, rows of
     * 32, 64, 128, by 4 and 10 KiB 2141 and 1992, 2141 and 1847, 1696 and 1621 (Zen 5, minima on a
     * busy machine). */
    { KEY(prefetch), NULL, 10240 },
    { KEY(split_bytes), NULL, 0 },
    { 0, NULL, 0 },
};

const tly_choice tly_choices_of_reduce_lanes[] = {
    { KEY(lanes), choose_reduce_lanes, 0 },
    { KEY(pass_steps), choose_reduce_steps, 0 },
    { KEY(tile_lanes), choose_reduce_tile, 0 },
    { KEY(chunk), choose_reduce_chunk, 0 },
    { KEY(split_bytes), NULL, 0 },
    { 0, NULL, 0 },
};

const tly_choice tly_choices_of_reduce_interleaved[] = {
    { KEY(lanes), choose_reduce_lanes, 0 },
    { KEY(pass_steps), choose_reduce_steps, 0 },
    { KEY(steps_at_once), choose_reduce_block, 0 },
    { KEY(chunk), choose_reduce_chunk, 0 },
    { KEY(split_bytes), NULL, 0 },
    { 0, NULL, 0 },
};
