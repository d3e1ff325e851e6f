/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a kernel: what is combined with what, from one element to the result, a step a drawing.
 * Read off the plan; tests/inspect_page computes by these drawings and holds the kernel's bits against
 * them. Here are scans on CPUs, and who tells what.
 */
#include "html_order.h"

void tly_tell_plain(order *o)
{
    begin_step(o, "The plain loop's order");
    tly_text_print(o->to,
                   "<p>Each result is the one before it, combined with the next element. Lanes "
                   "that lie side by side do not meet.</p>");
    if (o->page->subject->scan) {
        tly_draw_chain(8, 1, "y", o->to);
    } else {
        tly_draw_fold(8, o->to);
    }
    end_step(o);
}

void tly_tell_scan_chunks(order *o)
{
    const int64_t chunk = tly_fact(o->page, "chunk", 0, 0),
                  chunks = tly_fact(o->page, "chunks", 0, 1);
    if (chunk <= 0) {
        return;
    }
    begin_step(o, "Chunks");
    tly_text_print(
        o->to,
        "<p>A row is cut after every %s elements: %s chunk%s here. What a chunk starts from is "
        "what the one before it started from, combined with that one's total: so another "
        "thread can have the total before the start arrives, and one thread computes the same "
        "tree as many.%s</p>",
        tly_count(chunk), tly_count(chunks), chunks == 1 ? "" : "s",
        o->page->llvm == NULL && tly_fact(o->page, "unit", 0, 1) > 1
            ? " So it is within a group of 16 chunks, and from group to group, by their totals."
            : "");
    end_step(o);
}

void tly_tell_range(order *o)
{
    if (o->op == TALLY_CUMPROD || o->op == TALLY_CUMSUM) {
        tly_text_print(
            o->to, "<p class=\"note\">Where floating-point results of this order would leave the "
                   "range, and the plain loop's do not, they are computed again in the loop's "
                   "order.</p>");
    }
}

static void tell_rows(order *o)
{
    const int lanes = tly_choice(o->page, "lanes", 1), scan = tly_choice(o->page, "scan", 0);
    const int unit = (int)tly_fact(o->page, "unit", 0, 1);
    static const char *const titles[] = { "Windows, then results", "Each vector, then results",
                                          "A chain by two" };
    begin_step(o, titles[scan]);
    if (scan == 2) {
        tly_text_print(o->to,
                       "<p>Two elements are combined beside the chain, which so waits once for "
                       "two.</p>");
        tly_draw_scalars(o->to);
    } else if (scan == 0) {
        tly_text_print(
            o->to,
            "<p>Windows of 1, 2, 4, … elements that end at each element, each made of two of "
            "the level before, until they are %d long as a vector is. Then each result is that "
            "of %d elements before, combined with the window: one operation a vector in the "
            "chain. Two vectors are drawn.</p>",
            lanes, lanes);
        tly_draw_windows(lanes, 2 * lanes, o->to);
    } else if (tly_choice(o->page, "pairs", 0)) {
        tly_text_print(o->to,
                       "<p>A lane holds two neighbours, which are combined first. One vector is "
                       "drawn; the last result of the one before it joins each in one operation "
                       "more, on the left.</p>");
        tly_draw_pairs(lanes, o->to);
    } else if (unit < lanes) {
        tly_text_print(o->to,
                       "<p>The scan of each vector by itself%s; then what came before it joins in "
                       "one operation. Two vectors are drawn.</p>",
                       unit > 1 ? ", of several scans side by side" : "");
        tly_draw_vectors(lanes, unit, o->to);
    } else {
        tly_text_print(o->to,
                       "<p>%d scans lie side by side, and each result is that of %d elements "
                       "before, combined with the next element.</p>",
                       unit, unit);
        tly_draw_chain(smaller(4 * unit, TLY_NET_COLUMNS) / unit * unit, unit, "y", o->to);
    }
    tly_tell_range(o);
    end_step(o);
    tly_tell_scan_chunks(o);
}

static void tell_short(order *o)
{
    const int lanes = tly_choice(o->page, "lanes", 1);
    const int64_t length = tly_fact(o->page, "length", 0, 1);
    const int columns = length < 2 * lanes ? larger((int)length, 1) : 2 * lanes;
    begin_step(o, "Windows within a row, then results");
    tly_text_print(
        o->to,
        "<p>Rows are one stream, and windows end at their row's start: they are of 1, 2, "
        "4, … elements, up to %d. Where a row is longer, each result is that of %d "
        "elements before, combined with the window.</p>",
        smaller(lanes, columns), lanes);
    tly_draw_windows(lanes, columns, o->to);
    tly_tell_range(o);
    end_step(o);
}

static const struct {
    const char *name;
    void (*tell)(order *o);
} templates[] = {
    { "rows", tell_rows },
    { "short", tell_short },
    { "reduce_rows", tly_tell_reduce_rows },
    { "reduce_lanes", tly_tell_reduce_lanes },
    { "reduce_interleaved", tly_tell_reduce_interleaved },
    { "subgroups", tly_tell_teams },
    { "workgroups", tly_tell_teams },
    { "look_back", tly_tell_teams },
    { "look_back_lanes", tly_tell_lanes },
};

void tly_html_order(const tly_page *page, tly_text *to)
{
    order o = { .page = page, .to = to, .op = page->subject->descriptor.op };
    void (*tell)(order *) = tly_tell_plain;
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        if (tly_template_is(page, templates[i].name)) {
            tell = templates[i].tell;
        }
    }
    if (page->llvm == NULL && tell == tly_tell_reduce_rows) {
        tell = tly_tell_gpu_rows;
    } else if (page->llvm == NULL && tell == tly_tell_reduce_lanes) {
        tell = tly_tell_plain;
    }
    if (page->subject->descriptor.flags & TALLY_REVERSE) {
        tly_text_print(to,
                       "<p class=\"note\">The scan is reversed: x<sub>0</sub> is the last element "
                       "along the axis.</p>");
    }
    tly_text_print(to, "<ol class=\"steps\">");
    tell(&o);
    tly_text_print(to, "</ol>");
}
