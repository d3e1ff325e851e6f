/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element types: how a stored element becomes an accumulator and back, one row a dtype. Narrow
 * floats are stored narrow and computed wide. Integer code converts bf16 on every target, f16 on
 * targets without a conversion, and accumulators of f64 to f16 or bf16, with one rounding.
 */
#include "../template.h"

static const struct {
    uint8_t kind, bytes;
} storage[TALLY_DTYPE_COUNT] = {
    [TALLY_F64] = { KIR_F64, 8 },  [TALLY_F32] = { KIR_F32, 4 }, [TALLY_F16] = { KIR_F16, 2 },
    [TALLY_BF16] = { KIR_I16, 2 }, [TALLY_I64] = { KIR_I64, 8 }, [TALLY_I32] = { KIR_I32, 4 },
    [TALLY_U64] = { KIR_I64, 8 },  [TALLY_U32] = { KIR_I32, 4 }, [TALLY_I16] = { KIR_I16, 2 },
    [TALLY_I8] = { KIR_I8, 1 },    [TALLY_U16] = { KIR_I16, 2 }, [TALLY_U8] = { KIR_I8, 1 },
    [TALLY_BOOL] = { KIR_I8, 1 },
};

kir_type tly_storage(tally_dtype dtype, unsigned lanes)
{
    return KIR_TYPE(storage[dtype].kind, lanes);
}

/* The bits of f16 in i32 lanes, as f32. An exact multiplication rebases exponents and normalises
 * subnormals. Infinities and NaNs are given f32's exponent. */
static kir_value half_to_single(tly_build *c, kir_value half)
{
    kir_value sign = shl(c, band(c, half, like(c, half, 0x8000)), like(c, half, 16));
    kir_value rest = shl(c, band(c, half, like(c, half, 0x7fff)), like(c, half, 13));
    kir_value scale = constant(c, KIR_TYPE(KIR_F32, type_of(c, half).lanes),
                               0x77800000); /* 2^112 */
    kir_value scaled = to_kind(c, KIR_BITCAST, KIR_I32,
                               mul(c, to_kind(c, KIR_BITCAST, KIR_F32, rest), scale));
    kir_value special = bor(c, rest, like(c, half, 0x7f800000));
    kir_value finite = ult(c, rest, like(c, half, 0x7c00u << 13));
    kir_value magnitude = choose(c, finite, scaled, special);
    return to_kind(c, KIR_BITCAST, KIR_F32, bor(c, magnitude, sign));
}

/* A narrow format, and the wide one that is rounded to it. */
typedef struct narrow_row {
    uint8_t wide; /* kir_kind of the wide bits */
    uint8_t drop; /* mantissa bits that are dropped */
    uint8_t wide_bits;
    uint64_t infinity; /* of the narrow format, without sign */
    uint64_t quiet;    /* a quiet NaN of it */
    uint64_t rebase;   /* exponent difference, at the narrow mantissa's place */
    uint64_t normal;   /* wide bits of the narrow format's smallest normal */
    uint64_t magic;    /* wide bits of 2^(narrow's smallest subnormal + wide mantissa): adding
                                it rounds a subnormal to nearest even at the right place */
} narrow_row;

static const narrow_row single_to_half = {
    KIR_I32, 13, 32, 0x7c00, 0x7e00, (uint64_t)(127 - 15) << 10, 0x38800000, 0x3f000000,
};
static const narrow_row double_to_half = {
    KIR_I64,
    42,
    64,
    0x7c00,
    0x7e00,
    (uint64_t)(1023 - 15) << 10,
    0x3f10000000000000,
    0x41b0000000000000,
};
static const narrow_row double_to_bfloat = {
    KIR_I64,
    45,
    64,
    0x7f80,
    0x7fc0,
    (uint64_t)(1023 - 127) << 7,
    0x3810000000000000,
    0x3ae0000000000000,
};

/* Rounds to nearest even. Normal results: adds half a unit in the last place, less one, plus the
 * last bit that is kept. Subnormal results: a floating-point addition rounds. */
