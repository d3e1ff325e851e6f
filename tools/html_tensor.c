/*
 * The tensor as the word has it: its last dims as sheets of cells, the axis as an arrow, and the
 * elements of the first scan or of the first result filled; beside it a table of all dims.
 */
#include "html.h"

#include <string.h>

enum { CELL = 24, MOST_CELLS = 12, MOST_SHEETS = 4, SLANT = 16, LEFT = 120, ROOF = 34 };

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

/* The innermost two dims lie across and down; behind is the axis if it is none of them, else the next
 * one. Dims of one element are drawn only where there is no other. */
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
    w->down = side_of(w, count > 1 ? dims[1] : -1, 8);
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
    const int left = LEFT + z * SLANT, top = ROOF + (w->behind.cells - 1 - z) * SLANT;
    for (int y = 0; y < w->down.cells; y++) {
        for (int x = 0; x < w->across.cells; x++) {
            tly_text_print(w->to,
                           "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>",
                           is_first(w, x, y, z) ? "cell on" : "cell", left + x * CELL,
                           top + y * CELL, CELL, CELL);
        }
    }
}

/* A dim's name beside it; that along which the kernel goes has an arrow, too. */
static void draw_side(drawing *w, const side *s, int x1, int y1, int x2, int y2, const char *anchor)
{
    const int back = w->scan && (w->d->flags & TALLY_REVERSE);
    if (s->dim < 0) {
        return;
    }
    if (s->role == ALONG) {
        tly_text_print(w->to,
                       "<path class=\"arrow\" marker-end=\"url(#head)\" d=\"M%d %dL%d %d\"/>",
                       back ? x2 : x1, back ? y2 : y1, back ? x1 : x2, back ? y1 : y2);
    }
    const int down = x1 == x2;
    tly_text_print(
        w->to, "<text class=\"%s\" text-anchor=\"%s\" x=\"%d\" y=\"%d\">axis %d: %s%s</text>",
        s->role == ALONG ? "along" : "kept", anchor, down ? x1 - 10 : (x1 + x2) / 2,
        down ? (y1 + y2) / 2 + 4 : y1 - 8, s->dim, tly_count(s->size), s->cut ? " …" : "");
}

static void draw(drawing *w)
{
    const int depth = (w->behind.cells > 0 ? w->behind.cells - 1 : 0) * SLANT;
    const int right = LEFT + w->across.cells * CELL, bottom = ROOF + depth + w->down.cells * CELL;
    const int width = right + depth + 130 > 360 ? right + depth + 130 : 360;
    tly_text_print(
        w->to,
        "<div class=\"wide\"><svg role=\"img\" aria-label=\"The tensor; its dims are in the "
        "table below\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">",
        width, bottom + 40, width, bottom + 40);
    for (int z = w->behind.cells - 1; z >= 0; z--) {
        draw_sheet(w, z);
    }
    draw_side(w, &w->down, LEFT - 12, ROOF + depth, LEFT - 12, bottom, "end");
    if (w->across.dim >= 0) { /* below the sheets */
        side across = w->across;
        draw_side(w, &across, LEFT, bottom + 14, right, bottom + 14, "middle");
    }
    if (w->behind.dim >= 0) {
        draw_side(w, &w->behind, right + 10, bottom - 4, right + 10 + (depth > 24 ? depth : 24),
                  bottom - 4 - (depth > 24 ? depth : 24), "start");
    }
    tly_text_print(w->to, "</svg></div>");
}

static void write_table(const drawing *w, const tly_subject *s)
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
    drawing w = { .d = &page->subject->descriptor, .scan = page->subject->scan, .to = to };
    choose_sides(&w);
    tly_text_print(to, "<figure>");
    if (page->subject->in.count == 0) {
        tly_text_print(
            to, "<p>A size is 0: the tensor has no elements, so there is nothing to draw and "
                "nothing to run.</p>");
    } else {
        draw(&w);
        tly_text_print(to, "<figcaption>Filled: %s.",
                       w.scan ? "the first scan" : "what makes the first result");
        if (w.left_out > 1) {
            tly_text_print(to, " There are %s such blocks, by the dims that are not drawn.",
                           tly_count(w.left_out));
        }
        tly_text_print(to, "</figcaption>");
    }
    tly_text_print(to, "</figure>");
    if (w.d->rank > 0) {
        write_table(&w, page->subject);
    }
}
