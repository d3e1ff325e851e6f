/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear recurrences on devices of profiles, by the interpreter: every template for scans, forced
 * by plans whose chunks and tiles are small, in one run, in many dispatches and in pieces that hand
 * on their states.
 * The judge is that of random cases.
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "engine_grid.h"
#include "profile_caps.h"
#include "recurrence.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *shape, *plan;
} made[] = {
    { "9x33:axis=1,a=f32", "template=columns" },
    { "300x40:axis=0,a=f32", "template=columns,vector=4" },
    { "700x9:axis=0,a=f32", "template=columns,chunk=16,vector=1" },
    { "900x16:axis=0,a=f32", "template=columns,chunk=32,vector=4" },
    { "90x17:axis=1,a=f32", "template=turned" },
    { "40x100:axis=1,a=f32", "template=turned,workgroup=32" },
    { "70x64:axis=1,a=f32,in=1x70", "template=turned,workgroup=16,segments=8" },
    { "5x900:axis=1,a=f32", "template=subgroups,vector=4,segments=1" },
    { "5x300:axis=1,a=f32,in=600x2", "template=subgroups" },
    { "5x300:axis=1,a=f32", "template=staged" },
    { "2x700:axis=1,a=f32", "template=staged,workgroup=64,team=64" },
    { "3x1500:axis=1,a=f32", "template=subgroups,vector=2,segments=1,chunk=128" },
    { "2x900:axis=1,a=f32", "template=workgroups,scan=0,workgroup=16,segments=2" },
    { "2x1500:axis=1,a=f32", "template=workgroups,scan=1,workgroup=64,segments=1,chunk=512" },
    { "2x9000:axis=1,a=f32", "template=workgroups,scan=1,workgroup=64,segments=1" },
    { "1x9000:axis=1,a=f32", "template=look_back,scan=1,workgroup=32,vector=1,segments=2" },
    { "2x9000:axis=1,a=f32", "template=look_back,scan=1,workgroup=64,vector=2" },
    { "2x3000x3:axis=1,a=f32", "template=look_back_lanes,workgroup=32,segments=2" },
    { "900x40:axis=0,a=f32", "template=look_back_lanes,workgroup=64,segments=1" },
};

static const char *const ways[] = { "", ",exclusive", ",reverse,acc=f64", ",exclusive,reverse",
                                    ",exclusive,acc=f64" };

/* Subgroups of 32, 8 and 4, and loops of no more than 65,000 trips. */
static const char *const profiles[] = { "nvidia-hopper", "lavapipe-8", "lavapipe-4" };

/* Every second kind of data: the next way takes the others. */
static void run_kinds(tly_engine *engine, const char *word, size_t way, tly_recurring *c)
{
    for (size_t k = way % 2; k < TLY_RECURRING_KINDS; k += 2) {
        const void *operands[TALLY_MAX_OPERANDS] = { c->a };
        tally_error error = TALLY_ERROR_INIT;
        tally_buffers buffers = tly_buffers(c->x, c->y);
        tly_verdict verdict;
        char text[256];
        tly_recurring_fill(c, k);
        buffers.operand[0] = c->a;
        cr_assert_eq(engine->run(engine, &buffers, 1, &error), TALLY_OK, "%s", error.message);
        tly_judge_buffers(&c->d, c->x, operands, c->y, TLY_CUTS_LANES, &verdict);
        tly_verdict_print(&c->d, &verdict, text, sizeof text);
        cr_expect_null(verdict.reason, "%s, %s, %s: %s", word, engine->name,
                       tly_recurring_kinds[k].name, text);
    }
}

static tly_engine *open_grid(void *user, tally_error *error)
{
    return tly_engine_grid(user, error);
}

/* 1 if the device takes the plan; what it then makes must be right. */
static int is_taken(tly_recurring *c, const char *word, size_t way, const char *plan,
                    tly_caps *caps, int in_pieces)
{
    tally_error error = TALLY_ERROR_INIT;
    tly_engine *engine = in_pieces ? tly_engine_in_pieces(open_grid, caps, &error)
                                   : tly_engine_grid(caps, &error);
    cr_assert(engine);
    c->d = (tally_descriptor)TALLY_DESCRIPTOR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &c->d, NULL), TALLY_OK, "%s", word);
    const tally_status s = engine->prepare(engine, &c->d, plan, &error);
    const int is_refused = s == TALLY_INVALID && strcmp(error.field, "plan") == 0;
    cr_expect(s == TALLY_OK || is_refused, "%s, %s: %s", word, plan, error.message);
    if (s == TALLY_OK)
        run_kinds(engine, word, way, c);
    engine->close(engine);
    return s == TALLY_OK;
}

#ifdef __SANITIZE_ADDRESS__
enum { SHARE = 5 }; /* of the shapes one in so many, as the interpreter takes ten times as long */
#else
enum { SHARE = 1 };
#endif

/* `trips`: of loops, at most, so that scans take many dispatches; 0: the device's own limit. */
static void try_plans(int in_pieces, uint32_t trips)
{
    tly_recurring *c = malloc(sizeof *c);
    cr_assert_not_null(c);
    for (size_t m = 0; m < COUNT(made); m += SHARE) {
        int taken = 0;
        for (size_t w = 0; w < COUNT(ways); w++) {
            tly_caps caps = tly_profile_caps(profiles[(m + w) % COUNT(profiles)]);
            char word[TALLY_WORD_MAX];
            caps.trip_limit = trips > 0 ? trips : caps.trip_limit;
            snprintf(word, sizeof word, "linrec:f32:%s%s", made[m].shape, ways[w]);
            taken += is_taken(c, word, w, made[m].plan, &caps, in_pieces);
        }
        cr_expect(taken > 0, "%s, %s", made[m].shape, made[m].plan);
    }
    free(c);
}

Test(recurrence_devices, every_template, .timeout = 280)
{
    try_plans(0, 0);
}

Test(recurrence_devices, in_pieces, .timeout = 280)
{
    try_plans(1, 0);
}

Test(recurrence_devices, many_dispatches, .timeout = 280)
{
    try_plans(0, 1600);
}
