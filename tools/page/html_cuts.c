/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensor as the kernel sees it, once dims are merged, and how it is cut: into tiles, which
 * threads or workgroups share, and chunks, after which something is handed on.
 */
#include "html.h"

#include <string.h>

enum { WIDTH = 520, HEIGHT = 200, LEFT = 96, ROOF = 30, GAP = 26 };

/* One direction of the drawing. */
typedef struct way {
    const char *name;  /* what lies along it */
    const char *piece; /* what it is cut into */
    int64_t size, cut; /* 0: not cut */
    int along;         /* the kernel combines along it */
} way;

typedef struct cuts {
    way across, down;
    int64_t times; /* how many such blocks */
} cuts;

/* Lanes that go together, and what they are called: a tile of theirs; on devices a block of a tile,
 * or what a workgroup takes. */
static int64_t lanes_of(const tly_page *page, const char **name)
{
    const int64_t tile = tly_fact(page, "tile_lanes", 0, 0);
    const int workgroup = tly_choice(page, "workgroup", 0);
    *name = "tile";
    if (page->llvm || workgroup == 0) {
        return tile;
    }
    *name = "block";
    if (tly_template_is(page, "look_back_lanes")) {
        return tly_choice(page, "team", 1);
    }
    return (int64_t)workgroup *
           (tly_template_is(page, "turned") ? 1 : tly_choice(page, "vector", 1));
}

static cuts cuts_of(const tly_page *page)
{
    const int64_t rows = tly_fact(page, "rows", 0, 1), length = tly_fact(page, "length", 0, 1);
    const int64_t inner = tly_fact(page, "inner", 0, 1), steps = tly_fact(page, "steps", 0, 1);
    const int64_t chunk = tly_fact(page, "chunk", 0, 0);
    const int64_t chunk_steps = tly_fact(page, "chunk_steps", 0, 1);
    const int64_t chunked = chunk * (chunk_steps > 0 ? chunk_steps : 1);
    const int by_lanes = tly_template_is(page, "columns") ||
                         tly_template_is(page, "look_back_lanes");
    const int tiles = tly_template_is(page, "look_back") ||
                      tly_template_is(page, "look_back_lanes");
    const char *piece = tiles ? "tile" : "chunk", *beside;
    const int64_t lanes = lanes_of(page, &beside);
    if (tly_fact_is(page, "form", "rows")) {
        /* Interleaved scans are lanes to a device: a chunk counts the positions of one. */
        const int64_t scans = !page->llvm && by_lanes ? tly_fact(page, "unit", 0, 1) : 1;
        return (cuts){ { "elements of a row", piece, length, chunk * scans, 1 },
                       { "rows", "row", rows, 1, 0 },
                       1 };
    }
    if (tly_fact_is(page, "form", "reduced_rows")) {
        return (cuts){ { "elements of a result", "chunk", length * steps, chunked, 1 },
                       { "results", "result", rows, 1, 0 },
                       1 };
    }
    if (tly_fact_is(page, "form", "reduced_lanes")) {
        return (cuts){ { "results side by side", beside, inner, lanes, 0 },
                       { "elements of each", "chunk", length * steps, chunked, 1 },
                       rows };
    }
    return (cuts){ { "lanes", beside, inner, lanes, 0 },
                   { "positions of the axis", piece, length, chunk > 1 ? chunk : 0, 1 },
                   rows };
}

tly_pieces tly_lay_out(int64_t size, int64_t cut, double from, double width)
{
    const int64_t each = cut > 0 && cut < size ? cut : size;
    tly_pieces p = { .count = each > 0 ? (size - 1) / each + 1 : 1 };
    const int gapped = p.count > TLY_PIECES;
    p.shown = gapped ? TLY_PIECES - 1 : (int)p.count;
    double rest = p.count > 1 ? (double)(size - (p.count - 1) * each) / (double)each : 1;
    rest = rest < .3 ? .3 : rest; /* wide enough to be seen */
    const double one = (width - (gapped ? GAP : 0)) / (p.shown - 1 + rest);
    for (int i = 0; i < p.shown; i++) {
        p.at[i] = from + i * one + (gapped && i == p.shown - 1 ? GAP : 0);
        p.end[i] = p.at[i] + (i == p.shown - 1 ? one * rest : one);
    }
    return p;
}

int64_t tly_piece_number(const tly_pieces *p, int i)
{
    return i == p->shown - 1 ? p->count - 1 : i;
}

