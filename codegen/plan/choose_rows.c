/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of rows: long ones, short ones, and chains of scalars; see choose.h. */
#include "choose.h"

static int32_t gcd(int32_t a, int32_t b)
{
    while (b != 0) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

int32_t tly_choose_lanes(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)plan;
    return t->vector_bytes / (int32_t)tly_lane_bytes(p);
}

static int is_product_of_singles(const tly_problem *p)
{
    return tly_is_checked_as(p, TLY_CHECK_PRODUCTS) && p->acc == TALLY_F32 && p->interleave == 1 &&
           !tly_plan_pairs(p);
}

/* Elements of the input that are near each other, though not neighbours. */
static int is_near(const tly_problem *p)
{
    const int8_t step = p->tensor[TLY_IN].step;
    return step == -2 || (step >= 2 && step <= TLY_NEAR_STEP);
}

/* Products of every second f32 have vectors of 8: windows of 8 stay in the range if elements lie
 * in [2^-15, 2^15], windows of 16 only in [2^-7, 2^7], which uniform data leave all the time.
 * The limit is of the time when such rows were checked by their elements; by flags it was not
 * measured again. Packed rows by flags: Emerald Rapids, AVX-512, ns an element from L2,
 * by 8 lanes and 4 vectors a step, and by 16 and 2: f32 rows of 1024 benign .22, .15, uniform
 * .25, .22, of 128 .26, .19 and .43, .47; f16 rows of 1024 .25, .20 and .36, .37. */
static int32_t choose_row_lanes(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t lanes = tly_choose_lanes(p, t, plan);
    return is_product_of_singles(p) && is_near(p) && lanes > 8 ? 8 : lanes;
}

int tly_plan_pairs(const tly_problem *p)
{
    int apart = p->tensor[TLY_IN].step != 1 && p->tensor[TLY_IN].step != -1;
    return p->tensor[TLY_IN].dtype == TALLY_BF16 && p->tensor[TLY_OUT].dtype == TALLY_BF16 &&
           p->acc == TALLY_F32 && !apart && p->program.type == 0;
}

/* Neighbouring bf16 lie in one lane of 32 bits: windows of pairs take half the shuffles and no
 * widening ones. */
static int32_t choose_pairs(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return tly_plan_pairs(p) && p->interleave == 1 && p->tensor[TLY_OUT].step != TLY_ANY_STEP;
}

/* Vectors of 64-bit integer products are slow where they are not one instruction: a scalar chain
 * by pairs instead. Zen 3, of a copy, prototypes of 32 Mi elements in one row and in rows of 4096:
 * pairs .87, .84; fours .86, .74; 4 runs .64, .65; windows .43; the plain loop .56. */
static int slow_vectors(const tly_problem *p, const tly_target *t)
{
    return tly_is_wide_product(p) && !t->has_mul64 && p->interleave == 1 && p->program.type == 0;
}

/* Windows cost a shuffle less a vector than the scan of each by itself. Zen 4, i32 of 128 KiB from
 * L2, ns an element: AVX-512 .15 and .165, AVX2 .17 and .21. */
static int32_t choose_scan(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    if (slow_vectors(p, t))
        return TLY_SCAN_SCALARS;
    return p->interleave == 1 && !plan->pairs ? TLY_SCAN_WINDOWS : TLY_SCAN_VECTORS;
}

/* Products go by steps of at most 32 elements, of which few begin above 2^-60 and end below the
 * normal numbers. With 16 registers, windows of products have room for two vectors. Zen 4, AVX2,
 * f32 of 128 KiB from L2, ns an element, products by 2 and 4 .207, .33; sums .20, .15. States of
 * several parts take long, and a segment's look ahead makes a step in vain: cumlogsumexp of f32,
 * rows of 128, by 1, 2, 4, 8 AVX-512 4.2, 4.8, 5.2, 6.0, AVX2 8.4, 8.2, 8.6, 9.3; of 1024 4.7, 4.0,
 * 4.1, 4.1 and 8.6, 7.8, 8.3, 7.8 (Emerald Rapids). */
static int32_t choose_vectors(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    if (plan->scan == TLY_SCAN_SCALARS)
        return 1;
    int few = (is_product_of_singles(p) && (t->registers < 32 || plan->lanes > 8)) ||
              tly_operator_of(p)->parts > 1;
    return few && plan->scan == TLY_SCAN_WINDOWS ? 2 : 4;
}

/* The first doublings by overlapping loads, where they cost one instruction each: not of elements
 * to be widened or picked, and not the last, which moves whole halves. Zen 3, 64 KiB from L2, in
 * us, 0, 1, 2 doublings: f32 4.3, 3.2, 3.1; f64 2.5, 2.4, 2.7; f16 4.8, 3.6, 3.8; bf16 7.4, 6.0,
 * 6.3; every second 2.8, 2.6, 3.3. Vectors of 512 bits shift across two in one instruction. Floats
 * become keys by four: rows of 1024, past the cache, us, 0 and 1: f32 616, 656; f16 1431, 1656; f64
 * 1740, 1801; but i8 1204, 1011 (Emerald Rapids, AVX2). */
static int32_t choose_window_loads(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int keys = tly_class_of(tly_element_dtype(p)) == TLY_FLOATING &&
               tly_class_of((tally_dtype)p->acc) != TLY_FLOATING;
    if (plan->scan != TLY_SCAN_WINDOWS || (t->has_align2 && t->vector_bytes == 64) || keys)
        return 0;
    return p->tensor[TLY_IN].dtype == p->acc && !is_near(p) && plan->lanes >= 8 ? 2 : 1;
}

/* 128 vectors between re-synchronisations: what is staged stays in L1. Zen 3, f32 row of 64 Mi, of
 * a copy: 64 vectors .85, 128 .92, 256 .89; rows of 128: .70, .77, .58. A multiple of the step
 * and, so that lanes keep their class, of p->interleave. */
