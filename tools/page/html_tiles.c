/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiles of kernels for devices, drawn: which invocation holds which elements of one, and how tiles
 * follow each other. The figures have the same as data, from which the test counts that each
 * element is held once.
 */
#include "html_order.h"

#include <limits.h>
#include <string.h>

enum { ROOF = 24, LINE = 24, GAP = 26, MOST_DOWN = 6, MOST_ACROSS = 8 };
enum { LETTER = 7, PADDING = 12 }; /* about the widest digit; around a text */

/* ---- who holds what ---- */

/* An index along several directions at once, the last of which is the fastest. */
typedef struct place {
    int64_t along, beside;
    int is_first; /* of what makes invocations differ, all is 0 */
} place;

static int64_t total_of(const tly_reach *r, int count)
{
    int64_t total = 1;
    for (int i = 0; i < count; i++) {
        total *= r[i].count;
    }
    return total;
}

static place place_of(const tly_reach *r, int count, int64_t index)
{
    place p = { 0, 0, 1 };
    for (int i = count - 1; i >= 0; i--) {
        const int64_t one = index % r[i].count;
        p.along += one * r[i].along;
        p.beside += one * r[i].beside;
        p.is_first = p.is_first && (one == 0 || !r[i].who);
        index /= r[i].count;
    }
    return p;
}

static void write_range(int64_t from, int64_t count, tly_text *to)
{
    tly_text_print(to, count > 1 ? "%s–%s" : "%s", tly_count(from), tly_count(from + count - 1));
}

/* Of an invocation with several lanes, so many go by one label. */
static int64_t each_of(const tly_reach *r)
{
    return r->beside > 1 ? r->beside : 1;
}

/* "subgroup 1, vector 0", "lanes 8–15": the directions that have more than one, or the last one. */
static void write_label(const tly_reach *r, int count, int64_t index, tly_text *to)
{
    const char *between = "";
    for (int i = 0; i < count; i++) {
        const int64_t within = total_of(r + i + 1, count - i - 1);
        if (r[i].count > 1 || i == count - 1) {
            tly_text_print(to, "%s%s ", between, r[i].name);
            write_range(index / within % r[i].count * each_of(&r[i]), each_of(&r[i]), to);
            between = ", ";
        }
    }
}

/* How far a cell reaches: elements along the axis. */
static int64_t cell_along(const tly_hold *h)
{
    const int before = h->down + h->across;
    return place_of(h->reach + before, h->count - before,
                    total_of(h->reach + before, h->count - before) - 1)
               .along +
           1;
}

/* Rows or columns that are drawn: the first ones and the last one. */
typedef struct shown {
    int64_t all;
    int drawn;
} shown;

static shown shown_of(int64_t all, int most)
{
    return (shown){ all, all > most ? most : (int)all };
}

static int64_t index_of(const shown *s, int i)
{
    return i == s->drawn - 1 ? s->all - 1 : i;
}

/* What was left out lies before the last one. */
static int at(const shown *s, int i, int each)
{
    return i * each + (s->all > s->drawn && i == s->drawn - 1 ? GAP : 0);
}

static int end_of(const shown *s, int each)
{
    return at(s, s->drawn - 1, each) + each;
}

/* Pixels that are enough for the labels of rows. */
static int left_of(const tly_hold *h)
{
    int letters = 0;
    for (int i = 0; i < h->down; i++) {
        const tly_reach *r = &h->reach[i];
        if (r->count > 1 || i == h->down - 1) {
            letters += 3 + (int)strlen(r->name) + (int)strlen(tly_count(r->count - 1));
        }
    }
    return letters * LETTER;
}

/* Pixels that are enough for a range up to `last`, and for a label of so many letters. */
static int width_for(int64_t last, int label)
{
    const int range = 2 * (int)strlen(tly_count(last)) + 1;
    return (range > label ? range : label) * LETTER + PADDING;
}

static void draw_cell(const tly_hold *h, int64_t row, int64_t column, int x, int y, int width,
                      tly_text *to)
{
    const place down = place_of(h->reach, h->down, row);
    const place across = place_of(h->reach + h->down, h->across, column);
    tly_text_print(to, "<rect class=\"cell%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>",
                   down.is_first && across.is_first ? " on" : "", x, y, width, LINE);
    tly_text_print(to, "<text class=\"in\" x=\"%d\" y=\"%d\">", x + width / 2, y + LINE / 2 + 4);
    write_range(down.along + across.along, cell_along(h), to);
    tly_text_print(to, "</text>");
}

static void draw_cells(const tly_hold *h, const shown *down, const shown *across, int width,
                       tly_text *to)
{
    const int left = left_of(h);
    for (int i = 0; i < across->drawn; i++) {
        tly_text_print(to, "<text class=\"kept in\" x=\"%d\" y=\"%d\">",
                       left + at(across, i, width) + width / 2, ROOF - 8);
        write_label(h->reach + h->down, h->across, index_of(across, i), to);
        tly_text_print(to, "</text>");
    }
    for (int j = 0; j < down->drawn; j++) {
        const int y = ROOF + at(down, j, LINE);
        tly_text_print(to, "<text class=\"kept\" text-anchor=\"end\" x=\"%d\" y=\"%d\">", left - 10,
                       y + LINE / 2 + 4);
        write_label(h->reach, h->down, index_of(down, j), to);
        tly_text_print(to, "</text>");
        for (int i = 0; i < across->drawn; i++) {
            draw_cell(h, index_of(down, j), index_of(across, i), left + at(across, i, width), y,
                      width, to);
        }
    }
}

