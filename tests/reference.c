/*
 * Guarantees: serial order, every operation rounded once in the accumulator's type, one rounding at
 * each store, wrap-around integers. Slow and plain on purpose.
 */
#include "reference.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(LDBL_MANT_DIG >= 64, "the wider reference needs more bits than double");
_Static_assert(FLT_EVAL_METHOD == 0, "float must round to float");

typedef struct format {
    uint8_t bytes, is_float, significand, exponent; /* significand with its hidden bit */
} format;

static const format formats[TALLY_DTYPE_COUNT] = {
    [TALLY_F64] = { 8, 1, 53, 11 }, [TALLY_F32] = { 4, 1, 24, 8 }, [TALLY_F16] = { 2, 1, 11, 5 },
    [TALLY_BF16] = { 2, 1, 8, 8 },  [TALLY_I64] = { 8, 0, 0, 0 },  [TALLY_I32] = { 4, 0, 0, 0 },
    [TALLY_I16] = { 2, 0, 0, 0 },   [TALLY_I8] = { 1, 0, 0, 0 },   [TALLY_U64] = { 8, 0, 0, 0 },
    [TALLY_U32] = { 4, 0, 0, 0 },   [TALLY_U16] = { 2, 0, 0, 0 },  [TALLY_U8] = { 1, 0, 0, 0 },
    [TALLY_BOOL] = { 1, 0, 0, 0 }
};

int tly_is_float(tally_dtype dtype)
{
    return formats[dtype].is_float;
}

int tly_precision(tally_dtype dtype)
{
    return formats[dtype].significand;
}

uint64_t tly_bits_load(tally_dtype dtype, const void *at, int64_t index)
{
    const char *p = (const char *)at + index * formats[dtype].bytes;
    uint64_t u64;
    uint32_t u32;
    uint16_t u16;
    switch (formats[dtype].bytes) {
    case 8:
        memcpy(&u64, p, 8);
        return u64;
    case 4:
        memcpy(&u32, p, 4);
        return u32;
    case 2:
        memcpy(&u16, p, 2);
        return u16;
    default:
        return (unsigned char)*p;
    }
}

void tly_bits_store(tally_dtype dtype, void *at, int64_t index, uint64_t bits)
{
    char *p = (char *)at + index * formats[dtype].bytes;
    uint32_t u32 = (uint32_t)bits;
    uint16_t u16 = (uint16_t)bits;
    switch (formats[dtype].bytes) {
    case 8:
        memcpy(p, &bits, 8);
        break;
    case 4:
        memcpy(p, &u32, 4);
        break;
    case 2:
        memcpy(p, &u16, 2);
        break;
    default:
        *p = (char)bits;
    }
}

double tly_decode(tally_dtype dtype, uint64_t bits)
{
    const format *f = &formats[dtype];
    const int fraction_bits = f->significand - 1;
    const uint64_t top = (UINT64_C(1) << f->exponent) - 1;
    const uint64_t fraction = bits & ((UINT64_C(1) << fraction_bits) - 1);
    const uint64_t exponent = bits >> fraction_bits & top;
    const int bias = (int)(top >> 1);
    double value;

    if (exponent == top)
        value = fraction ? NAN : INFINITY;
    else if (exponent == 0)
        value = ldexp((double)fraction, 1 - bias - fraction_bits);
    else
        value = ldexp((double)(fraction | UINT64_C(1) << fraction_bits),
                      (int)exponent - bias - fraction_bits);
    return bits >> (f->significand + f->exponent - 1) & 1 ? -value : value;
}

uint64_t tly_encode(tally_dtype dtype, double value)
{
    const format *f = &formats[dtype];
    const int fraction_bits = f->significand - 1;
    const uint64_t top = (UINT64_C(1) << f->exponent) - 1;
    const int bias = (int)(top >> 1);
    const uint64_t sign = (uint64_t)(signbit(value) != 0) << (f->significand + f->exponent - 1);
    const uint64_t infinity = top << fraction_bits;
    double magnitude = fabs(value);
    int exponent;

    if (isnan(value))
        return infinity | UINT64_C(1) << (fraction_bits - 1);
    if (isinf(value) || magnitude == 0)
        return sign | (isinf(value) ? infinity : 0);
    frexp(magnitude, &exponent); /* magnitude = [0.5, 1) * 2^exponent */
    if (exponent < 2 - bias)
        exponent = 2 - bias; /* subnormals share the smallest normal's spacing */
    /* In units of the last place; rint rounds to nearest even. A carry into the next power of two
     * carries into the exponent field by itself, up to infinity. */
    uint64_t units = (uint64_t)rint(ldexp(magnitude, f->significand - exponent));
    uint64_t bits = units + ((uint64_t)(exponent - (2 - bias)) << fraction_bits);
    return sign | (bits > infinity ? infinity : bits);
}

int tly_bits_are_nan(tally_dtype dtype, uint64_t bits)
{
    const format *f = &formats[dtype];
    if (!f->is_float)
        return 0;
    const uint64_t infinity = ((UINT64_C(1) << f->exponent) - 1) << (f->significand - 1);
    const uint64_t sign = UINT64_C(1) << (f->significand + f->exponent - 1);
    return (bits & ~sign) > infinity;
}

