/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heuristics: which algorithm, how wide, how deep. One function a choice; every number names
 * its measurement (docs/results/plan.md has the tables). What a template can be built with at all
 * is templates/limits.h's.
 */
#include "plan.h"

#include "../../runtime/error.h"
#include "../../templates/limits.h"
#include "../operator.h"
#include "choices.h"
#include "keys.h"

static const tly_limits *const limits[TLY_TEMPLATE_COUNT] = {
    [TLY_TEMPLATE_ROWS] = &tly_rows_limits,
    [TLY_TEMPLATE_SHORT] = &tly_short_limits,
    [TLY_TEMPLATE_COLUMNS] = &tly_columns_limits,
    [TLY_TEMPLATE_TRANSPOSED] = &tly_transposed_limits,
    [TLY_TEMPLATE_SERIAL] = &tly_serial_limits,
    [TLY_TEMPLATE_NARROW] = &tly_narrow_limits,
    [TLY_TEMPLATE_TILES] = &tly_tiles_limits,
    [TLY_TEMPLATE_REDUCE_ROWS] = &tly_reduce_rows_limits,
    [TLY_TEMPLATE_REDUCE_LANES] = &tly_reduce_lanes_limits,
    [TLY_TEMPLATE_REDUCE_INTERLEAVED] = &tly_reduce_interleaved_limits,
};

const char *tly_template_name(tly_template id)
{
    return limits[id]->keys.name;
}

