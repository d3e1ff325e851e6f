/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expressions of a word around its scan or reduction: `map` makes the value that is combined,
 * `post` the value that is stored. Each is a step with a drawing: what it reads, and what it makes.
 */
#include "html_order.h"

#include <string.h>

enum { ACROSS = 64, TOP = 34, RING = 84, BOTTOM = 122, MARGIN = 24, LETTER = 8 };

static int has_name(const char *expression, char name)
{
    for (const char *at = expression; (at = strchr(at, name)) != NULL; at++) {
        const char before = at > expression ? at[-1] : ' ';
        const int is_inside = (before >= 'a' && before <= 'z') || (at[1] >= 'a' && at[1] <= 'z') ||
                              (before >= '0' && before <= '9');
        if (!is_inside) {
            return 1;
        }
    }
    return 0;
}

/* The names that an expression reads, in the order of the parameters. */
static int find_names(const char *expression, char names[8])
{
    int count = 0;
    for (const char *name = "xyabcd"; *name; name++) {
        if (has_name(expression, *name)) {
            names[count++] = *name;
        }
    }
    return count;
}

static void draw(const char *expression, const char *made, tly_text *to)
{
    char names[8];
    const int count = find_names(expression, names);
    const int middle = MARGIN + (count > 0 ? count - 1 : 0) * ACROSS / 2;
    const int text = middle + 16 + (int)(strlen(expression) + strlen(made) + 3) * LETTER;
    const int all = 2 * MARGIN + (count > 0 ? count - 1 : 0) * ACROSS, width = larger(text, all);
    tly_text_print(to,
                   "<figure class=\"stage\"><div class=\"wide\"><svg role=\"img\" aria-label=\"An "
                   "expression of %d values\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d "
                   "%d\"><g class=\"wire\">",
                   count, width, BOTTOM + 16, width, BOTTOM + 16);
    for (int i = 0; i < count; i++) {
        tly_text_print(to, "<path d=\"M%d %dL%d %d\"/>", MARGIN + i * ACROSS, TOP, middle, RING);
    }
    tly_text_print(to, "<path d=\"M%d %dV%d\"/></g>", middle, RING, BOTTOM - 12);
    for (int i = 0; i < count; i++) {
        const int x = MARGIN + i * ACROSS;
        tly_text_print(to,
                       "<rect class=\"leaf\" x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" "
                       "rx=\"3\"/><text x=\"%d\" y=\"%d\">%c</text>",
                       x - 6, TOP - 6, x, TOP - 12, names[i]);
    }
    tly_text_print(to,
                   "<circle class=\"join\" cx=\"%d\" cy=\"%d\" r=\"6\"/><text class=\"told\" "
                   "x=\"%d\" y=\"%d\">%s = ",
                   middle, RING, middle + 14, RING + 4, made);
    tly_text_escape(to, expression, strlen(expression));
    tly_text_print(to, "</text><text x=\"%d\" y=\"%d\">%s</text></svg></div></figure>", middle,
                   BOTTOM + 4, made);
}

/* "a is f32 of 64, the same along other axes". */
static void tell_operand(const tally_descriptor *d, int operand, tly_text *to)
{
    const tally_operand *o = &d->operands[operand];
    const char *between = "";
    tly_text_print(to, "<li><var>%c</var> is ", 'a' + operand);
    if (o->place == TALLY_PLACE_AXES && o->axes == 0) {
        tly_text_print(to, "one %s.</li>", tally_dtype_name((tally_dtype)o->dtype));
        return;
    }
    tly_text_print(to, "%s, ", tally_dtype_name((tally_dtype)o->dtype));
    if (o->place == TALLY_PLACE_PACKED) {
        tly_text_print(to, "with an element for each of the input.</li>");
        return;
    }
    tly_text_print(to, o->place == TALLY_PLACE_AXES ? "with an element for each index of axis "
                                                    : "by strides ");
    for (int i = 0; i < d->rank; i++) {
        if (o->place == TALLY_PLACE_STRIDES) {
            tly_text_print(to, "%s%lld", between, (long long)o->strides[i]);
            between = " × ";
        } else if (o->axes >> i & 1) {
            tly_text_print(to, "%s%d", between, i);
            between = " and ";
        }
    }
    tly_text_print(to,
                   o->place == TALLY_PLACE_AXES ? ", the same along all others.</li>"
                                                : " from element %lld on.</li>",
                   (long long)o->offset);
}

