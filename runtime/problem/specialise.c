/* SPDX-License-Identifier: Apache-2.0 */
/* Which sizes a kernel has as literals, and which limits it knows them to be within; see
 * specialise.h. */
#include "specialise.h"

#include "../descriptor/descriptor.h"
#include "../host/checked.h"

/* Of memory, in bytes. */
#define LINE 64

/* Fewer axis steps of a transposed view make no pass of lines of output. */
#define LEAST_TRANSPOSED_STEPS 32

/* The largest power of two within n, up to 16. */
static uint8_t power_within(int64_t n)
{
    uint8_t power = 1;
    while (power < 16 && 2 * power <= n) {
        power = (uint8_t)(2 * power);
    }
    return power;
}

static int64_t accumulator_bytes(const tly_problem *p)
{
    return (int64_t)tally_dtype_bytes((tally_dtype)p->acc);
}

static int has_operands(const tly_problem *p)
{
    return tly_tensors_of(p) > TLY_FIRST_OPERAND;
}

/* ---- the form -------------------------------------------------------------------------------- */

/* As lanes they go one by one. f32 of 64x...xL, axes 0 and 2, in cache, ns an element by rows and
 * by lanes, AVX-512: sums of L = 2 6.3, .30, of 4 1.57, .42, of 7 .85, .58, of 9 .40, .87; max of 2
 * 1.8, 1.1, of 3 2.1, 1.2; argmax of 2 4.2, 2.2, of 3 2.7, 2.3, of 9 .66, 1.6; log_sum_exp of 2
 * 10.5, 5.8, of 3 4.0, 5.7 (Emerald Rapids, minima). */
int tly_takes_apart(int32_t op, int ordered, int64_t step, int64_t lanes)
{
    const int compares = tly_ops[op].computes == TLY_COMPUTES_KEYS || ordered;
    const int64_t most = tly_ops[op].costly ? 2 : compares ? 3 : TLY_REDUCED_SHORT_STEP;
    return step <= most && lanes >= TLY_REDUCED_FEW_LANES;
}

/* ---- scans ---------------------------------------------------------------------------------- */

static void specialise_rows(tly_problem *p, const tly_geometry *g)
{
    const int serial = p->order == TALLY_ORDER_SERIAL, dense = p->rows.contiguous;
    const int goes_on = p->carry || tly_tells_index(p->op);
    const int is_even = g->length == TLY_EVEN_ROW ||
                        (!goes_on && g->length <= TLY_MEDIUM_ROW && g->length % TLY_EVEN_STEP == 0);
    const int is_short = g->length <= TLY_SHORT_ROW || (dense && is_even && !serial);
    if (p->interleave > 1) {
        const int narrow = tly_element_bytes(p, TLY_OUT) < 4 && p->acc != TALLY_F32;
        const int64_t most = narrow ? TLY_STREAM_NARROW : TLY_STREAM_ROW;
        p->rows.is_medium = dense && !p->carry && !p->segmented && g->length <= most;
        return;
    }
    if (p->carry && g->length == 0) {
        return;
    }
    /* Short ones go side by side: states of rows are vectors then, and indices are the same in all
     * lanes. Those with a carry are one stream on some targets (tly_carries_in_stream).
     * cumargmax:f32>i32 by chains or vectors along rows, and so, ns an element from L2: rows
     * of 3, 8, 16, 24, 32, 64, 128 1.34, .81, .28, .56, .36, .24, .22 and .63, .20, .20, .20, .20,
     * .20, .20 (Zen 5, AVX-512, minima). */
    if (goes_on && dense) {
        const int is_stream = p->carry && !serial && !p->resets && !tly_tells_index(p->op) &&
                              !tly_ops[p->op].has_coef;
        p->rows.least = is_short && g->outer_rank > 0 ? power_within(g->length) : 0;
        p->rows.length = (uint8_t)(is_stream && p->rows.least > 0 ? g->length : 0);
        p->rows.contiguous = p->rows.least == 0 || p->rows.length > 0;
        return;
    }
    if (is_short && dense) {
        p->rows.length = (uint8_t)g->length;
    } else if (is_short && g->outer_rank > 0) {
        p->rows.least = power_within(g->length);
    } else if (dense && g->length <= TLY_MEDIUM_ROW && !serial) {
        p->rows.is_medium = 1;
    }
}