static int32_t gcd(int32_t a, int32_t b)
{
    while (b != 0) {
        int32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int32_t larger(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

/* Columns that are too few for passes of their own, or lie apart in the input. */
static int is_view(const tly_problem *p)
{
    return p->length > 0 || p->in_step == TLY_ANY_STEP;
}

static int multiplies_integers(const tly_problem *p)
{
    return tly_combines_by(p) == KIR_MUL && tly_class_of((tally_dtype)p->acc) != TLY_FLOATING;
}

static int is_wide_product(const tly_problem *p)
{
    return multiplies_integers(p) && tally_dtype_bytes((tally_dtype)p->acc) == 8;
}

/* Rows of up to TLY_SHORT_ROW as chains of scalars, several side by side, or as a stream of vectors;
 * ns an element from L2, the latter first (Emerald Rapids). Rows of 2, 3, 4: f32 AVX-512 .14, .20,
 * .16 and .38, .52, .51, AVX2 .21, .40, .31 and .35, .42, .38; f16 AVX-512 .16, .27, .21 and 1.9,
 * 1.4, 1.3; f32 SSE .23, .68, .51 and .29, .35, .29. Two lanes a vector: f64 SSE, rows of 8 and 33
 * 1.49, 1.44 and .77, .80 (past the cache 1.44, 1.44 and 1.59, 1.97); f32 SSE .78, .61 and .44, .48,
 * but past the cache .72, .88 and 1.25, 1.21. Integer products of more than a vector wait for each
 * other: i32, rows of 33, AVX-512, AVX2, SSE .57, .80, 1.4 and .47, .48, .48; i64 1.58, 1.84, 2.6
 * and .58, .64, .63; of 8 .38, 1.25, 2.5 and .55, .53, .77. */
static int takes_chains(const tly_problem *p, const tly_target *t)
{
    int lanes = t->vector_bytes / (int)tally_dtype_bytes((tally_dtype)p->acc);
    int most = t->vector_bytes == 16 ? 4 : 1;
    if (lanes == 2 || (is_wide_product(p) && !t->has_mul64))
        most = TLY_SHORT_ROW;
    int literal = p->length > 0;
    return literal && (p->length <= most || (multiplies_integers(p) && p->length > lanes));
}

/* Dense rows by the template of long ones: ns an element from L2, short and long rows' template
 * (Emerald Rapids). f64 rows of 100 and 200, AVX-512 .86, .93 and .96, .46, AVX2 .92, 1.3 and .69,
 * .51. SSE, f32 rows of 64 and 100 .86, .72 and .35, .35 (past the cache .63, .69 and .38, .53); bf16
 * 100 1.17 and .91, f16 1.85 and 2.79. i32 products of 100, AVX-512, AVX2, SSE .54, .80, 1.39 and .44,
 * .57, .94. */
static int is_long(const tly_problem *p, const tly_target *t)
{
    enum { LONG_OF_FOURS = 48 };
    int narrow = p->dtype == TALLY_F16 || p->dtype == TALLY_BF16;
    int fours = t->vector_bytes == 16 && !narrow;
    if (p->length > 0)
        return fours && p->length >= LONG_OF_FOURS;
    return p->dense != TLY_DENSE_MEDIUM || p->acc == TALLY_F64 || fours || multiplies_integers(p);
}

static tly_template choose_template(const tly_problem *p, const tly_target *t)
{
    if (p->form == TLY_REDUCED_ROWS)
        return TLY_TEMPLATE_REDUCE_ROWS;
    if (p->form == TLY_REDUCED_LANES)
        return tly_reduce_interleaved_limits.refuses(p) ? TLY_TEMPLATE_REDUCE_LANES
                                                        : TLY_TEMPLATE_REDUCE_INTERLEAVED;
    if (p->form == TLY_COLUMNS && (p->dense == TLY_PACKED_UP || p->dense == TLY_PACKED_DOWN))
        return TLY_TEMPLATE_NARROW;
    if (p->form == TLY_COLUMNS)
        return is_view(p) ? TLY_TEMPLATE_TILES : TLY_TEMPLATE_COLUMNS;
    if (p->form == TLY_TRANSPOSED)
        return p->length > 0 || p->dense ? TLY_TEMPLATE_TILES : TLY_TEMPLATE_TRANSPOSED;
    if (p->length > 0 && !p->dense)
        return TLY_TEMPLATE_TILES;
    if (p->order == TALLY_ORDER_SERIAL)
        return TLY_TEMPLATE_SERIAL;
    if (is_long(p, t))
        return TLY_TEMPLATE_ROWS;
    return takes_chains(p, t) ? TLY_TEMPLATE_SERIAL : TLY_TEMPLATE_SHORT;
}

static int32_t choose_lanes(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)plan;
    return t->vector_bytes / (int32_t)tally_dtype_bytes((tally_dtype)p->acc);
}

/* ---- rows ---- */

static int is_product_of_singles(const tly_problem *p)
{
    return tly_is_watched_as(p, TLY_WATCH_PRODUCTS) && p->acc == TALLY_F32 && p->unit == 1 &&
           !tly_plan_pairs(p);
}

/* Where elements are watched, and not flags, windows of 8 may have them anywhere in [2^-15, 2^15],
 * and of 16 in [2^-7, 2^7], which uniform data leave all the time. Emerald Rapids, AVX-512, flags, ns an
 * element from L2, by 8 lanes and 4 vectors a step, and by 16 and 2: f32 rows of 1024 benign .22, .15,
 * uniform .25, .22, of 128 .26, .19 and .43, .47; f16 rows of 1024 .25, .20 and .36, .37. */
static int32_t choose_row_lanes(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t lanes = choose_lanes(p, t, plan);
    int watched = is_product_of_singles(p) && (p->in_step == 2 || p->in_step == -2);
    return watched && lanes > 8 ? 8 : lanes;
}

int tly_plan_pairs(const tly_problem *p)
{
    int apart = p->in_step != 1 && p->in_step != -1;
    return p->dtype == TALLY_BF16 && p->out_dtype == TALLY_BF16 && p->acc == TALLY_F32 && !apart;
}

/* Neighbouring bf16 lie in one lane of 32 bits: windows of pairs take half the shuffles and no
 * widening ones. */
static int32_t choose_pairs(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return tly_plan_pairs(p) && p->unit == 1 && p->out_step != TLY_ANY_STEP;
}

/* Vectors of 64-bit integer products are slow where they are not one instruction: a scalar chain
 * by pairs instead. Zen 3, of a copy, prototypes of 32 Mi elements in one row and in rows of 4096:
 * pairs .87, .84; fours .86, .74; 4 runs .64, .65; windows .43; the plain loop .56. */
static int slow_vectors(const tly_problem *p, const tly_target *t)
{
    return is_wide_product(p) && !t->has_mul64 && p->unit == 1;
}

/* Windows cost a shuffle less a vector than the scan of each by itself. Zen 4, i32 of 128 KiB from
 * L2, ns an element: AVX-512 .15 and .165, AVX2 .17 and .21. */
static int32_t choose_scan(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    if (slow_vectors(p, t))
        return TLY_SCAN_SCALARS;
    return p->unit == 1 && !plan->pairs ? TLY_SCAN_WINDOWS : TLY_SCAN_VECTORS;
}

/* Products go by steps of at most 32 elements, of which few begin above 2^-60 and end below the
 * normal numbers. With 16 registers, windows of products have room for two vectors. Zen 4, AVX2, f32 of 128 KiB
 * from L2, ns an element, products by 2 and 4 .207, .33; sums .20, .15. States of several parts take
 * long, and a segment's look ahead makes a step in vain: cumlogsumexp of f32, rows of 128, by 1, 2, 4,
 * 8 AVX-512 4.2, 4.8, 5.2, 6.0, AVX2 8.4, 8.2, 8.6, 9.3; of 1024 4.7, 4.0, 4.1, 4.1 and 8.6, 7.8, 8.3,
 * 7.8 (Emerald Rapids). */
static int32_t choose_vectors(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    if (plan->scan == TLY_SCAN_SCALARS)
        return 1;
    int few = (is_product_of_singles(p) && (t->registers < 32 || plan->lanes > 8)) ||
              tly_operator_find(p->op)->parts > 1;
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
    int keys = tly_class_of((tally_dtype)p->dtype) == TLY_FLOATING &&
               tly_class_of((tally_dtype)p->acc) != TLY_FLOATING;
    if (plan->scan != TLY_SCAN_WINDOWS || (t->has_align2 && t->vector_bytes == 64) || keys)
        return 0;
    return p->dtype == p->acc && p->in_step != 2 && plan->lanes >= 8 ? 2 : 1;
}

/* 128 vectors between re-synchronisations: what is staged stays in L1. Zen 3, f32 row of 64 Mi, of
 * a copy: 64 vectors .85, 128 .92, 256 .89; rows of 128: .70, .77, .58. A multiple of the step
 * and, so that lanes keep their class, of the unit. */
static int32_t choose_block(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t step = tly_rows_step(p, plan);
    int32_t whole = step / gcd(step, p->unit) * p->unit;
    int32_t wanted = 128 * plan->lanes << plan->pairs;
    (void)t;
    return wanted / whole > 0 ? wanted / whole * whole : whole;
}

/* 128 KiB of input a chunk: its second reading comes from L2. f32 row of 64 Mi, two threads, Zen 3,
 * ms: 32 KiB 21.8, 64 KiB 20.9, 128 KiB 19.8, 256 KiB 19.9. Those of interleaved scans are about as
 * long: whole blocks, so that lanes keep their scan. */
static int32_t choose_chunk(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t chunk = 131072 / (int32_t)tally_dtype_bytes((tally_dtype)p->dtype);
    (void)t;
    if (p->unit == 1)
        return chunk;
    return tly_rows_cuts(p, plan) ? larger(chunk / plan->block, 1) * plan->block : 0;
}

/* ---- the others ---- */

/* Where memory is the limit the machine knows what a thread is worth. Types that are converted
 * compute more than they read: f16 rows of 128, one and two threads, us, Zen 4: 512 KiB read and
 * written 35, 31 (AVX2 37, 25); 2 MiB 141, 131 (150, 99). */
static int32_t choose_split(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return p->form == TLY_ROWS &&
                   tally_dtype_bytes((tally_dtype)p->dtype) < tally_dtype_bytes((tally_dtype)p->acc)
               ? 2 << 20
               : 0;
}

/* Chains side by side; what is unrolled whole is at most 128 elements. */
static int32_t choose_chains(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return p->length > 32 ? 2 : 4;
}

/* One and two threads, us, Zen 4, f32 rows of 128: 1 MiB read and written 55, 29 to 91; 4 MiB 218,
 * 117 to 180; 8 MiB 479, 303. What is unrolled is as fast as memory. */
static int32_t choose_serial_split(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return p->length > 0 ? 0 : 4 << 20;
}

/* Axis steps a pass. f32 of 4096x16384, of a copy: 1 step .92, 2 1.0, 4 1.2. Narrow results are
 * rather limited by their instructions, of which one step a pass has the fewest: bf16 of 4096x32768
 * 1 step .99, 4 .61 to .67; f16 of 65536x2048 1.03 and .87, of 4096x32768 alike (Zen 3). With
 * vectors of a line they are not: 1024x32768 of f16 1 step .48, 4 .69; bf16 .48, .81 (Zen 4). */
static int32_t choose_steps(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)plan;
    return t->vector_bytes < 64 && tally_dtype_bytes((tally_dtype)p->out_dtype) == 2 ? 1 : 4;
}

/* f32 of 4096x2048 and 512x16384, of a copy: 2 KiB .84, .71; 6 KiB .91, .78 (Zen 4). */
static int32_t choose_ahead(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)p;
    (void)plan;
    return t->vector_bytes == 64 ? 6144 : 2048;
}

