/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of scans on devices by teams: invocations that scan a tile of a row together. One
 * invocation holds vectors of neighbours; what comes before an element is made of what vectors,
 * lanes, rows of vectors and subgroups come to.
 */
#include "html_order.h"

/* A team as templates/gpu/group.c makes it. */
typedef struct team {
    int workgroup, size;
    int width, used, groups; /* lanes that exchange values, those with elements; such groups */
    int vector, rows, unit;  /* neighbours; vectors of an invocation; scans side by side */
    int own_scan;            /* the device's instruction scans the lanes */
    int64_t tile, chunk;     /* elements */
    int64_t length, row;     /* of what a dispatch goes through; of all */
} team;

static team team_of(const order *o)
{
    const tly_page *p = o->page;
    team t = { .workgroup = tly_choice(p, "workgroup", 1) };
    const int scan = tly_choice(p, "scan", 0), subgroup = (int)tly_fact(p, "subgroup", 0, 1);
    t.size = tly_choice(p, "team", t.workgroup);
    t.width = scan == 0 ? t.size : smaller(t.size, larger(subgroup, 1));
    t.groups = t.size / t.width;
    t.unit = (int)tly_fact(p, "unit", 0, 1);
    t.used = t.width - t.width % t.unit;
    t.vector = tly_choice(p, "vector", 1);
    t.rows = tly_choice(p, "segments", 1);
    t.own_scan = scan == 2 && t.unit == 1 && t.width == subgroup;
    t.tile = (int64_t)t.groups * t.used * t.rows * t.vector;
    t.row = tly_fact(p, "length", 0, 1);
    t.length = tly_one_dispatch(o, t.row);
    t.chunk = tly_template_is(p, "look_back") ? 0 : tly_fact(p, "chunk", 0, 0);
    return t;
}

/* ---- a tile ---- */

static void tell_team(order *o, const team *t)
{
    if (t->size == t->workgroup) {
        tly_text_print(o->to, "<p>A workgroup of %d invocations scans a tile of %s elements",
                       t->size, tly_count(t->tile));
        if (t->groups > 1) {
            tly_text_print(o->to, ". It has %d subgroups of %d lanes", t->groups, t->width);
        }
    } else {
        tly_text_print(o->to,
                       "<p>A team of %d invocations scans a tile of %s elements. A workgroup of %d "
                       "invocations has %d teams, each with a row of its own",
                       t->size, tly_count(t->tile), t->workgroup, t->workgroup / t->size);
    }
    tly_text_print(o->to, ". An invocation holds %d vector%s of %d %s%s.", t->rows, plural(t->rows),
                   t->vector, t->vector > 1 ? "neighbour" : "element", plural(t->vector));
    if (t->unit > 1) {
        tly_text_print(o->to,
                       " %d scans are interleaved in a row, and element <var>i</var> belongs to "
                       "scan <var>i</var> modulo %d.",
                       t->unit, t->unit);
    }
    if (t->used < t->width) {
        tly_text_print(o->to,
                       " The last %d lanes of %d hold nothing, so that each lane keeps to "
                       "one scan.",
                       t->width - t->used, t->width);
    }
    tly_text_print(o->to, "</p>");
}

static void tell_hold(order *o, const team *t)
{
    const int64_t row = (int64_t)t->used * t->vector;
    const tly_hold hold = { { { "subgroup", t->groups, row * t->rows, 0, 1 },
                              { "vector", t->rows, row, 0, 0 },
                              { "lane", t->used, t->vector, 0, 1 },
                              { "element", t->vector, 1, 0, 0 } },
                            4,
                            2,
                            1 };
    begin_step(o, "What an invocation holds");
    tell_team(o, t);
    tly_draw_hold(&hold, "tile",
                  "Elements of a tile, counted from its first. The filled cells belong to the "
                  "first invocation.",
                  o->to);
    end_step(o);
}

static void tell_vector(order *o, const team *t)
{
    if (t->vector > 1) {
        begin_step(o, "Within a vector");
        tly_text_print(o->to, "<p>An invocation scans each of its vectors from left to right. The "
                              "last value is the vector's total <var>t</var>.</p>");
        tly_draw_chain(t->vector, 1, 'x', 'a', "vector", o->to);
        end_step(o);
    }
}

