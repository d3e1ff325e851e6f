/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drawings that orders are made of: chains, windows, scans of a vector, folds. Each says on its
 * page what is combined with what (html_net.c).
 */
#include "html_order.h"

#include <string.h>

void tly_draw_chain(int columns, int apart, char leaf, char result, const char *name, tly_text *to)
{
    tly_net net;
    tly_net_begin(&net, columns, leaf, result);
    for (int c = apart; c < columns; c += apart) {
        tly_net_level(&net);
        for (int k = c; k < c + apart; k++) {
            tly_net_set(&net, k, k - apart, k);
        }
    }
    tly_net_draw(&net, name, to);
}

void tly_draw_carried(int columns, char carry, char leaf, char result, int before, const char *name,
                      tly_text *to)
{
    tly_net net;
    tly_net_begin(&net, columns + 1, leaf, result);
    net.leaf[0] = (tly_value_name){ carry, carry == result ? 0 : -1 };
    net.result[0].letter = before ? result : 0;
    for (int c = 1; c < net.columns; c++) {
        net.leaf[c].number = (short)(c - 1);
        net.result[c].number = (short)(before ? c : c - 1);
        tly_net_level(&net);
        tly_net_set(&net, c, c - 1, c);
    }
    tly_net_draw(&net, name, to);
}

void tly_draw_fold(int columns, char leaf, char result, const char *name, tly_text *to)
{
    tly_net net;
    tly_net_begin(&net, columns, leaf, result);
    for (int c = 1; c < net.columns; c++) {
        tly_net_level(&net);
        tly_net_set(&net, 0, 0, c);
    }
    tly_net_one_result(&net, 0);
    net.running = 1;
    tly_net_draw(&net, name, to);
}

void tly_draw_parts(const char *letters, char result, const char *name, tly_text *to)
{
    const int columns = (int)strlen(letters), last = columns - 1;
    tly_net net;
    tly_net_begin(&net, columns, 'x', result);
    for (int c = 0; c < columns; c++) {
        net.leaf[c] = (tly_value_name){ letters[c], -1 };
    }
    for (int c = 2; c < columns; c++) {
        tly_net_level(&net);
        tly_net_set(&net, c, c - 1, c);
    }
    tly_net_level(&net);
    tly_net_set(&net, last, 0, last);
    tly_net_one_result(&net, last);
    tly_net_draw(&net, name, to);
}

/* Windows of 1, 2, 4, ... elements that end at each column, as long as a vector; then results. */
void tly_draw_windows(int lanes, int columns, tly_text *to)
{
    tly_net net;
    tly_net_begin(&net, columns, 'x', 'y');
    for (int half = 1; half < lanes && half < columns; half *= 2) {
        tly_net_level(&net);
        for (int c = half; c < columns; c++) {
            tly_net_set(&net, c, c - half, c);
        }
    }
    for (int from = lanes; from < columns; from += lanes) {
        tly_net_level(&net);
        for (int c = from; c < smaller(from + lanes, columns); c++) {
            tly_net_set(&net, c, c - lanes, c);
        }
    }
    tly_net_draw(&net, "windows", to);
}

/* The upper half of each pair of blocks takes the last of the lower one; every `step`th column from
 * `step` - 1 on is a lane. */
static void add_blocks(tly_net *net, int lanes, int step)
{
    for (int half = 1; half < lanes; half *= 2) {
        tly_net_level(net);
        for (int lane = 0; lane < net->columns / step; lane++) {
            const int last = lane / (2 * half) * 2 * half + half - 1;
            if (lane % lanes & half) {
                tly_net_set(net, (lane + 1) * step - 1, (last + 1) * step - 1,
                            (lane + 1) * step - 1);
            }
        }
    }
}

