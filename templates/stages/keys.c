/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of operators that compare: integers that order as the elements do. An element becomes a key
 * when it is loaded. When it is stored, it becomes an element again, with the same bits. The
 * minimum of integers is one instruction. That of IEEE 754 takes five, because of NaN and of the
 * sign of zero. No result can leave a range, so nothing is checked.
 *
 * The key of an integer is the integer, in at least 32 bits. The bits of a float order like its
 * value, as a signed integer, if the bits below a set sign are inverted. -0 is then below +0, NaNs
 * with a sign are below -inf, and NaNs without one above inf. A subtraction that wraps around
 * brings all NaNs to one end: where they win, or, if they are ignored, where they lose. A float of
 * 16 bits is the upper half of its key.
 *
 * A reduction shows one key, or its index. Its NaNs are all one key, and if it shows an index, so
 * are both zeros. Of f32 and f64, several elements become one key: their largest or smallest is
 * found as a float, by x86's one instruction, which ignores NaN and the sign of zero. Comparisons
 * find these, at half an instruction an element.
 */
#include "../template.h"

static unsigned key_bits(const tly_build *c)
{
    return 8 * c->acc_bytes;
}

static int is_float(const tly_build *c)
{
    return tly_class_of(c->element) == TLY_FLOATING;
}

/* Of keys: bits below the sign. */
static uint64_t magnitude(const tly_build *c)
{
    return UINT64_MAX >> (65 - key_bits(c));
}

/* How far a float's bits are shifted up in its key. */
static unsigned key_shift(const tly_build *c)
{
    return key_bits(c) - 8 * c->element_bytes;
}

static int takes_most(const tly_build *c)
{
    return tly_operator_of(c->p)->neutral[0] == TLY_LEAST;
}

/* The result of tly_order_bits() for a constant element. */
static uint64_t ordered_bits(const tly_build *c, uint64_t element)
{
    uint64_t bits = element << key_shift(c);
    return bits > magnitude(c) ? bits ^ magnitude(c) : bits;
}

/* The number that is subtracted. Either -inf becomes the lowest key and all NaNs lie at the upper
 * end, or inf becomes the highest key and they lie at the lower end. */
static uint64_t key_offset(const tly_build *c)
{
    int nans_up = takes_most(c) != c->p->nan_ignore;
    uint64_t end = tly_value_bits(nans_up ? TLY_LEAST : TLY_MOST, c->element);
    return ordered_bits(c, end) - (nans_up ? magnitude(c) + 1 : magnitude(c));
}

uint64_t tly_key_bits(const tly_build *c, uint64_t element)
{
    uint64_t all = UINT64_MAX >> (64 - key_bits(c)), sign = UINT64_C(1)
                                                            << (8 * c->element_bytes - 1);
    if (is_float(c))
        return (ordered_bits(c, element) - key_offset(c)) & all;
    if (tly_class_of(c->element) == TLY_SIGNED)
        element = (element ^ sign) - sign;
    return element & all;
}

kir_value tly_order_bits(tly_build *c, kir_value bits, uint64_t below)
{
    unsigned width = kir_kind_bits((kir_kind)type_of(c, bits).kind);
    kir_value sign = ashr(c, bits, like(c, bits, width - 1));
    kir_value turned = below != 0 ? band(c, sign, like(c, bits, below))
                                  : lshr(c, sign, like(c, bits, 1));
    return bxor(c, bits, turned);
}

/* Floats: `bits` in the upper bits of a key. */
static kir_value order(tly_build *c, kir_value bits)
{
    return sub(c, tly_order_bits(c, bits, magnitude(c)), like(c, bits, key_offset(c)));
}

static kir_value restore(tly_build *c, kir_value key)
{
    key = add(c, key, like(c, key, key_offset(c)));
    return tly_order_bits(c, key, magnitude(c));
}

/* Scans that tell an index have the keys of reductions, in which equals are one. */
static int shares_keys(const tly_build *c)
{
    return is_float(c) && tly_has_index(c->p);
}

kir_value tly_u32_to_key(tly_build *c, kir_value u32)
{
    kir_value unused = like(c, u32, key_shift(c));
    if (shares_keys(c))
        return tly_reduce_key(c, ashr(c, shl(c, u32, unused), unused),
                              magnitude(c) >> key_shift(c));
    if (is_float(c))
        return order(c, shl(c, u32, unused));
    if (tly_class_of(c->element) == TLY_UNSIGNED)
        return u32;
    return ashr(c, shl(c, u32, unused), unused);
}

kir_value tly_key_to_u32(tly_build *c, kir_value key)
{
    if (is_float(c))
        return lshr(c, restore(c, key), like(c, key, key_shift(c)));
    return band(c, key, like(c, key, UINT64_MAX >> (64 - 8 * c->element_bytes)));
}

static kir_value converted(tly_build *c, kir_op op, kir_kind kind, kir_value v)
{
    return type_of(c, v).kind == kind ? v : to_kind(c, op, kind, v);
}

kir_value tly_to_key(tly_build *c, kir_value storage)
{
    int is_signed = tly_class_of(c->element) == TLY_SIGNED;
    kir_value v = storage; /* of integers perhaps an i32 that has the value of a narrower one */
    if (kir_is_float(type_of(c, v)))
        v = converted(c, KIR_BITCAST, integer_of(c->element_bytes), v);
    if (shares_keys(c))
        return converted(c, KIR_SEXT, (kir_kind)c->acc.kind, tly_reduce_key(c, v, 0));
    v = converted(c, is_signed ? KIR_SEXT : KIR_ZEXT, (kir_kind)c->acc.kind, v);
    if (!is_float(c))
        return v;
    return order(c, key_shift(c) > 0 ? shl(c, v, like(c, v, key_shift(c))) : v);
}