static int32_t choose_block(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t step = tly_rows_step(p, plan);
    int32_t whole = step / gcd(step, p->interleave) * p->interleave;
    int32_t wanted = 128 * plan->lanes << plan->pairs;
    (void)t;
    return wanted / whole > 0 ? wanted / whole * whole : whole;
}

/* 128 KiB of input a chunk: its second reading comes from L2. f32 row of 64 Mi, two threads, Zen 3,
 * ms: 32 KiB 21.8, 64 KiB 20.9, 128 KiB 19.8, 256 KiB 19.9. Those of interleaved scans are about as
 * long: whole blocks, so that lanes keep their scan. */
int32_t tly_choose_chunk(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t chunk = 131072 / (int32_t)tly_element_bytes(p, TLY_IN);
    (void)t;
    if (p->interleave == 1)
        return chunk;
    return tly_rows_cuts(p, plan)
               ? tly_larger_of(chunk / plan->block_elements, 1) * plan->block_elements
               : 0;
}

/* Where memory is the limit the machine knows what a thread is worth. Types that are converted
 * compute more than they read: f16 rows of 128, one and two threads, us, Zen 4: 512 KiB read and
 * written 35, 31 (AVX2 37, 25); 2 MiB 141, 131 (150, 99). */
int32_t tly_choose_split(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return p->form == TLY_ROWS &&
                   tly_element_bytes(p, TLY_IN) < (int64_t)tally_dtype_bytes((tally_dtype)p->acc)
               ? 2 << 20
               : 0;
}

/* Bytes of input fetched ahead. Past the cache, of a copy, by 4 and 8 KiB (Zen 5): AVX-512 f32
 * products of one row .88, .92, of rows of 4,096 .87, .89, of 1,024 .90, .93, sums .85, .90, i32
 * products .92, .96, inner 3 .94, .96, f64 and f16 alike, i64 .96 of the speed, cummax .95; AVX2
 * .96, .92. Every second element 12.4, 10.0 ms, then with flags 7.1, AVX2 7.6, 7.0. */
static int32_t choose_row_ahead(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)plan;
    int far = is_near(p) || (t->vector_bytes == 64 && tly_is_plain(p) && !tly_is_wide_product(p));
    return far ? 8192 : 4096;
}

/* f32 of 8, 24, 128 past the cache, of a copy, by 2 and 8 KiB: AVX-512 .84, .83, .82 and .90,
 * .90, .90, by 16 KiB of 8 .90, of 24 .80; AVX2 24 .82, .77, 128 .89, .93; f16 of 32 .70, .71.
 * Rows of four vectors that are a step each: sums of f32 by 2, 3, 4, 6, 8 KiB .93, 1.0, 1.0, .84,
 * .79, products .92, .98, .98, .82, .78, of 21 other lengths none so (Zen 5). */
static int32_t choose_short_ahead(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    enum { STEP_BYTES = 256 };
    const int is_four = p->rows.length * (int)tly_element_bytes(p, TLY_IN) == STEP_BYTES &&
                        tly_short_vectors_by_rows(p, plan->lanes) * t->vector_bytes == STEP_BYTES;
    return t->vector_bytes != 64 ? 2048 : is_four ? 4096 : 8192;
}

/* Chains side by side; what is unrolled whole is at most 128 elements. */
static int32_t choose_chains(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return p->rows.length > 32 ? 2 : 4;
}

/* One and two threads, us, Zen 4, f32 rows of 128: 1 MiB read and written 55, 29 to 91; 4 MiB 218,
 * 117 to 180; 8 MiB 479, 303. What is unrolled is as fast as memory. */
static int32_t choose_serial_split(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return p->rows.length > 0 ? 0 : 4 << 20;
}

const tly_choice tly_choices_of_rows[] = {
    { KEY(lanes), choose_row_lanes, 0 },
    { KEY(pairs), choose_pairs, 0 },
    { KEY(scan), choose_scan, 0 },
    { KEY(safe), NULL, 0 },
    { KEY(vectors), choose_vectors, 0 },
    { KEY(window_loads), choose_window_loads, 0 },
    { KEY(block_elements), choose_block, 0 },
    { KEY(chunk), tly_choose_chunk, 0 },
    { KEY(prefetch), choose_row_ahead, 0 },
    { KEY(split_bytes), tly_choose_split, 0 },
    { 0, NULL, 0 },
};

const tly_choice tly_choices_of_short[] = {
    { KEY(lanes), tly_choose_lanes, 0 },
    { KEY(block_elements), NULL, 2048 },
    { KEY(prefetch), choose_short_ahead, 0 },
    { KEY(split_bytes), tly_choose_split, 0 },
    { 0, NULL, 0 },
};

static int32_t choose_linear_chunk(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    enum { CHUNKS = 4 }; /* finding a chunk's segments takes a fifth of what a quarter of it does */
    const int32_t chunk = tly_linear_cuts(p) ? tly_choose_chunk(p, t, plan) : 0;
    return tly_linear_goes_apart(p) ? CHUNKS * chunk : chunk;
}

const tly_choice tly_choices_of_linear[] = {
    { KEY(lanes), tly_choose_lanes, 0 },    { KEY(vectors), NULL, 4 },
    { KEY(chunk), choose_linear_chunk, 0 }, { KEY(prefetch), NULL, 4096 },
    { KEY(split_bytes), NULL, 0 },          { 0, NULL, 0 },
};

const tly_choice tly_choices_of_serial[] = {
    { KEY(rows_at_once), choose_chains, 0 },
    { KEY(split_bytes), choose_serial_split, 0 },
    { 0, NULL, 0 },
};
