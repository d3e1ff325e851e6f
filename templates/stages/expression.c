/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of a word: its program (runtime/descriptor/expression.h) as kernel IR. Elements, and
 * operands at the same place, are converted to the type of the expressions. Each operation is one
 * of that type, so that nothing is fused or regrouped.
 */
#include "../template.h"
#include "elementary.h"

#include <string.h>

/* An expression on its way. */
typedef struct walk {
    tly_build *c;
    const tly_place *at;
    tally_dtype type;
    kir_type storage;                           /* of a value, in all lanes */
    kir_value value[TLY_POSTFIX_LAST_NAME + 1]; /* of the names that were met; 0: not yet */
    kir_value stack[TLY_MOST_ALIVE + 1];
    unsigned count;
} walk;

static int is_float(const walk *w)
{
    return tly_class_of(w->type) == TLY_FLOATING;
}

static int is_signed(const walk *w)
{
    return tly_class_of(w->type) == TLY_SIGNED;
}

/* ---- elements at a place ---- */

/* Bytes from an element of a vector to the next. */
static kir_value lane_step(tly_build *c, const tly_place *at, int tensor)
{
    return at->steps != NULL ? at->steps[tensor] : tly_lane(c, tensor);
}

/* One by one. If only the first `count` are there, the last of them stands for the others. */
static kir_value load_apart(tly_build *c, kir_type t, kir_value p, kir_value step, kir_value count)
{
    kir_type one = t;
    kir_value v = 0;
    const int is_half = t.kind == KIR_F16; /* which are moved as integers */
    one.lanes = 1;
    one.kind = (uint8_t)(is_half ? KIR_I16 : t.kind);
    for (unsigned i = 0; i < t.lanes; i++) {
        kir_value lane = imm(c, i);
        if (count != 0)
            lane = tly_min(c, lane, sub(c, count, imm(c, 1)));
        kir_value x = kir_load(c->b, one, ptradd(c, p, mul(c, lane, step)), 0,
                               kir_kind_bits((kir_kind)one.kind) / 8);
        v = i == 0 ? kir_splat(c->b, x, t.lanes) : kir_insert(c->b, v, x, i);
    }
    return is_half ? bitcast(c, t, v) : v;
}

/* Whether vectors of elements of so many bytes can be loaded in part. */
static int is_masked(const tly_build *c, unsigned bytes)
{
    return c->t->mask_bytes > 0 && (unsigned)c->t->mask_bytes <= bytes;
}

/* One narrow element, whose bits are the lower ones of an i32, the others 0. */
static kir_value load_word(tly_build *c, kir_value p, unsigned bytes)
{
    kir_value x = kir_load(c->b, KIR_TYPE(bytes == 2 ? KIR_I16 : KIR_I8, 1), p, 0, bytes);
    return convert(c, KIR_ZEXT, KIR_TYPE(KIR_I32, 1), x);
}

/* The elements of a tensor at a place, as they are stored. */
static kir_value load_at(tly_build *c, const tly_place *at, int tensor, unsigned lanes)
{
    const unsigned bytes = c->bytes[tensor];
    const kir_type t = tly_storage((tally_dtype)c->p->tensor[tensor].dtype, lanes);
    kir_value p = at->address(c, at, tensor);
    if (c->t->no_narrow && bytes < 4)
        return load_word(c, p, bytes);
    if (lanes == 1)
        return kir_load(c->b, t, p, 0, bytes);
    kir_value step = lane_step(c, at, tensor);
    if (step == imm(c, 0))
        return kir_splat(c->b, kir_load(c->b, KIR_TYPE(t.kind, 1), p, 0, bytes), lanes);
    if (step == imm(c, bytes) && at->count != 0 && at->steps == NULL && is_masked(c, bytes))
        return kir_mload(c->b, t, p, 0, at->count, constant(c, t, 0));
    if (step == imm(c, bytes) && at->count == 0)
        return kir_load(c->b, t, p, 0, bytes);
    if (step == imm(c, -(int64_t)bytes) && at->count == 0)
        return tly_reverse(c, kir_load(c->b, t, p, -(int64_t)(lanes - 1) * bytes, bytes));
    return load_apart(c, t, p, step, at->count);
}

static kir_value name_of(walk *w, int code)
{
    const int tensor = code == TLY_POSTFIX_X ? TLY_IN : TLY_FIRST_OPERAND + code - TLY_POSTFIX_A;
    if (w->value[code] == 0) {
        kir_value stored = load_at(w->c, w->at, tensor, w->storage.lanes);
        w->value[code] = tly_as_type(w->c, (tally_dtype)w->c->p->tensor[tensor].dtype, stored);
    }
    return w->value[code];
}

/* ---- operations ---- */

static kir_value bits(walk *w, uint64_t value)
{
    return constant(w->c, w->storage, value);
}

/* The same, but that a driver does not know it, for no launch sets this flag. Where it does know a
 * zero, lavapipe drops the addition of it, which makes +0 of -0, and a product with it. Mesa's
 * comparisons of widened i64s with literals are wrong (22.3). */
