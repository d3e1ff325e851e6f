/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of data, in blocks: a kind makes doubles, one loop for each dtype rounds and stores them.
 * An element is a function of its index alone, so nothing depends on the blocks.
 */
#include "data.h"

#include "../common/about.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1024 }; /* even, for pairs */

typedef struct block {
    int64_t first, count; /* indices first to first + count - 1 */
    int64_t step;         /* the input's stride along the axis */
    int64_t total;        /* elements of the buffer */
    int product;
    double value[BLOCK];
} block;

struct tly_kind {
    const char *name;
    void (*make)(block *b);
};

uint64_t tly_scramble(uint64_t index)
{
    uint64_t x = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* [0, 1); a second number of the same index comes from the other end of the range. */
static double unit(int64_t index)
{
    return (double)(tly_scramble((uint64_t)index) >> 11) * 0x1p-53;
}

static double other(int64_t index)
{
    return unit(~index);
}

/* Products: g(k + step) / g(k) for powers of two g, step being the stride along the axis. Along
 * the axis these telescope, so no product of any stretch leaves [2^-6, 2^6]. */
static double telescoping(int64_t index, int64_t step)
{
    uint64_t here = tly_scramble((uint64_t)index), next = tly_scramble((uint64_t)(index + step));
    uint64_t bits = here >> 63 << 63 | (1023 + next % 7 - here % 7) << 52;
    double factor;
    memcpy(&factor, &bits, sizeof factor);
    return factor;
}

/* No rounding is needed in any dtype. */
static double safe(const block *b, int64_t index)
{
    return b->product ? telescoping(index, b->step)
                      : ((int)(tly_scramble((uint64_t)index) % 255) - 127) / 128.0;
}

static double near_one(int64_t index)
{
    return 1 + (unit(index) - 0.5) * 0.02;
}

static double mask(int64_t index)
{
    double u = unit(index);
    return u < 0.3 ? 1 : u < 0.32 ? 0 : 1 - other(index);
}

static double special(int64_t index)
{
    static const double values[] = { INFINITY, -INFINITY, NAN };
    return values[tly_scramble((uint64_t)~index) % 3];
}

static int one_in_1000(int64_t index)
{
    return tly_scramble((uint64_t)~index) >> 11 < (UINT64_C(1) << 53) / 1000;
}

static double place(const block *b, int64_t index)
{
    return (double)index / (double)b->total;
}

#define MAKER(name, value_at_k) \
    static void make_##name(block *b) \
    { \
        for (int64_t i = 0; i < b->count; i++) { \
            const int64_t k = b->first + i; \
            b->value[i] = value_at_k; \
            (void)k; \
        } \
    }

MAKER(safe, safe(b, k))
MAKER(near_one, near_one(k))
MAKER(survival, 1 - 0.05 * unit(k))
MAKER(around_one, 0.5 + unit(k))
MAKER(uniform, unit(k))
MAKER(growing, 1 + unit(k))
MAKER(mask, mask(k))
MAKER(zeros, one_in_1000(k) ? 0 : near_one(k))
MAKER(specials, one_in_1000(k) ? special(k) : near_one(k))
MAKER(equal, 1)
MAKER(ascending, 0.5 + place(b, k))
MAKER(descending, 1.5 - place(b, k))

/* Pairs by Box and Muller; a block begins with an even index. */
static void make_normal(block *b)
{
    for (int64_t i = 0; i < b->count; i += 2) {
        double radius = sqrt(-2 * log(1 - unit(b->first + i)));
        double angle = 6.283185307179586 * other(b->first + i);
        b->value[i] = radius * cos(angle);
        b->value[i + 1] = radius * sin(angle); /* beyond `count` there is room, as BLOCK is even */
    }
}

static const tly_kind kinds[] = {
    /* the first one is the default */
    { "safe", make_safe },
    { "near1", make_near_one },
    { "survival", make_survival },
    { "around1", make_around_one },
    { "uniform", make_uniform },
    { "growing", make_growing },
    { "normal", make_normal },
    { "mask", make_mask },
    { "zeros", make_zeros },
    { "specials", make_specials },
    { "equal", make_equal },
    { "ascending", make_ascending },
    { "descending", make_descending },
};

enum { KINDS = sizeof kinds / sizeof *kinds };

const tly_kind *tly_kind_find(const char *name)
{
    for (int i = 0; name && i < KINDS; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    return name ? NULL : kinds;
}

const char *tly_kind_name(const tly_kind *kind)
{
    return kind->name;
}

void tly_kind_list(char *text, size_t capacity)
{
    size_t used = 0;
    for (int i = 0; i < KINDS && used < capacity; i++) {
        used += (size_t)snprintf(text + used, capacity - used, "%s%s", i ? ", " : "",
                                 kinds[i].name);
    }
}

/* Nearest even, from the f32. */
static uint16_t half_of(float value)
{
    uint32_t bits, magnitude;
    memcpy(&bits, &value, sizeof bits);
    magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) {
        magnitude = 0x7e00;
    } else if (magnitude >= 0x477ff000) { /* 65520 */
        magnitude = 0x7c00;
    } else if (magnitude < 0x38800000) { /* 2^-14: subnormals are multiples of 2^-24 */
        magnitude = (uint32_t)rintf(fabsf(value) * 0x1p24f);
    } else {
        magnitude = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    }
    return (uint16_t)(magnitude | (bits >> 16 & 0x8000));
}

static uint16_t bfloat_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(isnan(value) ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void store(tally_dtype dtype, const block *b, void *to)
{
    for (int64_t i = 0; i < b->count; i++) {
        switch (dtype) {
        case TALLY_F64:
            ((double *)to)[i] = b->value[i];
            break;
        case TALLY_F32:
            ((float *)to)[i] = (float)b->value[i];
            break;
        case TALLY_F16:
            ((uint16_t *)to)[i] = half_of((float)b->value[i]);
            break;
        default:
            ((uint16_t *)to)[i] = bfloat_of((float)b->value[i]);
            break;
        }
    }
}

/* Uniform over the dtype, whatever the kind. */
static void store_integers(tally_dtype dtype, size_t element, int64_t first, int64_t count,
                           char *to)
{
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = tly_scramble((uint64_t)(first + i)) &
                        (dtype == TALLY_BOOL ? 1 : UINT64_MAX);
        memcpy(to + (size_t)i * element, &bits, element);
    }
}

void tly_kind_fill(const tly_kind *kind, const tally_descriptor *d, int64_t step, void *in,
                   int64_t count, void (*at)(uint64_t done))
{
    const tally_dtype dtype = (tally_dtype)d->dtype;
    const size_t element = tally_dtype_bytes(dtype);
    block b = { .step = step,
                .total = count,
                .product = tly_about_op(d->op)->combines == TLY_MULTIPLIES };
    for (b.first = 0; b.first < count; b.first += BLOCK) {
        char *to = (char *)in + (size_t)b.first * element;
        b.count = count - b.first < BLOCK ? count - b.first : BLOCK;
        if (tly_about_is_float(dtype)) {
            kind->make(&b);
            store(dtype, &b, to);
        } else {
            store_integers(dtype, element, b.first, b.count, to);
        }
        if (at) {
            at((uint64_t)b.first);
        }
    }
}
