/* SPDX-License-Identifier: Apache-2.0 */
/* Which template makes a kernel; see choose.h. */
#include "choose.h"

/* Columns that are too few for passes of their own, or lie apart in the input. */
static int is_view(const tly_problem *p)
{
    return p->lanes.least > 0 || p->tensor[TLY_IN].step == TLY_ANY_STEP;
}

int tly_multiplies_integers(const tly_problem *p)
{
    return tly_combines_by(p) == KIR_MUL && tly_class_of((tally_dtype)p->acc) != TLY_FLOATING;
}

int tly_is_wide_product(const tly_problem *p)
{
    return tly_multiplies_integers(p) && tally_dtype_bytes((tally_dtype)p->acc) == 8;
}

/* Rows of up to TLY_SHORT_ROW as chains of scalars, several side by side, or as a stream of
 * vectors; ns an element from L2, the latter first (Emerald Rapids). Rows of 2, 3, 4: f32
 * AVX-512 .14, .20, .16 and .38, .52, .51, AVX2 .21, .40, .31 and .35, .42, .38; f16 AVX-512
 * .16, .27, .21 and 1.9, 1.4, 1.3; f32 SSE .23, .68, .51 and .29, .35, .29. Two lanes a vector:
 * f64 SSE, rows of 8 and 33 1.49, 1.44 and .77, .80 (past the cache 1.44, 1.44 and 1.59, 1.97);
 * f32 SSE .78, .61 and .44, .48, but past the cache .72, .88 and 1.25, 1.21. Integer products of
 * more than a vector wait for each other: i32, rows of 33, AVX-512, AVX2, SSE .57, .80, 1.4 and
 * .47, .48, .48; i64 1.58, 1.84, 2.6 and .58, .64, .63; of 8 .38, 1.25, 2.5 and .55, .53, .77. */
static int takes_chains(const tly_problem *p, const tly_target *t)
{
    int lanes = t->vector_bytes / (int)tally_dtype_bytes((tally_dtype)p->acc);
    int most = t->vector_bytes == 16 ? 4 : 1;
    if (lanes == 2 || (tly_is_wide_product(p) && !t->has_mul64))
        most = TLY_SHORT_ROW;
    int length = p->rows.length;
    return length > 0 && (length <= most || (tly_multiplies_integers(p) && length > lanes));
}

/* Dense rows by the template of long ones: ns an element from L2, short and long rows' template
 * (Emerald Rapids). f64 rows of 100 and 200, AVX-512 .86, .93 and .96, .46, AVX2 .92, 1.3 and .69,
 * .51. SSE, f32 rows of 64 and 100 .86, .72 and .35, .35 (past the cache .63, .69 and .38, .53);
 * bf16 100 1.17 and .91, f16 1.85 and 2.79. Rows of 128, the long rows' first (Zen 5): f32 AVX-512,
 * AVX2 .23, .20 and .085, .11 (past the cache .24, .21 and .19, .17; of numbers in [0, 1) and masks
 * of them, which fall below the range, .22, .50 and .19, .35), f16 AVX-512 .19 and .10, AVX2 .20
 * and .24, f64 .20 and .13 (past the cache .35 and .36), AVX2 .22 and .22. i32 products of 100,
 * AVX-512, AVX2, SSE .54, .80, 1.39 and .44, .57, .94. */
static int is_long(const tly_problem *p, const tly_target *t)
{
    enum { LONG_OF_FOURS = 48 };
    int narrow = p->tensor[TLY_IN].dtype == TALLY_F16 || p->tensor[TLY_IN].dtype == TALLY_BF16;
    int fours = t->vector_bytes == 16 && !narrow;
    int most = narrow ? 8 : 16; /* vectors */
    if (p->rows.length > TLY_SHORT_ROW)
        return tly_multiplies_integers(p) || p->acc == TALLY_F64 ||
               p->rows.length * (int)tally_dtype_bytes((tally_dtype)p->acc) >
                   most * t->vector_bytes;
    if (p->rows.length > 0)
        return fours && p->rows.length >= LONG_OF_FOURS;
    return !p->rows.is_medium || p->acc == TALLY_F64 || fours || tly_multiplies_integers(p);
}

tly_template tly_choose_template(const tly_problem *p, const tly_target *t)
{
    if (p->form == TLY_REDUCED_ROWS)
        return TLY_TEMPLATE_REDUCE_ROWS;
    if (p->form == TLY_REDUCED_LANES)
        return tly_reduce_interleaved_limits.refuses(p) ? TLY_TEMPLATE_REDUCE_LANES
                                                        : TLY_TEMPLATE_REDUCE_INTERLEAVED;
    if (tly_are_packed(p))
        return TLY_TEMPLATE_NARROW;
    if (p->form == TLY_COLUMNS)
        return is_view(p) ? TLY_TEMPLATE_TILES : TLY_TEMPLATE_COLUMNS;
    if (p->form == TLY_TRANSPOSED)
        return p->lanes.least > 0 || p->lanes.packing ? TLY_TEMPLATE_TILES
                                                      : TLY_TEMPLATE_TRANSPOSED;
    if (p->rows.least > 0)
        return TLY_TEMPLATE_TILES;
    if (p->order == TALLY_ORDER_SERIAL)
        return TLY_TEMPLATE_SERIAL;
    if (is_long(p, t))
        return TLY_TEMPLATE_ROWS;
    return takes_chains(p, t) ? TLY_TEMPLATE_SERIAL : TLY_TEMPLATE_SHORT;
}
