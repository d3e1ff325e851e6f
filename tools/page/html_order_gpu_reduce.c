/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of reductions on devices: a team shares out the elements of a result, or one invocation
 * takes all of them; chunks leave records, which a second dispatch combines.
 */
#include "html_order.h"

enum { MOST_TAKEN = 16 }; /* in one tree (codegen/plan/limits.h) */

/* Who takes the elements of a result, or of one chunk of them. */
typedef struct share {
    int members, width, groups; /* invocations; lanes that exchange states; such groups */
    int workgroup;
    int vector, accesses; /* neighbours of an access; accesses of a trip */
    int64_t elements, chunks;
    int64_t results; /* side by side */
    int64_t cut;     /* what chunks are cut from: all elements of a result, or of a step */
    int by_steps;    /* it is of a step */
} share;

static share share_of(const order *o, int by_team)
{
    const tly_page *p = o->page;
    const int64_t length = tly_fact(p, "length", 0, 1), steps = tly_fact(p, "steps", 0, 1);
    const int64_t chunk_steps = tly_fact(p, "chunk_steps", 0, 1);
    const int subgroup = larger((int)tly_fact(p, "subgroup", 0, 1), 1);
    const int known = tly_choice(p, "length", 0);
    share s = { .workgroup = tly_choice(p, "workgroup", 1),
                .vector = tly_choice(p, "vector", 1),
                .accesses = tly_choice(p, "segments", 1),
                .elements = length * steps,
                .chunks = tly_fact(p, "chunks", 0, 1) };
    s.members = by_team ? tly_choice(p, "team", s.workgroup) : 1;
    s.width = tly_choice(p, "scan", 0) == 0 ? s.members : smaller(s.members, subgroup);
    s.groups = s.members / s.width;
    s.results = tly_fact(p, "rows", 0, 1) * tly_fact(p, "inner", 0, 1);
    s.cut = s.elements;
    if (tly_fact(p, "chunk", 0, 1) < length && steps > 1) {
        s.cut = length;
        s.by_steps = 1;
    }
    if (s.chunks > 1) {
        s.elements = tly_fact(p, "chunk", 0, 1) * (chunk_steps > 0 ? chunk_steps : 1);
    }
    if (known > 0) { /* a row is one trip */
        s.accesses = larger(known / (s.vector * s.members), 1);
        s.vector = s.members > 1 ? s.vector : known;
        s.accesses = s.members > 1 ? s.accesses : 1;
    }
    return s;
}

/* Sums and products of floats by one invocation keep the plain loop's order, unless they are cut.
 */
static int is_in_order(const order *o, const share *s)
{
    const int uncut = s->members == 1 && s->chunks <= 1;
    return o->page->job->descriptor.order == TALLY_ORDER_SERIAL ||
           (uncut && tly_is_floating(o) && o->about->as_loop);
}

/* ---- an invocation's elements ---- */

static void tell_state(order *o, const share *s, const char *what)
{
    const int trip = s->accesses * s->vector;
    begin_step(o, "The state of an invocation");
    if (is_in_order(o, s)) {
        tly_text_print(o->to, "<p>The state takes one element after the other, in the order of the "
                              "plain loop.</p>");
        tly_draw_fold(8, 'x', 's', "loop", o->to);
    } else if (tly_is_product_of_floats(o)) {
        tly_tell_takes(o, trip, what);
        tly_text_print(o->to, "<p class=\"note\">A product is a mantissa and an exponent, so that "
                              "no partial product leaves the range.</p>");
    } else {
        tly_tell_takes(o, smaller(trip, MOST_TAKEN), what);
        if (trip > MOST_TAKEN) {
            tly_text_print(o->to, "<p>A trip has %d such groups, which meet the state in turn.</p>",
                           trip / MOST_TAKEN);
        }
    }
    end_step(o);
}

static void tell_shares(order *o, const share *s)
{
    const int64_t all = (int64_t)s->members * s->vector, trip = all * s->accesses;
    const int64_t trips = s->elements / trip > 0 ? s->elements / trip : 1;
    const tly_hold hold = { { { "trip", trips, trip, 0, 0 },
                              { "access", s->accesses, all, 0, 0 },
                              { "invocation", s->members, s->vector, 0, 1 },
                              { "element", s->vector, 1, 0, 0 } },
                            4,
                            2,
                            1 };
    begin_step(o, "What an invocation takes");
    tly_text_print(o->to,
                   "<p>A team of %d invocation%s makes a result. In each trip of its loop an "
                   "invocation takes %d time%s %d neighbour%s, and neighbouring invocations take "
                   "neighbouring elements. What is left after the last whole trip is shared out by "
                   "single accesses, and then by single elements.</p>",
                   s->members, plural(s->members), s->accesses, plural(s->accesses), s->vector,
                   plural(s->vector));
    tly_draw_hold(&hold, "trips",
                  s->chunks > 1
                      ? "Elements of a chunk. The filled cells belong to the first invocation."
                      : "Elements of a result. The filled cells belong to the first invocation.",
                  o->to);
    end_step(o);
}

