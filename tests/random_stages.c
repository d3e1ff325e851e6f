/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operands and expressions. Guarantees: what is drawn is valid by docs/word.md, section
 * "Operands and expressions"; only the seed decides.
 */
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fused.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* Deeper expressions would have too many values alive, longer ones too many characters. */
enum { MOST_DEPTH = 3, MOST_OPERATIONS = 8 };

/* An expression being written. Operands come into being as they are named, so that the letters have
 * no gaps. */
typedef struct writer {
    tly_random *r;
    tally_dtype type;
    int sees_x, sees_y;
    int operands;  /* so far, of the word */
    uint32_t used; /* bit k: this expression names operand k */
    int operations;
    int length;
    char text[2 * TALLY_EXPRESSION_MAX];
} writer;

static void put(writer *w, const char *text)
{
    const size_t room = sizeof w->text - (size_t)w->length;
    const int length = snprintf(w->text + w->length, room, "%s", text);
    w->length += length < (int)room ? length : (int)room - 1;
}

static void put_operand(writer *w, int k)
{
    const char name[] = { (char)('a' + k), 0 };
    if (k == w->operands)
        w->operands++;
    w->used |= 1u << k;
    put(w, name);
}

static void put_any_operand(writer *w)
{
    const int most = w->operands < TALLY_MAX_OPERANDS ? w->operands : TALLY_MAX_OPERANDS - 1;
    put_operand(w, (int)tly_random_between(w->r, 0, most));
}

static void put_element(writer *w)
{
    const int y = w->sees_y && (!w->sees_x || !tly_random_one_in(w->r, 4));
    if (y || w->sees_x)
        put(w, y ? "y" : "x");
    else
        put_any_operand(w);
}

static void put_constant(writer *w)
{
    static const char *const floats[] = { "0",   "1",    "2",     "0.5",   "4",        "-1",
                                          "3.5", "1e-3", "1e30",  "-1e30", "1e-40",    "192",
                                          "-0",  "inf",  "-inf",  "nan",   "16777217", "0.1",
                                          "1.5", "2.5",  "3e-45", "1e38",  "7e-2",     "-0.25" };
    static const char *const integers[] = { "0",   "1",   "2",  "3",  "5",   "7",
                                            "100", "127", "-1", "-2", "-128" };
    if (tly_is_float(w->type)) { /* ordinary numbers more often */
        const int64_t count = tly_random_one_in(w->r, 3) ? COUNT(floats) : 8;
        put(w, floats[tly_random_below(w->r, count)]);
        return;
    }
    char largest[24];
    snprintf(largest, sizeof largest, "%llu", (unsigned long long)tly_integer_largest(w->type));
    const int64_t k = tly_random_below(w->r, tly_is_signed(w->type) ? COUNT(integers) + 1 : 9);
    put(w, k == (tly_is_signed(w->type) ? COUNT(integers) : 8) ? largest : integers[k]);
}

static void put_leaf(writer *w)
{
    switch (tly_random_below(w->r, 5)) {
    case 0:
        put_constant(w);
        break;
    case 1:
    case 2:
        put_any_operand(w);
        break;
    default:
        put_element(w);
    }
}

static void put_tree(writer *w, int depth);

static void put_call(writer *w, int depth)
{
    static const struct {
        const char *name;
        int arguments, integers;
    } functions[] = { { "abs(", 1, 1 },   { "min(", 2, 1 },   { "max(", 2, 1 },  { "where(", 3, 1 },
                      { "exp(", 1, 0 },   { "log(", 1, 0 },   { "sqrt(", 1, 0 }, { "sig(", 1, 0 },
                      { "where(", 3, 0 }, { "floor(", 1, 0 }, { "round(", 1, 0 } };
    const int64_t k = tly_random_below(w->r, tly_is_float(w->type) ? COUNT(functions) : 4);
    put(w, functions[k].name);
    for (int i = 0; i < functions[k].arguments; i++) {
        put(w, i ? "," : "");
        put_tree(w, depth + 1);
    }
    put(w, ")");
}