static void tell_operands(const tally_descriptor *d, const char *expression, tly_text *to)
{
    tly_text_print(to, "<ul>");
    for (int i = 0; i < TALLY_MAX_OPERANDS && d->operands[i].dtype != 0; i++) {
        if (has_name(expression, (char)('a' + i))) {
            tell_operand(d, i, to);
        }
    }
    tly_text_print(to, "</ul>");
}

static int reads_operands(const char *expression)
{
    return has_name(expression, 'a') || has_name(expression, 'b') || has_name(expression, 'c') ||
           has_name(expression, 'd');
}

static void tell(order *o, const char *title, const char *text, const char *expression,
                 const char *made)
{
    begin_step(o, title);
    tly_text_print(o->to, "%s", text);
    draw(expression, made, o->to);
    if (reads_operands(expression)) {
        tell_operands(&o->page->job->descriptor, expression, o->to);
    }
    end_step(o);
}

/* "1 × 64 f32". */
static void tell_states(const tally_descriptor *d, tly_text *to)
{
    int64_t sizes[TALLY_MAX_CARRY_RANK];
    int32_t rank = 0;
    tally_dtype dtype = TALLY_DTYPE_NONE;
    (void)tally_descriptor_carry(d, &rank, sizes, &dtype, NULL);
    for (int32_t k = 0; k < rank; k++) {
        tly_text_print(to, k ? " × %s" : "%s", tly_count(sizes[k]));
    }
    tly_text_print(to, " %s", tally_dtype_name(dtype));
}

/* Boxes from left to right: states, the scan, states. */
void tly_tell_carry(const tally_descriptor *d, tly_text *to)
{
    static const struct {
        int32_t which;
        int x, arrow; /* where the box begins, and the arrow behind or before it */
        const char *name;
    } boxes[] = { { TALLY_CARRY_IN, 10, 150, "carry_in" },
                  { TALLY_CARRY_OUT, 390, 340, "carry_out" } };
    if (!d->carry) {
        return;
    }
    tly_text_print(to, "<figure><div class=\"wide\"><svg role=\"img\" aria-label=\"States go into "
                       "the scan and out of it; the text below says which\" width=\"540\" "
                       "height=\"60\" viewBox=\"0 0 540 60\"><rect class=\"cell\" x=\"200\" "
                       "y=\"10\" width=\"140\" height=\"40\"/><text text-anchor=\"middle\" "
                       "x=\"270\" y=\"34\">the scan</text>");
    for (int i = 0; i < 2; i++) {
        if (d->carry & boxes[i].which) {
            tly_text_print(to,
                           "<rect class=\"cell\" x=\"%d\" y=\"10\" width=\"140\" height=\"40\"/>"
                           "<text text-anchor=\"middle\" x=\"%d\" y=\"28\">%s</text>"
                           "<text class=\"kept\" text-anchor=\"middle\" x=\"%d\" y=\"44\">",
                           boxes[i].x, boxes[i].x + 70, boxes[i].name, boxes[i].x + 70);
            tell_states(d, to);
            tly_text_print(
                to, "</text><path class=\"arrow\" marker-end=\"url(#head)\" d=\"M%d 30H%d\"/>",
                boxes[i].arrow, boxes[i].arrow + 46);
        }
    }
    tly_text_print(to, "</svg></div><figcaption>%s%s%s</figcaption></figure>",
                   d->carry & TALLY_CARRY_IN ? "Each scan begins with its state in carry_in, or "
                                               "from nothing if a call has none."
                                             : "",
                   d->carry == (TALLY_CARRY_IN | TALLY_CARRY_OUT) ? " " : "",
                   d->carry & TALLY_CARRY_OUT ? "Its last state goes to carry_out." : "");
}

void tly_tell_map(order *o)
{
    const char *map = o->page->job->descriptor.map;
    if (map[0] != 0) {
        tell(o, "Before",
             "<p>The expression <code>map</code> makes <var>u</var> of each element <var>x</var>. "
             "All steps below combine <var>u</var>: where they say x, it is u.</p>",
             map, "u");
    }
}

void tly_tell_post(order *o)
{
    const char *post = o->page->job->descriptor.post;
    if (post[0] != 0) {
        tell(o, "After",
             "<p>The expression <code>post</code> makes what is stored of each finished result "
             "<var>y</var>. It is rounded to the output's type once.</p>",
             post, "out");
    }
}
