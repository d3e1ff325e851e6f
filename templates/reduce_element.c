/*
 * Elements of reductions: from memory to accumulators, and from states back. Where elements are
 * compared, accumulators are integers that order as they do: of floats by their bits, negative ones
 * turned around; -0 below +0, but equal where an index is wanted; NaN at the end of all, or, passed
 * over, where it never wins.
 */
#include "reduce.h"

static kir_value bin(tly_reduce *r, kir_op op, kir_value x, kir_value y)
{
    return kir_bin(r->c->b, op, x, y);
}

static kir_value constant(tly_reduce *r, kir_value like, uint64_t bits)
{
    return kir_const(r->c->b, kir_type_of(r->c->b, like), bits);
}

static const tly_operator *row(const tly_reduce *r)
{
    return tly_operator_find(r->c->p->op);
}

static unsigned bits_of(const tly_reduce *r, kir_value x)
{
    return kir_kind_bits((kir_kind)kir_type_of(r->c->b, x).kind);
}

static kir_kind integer_of(unsigned bits)
{
    return bits == 64 ? KIR_I64 : bits == 32 ? KIR_I32 : bits == 16 ? KIR_I16 : KIR_I8;
}

/* x, or where that is negative its complement without the sign: turns magnitudes into an order, and
 * back. */
static kir_value turn(tly_reduce *r, kir_value x)
{
    unsigned bits = bits_of(r, x);
    kir_value sign = bin(r, KIR_ASHR, x, constant(r, x, bits - 1));
    return bin(r, KIR_XOR, x, bin(r, KIR_LSHR, sign, constant(r, x, 1)));
}

/* Bits of floats of the input as integers in their order. */
static kir_value key_of(tly_reduce *r, kir_value x)
{
    kir_builder *b = r->c->b;
    const tly_problem *p = r->c->p;
    uint64_t sign = UINT64_C(1) << (8 * r->c->in_bytes - 1);
    int largest = p->op == TALLY_MAX || p->op == TALLY_ARGMAX;
    kir_value size = bin(r, KIR_AND, x, constant(r, x, sign - 1));
    kir_value infinity = constant(r, x, tly_value_bits(TLY_MOST, (tally_dtype)p->dtype));
    kir_value nan = kir_cmp(b, KIR_SLT, infinity, size);
    kir_value key = turn(r, x);
    if (r->indexed) /* zeros are equal */
        key = kir_select(b, kir_cmp(b, KIR_EQ, size, constant(r, x, 0)), size, key);
    uint64_t end = largest != p->nan_ignore ? sign - 1 : sign;
    return kir_select(b, nan, constant(r, x, end), key);
}

static kir_value widen_integer(tly_reduce *r, kir_value x)
{
    kir_builder *b = r->c->b;
    tally_dtype dtype = (tally_dtype)r->c->p->dtype;
    kir_type to = { r->c->acc.kind, kir_type_of(b, x).lanes };
    int is_signed = tly_class_of(dtype) != TLY_UNSIGNED;
    if (dtype == TALLY_BOOL) {
        kir_value one = constant(r, x, 1), zero = constant(r, x, 0);
        x = kir_select(b, kir_cmp(b, KIR_NE, x, zero), one, zero);
    }
    if (kir_is_float(to))
        return kir_convert(b, is_signed ? KIR_SITOFP : KIR_UITOFP, to, x);
    if (bits_of(r, x) < kir_kind_bits((kir_kind)to.kind))
        return kir_convert(b, is_signed ? KIR_SEXT : KIR_ZEXT, to, x);
    return x;
}

static kir_value accumulators(tly_reduce *r, kir_value x)
{
    tly_build *c = r->c;
    if (tly_class_of((tally_dtype)c->p->dtype) != TLY_FLOATING)
        return widen_integer(r, x);
    if (!row(r)->compares)
        return tly_widen(c, x);
    kir_type t = kir_type_of(c->b, x);
    kir_type integers = KIR_TYPE(integer_of(kir_kind_bits((kir_kind)t.kind)), t.lanes);
    if (t.kind != integers.kind)
        x = kir_convert(c->b, KIR_BITCAST, integers, x);
    return widen_integer(r, key_of(r, x));
}

