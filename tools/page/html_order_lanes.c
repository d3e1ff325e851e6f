/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of scans on devices whose invocations go along lanes: each by itself, from tiles that
 * are turned, or with others along pieces of a lane.
 */
#include "html_order.h"

/* Lanes as the kernel sees them; interleaved rows are lanes, too. */
typedef struct lanes {
    int workgroup, team, vector, steps;
    int64_t count, chunk; /* lanes; positions of a chunk */
    int64_t length, all;  /* positions that a dispatch goes through; of a lane */
} lanes;

static lanes lanes_of(const order *o)
{
    const tly_page *p = o->page;
    const int64_t unit = tly_fact(p, "unit", 0, 1), rows = tly_fact(p, "rows", 0, 1);
    lanes l = { .workgroup = tly_choice(p, "workgroup", 1),
                .team = tly_choice(p, "team", 1),
                .vector = tly_choice(p, "vector", 1),
                .steps = tly_choice(p, "segments", 1),
                .chunk = tly_fact(p, "chunk", 0, 0) };
    l.all = tly_fact(p, "length", 0, 1) / unit;
    l.length = tly_one_dispatch(o, l.all);
    l.count = rows * unit * tly_fact(p, "inner", 0, 1);
    return l;
}

/* The plain loop, from what comes before it. */
static void tell_loop(order *o, char carry, const char *what)
{
    begin_step(o, "Along a lane");
    tly_text_print(
        o->to,
        "<p>An invocation goes along its lane in the order of the plain loop, and starts "
        "from <var>%c</var>, which is %s. Lanes do not meet.</p>%s",
        carry, what, tly_exclusive(o));
    tly_draw_carried(8, carry, 'x', 'y', 0, "loop", o->to);
    end_step(o);
}

/* ---- columns ---- */

static void tell_trips(order *o, const lanes *l)
{
    const int64_t along = l->chunk > 0 && l->chunk < l->length ? l->chunk : l->length;
    const int64_t trips = along / l->steps > 0 ? along / l->steps : 1;
    const int steps = (int)(along < l->steps ? along : l->steps);
    const int64_t workers = l->count / l->vector;
    const int64_t shown = workers < l->workgroup ? workers : l->workgroup;
    const tly_hold hold = { { { "trip", trips, steps, 0, 0 },
                              { l->vector > 1 ? "lanes" : "lane", shown, 0, l->vector, 1 },
                              { "position", steps, 1, 0, 0 },
                              { "beside", l->vector, 0, 1, 0 } },
                            4,
                            1,
                            1 };
    begin_step(o, "What an invocation holds");
    tly_text_print(o->to,
                   "<p>A lane is one of the scans. An invocation takes %d lane%s%s. In each trip "
                   "of its loop it loads %d "
                   "position%s of the axis at once. A workgroup has %d invocations.</p>",
                   l->vector, plural(l->vector), l->vector > 1 ? " that are neighbours" : "", steps,
                   plural(steps), l->workgroup);
    tly_draw_hold(&hold, "trips",
                  "Positions of the axis, trip after trip. The filled cells belong to the first "
                  "invocation. Positions beyond the last whole trip go one by one.",
                  o->to);
    end_step(o);
}

void tly_tell_columns(order *o)
{
    const lanes l = lanes_of(o);
    const tly_cut cut = { l.length, l.chunk, "positions", "an invocation", 0, 1 };
    tell_trips(o, &l);
    if (l.chunk > 0) {
        tly_tell_totals(o, &cut);
        tly_tell_carries(o, &cut);
        tell_loop(o, 'd', "the carry of its chunk");
    } else {
        tell_loop(o, 'c', "what a scan starts from");
    }
    tly_tell_dispatches(o, l.all, "positions");
}

/* ---- turned ---- */

void tly_tell_turned(order *o)
{
    const lanes l = lanes_of(o);
    const int64_t shown = l.count < l.workgroup ? l.count : l.workgroup;
    const int steps = (int)(l.length < l.steps ? l.length : l.steps);
    const tly_hold hold = {
        { { "lane", shown, 0, 1, 1 }, { "position", steps, 1, 0, 0 } }, 2, 1, 1
    };
    const tly_strip strip = { "tile", "positions", l.length, l.steps, 'c' };
    begin_step(o, "What an invocation holds");
    tly_text_print(o->to,
                   "<p>A lane is one of the scans. A tile has %d lanes, one for each invocation of "
                   "a workgroup, and %d "
                   "position%s of each. Memory is accessed in its own order, so that neighbouring "
                   "invocations access neighbouring elements. Workgroup memory turns the tile, and "
                   "then each invocation has its own lane.</p>",
                   l.workgroup, l.steps, plural(l.steps));
    tly_draw_hold(&hold, "tile",
                  "Positions of a tile once it is turned. The filled cells belong to the first "
                  "invocation.",
                  o->to);
    end_step(o);
    tell_loop(o, 'c', "the carry of the tile");
    begin_step(o, "Tile after tile");
    if (l.length <= l.steps) {
        tly_text_print(o->to, "<p>A tile holds its lanes whole, so that its carry is what a scan "
                              "starts from.</p>");
    } else {
        tly_text_print(o->to, "<p>A workgroup goes along its lanes tile by tile. Each invocation "
                              "keeps the last result of its lane in a register: this is the carry "
                              "<var>c</var> of the next tile.</p>");
        tly_draw_strip(&strip, "tiles", o->to);
    }
    end_step(o);
    tly_tell_dispatches(o, l.all, "positions");
}

