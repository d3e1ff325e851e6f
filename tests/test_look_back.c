/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Look-back by the interpreter: many groups of few tiles, on subgroups of several sizes, with data
 * that breaks groups everywhere. A trial runs each kernel several times, every other time with
 * tiles stalled, and holds all runs to the same bits.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../codegen/plan/gpu.h"
#include "../runtime/problem/canonicalise.h"
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

/* Groups of 32, 128 and 2048 elements; of lanes of 32, 128 and 96 or half of that, whole and
 * turned. */
static const struct {
    const char *profile, *plan, *shape;
} plans[] = {
    { "lavapipe-4", "template=look_back,workgroup=4,vector=2,segments=1", "401:axis=0" },
    { "lavapipe-8", "template=look_back,workgroup=16,vector=2,segments=1,scan=1", "801:axis=0" },
    { "nvidia-hopper", "template=look_back,workgroup=32,vector=2,segments=1", "4201:axis=0" },
    { "lavapipe-4", "template=look_back_lanes,team=3,workgroup=4,segments=2", "401x3:axis=0" },
    { "lavapipe-8", "template=look_back_lanes,team=16,workgroup=32,segments=4", "2x301x19:axis=1" },
    { "lavapipe-4", "template=look_back_lanes,team=5,workgroup=16,segments=2", "3x397x5:axis=1" },
    { "lavapipe-4", "template=look_back,workgroup=4,vector=2,segments=2,park=1", "801:axis=0" },
    { "lavapipe-4", "template=look_back_lanes,team=3,workgroup=16,segments=3,park=1",
      "597x3:axis=0" },
};
enum { FEW = 2 }; /* a plan with subgroups of 32, which take the interpreter long */

/* One of so many kinds of data for a word and a plan: each plan runs each word with about four
 * kinds, and under a sanitizer, which takes long, with one or two. */
#ifdef __SANITIZE_ADDRESS__
enum { KINDS = 18 };
#else
enum { KINDS = 5 };
#endif

static tly_engine *open_grid(void *caps, tally_error *error)
{
    return tly_engine_grid(caps, error);
}

/* A word by a plan on one kind of data: whole, or in pieces that go on with each other's states.
 * Pieces may be shorter than a plan takes. */
static void try_one(size_t w, size_t p, int data, int in_pieces)
{
    static tly_arena in, out;
    tly_caps caps = tly_profile_caps(plans[p].profile);
    tally_error error = TALLY_ERROR_INIT;
    char word[TALLY_WORD_MAX];
    caps.progress = 1;
    cr_assert(in.bytes || (tly_arena_open(&in, ROOM) == 0 && tly_arena_open(&out, ROOM) == 0));
    tly_engine *engine = in_pieces ? tly_engine_in_pieces(open_grid, &caps, &error)
                                   : tly_engine_grid(&caps, &error);
    tly_trial trial = { .data = (tly_data)data,
                        .plan = plans[p].plan,
                        .random = tly_random_seed(w, (uint64_t)data),
                        .in = &in,
                        .out = &out };
    snprintf(word, sizeof word, "%s:%s%s", words[w].of, plans[p].shape, words[w].way);
    cr_assert(engine);
    cr_assert(tally_descriptor_parse(word, &trial.d, NULL) == 0, "%s", word);
    cr_expect(tly_trial_run(&trial, &engine, 1) == 0, "%s, %s, data %d: %s", word, plans[p].plan,
              data, trial.why);
    cr_expect(in_pieces || !trial.plan_refused, "%s, %s", word, plans[p].plan);
    engine->close(engine);
}

Test(look_back, every_group_has_its_bits, .timeout = 280)
{
    for (size_t w = 0; w < COUNT(words); w++)
        for (size_t p = 0; p < COUNT(plans); p++)
            for (int data = 0; data < TLY_DATA_COUNT; data++)
                if ((w + (size_t)data) % KINDS == p % KINDS && (p != FEW || w == 0))
                    try_one(w, p, data, 0);
}

/* Of all combinations one in so many. */
#ifdef __SANITIZE_ADDRESS__
enum { PIECES_OF = 131 };
#else
enum { PIECES_OF = 41 };
#endif

Test(look_back, pieces_go_on, .timeout = 280)
{
    size_t number = 0;
    for (size_t w = 0; w < COUNT(words); w++)
        for (size_t p = 0; p < COUNT(plans); p++)
            for (int data = 0; data < TLY_DATA_COUNT && p != FEW; data++)
                if (number++ % PIECES_OF == 0)
                    try_one(w, p, data, 1);
}

/* ---- groups that publish classes ---- */

