/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: nothing of reference.c is used but how elements are stored. */
#include "drawn.h"

#include <criterion/criterion.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

/* Holds every sum of 64-bit integers here. */
__extension__ typedef __int128 integer;

void *tly_drawn_origin(char *low, int64_t index, tally_dtype dtype)
{
    return (void *)((uintptr_t)low - (uintptr_t)index * tally_dtype_bytes(dtype));
}

void tly_drawn_open(tly_drawn *c, uint64_t seed, uint32_t draws)
{
    tly_random r = tly_random_seed(seed, 1);
    tally_error e = TALLY_ERROR_INIT;
    memset(c, 0, sizeof *c);
    tly_random_problem(&r, TLY_DRAWN_MOST, draws, &c->d);
    cr_assert_eq(tally_descriptor_print(&c->d, c->word, sizeof c->word, NULL, &e), TALLY_OK,
                 "case %d: %s: %s", (int)seed, e.field, e.message);
    c->operation = &tly_operations[c->d.op];
    c->from = (tally_dtype)c->d.dtype;
    c->to = tly_reference_output(&c->d);
    tly_layout_of(&c->d, &c->layout);
    const tly_layout *l = &c->layout;
    const int64_t from = (int64_t)tally_dtype_bytes(c->from);
    const int64_t to = (int64_t)tally_dtype_bytes(c->to);
    tally_extent in, out;
    /* What the library says of it; here no elements are a high below the low. */
    cr_assert_eq(tally_descriptor_extent(&c->d, &in, &out, &e), TALLY_OK, "%s", c->word);
    cr_assert(in.end - in.low == (l->in_high - l->in_low + 1) * from &&
                  (in.end == in.low || in.low == l->in_low * from),
              "%s: in", c->word);
    cr_assert(out.end - out.low == (l->out_high - l->out_low + 1) * to &&
                  (out.end == out.low || out.low == l->out_low * to),
              "%s: out", c->word);
    const size_t in_count = (size_t)(l->in_high - l->in_low + 1);
    const size_t out_count = (size_t)(l->out_high - l->out_low + 1);
    c->in = malloc(in_count * 8 + 8);
    c->out = calloc(out_count + 1, 8);
    c->written = calloc(out_count + 1, 1);
    c->elements = malloc((size_t)(l->length + 1) * sizeof c->elements[0]);
    cr_assert(c->in && c->out && c->written && c->elements);
    memset(c->in, 0xff, in_count * 8 + 8);
    c->data = tly_random_data(&r, &c->d);
    tly_random_fill(&r, &c->d, c->data, tly_drawn_origin(c->in, l->in_low, c->from));
}

void tly_drawn_close(tly_drawn *c)
{
    free(c->in);
    free(c->out);
    free(c->written);
    free(c->elements);
}

/* ---- the same by other means ---- */

/* Which elements a result is made of: walks the whole input in row-major order and takes those
 * whose other coordinates are the row's. */
void tly_drawn_gather(tly_drawn *c, int64_t row)
{
    const tally_descriptor *d = &c->d;
    const int is_scan = tally_op_is_scan((tally_op)d->op);
    const uint32_t every = (1u << d->rank) - 1;
    const uint32_t folded = is_scan ? 1u << d->axis : d->axes_given ? d->axes : every;
    int64_t at[TALLY_MAX_RANK] = { 0 }, total = 1, packed = 1, steps[TALLY_MAX_RANK] = { 0 };
    for (int k = d->rank - 1; k >= 0; k--) {
        steps[k] = d->flags & TALLY_IN_STRIDES ? d->in_strides[k] : packed;
        packed *= d->sizes[k] ? d->sizes[k] : 1;
        total *= d->sizes[k];
    }
    const int64_t first = (d->flags & TALLY_IN_STRIDES ? d->in_offset : 0) - c->layout.in_low;
    c->count = 0;
    for (int64_t n = 0; n < total; n++) {
        int64_t other = 0, index = first;
        for (int k = 0; k < d->rank; k++) {
            index += at[k] * steps[k];
            other = folded >> k & 1 ? other : other * d->sizes[k] + at[k];
        }
        if (other == row)
            c->elements[c->count++] = tly_bits_load(c->from, c->in, index);
        for (int k = d->rank - 1; k >= 0 && ++at[k] == d->sizes[k]; k--)
            at[k] = 0;
    }
    for (int64_t k = 0; d->flags & TALLY_REVERSE && k < c->count / 2; k++) {
        const uint64_t last = c->elements[c->count - 1 - k];
        c->elements[c->count - 1 - k] = c->elements[k];
        c->elements[k] = last;
    }
}

static integer whole(const tly_drawn *c, int64_t k)
{
    const uint64_t x = tly_integer_widen(c->from, c->elements[k]);
    return tly_is_signed(c->from) ? (integer)(int64_t)x : (integer)x;
}

/* Exact numbers, cut at the end. Products are cut at 64 bits on their way. */
static uint64_t count_integers(const tly_drawn *c, int64_t n)
{
    integer sum = c->operation->family == TLY_PRODUCTS;
    for (int64_t k = n - 1; k >= 0; k--) {
        const integer x = whole(c, k);
        if (c->operation->family == TLY_PRODUCTS)
            sum = (integer)((uint64_t)sum * (uint64_t)x);
        else
            sum += c->operation->lift == TLY_SQUARE ? (integer)((uint64_t)x * (uint64_t)x)
                   : c->operation->lift == TLY_ABSOLUTE && x < 0 ? -x
                                                                 : x;
    }
    if (tly_is_float(c->to))
        return tly_encode(c->to, (double)sum / (double)n);
    if (c->operation->projection == TLY_BY_COUNT)
        return tly_integer_cut(c->to, n == 0 ? 0 : (uint64_t)(sum / n));
    return tly_integer_cut(c->to, (uint64_t)sum);
}