/* ---- look-back along lanes ---- */

enum { GROUP = 16, TURNED = 16 };

/* Invocations along a lane (codegen/plan/gpu.h). */
static int pieces_of(const lanes *l)
{
    const int all = l->workgroup / larger(l->team, 1), over = all % l->steps;
    return l->team < TURNED && all > over ? all - over : all;
}

static void tell_tile(order *o, const lanes *l, int pieces)
{
    const tly_hold hold = { { { "piece", pieces, l->steps, 0, 1 },
                              { "lane", l->team, 0, 1, 1 },
                              { "position", l->steps, 1, 0, 0 } },
                            3,
                            1,
                            1 };
    begin_step(o, "What an invocation holds");
    tly_text_print(o->to,
                   "<p>A lane is one of the scans. A tile has %d lane%s, and %s positions of each. "
                   "A lane is cut into %d "
                   "piece%s, and an invocation holds one piece of %d position%s.%s</p>",
                   l->team, plural(l->team), tly_count((int64_t)pieces * l->steps), pieces,
                   plural(pieces), l->steps, plural(l->steps),
                   l->team < TURNED ? " Memory is accessed in its own order, and workgroup memory "
                                      "turns the tile."
                                    : "");
    tly_draw_hold(&hold, "tile",
                  "Positions of a tile, counted from its first. The filled cell belongs to the "
                  "first invocation.",
                  o->to);
    end_step(o);
    if (l->steps > 1) {
        begin_step(o, "Within a piece");
        tly_text_print(o->to,
                       "<p>An invocation scans its piece from left to right. The last value "
                       "is the piece's total <var>t</var>.%s</p>",
                       l->steps > 16 ? " The first 16 positions are drawn." : "");
        tly_draw_chain(smaller(l->steps, 16), 1, 'x', 'a', "vector", o->to);
        end_step(o);
    }
}

static void tell_lane(order *o, const lanes *l, int pieces)
{
    static const struct {
        const char *letters, *text;
    } parts[][2] = {
        { { "cbx", "<li><var>x</var> is the element.</li>" }, { "cb", "" } },
        { { "cba", "<li><var>a</var> is its own piece up to the element.</li>" },
          { "cba", "<li><var>a</var> is its own piece before the element.</li>" } },
    };
    const int exclusive = (o->page->job->descriptor.flags & TALLY_EXCLUSIVE) != 0;
    begin_step(o, "Across the pieces of a lane");
    tly_text_print(o->to,
                   "<p>The pieces of a lane meet in workgroup memory. Each takes the value of the "
                   "piece 1 before it, then of the piece 2 before, 4 before, and so on. The last "
                   "value is the total <var>T</var> of the lane in this tile.%s</p>",
                   pieces > 32 ? " The first 32 pieces are drawn." : "");
    tly_draw_doubling(smaller(pieces, 32), 1, 't', 'b', "lanes", o->to);
    end_step(o);
    begin_step(o, "A result");
    tly_text_print(
        o->to,
        "<p>A result <var>y</var> is made of these parts, and a part that does not exist is left "
        "out:"
        "</p><ul><li><var>c</var> is the carry, which is what comes before the tile.</li>"
        "<li><var>b</var> is what the pieces before its own come to.</li>"
        "%s</ul>",
        parts[l->steps > 1][exclusive].text);
    tly_draw_parts(parts[l->steps > 1][exclusive].letters, 'y', "result", o->to);
    tly_tell_range(o);
    end_step(o);
}

void tly_tell_look_back_lanes(order *o)
{
    const lanes l = lanes_of(o);
    const int pieces = pieces_of(&l);
    const int64_t tile = (int64_t)pieces * l.steps, tiles = (l.length - 1) / tile + 1;
    const tly_strip strip = { "tile", "positions", l.length, tile, 'c' };
    tell_tile(o, &l, pieces);
    tell_lane(o, &l, pieces);
    begin_step(o, "Tiles and groups");
    tly_text_print(
        o->to,
        "<p>A workgroup draws a ticket, which is the number of its tile, and publishes "
        "the total <var>T</var> of each lane for the others. %d tiles along a lane are a "
        "group, whose totals are combined from left to right. The last value is the "
        "group's total <var>G</var>.</p>",
        GROUP);
    tly_draw_strip(&strip, "tiles", o->to);
    tly_draw_chain((int)(tiles < GROUP ? tiles : GROUP), 1, 'T', 'S', "totals", o->to);
    end_step(o);
    begin_step(o, "The carry of a tile");
    tly_text_print(o->to, "<p>The base <var>e</var> of a group is what comes before it. Bases "
                          "follow each other strictly from left to right.</p>");
    tly_draw_carried(6, 'e', 'G', 'e', 1, "bases", o->to);
    tly_text_print(o->to, "<p>The carry <var>c</var> of a tile is the base of its group, combined "
                          "with the sum <var>S</var> of the group's tiles before it. The first "
                          "tile of a group has the base alone.</p>");
    tly_draw_parts("eS", 'c', "carry", o->to);
    end_step(o);
    tly_tell_dispatches(o, l.all, "positions");
}
