/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a kernel: what is combined with what, from one element to the result, in steps that
 * are drawn. It is read off the plan, and tests/inspect_page computes by the drawings and compares
 * with the kernel's bits. This file has scans on CPUs, and the table of who tells what.
 */
#include "html_order.h"

int tly_is_floating(const order *o)
{
    return tly_fact_is(o->page, "accumulator", "f32") || tly_fact_is(o->page, "accumulator", "f64");
}

const char *tly_exclusive(const order *o)
{
    return o->page->job->descriptor.flags & TALLY_EXCLUSIVE
               ? "<p>The scan is exclusive: the output at an element is the result before it.</p>"
               : "";
}

void tly_tell_plain(order *o)
{
    const int scan = o->page->job->scan;
    begin_step(o, "The plain loop's order");
    tly_text_print(
        o->to,
        scan ? "<p>A result is the result before it, combined with the next element. Lanes "
               "that lie side by side do not meet.</p>"
             : "<p>One state takes an element after the other. Lanes that lie side by side do "
               "not meet.</p>");
    if (scan) {
        tly_draw_chain(8, 1, 'x', 'y', "chain", o->to);
    } else {
        tly_draw_fold(8, 'x', 's', "fold", o->to);
    }
    end_step(o);
}

void tly_tell_scan_chunks(order *o)
{
    const int64_t chunk = tly_fact(o->page, "chunk", 0, 0),
                  chunks = tly_fact(o->page, "chunks", 0, 1);
    const tly_strip strip = { "chunk", "elements", tly_fact(o->page, "length", 0, 1), chunk, 'd' };
    if (chunk <= 0) {
        return;
    }
    begin_step(o, "Chunks");
    if (chunks <= 1) {
        tly_text_print(o->to,
                       "<p>Rows longer than %s elements are cut into chunks of that length. These "
                       "rows are one chunk.</p>",
                       tly_count(chunk));
        end_step(o);
        return;
    }
    tly_text_print(
        o->to,
        "<p>A row is cut into %s chunks of up to %s elements. The carry <var>d</var> after a chunk "
        "is "
        "the "
        "carry before it, combined with the chunk's total <var>u</var>. So another thread can "
        "compute a total before the carry arrives, and one thread combines in the same order as "
        "many.</p>",
        tly_count(chunks), tly_count(chunk));
    tly_draw_strip(&strip, "chunks", o->to);
    tly_draw_carried((int)(chunks < 8 ? chunks : 8), 'd', 'u', 'd', 1, "carries", o->to);
    end_step(o);
}

void tly_tell_range(order *o)
{
    if ((o->about->combines == TLY_ADDS || o->about->combines == TLY_MULTIPLIES) &&
        tly_is_floating(o)) {
        tly_text_print(o->to,
                       "<p class=\"note\">In this order a partial result can leave the "
                       "floating-point range where the plain loop stays inside it. The kernel then "
                       "computes these results again, in the order of the loop.</p>");
    }
}

static void tell_windows(order *o, int lanes)
{
    tly_text_print(
        o->to,
        "<p>A window is the combination of 1, 2, 4, … elements, up to and with the element that it "
        "ends at. Two windows of half the length make one, until windows are %d elements long, as "
        "a vector is. A result is then the result %d elements before it, combined with its window: "
        "the chain takes one operation a vector. Two vectors are drawn.</p>",
        lanes, lanes);
    tly_draw_windows(lanes, 2 * lanes, o->to);
}

static void tell_vectors(order *o, int lanes, int unit)
{
    if (tly_choice(o->page, "pairs", 0)) {
        tly_text_print(
            o->to, "<p>A lane holds two neighbours, which are combined first. One vector is "
                   "drawn. The last result of the vector before it joins every element from the "
                   "left, in one more operation.</p>");
        tly_draw_pairs(lanes, o->to);
    } else if (unit < lanes) {
        tly_text_print(o->to,
                       "<p>Each vector is scanned by itself%s. Then one operation joins what comes "
                       "before the vector. Two vectors are drawn.</p>",
                       unit > 1 ? ", several scans side by side" : "");
        tly_draw_vectors(lanes, unit, o->to);
    } else {
        tly_text_print(
            o->to,
            "<p>%d scans lie side by side. A result is the result %d elements before it, "
            "combined with the next element.</p>",
            unit, unit);
        tly_draw_chain(smaller(4 * unit, TLY_NET_COLUMNS) / unit * unit, unit, 'x', 'y', "chain",
                       o->to);
    }
}

