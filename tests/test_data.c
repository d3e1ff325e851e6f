/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command's table of operators has a row for each, and what it says of how they combine is what
 * the reference does. What `tally bench --data` fills its input with: each kind's range, mean and
 * rare values, in every floating dtype; safe data, multiplied and added in the orders that kernels
 * have, stay in range.
 */
#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/common/about.h"
#include "../tools/files/data.h"
#include "reference.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { ELEMENTS = 200000 };

Test(data, every_operator_has_its_sentence)
{
    static const tly_combines families[TLY_FAMILY_COUNT] = {
        [TLY_SUMS] = TLY_ADDS,
        [TLY_PRODUCTS] = TLY_MULTIPLIES,
        [TLY_LOG_SUMS] = TLY_ADDS_EXPONENTIALS,
        [TLY_RECURRENCES] = TLY_ADDS,
        [TLY_PICKS] = TLY_COMPARES,
        [TLY_INDICES] = TLY_FINDS,
    };
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        const tly_about *about = tly_about_op(op);
        const char *name = tally_op_name((tally_op)op);
        cr_expect(about->results != NULL && *about->results,
                  "tools/common/about.c does not say what %s computes", name);
        cr_expect(about->operation != NULL && *about->operation,
                  "tools/common/about.c does not say how %s combines two elements", name);
        cr_expect(about->combines == families[tly_operations[op].family],
                  "tools/common/about.c: how %s combines", name);
    }
}

static void ignore(uint64_t done)
{
    (void)done;
}

static tally_descriptor parse(const char *word)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK);
    return d;
}

static void fill(const char *kind, const tally_descriptor *d, double *values)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    void *raw = malloc(ELEMENTS * tally_dtype_bytes(dtype));
    cr_assert_not_null(raw);
    tly_kind_fill(tly_kind_find(kind), d, 1, raw, ELEMENTS, ignore);
    for (int64_t i = 0; i < ELEMENTS; i++) {
        values[i] = tly_decode(dtype, tly_bits_load(dtype, raw, i));
    }
    free(raw);
}

/* In thousands: how many are zero or no finite number; the mean is that of the others. */
typedef struct law {
    const char *kind;
    double low, high, mean, zeros, specials;
} law;

static const law laws[] = {
    { "safe", -1, 1, 0, 1000 / 255., 0 }, { "near1", 0.99, 1.01, 1, 0, 0 },
    { "survival", 0.95, 1, 0.975, 0, 0 }, { "around1", 0.5, 1.5, 1, 0, 0 },
    { "uniform", 0, 1, 0.5, 0, 0 },       { "growing", 1, 2, 1.5, 0, 0 },
    { "normal", -7, 7, 0, 0, 0 },         { "mask", 0, 1, (0.3 + 0.68 * 0.5) / 0.98, 20, 0 },
    { "zeros", 0, 1.01, 1, 1, 0 },        { "specials", 0.99, 1.01, 1, 0, 1 },
    { "equal", 1, 1, 1, 0, 0 },           { "ascending", 0.5, 1.5, 1, 0, 0 },
    { "descending", 0.5, 1.5, 1, 0, 0 },
};

static void check_law(const law *l, tally_dtype dtype, const double *values)
{
    const double ulp = ldexp(1, 1 - tly_precision(dtype));
    double sum = 0, zeros = 0, specials = 0;
    for (int i = 0; i < ELEMENTS; i++) {
        const double x = values[i];
        zeros += x == 0;
        specials += !isfinite(x);
        if (x != 0 && isfinite(x)) {
            sum += x;
            cr_assert(x >= l->low - ulp && x <= l->high + ulp, "%s: %g", l->kind, x);
        }
    }
    const double mean = sum / (ELEMENTS - zeros - specials);
    const double each = 1000. / ELEMENTS;
    cr_expect(fabs(mean - l->mean) < 0.01 + ulp, "%s: mean %g", l->kind, mean);
    cr_expect(fabs(zeros * each - l->zeros) < 0.3 + l->zeros / 10, "%s: %g zeros", l->kind, zeros);
    cr_expect(fabs(specials * each - l->specials) < 0.3, "%s: %g specials", l->kind, specials);
}

