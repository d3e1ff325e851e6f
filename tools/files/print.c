/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors as numpy prints them; see print.h: which elements are shown, and how they are divided
 * into lines.
 */
#include "print.h"

#include "style.h"

#include <string.h>

enum { THRESHOLD = 1000, EDGE = 3, WIDTH = 75 };

typedef struct printer {
    tly_text *text;
    tly_style style;
    int rank;
    int abbreviated; /* only the edges of long dims are shown */
    const int64_t *sizes;
    size_t strides[TALLY_MAX_RANK]; /* bytes */
} printer;

typedef void (*visitor)(tly_style *style, const void *element);

static int is_cut(const printer *p, int dim)
{
    return p->abbreviated && p->sizes[dim] > 2 * EDGE;
}

static int64_t count_shown(const printer *p, int dim)
{
    return is_cut(p, dim) ? 2 * EDGE : p->sizes[dim];
}

/* The element or part of the tensor that is shown as number `i` of a dim. */
static const char *shown(const printer *p, int dim, const char *part, int64_t i)
{
    const int64_t left_out = is_cut(p, dim) && i >= EDGE ? p->sizes[dim] - 2 * EDGE : 0;
    return part + (size_t)(i + left_out) * p->strides[dim];
}

static void visit_all(printer *p, int dim, const char *part, visitor visit)
{
    if (dim == p->rank) {
        visit(&p->style, part);
        return;
    }
    const int64_t count = count_shown(p, dim);
    for (int64_t i = 0; i < count; i++) {
        visit_all(p, dim + 1, shown(p, dim, part, i), visit);
    }
}

static void trim(tly_text *text)
{
    while (!text->failed && text->length > 0 && text->text[text->length - 1] == ' ') {
        text->text[--text->length] = 0;
    }
}

/* A line's end, and the next line up to the column where a dim's content stands. */
static void break_line(printer *p, int lines, int dim)
{
    for (int i = 0; i < lines; i++) {
        tly_text_print(p->text, "\n");
    }
    tly_text_print(p->text, "%*s", dim + 1, "");
}

/* Numbers side by side, in as many lines as they need. */
static void write_row(printer *p, int dim, const char *part)
{
    const int64_t count = count_shown(p, dim);
    const int width = WIDTH - dim - 1, begin = dim + 1;
    int column = begin;
    for (int64_t i = 0; i < count; i++) {
        for (int dots = is_cut(p, dim) && i == EDGE; dots >= 0; dots--) {
            char word[TLY_MOST_WORD] = "...";
            if (!dots) {
                tly_style_write(&p->style, shown(p, dim, part, i), word);
            }
            if (column + (int)strlen(word) > width && column > begin) {
                trim(p->text);
                break_line(p, 1, dim);
                column = begin;
            }
            tly_text_print(p->text, "%s%s", word, i + 1 < count ? " " : "");
            column += (int)strlen(word) + 1;
        }
    }
}

static void write_part(printer *p, int dim, const char *part)
{
    const int64_t count = count_shown(p, dim);
    tly_text_print(p->text, "[");
    if (dim + 1 == p->rank) {
        write_row(p, dim, part);
    }
    for (int64_t i = 0; dim + 1 < p->rank && i < count; i++) {
        if (i > 0) {
            break_line(p, p->rank - dim - 1, dim);
        }
        if (is_cut(p, dim) && i == EDGE) {
            tly_text_print(p->text, "...");
            break_line(p, p->rank - dim - 1, dim);
        }
        write_part(p, dim + 1, shown(p, dim, part, i));
    }
    tly_text_print(p->text, "]");
}

void tly_print_tensor(tly_text *text, tally_dtype dtype, int rank, const int64_t *sizes,
                      const void *data)
{
    printer p = { .text = text, .style.dtype = dtype, .rank = rank, .sizes = sizes };
    const size_t element = tally_dtype_bytes(dtype);
    size_t stride = element;
    if (rank == 0) {
        char word[TLY_MOST_WORD];
        tly_style_write_lone(dtype, data, word);
        tly_text_print(text, "%s\n", word);
        return;
    }
    for (int dim = rank - 1; dim >= 0; dim--) {
        p.strides[dim] = stride;
        stride *= (size_t)sizes[dim];
    }
    for (int dim = 0; dim < rank; dim++) {
        if (sizes[dim] == 0) {
            tly_text_print(text, "[]\n");
            return;
        }
    }
    p.abbreviated = stride / element > THRESHOLD;
    visit_all(&p, 0, data, tly_style_see_range);
    visit_all(&p, 0, data, tly_style_see_width);
    write_part(&p, 0, data);
    tly_text_print(text, "\n");
}
