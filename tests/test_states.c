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
/* Of reductions sums commute, products do not. */
static const char *const sums[] = { "sum:i32",    "sum:i64", "sum:f32",     "sum:f16",
                                    "sum:u8>u64", "sum:f64", "sum:bf16>f32" };
static const char *const products[] = { "prod:i32",     "prod:i64", "prod:f32",     "prod:f16",
                                        "prod:u16>u64", "prod:f64", "prod:bf16>f32" };
static const char *const kept[] = { "", ",keepdims" };

typedef struct made {
    const char *shape, *plan;
} made;

static const made on_cpus[] = {
    { "9x33:axis=1", "template=serial" },
    { "7x5:axis=1", "template=serial" },
    { "90x3:axis=1", "template=short" },
    { "70x16:axis=1", "template=short" },
    { "40x33:axis=1", "template=short,block=64" },
    { "40x47:axis=1", "template=short" },
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
    { "5x2x528:axis=1", "template=columns,slices=4" },
    { "70x200:axis=1,in=1x70", "template=transposed" },
    { "70x200:axis=1,in=1x70", "template=tiles" },
    { "70x200:axis=0,in=3x210", "template=tiles" },
    { "70x13:axis=1,in=1x70", "template=tiles" },
    { "40x9x16:axis=1,in=1x40x360", "template=tiles" },
};

static const made sums_on_cpus[] = {
    { "3x1500:axes=1", "template=reduce_rows,unroll=2,chunk=256" },
    { "3x1500:axes=1", "template=reduce_rows,unroll=4,chunk=0" },
    { "70x5:axes=1", "template=reduce_rows" },
    { "70x37:axes=1", "template=reduce_rows" },
    { "40x100:axes=1", "template=reduce_rows" },
    { "5x70x9:axes=0+2", "template=reduce_rows" },
    { "3x40x70:axes=0+2", "template=reduce_rows,chunk=64" },
    { "7x90:axes=1,in=200x2", "template=reduce_rows,lanes=1" },
    { "300x100:axes=0", "template=reduce_lanes,rows=1" },
    { "300x100:axes=0", "template=reduce_lanes,rows=4,chunk=64" },
    { "20x9x50:axes=0+2,in=450x1x9", "template=reduce_lanes" },
    { "5x70x3:axes=0+2", "template=reduce_lanes" },
    { "700x3:axes=0", "template=reduce_interleaved" },
    { "700x17:axes=0", "template=reduce_interleaved,chunk=128" },
    { "2x700x8:axes=1", "template=reduce_interleaved,rows=1" },
};

static const made products_on_cpus[] = {
    { "3x1500:axes=1", "template=reduce_rows" },
    { "70x5:axes=1", "template=reduce_rows" },
    { "40x100:axes=1", "template=reduce_rows" },
    { "5x70x9:axes=0+2", "template=reduce_rows" },
    { "7x90:axes=1,in=200x-2", "template=reduce_rows" },
    { "300x100:axes=0", "template=reduce_lanes,rows=1" },
    { "300x100:axes=0", "template=reduce_lanes,rows=4" },
    { "20x9x50:axes=0+2,in=450x1x9", "template=reduce_lanes" },
    { "5x70x3:axes=0+2", "template=reduce_lanes" },
    { "700x3:axes=0", "template=reduce_lanes" },
    { "8200x64:axes=0", "template=reduce_lanes" },
};

#ifdef TALLY_VULKAN
static const made sums_on_devices[] = {
    { "9x33:axes=1", "template=reduce_lanes" },
    { "300x40:axes=0", "template=reduce_lanes,vector=4" },
    { "300x9:axes=0", "template=reduce_lanes,chunk=64" },
    { "3x40x70:axes=0+2", "template=reduce_lanes" },
    { "5x300:axes=1", "template=reduce_rows" },
    { "2x1500:axes=1", "template=reduce_rows,chunk=512" },
    { "3x40x70:axes=0+2", "template=reduce_rows" },
    { "2x900:axes=1", "template=reduce_rows,scan=0" },
};

static const made products_on_devices[] = {
    { "9x33:axes=1", "template=reduce_lanes" },
    { "9x33:axes=1,in=40x-1", "template=reduce_lanes" },
    { "2x300:axes=1", "template=reduce_lanes,vector=4" },
    { "300x40:axes=0", "template=reduce_lanes,vector=4" },
    { "300x9:axes=0", "template=reduce_lanes,vector=1" },
    { "3x40x70:axes=0+2", "template=reduce_lanes" },
};

