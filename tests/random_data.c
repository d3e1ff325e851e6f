/* SPDX-License-Identifier: Apache-2.0 */
/* Random data. Guarantees: only the seed decides, and every element of the input is written. */
#include "random.h"

#include <math.h>
#include <stdlib.h>

#include "reference.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

static double unit(tly_random *r) /* [0, 1) */
{
    return (double)(tly_random_next(r) >> 11) * 0x1p-53;
}

static const char *const data_names[TLY_DATA_COUNT] = {
    [TLY_DATA_EXACT] = "exact",     [TLY_DATA_BENIGN] = "benign", [TLY_DATA_SIGNED] = "signed",
    [TLY_DATA_SPECIAL] = "special", [TLY_DATA_RANGE] = "range",   [TLY_DATA_GROW] = "grow",
    [TLY_DATA_DECAY] = "decay",     [TLY_DATA_ZEROS] = "zeros",   [TLY_DATA_BITS] = "bits",
    [TLY_DATA_NATURAL] = "natural", [TLY_DATA_DRIFT] = "drift",   [TLY_DATA_LANE] = "lane",
    [TLY_DATA_MIXED] = "mixed",     [TLY_DATA_TIES] = "ties",     [TLY_DATA_SORTED] = "sorted",
    [TLY_DATA_CANCEL] = "cancel",   [TLY_DATA_SCALED] = "scaled"
};

const char *tly_data_name(tly_data data)
{
    return data_names[data];
}

/* Ties and order mean something where one of the elements is picked, negatives where they are
 * added, and magnitudes above all where the result has another than the sum. */
tly_data tly_random_data(tly_random *r, const tally_descriptor *d)
{
    const tly_family family = tly_operations[d->op].family;
    if (family >= TLY_PICKS && tly_random_one_in(r, 3))
        return tly_random_one_in(r, 2) ? TLY_DATA_TIES : TLY_DATA_SORTED;
    const int projects = tly_operations[d->op].projection != TLY_AS_IT_IS;
    if (family == TLY_SUMS && tly_is_float((tally_dtype)d->dtype) && tly_random_one_in(r, 16))
        return TLY_DATA_CANCEL;
    if (family == TLY_SUMS && tly_random_one_in(r, projects ? 4 : 16))
        return TLY_DATA_SCALED;
    if (!tly_is_float((tally_dtype)d->dtype))
        return tly_random_one_in(r, 4) ? TLY_DATA_EXACT : TLY_DATA_BITS;
    return tly_random_one_in(r, 4) ? TLY_DATA_EXACT : (tly_data)tly_random_below(r, TLY_DATA_TIES);
}

/* What a series along the axis remembers. Exponents are log2. */
typedef struct series {
    tly_random *r;
    tly_data data;
    int sum;
    int64_t length;
    int natural; /* NATURAL: which kind */
    int turns;   /* DRIFT: goes back beyond `limit` on either side, else straight on */
    double step; /* DRIFT: what the prefix moves in one element, its direction in the sign */
    double limit;
    double prefix;   /* sums in RANGE, DRIFT: the running sum; products: its exponent */
    double target;   /* RANGE: where the prefix is on its way to */
    double largest;  /* of the dtype */
    int top, bottom; /* the dtype's exponents of its largest and its smallest normal number */
    int reach;       /* the accumulator's largest exponent */
    int positive;    /* sums whose logarithm is taken are to have one, mostly */
    int64_t index;   /* of the element that comes next */
    double ties[3];
    double open[8]; /* CANCEL: the numbers whose negatives are still to come, and how many */
    int open_count;
    int low, high; /* SCALED: binary exponents, of integers bits */
    int signs;     /* the same: 1 all positive, -1 all negative, 0 both */
} series;

static double sign(series *s)
{
    return tly_random_one_in(s->r, 2) ? 1 : -1;
}

