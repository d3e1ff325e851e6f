/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every template by name, forced by plans whose blocks, chunks and tiles are small, with operators
 * whose states have several parts (states.c): natively and interpreted for CPUs, and by the
 * interpreter for devices of profiles. Random cases of them are the driver's.
 */
#include <stdio.h>
#include <string.h>

#include "engine_grid.h"
#include "profile_caps.h"
#include "trials.h"

static const char *const kinds[] = { "cumsum:i32",  "cumprod:i64", "cumsum:f32", "cumprod:f16",
                                     "cumprod:i32", "cumsum:u64",  "cumprod:f32" };
static const char *const ways[] = { "", ",exclusive", ",reverse" };

typedef struct made {
    const char *shape, *plan;
} made;

static const made on_cpus[] = {
    { "9x33:axis=1", "template=serial" },
    { "7x5:axis=1", "template=serial" },
    { "90x3:axis=1", "template=short" },
    { "70x16:axis=1", "template=short" },
    { "40x33:axis=1", "template=short,block=64" },
    { "31x200:axis=1", "template=short" },
    { "1x64:axis=1", "template=short" },
    { "3x1500:axis=1", "template=rows,scan=0,block=64,chunk=256" },
    { "3x1500:axis=1", "template=rows,scan=1,block=64,chunk=256" },
    { "3x1500:axis=1", "template=rows,scan=0,window_loads=2,unroll=2,block=64,chunk=256" },
    { "2x900:axis=1", "template=rows,scan=2,unroll=1,block=64,chunk=128" },
    { "3x1500:axis=1,in=4000x2", "template=rows,block=64,chunk=512" },
    { "2x300:axis=1,in=4000x7", "template=rows,block=64,chunk=128" },
    { "2x301x3:axis=1", "template=rows" },
    { "2x301x15:axis=1", "template=rows" },
    { "37x777:axis=0", "template=columns,rows=1" },
    { "37x777:axis=0", "template=columns,rows=4,long_row=0,small=0" },
    { "211x20:axis=0", "template=narrow,history=1" },
    { "211x97:axis=0", "template=narrow,history=0,block=64,unroll=1" },
    { "300x100:axis=0", "template=columns" },
    { "70x200:axis=1,in=1x70", "template=transposed" },
    { "70x200:axis=1,in=1x70", "template=tiles" },
    { "70x200:axis=0,in=3x210", "template=tiles" },
    { "70x13:axis=1,in=1x70", "template=tiles" },
};

#ifdef TALLY_VULKAN
static const made on_devices[] = {
    { "9x33:axis=1", "template=columns" },
    { "300x40:axis=0", "template=columns,vector=4" },
    { "300x9:axis=0", "template=columns,chunk=64,vector=1" },
    { "300x16:axis=0", "template=columns,chunk=64,vector=4" },
    { "5x300:axis=1", "template=subgroups" },
    { "2x1500:axis=1", "template=subgroups,chunk=512" },
    { "2x300x3:axis=1", "template=subgroups,chunk=128" },
    { "2x300:axis=1", "template=workgroups,scan=0,workgroup=16" },
    { "2x900x3:axis=1", "template=workgroups,scan=0,workgroup=16,chunk=128" },
    { "2x1500:axis=1", "template=workgroups,scan=1,workgroup=64,chunk=512" },
    { "2x1500:axis=1", "template=workgroups,scan=0,workgroup=32,chunk=512" },
    { "2x3000:axis=1", "template=look_back,scan=1,workgroup=64" },
    { "2x700x3:axis=1", "template=look_back_lanes,workgroup=32,segments=2" },
    { "300x40:axis=0", "template=look_back_lanes,workgroup=64,segments=1" },
};
#endif

/* 1 if the engine takes the plan; what it then makes must be right. */
static int is_taken(tly_trials *t, tly_engine *engine, const char *word, const char *plan,
                    uint64_t seed)
{
    tly_trial trial = { .data = seed % 2 ? TLY_DATA_BITS : TLY_DATA_ZEROS,
                        .plan = plan,
                        .random = tly_random_seed(seed, 0),
                        .in = &t->in,
                        .out = &t->out };
    cr_assert(engine);
    cr_assert(tally_descriptor_parse(word, &trial.d, NULL) == 0, "%s", word);
    cr_expect(tly_trial_run(&trial, &engine, 1) == 0, "%s, %s: %s", word, plan, trial.why);
    engine->close(engine);
    return !trial.plan_refused;
}

/* Each way with one of the kinds, and each kind once. */
static void word_of(char *word, size_t room, const made *m, size_t k, size_t turn)
{
    snprintf(word, room, "%s:%s%s", kinds[k], m->shape,
             strstr(m->shape, "in=") && k % 3 == 2 ? "" : ways[(k + turn) % COUNT(ways)]);
}

Test(states, templates_for_cpus, .timeout = 280)
{
    static const char *const levels[] = { "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4",
                                          "cpu:aarch64" };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t m = 0; m < COUNT(on_cpus); m++)
        for (size_t k = 0, taken = 0; k < COUNT(kinds); k++) {
            char word[128];
            tally_error error = TALLY_ERROR_INIT;
            const char *level = levels[(k + m) % COUNT(levels)];
            word_of(word, sizeof word, &on_cpus[m], k, m);
            taken += (size_t)is_taken(&t, tly_engine_interpret(t.levels.context, level, &error),
                                      word, on_cpus[m].plan, k);
            for (size_t l = 0; l < t.levels.level_count; l++) {
                const char *device = t.levels.levels[l].selector;
                if (t.levels.levels[l].runs_here)
                    taken += (size_t)is_taken(&t,
                                              tly_engine_native(t.levels.context, device, &error),
                                              word, on_cpus[m].plan, k + 1);
            }
            cr_expect(taken > 0 || k + 1 < COUNT(kinds), "%s", on_cpus[m].plan);
        }
    tly_trials_close(&t);
}

#ifdef TALLY_VULKAN
Test(states, templates_for_devices, .timeout = 280)
{
    static const char *const names[] = { "nvidia-hopper", "lavapipe-8", "lavapipe-4" };
    tly_trials t;
    tly_trials_open(&t);
    for (size_t m = 0; m < COUNT(on_devices); m++)
        for (size_t k = 0, taken = 0; k < COUNT(kinds); k++) {
            char word[128];
            tally_error error = TALLY_ERROR_INIT;
            const tly_caps caps = tly_profile_caps(names[(k + m) % COUNT(names)]);
            word_of(word, sizeof word, &on_devices[m], k, m);
            taken += (size_t)is_taken(&t, tly_engine_grid(&caps, &error), word, on_devices[m].plan,
                                      k);
            cr_expect(taken > 0 || k + 1 < COUNT(kinds), "%s", on_devices[m].plan);
        }
    tly_trials_close(&t);
}
#endif
