/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-back by the interpreter: many groups of few tiles, on subgroups of several sizes, with data
 * that breaks groups everywhere. A trial runs each kernel several times, every other time with tiles
 * stalled, and holds all runs to the same bits.
 */
#include <stdio.h>
#include <string.h>

#include "engine_grid.h"
#include "profile_caps.h"
#include "trial.h"

enum { ROOM = 1 << 20 }; /* bytes of the largest tensor, and more */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *of, *way;
} words[] = {
    { "cumprod:f32", "" },      { "cumprod:f32", ",exclusive" }, { "cumsum:f32", "" },
    { "cumsum:i32", "" },       { "cumprod:f64", ",reverse" },   { "cumsum:f64", ",exclusive" },
    { "cumlogsumexp:f32", "" }, { "cumprod:bf16", "" },
};

/* Groups of 32, 128 and 2048 elements. */
static const struct {
    const char *profile, *plan;
    int length;
} plans[] = {
    { "lavapipe-4", "template=look_back,workgroup=4,vector=2,segments=1", 401 },
    { "lavapipe-8", "template=look_back,workgroup=16,vector=2,segments=1,scan=1", 801 },
    { "nvidia-hopper", "template=look_back,workgroup=32,vector=2,segments=1", 4201 },
};

Test(look_back, every_group_has_its_bits, .timeout = 280)
{
    tly_arena in, out;
    cr_assert(tly_arena_open(&in, ROOM) == 0 && tly_arena_open(&out, ROOM) == 0);
    for (size_t w = 0; w < COUNT(words); w++)
        for (size_t p = 0; p < COUNT(plans); p++)
            for (int data = 0; data < TLY_DATA_COUNT; data++) {
                if ((w + (size_t)data) % COUNT(plans) != p || (p == 2 && w > 0))
                    continue;
                tly_caps caps = tly_profile_caps(plans[p].profile);
                tally_error error = TALLY_ERROR_INIT;
                char word[TALLY_WORD_MAX];
                caps.progress = 1;
                tly_engine *engine = tly_engine_grid(&caps, &error);
                tly_trial trial = { .data = (tly_data)data,
                                    .plan = plans[p].plan,
                                    .random = tly_random_seed(w, (uint64_t)data),
                                    .in = &in,
                                    .out = &out };
                snprintf(word, sizeof word, "%s:%d:axis=0%s", words[w].of, plans[p].length,
                         words[w].way);
                cr_assert(engine);
                cr_assert(tally_descriptor_parse(word, &trial.d, NULL) == 0, "%s", word);
                cr_expect(tly_trial_run(&trial, &engine, 1) == 0, "%s, %s, data %d: %s", word,
                          plans[p].plan, data, trial.why);
                cr_expect(!trial.plan_refused, "%s, %s", word, plans[p].plan);
                engine->close(engine);
            }
    tly_arena_close(&in);
    tly_arena_close(&out);
}