static double exact(series *s)
{
    if (s->sum)
        return (double)tly_random_between(s->r, -4, 4);
    static const int steps[] = { -1, 0, 0, 0, 1 };
    int step = steps[tly_random_below(s->r, COUNT(steps))];
    if (s->prefix + step > 8 || s->prefix + step < -8)
        step = 0;
    s->prefix += step;
    /* Odd parts fit any significand while only a few of them are above 1. */
    double odd = tly_random_below(s->r, s->length) < 6 ? 3 : 1;
    return sign(s) * ldexp(odd, step);
}

static double benign(series *s)
{
    if (s->sum)
        return unit(s->r);
    return 1 + (unit(s->r) - 0.5) / 16; /* a random walk that stays near 1 */
}

static double both_signs(series *s)
{
    if (s->sum)
        return sign(s) * exp2(unit(s->r) * 10 - 5);
    double step = (unit(s->r) - 0.5) * 10;
    if (fabs(s->prefix + step) > 12)
        step = -step;
    s->prefix += step;
    return sign(s) * exp2(step);
}

static double rare(series *s)
{
    switch (tly_random_below(s->r, 10)) {
    case 0:
        return INFINITY;
    case 1:
        return -INFINITY;
    case 2:
        return NAN;
    case 3:
        return -0.0;
    case 4:
        return 0.0;
    case 5:
        return sign(s) * s->largest;
    case 6:
        return ldexp(sign(s), s->bottom);
    case 7:
        return ldexp(sign(s), s->bottom - 3);
    case 8:
        return -1;
    default:
        return sign(s) * ldexp(1, s->top);
    }
}

static double special(series *s)
{
    return tly_random_one_in(s->r, s->length > 64 ? s->length / 4 : 16) ? rare(s) : benign(s);
}

/* The prefix wanders all over the accumulator's range, and the elements follow from that: in one
 * step as far as the dtype reaches, or in many small ones. */
static double in_range(series *s)
{
    if (s->sum) {
        double next = (unit(s->r) * 2 - 1) * 0.9 * s->largest;
        double x = next - s->prefix;
        if (fabs(x) > 0.9 * s->largest)
            x = (x < 0 ? -0.9 : 0.9) * s->largest;
        s->prefix += x;
        return x;
    }
    if (fabs(s->target - s->prefix) < 1)
        s->target = (unit(s->r) * 2 - 1) * (s->reach - 4);
    double step = s->target - s->prefix;
    if (!tly_random_one_in(s->r, 4))
        step *= unit(s->r) / 4;
    step = fmax(fmin(step, s->top - 2), s->bottom + 2);
    s->prefix += step;
    return sign(s) * exp2(step);
}

static double grow(series *s)
{
    if (s->sum)
        return s->largest * (0.3 + unit(s->r)) / (double)(s->length + 8) * 2;
    return sign(s) * (1 + unit(s->r) * 3);
}

static double decay(series *s)
{
    if (s->sum)
        return sign(s) * ldexp(unit(s->r), s->bottom - 1);
    return sign(s) * (0.2 + unit(s->r) * 0.7);
}

static double zeros(series *s)
{
    switch (tly_random_below(s->r, 4)) {
    case 0:
        return tly_random_one_in(s->r, 40) ? 0.0 : benign(s);
    case 1:
        return s->sum ? -0.0 : exp2((unit(s->r) - 0.5) * s->top);
    case 2:
        return sign(s) * (s->sum ? 0.0 : exp2(unit(s->r) * s->top / 4));
    default:
        return s->sum ? 0.0 : exp2(-unit(s->r) * s->top / 4);
    }
}

/* What users have, as tools/files/data.c makes it; `natural` counts from 0. */
enum { NATURAL_KINDS = 9 };

static double natural(series *s)
{
    const double u = unit(s->r), near_one = 1 + (unit(s->r) - 0.5) * 0.02;
    switch (s->natural) {
    case 0:
        return near_one;
    case 1:
        return 1 - 0.05 * u;
    case 2:
        return 0.5 + u;
    case 3:
        return u;
    case 4:
        return 1 + u;
    case 5:
        return sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * unit(s->r));
    case 6:
        return u < 0.3 ? 1 : u < 0.32 ? 0 : 1 - unit(s->r);
    case 7:
        return u < 0.001 ? 0 : near_one;
    default:
        return u < 0.001 / 3 ? INFINITY : u < 0.002 / 3 ? -INFINITY : u < 0.001 ? NAN : near_one;
    }
}

