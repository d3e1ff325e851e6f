/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stages that templates are built of, each as a small kernel of its own through the
 * interpreter: conversions over every narrow value and every rounding border, lane movements,
 * transposes, the range guard's verdicts. Whole templates are judged by the differential driver.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "../runtime/problem/abi.h"
#include "../templates/stages/elementwise.h"
#include "../templates/template.h"

static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64" };
enum { LEVELS = sizeof levels / sizeof *levels };

static tly_problem problem(tally_op op, tally_dtype dtype, tally_dtype acc)
{
    return (tly_problem){ .op = op,
                          .acc = acc,
                          .form = TLY_ROWS,
                          .rows = { .contiguous = 1 },
                          .interleave = 1,
                          .tensor = { [TLY_IN] = { .dtype = (uint8_t)dtype, .step = 1 },
                                      [TLY_OUT] = { .dtype = (uint8_t)dtype, .step = 1 } } };
}

static tly_build begin(const tly_problem *p, const char *level, unsigned lanes)
{
    static tly_plan none;
    tly_build c = {
        .b = kir_begin("stage"), .p = p, .t = tly_target_find(level), .plan = &none, .lanes = lanes
    };
    c.element = tly_element_dtype(p);
    c.element_bytes = (unsigned)tally_dtype_bytes(c.element);
    c.acc = tly_storage((tally_dtype)p->acc, 1);
    c.vec = tly_storage((tally_dtype)p->acc, lanes);
    c.acc_bytes = (unsigned)tally_dtype_bytes((tally_dtype)p->acc);
    c.bytes[TLY_IN] = c.bytes[TLY_OUT] = (unsigned)tly_element_bytes(p, TLY_IN);
    return c;
}

static int64_t run(tly_build *c, kir_value result, const void *in, void *out)
{
    kir_kernel *k = NULL;
    tally_error e = TALLY_ERROR_INIT;
    tly_args args = { .tensor[TLY_IN].base = (char *)in, .tensor[TLY_OUT].base = out };
    tly_task task = { .end = 1 };
    int64_t value = -1;
    kir_return(c->b, result ? result : kir_int(c->b, 0));
    cr_assert_eq(kir_finish(c->b, &k, &e), TALLY_OK, "%s", e.message);
    cr_assert_eq(kir_interpret(k, &args, &task, NULL, &value, &e), TALLY_OK, "%s", e.message);
    kir_free(k);
    return value;
}

/* Converts `count` elements in one kernel: widen from dtype to acc, or narrow back. */
static void convert_all(const char *level, tally_dtype dtype, tally_dtype acc, int narrow,
                        const void *in, void *out, int64_t count)
{
    tly_problem p = problem(TALLY_CUMSUM, dtype, acc);
    tly_build c = begin(&p, level, 4);
    kir_loop l;
    kir_for(c.b, &l, imm(&c, 0), imm(&c, count), imm(&c, 4), 0, NULL);
    kir_value from = tly_at(&c, kir_get(c.b, KIR_ARG_IN), l.i,
                            narrow ? c.acc_bytes : c.bytes[TLY_IN]);
    kir_value to = tly_at(&c, kir_get(c.b, KIR_ARG_OUT), l.i,
                          narrow ? c.bytes[TLY_IN] : c.acc_bytes);
    if (narrow)
        tly_store(&c, to, 0, kir_load(c.b, c.vec, from, 0, 4), 1, 0);
    else
        kir_store(c.b, to, 0, tly_load(&c, from, 0, 4), 4, 0);
    kir_for_end(c.b, &l, NULL);
    run(&c, 0, in, out);
}

static double value_of(tally_dtype dtype, uint16_t bits)
{
    int exponent_bits = dtype == TALLY_F16 ? 5 : 8, mantissa = 15 - exponent_bits;
    int bias = (1 << (exponent_bits - 1)) - 1, e = bits >> mantissa & ((1 << exponent_bits) - 1);
    int m = bits & ((1 << mantissa) - 1);
    double magnitude = e == (1 << exponent_bits) - 1 ? (m ? NAN : INFINITY)
                       : e == 0                      ? ldexp(m, 1 - bias - mantissa)
                                : ldexp(m + (1 << mantissa), e - bias - mantissa);
    return bits >> 15 ? -magnitude : magnitude;
}