/* f32 of 64x256x1024 past the cache, of a copy: 1, 2, 4 slices .85, 1.02, .99; AVX2 1, 2 .82, .98;
 * f16 1, 2 .88, .99, AVX2 .77, .96 (Emerald Rapids). Operators that compute for longer than that
 * have nothing of it. */
static int32_t choose_slices(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return tly_takes_slices(p) && tly_is_plain(p) ? 2 : 1;
}

static int32_t choose_turned(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return larger(tly_line_elements(p), 32);
}

static int32_t choose_tile(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    return larger(4 * tly_line_elements(p), plan->lanes);
}

static int32_t choose_history(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    return p->length > 0 && tly_narrow_vectors(p, plan) <= t->registers * 5 / 8;
}

/* Lines a step: about as many vectors as the history has, so that few are moved between steps. */
static int32_t choose_narrow_lines(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t line = tly_line_elements(p), vectors = line > plan->lanes ? line / plan->lanes : 1;
    (void)t;
    return vectors >= 16 ? 1 : vectors > 4 ? 2 : 4;
}

/* 8 KiB of results, which with the input ahead stay in L1. f32 of 300, 129, 749 columns, of a copy:
 * 16 KiB .75, .78, .75; 8 KiB .97, .96, .96; 2 KiB .96, .98, .88 (Zen 4). */