double tly_drawn_number(const tly_drawn *c, int64_t k)
{
    return tly_is_float(c->from) ? tly_decode(c->from, c->elements[k]) : (double)whole(c, k);
}

static int is_nan_at(const tly_drawn *c, int64_t k)
{
    return tly_bits_are_nan(c->from, c->elements[k]);
}

/* 1 where element a beats b, no NaN among them. */
static int beats(const tly_drawn *c, int64_t a, int64_t b)
{
    if (!tly_is_float(c->from))
        return c->operation->sense > 0 ? whole(c, a) > whole(c, b) : whole(c, a) < whole(c, b);
    const double x = tly_drawn_number(c, a), y = tly_drawn_number(c, b);
    if (x == 0 && y == 0 && c->operation->family == TLY_PICKS)
        return c->operation->sense > 0 ? signbit(x) < signbit(y) : signbit(x) > signbit(y);
    return c->operation->sense > 0 ? x > y : x < y;
}

/* The place of the element that wins among the first n: NaN first where it counts, then the best,
 * then all that tie with it. -1: none. */
static int64_t find_winner(const tly_drawn *c, int64_t n)
{
    const int ignores = (c->d.flags & TALLY_NAN_IGNORE) != 0, last = (c->d.flags & TALLY_LAST) != 0;
    int64_t best = -1, found = -1;
    int nans = 0;
    for (int64_t k = 0; k < n; k++)
        nans += is_nan_at(c, k);
    const int wants_nan = nans && (!ignores || nans == n);
    for (int64_t k = 0; k < n; k++)
        if (!wants_nan && !is_nan_at(c, k) && (best < 0 || beats(c, k, best)))
            best = k;
    for (int64_t k = 0; k < n && (last || found < 0); k++)
        if (wants_nan ? is_nan_at(c, k)
                      : !is_nan_at(c, k) && !beats(c, best, k) && !beats(c, k, best))
            found = k;
    return found;
}

/* Sums from the far end, log sums in two passes, all in long double. */
static long double add_up(const tly_drawn *c, int64_t n)
{
    long double sum = 0, top = -INFINITY;
    for (int64_t k = 0; k < n; k++)
        top = tly_drawn_number(c, k) > top ? tly_drawn_number(c, k) : top;
    for (int64_t k = n - 1; k >= 0; k--) {
        const long double x = tly_drawn_number(c, k);
        if (c->operation->family == TLY_LOG_SUMS)
            sum += x == top ? 1 : expl(x - top);
        else
            sum += c->operation->lift == TLY_SQUARE     ? x * x
                   : c->operation->lift == TLY_ABSOLUTE ? fabsl(x)
                                                        : x;
    }
    return c->operation->family == TLY_LOG_SUMS ? top + logl(sum) : sum;
}

/* What the tolerance of log sums is made of: with d = x - max, the sum of |d|e^d over that of
 * e^d. */
static long double slope(const tly_drawn *c, int64_t n, long double y)
{
    long double slope = 0, top = -INFINITY;
    for (int64_t k = 0; k < n; k++)
        top = fmaxl(top, tly_drawn_number(c, k));
    for (int64_t k = 0; k < n; k++) {
        const long double d = top - tly_drawn_number(c, k), e = expl(tly_drawn_number(c, k) - y);
        slope += e > 0 ? d * e : 0;
    }
    return slope;
}

void tly_drawn_check(tly_drawn *c, const tly_fact *f)
{
    const int64_t n = f->terms;
    const uint32_t beyond = TLY_FACT_NONFINITE_IN | TLY_FACT_OVERFLOW;
    const int is_exclusive = (c->d.flags & TALLY_EXCLUSIVE) != 0;
    if (c->operation->family >= TLY_PICKS) {
        const int64_t winner = find_winner(c, n);
        uint64_t wanted = (uint64_t)winner;
        if (n == 0 || (is_exclusive && is_nan_at(c, winner) && c->d.flags & TALLY_NAN_IGNORE))
            return; /* the identity: by hand, test_reference.c */
        if (c->operation->family != TLY_INDICES)
            wanted = c->elements[winner];
        else if (c->d.flags & TALLY_REVERSE) /* elements are in scan direction */
            wanted = (uint64_t)(c->layout.length - 1 - winner);
        cr_assert(tly_bits_same(c->to, f->bits, tly_integer_cut(c->to, wanted)), "%s: %llx, %llx",
                  c->word, (unsigned long long)f->bits, (unsigned long long)wanted);
    } else if (!tly_is_float(c->from) && c->operation->family != TLY_LOG_SUMS) {
        if (c->operation->projection == TLY_ROOT)
            cr_assert(fabsl(f->wide - add_up(c, n)) <= (long double)n * 0x1p-63L * f->scale);
        else if (c->operation->projection != TLY_LOGARITHM)
            cr_assert(tly_bits_same(c->to, f->bits, count_integers(c, n)), "%s", c->word);
    } else if (c->operation->family != TLY_PRODUCTS && n && !(f->flags & beyond)) {
        const int is_log = c->operation->family == TLY_LOG_SUMS;
        const long double wide = add_up(c, n);
        const long double scale = f->scale + (is_log ? fabsl(wide) + 8 : 0);
        if (is_log && isfinite(wide))
            cr_assert(fabsl(f->scale - slope(c, n, wide)) <= 1e-4L * (1 + f->scale), "%s: %Lg, %Lg",
                      c->word, f->scale, slope(c, n, wide));
        cr_assert(f->wide == wide || fabsl(f->wide - wide) <= (long double)n * 0x1p-63L * scale,
                  "%s: wide %Lg, %Lg", c->word, f->wide, wide);
    }
}
