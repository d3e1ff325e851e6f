/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random expressions. Guarantees: what is drawn is valid by docs/word.md, section "Operands and
 * expressions"; only the seed decides.
 */
#include "random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fused.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* Deeper expressions would have too many values alive, longer ones too many characters. */
enum { MOST_DEPTH = 3, MOST_OPERATIONS = 8 };

/* An expression being written; see tly_random_names. */
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
void tly_random_expression(tly_random *r, tly_random_names *names, char text[TALLY_EXPRESSION_MAX])
{
    writer begun = {
        .r = r, .type = names->type, .sees_x = names->sees_x, .sees_y = names->sees_y
    };
    writer *const w = &begun;
    for (int tries = 0; tries < 9; tries++) {
        w->operands = names->operands;
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
    names->operands = w->operands;
    names->used = w->used;
}