static int32_t choose_narrow_block(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return 8192 / (int32_t)tally_dtype_bytes((tally_dtype)p->acc);
}

/* ---- tiles ---- */

/* No more lanes than there are, or steps in a short row. */
static int32_t choose_tile_vector(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t lanes = choose_lanes(p, t, plan);
    /* Tiles of 8 by 8 take short axes, too: f32 of 4096x4096, rows in and columns out, of a copy,
     * 16 lanes .49, 8 lanes .52 (Zen 4). */
    if (tly_tiles_turn(p) && lanes > 8)
        lanes = 8;
    while (p->length > 0 && lanes > TLY_LEAST_LANES && lanes > p->length)
        lanes /= 2;
    return lanes;
}

/* Lines of input are read whole, so that none is out of the cache before its other half is read, and
 * two lines of output written side by side: rows in and columns out, f32 of 4096x4096, of a copy, 8
 * steps by 1, 2, 4 lines .43, .57, .40; 16 steps .52, .70, .44; rows across, 256x256x256 by 2, 1, 0 along
 * axis 1, 1, 2 lines .41, .61 (Zen 5). */
static int32_t choose_tile_steps(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t line = 64 / (int32_t)tally_dtype_bytes((tally_dtype)p->dtype);
    (void)t;
    if (!tly_tiles_large(p))
        return tly_tiles_turn(p) ? plan->lanes : 1;
    return larger(plan->lanes, line < TLY_MOST_LANES ? line : TLY_MOST_LANES);
}