static kir_value round_bits(tly_build *c, const narrow_row *f, kir_value real)
{
    kir_type t = type_of(c, real);
    kir_value v = to_kind(c, KIR_BITCAST, (kir_kind)f->wide, real);
    kir_value sign = band(c, v, like(c, v, 1ull << (f->wide_bits - 1)));
    kir_value mag = bxor(c, v, sign);
    kir_value odd = band(c, lshr(c, mag, like(c, v, f->drop)), like(c, v, 1));
    kir_value half = like(c, v, (1ull << (f->drop - 1)) - 1);
    kir_value up = add(c, add(c, mag, half), odd);
    kir_value normal = sub(c, lshr(c, up, like(c, v, f->drop)), like(c, v, f->rebase));
    kir_value high = like(c, v, f->infinity);
    normal = choose(c, ult(c, normal, high), normal, high);
    kir_value magic = constant(c, t, f->magic);
    kir_value sum = add(c, bitcast(c, t, mag), magic);
    kir_value tiny = sub(c, to_kind(c, KIR_BITCAST, (kir_kind)f->wide, sum), like(c, v, f->magic));
    kir_value is_tiny = ult(c, mag, like(c, v, f->normal));
    kir_value result = choose(c, is_tiny, tiny, normal);
    kir_value nan = uno(c, real, real);
    result = choose(c, nan, like(c, v, f->quiet), result);
    result = bor(c, result, lshr(c, sign, like(c, v, f->wide_bits - 16u)));
    return result;
}

static kir_value round_narrow(tly_build *c, const narrow_row *f, kir_value real)
{
    return to_kind(c, KIR_TRUNC, KIR_I16, round_bits(c, f, real));
}

/* f32 rounded to bf16, which is left in the upper half of a lane. bf16 has f32's exponents, so the
 * rounding of normal results is right for subnormals and overflow, too. NaNs of bf16 inputs and of
 * a CPU's arithmetic have 16 low zeros, so that no carry reaches their other bits. */
static kir_value round_bfloat(tly_build *c, kir_value real)
{
    kir_value v = to_kind(c, KIR_BITCAST, KIR_I32, real);
    kir_value odd = band(c, lshr(c, v, like(c, v, 16)), like(c, v, 1));
    return add(c, add(c, v, like(c, v, 0x7fff)), odd);
}

kir_value tly_narrow_number(tly_build *c, kir_value x)
{
    kir_value up = round_bfloat(c, x);
    return lshr(c, up, like(c, up, 16));
}

static kir_value single_to_bfloat(tly_build *c, kir_value real)
{
    kir_value bits = tly_narrow_number(c, real);
    if (c->p->program.type != 0) /* the NaN of an operand or a constant may have any bits */
        bits = choose(c, uno(c, real, real), like(c, bits, 0x7fc0), bits);
    return to_kind(c, KIR_TRUNC, KIR_I16, bits);
}

static kir_value lower(tly_build *c, kir_value pair)
{
    return shl(c, pair, like(c, pair, 16));
}

static kir_value upper(tly_build *c, kir_value pair)
{
    return band(c, pair, like(c, pair, 0xffff0000));
}

void tly_load_pairs(tly_build *c, kir_value p, kir_value *pair)
{
    kir_type t = KIR_TYPE(KIR_I32, c->lanes);
    int back = c->p->tensor[TLY_IN].step == -1;
    kir_value v = kir_load(c->b, t, p, back ? 2 - 4 * (int64_t)c->lanes : 0, 1);
    if (back)
        v = tly_reverse(c, v);
    pair[0] = to_kind(c, KIR_BITCAST, KIR_F32, back ? upper(c, v) : lower(c, v));
    pair[1] = to_kind(c, KIR_BITCAST, KIR_F32, back ? lower(c, v) : upper(c, v));
}