tally_dtype tly_reference_accumulator(const tally_descriptor *d)
{
    if (!tly_is_float((tally_dtype)d->dtype))
        return (tally_dtype)d->dtype;
    if (d->dtype == TALLY_F64 || d->acc == TALLY_F64)
        return TALLY_F64;
    return TALLY_F32;
}

static void packed(const tally_descriptor *d, int64_t *strides)
{
    int64_t stride = 1;
    for (int k = d->rank - 1; k >= 0; k--) {
        strides[k] = stride;
        stride *= d->sizes[k] ? d->sizes[k] : 1;
    }
}

static void extent(const tly_layout *l, const int64_t *strides, int64_t offset, int64_t *low,
                   int64_t *high)
{
    *low = *high = offset;
    for (int k = 0; k < l->rank; k++) {
        int64_t reach = (l->sizes[k] - 1) * strides[k];
        if (l->sizes[k] == 0) {
            *low = 0, *high = -1;
            return;
        }
        *(reach < 0 ? low : high) += reach;
    }
}

void tly_layout_of(const tally_descriptor *d, tly_layout *l)
{
    memset(l, 0, sizeof *l);
    l->rank = d->rank;
    l->axis = d->axis < 0 ? d->axis + d->rank : d->axis;
    memcpy(l->sizes, d->sizes, sizeof l->sizes);
    packed(d, l->in_strides);
    packed(d, l->out_strides);
    if (d->flags & TALLY_IN_STRIDES) {
        memcpy(l->in_strides, d->in_strides, sizeof l->in_strides);
        l->in_offset = d->in_offset;
    }
    if (d->flags & TALLY_OUT_STRIDES) {
        memcpy(l->out_strides, d->out_strides, sizeof l->out_strides);
        l->out_offset = d->out_offset;
    }
    l->length = l->sizes[l->axis];
    l->rows = 1;
    for (int k = 0; k < l->rank; k++)
        if (k != l->axis)
            l->rows *= l->sizes[k];
    extent(l, l->in_strides, l->in_offset, &l->in_low, &l->in_high);
    extent(l, l->out_strides, l->out_offset, &l->out_low, &l->out_high);
    l->in_step = l->in_strides[l->axis];
    l->out_step = l->out_strides[l->axis];
    if (d->flags & TALLY_REVERSE && l->length > 0) {
        l->in_offset += (l->length - 1) * l->in_step;
        l->out_offset += (l->length - 1) * l->out_step;
        l->in_step = -l->in_step;
        l->out_step = -l->out_step;
    }
}

void tly_layout_row(const tly_layout *l, int64_t row, int64_t *in, int64_t *out)
{
    *in = l->in_offset;
    *out = l->out_offset;
    for (int k = l->rank - 1; k >= 0; k--) {
        if (k == l->axis)
            continue;
        *in += row % l->sizes[k] * l->in_strides[k];
        *out += row % l->sizes[k] * l->out_strides[k];
        row /= l->sizes[k];
    }
}

/* One running scan. */
typedef struct scan {
    int sum;       /* else product */
    int started;   /* the accumulator holds something */
    int single;    /* float accumulator is f32 */
    int precision; /* of the float accumulator */
    uint64_t integer;
    tly_fact fact;
    int lowest; /* sums: exponent of the lowest bit set in any input */
    double odd; /* products: of the inputs' odd parts */
} scan;

/* The least normal number of the accumulator's type. */
static double least_normal(const scan *s)
{
    return s->single ? FLT_MIN : DBL_MIN;
}

static double flush(const scan *s, double x)
{
    return fabs(x) < least_normal(s) ? copysign(0, x) : x;
}

static double combine(const scan *s, double a, double x)
{
    if (s->single) {
        float p = (float)a, q = (float)x;
        return s->sum ? p + q : p * q;
    }
    return s->sum ? a + x : a * x;
}

/* Nothing rounds in any order where all partial results are multiples of one power of two and
 * fit the significand; that holds for every sub-sum and every sub-product alike. */
static void note_exactness(scan *s, double x)
{
    int exponent;
    double m;
    if (x == 0)
        return;
    m = fabs(frexp(x, &exponent));
    uint64_t significand = (uint64_t)ldexp(m, 53);
    int trailing = __builtin_ctzll(significand);
    if (exponent - 53 + trailing < s->lowest)
        s->lowest = exponent - 53 + trailing;
    if (s->odd < 0x1p60)
        s->odd *= (double)(significand >> trailing);
}

/* The loop's product left the normal numbers downwards: from here on its value is open. */
static int underflows(const scan *s, double before, double x)
{
    const double now = s->fact.accumulator;
    const int is_exact_zero = x == 0 || (s->started && before == 0);
    return fabs(now) < least_normal(s) && !(now == 0 && is_exact_zero);
}