/* Whole lines where there are lanes enough for them. */
static int32_t choose_tile_lines(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    if (p->form == TLY_COLUMNS && p->dense == TLY_ROWS_LINES)
        return 1;
    int crosses = p->form == TLY_COLUMNS && p->dense == TLY_ROWS_UP && p->length == 0;
    if ((tly_tiles_large(p) || crosses) && tly_line_elements(p) <= TLY_MOST_LANES)
        return 2;
    return p->form == TLY_COLUMNS && p->length == 0 && p->out_step == 1;
}

static int32_t choose_tile_ahead(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    (void)plan;
    return p->length > 0 ? 0 : 256;
}

/* ---- reductions ---- */

static int is_serial_row(const tly_problem *p)
{
    return p->form == TLY_REDUCED_ROWS && p->order == TALLY_ORDER_SERIAL;
}

/* No vectors of what lies apart. */
static int32_t choose_reduce_lanes(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t lanes = p->in_step != 1 || is_serial_row(p) ? 1 : choose_lanes(p, t, plan);
    int few = plan->template_id == TLY_TEMPLATE_REDUCE_LANES && p->length > 0;
    while (few && lanes > p->length)
        lanes /= 2;
    return lanes;
}

/* Enough to hide the latency of one, and no more than there are registers for: log_sum_exp of f32
 * from L2, ns an element, 2, 4, 8 vectors taken at once: AVX-512 .47, .45, .63, AVX2 .66, .64, .88
 * (Emerald Rapids, minima on a busy machine). Of short rows one, as rows stand side by side. */
static int32_t choose_reduce_unroll(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)plan;
    if (is_serial_row(p) || (p->dense & TLY_REDUCED_SHORT))
        return 1;
    (void)t;
    return tly_operator_find(p->op)->takes ? 4 : 8;
}

/* Short rows side by side, as many as lanes and as there are registers for. */
static int32_t choose_reduce_rows(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int32_t most = t->registers / 2;
    int32_t rows = plan->lanes < most ? plan->lanes : most;
    if (!(p->dense & TLY_REDUCED_SHORT) || plan->unroll > 1)
        return 1;
    return tly_operator_find(p->op)->parts > 1 && rows > 8 ? 8 : rows;
}

static int32_t choose_reduce_chunk(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    int lanes = plan->template_id == TLY_TEMPLATE_REDUCE_LANES;
    int serial = lanes ? tly_reduces_plainly(p) : is_serial_row(p);
    return serial ? 0 : choose_chunk(p, t, plan);
}

/* Steps a pass. argmax of f32 by 4 and 8, ms, minima: 4096x4096, axis 0, AVX-512 2.54, 2.57, AVX2 7.9,
 * 5.2; 2^20x8 AVX-512 1.64, 1.37, AVX2, whose registers do not hold the indices, 2.8, 3.2 (Emerald
 * Rapids). */
static int32_t choose_reduce_steps(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    const tly_operator *o = tly_operator_find(p->op);
    int roomy = t->registers >= 32 || plan->template_id == TLY_TEMPLATE_REDUCE_LANES;
    return o->parts > 1 && !(o->searches && roomy) ? 4 : 8;
}

/* A page of input or two, and 16 KiB of states, which stay in L1. 4096x4096, axis 0, of reading, by
 * 1024 and 4096 lanes, AVX-512 and AVX2: sum of bf16 .75, .74 and .88, .88; max of f16 .80, .71 and .93,
 * .83, of i8 .87, .78 and .96, .95. Sum of f32 on one and two threads, us: 2464, 1220 and 2510, 1389
 * (Emerald Rapids). Where there are no chunks, tiles are what threads share. */
