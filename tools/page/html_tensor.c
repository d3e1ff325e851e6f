/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tensor as the word has it: its last dims as sheets of cells, the axis as an arrow, and the
 * elements of the first scan or of the first result filled; beside it a table of all dims.
 */
#include "html.h"

#include <string.h>

enum {
    CELL = 20,
    MOST_CELLS = 10,
    MOST_DOWN = 8,
    MOST_SHEETS = 4,
    SLANT = 14,
    LEAST_LEFT = 132,
    LETTER = 8,
    ROOF = 16
};

/* What a dim is to the kernel. */
enum { KEPT, ALONG };

/* A dim that is drawn: across, down or behind; at most three. */
typedef struct side {
    int dim; /* -1: none */
    int64_t size;
    int cells, role;
    int cut; /* more than are drawn */
} side;

typedef struct drawing {
    const tally_descriptor *d;
    int scan;
    side across, down, behind;
    int64_t left_out; /* how many such blocks there are */
    int left;         /* room for the name of what goes down */
    tly_text *to;
} drawing;

static int role_of(const drawing *w, int dim)
{
    const tally_descriptor *d = w->d;
    if (w->scan) {
        return dim == d->axis ? ALONG : KEPT;
    }
    return !d->axes_given || (d->axes >> dim & 1) ? ALONG : KEPT;
}

static side side_of(const drawing *w, int dim, int most)
{
    side s = { dim, 1, 1, KEPT, 0 };
    if (dim >= 0) {
        s.size = w->d->sizes[dim];
        s.cut = s.size > most;
        s.cells = s.cut ? most : (int)s.size;
        s.role = role_of(w, dim);
    }
    return s;
}

/* The innermost two dims lie across and down; behind is the axis if it is none of them, else the
 * next one. Dims of one element are drawn only where there is no other. */
static void choose_sides(drawing *w)
{
    int dims[TALLY_MAX_RANK], count = 0, behind = -1;
    for (int i = w->d->rank - 1; i >= 0; i--) {
        if (w->d->sizes[i] != 1 || w->d->rank - i <= 1) {
            dims[count++] = i;
        }
    }
    for (int k = count - 1; k >= 2; k--) {
        if (behind < 0 || role_of(w, dims[k]) == ALONG || role_of(w, behind) == KEPT) {
            behind = dims[k];
        }
    }
    w->across = side_of(w, count > 0 ? dims[0] : -1, MOST_CELLS);
    w->down = side_of(w, count > 1 ? dims[1] : -1, MOST_DOWN);
    w->behind = side_of(w, behind, MOST_SHEETS);
    w->left_out = 1;
    for (int k = 2; k < count; k++) {
        w->left_out *= dims[k] == behind ? 1 : w->d->sizes[dims[k]];
    }
}

static int is_first(const drawing *w, int x, int y, int z)
{
    return (w->across.role == ALONG || x == 0) && (w->down.role == ALONG || y == 0) &&
           (w->behind.role == ALONG || z == 0);
}

static void draw_sheet(drawing *w, int z)
{
    const int left = w->left + z * SLANT, top = ROOF + (w->behind.cells - 1 - z) * SLANT;
    for (int y = 0; y < w->down.cells; y++) {
        for (int x = 0; x < w->across.cells; x++) {
            tly_text_print(w->to,
                           "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>",
                           is_first(w, x, y, z) ? "cell on" : "cell", left + x * CELL,
                           top + y * CELL, CELL, CELL);
        }
    }
}

/* Where a dim's arrow goes, and where its name stands. */
typedef struct line {
    int x1, y1, x2, y2, x, y;
    const char *anchor;
} line;