static kir_value hidden(walk *w, uint64_t value)
{
    tly_build *c = w->c;
    const int is_wide = kir_kind_bits((kir_kind)w->storage.kind) == 64;
    const kir_type integer = KIR_TYPE(is_wide ? KIR_I64 : KIR_I32, 1);
    kir_value flags = arg(c, KIR_ARG_FLAGS), none = band(c, flags, like(c, flags, 0x80000000));
    none = is_wide ? convert(c, KIR_ZEXT, integer, none) : none;
    none = bxor(c, constant(c, integer, value), none);
    return is_float(w) ? bitcast(c, w->storage, none) : none;
}

static kir_value zero(walk *w)
{
    return is_float(w) && w->c->t->hides ? hidden(w, 0) : bits(w, 0);
}

/* Constants of floats are those of an f64. */
static kir_value constant_of(walk *w, int index)
{
    uint64_t value = w->c->p->program.constants[index];
    if (w->type == TALLY_F32) {
        double wide;
        float narrow;
        uint32_t low;
        memcpy(&wide, &value, sizeof wide);
        narrow = (float)wide;
        memcpy(&low, &narrow, sizeof low);
        value = low;
    }
    const unsigned width = kir_kind_bits((kir_kind)w->storage.kind);
    if (w->c->t->hides && (is_float(w) ? value << (65 - width) == 0 : width == 64))
        return hidden(w, value);
    return bits(w, width < 64 ? value & ((UINT64_C(1) << width) - 1) : value);
}

static kir_value one(walk *w)
{
    return bits(w, tly_value_bits(TLY_ONE, w->type));
}

static kir_value compare(walk *w, int code, kir_value x, kir_value y)
{
    static const uint8_t preds[][3] = {
        /* of floats, and of integers with and without a sign */
        [TLY_POSTFIX_LE] = { KIR_OLE, KIR_SLE, KIR_ULE },
        [TLY_POSTFIX_LT] = { KIR_OLT, KIR_SLT, KIR_ULT },
        [TLY_POSTFIX_EQ] = { KIR_OEQ, KIR_EQ, KIR_EQ },
        [TLY_POSTFIX_NE] = { KIR_UNE, KIR_NE, KIR_NE },
    };
    const int is_turned = code == TLY_POSTFIX_GE || code == TLY_POSTFIX_GT;
    if (is_turned)
        code = code == TLY_POSTFIX_GE ? TLY_POSTFIX_LE : TLY_POSTFIX_LT;
    kir_pred pred = (kir_pred)preds[code][is_float(w) ? 0 : is_signed(w) ? 1 : 2];
    kir_value truth = cmp(w->c, pred, is_turned ? y : x, is_turned ? x : y);
    return choose(w->c, truth, one(w), zero(w));
}

static kir_value extreme(walk *w, int code, kir_value x, kir_value y)
{
    const int least = code == TLY_POSTFIX_MIN;
    const kir_op by = is_float(w)    ? (least ? KIR_MINIMUM : KIR_MAXIMUM)
                      : is_signed(w) ? (least ? KIR_SMIN : KIR_SMAX)
                                     : (least ? KIR_UMIN : KIR_UMAX);
    return bin(w->c, by, x, y);
}

/* -x and |x| of floats are their bits with another sign. */
static kir_value with_sign(walk *w, kir_op by, uint64_t mask, kir_value x)
{
    tly_build *c = w->c;
    kir_kind kind = w->type == TALLY_F64 ? KIR_I64 : KIR_I32;
    kir_value all = to_kind(c, KIR_BITCAST, kind, x);
    all = bin(c, by, all, like(c, all, mask));
    return to_kind(c, KIR_BITCAST, (kir_kind)w->storage.kind, all);
}

static kir_value negative(walk *w, kir_value x)
{
    const uint64_t sign = w->type == TALLY_F64 ? UINT64_C(1) << 63 : UINT64_C(1) << 31;
    return is_float(w) ? with_sign(w, KIR_XOR, sign, x) : tly_wrap(w->c, sub(w->c, bits(w, 0), x));
}

static kir_value magnitude(walk *w, kir_value x)
{
    const uint64_t rest = w->type == TALLY_F64 ? INT64_MAX : INT32_MAX;
    if (is_float(w))
        return with_sign(w, KIR_AND, rest, x);
    return is_signed(w) ? bin(w->c, KIR_SMAX, x, negative(w, x)) : x;
}

static kir_value sigmoid(walk *w, kir_value x)
{
    tly_build *c = w->c;
    return tly_quotient(c, one(w), add(c, one(w), tly_exp(c, negative(w, x))));
}

static kir_value where(walk *w, kir_value truth, kir_value yes, kir_value no)
{
    kir_value none = bits(w, 0);
    kir_value holds = is_float(w) ? une(w->c, truth, none) : differ(w->c, truth, none);
    return choose(w->c, holds, yes, no);
}