static int32_t choose_reduce_tile(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    enum { LEAST = 1024, MOST = 4096 };
    int32_t lanes = 16384 / (int32_t)tly_state_bytes(p);
    (void)t;
    (void)plan;
    if (tly_reduces_plainly(p) || tally_dtype_bytes((tally_dtype)p->dtype) > 2)
        return LEAST;
    return lanes < LEAST ? LEAST : lanes > MOST ? MOST : lanes;
}

/* So many that states fill eight vectors and more, which hide the latency of one; many columns do. */
static int32_t choose_reduce_block(const tly_problem *p, const tly_target *t, const tly_plan *plan)
{
    (void)t;
    if (p->dense & TLY_REDUCED_LONG)
        return 1;
    int32_t block = 8 * plan->lanes / (p->length > 1 ? p->length : 1);
    return block > plan->lanes ? block : plan->lanes;
}

/* ---- all of them ---- */

/* How a choice is made: by a function, or one number for all. */
typedef struct choice {
    size_t at;
    int32_t (*choose)(const tly_problem *p, const tly_target *t, const tly_plan *plan);
    int32_t always;
} choice;

#define KEY(field) offsetof(tly_plan, field)
enum { MOST_CHOICES = 10 };

/* In this order: each may look at those before it. */
static const choice choices[TLY_TEMPLATE_COUNT][MOST_CHOICES] = {
    [TLY_TEMPLATE_ROWS] = {
        { KEY(lanes), choose_row_lanes, 0 },
        { KEY(pairs), choose_pairs, 0 },
        { KEY(scan), choose_scan, 0 },
        { KEY(careful), NULL, 0 },
        { KEY(unroll), choose_vectors, 0 },
        { KEY(window_loads), choose_window_loads, 0 },
        { KEY(block), choose_block, 0 },
        { KEY(chunk), choose_chunk, 0 },
        { KEY(prefetch), NULL, 4096 },
        { KEY(split_bytes), choose_split, 0 },
    },
    [TLY_TEMPLATE_SHORT] = {
        { KEY(lanes), choose_lanes, 0 },
        { KEY(block), NULL, 2048 },
        { KEY(prefetch), NULL, 2048 },
        { KEY(split_bytes), choose_split, 0 },
    },
    [TLY_TEMPLATE_COLUMNS] = {
        { KEY(lanes), choose_lanes, 0 },
        { KEY(rows), choose_steps, 0 },
        { KEY(lines), NULL, 2 },
        { KEY(slices), choose_slices, 0 },
        { KEY(tile_lanes), choose_tile, 0 },
        { KEY(prefetch), choose_ahead, 0 },
        /* f32 past the cache, of a copy: rows of 1, 4, 8, 16, 32 KiB by one step a pass 1.08, 1.05,
         * 1.02, 1.12, .94; by four .68, .95, .97, 1.05, 1.06. */
        { KEY(long_row), NULL, 16384 },
        /* Inputs of 16, 128, 512, 1024 KiB by one step a pass .43, .80, .98, .99; by four .76, .97,
         * .83, .85. */
        { KEY(small), NULL, 131072 },
        { KEY(split_bytes), choose_split, 0 },
    },
    [TLY_TEMPLATE_TRANSPOSED] = {
        { KEY(lanes), choose_lanes, 0 },
        { KEY(rows), choose_turned, 0 },
        { KEY(tile_lanes), choose_tile, 0 },
        { KEY(prefetch), NULL, 128 },
        { KEY(split_bytes), choose_split, 0 },
    },
    [TLY_TEMPLATE_SERIAL] = {
        { KEY(unroll), choose_chains, 0 },
        { KEY(split_bytes), choose_serial_split, 0 },
    },
    [TLY_TEMPLATE_TILES] = {
        { KEY(lanes), choose_tile_vector, 0 },
        { KEY(rows), choose_tile_steps, 0 },
        { KEY(lines), choose_tile_lines, 0 },
        { KEY(tile_lanes), choose_tile, 0 },
        { KEY(prefetch), choose_tile_ahead, 0 },
        { KEY(split_bytes), choose_split, 0 },
    },
    [TLY_TEMPLATE_REDUCE_ROWS] = {
        { KEY(lanes), choose_reduce_lanes, 0 },
        { KEY(unroll), choose_reduce_unroll, 0 },
        { KEY(rows), choose_reduce_rows, 0 },
        { KEY(chunk), choose_reduce_chunk, 0 },
        /* Sums of f32, us, by 1, 2, 4, 8 KiB: rows of 1,024 1928, 1591, 1471, 1313, reading 1053; of bf16, rows
         * of 4,096, by 4, 8, 12, 16, 32 KiB 1578, 1323, 1283, 1299, 1470; of f32, rows of 32, 64, 128, by 4 and
         * 10 KiB 2141 and 1992, 2141 and 1847, 1696 and 1621 (Zen 5, minima on a busy machine). */
        { KEY(prefetch), NULL, 10240 },
        { KEY(split_bytes), NULL, 0 },
    },
    [TLY_TEMPLATE_REDUCE_LANES] = {
        { KEY(lanes), choose_reduce_lanes, 0 },
        { KEY(rows), choose_reduce_steps, 0 },
        { KEY(tile_lanes), choose_reduce_tile, 0 },
        { KEY(chunk), choose_reduce_chunk, 0 },
        { KEY(split_bytes), NULL, 0 },
    },
    [TLY_TEMPLATE_REDUCE_INTERLEAVED] = {
        { KEY(lanes), choose_reduce_lanes, 0 },
        { KEY(rows), choose_reduce_steps, 0 },
        { KEY(block), choose_reduce_block, 0 },
        { KEY(chunk), choose_reduce_chunk, 0 },
        { KEY(split_bytes), NULL, 0 },
    },
    [TLY_TEMPLATE_NARROW] = {
        { KEY(lanes), choose_lanes, 0 },
        { KEY(history), choose_history, 0 },
        { KEY(unroll), choose_narrow_lines, 0 },
        { KEY(slices), choose_slices, 0 },
        { KEY(block), choose_narrow_block, 0 },
        { KEY(prefetch), NULL, 4096 },
        { KEY(split_bytes), choose_split, 0 },
    },
};

