/*
 * Guarantees: every descriptor is valid by docs/semantics.md, section 2; only the seed decides.
 */
#include "random.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "reference.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

tly_random tly_random_seed(uint64_t seed, uint64_t number)
{
    tly_random r = { seed * UINT64_C(0x9e3779b97f4a7c15) ^ number * UINT64_C(0xd1342543de82ef95) };
    tly_random_next(&r);
    return r;
}

uint64_t tly_random_next(tly_random *r) /* splitmix64 (Steele, Lea, Flood 2014) */
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t tly_random_below(tly_random *r, int64_t bound)
{
    return (int64_t)(tly_random_next(r) % (uint64_t)bound);
}

int tly_random_one_in(tly_random *r, int64_t n)
{
    return tly_random_below(r, n) == 0;
}

static double unit(tly_random *r) /* [0, 1) */
{
    return (double)(tly_random_next(r) >> 11) * 0x1p-53;
}

static int64_t between(tly_random *r, int64_t low, int64_t high)
{
    return low + tly_random_below(r, high - low + 1);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- shapes ---- */

/* Lengths at which kernels change their way: vectors and their blocks, windows, chunks. */
static const int64_t borders[] = { 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384,
                                   32768, 49152, 65536 };

static int64_t any_length(tly_random *r, int64_t most)
{
    switch (tly_random_below(r, 6)) {
    case 0: return smaller(between(r, 1, 40), most);
    case 1: return smaller(between(r, 1, 3000), most);
    case 2: return between(r, 1, most);
    default: {
        int64_t border = borders[tly_random_below(r, COUNT(borders))];
        int64_t length = border * between(r, 1, 2) + between(r, -3, 3);
        return length > most ? smaller(border + between(r, -1, 1), most) : length;
    }
    }
}

static int64_t lanes(tly_random *r) /* sizes of the dims inside the axis */
{
    static const int64_t widths[] = { 16, 32, 48, 64, 128, 256, 1024, 2048 };
    if (tly_random_one_in(r, 2))
        return between(r, 2, 15); /* small inner */
    return widths[tly_random_below(r, COUNT(widths))] + between(r, -2, 2);
}

static void insert(tally_descriptor *d, int at, int64_t size)
{
    memmove(d->sizes + at + 1, d->sizes + at, (size_t)(d->rank - at) * sizeof d->sizes[0]);
    d->sizes[at] = size;
    d->axis += at <= d->axis;
    d->rank++;
}

/* The axis alone, then dims inside and outside, while room is left. */
static void shape(tly_random *r, int64_t most, tally_descriptor *d)
{
    const int kind = (int)tly_random_below(r, 8);
    int64_t room;

    d->rank = 1;
    d->axis = 0;
    if (kind == 0) { /* many dims, all of them small */
        const int rank = (int)between(r, 1, TALLY_MAX_RANK);
        d->rank = rank;
        d->axis = (int32_t)tly_random_below(r, rank);
        for (int k = 0; k < rank; k++)
            d->sizes[k] = between(r, 1, 5);
        for (int k = 0; tly_random_one_in(r, 2) && k < 3; k++)
            d->sizes[tly_random_below(r, rank)] = 1;
    } else if (kind <= 3) { /* rows */
        d->sizes[0] = any_length(r, most);
    } else { /* something inside the axis */
        int64_t inner = smaller(lanes(r), most);
        d->sizes[0] = any_length(r, smaller(most / inner, tly_random_one_in(r, 3) ? most : 300));
        insert(d, 1, inner);
    }
    room = most;
    for (int k = 0; k < d->rank; k++)
        room /= d->sizes[k];
    for (int k = 0; k < 3 && kind > 0 && room > 1 && tly_random_one_in(r, 2); k++) {
        int64_t size = between(r, 1, smaller(room, tly_random_one_in(r, 3) ? 1000 : 9));
        int at = tly_random_one_in(r, 3) ? (int)between(r, 0, d->rank) : 0;
        insert(d, at, size);
        room /= size;
    }
    if (tly_random_one_in(r, 60))
        d->sizes[tly_random_below(r, d->rank)] = 0;
}

/* ---- strides ---- */

static void shuffle(tly_random *r, int *order, int count)
{
    for (int k = count - 1; k > 0; k--) {
        int other = (int)tly_random_below(r, k + 1), keep = order[k];
        order[k] = order[other];
        order[other] = keep;
    }
}

/* Strides of a tensor that lies in memory with the dims permuted, padded and walked backwards. Each
 * stride exceeds what the smaller ones reach, so addresses are distinct. `limit`: elements. */
static void lay_out(tly_random *r, const tally_descriptor *d, int64_t limit, int64_t *strides,
                    int64_t *offset)
{
    int order[TALLY_MAX_RANK]; /* innermost first */
    int64_t reach = 0; /* the highest index so far */
    const int permuted = tly_random_one_in(r, 2), padded = tly_random_one_in(r, 2);
    const int backwards = tly_random_one_in(r, 2);

    for (int k = 0; k < d->rank; k++)
        order[k] = d->rank - 1 - k;
    if (permuted)
        shuffle(r, order, d->rank);
    *offset = tly_random_one_in(r, 2) ? 0 : between(r, -40, 40);
    int64_t first = reach + 1;
    if (tly_random_one_in(r, 3))
        first += between(r, 1, 3); /* a step */
    for (int k = 0; k < d->rank; k++) {
        int64_t size = d->sizes[order[k]] ? d->sizes[order[k]] : 1;
        int64_t stride = k ? reach + 1 : first;
        if (k && padded)
            stride += between(r, 0, 9);
        if (stride * (size - 1) + reach >= limit)
            stride = reach + 1;
        reach += stride * (size - 1);
        int negative = backwards && tly_random_one_in(r, 2);
        strides[order[k]] = negative ? -stride : stride;
        if (negative)
            *offset += stride * (size - 1);
    }
}

static void strides(tly_random *r, int64_t limit, tally_descriptor *d)
{
    if (!tly_random_one_in(r, 3)) {
        lay_out(r, d, limit, d->in_strides, &d->in_offset);
        d->flags |= TALLY_IN_STRIDES;
        for (int k = 0; k < d->rank; k++) /* broadcasts */
            if (tly_random_one_in(r, 12))
                d->in_strides[k] = 0;
    }
    if (tly_random_one_in(r, 3)) {
        lay_out(r, d, limit, d->out_strides, &d->out_offset);
        d->flags |= TALLY_OUT_STRIDES;
    }
    if (d->flags & TALLY_OUT_STRIDES && tly_random_one_in(r, 2)) { /* fit for in place */
        memcpy(d->in_strides, d->out_strides, sizeof d->in_strides);
        d->in_offset = d->out_offset;
        d->flags |= TALLY_IN_STRIDES;
    }
}

void tly_random_descriptor(tly_random *r, int64_t most, tally_descriptor *d)
{
    static const tally_dtype dtypes[] = { TALLY_F32, TALLY_F32, TALLY_F32, TALLY_F64, TALLY_F64,
                                          TALLY_F16, TALLY_F16, TALLY_BF16, TALLY_BF16,
                                          TALLY_I32, TALLY_I64, TALLY_U32, TALLY_U64 };
    memset(d, 0, sizeof *d);
    d->size = sizeof *d;
    d->op = tly_random_one_in(r, 2) ? TALLY_CUMSUM : TALLY_CUMPROD;
    d->dtype = dtypes[tly_random_below(r, COUNT(dtypes))];
    if (tly_is_float((tally_dtype)d->dtype) && d->dtype != TALLY_F64 && tly_random_one_in(r, 5))
        d->acc = TALLY_F64;
    d->order = tly_random_one_in(r, 5) ? TALLY_ORDER_SERIAL : TALLY_ORDER_RUN;
    d->flags = (tly_random_one_in(r, 3) ? (uint32_t)TALLY_EXCLUSIVE : 0u) |
               (tly_random_one_in(r, 3) ? (uint32_t)TALLY_REVERSE : 0u);
    shape(r, tly_random_one_in(r, 2) ? smaller(most, 4096) : most, d);
    if (tly_random_one_in(r, 2))
        strides(r, 8 * most, d);
}

/* ---- data ---- */

static const char *const data_names[TLY_DATA_COUNT] = {
    [TLY_DATA_EXACT] = "exact", [TLY_DATA_BENIGN] = "benign", [TLY_DATA_SIGNED] = "signed",
    [TLY_DATA_SPECIAL] = "special", [TLY_DATA_RANGE] = "range", [TLY_DATA_GROW] = "grow",
    [TLY_DATA_DECAY] = "decay", [TLY_DATA_ZEROS] = "zeros", [TLY_DATA_BITS] = "bits"
};

const char *tly_data_name(tly_data data)
{
    return data_names[data];
}

tly_data tly_random_data(tly_random *r, const tally_descriptor *d)
{
    if (!tly_is_float((tally_dtype)d->dtype))
        return tly_random_one_in(r, 4) ? TLY_DATA_EXACT : TLY_DATA_BITS;
    return tly_random_one_in(r, 4) ? TLY_DATA_EXACT
                                   : (tly_data)tly_random_below(r, TLY_DATA_COUNT);
}

/* What a series along the axis remembers. Exponents are log2. */
typedef struct series {
    tly_random *r;
    tly_data data;
    int sum;
    int64_t length;
    double prefix;      /* sums in RANGE: the running sum; products: its exponent */
    double target;      /* RANGE: where the prefix is on its way to */
    double largest;     /* of the dtype */
    int top, bottom;    /* the dtype's exponents of its largest and its smallest normal number */
    int reach;          /* the accumulator's largest exponent */
} series;

static double sign(series *s)
{
    return tly_random_one_in(s->r, 2) ? 1 : -1;
}

static double exact(series *s)
{
    if (s->sum)
        return (double)between(s->r, -4, 4);
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

static double special(series *s)
{
    if (!tly_random_one_in(s->r, s->length > 64 ? s->length / 4 : 16))
        return benign(s);
    switch (tly_random_below(s->r, 10)) {
    case 0: return INFINITY;
    case 1: return -INFINITY;
    case 2: return NAN;
    case 3: return -0.0;
    case 4: return 0.0;
    case 5: return sign(s) * s->largest;
    case 6: return ldexp(sign(s), s->bottom);
    case 7: return ldexp(sign(s), s->bottom - 3);
    case 8: return -1;
    default: return sign(s) * ldexp(1, s->top);
    }
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
    case 0: return tly_random_one_in(s->r, 40) ? 0.0 : benign(s);
    case 1: return s->sum ? -0.0 : exp2((unit(s->r) - 0.5) * s->top);
    case 2: return sign(s) * (s->sum ? 0.0 : exp2(unit(s->r) * s->top / 4));
    default: return s->sum ? 0.0 : exp2(-unit(s->r) * s->top / 4);
    }
}

static double (*const makers[TLY_DATA_COUNT])(series *) = {
    [TLY_DATA_EXACT] = exact, [TLY_DATA_BENIGN] = benign, [TLY_DATA_SIGNED] = both_signs,
    [TLY_DATA_SPECIAL] = special, [TLY_DATA_RANGE] = in_range, [TLY_DATA_GROW] = grow,
    [TLY_DATA_DECAY] = decay, [TLY_DATA_ZEROS] = zeros
};

static uint64_t element(series *s, tally_dtype dtype)
{
    if (s->data == TLY_DATA_BITS)
        return tly_random_next(s->r);
    if (!tly_is_float(dtype)) /* small, so that a product is not at once a multiple of 2^64 */
        return (uint64_t)(between(s->r, -3, 3) | !s->sum);
    return tly_encode(dtype, makers[s->data](s));
}

void tly_random_fill(tly_random *r, const tally_descriptor *d, tly_data data, void *in)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    tly_layout l;

    tly_layout_of(d, &l);
    for (int64_t row = 0; row < l.rows; row++) {
        series s = { .r = r, .data = data, .sum = d->op == TALLY_CUMSUM, .length = l.length };
        int64_t at, out;
        s.top = dtype == TALLY_F64 ? 1023 : dtype == TALLY_F16 ? 15 : 127;
        s.reach = tly_reference_accumulator(d) == TALLY_F64 ? 1023 : 127;
        s.bottom = 1 - s.top;
        s.largest = ldexp(2 - ldexp(1, 1 - tly_precision(dtype)), s.top);
        tly_layout_row(&l, row, &at, &out);
        for (int64_t i = 0; i < l.length; i++, at += l.in_step)
            tly_bits_store(dtype, in, at, element(&s, dtype));
    }
}