enum { TILE = 64, MOST_GROUP = 32, MOST_TILES = 3 * MOST_GROUP + 4 };

static const struct {
    const char *plan;
    int group; /* tiles */
} grouped[] = {
    { "template=look_back,workgroup=32,vector=2,segments=1", 32 },
    { "template=look_back_lanes,team=1,workgroup=4,segments=16", 16 },
};

/* A product of powers of two, of each tile's `power`: exact in every order. */
static void scan_powers_by(const char *plan, int group, int (*power)(int group, int tile))
{
    const int count = (3 * group + 4) * TILE;
    static float in[MOST_TILES * TILE], out[MOST_TILES * TILE];
    const tly_caps caps = tly_profile_caps("nvidia-hopper");
    tally_error error = TALLY_ERROR_INIT;
    tally_descriptor d;
    char word[TALLY_WORD_MAX];
    tly_engine *engine = tly_engine_grid(&caps, &error);
    cr_assert(engine);
    for (int i = 0; i < count; i++) {
        int exponent = power(i / TILE / group, i / TILE % group);
        in[i] = i % TILE >= abs(exponent) ? 1 : exponent < 0 ? 0.5F : 2;
    }
    snprintf(word, sizeof word, "cumprod:f32:%d:axis=0", count);
    cr_assert(tally_descriptor_parse(word, &d, NULL) == TALLY_OK);
    cr_assert(engine->prepare(engine, &d, plan, &error) == TALLY_OK, "%s", error.message);
    const tally_buffers buffers = tly_buffers(in, out);
    cr_assert(engine->run(engine, &buffers, 1, &error) == TALLY_OK, "%s", error.message);
    float product = 1;
    for (int i = 0; i < count; i++) {
        product *= in[i];
        cr_assert(out[i] == product, "%s, %d: %a, not %a", plan, i, (double)out[i],
                  (double)product);
    }
    engine->close(engine);
}

static void scan_powers(int (*power)(int group, int tile))
{
    for (size_t k = 0; k < COUNT(grouped); k++)
        scan_powers_by(grouped[k].plan, grouped[k].group, power);
}

static int to_and_fro(int group, int tile)
{
    (void)group;
    return tile % 15 < 7 ? -17 : 17;
}

/* Eight totals leave the range though no prefix does: where a sum of a group's tree would overflow,
 * the group goes another way. */
Test(look_back, sums_of_totals_leave_the_range)
{
    scan_powers(to_and_fro);
}

static int back_from_below(int group, int tile)
{
    static const int8_t powers[][MOST_GROUP] = {
        { -40, -40, -40, -20 },
        { 40, 62, 38 },
        { -3 },
        { 0 },
    };
    return powers[group][tile];
}

/* The second group's base is subnormal; its first tile is good by itself, the next one is not. No
 * classes tell what such a group makes of its base. */
Test(look_back, a_group_takes_a_subnormal_base_back)
{
    scan_powers(back_from_below);
}

/* ---- plans ---- */

typedef struct takers {
    const char *profile, *with, *without; /* subjects */
} takers;

static tly_gpu_plan plan_of(const char *of, const char *shape, const char *profile)
{
    const tly_caps caps = tly_profile_caps(profile);
    char word[TALLY_WORD_MAX];
    tally_descriptor d;
    tly_problem p;
    tly_geometry g;
    tly_gpu_plan plan;
    snprintf(word, sizeof word, "%s:%s", of, shape);
    cr_assert(tally_descriptor_parse(word, &d, NULL) == TALLY_OK, "%s", word);
    tly_canonicalise(&d, 1, &p, &g);
    cr_assert(tly_gpu_plan_make(&p, &g, &caps, NULL, &plan, NULL) == TALLY_OK, "%s", word);
    return plan;
}

static void expect_taken(const takers *row, const char *shape, tly_gpu_template template, int takes)
{
    char subjects[200], *rest = NULL;
    snprintf(subjects, sizeof subjects, "%s", takes ? row->with : row->without);
    for (char *of = strtok_r(subjects, " ", &rest); of; of = strtok_r(NULL, " ", &rest)) {
        const tly_gpu_plan plan = plan_of(of, shape, row->profile);
        cr_expect((plan.template_id == (int32_t)template) == takes, "%s: %s:%s by %s", row->profile,
                  of, shape, tly_gpu_template_name(&plan));
    }
}

/* One long row goes by look-back where that is faster than reading twice
 * (codegen/plan/gpu_cost.c), and never where workgroups may not run or a CPU plays the device. */