static void tell_rows(order *o)
{
    const int lanes = tly_choice(o->page, "lanes", 1), scan = tly_choice(o->page, "scan", 0);
    static const char *const titles[] = { "Windows, then results", "Each vector, then results",
                                          "A chain by two" };
    begin_step(o, titles[scan]);
    if (scan == 0) {
        tell_windows(o, lanes);
    } else if (scan == 1) {
        tell_vectors(o, lanes, (int)tly_fact(o->page, "unit", 0, 1));
    } else {
        tly_text_print(o->to, "<p>Two neighbours are combined beside the chain, so that the chain "
                              "waits once for two elements.</p>");
        tly_draw_scalars(o->to);
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
    tly_text_print(o->to,
                   "<p>All rows are one stream of vectors. A window is the combination of 1, 2, 4, "
                   "… elements, up to %d, and does not reach beyond the start of its row.%s",
                   smaller(lanes, columns), length > lanes ? "" : "</p>");
    if (length > lanes) {
        tly_text_print(o->to,
                       " A result is then the result %d elements before it, combined with its "
                       "window.</p>",
                       lanes);
    }
    tly_draw_windows(lanes, columns, o->to);
    tly_tell_range(o);
    end_step(o);
}

static void tell_nothing(order *o)
{
    begin_step(o, "Nothing");
    tly_text_print(o->to, "<p>This kernel moves elements and combines none: it is there to compare "
                          "times with.</p>");
    end_step(o);
}

enum { CPU = 1, DEVICE = 2 };

static const struct {
    const char *name;
    int kinds;
    void (*tell)(order *o);
} templates[] = {
    { "rows", CPU, tell_rows },
    { "short", CPU, tell_short },
    { "reduce_rows", CPU, tly_tell_reduce_rows },
    { "reduce_lanes", CPU, tly_tell_reduce_lanes },
    { "reduce_interleaved", CPU, tly_tell_reduce_interleaved },
    { "columns", DEVICE, tly_tell_columns },
    { "turned", DEVICE, tly_tell_turned },
    { "staged", DEVICE, tly_tell_staged },
    { "subgroups", DEVICE, tly_tell_teams },
    { "workgroups", DEVICE, tly_tell_teams },
    { "look_back", DEVICE, tly_tell_look_back },
    { "look_back_lanes", DEVICE, tly_tell_look_back_lanes },
    { "reduce_rows", DEVICE, tly_tell_gpu_reduce_rows },
    { "reduce_lanes", DEVICE, tly_tell_gpu_reduce_lanes },
    { "copy", DEVICE, tell_nothing },
    { "read", DEVICE, tell_nothing },
};

/* Words that the steps use without saying what they mean. */
static void tell_words(const order *o)
{
    tly_text_print(o->to, "<p class=\"note\">Here ⊕ is %s.", o->about->operation);
    if (!o->page->llvm) {
        tly_text_print(o->to,
                       " An <dfn>invocation</dfn> is a thread of the device. A <dfn>subgroup</dfn> "
                       "is a set of invocations that exchange values directly: its "
                       "<dfn>lanes</dfn>. A <dfn>workgroup</dfn> is a set that shares memory.");
    }
    if (o->page->job->descriptor.flags & TALLY_REVERSE) {
        tly_text_print(o->to, " The scan goes backwards: x₀ is the last element along the axis.");
    }
    tly_text_print(o->to, "</p>");
}

void tly_html_order(const tly_page *page, tly_text *to)
{
    order o = { .page = page, .to = to, .about = tly_about_op(page->job->descriptor.op) };
    const int kind = page->llvm ? CPU : DEVICE;
    void (*tell)(order *) = tly_tell_plain;
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        if ((templates[i].kinds & kind) && tly_template_is(page, templates[i].name)) {
            tell = templates[i].tell;
        }
    }
    tell_words(&o);
    tly_text_print(to, "<ol class=\"steps\">");
    tly_tell_map(&o);
    tell(&o);
    tly_tell_post(&o);
    tly_text_print(to, "</ol>");
}
