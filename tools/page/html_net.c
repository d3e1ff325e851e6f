/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is combined with what, drawn: values side by side, levels from the top down. The same is
 * told in words, by the names that the drawing shows. Both come from the levels, which the figure
 * has as data, too: the page's script reads them, and the test that computes by them does.
 */
#include "html_net.h"

#include <string.h>

enum { TOP = 34, SIDE = 22, MARGIN = 20 };

void tly_net_begin(tly_net *net, int columns, char leaf, char result)
{
    memset(net, 0, sizeof *net);
    memset(net->left, -1, sizeof net->left);
    memset(net->right, -1, sizeof net->right);
    net->columns = columns < TLY_NET_COLUMNS ? columns : TLY_NET_COLUMNS;
    for (int c = 0; c < net->columns; c++) {
        net->leaf[c] = (tly_value_name){ leaf, (short)c };
        net->result[c] = (tly_value_name){ result, (short)c };
    }
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

void tly_net_one_result(tly_net *net, int column)
{
    for (int c = 0; c < net->columns; c++) {
        net->result[c].letter = c == column ? net->result[c].letter : 0;
    }
    net->result[column].number = -1;
}

/* ---- the drawing ---- */

static int pitch(const tly_net *net)
{
    return net->columns <= 16 ? 35 : net->columns <= 32 ? 27 : 20;
}

static int x_of(const tly_net *net, int column)
{
    return MARGIN + SIDE + column * pitch(net);
}

/* Few levels have room for lines that go far; many are chains. */
static int y_of(const tly_net *net, int level)
{
    return TOP + level * (net->levels > 6 ? 26 : net->columns > 16 ? 52 : 40);
}

/* Lines end where a value was made, so that one that waits is a line of its own length. */
static void draw_line(const tly_net *net, int level, int column, int from, tly_text *to)
{
    const int made = tly_net_made_at(net, level, from);
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
    for (int c = 0; c < net->columns; c++) { /* to the results' names */
        if (net->result[c].letter) {
            tly_text_print(to, "<path d=\"M%d %dV%d\" data-to=\"r.%d\"/>", x_of(net, c),
                           y_of(net, tly_net_made_at(net, net->levels, c)),
                           y_of(net, net->levels) + 12, c);
        }
    }
    tly_text_print(to, "</g>");
}

static void draw_name(tly_value_name name, int x, int y, tly_text *to)
{
    tly_text_print(to, "<text x=\"%d\" y=\"%d\">", x, y);
    tly_value_print(name, to);
    tly_text_print(to, "</text>");
}

static void draw_leaves(const tly_net *net, tly_text *to)
{
    for (int c = 0; c < net->columns; c++) {
        tly_text_print(to,
                       "<rect class=\"leaf\" x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" rx=\"3\" "
                       "data-at=\"0.%d\"/>",
                       x_of(net, c) - 6, TOP - 6, c);
        draw_name(net->leaf[c], x_of(net, c), TOP - 12, to);
    }
}

static void draw_level(const tly_net *net, int level, tly_text *to)
{
    for (int c = 0; c < net->columns; c++) {
        if (net->left[level - 1][c] >= 0) {
            const int copied = net->right[level - 1][c] < 0;
            tly_text_print(
                to, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"%d\" data-at=\"%d.%d\"/>",
                copied ? "copy" : "join", x_of(net, c), y_of(net, level), copied ? 3 : 6, level, c);
        }
    }
    if (tly_net_row(net, level).letter) {
        draw_name(tly_net_row(net, level), 8, y_of(net, level) + 4, to);
    }
}

static void draw_nodes(const tly_net *net, tly_text *to)
{
    draw_leaves(net, to);
    for (int l = 1; l <= net->levels; l++) {
        draw_level(net, l, to);
    }
    for (int c = 0; c < net->columns; c++) {
        if (net->result[c].letter) {
            draw_name(net->result[c], x_of(net, c), y_of(net, net->levels) + 26, to);
        }
    }
}

/* ---- data ---- */

/* Names in the order of their columns; "-": there is none. */
static void write_names(const char *key, const tly_value_name *names, int count, tly_text *to)
{
    tly_text_print(to, " data-%s=\"", key);
    for (int c = 0; c < count; c++) {
        tly_text_print(to, c ? " " : "");
        if (names[c].letter) {
            tly_value_print(names[c], to);
        } else {
            tly_text_print(to, "-");
        }
    }
    tly_text_print(to, "\"");
}

/* [[column, left, right], ...] for each level. */
static void write_data(const tly_net *net, const char *name, tly_text *to)
{
    tly_text_print(to,
                   "<figure class=\"net%s\" tabindex=\"0\" role=\"group\" aria-label=\"What is "
                   "combined with what\" data-name=\"%s\"",
                   net->columns > 18 ? " broad" : "", name);
    write_names("leaves", net->leaf, net->columns, to);
    write_names("results", net->result, net->columns, to);
    tly_text_print(to, " data-levels=\"[");
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
        "<div class=\"wide\"><svg role=\"img\" aria-label=\"%d values are combined on %d level%s; "
        "the words below tell how.\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">",
        net->columns, net->levels, net->levels == 1 ? "" : "s", width, height, width, height);
    draw_lines(net, to);
    draw_nodes(net, to);
    tly_text_print(to, "</svg></div>");
    tly_net_write_words(net, to);
    tly_text_print(to, "</figure>");
}