static void tell_lanes(order *o, const team *t)
{
    begin_step(o, "Across lanes");
    if (t->own_scan) {
        tly_text_print(o->to,
                       "<p>The device's own instruction scans the totals of %d lanes. The order "
                       "does not matter, as they are integers.</p>",
                       t->width);
        end_step(o);
        return;
    }
    if (t->used == t->unit && t->unit > 1) {
        tly_text_print(o->to,
                       "<p>Each of %d lanes has a scan of its own, so that lanes do not meet. "
                       "Its element is the total <var>r</var> of its row of vectors.</p>",
                       t->used);
        end_step(o);
        return;
    }
    tly_text_print(o->to, "<p>%d lanes scan the totals <var>t</var> of their vectors. ", t->used);
    tly_text_print(o->to,
                   t->unit > 1
                       ? "Each lane takes the value of the lane %d below it, then of the lane %d "
                         "below, and so on, so that the scans do not meet. The last lane of a scan "
                         "has the total <var>r</var> of its row of vectors.%s</p>"
                       : "Each lane takes the value of the lane %d below it, then of the lane %d "
                         "below, and so on. The last lane has the total <var>r</var> of the row of "
                         "vectors.%s</p>",
                   t->unit, 2 * t->unit, t->used > 32 ? " The first 32 lanes are drawn." : "");
    tly_draw_doubling(smaller(t->used, 32), t->unit, 't', 'b', "lanes", o->to);
    end_step(o);
}

static void tell_rows_and_groups(order *o, const team *t)
{
    if (t->rows > 1) {
        begin_step(o, "Across rows of vectors");
        tly_text_print(o->to,
                       "<p>A tile has %d rows of vectors for each lane. Their totals <var>r</var> "
                       "are scanned from left to right%s.</p>",
                       t->rows, t->unit > 1 ? ", each scan by itself" : "");
        tly_draw_chain(smaller(t->rows, 16), 1, 'r', 'p', "rows", o->to);
        end_step(o);
    }
    if (t->groups > 1) {
        begin_step(o, "Across subgroups");
        tly_text_print(o->to,
                       "<p>The totals <var>g</var> of the %d subgroups meet in workgroup memory, "
                       "where every invocation scans them from left to right.</p>",
                       t->groups);
        tly_draw_chain(smaller(t->groups, 16), 1, 'g', 'q', "subgroups", o->to);
        end_step(o);
    }
}

/* What a result is made of, by what there is of it. Of an exclusive scan the last part ends before
 * the element. */
static void tell_result(order *o, const team *t)
{
    const int exclusive = (o->page->job->descriptor.flags & TALLY_EXCLUSIVE) != 0;
    const int upto = t->unit > 1 && !exclusive, has_own = t->unit == 1;
    const struct {
        int exists;
        char letter;
        const char *what;
    } part[] = {
        { 1, 'c', "the carry, which is what comes before the tile" },
        { t->groups > 1, 'q', "what the subgroups before its own come to" },
        { t->rows > 1, 'p', "what the rows of vectors before its own come to" },
        { 1, 'b',
          upto ? "what the lanes up to its own come to" : "what the lanes before its own come to" },
        { has_own && t->vector > 1, 'a',
          exclusive ? "its own vector before the element" : "its own vector up to the element" },
        { has_own && t->vector == 1 && !exclusive, 'x', "the element" },
    };
    char letters[7] = "";
    size_t count = 0;
    begin_step(o, "A result");
    tly_text_print(o->to, "<p>A result <var>y</var> is made of these parts, and a part that does "
                          "not exist is left out:</p><ul>");
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        if (part[i].exists) {
            letters[count++] = part[i].letter;
            tly_text_print(o->to, "<li><var>%c</var> is %s.</li>", part[i].letter, part[i].what);
        }
    }
    tly_text_print(o->to, "</ul>");
    tly_draw_parts(letters, 'y', "result", o->to);
    tly_tell_range(o);
    end_step(o);
}

static void tell_tile(order *o, const team *t)
{
    tell_hold(o, t);
    tell_vector(o, t);
    tell_lanes(o, t);
    tell_rows_and_groups(o, t);
    tell_result(o, t);
}

/* ---- from tile to tile ---- */