static void note_product(scan *s, double before, double x)
{
    tly_fact *f = &s->fact;
    if (underflows(s, before, x))
        f->flags |= TLY_FACT_UNDERFLOW;
    if (x == 0)
        f->flags |= TLY_FACT_ZERO_IN;
    if (signbit(x))
        f->flags ^= TLY_FACT_NEGATIVE;
}

/* Does no order round? A product that a zero made zero is one, unless it had underflowed. */
static int is_exact(const scan *s)
{
    const tly_fact *f = &s->fact;
    if (s->sum)
        return f->scale <= ldexpl(1, s->precision + s->lowest);
    return !(f->flags & TLY_FACT_UNDERFLOW) &&
           (f->flags & TLY_FACT_ZERO_IN || s->odd < ldexp(1, s->precision));
}

/* The least normal number itself may be what a subnormal was rounded to. */
static int may_flush(const scan *s, double x)
{
    return x != 0 && fabs(x) <= least_normal(s);
}

static void absorb_float(scan *s, double x)
{
    tly_fact *f = &s->fact;
    const double before = f->accumulator;
    const int was_finite = isfinite(before);

    f->accumulator = s->started ? combine(s, f->accumulator, x) : x;
    f->flushed = flush(s, s->started ? combine(s, f->flushed, flush(s, x)) : x);
    if (!isfinite(x)) {
        f->flags |= TLY_FACT_NONFINITE_IN | (isnan(x) ? TLY_FACT_NAN_IN : 0u);
        f->flags &= ~(uint32_t)(TLY_FACT_FINITE | TLY_FACT_ANY_ORDER);
        return;
    }
    if (was_finite && !isfinite(f->accumulator)) {
        f->flags |= TLY_FACT_OVERFLOW;
        f->flags &= ~(uint32_t)(TLY_FACT_FINITE | TLY_FACT_ANY_ORDER);
    }
    if (!s->sum)
        note_product(s, before, x);
    f->wide = s->sum ? f->wide + x : f->wide * x;
    f->scale = s->sum ? f->scale + fabs(x) : fabsl(f->wide);
    note_exactness(s, x);
    if (s->sum ? s->lowest < ilogb(least_normal(s))
               : may_flush(s, x) || may_flush(s, f->accumulator))
        f->flags |= TLY_FACT_SUBNORMAL;
    if (f->flags & TLY_FACT_FINITE)
        f->flags = is_exact(s) ? f->flags | TLY_FACT_ANY_ORDER
                               : f->flags & ~(uint32_t)TLY_FACT_ANY_ORDER;
}

static void absorb(scan *s, tally_dtype dtype, uint64_t bits)
{
    s->fact.terms++;
    if (s->fact.flags & TLY_FACT_FLOAT)
        absorb_float(s, tly_decode(dtype, bits));
    else if (!s->started)
        s->integer = bits;
    else /* modulo 2^64, of which the narrower widths are the low bits */
        s->integer = s->sum ? s->integer + bits : s->integer * bits;
    s->started = 1;
}

static void emit(scan *s, tally_dtype dtype)
{
    if (s->fact.flags & TLY_FACT_FLOAT) {
        s->fact.bits = tly_encode(dtype, s->fact.accumulator);
        return;
    }
    int bits = 8 * formats[dtype].bytes;
    s->fact.bits = bits == 64 ? s->integer : s->integer & ((UINT64_C(1) << bits) - 1);
}

static scan begin(const tally_descriptor *d, int64_t row)
{
    scan s = { .sum = d->op == TALLY_CUMSUM, .lowest = 4096, .odd = 1 };
    s.started = (d->flags & TALLY_EXCLUSIVE) != 0; /* only there the identity takes part */
    s.single = tly_reference_accumulator(d) == TALLY_F32;
    s.precision = s.single ? 24 : 53;
    s.integer = s.sum ? 0 : 1;
    s.fact.row = row;
    s.fact.accumulator = s.fact.flushed = s.sum ? 0 : 1;
    s.fact.wide = s.sum ? 0 : 1;
    s.fact.scale = s.fact.wide;
    s.fact.flags = tly_is_float((tally_dtype)d->dtype)
                       ? TLY_FACT_FLOAT | TLY_FACT_FINITE | TLY_FACT_ANY_ORDER
                       : 0;
    return s;
}

int tly_reference(const tally_descriptor *d, const void *in, tly_fact_visit visit, void *user)
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    const int exclusive = (d->flags & TALLY_EXCLUSIVE) != 0;
    tly_layout l;

    tly_layout_of(d, &l);
    for (int64_t row = 0; row < l.rows; row++) {
        int64_t at_in, at_out;
        scan s = begin(d, row);
        tly_layout_row(&l, row, &at_in, &at_out);
        for (int64_t i = 0; i < l.length; i++, at_in += l.in_step, at_out += l.out_step) {
            const uint64_t x = tly_bits_load(dtype, in, at_in); /* in place: before the store */
            if (!exclusive)
                absorb(&s, dtype, x);
            emit(&s, dtype);
            s.fact.position = i;
            s.fact.out = at_out;
            int stop = visit(user, &s.fact);
            if (stop)
                return stop;
            if (exclusive)
                absorb(&s, dtype, x);
        }
    }
    return 0;
}