/* Of the dtype's range or the accumulator's; back just inside of it, or just beyond. */
static void start_drift(series *s)
{
    static const int crossings[] = { 40, 400, 4000 };
    const double crossing = crossings[tly_random_below(s->r, COUNT(crossings))];
    const double reach = tly_random_one_in(s->r, 2) ? s->top : s->reach;
    const double half = s->sum ? ldexp(1, s->top) : reach;
    s->step = half / (crossing / 2) * sign(s);
    s->limit = half * (tly_random_one_in(s->r, 2) ? 0.95 : 1.2);
    s->turns = tly_random_one_in(s->r, 2);
}

static double drift(series *s)
{
    double step = s->step * (0.5 + unit(s->r));
    if (!s->sum)
        step = fmax(fmin(step, s->top), s->bottom);
    if (s->turns && fabs(s->prefix + step) > s->limit) {
        s->step = -s->step;
        step = -step;
    }
    s->prefix += step;
    if (s->sum)
        return step;
    return (tly_random_one_in(s->r, 16) ? -1 : 1) * exp2(step);
}

static void start_ties(series *s)
{
    for (int k = 0; k < 3; k++)
        s->ties[k] = (double)tly_random_between(s->r, -2, 2) *
                     (tly_random_one_in(s->r, 2) ? 1 : -1);
    if (tly_random_one_in(s->r, 2))
        s->ties[0] = NAN;
}

static double ties(series *s)
{
    const int64_t k = tly_random_below(s->r, s->length / 4 + 3);
    return s->ties[k < 1 ? 0 : k < 3 ? k : s->length & 1 ? 1 : 2];
}

/* Each value a few times where the dtype has no more of them. */
static double sorted(series *s)
{
    const double at = (double)s->index / (double)(s->length + 1) - 0.5;
    return (s->turns ? -at : at) * (s->top > 15 ? 1000 : 100);
}

/* All are multiples of a power of two that few bits hold: no order rounds. */
static double cancel(series *s)
{
    const int64_t left = s->length - s->index + 1;
    const int room = s->open_count < COUNT(s->open) && left > s->open_count + 1;
    if (room && (s->open_count == 0 || tly_random_one_in(s->r, 2))) {
        const int64_t times = tly_random_between(s->r, 4, 7);
        const double x = sign(s) * ldexp((double)times, s->top - 2);
        s->open[s->open_count++] = x;
        return x;
    }
    if (s->open_count == 0)
        return sign(s) * 0.0;
    const int64_t k = tly_random_below(s->r, s->open_count);
    const double x = s->open[k];
    s->open[k] = s->open[--s->open_count];
    return -x;
}

static double scaled(series *s)
{
    const int exponent = (int)tly_random_between(s->r, s->low, s->high);
    const double x = ldexp(1 + unit(s->r), exponent);
    return (s->signs ? s->signs : sign(s)) * x;
}

static void start_scaled(series *s, tally_dtype dtype)
{
    static const int widths[] = { 0, 0, 1, 8, 64, 4096 };
    const int is_float = tly_is_float(dtype), bits = 8 * (int)tally_dtype_bytes(dtype);
    const int most = !is_float ? bits : dtype == TALLY_F64 ? 1023 : dtype == TALLY_F16 ? 15 : 127;
    const int least = is_float ? 2 - most - tly_precision(dtype) : 0;
    s->low = (int)tly_random_between(s->r, least, most);
    if (tly_random_one_in(s->r, 3)) /* near the largest */
        s->low = (int)tly_random_between(s->r, most - 2, most);
    s->high = s->low + widths[tly_random_below(s->r, COUNT(widths))];
    s->high = s->high < most ? s->high : most;
    s->signs = (int)tly_random_between(s->r, -1, 1);
}