/* Each vector by itself, of `unit` scans side by side; then what came before it. */
void tly_draw_vectors(int lanes, int unit, tly_text *to)
{
    tly_net net;
    tly_net_begin(&net, 2 * lanes, 'x', 'y');
    if (unit == 1) {
        add_blocks(&net, lanes, 1);
    }
    for (int apart = unit; unit > 1 && apart < lanes; apart *= 2) {
        tly_net_level(&net);
        for (int c = 0; c < 2 * lanes; c++) {
            if (c % lanes >= apart) {
                tly_net_set(&net, c, c - apart, c);
            }
        }
    }
    tly_net_level(&net);
    for (int c = lanes; c < 2 * lanes; c++) {
        tly_net_set(&net, c, lanes - unit + (c - lanes) % unit, c);
    }
    tly_net_draw(&net, "vectors", to);
}

/* A lane has two neighbours: they are joined, then lanes, then the first of each. */
void tly_draw_pairs(int lanes, tly_text *to)
{
    tly_net net;
    tly_net_begin(&net, 2 * lanes, 'x', 'y');
    tly_net_level(&net);
    for (int c = 1; c < 2 * lanes; c += 2) {
        tly_net_set(&net, c, c - 1, c);
    }
    add_blocks(&net, lanes, 2);
    tly_net_level(&net);
    for (int c = 2; c < 2 * lanes; c += 2) {
        tly_net_set(&net, c, c - 1, c);
    }
    tly_net_draw(&net, "pairs", to);
}

/* A chain that goes on by two. */
void tly_draw_scalars(tly_text *to)
{
    enum { COLUMNS = 8 };
    tly_net net;
    tly_net_begin(&net, COLUMNS, 'x', 'y');
    tly_net_level(&net);
    for (int c = 1; c < COLUMNS; c += 2) {
        tly_net_set(&net, c, c - 1, c);
    }
    for (int c = 2; c < COLUMNS; c += 2) {
        tly_net_level(&net);
        tly_net_set(&net, c, c - 1, c);
        tly_net_set(&net, c + 1, c - 1, c + 1);
    }
    tly_net_draw(&net, "scalars", to);
}

/* The lower half takes the upper one, until one is left. */
void tly_draw_halves(int columns, char leaf, const char *name, tly_text *to)
{
    tly_net net;
    tly_net_begin(&net, columns, leaf, 's');
    for (int n = net.columns; n > 1; n = (n + 1) / 2) {
        tly_net_level(&net);
        for (int c = 0; c < n / 2; c++) {
            tly_net_set(&net, c, c, c + (n + 1) / 2);
        }
    }
    tly_net_one_result(&net, 0);
    tly_net_draw(&net, name, to);
}

/* Neighbours by pairs, until one is left. */
void tly_draw_neighbours(int columns, char leaf, const char *name, tly_text *to)
{
    tly_net net;
    tly_net_begin(&net, columns, leaf, 't');
    for (int n = net.columns; n > 1; n = (n + 1) / 2) {
        tly_net_level(&net);
        for (int c = 0; c < n; c += 2) {
            tly_net_set(&net, c / 2, c, c + 1 < n ? c + 1 : -1);
        }
    }
    tly_net_one_result(&net, 0);
    tly_net_draw(&net, name, to);
}

void tly_draw_doubling(int lanes, int unit, char leaf, char result, const char *name, tly_text *to)
{
    tly_net net;
    tly_net_begin(&net, lanes, leaf, result);
    for (int by = unit; by < net.columns; by *= 2) {
        tly_net_level(&net);
        for (int c = by; c < net.columns; c++) {
            tly_net_set(&net, c, c - by, c);
        }
    }
    tly_net_draw(&net, name, to);
}

void tly_draw_exchange(int lanes, char leaf, char result, const char *name, tly_text *to)
{
    tly_net net;
    tly_net_begin(&net, lanes, leaf, result);
    for (int by = 1; by < net.columns; by *= 2) {
        tly_net_level(&net);
        for (int c = 0; c < net.columns; c++) {
            tly_net_set(&net, c, c, c ^ by);
        }
    }
    tly_net_draw(&net, name, to);
}