/* So many lanes are one stream at most. Of longer rows the results before leave the first cache;
 * rows of whole lines do as well one by one then. Of a copy, as one stream and row by row: f64
 * of 1024 columns in L2 .50, .98, past the cache .76, .95; f32 of 1024 .85, .91 and .83, .92,
 * AVX2 .90, .89 and .85, .96; of 512 .94, .90 and .85, .92 (Emerald Rapids), .63, .66 and .87,
 * .84, f16 past the cache .92, .97 (Zen 5), and middle axes of 512 are four slices side by side
 * then. */
static int64_t most_narrow(const tly_problem *p, int64_t lanes)
{
    int64_t near = TLY_FEW_COLUMNS_NEAR / accumulator_bytes(p);
    int whole_lines = lanes * tly_element_bytes(p, TLY_OUT) % LINE == 0;
    return whole_lines && near - 1 < TLY_FEW_COLUMNS_MOST ? near - 1 : TLY_FEW_COLUMNS_MOST;
}

/* Packed lanes are one stream where they are neither few nor many. */
static int is_narrow(const tly_problem *p, const tly_geometry *g)
{
    return g->length > 1 && !p->resets && g->inner > TLY_MAX_INTERLEAVE &&
           g->inner <= most_narrow(p, g->inner);
}

/* Slices of more than 32 KiB gain nothing by being one stream (f32 of 36 KiB one by one: .97). */
static int has_short_slices(const tly_problem *p, const tly_geometry *g)
{
    const int64_t slice = g->length * g->inner;
    return !p->carry && g->outer_rank == 1 && slice <= 32768 / tly_element_bytes(p, TLY_OUT) &&
           g->outer[0].stride[TLY_IN] == slice && g->outer[0].stride[TLY_OUT] == slice;
}

static void specialise_lanes(tly_problem *p, const tly_geometry *g)
{
    tly_lane_facts *lanes = &p->lanes;
    if (lanes->packing == TLY_PACKED_UP || lanes->packing == TLY_PACKED_DOWN) {
        if (!is_narrow(p, g)) {
            lanes->packing = TLY_PACKED_NOT;
        } else if (g->inner * accumulator_bytes(p) <= TLY_FEW_COLUMNS_BYTES) {
            lanes->count = (uint8_t)g->inner;
        }
        lanes->short_slices = lanes->packing != TLY_PACKED_NOT && has_short_slices(p, g);
    }
    int64_t few = g->inner;
    if (p->form == TLY_TRANSPOSED && g->length < LEAST_TRANSPOSED_STEPS && g->length < few) {
        few = g->length;
    }
    if (few <= TLY_MAX_INTERLEAVE || few < g->inner) {
        lanes->least = power_within(few);
    }
    lanes->lines = lanes->packing == TLY_ROWS_UP && lanes->least > 0 &&
                   tly_line_dim(g->outer, g->outer_rank, g->inner,
                                LINE / tly_element_bytes(p, TLY_OUT)) >= 0;
}

/* ---- reductions ----------------------------------------------------------------------------- */

/* Rows of one step or of several; those of the last outer dim go at once. f32, 64 steps, from L3,
 * AVX-512 and AVX2, of the time of rows one by one: sums of 9, 17, 42, 113, 300 elements .35, .46,
 * .44, .61, .76 and .47, .55, .63, –, .85, max .42, .47, .55, .33, .99 and .62, .56, .64, –, 1.08,
 * prod .10, .14, .19, .41, .49 and .15, .19, .25, –, .47, log_sum_exp .69 to 1.0 and .76 to 1.17,
 * argmax .35, .37, .37, .33 and .59, .58, .50; but of 129, 150, 200, 300 1.44, 1.18, .79, 1.75 and
 * of f64 up to 1.6 and 2.8, so medium rows of indices go one by one (Zen 5, minima). */