/* Without parentheses the text has another tree than the one that is being drawn, which is as
 * good. A comparison stands in parentheses: it has no other place within a sum. */
static void put_pair(writer *w, int depth)
{
    static const char *const operators[] = { "*", "+", "-", "*", "/" };
    static const char *const comparisons[] = { "<", "<=", ">", ">=", "==", "!=" };
    const int compares = tly_random_one_in(w->r, 5);
    const int enclosed = compares || !tly_random_one_in(w->r, 3);
    const char *operator= compares
        ? comparisons[tly_random_below(w->r, COUNT(comparisons))]
        : operators[tly_random_below(w->r, tly_is_float(w->type) ? 5 : 4)];
    put(w, enclosed ? "(" : "");
    put_tree(w, depth + 1);
    put(w, operator);
    put_tree(w, depth + 1);
    put(w, enclosed ? ")" : "");
}

static void put_tree(writer *w, int depth)
{
    if (depth == MOST_DEPTH || w->operations == MOST_OPERATIONS ||
        (depth && tly_random_one_in(w->r, 4))) {
        put_leaf(w);
        return;
    }
    w->operations++;
    switch (tly_random_below(w->r, 7)) {
    case 0:
        put(w, "-");
        if (tly_is_float(w->type)) /* the minus may become a part of a constant */
            put_leaf(w);
        else
            put_element(w);
        break;
    case 1:
    case 2:
        put_call(w, depth);
        break;
    default:
        put_pair(w, depth);
    }
}

/* What users write. A and B are operands, V is the element or the result. The first ones are for
 * integers, too. */
static void put_phrase(writer *w)
{
    static const char *const phrases[] = { "V*A",
                                           "1-V",
                                           "where(A,V,0)",
                                           "V+A",
                                           "V*V",
                                           "A-V",
                                           "max(V,A)",
                                           "abs(V)",
                                           "(V-A)*B",
                                           "where(V>A,V,B)",
                                           "A",
                                           "where(V!=0,1,0)",
                                           "V/4",
                                           "V/A",
                                           "exp(-abs(V))",
                                           "sig(V)",
                                           "sqrt(abs(V))",
                                           "where(V==V,V,0)",
                                           "exp(V-A)",
                                           "log(abs(V)+1)",
                                           "round(V*4)/4",
                                           "floor(V)",
                                           "1/(1+exp(-V))",
                                           "min(max(V,0),6)" };
    const int64_t count = tly_is_float(w->type) ? COUNT(phrases) : 12;
    const char *phrase = phrases[tly_random_below(w->r, count)];
    int a = -1;
    for (; *phrase; phrase++) {
        const char character[] = { *phrase, 0 };
        if (*phrase == 'V') {
            put(w, w->sees_y ? "y" : "x");
        } else if (*phrase == 'A' || *phrase == 'B') {
            if (a < 0 || *phrase == 'B')
                a = w->operands < TALLY_MAX_OPERANDS ? w->operands
                                                     : (int)tly_random_below(w->r, w->operands);
            put_operand(w, a);
        } else {
            put(w, character);
        }
    }
}

/* The last try always fits. */
static void write_expression(writer *w, char text[TALLY_EXPRESSION_MAX])
{
    const int operands = w->operands;
    for (int tries = 0; tries < 9; tries++) {
        w->operands = operands;
        w->used = 0;
        w->length = w->operations = 0;
        w->text[0] = 0;
        if (tries == 8)
            put_element(w);
        else if (tly_random_one_in(w->r, 3))
            put_phrase(w);
        else
            put_tree(w, 0);
        if (w->length < TALLY_EXPRESSION_MAX)
            break;
    }
    memset(text, 0, TALLY_EXPRESSION_MAX);
    memcpy(text, w->text, (size_t)w->length);
}

/* ---- operands ---- */