static double (*const makers[TLY_DATA_COUNT])(series *) = {
    [TLY_DATA_EXACT] = exact,     [TLY_DATA_BENIGN] = benign,  [TLY_DATA_SIGNED] = both_signs,
    [TLY_DATA_SPECIAL] = special, [TLY_DATA_RANGE] = in_range, [TLY_DATA_GROW] = grow,
    [TLY_DATA_DECAY] = decay,     [TLY_DATA_ZEROS] = zeros,    [TLY_DATA_NATURAL] = natural,
    [TLY_DATA_DRIFT] = drift,     [TLY_DATA_TIES] = ties,      [TLY_DATA_SORTED] = sorted,
    [TLY_DATA_CANCEL] = cancel,   [TLY_DATA_SCALED] = scaled
};

/* Small, so that a product is not at once a multiple of 2^64. */
static uint64_t integer(series *s)
{
    if (s->data == TLY_DATA_TIES || s->data == TLY_DATA_SORTED) {
        const double x = makers[s->data](s);
        return isnan(x) ? INT64_MIN : (uint64_t)(int64_t)x;
    }
    if (s->data == TLY_DATA_SCALED) {
        const int bits = (int)tly_random_between(s->r, s->low, s->high);
        const uint64_t x = bits ? tly_random_next(s->r) >> (64 - bits) : 0;
        return (s->signs ? s->signs : sign(s)) < 0 ? 0 - x : x;
    }
    return (uint64_t)(tly_random_between(s->r, -3, 3) | !s->sum);
}

static uint64_t element(series *s, tally_dtype dtype)
{
    s->index++;
    if (dtype == TALLY_BOOL)
        return tly_random_next(s->r) & 1;
    if (s->data == TLY_DATA_BITS)
        return tly_random_next(s->r);
    if (!tly_is_float(dtype))
        return integer(s);
    const double x = makers[s->data](s);
    return tly_encode(dtype, s->positive ? fabs(x) : x);
}

/* What floats of a scan can be drawn from; LANE and MIXED are made of these. */
static const tly_data plain_classes[] = { TLY_DATA_BENIGN, TLY_DATA_NATURAL, TLY_DATA_DRIFT,
                                          TLY_DATA_SIGNED, TLY_DATA_RANGE,   TLY_DATA_SPECIAL,
                                          TLY_DATA_GROW,   TLY_DATA_DECAY,   TLY_DATA_ZEROS,
                                          TLY_DATA_BITS,   TLY_DATA_CANCEL,  TLY_DATA_SCALED };
enum { QUIET_CLASSES = 4 }; /* the first ones have no zeros or specials to speak of */

static series start_row(tly_random *r, const tally_descriptor *d, tly_data data, int64_t length)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    const tly_operation *operation = &tly_operations[d->op];
    series s = { .r = r, .data = data, .sum = operation->family != TLY_PRODUCTS, .length = length };
    s.top = dtype == TALLY_F64 ? 1023 : dtype == TALLY_F16 ? 15 : 127;
    s.reach = tly_reference_accumulator(d) == TALLY_F64 ? 1023 : 127;
    if (operation->lift == TLY_SQUARE && s.top > s.reach / 2)
        s.top = s.reach / 2; /* what squares do to the range is as in a sum */
    s.bottom = 1 - s.top;
    s.largest = ldexp(2 - ldexp(1, 1 - tly_precision(dtype)), s.top);
    if (data == TLY_DATA_DRIFT)
        start_drift(&s);
    if (data == TLY_DATA_TIES)
        start_ties(&s);
    if (data == TLY_DATA_SCALED)
        start_scaled(&s, dtype);
    if (data == TLY_DATA_SORTED)
        s.turns = tly_random_one_in(r, 2);
    if (operation->projection == TLY_LOGARITHM)
        s.positive = !tly_random_one_in(r, 4);
    return s;
}