/* `c` in front of a length, and after each of its tiles. */
static void tell_tiles(order *o, const team *t, int64_t size, const char *what)
{
    const tly_strip strip = { "tile", "elements", size, t->tile, 'c' };
    const int64_t tiles = (size - 1) / t->tile + 1;
    begin_step(o, "Tile after tile");
    if (tiles <= 1) {
        tly_text_print(o->to, "<p>A %s fits one tile. Its carry <var>c</var> is %s.</p>", what,
                       t->chunk > 0 ? "the carry <var>d</var> of the chunk"
                                    : "what a scan starts from");
        end_step(o);
        return;
    }
    tly_text_print(o->to,
                   "<p>A team goes along a %s tile by tile. It keeps the carry <var>c</var> in a "
                   "register: the carry after a tile is the carry before it, combined with the "
                   "tile's total <var>T</var>.</p>",
                   what);
    tly_draw_strip(&strip, "tiles", o->to);
    tly_draw_carried((int)(tiles < 8 ? tiles : 8), 'c', 'T', 'c', 1, "carry", o->to);
    end_step(o);
}

void tly_tell_teams(order *o)
{
    const team t = team_of(o);
    const tly_cut cut = { t.length, t.chunk, "elements", "a team", t.tile, t.unit > 1 };
    tell_tile(o, &t);
    if (t.chunk > 0) {
        tly_tell_totals(o, &cut);
        tly_tell_carries(o, &cut);
        tell_tiles(o, &t, t.chunk, "chunk");
    } else {
        tell_tiles(o, &t, t.length, "row");
    }
    tly_tell_dispatches(o, t.row, "elements");
}

void tly_tell_staged(order *o)
{
    const team t = team_of(o);
    const tly_hold loads = {
        { { "round", t.vector, t.size, 0, 0 }, { "invocation", t.size, 1, 0, 1 } }, 2, 1, 1
    };
    begin_step(o, "How elements are loaded");
    tly_text_print(o->to,
                   "<p>A row fits one tile. In each of %d rounds, neighbouring invocations load "
                   "neighbouring elements. Workgroup memory passes the elements to the invocations "
                   "that scan them, and the results come back the same way. Only the last 4 rounds "
                   "ask where the row ends.</p>",
                   t.vector);
    tly_draw_hold(&loads, "loads", "Elements of a tile, as they are loaded and stored.", o->to);
    end_step(o);
    tell_tile(o, &t);
    tell_tiles(o, &t, t.length, "row");
}

/* ---- look-back ---- */

static void tell_groups_of_tiles(order *o, const team *t)
{
    const int64_t tiles = (t->length - 1) / t->tile + 1;
    const tly_strip strip = { "tile", "elements", t->length, t->tile, 'c' };
    begin_step(o, "Tiles and groups");
    tly_text_print(o->to,
                   "<p>A workgroup draws a ticket, which is the number of its tile, and publishes "
                   "the tile's total <var>T</var> for the others. %d tiles are a group, whose "
                   "totals are scanned as lanes are. The last of them is the group's total "
                   "<var>G</var>.</p>",
                   t->width);
    tly_draw_strip(&strip, "tiles", o->to);
    tly_draw_doubling((int)(tiles < smaller(t->width, 32) ? tiles : smaller(t->width, 32)), 1, 'T',
                      'S', "totals", o->to);
    end_step(o);
    begin_step(o, "From group to group");
    tly_text_print(o->to, "<p>The base <var>e</var> of a group is what comes before it. Bases "
                          "follow each other strictly from left to right, whichever tile happens "
                          "to compute them.</p>");
    tly_draw_carried(6, 'e', 'G', 'e', 1, "bases", o->to);
    end_step(o);
    begin_step(o, "The carry of a tile");
    tly_text_print(o->to, "<p>The carry <var>c</var> of a tile is the base of its group, combined "
                          "with the sum <var>S</var> of the group's tiles before it. The first "
                          "tile of a group has the base alone.</p>");
    tly_draw_parts("eS", 'c', "carry", o->to);
    end_step(o);
}

void tly_tell_look_back(order *o)
{
    const team t = team_of(o);
    tell_tile(o, &t);
    tell_groups_of_tiles(o, &t);
    tly_tell_dispatches(o, t.row, "elements");
}