static void draw_operand_dtype(tly_random *r, tally_dtype type, tally_operand *o)
{
    do
        o->dtype = (int32_t)tly_random_between(r, 1, TALLY_DTYPE_COUNT - 1);
    while (!tly_fused_fits((tally_dtype)o->dtype, type));
    if (tly_random_one_in(r, 4))
        o->dtype = TALLY_BOOL;
    else if (tly_random_one_in(r, 3))
        o->dtype = (int32_t)type;
}

/* Strides of any order and sign; several elements may share a place. */
static void draw_strides(tly_random *r, int64_t limit, uint32_t axes, const tally_descriptor *d,
                         tally_operand *o)
{
    int64_t reach = 0;
    o->place = TALLY_PLACE_STRIDES;
    o->offset = tly_random_one_in(r, 2) ? 0 : tly_random_between(r, -40, 40);
    for (int n = 0, k = (int)tly_random_below(r, d->rank); n < d->rank;
         n++, k = (k + 1) % d->rank) {
        const int64_t last = d->sizes[k] > 1 ? d->sizes[k] - 1 : 0;
        int64_t stride = tly_random_one_in(r, 4) ? tly_random_between(r, 1, 3)
                                                 : reach + 1 + tly_random_below(r, 3);
        if (!(axes >> k & 1) || tly_random_one_in(r, 5) || stride > (limit - reach) / (last + 1))
            stride = 0;
        reach += stride * last;
        if (tly_random_one_in(r, 4)) {
            o->offset += stride * last;
            stride = -stride;
        }
        o->strides[k] = stride;
    }
}

/* Along the axes in `axes` at most. */
static void draw_place(tly_random *r, int64_t limit, uint32_t axes, const tally_descriptor *d,
                       tally_operand *o)
{
    const uint32_t every = (1u << d->rank) - 1;
    const int64_t kind = tly_random_below(r, 8);
    o->place = TALLY_PLACE_AXES;
    if (kind == 0 && d->rank)
        draw_strides(r, limit, axes, d, o);
    else if (kind < 4 && axes == every)
        o->place = TALLY_PLACE_PACKED;
    else if (kind < 4)
        o->axes = axes;
    else if (kind < 7)
        o->axes = (uint32_t)tly_random_next(r) & axes;
}

/* ---- words ---- */

/* Outputs that only words with expressions have. */
static void draw_output(tly_random *r, tally_descriptor *d)
{
    static const uint8_t narrower[] = { TALLY_F32, TALLY_F16, TALLY_BF16 };
    static const uint8_t to_single[] = { TALLY_I8, TALLY_I16, TALLY_U8, TALLY_U16, TALLY_BOOL };
    static const uint8_t to_double[] = { TALLY_I32, TALLY_U32 };
    if (tly_operations[d->op].family == TLY_INDICES || !tly_random_one_in(r, 4))
        return;
    d->flags &= ~(uint32_t)TALLY_NAN_IGNORE;
    d->acc = 0;
    if (tly_random_one_in(r, 2)) {
        d->dtype = tly_random_one_in(r, 2) ? TALLY_F64 : TALLY_F32;
        d->out_dtype =
            narrower[d->dtype == TALLY_F64 ? tly_random_below(r, 3) : tly_random_between(r, 1, 2)];
        return;
    }
    const int single = tly_random_one_in(r, 2);
    d->out_dtype = single ? TALLY_F32 : TALLY_F64;
    d->dtype = single || tly_random_one_in(r, 2) ? to_single[tly_random_below(r, COUNT(to_single))]
                                                 : to_double[tly_random_below(r, 2)];
}

/* A sum that adds nothing shows what `map` makes, to the bit. */
void tly_random_shown(tly_random *r, uint32_t draws, tally_descriptor *d)
{
    if (!(draws >> TALLY_SUM & 1) || !tly_random_one_in(r, 6))
        return;
    memset(d, 0, sizeof *d);
    d->size = sizeof *d;
    tly_random_operator(r, 1u << TALLY_SUM | TLY_DRAW_WIDER, d);
    d->axes_given = 1;
}

