/* SPDX-License-Identifier: Apache-2.0 */
/* The order of reductions on CPUs. */
#include "html_order.h"

int tly_is_product_of_floats(const order *o)
{
    return o->about->combines == TLY_MULTIPLIES && tly_is_floating(o);
}

void tly_tell_reduced_chunks(order *o)
{
    const int64_t chunks = tly_fact(o->page, "chunks", 0, 1),
                  each = tly_fact(o->page, "chunk", 0, 0);
    const int64_t steps = tly_fact(o->page, "chunk_steps", 0, 1);
    begin_step(o, "Chunks");
    if (chunks <= 1) {
        tly_text_print(o->to, "<p>The elements of a result are one chunk.</p>");
    } else {
        tly_text_print(
            o->to,
            "<p>The elements of a result are cut into %s chunks of %s. Their states are combined "
            "in groups of 32, each group from left to right, and then the groups from left to "
            "right. The thread that finishes last does this, and the result does not depend on "
            "which thread that is.</p>",
            tly_count(chunks), tly_count(each * (steps > 0 ? steps : 1)));
    }
    end_step(o);
}

void tly_tell_takes(order *o, int together, const char *what)
{
    if (o->about->combines == TLY_ADDS_EXPONENTIALS) {
        tly_text_print(o->to,
                       "<p>The state takes %d %s at once. It finds the largest one first and adds "
                       "up the exponentials relative to it.</p>",
                       together, what);
    } else if (together > 1) {
        tly_text_print(o->to,
                       "<p>The state takes %d %s at once. They are combined neighbour with "
                       "neighbour, and what they come to meets the state.</p>",
                       together, what);
        tly_draw_neighbours(together, 'x', "take", o->to);
    } else {
        tly_text_print(o->to, "<p>The state takes one element after the other.</p>");
        tly_draw_fold(8, 'x', 's', "loop", o->to);
    }
}

/* How elements of rows go to states. */
static void tell_states(order *o, int lanes, int vectors, int groups)
{
    if (lanes * vectors == 1) {
        tly_text_print(o->to, "<p>One state takes an element after the other.</p>");
        return;
    }
    tly_text_print(o->to,
                   "<p>The elements are shared out among %d states. Element <var>i</var> goes to "
                   "lane <var>i</var> modulo %d of vector <var>i</var> / %d modulo %d, and each "
                   "state takes its elements from left to right. Elements that do not fill %d "
                   "vector%s go to the first vector, and those that do not fill one to its first "
                   "lanes. A level without masked loads has one more state for these.</p>",
                   groups ? lanes : lanes * vectors, lanes, lanes, vectors, vectors,
                   plural(vectors));
}

void tly_tell_reduce_rows(order *o)
{
    const int lanes = tly_choice(o->page, "lanes", 1), vectors = tly_choice(o->page, "unroll", 1);
    const int finds = o->about->combines == TLY_FINDS;
    const int groups = (o->about->combines == TLY_ADDS_EXPONENTIALS || finds) && vectors > 1;
    begin_step(o, lanes * vectors > 1 ? "Chains side by side" : "One chain");
    tell_states(o, lanes, vectors, groups);
    if (groups) {
        tly_text_print(
            o->to,
            finds ? "<p>The kernel compares groups of %d vectors by value alone, and searches only "
                    "the best group for the index.</p>"
                  : "<p>The kernel takes %d vectors at once. It finds the largest elements first "
                    "and adds up the exponentials relative to them.</p>",
            vectors);
    }
    if (tly_is_product_of_floats(o)) {
        tly_text_print(o->to, "<p class=\"note\">A product is a mantissa and an exponent, so that "
                              "no partial product leaves the range. Chains of up to 32 elements "
                              "are plain products.</p>");
    }
    tly_draw_fold(8, 'x', 's', "fold", o->to);
    end_step(o);
    if (vectors > 1 && !groups) {
        begin_step(o, "Vectors");
        tly_text_print(o->to,
                       "<p>The %d vectors of states are folded: the upper half joins the lower "
                       "half, until one is left.</p>",
                       vectors);
        tly_draw_halves(vectors, 'v', "vectors", o->to);
        end_step(o);
    }
    if (lanes > 1) {
        begin_step(o, "Lanes");
        tly_text_print(o->to, "<p>The %d lanes of the last vector are folded likewise.</p>", lanes);
        tly_draw_halves(lanes, 'l', "lanes", o->to);
        end_step(o);
    }
    tly_tell_reduced_chunks(o);
}

void tly_tell_reduce_lanes(order *o)
{
    const int rows = tly_choice(o->page, "rows", 1);
    if (tly_choice(o->page, "chunk", 0) == 0) {
        tly_tell_plain(o);
        return;
    }
    begin_step(o, "Passes");
    tly_text_print(o->to,
                   "<p>Each result has a lane and a state of its own. Steps of the axis that "
                   "do not fill a pass go one by one.</p>");
    tly_tell_takes(o, rows, "steps of the axis");
    end_step(o);
    tly_tell_reduced_chunks(o);
}

void tly_tell_reduce_interleaved(order *o)
{
    const int block = tly_choice(o->page, "block", 1);
    begin_step(o, "Passes");
    tly_text_print(
        o->to,
        block > 1
            ? "<p>%d steps of the axis lie side by side in one wide row, and each has a state "
              "of its own. Several such rows pass at once.</p>"
            : "<p>%d step of the axis is one row. Several such rows pass at once.</p>",
        block);
    if (tly_is_product_of_floats(o)) {
        tly_text_print(o->to, "<p>A product takes 32 wide rows, one after the other. The products "
                              "of 32 rows are joined as mantissas and exponents.</p>");
    } else {
        tly_tell_takes(o, tly_choice(o->page, "rows", 1), "wide rows");
    }
    end_step(o);
    if (block > 1) {
        begin_step(o, "Steps");
        tly_text_print(o->to,
                       "<p>A result has %d states, one for each step of a wide row. They are "
                       "folded: the upper half joins the lower half, until one is left.%s</p>",
                       block, block > 32 ? " The first 32 states are drawn." : "");
        tly_draw_halves(smaller(block, 32), 'p', "steps", o->to);
        end_step(o);
    }
    tly_tell_reduced_chunks(o);
}
