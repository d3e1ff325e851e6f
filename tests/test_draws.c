/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random cases themselves, those included that no kernel exists for yet: every draw is valid;
 * the plain loop is near the wider reference, and is what a second one, written in another way,
 * says; the judge takes what another order of combination gives, and nothing that is off by a bit
 * where one value is right.
 */
#include <criterion/criterion.h>

#include <math.h>

#include "compare.h"
#include "drawn.h"

enum {
    CASES = 3000,
    LANES = 8,
    SECOND_LOOKS = 6 /* rows of a case, places of a row */
};

/* ---- what the visitor checks ---- */

static int visit(void *user, const tly_fact *f)
{
    tly_drawn *c = user;
    const char *why = tly_judge_loop(&c->d, f);
    cr_assert(why == NULL, "%s, %s data: row %d position %d is %Lg, wide %Lg, scale %Lg: %s",
              c->word, tly_data_name(c->data), (int)f->row, (int)f->position,
              (long double)f->accumulator, f->wide, f->scale, why);
    const uint32_t exact = TLY_FACT_FLOAT | TLY_FACT_ANY_ORDER | TLY_FACT_FINITE;
    if (c->operation->family <= TLY_PRODUCTS && (f->flags & exact) == exact &&
        (c->operation->lift != TLY_SQUARE || c->data == TLY_DATA_EXACT)) /* squares round alone */
        cr_assert((long double)f->sum == f->wide, "%s, %s data: %a is not exact", c->word,
                  tly_data_name(c->data), f->sum);
    if (f->row % (c->layout.rows / SECOND_LOOKS + 1) == 0) {
        if (f->position == 0)
            tly_drawn_gather(c, f->row);
        if (f->position % (c->layout.results / SECOND_LOOKS + 1) == 0)
            tly_drawn_check(c, f);
    }
    tly_bits_store(c->to, tly_drawn_origin(c->out, c->layout.out_low, c->to), f->out, f->bits);
    cr_assert_eq(c->written[f->out - c->layout.out_low]++, 0, "%s: one place twice", c->word);
    c->seen++;
    return 0;
}

static void check_shape(const tly_drawn *c)
{
    int32_t rank;
    int64_t sizes[TALLY_MAX_RANK], elements = 1;
    tally_dtype dtype;
    cr_assert_eq(tally_descriptor_result(&c->d, &rank, sizes, &dtype, NULL), TALLY_OK);
    for (int k = 0; k < rank; k++)
        elements *= sizes[k];
    cr_assert_eq(elements, c->seen, "%s: %d elements", c->word, (int)c->seen);
    cr_assert_eq(dtype, c->to, "%s", c->word);
}

/* The judge takes the loop's result; of one that is off by a bit only where several are right. */
static void check_judge(tly_drawn *c)
{
    const tly_layout *l = &c->layout;
    const void *in = tly_drawn_origin(c->in, l->in_low, c->from);
    void *out = tly_drawn_origin(c->out, l->out_low, c->to);
    tly_verdict verdict;
    int64_t first_in, first_out;
    cr_assert_eq(tly_judge(&c->d, in, out, 0, &verdict), 0, "%s: %s", c->word, verdict.reason);
    cr_assert_eq(verdict.checked, c->seen);
    if (verdict.exact != verdict.checked || !c->seen)
        return;
    tly_layout_row(l, l->rows - 1, &first_in, &first_out);
    const int64_t at = first_out + (l->results - 1) * l->out_step;
    const uint64_t bits = tly_bits_load(c->to, out, at);
    tly_bits_store(c->to, out, at, bits ^ 1);
    if (!tly_bits_are_nan(c->to, bits ^ 1) || !tly_bits_are_nan(c->to, bits)) {
        cr_assert_eq(tly_judge(&c->d, in, out, 0, &verdict), 1, "%s: a wrong bit", c->word);
        c->exact++;
    }
    tly_bits_store(c->to, out, at, bits);
}

Test(draws, the_plain_loop_and_the_wider_one, .timeout = 120)
{
    int64_t ops[TALLY_OP_COUNT] = { 0 }, dtypes[TALLY_DTYPE_COUNT] = { 0 }, exact = 0, wider = 0;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        tly_drawn c;
        tly_drawn_open(&c, seed, TLY_DRAW_ALL);
        tly_reference(&c.d, tly_drawn_origin(c.in, c.layout.in_low, c.from), visit, &c);
        check_shape(&c);
        check_judge(&c);
        ops[c.d.op]++;
        dtypes[c.d.dtype]++;
        exact += c.exact;
        wider += c.to != c.from && c.operation->family != TLY_INDICES;
        tly_drawn_close(&c);
    }
    for (int op = 1; op < TALLY_OP_COUNT; op++)
        cr_expect(!tly_is_drawn(op) || ops[op] > CASES / 40, "%s", tally_op_name((tally_op)op));
    for (int dtype = 1; dtype < TALLY_DTYPE_COUNT; dtype++)
        cr_expect_gt(dtypes[dtype], CASES / 80, "%s", tally_dtype_name((tally_dtype)dtype));
    cr_expect_gt(exact, CASES / 4);
    cr_expect_gt(wider, CASES / 40);
}

