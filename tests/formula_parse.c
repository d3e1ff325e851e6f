/* SPDX-License-Identifier: Apache-2.0 */
/* The grammar of docs/word.md by recursive descent, one function for each of its lines. */
#include "formula.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *at;
    tly_formula *f;
    int failed;
} reader;

static int parse_expr(reader *r);

static int fail(reader *r)
{
    r->failed = 1;
    return 0;
}

static int take(reader *r, const char *text)
{
    const size_t length = strlen(text);
    if (strncmp(r->at, text, length) != 0)
        return 0;
    r->at += length;
    return 1;
}

static int add_node(reader *r, tly_formula_node node)
{
    if (r->failed || r->f->count == TLY_FORMULA_MOST)
        return fail(r);
    r->f->nodes[r->f->count] = node;
    return r->f->count++;
}

static int add_pair(reader *r, tly_formula_op op, int p, int q)
{
    return add_node(
        r, (tly_formula_node){ .op = (uint8_t)op, .arguments = { (uint8_t)p, (uint8_t)q } });
}

/* number = DIGITS ["." DIGITS] ["e" ["-"] DIGITS], with its minus if it has one. */
static int parse_number(reader *r, int is_negative)
{
    static const char digits[] = "0123456789";
    const char *const start = r->at;
    const size_t length = strspn(start, digits);
    tly_formula_node node = { .op = TLY_FORMULA_CONSTANT };
    if (length > 1 && *start == '0')
        return fail(r);
    r->at += length;
    if (take(r, ".")) {
        if (!strspn(r->at, digits))
            return fail(r);
        r->at += strspn(r->at, digits);
    }
    if (take(r, "e")) {
        take(r, "-");
        if (!strspn(r->at, digits))
            return fail(r);
        r->at += strspn(r->at, digits);
    }
    node.real = strtod(start, NULL);
    node.whole = strtoull(start, NULL, 10);
    if (is_negative) {
        node.real = -node.real;
        node.whole = 0 - node.whole;
    }
    return add_node(r, node);
}

static int parse_call(reader *r, tly_formula_op op, int count)
{
    tly_formula_node node = { .op = (uint8_t)op };
    for (int k = 0; k < count; k++) {
        if (k && !take(r, ","))
            return fail(r);
        node.arguments[k] = (uint8_t)parse_expr(r);
    }
    return take(r, ")") ? add_node(r, node) : fail(r);
}

static int parse_word(reader *r)
{
    static const struct {
        const char *text;
        tly_formula_op op;
        int count;
    } functions[] = {
        { "abs(", TLY_FORMULA_ABS, 1 },     { "sqrt(", TLY_FORMULA_SQRT, 1 },
        { "exp(", TLY_FORMULA_EXP, 1 },     { "log(", TLY_FORMULA_LOG, 1 },
        { "sig(", TLY_FORMULA_SIG, 1 },     { "floor(", TLY_FORMULA_FLOOR, 1 },
        { "round(", TLY_FORMULA_ROUND, 1 }, { "min(", TLY_FORMULA_MIN, 2 },
        { "max(", TLY_FORMULA_MAX, 2 },     { "where(", TLY_FORMULA_WHERE, 3 },
    };
    static const char names[TLY_NAMES + 1] = "xyabcd";
    for (size_t k = 0; k < sizeof functions / sizeof functions[0]; k++)
        if (take(r, functions[k].text))
            return parse_call(r, functions[k].op, functions[k].count);
    if (take(r, "inf"))
        return add_node(r, (tly_formula_node){ .op = TLY_FORMULA_CONSTANT, .real = INFINITY });
    if (take(r, "nan"))
        return add_node(r, (tly_formula_node){ .op = TLY_FORMULA_CONSTANT, .real = NAN });
    const char *name = *r->at ? strchr(names, *r->at) : NULL;
    if (!name)
        return fail(r);
    r->at++;
    return add_node(r, (tly_formula_node){ .name = (uint8_t)(name - names) });
}

static int parse_factor(reader *r)
{
    if (take(r, "-")) {
        if (*r->at >= '0' && *r->at <= '9')
            return parse_number(r, 1);
        return add_pair(r, TLY_FORMULA_NEG, parse_factor(r), 0);
    }
    if (*r->at >= '0' && *r->at <= '9')
        return parse_number(r, 0);
    if (take(r, "(")) {
        const int inner = parse_expr(r);
        return take(r, ")") ? inner : fail(r);
    }
    return parse_word(r);
}

static int parse_term(reader *r)
{
    int left = parse_factor(r);
    while (!r->failed) {
        const tly_formula_op op = take(r, "*")   ? TLY_FORMULA_MUL
                                  : take(r, "/") ? TLY_FORMULA_DIV
                                                 : TLY_FORMULA_NAME;
        if (op == TLY_FORMULA_NAME)
            break;
        const int right = parse_factor(r);
        left = add_pair(r, op, left, right);
    }
    return left;
}

static int parse_sum(reader *r)
{
    int left = parse_term(r);
    while (!r->failed) {
        const tly_formula_op op = take(r, "+")   ? TLY_FORMULA_ADD
                                  : take(r, "-") ? TLY_FORMULA_SUB
                                                 : TLY_FORMULA_NAME;
        if (op == TLY_FORMULA_NAME)
            break;
        const int right = parse_term(r);
        left = add_pair(r, op, left, right);
    }
    return left;
}

static int parse_expr(reader *r)
{
    static const struct {
        const char *text;
        tly_formula_op op;
    } comparisons[] = { { "<=", TLY_FORMULA_LE }, { ">=", TLY_FORMULA_GE },
                        { "==", TLY_FORMULA_EQ }, { "!=", TLY_FORMULA_NE },
                        { "<", TLY_FORMULA_LT },  { ">", TLY_FORMULA_GT } };
    const int left = parse_sum(r);
    for (size_t k = 0; k < sizeof comparisons / sizeof comparisons[0]; k++)
        if (take(r, comparisons[k].text)) {
            const int right = parse_sum(r);
            return add_pair(r, comparisons[k].op, left, right);
        }
    return left;
}

int tly_formula_parse(const char *text, tly_formula *f)
{
    reader r = { .at = text, .f = f };
    f->count = 0;
    parse_expr(&r);
    return r.failed || *r.at ? -1 : 0;
}