static const tally_dtype narrow_types[] = { TALLY_F16, TALLY_BF16 };
static uint16_t every[65536], back[65536];
static float singles[65536];
static double doubles[65536];

Test(templates, widens_every_narrow_value)
{
    for (int i = 0; i < 65536; i++)
        every[i] = (uint16_t)i;
    for (int l = 0; l < LEVELS; l++)
        for (int t = 0; t < 2; t++) {
            convert_all(levels[l], narrow_types[t], TALLY_F32, 0, every, singles, 65536);
            convert_all(levels[l], narrow_types[t], TALLY_F64, 0, every, doubles, 65536);
            for (int i = 0; i < 65536; i++) {
                double want = value_of(narrow_types[t], every[i]);
                if (isnan(want)) {
                    cr_assert(isnan(singles[i]) && isnan(doubles[i]), "%s %04x", levels[l], i);
                    continue;
                }
                cr_assert(singles[i] == want && doubles[i] == want, "%s %04x: %a", levels[l], i,
                          doubles[i]);
                cr_assert_eq(!signbit(singles[i]), !signbit(want));
            }
        }
}

/* Each narrow value comes back; halfway between neighbours goes to the even one, and the next
 * wide number on either side to the nearer one. */
static void check_borders(const char *level, tally_dtype dtype, tally_dtype acc)
{
    int top = dtype == TALLY_F16 ? 0x7c00 : 0x7f80; /* infinity */
    for (int side = -1; side <= 1; side++) {
        for (int i = 0; i < 65536; i++) {
            int magnitude = i & 0x7fff;
            double low = value_of(dtype, (uint16_t)magnitude), high, middle;
            if (magnitude >= top) {
                doubles[i] = value_of(dtype, (uint16_t)i);
                singles[i] = (float)doubles[i];
                continue;
            }
            high = magnitude + 1 == top ? 2 * low - value_of(dtype, (uint16_t)(magnitude - 1))
                                        : value_of(dtype, (uint16_t)(magnitude + 1));
            middle = (low + high) / 2;
            if (i & 0x8000)
                middle = -middle;
            singles[i] = side == 0 ? (float)middle
                                   : nextafterf((float)middle,
                                                side * (i & 0x8000 ? -INFINITY : INFINITY));
            doubles[i] = side == 0 ? middle
                                   : nextafter(middle, side * (i & 0x8000 ? -INFINITY : INFINITY));
        }
        convert_all(level, dtype, acc, 1, acc == TALLY_F64 ? (void *)doubles : (void *)singles,
                    back, 65536);
        for (int i = 0; i < 65536; i++) {
            int magnitude = i & 0x7fff, want = i;
            if (magnitude > top) {
                cr_assert((back[i] & 0x7fff) > top, "%s: NaN %04x became %04x", level, i, back[i]);
                continue;
            }
            if (magnitude < top && (side > 0 || (side == 0 && (magnitude & 1))))
                want = i + 1;
            cr_assert_eq(back[i], want, "%s %s %04x side %d: %04x, not %04x", level,
                         tally_dtype_name(dtype), i, side, back[i], want);
        }
    }
}

Test(templates, narrows_to_nearest_even)
{
    for (int l = 0; l < LEVELS; l++)
        for (int t = 0; t < 2; t++) {
            check_borders(levels[l], narrow_types[t], TALLY_F32);
            check_borders(levels[l], narrow_types[t], TALLY_F64);
        }
}

