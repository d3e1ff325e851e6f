/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How carries of scans on devices come to a chunk, and to a dispatch: by totals that an earlier
 * pass has made, or through memory from the dispatch before.
 */
#include "html_order.h"

enum { GROUP = 16, DRAWN = 8 };

static int64_t pieces_of(int64_t size, int64_t cut)
{
    return cut > 0 && size > 0 ? (size - 1) / cut + 1 : 1;
}

/* So many are drawn: all of a few, or some of many. */
static int drawn_of(int64_t count, int most)
{
    return (int)(count < most ? count : most);
}

void tly_tell_totals(order *o, const tly_cut *cut)
{
    const int64_t tiles = cut->tile > 0 ? pieces_of(cut->chunk, cut->tile) : cut->chunk;
    begin_step(o, "Totals of chunks");
    tly_text_print(
        o->to,
        "<p>The axis is cut into chunks, so that more invocations have work. In the first dispatch "
        "%s goes through each chunk and stores its total <var>u</var>: %s, from left to right.</p>",
        cut->who, cut->tile > 0 ? "the totals of the chunk's tiles" : "the chunk's elements");
    if (tiles > 1) {
        tly_draw_fold(drawn_of(tiles, DRAWN), cut->tile > 0 ? 'T' : 'x', 'u', "chunk", o->to);
    }
    end_step(o);
}

static void tell_groups(order *o, int64_t chunks)
{
    const int64_t groups = pieces_of(chunks, GROUP);
    tly_text_print(o->to,
                   "<p>In the second dispatch %d neighbouring chunks are a group. One "
                   "invocation combines the totals of a group, from left to right, to "
                   "<var>v</var>.</p>",
                   GROUP);
    tly_draw_fold(drawn_of(chunks, GROUP), 'u', 'v', "group", o->to);
    tly_text_print(o->to, "<p>One invocation goes from group to group. What comes before a group "
                          "is its base <var>e</var>.</p>");
    tly_draw_carried(drawn_of(groups, DRAWN), 'e', 'v', 'e', 1, "bases", o->to);
    tly_text_print(o->to, "<p>From the base, an invocation then goes through the chunks of its "
                          "group.</p>");
    tly_draw_carried(drawn_of(chunks, GROUP) - 1, 'e', 'u', 'd', 1, "within", o->to);
}

void tly_tell_carries(order *o, const tly_cut *cut)
{
    const int64_t chunks = pieces_of(cut->length, cut->chunk);
    const tly_strip strip = { "chunk", cut->of, cut->length, cut->chunk, 'd' };
    begin_step(o, "Carries before chunks");
    tly_text_print(o->to, "<p>What comes before a chunk is its carry <var>d</var>.</p>");
    tly_draw_strip(&strip, "chunks", o->to);
    if (cut->grouped) {
        tell_groups(o, chunks);
    } else {
        tly_text_print(o->to, "<p>In the second dispatch a workgroup goes along the totals of a "
                              "row, and combines them from left to right.</p>");
        tly_draw_carried(drawn_of(chunks, DRAWN), 'd', 'u', 'd', 1, "carries", o->to);
    }
    tly_text_print(o->to,
                   "<p>In the third dispatch %s scans each chunk from its carry. It reads the "
                   "elements a second time.</p>",
                   cut->who);
    end_step(o);
}

int64_t tly_one_dispatch(const order *o, int64_t length)
{
    const int64_t reach = tly_fact(o->page, "positions", 0, 0);
    return reach > 0 && reach < length ? reach : length;
}

void tly_tell_dispatches(order *o, int64_t length, const char *of)
{
    const int64_t reach = tly_one_dispatch(o, length);
    if (reach == length) {
        return;
    }
    begin_step(o, "Dispatch after dispatch");
    tly_text_print(o->to,
                   "<p>The device limits how far one dispatch can go. So the steps above hold for "
                   "ranges of %s %s. The carry <var>z</var> at the end of a range waits in memory, "
                   "and the next dispatch starts from it.</p>",
                   tly_count(reach), of);
    tly_draw_strip(&(tly_strip){ "range", of, length, reach, 'z' }, "ranges", o->to);
    end_step(o);
}