void tly_random_fill_row(tly_random *r, const tally_descriptor *d, tly_data data, int natural_kind,
                         int64_t row, void *in)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    tly_layout l;
    int64_t at, out;
    tly_layout_of(d, &l);
    tly_layout_row(&l, row, &at, &out);
    if (data == TLY_DATA_MIXED)
        data = plain_classes[tly_random_below(r, COUNT(plain_classes))];
    series s = start_row(r, d, data, l.length);
    s.natural = natural_kind < 0 ? (int)tly_random_below(r, NATURAL_KINDS) : natural_kind;
    for (int64_t i = 0; i < l.length; i++)
        tly_bits_store(dtype, in, at + tly_layout_step(&l, i), element(&s, dtype));
}

/* Up to three of a scan's elements are what no other scan may notice. */
static void strew(tly_random *r, const tally_descriptor *d, const tly_layout *l, void *in)
{
    series s = start_row(r, d, TLY_DATA_SPECIAL, l->length);
    int64_t at, out;
    tly_layout_row(l, tly_random_below(r, l->rows), &at, &out);
    for (int64_t n = tly_random_between(r, 1, 3); n > 0; n--) {
        const int64_t i = tly_random_below(r, l->length);
        const double x = tly_random_one_in(r, 3) ? 0.0 : rare(&s);
        tly_bits_store((tally_dtype)d->dtype, in, at + tly_layout_step(l, i),
                       tly_encode((tally_dtype)d->dtype, x));
    }
}

void tly_random_fill(tly_random *r, const tally_descriptor *d, tly_data data, void *in)
{
    const int is_lane = data == TLY_DATA_LANE && tly_is_float((tally_dtype)d->dtype);
    const int natural_kind = data == TLY_DATA_MIXED ? -1 : (int)tly_random_below(r, NATURAL_KINDS);
    tly_layout l;

    tly_layout_of(d, &l);
    if (data == TLY_DATA_LANE)
        data = plain_classes[tly_random_below(r, QUIET_CLASSES)];
    for (int64_t row = 0; row < l.rows; row++)
        tly_random_fill_row(r, d, data, natural_kind, row, in);
    for (int k = 0; k < 2 && is_lane && l.rows && l.length; k++)
        if (!k || tly_random_one_in(r, 2))
            strew(r, d, &l, in);
}

static void fill_constant(const tally_descriptor *d, const tly_layout *l, double x, void *in)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    const uint64_t bits = tly_is_float(dtype)   ? tly_encode(dtype, x)
                          : dtype == TALLY_BOOL ? 1
                                                : UINT64_MAX;
    for (int64_t row = 0; row < l->rows; row++) {
        int64_t at, out;
        tly_layout_row(l, row, &at, &out);
        for (int64_t i = 0; i < l->length; i++)
            tly_bits_store(dtype, in, at + tly_layout_step(l, i), bits);
    }
}

/* A scan's elements into a packed array, or back from it. */
static void move_row(const tally_descriptor *d, const tly_layout *l, int64_t row, void *in,
                     uint64_t *kept, int back)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    int64_t at, out;
    tly_layout_row(l, row, &at, &out);
    for (int64_t i = 0; i < l->length; i++) {
        const int64_t here = at + tly_layout_step(l, i);
        if (back)
            tly_bits_store(dtype, in, here, kept[i]);
        else
            kept[i] = tly_bits_load(dtype, in, here);
    }
}

void tly_random_fill_others(tly_random *r, const tally_descriptor *d, int64_t kept, void *in)
{
    const series s = start_row(r, d, TLY_DATA_BENIGN, 1);
    const double constants[] = { NAN, 0, -0.0, INFINITY, s.largest, ldexp(1, s.bottom - 3) };
    const int64_t drawn = tly_random_below(r, 2 * COUNT(constants));
    tly_layout l;
    tly_layout_of(d, &l);
    uint64_t *row = malloc((size_t)l.length * sizeof *row + 1);
    if (!row)
        return; /* nothing replaced: right, if weak */
    move_row(d, &l, kept, in, row, 0);
    if (drawn < COUNT(constants))
        fill_constant(d, &l, constants[drawn], in);
    else
        tly_random_fill(r, d, TLY_DATA_MIXED, in);
    move_row(d, &l, kept, in, row, 1);
    free(row);
}