Test(look_back, the_plan_takes_it_where_it_pays)
{
    static const takers rows[] = {
        { "nvidia-hopper", "cumsum:f32 cumprod:f32 cumsum:i32 cumsum:f16 cummax:f64", "" },
        { "nvidia-hopper", "cumsum:bf16 cumprod:bf16 cumprod:f16 cumsum:f64", "cummax:i8" },
        { "amd-rdna3", "cumsum:f32 cumsum:i32 cumsum:f16 cumsum:bf16 cumsum:f64", "" },
        { "intel-xe", "cumsum:f32 cumsum:i32 cumsum:f16 cumsum:bf16", "" },
        { "apple-moltenvk", "", "cumsum:f32 cumsum:i32" },
        { "swiftshader", "", "cumsum:f32 cumsum:i32" },
        { "lavapipe-8", "", "cumsum:f32 cumsum:i32" },
    };
    for (size_t k = 0; k < COUNT(rows); k++)
        for (int takes = 0; takes < 2; takes++)
            expect_taken(&rows[k], "268435456:axis=0", TLY_GPU_LOOK_BACK, takes);
}

/* So do lanes, but those enough to fill the device, or that do not lie side by side. */
Test(look_back, the_plan_takes_it_along_lanes_where_it_pays)
{
    static const takers rows[] = {
        { "nvidia-hopper", "cumsum:f32 cumprod:f32 cumsum:i32 cumsum:f16 cumsum:f64", "cummax:i8" },
        { "nvidia-hopper", "cumsum:bf16", "" }, /* products of 16 bits do by 64 lanes, not by 3 */
        { "amd-rdna3", "cumsum:f32 cumprod:f32 cumsum:i32 cumsum:f16 cumsum:f64", "" },
        { "intel-xe", "cumsum:f32 cumsum:i32 cumsum:f16", "" },
        { "apple-moltenvk", "", "cumsum:f32 cumsum:i32" },
        { "swiftshader", "", "cumsum:f32 cumsum:i32" },
        { "lavapipe-8", "", "cumsum:f32 cumsum:i32" },
    };
    static const char *const shapes[] = { "4194304x64:axis=0", "33554432x3:axis=0",
                                          "1048576x64:axis=0", "1048576x33:axis=0" };
    static const char *const others[] = { "64x4194304:axis=0", "64x1048576:axis=1,in=1x64",
                                          "1048576x64:axis=0,order=serial", "1000x64:axis=0" };
    for (size_t k = 0; k < COUNT(rows); k++)
        for (int takes = 0; takes < 2; takes++)
            for (size_t i = 0; i < COUNT(shapes); i++)
                expect_taken(&rows[k], shapes[i], TLY_GPU_LOOK_BACK_LANES, takes);
    const takers none = { "nvidia-hopper", "", "cumsum:f32 cumprod:f32" };
    for (size_t i = 0; i < COUNT(others); i++)
        expect_taken(&none, others[i], TLY_GPU_LOOK_BACK_LANES, 0);
}

/* Tiles hold as many positions as leave them longest. None parks its elements. */
Test(look_back, tiles_hold_what_fits)
{
    static const struct {
        const char *of, *shape, *profile;
        int32_t segments, park;
    } table[] = {
        { "cumsum:bf16", "268435456:axis=0", "nvidia-hopper", 4, 0 },
        { "cumsum:bf16", "268435456:axis=0", "amd-rdna3", 4, 0 },
        { "cumsum:f16", "268435456:axis=0", "nvidia-hopper", 4, 0 },
        { "cumprod:f32", "268435456:axis=0", "nvidia-hopper", 8, 0 },
        { "cumprod:f64", "268435456:axis=0", "nvidia-hopper", 8, 0 },
        { "cumprod:f16", "4194304x64:axis=0", "nvidia-hopper", 24, 0 },
        { "cumsum:f16", "4194304x64:axis=0", "nvidia-hopper", 32, 0 },
        { "cumsum:f16", "4194304x64:axis=0", "amd-rdna3", 32, 0 },
        { "cumsum:f32", "4194304x64:axis=0", "nvidia-hopper", 32, 0 },
        { "cumprod:f32", "4194304x64:axis=0", "nvidia-hopper", 24, 0 },
        { "cumprod:f32", "33554432x3:axis=0", "nvidia-hopper", 21, 0 }, /* 84 of 85 along a lane */
        { "cumsum:f64", "4194304x64:axis=0", "nvidia-hopper", 12, 0 },
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        const tly_gpu_plan plan = plan_of(table[i].of, table[i].shape, table[i].profile);
        cr_expect(plan.vectors_per_thread == table[i].segments && plan.spill == table[i].park,
                  "%s:%s, %s: %d positions, %d", table[i].of, table[i].shape, table[i].profile,
                  (int)plan.vectors_per_thread, (int)plan.spill);
    }
}