kir_value tly_narrow_pairs(tly_build *c, const kir_value *pair)
{
    int back = c->p->tensor[TLY_OUT].step == -1;
    kir_type halves = KIR_TYPE(KIR_I16, 2 * c->lanes);
    kir_value low = round_bfloat(c, pair[back]), high = round_bfloat(c, pair[!back]);
    uint8_t index[64];
    for (unsigned i = 0; i < halves.lanes; i++)
        index[i] = (uint8_t)(i % 2 ? halves.lanes + i : i);
    low = lshr(c, low, like(c, low, 16));
    kir_value v = kir_shuffle(c->b, bitcast(c, halves, low), bitcast(c, halves, high), index,
                              halves.lanes);
    v = bitcast(c, KIR_TYPE(KIR_I32, c->lanes), v);
    return back ? tly_reverse(c, v) : v;
}

/* The bits of f16 or bf16 in i32 lanes, as f32. */
static kir_value u32_to_single(tly_build *c, tally_dtype dtype, kir_value v)
{
    if (dtype == TALLY_F16 && c->t->has_f16)
        return to_kind(c, KIR_FPEXT, KIR_F32,
                       to_kind(c, KIR_BITCAST, KIR_F16, to_kind(c, KIR_TRUNC, KIR_I16, v)));
    if (dtype == TALLY_F16)
        return half_to_single(c, v);
    return to_kind(c, KIR_BITCAST, KIR_F32, shl(c, v, like(c, v, 16)));
}

/* Whether integers of a dtype are computed as i32s, which have their values. */
static int in_words(const tly_build *c, tally_dtype dtype)
{
    return c->t->no_narrow && tally_dtype_bytes(dtype) < 4;
}

/* An i32, of whose lower bits a narrow integer is made, as the i32 that has its value. */
static kir_value value_of(tly_build *c, tally_dtype dtype, kir_value word)
{
    const unsigned bits = 8 * (unsigned)tally_dtype_bytes(dtype);
    kir_value unused = like(c, word, 32 - bits);
    return tly_class_of(dtype) == TLY_SIGNED ? ashr(c, shl(c, word, unused), unused)
                                             : band(c, word, like(c, word, (1u << bits) - 1));
}

static kir_kind kind_of_values(const tly_build *c)
{
    const tally_dtype type = (tally_dtype)c->p->program.type;
    return in_words(c, type) ? KIR_I32 : (kir_kind)tly_storage(type, 1).kind;
}

kir_type tly_type_of_values(const tly_build *c, unsigned lanes)
{
    return KIR_TYPE(kind_of_values(c), lanes);
}

kir_value tly_wrap(tly_build *c, kir_value x)
{
    const tally_dtype type = (tally_dtype)c->p->program.type;
    return in_words(c, type) ? value_of(c, type, x) : x;
}

static int has_keys(const tly_build *c)
{
    return tly_operator_of(c->p)->compares;
}

/* What is shown are keys. */
static int shows_keys(const tly_build *c)
{
    return has_keys(c) && !tly_has_index(c->p);
}

static int is_signed(const tly_build *c)
{
    return tly_class_of(c->element) == TLY_SIGNED;
}

kir_value tly_truth(tly_build *c, kir_value x)
{
    kir_value one = like(c, x, 1), zero = like(c, x, 0);
    return choose(c, differ(c, x, zero), one, zero);
}

/* Bools are 0 and 1. */
kir_value tly_widen_integer(tly_build *c, kir_value x)
{
    int keeps_sign = tly_class_of(c->element) != TLY_UNSIGNED; /* keys do */
    kir_kind kind = (kir_kind)c->acc.kind;
    if (tly_is_floating(c))
        return to_kind(c, keeps_sign ? KIR_SITOFP : KIR_UITOFP, kind, x);
    if (kir_kind_bits((kir_kind)type_of(c, x).kind) >= kir_kind_bits(kind))
        return x;
    return to_kind(c, keeps_sign ? KIR_SEXT : KIR_ZEXT, kind, x);
}