_Static_assert(offsetof(tly_plan, template_id) == 0, "the id is a plan's first field");
_Static_assert(sizeof(tly_plan) <= TLY_PLAN_CHOICES * sizeof(int32_t), "a bit for each choice");

static void choose(const tly_problem *p, const tly_target *t, const tly_forced *forced,
                   tly_plan *plan)
{
    plan->lanes = choose_lanes(p, t, plan); /* of what every kernel is made of */
    for (const choice *c = choices[plan->template_id];
         c < choices[plan->template_id] + MOST_CHOICES && c->at != 0; c++) {
        int32_t v = c->choose != NULL ? c->choose(p, t, plan) : c->always;
        *(int32_t *)(void *)((char *)plan + c->at) = tly_forced_or(forced, c->at, v);
    }
}

static void list_keys(const tly_keys *keys[TLY_TEMPLATE_COUNT])
{
    for (size_t i = 0; i < TLY_TEMPLATE_COUNT; i++)
        keys[i] = &limits[i]->keys;
}

static tally_status read_overrides(const tly_problem *p, const tly_target *t, const char *text,
                                   tly_forced *forced, tally_error *e)
{
    const tly_keys *keys[TLY_TEMPLATE_COUNT];
    list_keys(keys);
    return tly_keys_read(keys, TLY_TEMPLATE_COUNT, keys[choose_template(p, t)], text, forced, e);
}

/* Our own choices hold to the limits, too: where they do not, it is a fault of ours. */
static tally_status check(const tly_limits *l, const tly_problem *p, const tly_forced *forced,
                          const tly_plan *plan, tally_error *e)
{
    tally_status fails = forced->given ? TALLY_INVALID : TALLY_INTERNAL;
    if (!tly_keys_hold(&l->keys, plan))
        return tly_fail(e, fails, "plan", "what follows from it is out of a key's range");
    const char *fault = l->fault(p, plan);
    return fault != NULL ? tly_fail(e, fails, "plan", "%s", fault) : TALLY_OK;
}