/* A dim's name beside it; that along which the kernel goes has an arrow, too. */
static void draw_side(drawing *w, const side *s, const line *l)
{
    const int back = w->scan && (w->d->flags & TALLY_REVERSE), along = s->role == ALONG;
    if (s->dim < 0) {
        return;
    }
    if (along) {
        tly_text_print(
            w->to, "<path class=\"arrow\" marker-end=\"url(#head)\" d=\"M%d %dL%d %d\"/>",
            back ? l->x2 : l->x1, back ? l->y2 : l->y1, back ? l->x1 : l->x2, back ? l->y1 : l->y2);
    }
    tly_text_print(w->to,
                   "<text class=\"%s\" text-anchor=\"%s\" x=\"%d\" y=\"%d\">axis %d<tspan "
                   "class=\"kept\" x=\"%d\" dy=\"15\">%s",
                   along ? "along" : "kept", l->anchor, l->x, l->y, s->dim, l->x,
                   tly_count(s->size));
    if (s->cut) {
        tly_text_print(w->to, ", %d drawn", s->cells);
    }
    tly_text_print(w->to, "</tspan></text>");
}

static void draw(drawing *w)
{
    const int depth = (w->behind.cells > 0 ? w->behind.cells - 1 : 0) * SLANT;
    const int right = w->left + w->across.cells * CELL,
              bottom = ROOF + depth + w->down.cells * CELL;
    const int width = right + depth + (w->behind.dim < 0 ? 20 : 110);
    tly_text_print(
        w->to,
        "<div class=\"wide\"><svg role=\"img\" aria-label=\"The tensor; the table below has "
        "its dims\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">",
        width, bottom + 50, width, bottom + 50);
    for (int z = w->behind.cells - 1; z >= 0; z--) {
        draw_sheet(w, z);
    }
    const int far = depth > 24 ? depth : 24, top = ROOF + depth;
    draw_side(
        w, &w->down,
        &(line){ w->left - 8, top, w->left - 8, bottom, w->left - 16, (top + bottom) / 2, "end" });
    draw_side(w, &w->across,
              &(line){ w->left, bottom + 10, right, bottom + 10, (w->left + right) / 2, bottom + 28,
                       "middle" });
    draw_side(w, &w->behind,
              &(line){ right + 10, bottom - 2, right + 10 + far, bottom - 2 - far,
                       right + 20 + far / 2, bottom - 2, "start" });
    tly_text_print(w->to, "</svg></div>");
}

static void write_table(const drawing *w, const tly_job *s)
{
    tly_text_print(
        w->to,
        "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Axis</th><th scope=\"col\">"
        "Size</th><th scope=\"col\">Input stride</th><th scope=\"col\">%s</th></tr></thead>"
        "<tbody>",
        w->scan ? "Output stride" : "Role");
    for (int i = 0; i < w->d->rank; i++) {
        const int along = role_of(w, i) == ALONG;
        tly_text_print(w->to,
                       "<tr%s><th scope=\"row\">%d%s</th><td>%s</td><td>%s</td><td>%s</td></tr>",
                       along ? " class=\"along\"" : "", i, w->scan && along ? " (scanned)" : "",
                       tly_count(s->in.sizes[i]), tly_count(s->in.strides[i]),
                       w->scan ? tly_count(s->out.strides[i])
                       : along ? "reduced"
                               : "kept");
    }
    tly_text_print(w->to, "</tbody></table></div>");
}

void tly_html_tensor(const tly_page *page, tly_text *to)
{
    drawing w = { .d = &page->job->descriptor, .scan = page->job->scan, .to = to };
    choose_sides(&w);
    w.left = LETTER * (int)(strlen(tly_count(w.down.size)) + sizeof ", 8 drawn");
    w.left = w.left > LEAST_LEFT ? w.left : LEAST_LEFT;
    tly_text_print(to, "<figure>");
    if (page->job->in.count == 0) {
        tly_text_print(
            to, "<p>A size is 0: the tensor has no elements, so there is nothing to draw and "
                "nothing to run.</p>");
    } else {
        draw(&w);
        tly_text_print(to, "<figcaption>The filled cells %s.",
                       w.scan ? "are the first scan" : "make the first result");
        if (w.left_out > 1) {
            tly_text_print(to, " Not all dims are drawn: the tensor has %s such blocks.",
                           tly_count(w.left_out));
        }
        tly_text_print(to, "</figcaption>");
    }
    tly_text_print(to, "</figure>");
    tly_tell_carry(w.d, to);
    if (w.d->rank > 0) {
        write_table(&w, page->job);
    }
}