Test(templates, moves_lanes)
{
    static const tally_dtype types[] = { TALLY_I32, TALLY_I64 };
    for (int t = 0; t < 2; t++)
        for (unsigned n = 2; n <= 16; n *= 2) {
            tly_problem p = problem(TALLY_CUMSUM, types[t], types[t]);
            tly_build c = begin(&p, "x86-64-v3", n);
            int64_t bytes = (int64_t)n * c.acc_bytes;
            unsigned char in[2 * 16 * 8], out[4 * 16 * 8] = { 0 };
            for (unsigned i = 0; i < 2 * n; i++)
                memcpy(in + i * c.acc_bytes, &(int64_t){ i }, c.acc_bytes);
            kir_value from = kir_get(c.b, KIR_ARG_IN), to = kir_get(c.b, KIR_ARG_OUT);
            kir_value x = kir_load(c.b, c.vec, from, 0, 1),
                      y = kir_load(c.b, c.vec, from, bytes, 1);
            kir_store(c.b, to, 0, tly_shift(&c, x, y, n / 2), 1, 0);
            kir_store(c.b, to, bytes, tly_reverse(&c, y), 1, 0);
            kir_store(c.b, to, 2 * bytes, tly_vector_scan(&c, y, 1, c.lanes), 1, 0);
            kir_store(c.b, to, 3 * bytes, tly_last(&c, y), 1, 0);
            run(&c, 0, in, out);
            for (unsigned i = 0; i < 3 * n + 1; i++) {
                int64_t got = 0, k = i % n, last = 2 * n - 1, sum = 0;
                memcpy(&got, out + i * p.interleave * tally_dtype_bytes(types[t]),
                       tally_dtype_bytes(types[t]));
                for (int64_t j = 0; j <= k; j++)
                    sum += n + j;
                int64_t want[4] = { n - n / 2 + k, last - k, sum, last };
                cr_assert_eq(got, want[i / n], "n %u, lane %u: %ld", n, i, (long)got);
            }
        }
}

/* A vector by itself: interleaved scans, rows side by side, what comes before, what comes next. */
Test(templates, scans_a_vector)
{
    static const struct {
        unsigned unit, length; /* length 0: all lanes */
    } table[] = { { 1, 0 }, { 2, 0 }, { 3, 0 }, { 5, 0 }, { 7, 0 }, { 1, 4 }, { 1, 2 }, { 1, 3 } };
    for (size_t t = 0; t < sizeof table / sizeof *table; t++)
        for (unsigned n = 4; n <= 16; n *= 2) {
            const unsigned unit = table[t].unit, length = table[t].length ? table[t].length : n;
            if (unit >= n)
                continue;
            tly_problem p = problem(TALLY_CUMSUM, TALLY_I32, TALLY_I32);
            tly_build c = begin(&p, "x86-64-v4", n);
            int32_t in[2 * 16], out[3 * 16] = { 0 };
            for (unsigned i = 0; i < 2 * n; i++)
                in[i] = (int32_t)(1u << i % 16);
            kir_value from = kir_get(c.b, KIR_ARG_IN), to = kir_get(c.b, KIR_ARG_OUT);
            kir_value x = kir_load(c.b, c.vec, from, 0, 1);
            kir_value y = kir_load(c.b, c.vec, from, 4 * n, 1);
            kir_store(c.b, to, 0, tly_vector_scan(&c, x, unit, length), 1, 0);
            kir_store(c.b, to, 4 * n, tly_vector_before(&c, y, x, unit, length), 1, 0);
            kir_store(c.b, to, 8 * n, tly_vector_newest(&c, x, unit), 1, 0);
            run(&c, 0, (unsigned char *)in, (unsigned char *)out);
            for (unsigned i = 0; i < n; i++) {
                int32_t sum = 0;
                for (unsigned back = 0; back <= i % length; back += unit)
                    sum += in[i - back];
                unsigned next = n + i;
                while (next >= n)
                    next -= unit;
                cr_expect_eq(out[i], sum, "unit %u, length %u of %u, lane %u", unit, length, n, i);
                cr_expect_eq(out[n + i], i % length < unit ? in[n + i] : in[i - unit]);
                cr_expect_eq(out[2 * n + i], in[next]);
            }
        }
}

Test(templates, transposes)
{
    static const struct {
        tally_dtype type;
        unsigned n;
    } table[] = {
        { TALLY_I32, 4 }, { TALLY_I32, 8 }, { TALLY_I32, 16 },
        { TALLY_I64, 2 }, { TALLY_I64, 4 }, { TALLY_I64, 8 },
    };
    for (size_t t = 0; t < sizeof table / sizeof *table; t++) {
        unsigned n = table[t].n, bytes = (unsigned)tally_dtype_bytes(table[t].type);
        unsigned char in[16 * 16 * 8], out[16 * 16 * 8];
        tly_problem p = problem(TALLY_CUMSUM, table[t].type, table[t].type);
        tly_build c = begin(&p, "x86-64-v4", n);
        kir_value r[16];
        for (unsigned i = 0; i < n * n; i++)
            memcpy(in + i * bytes, &(int64_t){ i }, bytes);
        for (unsigned i = 0; i < n; i++)
            r[i] = kir_load(c.b, c.vec, kir_get(c.b, KIR_ARG_IN), (int64_t)i * n * bytes, 1);
        tly_transpose(&c, r, n);
        for (unsigned i = 0; i < n; i++)
            kir_store(c.b, kir_get(c.b, KIR_ARG_OUT), (int64_t)i * n * bytes, r[i], 1, 0);
        run(&c, 0, in, out);
        for (unsigned i = 0; i < n * n; i++) {
            int64_t got = 0;
            memcpy(&got, out + i * bytes, bytes);
            cr_assert_eq(got, i % n * n + i / n, "n %u, element %u: %ld", n, i, (long)got);
        }
    }
}

