/* SPDX-License-Identifier: Apache-2.0 */
/* The order of reductions on CPUs. */
#include "html_order.h"

static int is_product_of_floats(const order *o)
{
    return o->op == TALLY_PROD && (tly_fact_is(o->page, "accumulator", "f32") ||
                                   tly_fact_is(o->page, "accumulator", "f64"));
}

void tly_tell_reduced_chunks(order *o)
{
    const int64_t chunks = tly_fact(o->page, "chunks", 0, 1),
                  each = tly_fact(o->page, "chunk", 0, 0);
    const int64_t steps = tly_fact(o->page, "chunk_steps", 0, 1);
    begin_step(o, "Chunks");
    if (chunks <= 1) {
        tly_text_print(o->to, "<p>What makes one result is one chunk here.</p>");
    } else {
        tly_text_print(
            o->to,
            "<p>What makes one result is cut into %s chunks of %s elements. Their states are "
            "combined 32 by 32, each group from left to right, and then the groups in their "
            "order, by whichever thread comes last: no result depends on who that is.</p>",
            tly_count(chunks), tly_count(each * (steps > 0 ? steps : 1)));
    }
    end_step(o);
}

static void tell_takes(order *o, int together, const char *what)
{
    if (o->op == TALLY_LOG_SUM_EXP) {
        tly_text_print(o->to,
                       "<p>%d %s are taken at once: the largest first, then the exponentials "
                       "relative to it are added up, and that meets the state.</p>",
                       together, what);
    } else {
        tly_text_print(o->to,
                       "<p>%d %s are combined neighbour with neighbour, and that meets the state, "
                       "which so is loaded and stored once for all of them.</p>",
                       together, what);
        tly_draw_neighbours(together, "x", "take", o->to);
    }
}

void tly_tell_reduce_rows(order *o)
{
    const int lanes = tly_choice(o->page, "lanes", 1), vectors = tly_choice(o->page, "unroll", 1);
    const int picks = o->op == TALLY_ARGMAX || o->op == TALLY_ARGMIN;
    const int groups = (o->op == TALLY_LOG_SUM_EXP || picks) && vectors > 1;
    begin_step(o, lanes * vectors > 1 ? "Chains side by side" : "One chain");
    tly_text_print(
        o->to,
        "<p>%d state%s: element <var>i</var> goes to vector <var>i</var> / %d modulo %d, lane "
        "<var>i</var> modulo %d, each state from left to right. What fills no %d vectors goes "
        "to the first, and what fills no vector to its first lanes%s.</p>",
        groups ? lanes : lanes * vectors, lanes * vectors > 1 ? "s" : "", lanes, vectors, lanes,
        vectors, " (or, without masked loads, to a state of its own)");
    if (groups) {
        tly_text_print(
            o->to,
            picks ? "<p>Groups of %d vectors are looked at for values alone; only the best "
                    "group is searched for its index.</p>"
                  : "<p>%d vectors are taken at once: the largest first, then the exponentials "
                    "relative to it.</p>",
            vectors);
    }
    if (is_product_of_floats(o)) {
        tly_text_print(o->to,
                       "<p class=\"note\">Products of floats are a mantissa and an exponent, which "
                       "nothing leaves; only chains of 32 elements are plain.</p>");
    }
    tly_draw_fold(8, o->to);
    end_step(o);
    if (vectors > 1 && !groups) {
        begin_step(o, "Vectors");
        tly_text_print(o->to, "<p>The %d vectors are folded, the upper half onto the lower.</p>",
                       vectors);
        tly_draw_halves(vectors, "v", "vectors", o->to);
        end_step(o);
    }
    if (lanes > 1) {
        begin_step(o, "Lanes");
        tly_text_print(o->to, "<p>The %d lanes of what is left likewise.</p>", lanes);
        tly_draw_halves(lanes, "l", "lanes", o->to);
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
    tly_text_print(
        o->to, "<p>Each output has its own lane and its own state. What fills no pass goes one by "
               "one.</p>");
    tell_takes(o, rows, "steps of the axis");
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
            ? "<p>%d steps of the axis side by side are one wide row, each with its own state; "
              "several such rows pass at once.</p>"
            : "<p>%d step of the axis is one row; several such rows pass at once.</p>",
        block);
    if (is_product_of_floats(o)) {
        tly_text_print(o->to, "<p>Products are chains of 32 wide rows, one after the other, which "
                              "are joined as mantissas and exponents.</p>");
    } else {
        tell_takes(o, tly_choice(o->page, "rows", 1), "wide rows");
    }
    end_step(o);
    if (block > 1) {
        begin_step(o, "Steps");
        tly_text_print(o->to,
                       "<p>The states of one output, of %d steps, are folded, the upper half onto "
                       "the lower.%s</p>",
                       block, block > TLY_NET_COLUMNS ? " The first of them are drawn." : "");
        tly_draw_halves(smaller(block, 32), "s", "steps", o->to);
        end_step(o);
    }
    tly_tell_reduced_chunks(o);
}
