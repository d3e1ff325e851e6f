/* SPDX-License-Identifier: Apache-2.0 */
/* Types, places and conversions around expressions, from docs/word.md alone. */
#include "fused.h"

#include <string.h>

static const tally_operand no_operand;

int tly_is_fused(const tally_descriptor *d)
{
    return d->map[0] || d->coef[0] || d->post[0] || d->reset[0] || d->operands[0].dtype;
}

/* ---- types ---- */

static tally_dtype wider(tally_dtype a, tally_dtype b)
{
    return tally_dtype_bytes(b) > tally_dtype_bytes(a) ? b : a;
}

tally_dtype tly_fused_type(const tally_descriptor *d)
{
    const tally_dtype in = (tally_dtype)d->dtype;
    const int tells_index = tly_operations[d->op].family == TLY_INDICES;
    const tally_dtype out = tells_index ? in : tly_reference_output(d);
    const tally_dtype computed = tly_is_float(out) && !tly_is_float(in) ? out : wider(in, out);
    if (tly_is_float(computed))
        return computed == TALLY_F64 || d->acc == TALLY_F64 ? TALLY_F64 : TALLY_F32;
    return computed == TALLY_BOOL ? TALLY_U8 : computed;
}

/* Bits of the whole numbers that a dtype holds from 0 or 1 on. */
static int whole_bits(tally_dtype dtype)
{
    if (tly_is_float(dtype))
        return tly_precision(dtype);
    return dtype == TALLY_BOOL ? 1 : 8 * (int)tally_dtype_bytes(dtype) - tly_is_signed(dtype);
}

int tly_fused_fits(tally_dtype dtype, tally_dtype type)
{
    if (tly_is_float(dtype))
        return dtype == type || (tly_is_float(type) && wider(dtype, type) != dtype);
    return whole_bits(dtype) <= whole_bits(type) &&
           (!tly_is_signed(dtype) || tly_is_signed(type) || tly_is_float(type));
}

/* ---- places ---- */

/* Row-major over the dims in `axes`, the same along all others. */
static void pack_axes(const tally_descriptor *d, uint32_t axes, int64_t *strides)
{
    int64_t stride = 1;
    for (int k = TALLY_MAX_RANK - 1; k >= 0; k--)
        if (k < d->rank && axes >> k & 1) {
            strides[k] = stride;
            stride *= d->sizes[k] ? d->sizes[k] : 1;
        }
}

void tly_fused_place_of(const tally_descriptor *d, int operand, tly_fused_place *place)
{
    const tally_operand *o = &d->operands[operand];
    memset(place, 0, sizeof *place);
    place->dtype = (tally_dtype)o->dtype;
    if (o->place == TALLY_PLACE_STRIDES) {
        memcpy(place->strides, o->strides, (size_t)d->rank * sizeof o->strides[0]);
        place->offset = o->offset;
    } else {
        pack_axes(d, o->place == TALLY_PLACE_AXES ? o->axes : UINT32_MAX, place->strides);
    }
    /* Where a reduction has no elements, `post` still reads operands that lack its axes. */
    int64_t sizes[TALLY_MAX_RANK] = { 0 };
    for (int k = 0; k < d->rank; k++)
        sizes[k] = place->strides[k] ? d->sizes[k] : 1;
    tly_layout_extent(d->rank, sizes, place->strides, place->offset, &place->low, &place->high);
}

void tly_fused_load(const tly_fused *f, const tly_layout *l, const void *const *operands,
                    int64_t row, int64_t position, tly_scalar names[TLY_NAMES])
{
    for (int k = 0; k < TALLY_MAX_OPERANDS && f->places[k].dtype; k++) {
        const tly_fused_place *place = &f->places[k];
        if (place->high < place->low)
            continue;
        const int64_t at = tly_layout_index(l, place->strides, place->offset, row, position);
        names[TLY_NAME_A + k] = tly_fused_widen(f, place->dtype,
                                                tly_bits_load(place->dtype, operands[k], at));
    }
}

/* ---- all of it ---- */

int tly_fused_is_mean(const tly_fused *f)
{
    return tly_operations[f->values.op].projection == TLY_BY_COUNT && !f->has_map &&
           !tly_is_float(f->in) && tly_is_float(f->stored);
}