void tly_random_stages(tly_random *r, int64_t limit, tally_descriptor *d)
{
    const int is_scan = tally_op_is_scan((tally_op)d->op);
    const uint32_t every = (1u << d->rank) - 1;
    const uint32_t kept = is_scan ? every : every & ~(d->axes_given ? d->axes : every);
    int has_post = tly_operations[d->op].family != TLY_INDICES && tly_random_one_in(r, 2);
    int has_map = !has_post || tly_random_one_in(r, 2);
    writer w = { .r = r };

    if (tly_random_one_in(r, 16))
        return;
    draw_output(r, d);
    w.type = tly_fused_type(d);
    /* A map would round such integers before they are added. */
    if (d->op == TALLY_MEAN && tly_is_float(w.type) && !tly_is_float((tally_dtype)d->dtype) &&
        !tly_fused_fits((tally_dtype)d->dtype, w.type))
        has_map = 0, has_post = 1;
    uint32_t in_post = 0;
    if (has_map) {
        w.sees_x = 1;
        write_expression(&w, d->map);
    }
    if (has_post) {
        w.sees_x = is_scan;
        w.sees_y = 1;
        write_expression(&w, d->post);
        in_post = w.used;
    }
    for (int k = 0; k < w.operands; k++) {
        draw_operand_dtype(r, w.type, &d->operands[k]);
        draw_place(r, limit, in_post >> k & 1 ? kept : every, d, &d->operands[k]);
    }
}

/* ---- data ---- */

typedef enum kind { NEAR_ONE, MASK, SMALL, MANY, STREWN, KINDS } kind;

static double special(tly_random *r, tally_dtype dtype)
{
    const int bottom = dtype == TALLY_F64 ? -1022 : dtype == TALLY_F16 ? -14 : -126;
    const double values[] = { NAN,
                              INFINITY,
                              -INFINITY,
                              -0.0,
                              0,
                              ldexp(1, bottom),
                              ldexp(1, bottom - 3),
                              ldexp(-1, bottom - 2),
                              ldexp(1.5, -bottom),
                              -1 };
    return values[tly_random_below(r, COUNT(values))];
}

static uint64_t draw_element(tly_random *r, tally_dtype dtype, kind of)
{
    const uint64_t bits = tly_random_next(r);
    const double unit = (double)(bits >> 11) * 0x1p-53;
    if (dtype == TALLY_BOOL || of == MASK) {
        const uint64_t one = bits >> 20 & 1;
        return tly_is_float(dtype) ? tly_encode(dtype, (double)one) : one;
    }
    if (!tly_is_float(dtype))
        return tly_integer_cut(dtype, of == MANY ? bits : (uint64_t)tly_random_between(r, -3, 3));
    if (of == STREWN && tly_random_one_in(r, 12))
        return tly_encode(dtype, special(r, dtype));
    return tly_encode(dtype, of == SMALL  ? unit * 8 - 4
                             : of == MANY ? ldexp(unit - .5, (int)(bits % 24) - 8)
                                          : 1 + (unit - .5) / 16);
}

void tly_random_fill_operand(tly_random *r, const tally_descriptor *d, int operand, void *at)
{
    tly_fused_place place;
    tly_layout l;
    tly_fused_place_of(d, operand, &place);
    tly_layout_of(d, &l);
    const kind of = (kind)tly_random_below(r, KINDS);
    if (place.high < place.low)
        return;
    /* Where a result has no elements, `post` reads the operand all the same. */
    tly_bits_store(place.dtype, at, place.offset, draw_element(r, place.dtype, of));
    for (int k = 0; k < l.rank && !l.length; k++)
        l.sizes[k] += l.folded >> k & 1 && !l.sizes[k];
    for (int64_t row = 0; row < l.rows; row++)
        for (int64_t i = 0; i < (l.length ? l.length : 1); i++)
            tly_bits_store(place.dtype, at,
                           tly_layout_index(&l, place.strides, place.offset, row, i),
                           draw_element(r, place.dtype, of));
}