Test(data, laws)
{
    static const char *const words[] = { "cumsum:f64:200000:axis=0", "cumsum:f32:200000:axis=0",
                                         "cumsum:f16:200000:axis=0", "cumsum:bf16:200000:axis=0" };
    static double values[ELEMENTS], again[ELEMENTS];
    for (size_t w = 0; w < COUNT(words); w++) {
        const tally_descriptor d = parse(words[w]);
        for (size_t k = 0; k < COUNT(laws); k++) {
            fill(laws[k].kind, &d, values);
            check_law(&laws[k], (tally_dtype)d.dtype, values);
            fill(laws[k].kind, &d, again);
            cr_expect_arr_eq(values, again, sizeof values, "%s is not reproducible", laws[k].kind);
        }
    }
}

/* The deviation, and that neighbours have nothing to do with each other, pairs included. */
Test(data, normal)
{
    static double values[ELEMENTS];
    double square = 0, lag = 0;
    const tally_descriptor d = parse("cumsum:f64:200000:axis=0");
    fill("normal", &d, values);
    for (int i = 1; i < ELEMENTS; i++) {
        square += values[i] * values[i];
        lag += values[i] * values[i - 1];
    }
    cr_expect(fabs(square / ELEMENTS - 1) < 0.02, "%g", square / ELEMENTS);
    cr_expect(fabs(lag / ELEMENTS) < 0.02, "%g", lag / ELEMENTS);
}

Test(data, safe_stays_in_range)
{
    static double values[ELEMENTS];
    static const char *const words[] = { "cumprod:f16:200000:axis=0", "cumprod:f64:200000:axis=0" };
    for (size_t w = 0; w < COUNT(words); w++) {
        const tally_descriptor d = parse(words[w]);
        fill("safe", &d, values);
        for (int start = 0; start < ELEMENTS; start += 4999) {
            double product = 1;
            for (int i = start; i < ELEMENTS; i++) {
                product *= values[i];
                cr_assert(fabs(product) <= 64 && fabs(product) >= 1. / 64, "%d to %d", start, i);
            }
        }
    }
}

Test(data, ordered)
{
    static double values[ELEMENTS];
    static const char *const kinds[] = { "ascending", "descending" };
    const tally_descriptor d = parse("cumsum:f64:200000:axis=0");
    for (int k = 0; k < 2; k++) {
        fill(kinds[k], &d, values);
        for (int i = 1; i < ELEMENTS; i++) {
            cr_assert(k ? values[i] < values[i - 1] : values[i] > values[i - 1]);
        }
    }
}

/* Every bit of every width is one half of the time. */
Test(data, integers)
{
    static const char *const words[] = { "cumsum:i64:4096:axis=0", "cumprod:u32:4096:axis=0",
                                         "cumsum:i16>i64:4096:axis=0",
                                         "cumsum:u8>u64:4096:axis=0" };
    uint64_t raw[4096];
    for (size_t w = 0; w < COUNT(words); w++) {
        const tally_descriptor d = parse(words[w]);
        const tally_dtype dtype = (tally_dtype)d.dtype;
        tly_kind_fill(tly_kind_find("zeros"), &d, 1, raw, 4096, ignore);
        for (size_t bit = 0; bit < 8 * tally_dtype_bytes(dtype); bit++) {
            int ones = 0;
            for (int i = 0; i < 4096; i++) {
                ones += (int)(tly_bits_load(dtype, raw, i) >> bit & 1);
            }
            cr_expect(abs(ones - 2048) < 200, "%s: bit %zu is set %d times", words[w], bit, ones);
        }
    }
    const tally_descriptor truth = parse("cumsum:bool>i64:4096:axis=0");
    tly_kind_fill(tly_kind_find("safe"), &truth, 1, raw, 4096, ignore);
    for (int i = 0; i < 4096; i++) {
        cr_expect_leq(((unsigned char *)raw)[i], 1);
    }
}

Test(data, names)
{
    char list[256];
    tly_kind_list(list, sizeof list);
    for (size_t k = 0; k < COUNT(laws); k++) {
        const tly_kind *kind = tly_kind_find(laws[k].kind);
        cr_assert_not_null(kind);
        cr_expect_str_eq(tly_kind_name(kind), laws[k].kind);
        cr_expect_not_null(strstr(list, laws[k].kind));
    }
    cr_expect_null(tly_kind_find("nonsense"));
    cr_expect_str_eq(tly_kind_name(tly_kind_find(NULL)), "safe");
}