static const made on_devices[] = {
    { "9x33:axis=1", "template=columns" },
    { "300x40:axis=0", "template=columns,vector=4" },
    { "300x9:axis=0", "template=columns,chunk=64,vector=1" },
    { "300x16:axis=0", "template=columns,chunk=64,vector=4" },
    { "5x300:axis=1", "template=subgroups" },
    { "5x300:axis=1", "template=staged" },
    { "2x700:axis=1", "template=staged,workgroup=64,team=64" },
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

/* What is tried: each of the shapes by each of the kinds, in one of the ways. */
typedef struct trials {
    const made *made;
    size_t made_count;
    const char *const *kinds;
    size_t kind_count;
    const char *const *ways;
    size_t way_count;
} trials;

#define TRIALS(made_, kinds_, ways_) \
    { made_, COUNT(made_), kinds_, COUNT(kinds_), ways_, COUNT(ways_) }

/* Each way with one of the kinds, and each kind once. */
static void word_of(char *word, size_t room, const trials *all, size_t m, size_t k)
{
    const char *shape = all->made[m].shape;
    snprintf(word, room, "%s:%s%s", all->kinds[k], shape,
             strstr(shape, "in=") && k % 3 == 2 ? "" : all->ways[(k + m) % all->way_count]);
}

/* How many of a word's kernels take the plan: by the engines of one target, which `k` and `m`
 * choose. */
typedef size_t try_word(tly_trials *t, const char *word, const char *plan, size_t m, size_t k);

static void try_all(const trials *all, try_word *try)
{
    tly_trials t;
    tly_trials_open(&t);
    for (size_t m = 0; m < all->made_count; m++) {
        size_t taken = 0;
        for (size_t k = 0; k < all->kind_count; k++) {
            char word[128];
            word_of(word, sizeof word, all, m, k);
            taken += try(&t, word, all->made[m].plan, m, k);
        }
        cr_expect(taken > 0, "%s, %s", all->made[m].shape, all->made[m].plan);
    }
    tly_trials_close(&t);
}

static size_t try_on_cpus(tly_trials *t, const char *word, const char *plan, size_t m, size_t k)
{
    static const char *const levels[] = { "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4",
                                          "cpu:aarch64" };
    tally_error error = TALLY_ERROR_INIT;
    const char *level = levels[(k + m) % COUNT(levels)];
    size_t taken = (size_t)is_taken(t, tly_engine_interpret(t->levels.context, level, &error), word,
                                    plan, k);
    for (size_t l = 0; l < t->levels.level_count; l++) {
        const char *device = t->levels.levels[l].selector;
        if (t->levels.levels[l].runs_here)
            taken += (size_t)is_taken(t, tly_engine_native(t->levels.context, device, &error), word,
                                      plan, k + 1);
    }
    return taken;
}

Test(states, templates_for_cpus, .timeout = 280)
{
    static const trials all = TRIALS(on_cpus, kinds, ways);
    try_all(&all, try_on_cpus);
}

Test(states, reductions_for_cpus, .timeout = 280)
{
    static const trials commute = TRIALS(sums_on_cpus, sums, kept);
    static const trials do_not = TRIALS(products_on_cpus, products, kept);
    try_all(&commute, try_on_cpus);
    try_all(&do_not, try_on_cpus);
}

#ifdef TALLY_VULKAN
static size_t try_on_devices(tly_trials *t, const char *word, const char *plan, size_t m, size_t k)
{
    static const char *const names[] = { "nvidia-hopper", "lavapipe-8", "lavapipe-4" };
    tally_error error = TALLY_ERROR_INIT;
    const tly_caps caps = tly_profile_caps(names[(k + m) % COUNT(names)]);
    return (size_t)is_taken(t, tly_engine_grid(&caps, &error), word, plan, k);
}

Test(states, templates_for_devices, .timeout = 280)
{
    static const trials all = TRIALS(on_devices, kinds, ways);
    try_all(&all, try_on_devices);
}

Test(states, reductions_for_devices, .timeout = 280)
{
    static const trials commute = TRIALS(sums_on_devices, sums, kept);
    static const trials do_not = TRIALS(products_on_devices, products, kept);
    try_all(&commute, try_on_devices);
    try_all(&do_not, try_on_devices);
}
#endif
