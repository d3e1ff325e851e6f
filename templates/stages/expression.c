/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions of a word: its program (runtime/descriptor/expression.h) as kernel IR. Elements, and
 * operands at the same place, are converted to the type of the expressions. Each operation is one
 * of that type, so that nothing is fused or regrouped.
 */
#include "../template.h"
#include "elementary.h"

#include <string.h>

enum { MOST_KNOWN = 2 * TLY_MOST_OPERATIONS }; /* of `map` and `coef` */

/* What an operation made of its arguments (0: of fewer). */
typedef struct known {
    int code;
    kir_value argument[3], result;
} known;

/* Expressions of one element on their way. No operation is done twice. */
typedef struct walk {
    tly_build *c;
    const tly_place *at;
    tally_dtype type;
    kir_type storage;                           /* of a value, in all lanes */
    kir_value value[TLY_POSTFIX_LAST_NAME + 1]; /* of the names that were met; 0: not yet */
    known known[MOST_KNOWN];
    unsigned known_count;
} walk;

static int is_float(const walk *w)
{
    return tly_class_of(w->type) == TLY_FLOATING;
}

static int is_signed(const walk *w)
{
    return tly_class_of(w->type) == TLY_SIGNED;
}

/* ---- names ---- */

static kir_value name_of(walk *w, int code)
{
    const int tensor = code == TLY_POSTFIX_X ? TLY_IN : TLY_FIRST_OPERAND + code - TLY_POSTFIX_A;
    if (w->value[code] == 0) {
        const kir_value *loaded = w->at->loaded;
        kir_value stored = loaded && loaded[tensor]
                               ? loaded[tensor]
                               : tly_load_at(w->c, w->at, tensor, w->storage.lanes);
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

static kir_value operation_once(walk *w, int code, const kir_value *v)
{
    known now = { .code = code };
    memcpy(now.argument, v, arguments_of[code] * sizeof *v);
    for (unsigned i = 0; i < w->known_count; i++) {
        const known *k = &w->known[i];
        if (k->code == code && memcmp(k->argument, now.argument, sizeof now.argument) == 0)
            return k->result;
    }
    now.result = operation(w, code, v);
    w->known[w->known_count++] = now;
    return now.result;
}

static kir_value evaluate(walk *w, const uint8_t *code)
{
    kir_value stack[TLY_MOST_ALIVE + 1];
    unsigned count = 0;
    for (; *code != TLY_POSTFIX_END; code++) {
        if (*code <= TLY_POSTFIX_LAST_NAME) {
            stack[count++] = name_of(w, *code);
        } else if (*code >= TLY_POSTFIX_CONSTANT) {
            stack[count++] = constant_of(w, *code - TLY_POSTFIX_CONSTANT);
        } else {
            count -= arguments_of[*code];
            stack[count] = operation_once(w, *code, &stack[count]);
            count++;
        }
    }
    return stack[0];
}

/* Begins expressions whose own name (x or y) has the value `given`. */
static walk walk_from(tly_build *c, const tly_place *at, int name, kir_value given)
{
    walk w = {
        .c = c, .at = at, .type = (tally_dtype)c->p->program.type, .storage = type_of(c, given)
    };
    w.value[name] = given;
    return w;
}

/* Whether there is a `map` without names. */
static int is_constant(const tly_build *c)
{
    const uint64_t names = (UINT64_C(2) << TLY_POSTFIX_LAST_NAME) - 1;
    const uint64_t codes = tly_codes_of(c->p, TLY_EXPRESSION_MAP);
    return codes != 0 && (codes & names) == 0;
}

static kir_value map(walk *w, kir_value x)
{
    tly_build *c = w->c;
    if (tly_has_expression(c->p, TLY_EXPRESSION_MAP))
        x = evaluate(w, c->p->program.code[TLY_EXPRESSION_MAP]);
    /* What the optimiser knows would be combined while the kernel is made, and raise no flags. */
    if (is_constant(c) && kir_workgroup_of(c->b) == 0)
        x = kir_keep(c->b, x);
    if (tly_combined(c->p) == TALLY_BOOL)
        x = tly_truth(c, x);
    return x;
}

kir_value tly_map(tly_build *c, const tly_place *at, kir_value x)
{
    if (c->p->program.type == 0)
        return x;
    walk w = walk_from(c, at, TLY_POSTFIX_X, x);
    return map(&w, x);
}

kir_value tly_map_and_coef(tly_build *c, const tly_place *at, kir_value x, kir_value *coef)
{
    static const uint8_t operand_a[] = { TLY_POSTFIX_A, TLY_POSTFIX_END };
    const int has_own = tly_has_expression(c->p, TLY_EXPRESSION_COEF);
    walk w = walk_from(c, at, TLY_POSTFIX_X, x);
    x = map(&w, x);
    *coef = evaluate(&w, has_own ? c->p->program.code[TLY_EXPRESSION_COEF] : operand_a);
    return x;
}

/* The type of its values may be another than that of the other expressions. Places are asked by the
 * context itself, as templates for GPUs have more around it. */
kir_value tly_resets(tly_build *c, const tly_place *at, kir_value x)
{
    const tly_problem *const problem = c->p;
    tly_problem own = *problem;
    own.program.type = problem->program.reset_type;
    const int sees_x = own.program.type == problem->program.type;
    c->p = &own;
    kir_value given = sees_x ? x : constant(c, tly_type_of_values(c, type_of(c, x).lanes), 0);
    walk w = walk_from(c, at, TLY_POSTFIX_X, given);
    kir_value v = evaluate(&w, own.program.code[TLY_EXPRESSION_RESET]);
    c->p = problem;
    kir_value none = like(c, v, 0);
    return kir_is_float(type_of(c, v)) ? une(c, v, none) : differ(c, v, none);
}

kir_value tly_mapped_at(tly_build *c, const tly_place *at, unsigned lanes)
{
    return tly_map(c, at, tly_loaded(c, tly_load_at(c, at, TLY_IN, lanes)));
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
    if (!tly_has_expression(c->p, TLY_EXPRESSION_POST))
        return y;
    walk w = walk_from(c, at, TLY_POSTFIX_Y, y);
    return evaluate(&w, c->p->program.code[TLY_EXPRESSION_POST]);
}