static void draw_pieces(const cuts *c, const tly_pieces *x, const tly_pieces *y, tly_text *to)
{
    for (int j = 0; j < y->shown; j++) {
        for (int i = 0; i < x->shown; i++) {
            tly_text_print(
                to,
                "<rect class=\"piece %s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>",
                i + j == 0    ? "on"
                : (i + j) % 2 ? "odd"
                              : "even",
                x->at[i], y->at[j], x->end[i] - x->at[i], y->end[j] - y->at[j]);
        }
    }
    for (int i = 0; i < x->shown; i++) {
        tly_text_print(
            to, "<text class=\"kept\" text-anchor=\"middle\" x=\"%.1f\" y=\"%d\">%s %s</text>",
            (x->at[i] + x->end[i]) / 2, ROOF - 8, x->count > 1 ? c->across.piece : "",
            x->count > 1 ? tly_count(tly_piece_number(x, i)) : "");
    }
    for (int j = 0; j < y->shown && y->count > 1; j++) {
        tly_text_print(to,
                       "<text class=\"kept\" text-anchor=\"end\" x=\"%d\" y=\"%.1f\">%s %s</text>",
                       LEFT - 10, (y->at[j] + y->end[j]) / 2 + 4, c->down.piece,
                       tly_count(tly_piece_number(y, j)));
    }
}

/* Through the first piece, and on to the next ones. */
static void draw_arrow(const cuts *c, const tly_pieces *x, const tly_pieces *y, tly_text *to)
{
    const double across = (x->at[0] + x->end[0]) / 2, down = (y->at[0] + y->end[0]) / 2;
    if (c->across.along) {
        tly_text_print(to, "<path class=\"arrow\" marker-end=\"url(#head)\" d=\"M%.1f %.1fH%d\"/>",
                       x->at[0] + 6, down, LEFT + WIDTH - 8);
    } else {
        tly_text_print(to, "<path class=\"arrow\" marker-end=\"url(#head)\" d=\"M%.1f %.1fV%d\"/>",
                       across, y->at[0] + 6, ROOF + HEIGHT - 8);
    }
}

/* "From left to right there are 5,000,000 elements of a row, in 1,221 tiles of up to 4,096." One of
 * something needs no words. */
static void tell(const char *where, const way *w, const tly_pieces *p, tly_text *to)
{
    if (w->size == 1) {
        return;
    }
    tly_text_print(to, "%s there are %s %s", where, tly_count(w->size), w->name);
    if (p->count > 1 && w->cut > 1) {
        tly_text_print(to, ", in %s %ss of up to %s", tly_count(p->count), w->piece,
                       tly_count(w->cut));
    }
    tly_text_print(to, ". ");
}

static void tell_dispatches(const tly_page *page, tly_text *to)
{
    const char *at = page->launch;
    tly_page one = *page;
    int shown = 0;
    for (; (at = strstr(at, "\ndispatch =")) != NULL; shown++) {
        one.launch = ++at;
        if (shown == 0) {
            tly_text_print(
                to,
                "<div class=\"wide\"><table><caption>Dispatches, in their order. A pass "
                "is one of the kernel's modules.</caption><thead><tr><th scope=\"col\">Pass</th>"
                "<th scope=\"col\">Workgroups</th><th scope=\"col\">Invocations of each</th><th "
                "scope=\"col\">Waits for the one before</th></tr></thead><tbody>");
        }
        if (shown < 8) {
            tly_text_print(
                to, "<tr><th scope=\"row\">%s</th><td>%s × %s</td><td>%s</td><td>%s</td></tr>",
                tly_count(tly_fact(&one, "dispatch", 0, 0)),
                tly_count(tly_fact(&one, "dispatch", 1, 0)),
                tly_count(tly_fact(&one, "dispatch", 2, 0)),
                tly_count(tly_fact(&one, "dispatch", 3, 0)),
                tly_fact(&one, "dispatch", 4, 0) ? "yes" : "no");
        }
    }
    if (shown > 0) {
        tly_text_print(to, "</tbody></table></div>");
    }
    if (shown > 8) {
        tly_text_print(to, "<p class=\"note\">There are %s more.</p>", tly_count(shown - 8));
    }
}

void tly_html_cuts(const tly_page *page, tly_text *to)
{
    const cuts c = cuts_of(page);
    if (tly_fact(page, "empty", 0, 0)) {
        return;
    }
    const tly_pieces x = tly_lay_out(c.across.size, c.across.cut, LEFT, WIDTH);
    const tly_pieces y = tly_lay_out(c.down.size, c.down.cut, ROOF, HEIGHT);
    tly_text_print(
        to,
        "<figure><div class=\"wide\"><svg role=\"img\" aria-label=\"How the kernel cuts the "
        "tensor; the text below tells the same\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">",
        LEFT + WIDTH + 20, ROOF + HEIGHT + 12, LEFT + WIDTH + 20, ROOF + HEIGHT + 12);
    draw_pieces(&c, &x, &y, to);
    draw_arrow(&c, &x, &y, to);
    tly_text_print(to, "</svg></div><figcaption>");
    tell("From left to right", &c.across, &x, to);
    tell("From top to bottom", &c.down, &y, to);
    if (c.times > 1) {
        tly_text_print(to, "The tensor has %s such blocks. ", tly_count(c.times));
    }
    tly_text_print(to,
                   "Elements are combined along the arrow. What lies beside it can go to other "
                   "%s.</figcaption></figure>",
                   page->llvm ? "threads" : "invocations");
    tell_dispatches(page, to);
}