/* The guard's verdict on four local results after a carry. */
static int good(tally_op op, tally_dtype acc, const double *y, double carry)
{
    tly_problem p = problem(op, acc, acc);
    tly_build c = begin(&p, "x86-64-v3", 4);
    float narrow[5];
    double wide[5];
    for (int i = 0; i < 5; i++) {
        wide[i] = i < 4 ? y[i] : carry;
        narrow[i] = (float)wide[i];
    }
    kir_value v[2] = { 0 }, s[2] = { 0 }, in = kir_get(c.b, KIR_ARG_IN);
    tly_range_begin(&c, v);
    tly_range_track(&c, v, kir_load(c.b, c.vec, in, 0, 4));
    tly_range_fold(&c, v, s);
    kir_value verdict = tly_range_is_safe(&c, s, kir_load(c.b, c.acc, in, 4 * c.acc_bytes, 4));
    kir_value bit = kir_convert(c.b, KIR_ZEXT, KIR_TYPE(KIR_I64, 1), verdict);
    return (int)run(&c, bit, acc == TALLY_F64 ? (void *)wide : (void *)narrow, NULL);
}

Test(templates, guards_the_range)
{
    static const struct {
        tally_op op;
        double y[4], carry;
        int good;
    } table[] = {
        { TALLY_CUMPROD, { 1, -2, 0.5, 3 }, 1, 1 },
        { TALLY_CUMPROD, { 1, 0x1p59, 1, 1 }, 1, 1 },
        { TALLY_CUMPROD, { 1, 0x1p61, 1, 1 }, 1, 0 },
        { TALLY_CUMPROD, { 1, -0x1p-59, 1, 1 }, 1, 1 },
        { TALLY_CUMPROD, { 1, 0x1p-61, 1, 1 }, 1, 0 },
        { TALLY_CUMPROD, { 1, 0, 1, 1 }, 1, 0 },
        { TALLY_CUMPROD, { 1, 0, 1, 1 }, 0, 1 },
        { TALLY_CUMPROD, { 1, -0.0, 1, 1 }, -0.0, 1 },
        { TALLY_CUMPROD, { INFINITY, 1, 1, 1 }, 0, 0 },
        { TALLY_CUMPROD, { NAN, 1, 1, 1 }, 1, 0 },
        { TALLY_CUMPROD, { 1, 1, 1, NAN }, 0, 0 },
        { TALLY_CUMPROD, { 1, 1, 0x1p40, 1 }, 0x1p80, 1 },
        { TALLY_CUMPROD, { 1, 1, 0x1p50, 1 }, 0x1p80, 0 },
        { TALLY_CUMPROD, { 1, 0x1p-40, 1, 1 }, 0x1p-80, 1 },
        { TALLY_CUMPROD, { 1, 0x1p-50, 1, 1 }, 0x1p-80, 0 },
        { TALLY_CUMSUM, { 1, -2, 0, 3 }, 0, 1 },
        { TALLY_CUMSUM, { 1, 0x1p126, 0, 3 }, 0, 0 },
        { TALLY_CUMSUM, { 1, -0x1p124, 0, 3 }, 0x1p124, 1 },
        { TALLY_CUMSUM, { 1, 2, 0, 3 }, 0x1p126, 0 },
        { TALLY_CUMSUM, { 1, 2, 0, 3 }, INFINITY, 1 },
        { TALLY_CUMSUM, { 1, NAN, 0, 3 }, 0, 0 },
        { TALLY_CUMSUM, { 1, 2, 0, -INFINITY }, 0, 0 },
        { TALLY_CUMSUM, { 1, 2, 0, 3 }, NAN, 1 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        cr_expect_eq(good(table[i].op, TALLY_F32, table[i].y, table[i].carry), table[i].good,
                     "row %zu", i);
    cr_expect_eq(good(TALLY_CUMPROD, TALLY_F64, (double[]){ 1, 0x1p400, 0x1p-400, -1 }, 1), 1);
    cr_expect_eq(good(TALLY_CUMPROD, TALLY_F64, (double[]){ 1, 0x1p501, 0x1p-400, -1 }, 1), 0);
    cr_expect_eq(good(TALLY_CUMPROD, TALLY_F64, (double[]){ 1, 1, 0x1p-501, -1 }, 1), 0);
    cr_expect_eq(good(TALLY_CUMSUM, TALLY_F64, (double[]){ 1, 1, 0x1p1023, -1 }, 1), 0);
}

/* ---- element-wise stages, by their names ---- */

/* Four elements, f32, through a list; or four of i64, of which a double each comes out where
 * they are cast. `count`: how many there were, of which the mean is taken. */
static void stage(unsigned stages, tally_dtype acc, const void *in, void *out)
{
    tly_problem p = problem(TALLY_SUM, acc, acc);
    tly_build c = begin(&p, "x86-64-v3", 4);
    const int floating = tly_is_floating(&c);
    c.count = imm(&c, 4);
    c.real_count = floating ? kir_const(c.b, c.acc,
                                        acc == TALLY_F32 ? 0x40800000 : UINT64_C(0x401) << 52)
                            : 0;
    kir_value x = kir_load(c.b, c.vec, kir_get(c.b, KIR_ARG_IN), 0, 1);
    kir_store(c.b, kir_get(c.b, KIR_ARG_OUT), 0, tly_through(&c, stages, x), 1, 0);
    run(&c, 0, in, out);
}

static uint8_t stage_of(const char *name)
{
    for (uint8_t i = 1; i < TLY_STAGE_COUNT; i++)
        if (!strcmp(tly_stages[i].name, name))
            return i;
    cr_assert(0, "%s", name);
    return 0;
}

Test(templates, elements_go_through_stages)
{
    static const float in[4] = { -4, -0.0f, .25f, 9 };
    static const struct {
        const char *name;
        float out[4];
    } cases[] = { { "abs", { 4, 0, .25f, 9 } },
                  { "square", { 16, 0, .0625f, 81 } },
                  { "exp", { 0x1.2c155cp-6f, 1, 0x1.48b5e4p+0f, 0x1.fa7158p+12f } },
                  { "log", { NAN, -INFINITY, -0x1.62e430p+0f, 0x1.193ea8p+1f } },
                  { "sqrt", { NAN, -0.0f, .5f, 3 } },
                  { "scale", { -1, -0.0f, .0625f, 2.25f } },
                  { "cast", { -4, -0.0f, .25f, 9 } } };
    cr_expect_eq(sizeof cases / sizeof *cases, TLY_STAGE_COUNT - 1);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        float out[4];
        stage(stage_of(cases[k].name), TALLY_F32, in, out);
        for (int i = 0; i < 4; i++) {
            const float y = cases[k].out[i];
            cr_expect(isnan(y) ? isnan(out[i]) != 0 : !memcmp(&y, &out[i], 4),
                      "%s of %g: %a, not %a", cases[k].name, (double)in[i], (double)out[i],
                      (double)y);
        }
    }
}

Test(templates, integers_go_through_stages)
{
    static const int64_t in[4] = { -9, 0, 7, 16 }, halved[4] = { -2, 0, 1, 4 };
    static const double roots[4] = { 9, 0, 7, 16 };
    const unsigned roots_of_squares = TLY_STAGES(stage_of("square"),
                                                 TLY_STAGES(stage_of("cast"), stage_of("sqrt")));
    int64_t out[4];
    stage(roots_of_squares, TALLY_I64, in, out);
    cr_expect_arr_eq(out, roots, sizeof roots);
    stage(stage_of("scale"), TALLY_I64, in, out);
    cr_expect_arr_eq(out, halved, sizeof halved);
}
