/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees and text. The grammar, the limits of an expression and the canonical text are those of
 * descriptor/expression.h.
 */
#include "tree.h"

#include <math.h>
#include <string.h>

static tly_node read_constant(tly_tree *t, const char *text, int length)
{
    const double value = text[0] == 'i'   ? HUGE_VAL
                         : text[0] == 'n' ? (double)NAN
                                          : tly_number_read(text, length);
    return tly_tree_constant(t, value);
}

tly_node tly_tree_read(tly_tree *t, const char *text, const tly_bindings names)
{
    tly_expression e;
    tly_node stack[TLY_MOST_ALIVE + 3] = { 0 };
    int alive = 0;
    if (tly_expression_parse(text, strlen(text), "", &e, NULL) != TALLY_OK) {
        t->failed = 1;
        return TLY_NOTHING;
    }
    for (int i = 0; i < e.count; i++) {
        const int code = e.code[i];
        if (code == TLY_POSTFIX_CONSTANT) {
            stack[alive++] = read_constant(t, text + e.at[i], e.length[i]);
        } else if (code <= TLY_POSTFIX_LAST_NAME) {
            stack[alive++] = names[code];
        } else {
            alive -= tly_operation_of[code].arguments;
            stack[alive] = tly_tree_make(t, code, stack[alive], stack[alive + 1], stack[alive + 2]);
            alive++;
        }
    }
    return stack[0];
}

/* Postfix codes as they come into being. The texts of names and constants lie end to end. */
typedef struct writer {
    const tly_tree *t;
    const char *letters;
    tly_expression e;
    char texts[256];
    int length;
    int operations, alive;
    tly_excess excess;
} writer;

static void emit(writer *w, int code, const char *text, int length)
{
    tly_expression *e = &w->e;
    const int arguments = code < TLY_POSTFIX_CONSTANT ? tly_operation_of[code].arguments : 0;
    w->operations += arguments > 0;
    w->alive += 1 - arguments;
    if (w->operations > TLY_MOST_OPERATIONS) {
        w->excess = TLY_EXCEEDS_OPERATIONS;
    } else if (w->alive > TLY_MOST_ALIVE) {
        w->excess = TLY_EXCEEDS_ALIVE;
    } else if (e->count == TLY_MOST_TEXT || w->length + length > (int)sizeof w->texts - 1) {
        w->excess = TLY_EXCEEDS_CHARACTERS;
    }
    if (w->excess != TLY_EXCEEDS_NOTHING) {
        return;
    }
    memcpy(w->texts + w->length, text, (size_t)length);
    e->code[e->count] = (uint8_t)code;
    e->at[e->count] = (uint8_t)w->length;
    e->length[e->count++] = (uint8_t)length;
    w->length += length;
}

static void emit_constant(writer *w, double value)
{
    char text[TLY_NUMBER_MAX];
    if (isfinite(value)) {
        emit(w, TLY_POSTFIX_CONSTANT, text, tly_number_write(value, text));
        return;
    }
    emit(w, TLY_POSTFIX_CONSTANT, isnan(value) ? "nan" : "inf", 3);
    if (value < 0) {
        emit(w, TLY_POSTFIX_NEG, "", 0);
    }
}

static void emit_node(writer *w, tly_node n, int negated);

/* A minus before a product goes to the product's first factor, where it needs no parentheses and,
 * before a number, is no operation. */
static void emit_operation(writer *w, const tly_tree_node *node, int negated)
{
    const int inside = negated && (node->code == TLY_POSTFIX_MUL || node->code == TLY_POSTFIX_DIV);
    for (int i = 0; i < tly_operation_of[node->code].arguments; i++) {
        emit_node(w, node->arg[i], inside && i == 0);
    }
    emit(w, node->code, "", 0);
    if (negated && !inside) {
        emit(w, TLY_POSTFIX_NEG, "", 0);
    }
}

static void emit_node(writer *w, tly_node n, int negated)
{
    const tly_tree_node *node = &w->t->nodes[n];
    if (w->excess != TLY_EXCEEDS_NOTHING) {
        return;
    }
    if (node->code == TLY_POSTFIX_CONSTANT) {
        emit_constant(w, negated ? -node->value : node->value);
    } else if (node->code == TLY_POSTFIX_NEG) {
        emit_node(w, node->arg[0], !negated);
    } else if (node->code == TLY_LEAF || node->code == TLY_POSTFIX_Y) {
        const char *letter = node->code == TLY_LEAF ? &w->letters[node->arg[0]] : "y";
        emit(w,
             *letter == 'x'   ? TLY_POSTFIX_X
             : *letter == 'y' ? TLY_POSTFIX_Y
                              : TLY_POSTFIX_A + (*letter - 'a'),
             letter, 1);
        if (negated) {
            emit(w, TLY_POSTFIX_NEG, "", 0);
        }
    } else {
        emit_operation(w, node, negated);
    }
}

tly_excess tly_tree_write(const tly_tree *t, tly_node n, const char letters[TLY_MOST_TENSORS],
                          char text[TALLY_EXPRESSION_MAX])
{
    writer w;
    memset(&w, 0, sizeof w);
    w.t = t;
    w.letters = letters;
    w.e.text = w.texts;
    emit_node(&w, n, 0);
    if (w.excess == TLY_EXCEEDS_NOTHING && !tly_expression_print(&w.e, 0, text)) {
        w.excess = TLY_EXCEEDS_CHARACTERS;
    }
    return w.excess;
}
