/* SPDX-License-Identifier: Apache-2.0 */
/* The order of kernels for Vulkan whose invocations work together. */
#include "html_order.h"

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

void tly_tell_teams(order *o)
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
            ? " As many tiles as a subgroup has lanes are a group, whose totals meet as those of "
              "invocations do; groups follow each other strictly in their order. What comes "
              "before a tile is what comes before its group, joined by the totals of the group's "
              "tiles before it."
            : "");
    tly_tell_range(o);
    end_step(o);
    if (!tly_template_is(o->page, "look_back")) {
        tly_tell_scan_chunks(o);
    }
}

void tly_tell_lanes(order *o)
{
    const int steps = tly_choice(o->page, "segments", 1), team = tly_choice(o->page, "team", 1);
    const int segments = tly_choice(o->page, "workgroup", 1) / larger(team, 1);
    begin_step(o, "Within an invocation");
    tly_text_print(o->to, "<p>%d positions of a lane are the plain loop.</p>", steps);
    tly_draw_chain(smaller(steps, 16), 1, "a", o->to);
    end_step(o);
    begin_step(o, "Along a tile");
    tly_text_print(o->to,
                   "<p>The totals of a lane's %d pieces, with those at distance 1, 2, 4 and so "
                   "on.%s</p>",
                   segments, segments > 32 ? " The first 32 are drawn." : "");
    tly_draw_lanes(smaller(segments, 32), 1, 0, o->to);
    end_step(o);
    begin_step(o, "Results");
    tly_text_print(o->to, "<p>Up to 16 tiles along a lane are a group, whose totals meet from left "
                          "to right; groups follow each other strictly in their order. What comes "
                          "before a tile is what comes before its group, joined by the totals of "
                          "the group's tiles before it; what comes before an element within its "
                          "tile joins that.</p>");
    tly_tell_range(o);
    end_step(o);
}

void tly_tell_gpu_rows(order *o)
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
    tly_tell_reduced_chunks(o);
}
