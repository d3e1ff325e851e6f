/*
 * The order of a kernel: what is combined with what, from one element to the result, a step a drawing.
 * Read off the plan; tests compute by these drawings and hold the kernel's bits against them.
 */
#include "html.h"

#include <string.h>

/* A kernel's order on its way to the page. */
typedef struct order {
    const tly_page *page;
    tly_text *to;
    int op;
    int step; /* how many are there */
} order;

static void begin_step(order *o, const char *title)
{
    tly_text_print(o->to, "<li><h3>%s</h3>", title);
    o->step++;
}

static void end_step(order *o)
{
    tly_text_print(o->to, "</li>");
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* ---- scans ---- */

static void tell_plain(order *o)
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

static void tell_scan_chunks(order *o)
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
        "tree as many.</p>",
        tly_count(chunk), tly_count(chunks), chunks == 1 ? "" : "s");
    end_step(o);
}

static void tell_range(order *o)
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
    tell_range(o);
    end_step(o);
    tell_scan_chunks(o);
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
    tell_range(o);
    end_step(o);
}

/* ---- reductions ---- */

static int is_product_of_floats(const order *o)
{
    return o->op == TALLY_PROD && (tly_fact_is(o->page, "accumulator", "f32") ||
                                   tly_fact_is(o->page, "accumulator", "f64"));
}

static void tell_reduced_chunks(order *o)
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

static void tell_reduce_rows(order *o)
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
    tell_reduced_chunks(o);
}

static void tell_reduce_lanes(order *o)
{
    const int rows = tly_choice(o->page, "rows", 1);
    if (tly_choice(o->page, "chunk", 0) == 0) {
        tell_plain(o);
        return;
    }
    begin_step(o, "Passes");
    tly_text_print(
        o->to, "<p>Each output has its own lane and its own state. What fills no pass goes one by "
               "one.</p>");
    tell_takes(o, rows, "steps of the axis");
    end_step(o);
    tell_reduced_chunks(o);
}

static void tell_reduce_interleaved(order *o)
{
    const int block = tly_choice(o->page, "block", 1);
    begin_step(o, "Passes");
    tly_text_print(
        o->to,
        "<p>%d steps of the axis side by side are one wide row, each with its own state; "
        "several such rows pass at once.</p>",
        block);
    tell_takes(o, tly_choice(o->page, "rows", 1), "wide rows");
    end_step(o);
    begin_step(o, "Steps");
    tly_text_print(o->to,
                   "<p>The states of one output, of %d steps, are folded, the upper half onto the "
                   "lower.%s</p>",
                   block, block > TLY_NET_COLUMNS ? " The first of them are drawn." : "");
    tly_draw_halves(smaller(block, 32), "s", "steps", o->to);
    end_step(o);
}

/* ---- Vulkan ---- */

static void tell_groups(order *o, int groups)
{
    if (groups > 1) {
        begin_step(o, "Subgroups");
        tly_text_print(o->to,
                       "<p>The totals of the %d subgroups of a team meet in workgroup memory, from "
                       "left to right.</p>",
                       groups);
        tly_draw_chain(smaller(groups, 16), 1, "p", o->to);
        end_step(o);
    }
}

/* Invocations that exchange values, of a team, and how many such groups a team has. */
static int width_of(const order *o, int *groups)
{
    const int workgroup = tly_choice(o->page, "workgroup", 1),
              team = tly_choice(o->page, "team", workgroup);
    const int subgroup = (int)tly_fact(o->page, "subgroup", 0, 1);
    const int width = tly_choice(o->page, "scan", 0) == 0 ? team
                                                          : smaller(team, larger(subgroup, 1));
    *groups = team / width;
    return width;
}

static void tell_teams(order *o)
{
    int groups;
    const int width = width_of(o, &groups), vector = tly_choice(o->page, "vector", 1);
    const int unit = (int)tly_fact(o->page, "unit", 0, 1);
    if (vector > 1) {
        begin_step(o, "Within an invocation");
        tly_text_print(o->to, "<p>%d neighbours are the plain loop.</p>", vector);
        tly_draw_chain(smaller(vector, 16), 1, "a", o->to);
        end_step(o);
    }
    begin_step(o, "Across invocations");
    if (tly_choice(o->page, "scan", 0) == 2 && unit == 1) {
        tly_text_print(
            o->to,
            "<p>The totals of %d invocations go through the device's own scan, of integers, "
            "whose order changes nothing.</p>",
            width);
    } else {
        tly_text_print(
            o->to,
            "<p>The totals of %d invocations, with those at distance %d, %d, %d and so on.%s</p>",
            width, unit, 2 * unit, 4 * unit, width > 32 ? " The first 32 are drawn." : "");
        tly_draw_lanes(smaller(width, 32), unit, 0, o->to);
    }
    end_step(o);
    tell_groups(o, groups);
    begin_step(o, "Results");
    tly_text_print(
        o->to,
        "<p>What comes before an invocation's elements, the groups first, joins each of "
        "them from the left.%s</p>",
        tly_template_is(o->page, "look_back")
            ? " What comes before a tile is looked up from tile to tile, strictly in their order."
            : "");
    tell_range(o);
    end_step(o);
    if (!tly_template_is(o->page, "look_back")) {
        tell_scan_chunks(o);
    }
}

static void tell_gpu_rows(order *o)
{
    int groups;
    const int width = width_of(o, &groups);
    begin_step(o, "Within an invocation");
    tly_text_print(
        o->to,
        "<p>A team goes through an output's elements side by side, %d of each invocation "
        "at once, and each invocation has one state.</p>",
        tly_choice(o->page, "segments", 1));
    end_step(o);
    begin_step(o, "Across invocations");
    tly_text_print(
        o->to,
        "<p>The states of %d invocations: each takes that of the one whose number differs "
        "in one bit, so that all have the same in the end.%s</p>",
        width, width > 32 ? " The first 32 are drawn." : "");
    tly_draw_lanes(smaller(width, 32), 1, 1, o->to);
    end_step(o);
    tell_groups(o, groups);
    tell_reduced_chunks(o);
}

static const struct {
    const char *name;
    void (*tell)(order *o);
} templates[] = {
    { "rows", tell_rows },
    { "short", tell_short },
    { "reduce_rows", tell_reduce_rows },
    { "reduce_lanes", tell_reduce_lanes },
    { "reduce_interleaved", tell_reduce_interleaved },
    { "subgroups", tell_teams },
    { "workgroups", tell_teams },
    { "look_back", tell_teams },
};

void tly_html_order(const tly_page *page, tly_text *to)
{
    order o = { .page = page, .to = to, .op = page->subject->descriptor.op };
    void (*tell)(order *) = tell_plain;
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        if (tly_template_is(page, templates[i].name)) {
            tell = templates[i].tell;
        }
    }
    if (page->llvm == NULL && tell == tell_reduce_rows) {
        tell = tell_gpu_rows;
    } else if (page->llvm == NULL && tell == tell_reduce_lanes) {
        tell = tell_plain;
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