static kir_value operation(walk *w, int code, const kir_value *v)
{
    tly_build *c = w->c;
    switch (code) {
    case TLY_POSTFIX_ADD:
        return tly_wrap(c, add(c, v[0], v[1]));
    case TLY_POSTFIX_SUB:
        return tly_wrap(c, sub(c, v[0], v[1]));
    case TLY_POSTFIX_MUL:
        return tly_wrap(c, mul(c, v[0], v[1]));
    case TLY_POSTFIX_DIV:
        return tly_quotient(c, v[0], v[1]);
    case TLY_POSTFIX_NEG:
        return negative(w, v[0]);
    case TLY_POSTFIX_ABS:
        return magnitude(w, v[0]);
    case TLY_POSTFIX_SQRT:
        return tly_root(c, v[0]);
    case TLY_POSTFIX_EXP:
        return tly_exp(c, v[0]);
    case TLY_POSTFIX_LOG:
        return tly_log(c, v[0]);
    case TLY_POSTFIX_SIG:
        return sigmoid(w, v[0]);
    case TLY_POSTFIX_FLOOR:
        return kir_unary(c->b, KIR_FLOOR, v[0]);
    case TLY_POSTFIX_ROUND:
        return kir_unary(c->b, KIR_ROUND, v[0]);
    case TLY_POSTFIX_MIN:
    case TLY_POSTFIX_MAX:
        return extreme(w, code, v[0], v[1]);
    case TLY_POSTFIX_WHERE:
        return where(w, v[0], v[1], v[2]);
    default:
        return compare(w, code, v[0], v[1]);
    }
}

/* ---- expressions ---- */

static const uint8_t arguments_of[] = {
#define ARGUMENTS(NAME, text, arguments, binds, integers) [TLY_POSTFIX_##NAME] = arguments,
    TLY_OPERATIONS(ARGUMENTS)
#undef ARGUMENTS
};

/* The value of an expression, whose own name (x or y) has the value `given`. */
static kir_value evaluate(tly_build *c, int id, const tly_place *at, int name, kir_value given)
{
    const uint8_t *code = c->p->program.code[id];
    walk w = {
        .c = c, .at = at, .type = (tally_dtype)c->p->program.type, .storage = type_of(c, given)
    };
    w.value[name] = given;
    for (; *code != TLY_POSTFIX_END; code++) {
        if (*code <= TLY_POSTFIX_LAST_NAME) {
            w.stack[w.count++] = name_of(&w, *code);
        } else if (*code >= TLY_POSTFIX_CONSTANT) {
            w.stack[w.count++] = constant_of(&w, *code - TLY_POSTFIX_CONSTANT);
        } else {
            w.count -= arguments_of[*code];
            w.stack[w.count] = operation(&w, *code, &w.stack[w.count]);
            w.count++;
        }
    }
    return w.stack[0];
}

/* Whether an expression that is there has no names. */
static int is_constant(const uint8_t *code)
{
    int names = *code == TLY_POSTFIX_END;
    for (; *code != TLY_POSTFIX_END; code++)
        names = names || *code <= TLY_POSTFIX_LAST_NAME;
    return !names;
}

kir_value tly_map(tly_build *c, const tly_place *at, kir_value x)
{
    if (c->p->program.type == 0)
        return x;
    if (tly_has_expression(c->p, TLY_EXPRESSION_MAP))
        x = evaluate(c, TLY_EXPRESSION_MAP, at, TLY_POSTFIX_X, x);
    /* What the optimiser knows would be combined while the kernel is made, and raise no flags. */
    if (is_constant(c->p->program.code[TLY_EXPRESSION_MAP]) && kir_workgroup_of(c->b) == 0)
        x = kir_keep(c->b, x);
    if (tly_combined(c->p) == TALLY_BOOL)
        x = choose(c, differ(c, x, like(c, x, 0)), like(c, x, 1), like(c, x, 0));
    return x;
}

kir_value tly_mapped_at(tly_build *c, const tly_place *at, unsigned lanes)
{
    return tly_map(c, at, tly_loaded(c, load_at(c, at, TLY_IN, lanes)));
}

kir_value tly_map_at(tly_build *c, const tly_place *at, unsigned lanes)
{
    return tly_widen(c, tly_mapped_at(c, at, lanes));
}

kir_value tly_post(tly_build *c, const tly_place *at, kir_value y)
{
    return c->p->program.type == 0 || tly_has_index(c->p)
               ? y
               : tly_post_element(c, at, tly_as_element(c, y));
}

kir_value tly_post_element(tly_build *c, const tly_place *at, kir_value y)
{
    return tly_has_expression(c->p, TLY_EXPRESSION_POST)
               ? evaluate(c, TLY_EXPRESSION_POST, at, TLY_POSTFIX_Y, y)
               : y;
}

int tly_post_raises(const tly_build *c)
{
    const uint8_t *code = c->p->program.code[TLY_EXPRESSION_POST];
    int raises = 0;
    for (; *code != TLY_POSTFIX_END; code++)
        raises = raises || *code == TLY_POSTFIX_EXP || *code == TLY_POSTFIX_SIG;
    return raises;
}
