/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is combined with what, drawn: values side by side, levels from the top down. The picture's data
 * go along as text, level by level, for those who cannot see it, for the page's script and for the test
 * that computes by them.
 */
#include "html.h"

#include <string.h>

enum { TOP = 34, SIDE = 22 };

void tly_net_begin(tly_net *net, int columns, const char *leaf, const char *result)
{
    memset(net, 0, sizeof *net);
    memset(net->left, -1, sizeof net->left);
    memset(net->right, -1, sizeof net->right);
    net->columns = columns < TLY_NET_COLUMNS ? columns : TLY_NET_COLUMNS;
    net->results = net->columns;
    net->leaf = leaf;
    net->result = result;
}

void tly_net_level(tly_net *net)
{
    net->levels += net->levels < TLY_NET_LEVELS;
}

void tly_net_set(tly_net *net, int column, int left, int right)
{
    if (column < net->columns) {
        net->left[net->levels - 1][column] = (short)left;
        net->right[net->levels - 1][column] = (short)right;
    }
}

static int pitch(const tly_net *net)
{
    return net->columns <= 16 ? 35 : net->columns <= 32 ? 27 : 18;
}

static int x_of(const tly_net *net, int column)
{
    return SIDE + column * pitch(net);
}

/* Few levels have room for lines that go far; many are chains. */
static int y_of(const tly_net *net, int level)
{
    return TOP + level * (net->levels > 6 ? 26 : net->columns > 16 ? 52 : 40);
}

/* The level at which a column's value of `level` was made; 0: it is what went in. */
static int made_at(const tly_net *net, int level, int column)
{
    while (level > 0 && net->left[level - 1][column] < 0) {
        level--;
    }
    return level;
}

/* Lines end where a value was made, so that one that waits is a line of its own length. */
static void draw_line(const tly_net *net, int level, int column, int from, tly_text *to)
{
    const int made = made_at(net, level, from);
    tly_text_print(to, "<path d=\"M%d %dV%dL%d %d\" data-to=\"%d.%d\"/>", x_of(net, from),
                   y_of(net, made), y_of(net, level), x_of(net, column), y_of(net, level + 1),
                   level + 1, column);
}

static void draw_lines(const tly_net *net, tly_text *to)
{
    tly_text_print(to, "<g class=\"wire\">");
    for (int l = 0; l < net->levels; l++) {
        for (int c = 0; c < net->columns; c++) {
            if (net->left[l][c] >= 0) {
                draw_line(net, l, c, net->left[l][c], to);
            }
            if (net->right[l][c] >= 0) {
                draw_line(net, l, c, net->right[l][c], to);
            }
        }
    }
    for (int c = 0; c < net->results; c++) { /* to the results' names */
        tly_text_print(to, "<path d=\"M%d %dV%d\" data-to=\"r.%d\"/>", x_of(net, c),
                       y_of(net, made_at(net, net->levels, c)), y_of(net, net->levels) + 12, c);
    }
    tly_text_print(to, "</g>");
}

static void draw_nodes(const tly_net *net, tly_text *to)
{
    for (int c = 0; c < net->columns; c++) {
        tly_text_print(
            to,
            "<rect class=\"leaf\" x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"3\" "
            "data-at=\"0.%d\"/><text x=\"%d\" y=\"%d\">%s<tspan dy=\"3\" class=\"sub\">%d"
            "</tspan></text>",
            x_of(net, c) - 6, TOP - 6, c, x_of(net, c), TOP - 12, net->leaf, c);
    }
    for (int l = 0; l < net->levels; l++) {
        for (int c = 0; c < net->columns; c++) {
            if (net->left[l][c] >= 0) {
                tly_text_print(
                    to, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"%d\" data-at=\"%d.%d\"/>",
                    net->right[l][c] < 0 ? "copy" : "join", x_of(net, c), y_of(net, l + 1),
                    net->right[l][c] < 0 ? 3 : 6, l + 1, c);
            }
        }
    }
    for (int c = 0; c < net->results; c++) {
        tly_text_print(to, "<text x=\"%d\" y=\"%d\">%s<tspan dy=\"3\" class=\"sub\">", x_of(net, c),
                       y_of(net, net->levels) + 26, net->result);
        tly_text_print(to, net->results > 1 ? "%d" : "", c);
        tly_text_print(to, "</tspan></text>");
    }
}

static void write_words(const tly_net *net, tly_text *to)
{
    tly_text_print(to, "<details><summary>In words, in order</summary><ol class=\"levels\">");
    for (int l = 0; l < net->levels; l++) {
        const char *between = "";
        tly_text_print(to, "<li>");
        for (int c = 0; c < net->columns; c++) {
            const int left = net->left[l][c], right = net->right[l][c];
            if (left >= 0) {
                tly_text_print(to, right >= 0 ? "%s%d = %d ⊕ %d" : "%s%d = %d", between, c, left,
                               right);
                between = ", ";
            }
        }
        tly_text_print(to, "</li>");
    }
    tly_text_print(to, "</ol></details>");
}

/* [[column, left, right], ...] for each level. */
static void write_data(const tly_net *net, const char *name, tly_text *to)
{
    tly_text_print(to,
                   "<figure class=\"net%s\" tabindex=\"0\" data-name=\"%s\" data-columns=\"%d\" "
                   "data-results=\"%d\" data-levels=\"[",
                   net->columns > 18 ? " broad" : "", name, net->columns, net->results);
    for (int l = 0; l < net->levels; l++) {
        const char *between = "";
        tly_text_print(to, l ? ",[" : "[");
        for (int c = 0; c < net->columns; c++) {
            if (net->left[l][c] >= 0) {
                tly_text_print(to, "%s[%d,%d,%d]", between, c, net->left[l][c], net->right[l][c]);
                between = ",";
            }
        }
        tly_text_print(to, "]");
    }
    tly_text_print(to, "]\">");
}

void tly_net_draw(const tly_net *net, const char *name, tly_text *to)
{
    const int width = x_of(net, net->columns - 1) + SIDE, height = y_of(net, net->levels) + 36;
    write_data(net, name, to);
    tly_text_print(
        to,
        "<div class=\"wide\"><svg role=\"img\" aria-label=\"%d values combined on %d levels; "
        "in words below\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">",
        net->columns, net->levels, width, height, width, height);
    draw_lines(net, to);
    draw_nodes(net, to);
    tly_text_print(to, "</svg></div>");
    write_words(net, to);
    tly_text_print(to, "</figure>");
}