/* Mapped elements of a bool are combined as bools, and all others in the expressions' type. */
static void find_values(const tally_descriptor *d, tly_fused *f)
{
    tally_descriptor *v = &f->values;
    *v = *d;
    for (int k = 0; k < TALLY_MAX_OPERANDS; k++)
        v->operands[k] = no_operand;
    memset(v->map, 0, sizeof v->map);
    memset(v->coef, 0, sizeof v->coef);
    memset(v->reset, 0, sizeof v->reset);
    memset(v->post, 0, sizeof v->post);
    if ((d->dtype != TALLY_BOOL || f->type != TALLY_U8) && !tly_fused_is_mean(f))
        v->dtype = (int32_t)f->type;
    v->out_dtype = (int32_t)(f->has_post ? f->type : f->stored);
    v->acc = f->type == TALLY_F64 ? TALLY_F64 : 0;
}

int tly_fused_of(const tally_descriptor *d, tly_fused *f)
{
    memset(f, 0, sizeof *f);
    f->has_map = d->map[0] != 0;
    f->has_coef = d->coef[0] != 0;
    f->has_reset = d->reset[0] != 0;
    f->has_post = d->post[0] != 0;
    f->type = tly_fused_type(d);
    f->in = (tally_dtype)d->dtype;
    f->stored = tly_reference_output(d);
    f->values = *d;
    if (!tly_is_fused(d))
        return 0;
    find_values(d, f);
    for (int k = 0; k < TALLY_MAX_OPERANDS; k++)
        tly_fused_place_of(d, k, &f->places[k]);
    return (f->has_map && tly_formula_parse(d->map, &f->map)) ||
                   (f->has_coef && tly_formula_parse(d->coef, &f->coef)) ||
                   (f->has_reset && tly_formula_parse(d->reset, &f->reset)) ||
                   (f->has_post && tly_formula_parse(d->post, &f->post))
               ? -1
               : 0;
}

/* ---- values ---- */

tly_scalar tly_fused_widen(const tly_fused *f, tally_dtype dtype, uint64_t bits)
{
    const uint64_t whole = tly_is_float(dtype) ? 0 : tly_integer_widen(dtype, bits);
    if (!tly_is_float(f->type))
        return (tly_scalar){ .whole = whole };
    const double x = tly_is_float(dtype) ? tly_decode(dtype, bits)
                                         : (double)tly_integer_value(dtype, whole);
    return (tly_scalar){ .real = f->type == TALLY_F32 ? (float)x : x };
}

uint64_t tly_fused_store(const tly_fused *f, tally_dtype dtype, tly_scalar value)
{
    if (tly_is_float(f->type))
        return tly_encode(dtype, value.real);
    return dtype == TALLY_BOOL ? value.whole != 0 : tly_integer_cut(dtype, value.whole);
}

uint64_t tly_fused_map(const tly_fused *f, const tly_scalar names[TLY_NAMES], int *subnormal)
{
    const tly_scalar u = f->has_map ? tly_formula_evaluate(&f->map, f->type, names, subnormal)
                                    : names[TLY_NAME_X];
    return tly_fused_store(f, (tally_dtype)f->values.dtype, u);
}

int tly_fused_recurs(const tly_fused *f)
{
    return tly_operations[f->values.op].family == TLY_RECURRENCES;
}

/* Without an expression it is operand a. */
uint64_t tly_fused_coef(const tly_fused *f, const tly_scalar names[TLY_NAMES], int *subnormal)
{
    const tly_scalar a = f->has_coef ? tly_formula_evaluate(&f->coef, f->type, names, subnormal)
                                     : names[TLY_NAME_A];
    return tly_fused_store(f, (tally_dtype)f->values.dtype, a);
}

int tly_fused_resets(const tly_fused *f, const tly_scalar names[TLY_NAMES], int *subnormal)
{
    const tly_scalar v = tly_formula_evaluate(&f->reset, f->type, names, subnormal);
    return tly_is_float(f->type) ? v.real != 0 : v.whole != 0;
}

uint64_t tly_fused_post(const tly_fused *f, const tly_scalar names[TLY_NAMES], int *subnormal)
{
    return tly_fused_store(f, f->stored, tly_formula_evaluate(&f->post, f->type, names, subnormal));
}