tally_status tly_plan_make(const tly_problem *problem, const tly_target *target,
                           const char *overrides, tly_plan *plan, tally_error *error)
{
    tly_forced forced;
    tally_status s = tly_operator_check(problem, error);
    if (s == TALLY_OK)
        s = read_overrides(problem, target, overrides, &forced, error);
    if (s != TALLY_OK)
        return s;
    tly_plan made = { .template_id = tly_forced_or(&forced, KEY(template_id),
                                                   (int32_t)choose_template(problem, target)) };
    const tly_limits *l = limits[made.template_id];
    int reduces = made.template_id >= TLY_TEMPLATE_REDUCE_ROWS;
    const char *refusal = l->refuses(problem);
    if (tly_reduces(problem->form) && !reduces)
        refusal = "it is a template of scans, and this is a reduction";
    if (refusal != NULL)
        return tly_fail(error, TALLY_INVALID, "plan", "%s", refusal);
    s = tly_keys_judge(&l->keys, &forced, error);
    if (s != TALLY_OK)
        return s;
    choose(problem, target, &forced, &made);
    s = check(l, problem, &forced, &made, error);
    if (s == TALLY_OK)
        *plan = made;
    return s;
}

tally_status tly_plan_print(const tly_plan *plan, tally_write write, void *user)
{
    return tly_keys_print(&limits[plan->template_id]->keys, plan, write, user);
}

tally_status tly_plan_explain(const tly_plan *plan, tally_write write, void *user)
{
    return tly_keys_explain(&limits[plan->template_id]->keys, tly_reasons, plan, write, user);
}

/* ---- for who looks for the fastest ---- */

/* The arguments of tly_plan_make that stay. */
typedef struct about {
    const tly_problem *problem;
    const tly_target *target;
} about;

static tally_status make_one(const void *user, const char *overrides, void *plan)
{
    const about *a = user;
    return tly_plan_make(a->problem, a->target, overrides, plan, NULL);
}

tally_status tly_plan_choices(const tly_problem *problem, const tly_target *target,
                              const char *overrides, tally_write write, void *user,
                              tally_error *error)
{
    const about a = { problem, target };
    const tly_keys *keys[TLY_TEMPLATE_COUNT];
    const tly_choosing choosing = { keys, TLY_TEMPLATE_COUNT, -1, sizeof(tly_plan), make_one, &a };
    tly_plan plan;
    list_keys(keys);
    tally_status s = tly_plan_make(problem, target, overrides, &plan, error);
    return s == TALLY_OK ? tly_choices_print(&choosing, overrides, write, user, error) : s;
}

/* Where each result is the plain loop's, no choice tells. Of the others these alone are known to be
 * about memory and threads. */
static const char *const free_keys[TLY_TEMPLATE_COUNT] = {
    [TLY_TEMPLATE_ROWS] = " prefetch split_bytes ",
    [TLY_TEMPLATE_SHORT] = " prefetch split_bytes ",
    [TLY_TEMPLATE_COLUMNS] = "*",
    [TLY_TEMPLATE_NARROW] = "*",
    [TLY_TEMPLATE_TRANSPOSED] = "*",
    [TLY_TEMPLATE_SERIAL] = "*",
    [TLY_TEMPLATE_TILES] = "*",
    [TLY_TEMPLATE_REDUCE_ROWS] = " prefetch split_bytes ",
    [TLY_TEMPLATE_REDUCE_LANES] = " tile_lanes split_bytes ",
    [TLY_TEMPLATE_REDUCE_INTERLEAVED] = " split_bytes ",
};

tally_status tly_plan_order(const tly_problem *problem, const tly_plan *plan, tally_write write,
                            void *user)
{
    return tly_order_print(problem, &limits[plan->template_id]->keys, free_keys[plan->template_id],
                           plan, write, user);
}