/* ---- folds ---- */

static void tell_fold(order *o, const share *s)
{
    if (s->width > 1) {
        begin_step(o, "Across lanes");
        tly_text_print(o->to,
                       "<p>Each of %d lanes combines its state with that of the lane whose number "
                       "differs in one bit, bit after bit. In the end all lanes have the same "
                       "state <var>h</var>.%s</p>",
                       s->width, s->width > 32 ? " The first 32 lanes are drawn." : "");
        tly_draw_exchange(smaller(s->width, 32), 's', 'h', "exchange", o->to);
        end_step(o);
    }
    if (s->groups > 1) {
        begin_step(o, "Across subgroups");
        tly_text_print(o->to,
                       "<p>The states of the %d subgroups, here <var>g</var>, meet in workgroup "
                       "memory and are combined from left to right.</p>",
                       s->groups);
        tly_draw_fold(smaller(s->groups, 16), 'g', 'r', "subgroups", o->to);
        end_step(o);
    }
}

static void tell_records(order *o, const share *s)
{
    const tly_strip strip = { "chunk", s->by_steps ? "elements of a step" : "elements", s->cut,
                              s->elements, 0 };
    if (s->chunks <= 1) {
        return;
    }
    begin_step(o, "Chunks");
    tly_text_print(o->to,
                   "<p>The elements of a result are cut into %s chunks of up to %s%s. The first "
                   "dispatch leaves a record <var>u</var> of each chunk in memory. ",
                   tly_count(s->chunks), tly_count(s->elements),
                   s->by_steps ? ", each step of the outer axes by itself" : "");
    if (s->members > 1) {
        tly_text_print(o->to,
                       "In the second dispatch %d invocations share the records of a result: "
                       "invocation <var>i</var> takes records <var>i</var>, <var>i</var> + %d, "
                       "<var>i</var> + %d and so on. Their states are combined as above.</p>",
                       s->members, s->members, 2 * s->members);
    } else {
        tly_text_print(o->to, "In the second dispatch one invocation combines the records of a "
                              "result, from left to right.</p>");
    }
    tly_draw_strip(&strip, "chunks", o->to);
    if (s->members == 1) {
        tly_draw_fold((int)(s->chunks < 8 ? s->chunks : 8), 'u', 'r', "records", o->to);
    }
    end_step(o);
}

void tly_tell_gpu_reduce_rows(order *o)
{
    const share s = share_of(o, 1);
    tell_shares(o, &s);
    tell_state(o, &s, "elements");
    tell_fold(o, &s);
    tell_records(o, &s);
}

/* ---- one invocation ---- */

/* Results side by side: their elements are steps of the axis. */
static tly_hold beside(const share *s)
{
    const int64_t trips = s->elements / s->accesses > 0 ? s->elements / s->accesses : 1;
    const int64_t workers = s->results / s->vector;
    return (tly_hold){ { { "trip", trips, s->accesses, 0, 0 },
                         { s->vector > 1 ? "results" : "result",
                           workers < s->workgroup ? workers : s->workgroup, 0, s->vector, 1 },
                         { "element", s->accesses, 1, 0, 0 },
                         { "beside", s->vector, 0, 1, 0 } },
                       4,
                       1,
                       1 };
}

static tly_hold along(const share *s)
{
    const int64_t all = s->elements / s->vector;
    const int64_t workers = s->results < s->workgroup ? s->results : s->workgroup;
    return (tly_hold){ { { "result", workers, 0, 1, 1 },
                         { "access", all > 0 ? all : 1, s->vector, 0, 0 },
                         { "element", s->vector, 1, 0, 0 } },
                       3,
                       1,
                       1 };
}

void tly_tell_gpu_reduce_lanes(order *o)
{
    share s = share_of(o, 0);
    const int lanes = tly_fact_is(o->page, "form", "reduced_lanes");
    const tly_hold hold = lanes ? beside(&s) : along(&s);
    begin_step(o, "What an invocation takes");
    tly_text_print(
        o->to,
        "<p>An invocation makes %d result%s by itself. In each trip of its loop it takes "
        "%d element%s of %s.</p>",
        lanes ? s.vector : 1, plural(lanes ? s.vector : 1),
        lanes ? s.accesses : s.accesses * s.vector,
        plural(lanes ? s.accesses : s.accesses * s.vector), lanes && s.vector > 1 ? "each" : "it");
    tly_draw_hold(&hold, "trips",
                  s.chunks > 1
                      ? "Elements of a chunk. The filled cells belong to the first invocation."
                      : "Elements of a result. The filled cells belong to the first invocation.",
                  o->to);
    end_step(o);
    s.vector = lanes ? 1 : s.vector; /* the others are of other results */
    tell_state(o, &s, lanes ? "steps of the axis" : "elements");
    tell_records(o, &s);
}