static void specialise_reduced_rows(tly_problem *p, const tly_geometry *g)
{
    const int64_t bytes = tly_multiply(g->length, accumulator_bytes(p));
    const uint8_t way = bytes <= TLY_REDUCED_BYTES          ? TLY_REDUCED_SHORT
                        : bytes <= TLY_REDUCED_MEDIUM_BYTES ? TLY_REDUCED_MEDIUM
                                                            : TLY_REDUCED_ONE;
    const int64_t rows = g->outer_rank > 0 ? g->outer[g->outer_rank - 1].size : 0;
    if (p->tensor[TLY_IN].step != 1 || g->length == 0 ||
        (g->outer_rank > 1 && rows < TLY_REDUCED_SEVERAL_ROWS)) {
        return;
    }
    if (g->steps == 1 || way == TLY_REDUCED_ONE) {
        p->reduced.way = way;
        return;
    }
    const int many = rows >= TLY_REDUCED_MANY_ROWS && g->steps <= TLY_REDUCED_MOST_STEPS;
    const int pays = rows >= TLY_REDUCED_SEVERAL_ROWS && bytes <= TLY_REDUCED_LEAST_BYTES;
    if (g->steps > 0 && (many || pays) && !(tly_tells_index(p->op) && way == TLY_REDUCED_MEDIUM)) {
        p->reduced.way = way;
        p->reduced.has_steps = 1;
    }
}

/* Steps that have no room for a pass of several rows, each of several positions: they go position
 * by position, if there are more outputs than those side by side, which threads share. f32 of
 * 32x64x56x56, axes 0 and 2, as packed columns and so, us, minima: prod 1628, 955, log_sum_exp
 * 5468, 4356, argmax 1247, 1078, sum 986, 966, AVX2 1930, 985, 10519, 7072 and of sum 1247, 1079;
 * but of i8 301, 781, and log_sum_exp of 16x8x256x56 947, 1229 (Emerald Rapids). */
static int is_brief(const tly_problem *p, const tly_geometry *g)
{
    enum { LANES = 32, LENGTH = 128, BYTES = 4 };
    return g->steps > 1 && g->outer_rank > 0 && g->inner >= LANES && g->length < LENGTH &&
           tly_element_bytes(p, TLY_IN) >= BYTES;
}

/* Whether steps of all operands are even through lanes and the axis around them. */
static int are_even(const tly_geometry *g)
{
    int even = 1;
    for (int t = TLY_FIRST_OPERAND; t < TLY_TENSOR_COUNT; t++) {
        even = even && g->tensor[t].axis == tly_multiply(g->inner, g->tensor[t].lane);
    }
    return even;
}

static int is_packed(const tly_geometry *g)
{
    return are_even(g) && g->inner > 1 && g->tensor[TLY_IN].lane == 1 &&
           g->tensor[TLY_IN].axis == g->inner && g->length >= TLY_REDUCED_BLOCK / g->inner;
}

/* What would be one chain an output, on one thread. */
static int is_long(const tly_problem *p, const tly_geometry *g)
{
    const int floats = tly_ops[p->op].sequence == TLY_SEQUENCE_FLOATS &&
                       tly_dtypes[p->tensor[TLY_OUT].dtype].largest == 0;
    return floats && !has_operands(p) && g->tensor[TLY_IN].lane == 1 &&
           g->inner <= TLY_REDUCED_LONG_LANES && g->length >= TLY_REDUCED_LONG_STEPS;
}

/* Slices so short that what each of them costs beside its elements counts. Exponentials and indices
 * of longer ones are faster several steps at once: log_sum_exp of 9x31 took .99 of the time, of
 * 5x16 .45, argmax of 300x7 1.9, of 10x8 .72 (Zen 5). */