/* What is tly_drawn for kernels that exist has not changed by what else can be tly_drawn. */
Test(draws, only_what_is_asked_for)
{
    for (uint64_t seed = 0; seed < 2000; seed++) {
        tly_random r = tly_random_seed(seed, 2);
        tally_descriptor d;
        tly_random_descriptor(&r, TLY_DRAWN_MOST, &d);
        cr_assert(tally_op_is_scan((tally_op)d.op));
        cr_assert(d.out_dtype == 0 || tly_operations[d.op].family == TLY_INDICES);
        tly_random_problem(&r, TLY_DRAWN_MOST, 1u << TALLY_ARGMIN, &d);
        cr_assert_eq(d.op, TALLY_ARGMIN);
    }
}

/* ---- another order ---- */

static double rounded(int single, double x)
{
    return single ? (float)x : x;
}

static double lifted(const tly_drawn *c, int single, double x)
{
    return c->operation->lift == TLY_SQUARE     ? rounded(single, x * x)
           : c->operation->lift == TLY_ABSOLUTE ? fabs(x)
                                                : x;
}

/* Lanes side by side, and then a tree of them, as kernels combine. */
static double combine_lanes(const tly_drawn *c, int single, double *lanes)
{
    for (int half = LANES / 2; half; half /= 2)
        for (int k = 0; k < half; k++)
            lanes[k] = c->operation->family == TLY_PRODUCTS
                           ? rounded(single, lanes[k] * lanes[k + half])
                           : rounded(single, lanes[k] + lanes[k + half]);
    return lanes[0];
}

static double reduce_lanes(const tly_drawn *c, int single)
{
    const int is_product = c->operation->family == TLY_PRODUCTS;
    double lanes[LANES], top = -INFINITY;
    for (int k = 0; k < LANES; k++)
        lanes[k] = is_product ? 1 : c->operation->family == TLY_LOG_SUMS ? 0 : -0.0;
    for (int64_t k = 0; k < c->count; k++)
        top = fmax(top, tly_drawn_number(c, k));
    for (int64_t k = 0; k < c->count; k++) {
        double *lane = &lanes[k % LANES], x = lifted(c, single, tly_drawn_number(c, k));
        if (c->operation->family == TLY_LOG_SUMS)
            x = rounded(single, exp(rounded(single, x - top)));
        *lane = rounded(single, is_product ? *lane * x : *lane + x);
    }
    const double sum = combine_lanes(c, single, lanes);
    if (c->operation->family == TLY_LOG_SUMS)
        return rounded(single, top + rounded(single, log(sum)));
    switch (c->operation->projection) {
    case TLY_BY_COUNT:
        return rounded(single, sum / (double)c->count);
    case TLY_ROOT:
        return rounded(single, sqrt(sum));
    case TLY_LOGARITHM:
        return rounded(single, log(sum));
    default:
        return sum;
    }
}

/* Where no partial result of any order leaves the range. */
static int is_tame(tly_data data)
{
    return data == TLY_DATA_EXACT || data == TLY_DATA_BENIGN || data == TLY_DATA_SIGNED ||
           data == TLY_DATA_SORTED;
}

static void check_lanes(tly_drawn *c, double bend)
{
    const tly_layout *l = &c->layout;
    const int single = tly_reference_accumulator(&c->d) == TALLY_F32;
    void *out = tly_drawn_origin(c->out, l->out_low, c->to);
    int64_t in, at;
    tly_verdict verdict;
    for (int64_t row = 0; row < l->rows; row++) {
        tly_drawn_gather(c, row);
        tly_layout_row(l, row, &in, &at);
        const double y = reduce_lanes(c, single) + bend;
        tly_bits_store(c->to, out, at,
                       tly_is_float(c->to) ? tly_encode(c->to, y) : tly_integer_saturate(c->to, y));
    }
    const int64_t wrong = tly_judge(&c->d, tly_drawn_origin(c->in, l->in_low, c->from), out, 0,
                                    &verdict);
    if (bend == 0)
        cr_assert_eq(wrong, 0, "%s, %s data: %s: %g, wide %Lg", c->word, tly_data_name(c->data),
                     verdict.reason, tly_decode(c->to, verdict.got), verdict.first.wide);
    else
        cr_assert_eq(wrong, l->rows, "%s: off by %g", c->word, bend);
}

Test(draws, other_orders_are_right, .timeout = 120)
{
    uint32_t sums = 0;
    int judged = 0;
    for (int op = 1; op < TALLY_OP_COUNT; op++)
        sums |= !tally_op_is_scan((tally_op)op) && tly_operations[op].family < TLY_PICKS ? 1u << op
                                                                                         : 0;
    for (uint64_t seed = 0; seed < CASES; seed++) {
        tly_drawn c;
        tly_drawn_open(&c, seed, sums | TLY_DRAW_WIDER);
        const int is_log = c.operation->family == TLY_LOG_SUMS;
        if (c.d.order == TALLY_ORDER_RUN && is_tame(c.data) && c.layout.length > 0 &&
            (tly_is_float(c.to) || (is_log && c.data == TLY_DATA_EXACT))) {
            check_lanes(&c, 0);
            judged += c.layout.rows > 0;
            if (tly_is_float(c.to) && c.layout.rows && c.data == TLY_DATA_BENIGN && !is_log)
                check_lanes(&c, c.layout.length * 64.0);
        }
        tly_drawn_close(&c);
    }
    cr_expect_gt(judged, CASES / 8);
}