kir_value tly_from_key(tly_build *c, kir_value key)
{
    kir_value v = is_float(c) ? restore(c, key) : key;
    if (is_float(c) && key_shift(c) > 0)
        v = lshr(c, v, like(c, v, key_shift(c)));
    if (c->t->no_narrow && c->element_bytes < 4)
        return v;
    v = converted(c, KIR_TRUNC, integer_of(c->element_bytes), v);
    return converted(c, KIR_BITCAST, (kir_kind)tly_storage(c->element, 1).kind, v);
}

/* ---- of reductions ---- */

/* Keys that do not become elements again: both zeros have one key, and all NaNs have one beyond
 * infinity, by the subtraction above. With AVX2 that takes seven operations; choosing zeros and
 * NaNs takes twelve. */
static kir_value key_of_index(tly_build *c, kir_value bits)
{
    const int nans_up = takes_most(c) != c->p->nan_ignore;
    const uint64_t most = (UINT64_C(1) << (8 * c->element_bytes - 1)) - 1;
    const uint64_t infinity = tly_value_bits(TLY_MOST, c->element);
    const uint64_t by = nans_up ? most - infinity
                                : infinity - most; /* -inf lowest, or inf highest */
    const uint64_t nan = (nans_up ? infinity + 1 : ~infinity - 1) - by;
    kir_value key = tly_order_bits(c, bits, 0);
    kir_value negative_zero = equal(c, key, like(c, bits, UINT64_MAX));
    key = choose(c, negative_zero, like(c, bits, 0), key);
    key = sub(c, key, like(c, bits, by));
    return bin(c, nans_up ? KIR_SMIN : KIR_SMAX, key, like(c, bits, nan));
}

int tly_keys_are_deferred(const tly_build *c)
{
    const int wide = c->element == TALLY_F32 || c->element == TALLY_F64;
    return tly_operator_of(c->p)->compares && wide && !c->p->nan_ignore;
}

/* The larger or smaller, whichever wins; y if one of them is NaN. One instruction of x86. */
static kir_value nearer(tly_build *c, kir_value x, kir_value y)
{
    kir_value less = takes_most(c) ? olt(c, y, x) : olt(c, x, y);
    return choose(c, less, x, y);
}

static kir_value bits_of(tly_build *c, kir_value x)
{
    return to_kind(c, KIR_BITCAST, (kir_kind)c->acc.kind, x);
}

/* Chooses between zeros: the largest has a sign if all elements have one, the smallest if any
 * has. */
static kir_value with_sign(tly_build *c, kir_value best, const kir_value *x, unsigned n)
{
    kir_value size = bits_of(c, best), sign[TLY_REDUCE_MOST_STEPS] = { size };
    for (unsigned i = 0; i < n; i++)
        sign[i] = bits_of(c, x[i]);
    for (unsigned k = n; k > 1; k = (k + 1) / 2)
        for (unsigned i = 0; i < k / 2; i++)
            sign[i] = bin(c, takes_most(c) ? KIR_AND : KIR_OR, sign[i], sign[i + (k + 1) / 2]);
    size = band(c, size, like(c, size, magnitude(c)));
    return bor(c, size, band(c, sign[0], like(c, size, ~magnitude(c))));
}

tly_extreme tly_extreme_of(tly_build *c, const kir_value *x, unsigned n)
{
    kir_value best[TLY_REDUCE_MOST_STEPS] = { x[0] }, numbers = 0;
    for (unsigned i = 1; i < n; i++)
        best[i] = x[i];
    for (unsigned k = n; k > 1; k = (k + 1) / 2)
        for (unsigned i = 0; i < k / 2; i++)
            best[i] = nearer(c, best[i], best[i + (k + 1) / 2]);
    for (unsigned i = 0; i < n; i += 2) { /* one comparison finds the NaNs of two elements */
        kir_value two = tly_not(c, uno(c, x[i], x[i + 1 < n ? i + 1 : i]));
        numbers = i > 0 ? band(c, numbers, two) : two;
    }
    kir_value bits;
    if (tly_has_index(c->p)) /* -0 becomes +0 */
        bits = bits_of(c, add(c, best[0], like(c, best[0], 0)));
    else
        bits = n > 1 ? with_sign(c, best[0], x, n) : bits_of(c, best[0]);
    kir_value nan = like(c, bits, takes_most(c) ? magnitude(c) : ~magnitude(c));
    kir_value key = choose(c, numbers, tly_order_bits(c, bits, magnitude(c)), nan);
    return (tly_extreme){ best[0], numbers, key };
}

kir_value tly_reduce_key(tly_build *c, kir_value bits, uint64_t below)
{
    if (tly_has_index(c->p) && below == 0)
        return key_of_index(c, bits);
    uint64_t magnitude = (UINT64_C(1) << (8 * c->element_bytes - 1)) - 1;
    kir_value size = band(c, bits, like(c, bits, magnitude));
    kir_value infinity = like(c, bits, tly_value_bits(TLY_MOST, c->element));
    kir_value nan = less(c, infinity, size);
    kir_value key = tly_order_bits(c, bits, below);
    if (tly_has_index(c->p)) { /* zeros are equal */
        kir_value zero = like(c, bits, 0);
        key = choose(c, equal(c, size, zero), size, key);
    }
    uint64_t end = takes_most(c) != c->p->nan_ignore ? magnitude : ~magnitude;
    return choose(c, nan, like(c, bits, end), key);
}