/* [name, count, along, beside, who]. */
static void write_hold(const tly_hold *h, const char *name, tly_text *to)
{
    tly_text_print(to, "<figure class=\"broad\" data-name=\"%s\" data-hold='[", name);
    for (int i = 0; i < h->count; i++) {
        const tly_reach *r = &h->reach[i];
        tly_text_print(to, "%s[\"%s\",%lld,%lld,%lld,%d]", i ? "," : "", r->name,
                       (long long)r->count, (long long)r->along, (long long)r->beside, r->who);
    }
    tly_text_print(to, "]'>");
}

void tly_draw_hold(const tly_hold *h, const char *name, const char *caption, tly_text *to)
{
    const shown down = shown_of(total_of(h->reach, h->down), MOST_DOWN);
    const shown across = shown_of(total_of(h->reach + h->down, h->across), MOST_ACROSS);
    const tly_reach *right = &h->reach[h->down + h->across - 1];
    const int number = (int)strlen(tly_count(across.all * each_of(right)));
    const int label = (int)strlen(right->name) + 1 + number * (each_of(right) > 1 ? 2 : 1);
    const int cell = width_for(place_of(h->reach, h->count, total_of(h->reach, h->count) - 1).along,
                               label);
    const int width = left_of(h) + end_of(&across, cell) + 2,
              height = ROOF + end_of(&down, LINE) + 2;
    write_hold(h, name, to);
    tly_text_print(
        to,
        "<div class=\"wide\"><svg role=\"img\" aria-label=\"A table of who holds which elements; "
        "the text tells the same.\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">",
        width, height, width, height);
    draw_cells(h, &down, &across, cell, to);
    tly_text_print(to, "</svg></div><figcaption>%s</figcaption></figure>", caption);
}

/* ---- what follows what ---- */

enum { LEAST_STRIP = 700, EDGE = 46, ARCH = 34, BOX = 44 };

static void draw_piece(const tly_strip *s, const tly_pieces *p, int i, tly_text *to)
{
    const int64_t number = tly_piece_number(p, i), from = number * s->cut;
    const double middle = (p->at[i] + p->end[i]) / 2;
    tly_text_print(to,
                   "<rect class=\"piece %s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>"
                   "<text class=\"in\" x=\"%.1f\" y=\"%d\">%s %s</text>",
                   i == 0  ? "on"
                   : i % 2 ? "odd"
                           : "even",
                   p->at[i], ARCH, p->end[i] - p->at[i], BOX, middle, ARCH + 18, s->piece,
                   tly_count(number));
    tly_text_print(to, "<text class=\"kept in\" x=\"%.1f\" y=\"%d\">", middle, ARCH + 36);
    write_range(from, (s->size - from < s->cut ? s->size - from : s->cut), to);
    tly_text_print(to, "</text>");
}

/* Into the i-th piece that is drawn, from the one before it, or from the gap. */
static void draw_carry(const tly_strip *s, const tly_pieces *p, int i, tly_text *to)
{
    const double end = p->at[i] + 12, from = i > 0 ? p->end[i - 1] - 12 : 6;
    const double begin = i > 0 && p->at[i] - p->end[i - 1] > 1 ? p->at[i] - 20 : from;
    tly_text_print(
        to,
        "<path class=\"arrow\" marker-end=\"url(#head)\" d=\"M%.1f %dQ%.1f %d %.1f %d\"/>"
        "<text class=\"along in\" x=\"%.1f\" y=\"%d\">",
        begin, ARCH, (begin + end) / 2, ARCH - 26, end, ARCH - 1, (begin + end) / 2, 12);
    const int64_t number = tly_piece_number(p, i);
    tly_value_print((tly_value_name){ s->carry, number <= SHRT_MAX ? (short)number : -1 }, to);
    tly_text_print(to, "</text>");
}

void tly_draw_strip(const tly_strip *s, const char *name, tly_text *to)
{
    /* The last piece is drawn as long as the others, which leaves room for its text. */
    const int64_t pieces = (s->size - 1) / s->cut + 1;
    const int wanted = (int)(pieces < TLY_PIECES ? pieces : TLY_PIECES) * width_for(s->size, 0);
    const int strip = wanted > LEAST_STRIP ? wanted : LEAST_STRIP;
    const tly_pieces p = tly_lay_out(pieces * s->cut, s->cut, EDGE, strip);
    const int width = EDGE + strip + 8, height = ARCH + BOX + 4;
    tly_text_print(to,
                   "<figure class=\"broad\" data-name=\"%s\" data-strip=\"[%lld,%lld,%lld]\"><div "
                   "class=\"wide\"><svg role=\"img\" aria-label=\"%s %s%s, one after the other; "
                   "the text tells "
                   "the same.\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">",
                   name, (long long)s->size, (long long)s->cut, (long long)p.count,
                   tly_count(p.count), s->piece, plural(p.count), width, height, width, height);
    for (int i = 0; i < p.shown; i++) {
        draw_piece(s, &p, i, to);
    }
    for (int i = 0; i < p.shown && s->carry; i++) {
        draw_carry(s, &p, i, to);
    }
    tly_text_print(to,
                   "</svg></div><figcaption>%s %s in %s %s%s of up to %s.</figcaption></figure>",
                   tly_count(s->size), s->of, tly_count(p.count), s->piece, plural(p.count),
                   tly_count(s->cut));
}