kir_value tly_widen_u32(tly_build *c, kir_value v)
{
    if (has_keys(c))
        return tly_u32_to_key(c, v);
    if (tly_class_of(c->element) != TLY_FLOATING) {
        kir_value unused = like(c, v, 32 - 8 * c->bytes[TLY_IN]);
        if (is_signed(c))
            v = ashr(c, shl(c, v, unused), unused);
        return tly_widen_integer(c, v);
    }
    kir_value single = u32_to_single(c, c->element, v);
    return c->acc.kind == KIR_F64 ? to_kind(c, KIR_FPEXT, KIR_F64, single) : single;
}

kir_value tly_narrow_u32(tly_build *c, kir_value x)
{
    if (shows_keys(c) && c->p->program.type == 0)
        return tly_key_to_u32(c, x);
    if (c->p->tensor[TLY_OUT].dtype == TALLY_BOOL)
        return tly_narrow(c, x);
    if (!kir_is_float(type_of(c, x))) /* neighbours lie above it in a u32 */
        return band(c, x, like(c, x, (1u << 8 * c->bytes[TLY_OUT]) - 1));
    if (type_of(c, x).kind == KIR_F64) {
        int half = c->p->tensor[TLY_OUT].dtype == TALLY_F16;
        x = round_bits(c, half ? &double_to_half : &double_to_bfloat, x);
        return to_kind(c, KIR_TRUNC, KIR_I32, x);
    }
    if (c->p->tensor[TLY_OUT].dtype == TALLY_F16 && c->t->has_f16) {
        kir_value half = to_kind(c, KIR_FPTRUNC, KIR_F16, x);
        return to_kind(c, KIR_ZEXT, KIR_I32, to_kind(c, KIR_BITCAST, KIR_I16, half));
    }
    if (c->p->tensor[TLY_OUT].dtype == TALLY_F16)
        return round_bits(c, &single_to_half, x);
    /* A GPU's own NaN may have any bits. NVIDIA's has all of them set, and would overflow. */
    kir_value nan = uno(c, x, x), quiet = constant(c, KIR_TYPE(KIR_I32, 1), 0x7fc0);
    return choose(c, nan, quiet, tly_narrow_number(c, x));
}

int tly_narrows_numbers(const tly_build *c)
{
    return c->p->tensor[TLY_OUT].dtype == TALLY_BF16 && c->acc.kind == KIR_F32 && !has_keys(c) &&
           !tly_has_expression(c->p, TLY_EXPRESSION_POST);
}

/* Floats as f32 or, if they are f64 or `wide`, as f64. */
static kir_value widen_float(tly_build *c, tally_dtype dtype, int wide, kir_value x)
{
    kir_value single = x;
    if (dtype == TALLY_F64)
        return x;
    if (dtype == TALLY_F16)
        single = c->t->has_f16 ? to_kind(c, KIR_FPEXT, KIR_F32, x)
                               : u32_to_single(c, dtype,
                                               to_kind(c, KIR_ZEXT, KIR_I32,
                                                       to_kind(c, KIR_BITCAST, KIR_I16, x)));
    else if (dtype == TALLY_BF16)
        single = u32_to_single(c, dtype, to_kind(c, KIR_ZEXT, KIR_I32, x));
    return wide ? to_kind(c, KIR_FPEXT, KIR_F64, single) : single;
}

kir_value tly_widen(tly_build *c, kir_value x)
{
    if (has_keys(c))
        return tly_to_key(c, x);
    return tly_class_of(c->element) == TLY_FLOATING
               ? widen_float(c, c->element, c->acc.kind == KIR_F64, x)
               : tly_widen_integer(c, x);
}

/* Integers as a type that is wider, or a float that has all of them. */
static kir_value widen_to(tly_build *c, kir_kind kind, int is_signed, kir_value x)
{
    const kir_op extend = is_signed ? KIR_SEXT : KIR_ZEXT;
    const unsigned bits = kir_kind_bits((kir_kind)type_of(c, x).kind);
    if (kind == KIR_F32 || kind == KIR_F64) {
        x = bits < 32 ? to_kind(c, extend, KIR_I32, x) : x;
        return to_kind(c, is_signed ? KIR_SITOFP : KIR_UITOFP, kind, x);
    }
    return bits < kir_kind_bits(kind) ? to_kind(c, extend, kind, x) : x;
}

