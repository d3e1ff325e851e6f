/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of a net's values, and the net in words. Leaves and results have the names that the net
 * gives them. A value in between is called by a Greek letter for its level and by its column, so
 * that it is not taken for something that another drawing names. Drawing and words use the same
 * names.
 */
#include "html_net.h"

#include <stdio.h>

int tly_net_made_at(const tly_net *net, int level, int column)
{
    while (level > 0 && net->left[level - 1][column] < 0) {
        level--;
    }
    return level;
}

/* ---- names ---- */

/* A value is a result once its column does not change any more. */
static int is_result(const tly_net *net, int level, int column)
{
    return net->result[column].letter != 0 && tly_net_made_at(net, net->levels, column) <= level;
}

/* Whether a level makes values that are no results, and so need a letter of their own. */
static int has_letter(const tly_net *net, int level)
{
    for (int c = 0; c < net->columns; c++) {
        if (net->left[level - 1][c] >= 0 && !is_result(net, level, c)) {
            return 1;
        }
    }
    return 0;
}

/* The n-th level that needs a letter has the n-th. */
static char letter_of(const tly_net *net, int level)
{
    char letter = 0;
    for (int l = 1; l <= level; l++) {
        letter = (char)(letter + has_letter(net, l));
    }
    return letter;
}

tly_value_name tly_net_row(const tly_net *net, int level)
{
    if (!has_letter(net, level)) {
        return (tly_value_name){ 0, -1 };
    }
    return net->running ? (tly_value_name){ net->result[0].letter, (short)level }
                        : (tly_value_name){ letter_of(net, level), -1 };
}

tly_value_name tly_net_name(const tly_net *net, int level, int column)
{
    const int made = tly_net_made_at(net, level, column);
    if (is_result(net, made, column)) {
        return net->result[column];
    }
    if (made == 0) {
        return net->leaf[column];
    }
    tly_value_name name = tly_net_row(net, made);
    name.number = net->running ? name.number : (short)column;
    return name;
}

void tly_value_print(tly_value_name name, tly_text *to)
{
    static const char *const digits[] = { "₀", "₁", "₂", "₃", "₄", "₅", "₆", "₇", "₈", "₉" };
    static const char *const greek[TLY_NET_LEVELS] = { "α", "β", "γ", "δ", "ε", "ζ", "η", "θ",
                                                       "ι", "κ", "λ", "μ", "ν", "ξ", "ο", "π",
                                                       "ρ", "σ", "τ", "υ", "φ", "χ", "ψ", "ω" };
    char number[8];
    snprintf(number, sizeof number, "%d", name.number);
    if (name.letter > TLY_NET_LEVELS) {
        tly_text_print(to, "%c", name.letter);
    } else if (name.letter > 0) {
        tly_text_print(to, "%s", greek[name.letter - 1]);
    }
    for (const char *at = number; name.number >= 0 && *at; at++) {
        tly_text_print(to, "%s", digits[*at - '0']);
    }
}

/* ---- words ---- */

/* `name = left ⊕ right`; with a right one of letter 0, another name of the left one. */
static void write_equation(tly_value_name name, tly_value_name left, tly_value_name right,
                           tly_text *to)
{
    tly_value_print(name, to);
    tly_text_print(to, " = ");
    tly_value_print(left, to);
    if (right.letter) {
        tly_text_print(to, " ⊕ ");
        tly_value_print(right, to);
    }
}

/* The results that go in as they are. */
static void write_given(const tly_net *net, tly_text *to)
{
    const tly_value_name none = { 0, -1 };
    const char *between = "<li class=\"given\">";
    for (int c = 0; c < net->columns; c++) {
        const tly_value_name name = tly_net_name(net, 0, c), leaf = net->leaf[c];
        if (name.letter != leaf.letter || name.number != leaf.number) {
            tly_text_print(to, "%s", between);
            write_equation(name, leaf, none, to);
            between = ", ";
        }
    }
    tly_text_print(to, "%s", between[0] == ',' ? "</li>" : "");
}

static void write_level(const tly_net *net, int level, tly_text *to)
{
    const tly_value_name none = { 0, -1 };
    const char *between = "<li>";
    for (int c = 0; c < net->columns; c++) {
        const int left = net->left[level - 1][c], right = net->right[level - 1][c];
        if (left >= 0) {
            tly_text_print(to, "%s", between);
            write_equation(tly_net_name(net, level, c), tly_net_name(net, level - 1, left),
                           right < 0 ? none : tly_net_name(net, level - 1, right), to);
            between = ", ";
        }
    }
    tly_text_print(to, "</li>");
}

void tly_net_write_words(const tly_net *net, tly_text *to)
{
    tly_text_print(to, "<details><summary>The same in words</summary><ol class=\"levels\">");
    write_given(net, to);
    for (int l = 1; l <= net->levels; l++) {
        write_level(net, l, to);
    }
    tly_text_print(to, "</ol></details>");
}