static int has_brief_slices(const tly_problem *p, const tly_geometry *g)
{
    const int computes = tly_tells_index(p->op) || tly_ops[p->op].costly;
    const int64_t most = computes ? TLY_REDUCED_COSTLY_SLICE_BYTES : TLY_REDUCED_SLICE_BYTES;
    const int is_short = g->length > 0 && g->length <= TLY_REDUCED_SLICE_STEPS &&
                         tly_multiply(g->length, g->inner) <= most / tly_element_bytes(p, TLY_IN);
    return is_short && g->outer_rank == 1 && g->outer[0].size >= TLY_REDUCED_LEAST_SLICES &&
           g->steps == 1 && g->inner > 1 && g->tensor[TLY_IN].lane == 1;
}

/* Of few lanes those of several slices make a vector, if all lie one behind the other. */
static uint8_t lanes_of_slices(const tly_problem *p, const tly_geometry *g)
{
    const int64_t *apart = g->outer[0].stride;
    const int is_stream = g->tensor[TLY_IN].axis == g->inner &&
                          apart[TLY_IN] == tly_multiply(g->length, g->inner) &&
                          apart[TLY_OUT] == g->inner && p->tensor[TLY_OUT].step == 1;
    return is_stream && !has_operands(p) && g->inner <= TLY_MAX_INTERLEAVE ? (uint8_t)g->inner : 1;
}

static void specialise_reduced_lanes(tly_problem *p, const tly_geometry *g)
{
    const int few = g->inner < TLY_REDUCED_FEW_LANES; /* they may not fill a vector */
    if (few) {
        p->reduced.least = power_within(g->inner);
    }
    p->reduced.slices = has_brief_slices(p, g) ? lanes_of_slices(p, g) : 0;
    if (p->order == TALLY_ORDER_SERIAL) {
        return;
    }
    if (few && is_packed(g) && !is_brief(p, g)) {
        p->reduced.way = TLY_REDUCED_PACKED;
    } else if (!few && is_long(p, g)) {
        p->reduced.way = TLY_REDUCED_LONG;
    }
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Segments differ in size, so that no fact follows from a length. */
static void specialise_form(tly_problem *p, const tly_geometry *g)
{
    switch ((tly_form)p->form) {
    case TLY_ROWS:
        specialise_rows(p, g);
        break;
    case TLY_COLUMNS:
    case TLY_TRANSPOSED:
        specialise_lanes(p, g);
        break;
    case TLY_REDUCED_ROWS:
        specialise_reduced_rows(p, g);
        break;
    case TLY_REDUCED_LANES:
        specialise_reduced_lanes(p, g);
        break;
    }
}

void tly_specialise(tly_problem *p, const tly_geometry *g)
{
    if (p->segmented == TLY_SEGMENTED_NOT) {
        specialise_form(p, g);
    } else if (p->form == TLY_REDUCED_LANES && g->inner < TLY_REDUCED_FEW_LANES) {
        p->reduced.least = power_within(g->inner);
    } else if (p->form == TLY_ROWS && p->carry) {
        p->rows.is_medium = g->length <= TLY_MEDIUM_ROW;
    }
    if (tly_tells_index(p->op)) {
        const int64_t steps = tly_reduces(p->form) ? g->steps : 1;
        p->counts_32 = tly_multiply(g->length, steps) <= INT32_MAX;
    }
}

void tly_specialise_for_device(tly_problem *p)
{
    if (tly_reduces(p->form)) {
        p->reduced = (tly_reduced_facts){ .way = TLY_REDUCED_ONE };
        if (tally_dtype_bytes((tally_dtype)p->acc) < 4) {
            p->acc = TALLY_I32;
        }
    } else if (p->form == TLY_ROWS) {
        const tly_row_facts rows = p->rows;
        const int goes_apart = rows.least > 0; /* also where a stream would be dense */
        p->rows = (tly_row_facts){ .contiguous = rows.contiguous && !goes_apart,
                                   .length = goes_apart ? 0 : rows.length };
    } else {
        const int along = p->lanes.packing == TLY_AXIS_UP || p->lanes.packing == TLY_AXIS_DOWN;
        p->lanes = (tly_lane_facts){ .packing = along ? p->lanes.packing : TLY_PACKED_NOT };
    }
}