kir_value tly_as_type(tly_build *c, tally_dtype dtype, kir_value x)
{
    const kir_kind kind = kind_of_values(c);
    const int is_word = in_words(c, dtype);
    if (tly_class_of(dtype) == TLY_FLOATING) {
        x = is_word ? u32_to_single(c, dtype, x) : x;
        return widen_float(c, is_word ? TALLY_F32 : dtype, kind == KIR_F64, x);
    }
    if (dtype == TALLY_BOOL)
        x = tly_truth(c, x);
    else if (is_word && tly_class_of(dtype) == TLY_SIGNED)
        x = value_of(c, dtype, x);
    return widen_to(c, kind, tly_class_of(dtype) == TLY_SIGNED, x);
}

kir_value tly_loaded(tly_build *c, kir_value storage)
{
    if (c->p->program.type == 0)
        return tly_widen(c, storage);
    return tly_is_real_mean(c->p)
               ? storage
               : tly_as_type(c, (tally_dtype)c->p->tensor[TLY_IN].dtype, storage);
}

kir_value tly_as_element(tly_build *c, kir_value y)
{
    const tally_dtype type = (tally_dtype)c->p->program.type;
    const kir_kind from = (kir_kind)type_of(c, y).kind, to = kind_of_values(c);
    if (has_keys(c))
        return tly_from_key(c, y);
    if (from == to)
        return y;
    if (to == KIR_F32) /* a mean of integers */
        return to_kind(c, KIR_FPTRUNC, to, y);
    if (from == KIR_F32 || from == KIR_F64)
        return to_kind(c, tly_class_of(type) == TLY_SIGNED ? KIR_FPTOSI : KIR_FPTOUI, to, y);
    return to_kind(c, KIR_TRUNC, to, y);
}

kir_value tly_narrow(tly_build *c, kir_value x)
{
    int wide = type_of(c, x).kind == KIR_F64;
    if (shows_keys(c) && c->p->program.type == 0)
        return tly_from_key(c, x);
    switch (c->p->tensor[TLY_OUT].dtype) {
    case TALLY_F16:
        if (!wide && c->t->has_f16)
            return to_kind(c, KIR_FPTRUNC, KIR_F16, x);
        return to_kind(c, KIR_BITCAST, KIR_F16,
                       round_narrow(c, wide ? &double_to_half : &single_to_half, x));
    case TALLY_BF16:
        return wide ? round_narrow(c, &double_to_bfloat, x) : single_to_bfloat(c, x);
    case TALLY_F32:
        return wide ? to_kind(c, KIR_FPTRUNC, KIR_F32, x) : x;
    case TALLY_BOOL:
        return c->p->program.type != 0 ? tly_truth(c, x) : x;
    default:
        return x;
    }
}

int tly_narrow_raises(const tly_build *c)
{
    int wide = c->acc.kind == KIR_F64;
    return (c->p->tensor[TLY_OUT].dtype == TALLY_F32 && wide) ||
           (tly_is_floating(c) && c->p->tensor[TLY_OUT].dtype == TALLY_F16 && !wide &&
            c->t->has_f16 && !tly_target_narrows_quietly(c->t, c->lanes));
}

kir_value tly_load(tly_build *c, kir_value p, int64_t offset, unsigned lanes)
{
    kir_type t = tly_storage((tally_dtype)c->p->tensor[TLY_IN].dtype, lanes);
    return tly_loaded(c, kir_load(c->b, t, p, offset, 1));
}

void tly_store(tly_build *c, kir_value p, int64_t offset, kir_value acc, unsigned align,
               unsigned flags)
{
    kir_store(c->b, p, offset, tly_narrow(c, acc), align, flags);
}