kir_value tly_reduce_load(tly_reduce *r, kir_value p, int64_t offset, unsigned lanes)
{
    kir_type t = tly_storage((tally_dtype)r->c->p->dtype, lanes);
    return accumulators(r, kir_load(r->c->b, t, p, offset, 1));
}

kir_value tly_reduce_load_some(tly_reduce *r, kir_value p, kir_value count)
{
    kir_type t = tly_storage((tally_dtype)r->c->p->dtype, r->c->lanes);
    kir_value zero = kir_const(r->c->b, t, 0);
    return accumulators(r, kir_mload(r->c->b, t, p, 0, count, zero));
}

/* Keys back to elements. */
static kir_value element_of(tly_reduce *r, kir_value key)
{
    tly_build *c = r->c;
    tally_dtype dtype = (tally_dtype)c->p->dtype;
    kir_type to = tly_storage(dtype, kir_type_of(c->b, key).lanes);
    if (tly_class_of(dtype) != TLY_FLOATING)
        return key;
    key = turn(r, key);
    return to.kind == kir_type_of(c->b, key).kind ? key : kir_convert(c->b, KIR_BITCAST, to, key);
}

static kir_value stored(tly_reduce *r, kir_value y)
{
    tly_build *c = r->c;
    tally_dtype out = (tally_dtype)c->p->out_dtype;
    kir_type from = kir_type_of(c->b, y), to = tly_storage(out, from.lanes);
    if (row(r)->compares && !r->indexed)
        return element_of(r, y);
    if (kir_is_float(from) && tly_class_of(out) == TLY_FLOATING)
        return tly_narrow(c, y);
    if (kir_is_float(from))
        return kir_convert(c->b, tly_class_of(out) == TLY_SIGNED ? KIR_FPTOSI : KIR_FPTOUI, to, y);
    unsigned had = kir_kind_bits((kir_kind)from.kind), has = kir_kind_bits((kir_kind)to.kind);
    if (had < has) /* an index */
        return kir_convert(c->b, KIR_ZEXT, to, y);
    return had > has ? kir_convert(c->b, KIR_TRUNC, to, y) : y;
}

kir_value tly_reduce_result(tly_reduce *r, kir_value state)
{
    tly_build *c = r->c;
    kir_value y = stored(r, tly_project(c, state));
    kir_value count = mul(c, kir_get(c->b, KIR_ARG_STEPS), kir_get(c->b, KIR_ARG_LENGTH));
    uint64_t bits = tly_value_bits((tly_value)row(r)->empty, (tally_dtype)c->p->out_dtype);
    return kir_select(c->b, equal(c, count, imm(c, 0)), constant(r, y, bits), y);
}

void tly_reduce_store(tly_reduce *r, kir_value out, kir_value lane, kir_value y)
{
    tly_build *c = r->c;
    kir_value step = tly_out_step(c), at = kir_ptradd(c->b, out, mul(c, lane, step));
    if (c->p->out_step == 1) {
        kir_store(c->b, at, 0, y, 1, 0);
        return;
    }
    for (unsigned i = 0; i < kir_type_of(c->b, y).lanes; i++) {
        kir_store(c->b, at, 0, kir_extract(c->b, y, i), 1, 0);
        at = kir_ptradd(c->b, at, step);
    }
}

kir_value tly_reduce_indices(tly_reduce *r, kir_value index, unsigned lanes, int apart)
{
    kir_builder *b = r->c->b;
    kir_type t = tly_storage(tly_index_dtype(r->c->p), lanes);
    if (t.kind != KIR_I64)
        index = kir_convert(b, KIR_TRUNC, KIR_TYPE(t.kind, 1), index);
    index = kir_splat(b, index, lanes);
    return apart && lanes > 1 ? kir_bin(b, KIR_ADD, index, kir_iota(b, t)) : index;
}
