/* SPDX-License-Identifier: Apache-2.0 */
/* codegen/plan: what is chosen for which problem, overrides and their refusals, the print. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../codegen/plan/operator.h"
#include "../codegen/plan/planner.h"
#include "../runtime/problem/canonicalise.h"
#include "random.h"

static tly_problem problem_of(const char *word)
{
    tally_descriptor d = { .size = sizeof d };
    tly_problem p;
    tly_geometry g;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    tly_canonicalise(&d, 0, &p, &g);
    return p;
}

static tally_status plan_of(const char *word, const char *level, const char *overrides,
                            tly_plan *plan, tally_error *e)
{
    tly_problem p = problem_of(word);
    return tly_plan_make(&p, tly_target_find(level), overrides, plan, e);
}

Test(plan, chooses_the_template)
{
    static const struct {
        const char *word;
        tly_template id;
    } table[] = {
        { "cumprod:f32:4096:axis=0", TLY_TEMPLATE_ROWS },
        { "cumprod:f32:1000x8:axis=1", TLY_TEMPLATE_SHORT },
        { "cumprod:f32:1000x65:axis=1", TLY_TEMPLATE_SHORT },
        { "cumprod:f32:1000x255:axis=1,reverse", TLY_TEMPLATE_SHORT },
        { "cumprod:f32:1000x65:axis=1,in=66x1", TLY_TEMPLATE_ROWS },
        { "cumprod:f32:1000x128:axis=1", TLY_TEMPLATE_SHORT },
        { "cumprod:f64:1000x128:axis=1", TLY_TEMPLATE_ROWS },
        { "cumprod:i32:1000x128:axis=1", TLY_TEMPLATE_SHORT },
        { "cumprod:f32:1000x128:axis=1,in=129x1", TLY_TEMPLATE_ROWS },
        { "cumprod:f32:1000x257:axis=1", TLY_TEMPLATE_ROWS },
        { "cumprod:f32:1000x65:axis=1,order=serial", TLY_TEMPLATE_SERIAL },
        { "cumprod:f32:1x1x3x4:axis=3", TLY_TEMPLATE_SHORT },
        { "cumprod:i64:1000x4:axis=1", TLY_TEMPLATE_SERIAL },
        { "cumprod:f32:4096:axis=0,order=serial", TLY_TEMPLATE_SERIAL },
        { "cumsum:i32:64x100:axis=0", TLY_TEMPLATE_FEW_COLUMNS },
        { "cumsum:i32:64x100:axis=0,order=serial", TLY_TEMPLATE_FEW_COLUMNS },
        { "cumsum:i32:64x100:axis=0,in=101x1", TLY_TEMPLATE_COLUMNS },
        { "cumsum:i32:64x2000:axis=0", TLY_TEMPLATE_COLUMNS },
        { "cumsum:f32:64x1024:axis=0", TLY_TEMPLATE_COLUMNS },
        { "cumsum:f32:64x1023:axis=0", TLY_TEMPLATE_FEW_COLUMNS },
        { "cumsum:f32:64x512:axis=0", TLY_TEMPLATE_COLUMNS },
        { "cumsum:f32:64x496:axis=0", TLY_TEMPLATE_FEW_COLUMNS },
        { "cumsum:f64:64x512:axis=0", TLY_TEMPLATE_COLUMNS },
        { "cumsum:f64:64x1023:axis=0", TLY_TEMPLATE_FEW_COLUMNS },
        { "cumsum:f64:64x240:axis=0", TLY_TEMPLATE_FEW_COLUMNS },
        { "cumsum:f32:1000x3:axis=0", TLY_TEMPLATE_ROWS },
        { "cumsum:f32:100x100:axis=1,in=1x100", TLY_TEMPLATE_TRANSPOSED },
        { "cumsum:f32:100:axis=0,in=7", TLY_TEMPLATE_ROWS },
        /* Views: rows in and columns out, a few lanes, short rows apart, lanes apart. */
        { "cumsum:f32:100x100:axis=1,out=1x100", TLY_TEMPLATE_TILES },
        { "cumsum:f32:100x8:axis=0,in=9x1", TLY_TEMPLATE_TILES },
        { "cumsum:f32:8x100:axis=1,in=1x8", TLY_TEMPLATE_TILES },
        { "cumsum:f32:100x100:axis=1,in=1x100,reverse", TLY_TEMPLATE_TILES },
        { "cumsum:f32:100x8:axis=1,in=9x1", TLY_TEMPLATE_TILES },
        { "cumsum:f32:100x65:axis=1,in=66x1", TLY_TEMPLATE_ROWS },
        { "cumsum:f32:100x100:axis=0,in=500x5", TLY_TEMPLATE_TILES },
        { "cummax:u8:3x5x64x2:axis=1,in=1x6x30x3", TLY_TEMPLATE_TILES },
        /* Reductions: of outputs side by side in the input, and of all others. */
        { "sum:f32:4096", TLY_TEMPLATE_REDUCE_ROWS },
        { "sum:f32:4096:order=serial", TLY_TEMPLATE_REDUCE_ROWS },
        { "argmax:f32:100x4096:axes=1", TLY_TEMPLATE_REDUCE_ROWS },
        { "max:f32:100x4096:axes=0", TLY_TEMPLATE_REDUCE_LANES },
        { "max:f32:100x4096:axes=0,in=8192x2", TLY_TEMPLATE_REDUCE_LANES },
        { "max:f32:100x4096:axes=1,in=8192x2", TLY_TEMPLATE_REDUCE_ROWS },
        { "mean:f32:9x16x100:axes=0+2", TLY_TEMPLATE_REDUCE_ROWS },
        { "mean:f32:9x16x100:axes=1", TLY_TEMPLATE_REDUCE_LANES },
        { "l2:f32:100x4096:axes=1,in=1x100", TLY_TEMPLATE_REDUCE_LANES },
        { "l1:f32:100:axes=none", TLY_TEMPLATE_REDUCE_LANES },
        { "sum:f32:512x2:axes=0", TLY_TEMPLATE_REDUCE_INTERLEAVED },
        { "argmax:f64:9x100x63:axes=1", TLY_TEMPLATE_REDUCE_INTERLEAVED },
        { "prod:i32:512x3:axes=0", TLY_TEMPLATE_REDUCE_INTERLEAVED },
        { "prod:f32:512x3:axes=0", TLY_TEMPLATE_REDUCE_INTERLEAVED },
        { "sum:f32:512x64:axes=0", TLY_TEMPLATE_REDUCE_LANES },
        { "sum:f32:512x2:axes=0,in=3x1", TLY_TEMPLATE_REDUCE_LANES },
        { "sum:f32:512x2:axes=0,order=serial", TLY_TEMPLATE_REDUCE_LANES },
        { "sum:f32:100x2:axes=0", TLY_TEMPLATE_REDUCE_LANES },
        { "prod:f32:scalar", TLY_TEMPLATE_REDUCE_ROWS },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_plan plan;
        cr_assert_eq(plan_of(table[i].word, "x86-64-v3", "", &plan, NULL), TALLY_OK);
        cr_expect_eq(plan.template_id, (int32_t)table[i].id, "%s: %s", table[i].word,
                     tly_template_name((tly_template)plan.template_id));
    }
}

Test(plan, follows_the_level_and_the_accumulator)
{
    static const struct {
        const char *word, *level;
        int32_t lanes;
    } table[] = {
        { "cumsum:f32:9999:axis=0", "x86-64-v2", 4 },
        { "cumsum:f32:9999:axis=0", "x86-64-v3", 8 },
        { "cumsum:f32:9999:axis=0", "x86-64-v4", 16 },
        { "cumsum:f16:9999:axis=0", "x86-64-v3", 8 },
        { "cumsum:f64:9999:axis=0", "x86-64-v3", 4 },
        { "cumsum:f16:9999:axis=0,acc=f64", "x86-64-v3", 4 },
        { "cumsum:i64:9999:axis=0", "aarch64", 2 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_plan plan;
        cr_assert_eq(plan_of(table[i].word, table[i].level, "", &plan, NULL), TALLY_OK);
        cr_expect_eq(plan.lanes, table[i].lanes, "%s %s", table[i].word, table[i].level);
        cr_expect_eq(plan.chunk % plan.block_elements, 0);
    }
}

/* Chunks as well; of interleaved floats only sums that share vectors have any, where a few vectors
 * hold their totals. */
static void check_units(const char *word, int sums)
{
    static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64" };
    for (int unit = 2; unit <= TLY_MAX_INTERLEAVE; unit++)
        for (int l = 0; l < 4; l++) {
            tly_problem p = problem_of(word);
            tly_plan plan;
            p.interleave = (uint8_t)unit;
            cr_assert_eq(tly_plan_make(&p, tly_target_find(levels[l]), "", &plan, NULL), TALLY_OK);
            int odd = unit;
            while (odd % 2 == 0)
                odd /= 2;
            cr_expect_eq(plan.block_elements % unit, 0);
            cr_expect_eq(plan.block_elements % (plan.lanes * plan.vectors), 0);
            cr_expect_eq(plan.chunk % plan.block_elements, 0);
            cr_expect_eq(plan.chunk > 0, sums && unit < plan.lanes && odd <= 7, "%s of %d, %s",
                         word, unit, levels[l]);
        }
}

Test(plan, cuts_blocks_at_whole_units)
{
    check_units("cumsum:f64:1000x2:axis=0", 1);
    check_units("cumsum:f16:1000x2:axis=0", 1);
    check_units("cumprod:f32:1000x2:axis=0", 0);
    check_units("cumlogsumexp:f32:1000x2:axis=0", 0);
}

Test(plan, pairs_neighbours_and_leaves_slow_vectors)
{
    static const struct {
        const char *word, *level, *overrides;
        int pairs, scan; /* pairs < 0: refused */
    } table[] = {
        { "cumsum:bf16:9999:axis=0", "x86-64-v3", "", 1, 1 },
        { "cumsum:bf16:9999:axis=0", "aarch64", "", 1, 1 },
        { "cumsum:bf16:9999:axis=0,reverse", "x86-64-v4", "", 1, 1 },
        { "cumsum:bf16:9999:axis=0", "x86-64-v3", "pairs=0", 0, 0 },
        { "cumsum:bf16:9999:axis=0", "x86-64-v3", "pairs=0,scan=0", 0, 0 },
        { "cumsum:bf16:9999:axis=0", "x86-64-v3", "scan=0", -1, 0 },
        { "cumsum:bf16:9999:axis=0,in=2", "x86-64-v3", "", 0, 0 },
        { "cumsum:bf16:9999:axis=0,acc=f64", "x86-64-v3", "", 0, 0 },
        { "cumsum:bf16:999x2:axis=0", "x86-64-v3", "", 0, 1 },
        { "cumsum:f32:999x3:axis=0", "x86-64-v3", "scan=0", -1, 0 },
        { "cumsum:f16:9999:axis=0", "x86-64-v3", "", 0, 0 },
        { "cumsum:f16:9999:axis=0", "x86-64-v4", "", 0, 0 },
        { "cumsum:f16:9999:axis=0", "x86-64-v3", "pairs=1", -1, 0 },
        { "cumprod:i64:9999:axis=0", "x86-64-v3", "", 0, 2 },
        { "cumprod:u64:9999:axis=0", "x86-64-v2", "", 0, 2 },
        { "cumprod:i64:9999:axis=0", "x86-64-v4", "", 0, 0 },
        { "cumprod:i64:999x2:axis=0", "x86-64-v3", "", 0, 1 },
        { "cumsum:i64:9999:axis=0", "x86-64-v3", "", 0, 0 },
        { "cumprod:f64:9999:axis=0", "x86-64-v3", "scan=2", -1, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_plan plan = { .pairs = -1, .scan = 0 };
        tally_status s = plan_of(table[i].word, table[i].level, table[i].overrides, &plan, NULL);
        cr_expect_eq(s, table[i].pairs < 0 ? TALLY_INVALID : TALLY_OK, "%s", table[i].word);
        cr_expect_eq(plan.pairs, table[i].pairs, "%s %s", table[i].word, table[i].level);
        cr_expect_eq(plan.scan, table[i].scan, "%s %s", table[i].word, table[i].level);
        if (s == TALLY_OK)
            cr_expect_eq(plan.block_elements % (plan.lanes * plan.vectors << plan.pairs), 0);
    }
}

Test(plan, takes_overrides)
{
    tly_plan plan;
    cr_assert_eq(plan_of("cumsum:f32:9999:axis=0", "x86-64-v3", "unroll=4,prefetch=0,block=256",
                         &plan, NULL),
                 TALLY_OK);
    cr_expect_eq(plan.vectors, 4);
    cr_expect_eq(plan.prefetch, 0);
    cr_expect_eq(plan.block_elements, 256);
}

Test(plan, refuses_what_is_no_override)
{
    static const char *const wrong[] = {
        "unroll",
        "=4",
        "unroll=",
        "unroll=x",
        "unroll=3",
        "unroll=64",
        "colour=4",
        "lines=1",
        "block=100",
        "chunk=1000",
        "chunk=0",
        "unroll=4x",
        "unroll=4,,",
        "scan=2",
        "pairs=1",
        "template=1",
        "template=copy",
        "template=short",
        "template=columns",
        "template=serial,lanes=4",
        "rows=4",
        "unroll=2,unroll=2",
        "template=rows,template=rows",
        "unroll=99999999999",
        "lanes=0",
        "unroll=-2",
        "unroll = ",
        "unroll=2,",
        ",unroll=2",
        "unroll= 2",
        "unroll =2",
        "unroll  =  2",
        " unroll=2",
        "unroll=2 ",
        "unroll=+2",
        "unroll=02",
        "unroll=2, lanes=4",
        "unroll=2,,lanes=4",
        "template= rows",
        "index_bits=64",
        "window_loads=3",
        "split_bytes=-1",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tally_error e = TALLY_ERROR_INIT;
        tly_plan plan;
        memset(&plan, 0x5a, sizeof plan);
        tly_plan before = plan;
        cr_expect_eq(plan_of("cumsum:f32:9999:axis=0", "x86-64-v3", wrong[i], &plan, &e),
                     TALLY_INVALID, "%s", wrong[i]);
        cr_expect_str_eq(e.field, "plan", "%s", wrong[i]);
        cr_expect_eq(memcmp(&plan, &before, sizeof plan), 0, "%s: written to", wrong[i]);
    }
}

/* What once became wrong results, an endless loop or the end of the process. */
Test(plan, refuses_what_a_template_has_no_room_for)
{
    static const struct {
        const char *word, *level, *overrides;
    } table[] = {
        { "cumsum:f64:100x100:axis=1,in=1x100", "x86-64-v3", "lanes=16" },
        { "cumsum:f32:100x100:axis=1,in=1x100", "x86-64-v4", "lanes=32" },
        { "cumsum:f16:100x100:axis=1,in=1x100", "x86-64-v3", "lanes=32" },
        { "cumsum:f16:100x100:axis=0", "x86-64-v3", "lanes=32" },
        { "cumsum:f16:9999:axis=0", "x86-64-v3", "lanes=32" },
        { "cumsum:f32:100x32:axis=1", "x86-64-v3", "unroll=8,block=128" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_plan plan;
        cr_expect_eq(plan_of(table[i].word, table[i].level, table[i].overrides, &plan, NULL),
                     TALLY_INVALID, "%s %s", table[i].word, table[i].overrides);
    }
}

struct text {
    char bytes[512];
    size_t length;
};

static int append(void *user, const char *bytes, size_t count)
{
    struct text *t = user;
    if (t->length + count >= sizeof t->bytes)
        return 1;
    memcpy(t->bytes + t->length, bytes, count);
    t->bytes[t->length += count] = '\0';
    return 0;
}

/* What is printed, given back, makes the same plan and prints the same. */
static void check_print(const char *word, const char *level, const char *overrides)
{
    tly_plan plan, again;
    tally_error error = TALLY_ERROR_INIT;
    struct text one = { .length = 0 }, two = { .length = 0 };
    cr_assert_eq(plan_of(word, level, overrides, &plan, &error), TALLY_OK, "%s %s: %s", word,
                 overrides, error.message);
    cr_assert_eq(tly_plan_print(&plan, append, &one), TALLY_OK);
    cr_assert_eq(plan_of(word, level, one.bytes, &again, &error), TALLY_OK, "%s%s", one.bytes,
                 error.message);
    cr_assert_eq(tly_plan_print(&again, append, &two), TALLY_OK);
    cr_expect_str_eq(one.bytes, two.bytes);
    cr_expect_eq(memcmp(&plan, &again, sizeof plan), 0, "%s", one.bytes);
}

Test(plan, a_printed_plan_makes_itself)
{
    static const struct {
        const char *word, *overrides;
    } table[] = {
        { "cumprod:f32:9999:axis=0", "" },
        { "cumprod:f32:9999:axis=0", "block=128" },
        { "cumprod:f32:9999:axis=0", "template=serial" },
        { "cumprod:bf16:9999:axis=0", "" },
        { "cumprod:bf16:9999:axis=0", "pairs=0,unroll=8" },
        { "cumprod:i64:9999:axis=0", "" },
        { "cumsum:f64:999x15:axis=0", "" },
        { "cumsum:f64:999x15:axis=0", "unroll=8,lanes=2" },
        { "cumsum:f16:1000x20:axis=1", "lanes=2" },
        { "cumsum:f16:1000x3:axis=1", "" },
        { "cumsum:f16:1000x3:axis=1", "template=short" },
        { "cumsum:f16:1000x3:axis=1", "template=rows,block=64,chunk=256" },
        { "cumsum:i32:64x2000:axis=0", "rows=8,lines=4" },
        { "cumsum:f32:100x100:axis=1,in=1x100", "lanes=2" },
    };
    static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64" };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (int l = 0; l < 4; l++)
            check_print(table[i].word, levels[l], table[i].overrides);
}

/* Forces `key`, whose value is `now`, to others; returns how many were taken. */
static int force(const char *word, const char *key, int now)
{
    const int values[] = { now * 2, now / 2, now + 1, 1 - now };
    int taken = 0;
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        char override[64], line[64];
        struct text t = { .length = 0 };
        tly_plan plan;
        snprintf(override, sizeof override, "%s=%d", key, values[k]);
        snprintf(line, sizeof line, "\n%s = %d\n", key, values[k]);
        if (values[k] == now || plan_of(word, "x86-64-v3", override, &plan, NULL) != TALLY_OK)
            continue;
        cr_assert_eq(tly_plan_print(&plan, append, &t), TALLY_OK);
        cr_expect_not_null(strstr(t.bytes, line), "%s: %s made %s", word, override, t.bytes);
        taken++;
    }
    return taken;
}

/* Every key that is printed can be forced to something else for some word, and then is that. */
Test(plan, an_override_shows)
{
    static const char *const words[] = {
        "cumprod:f32:9999:axis=0",   "cumprod:bf16:9999:axis=0",
        "cumsum:i32:9999:axis=0",    "cumsum:f64:999x15:axis=0",
        "cumsum:f16:1000x20:axis=1", "cumsum:i32:1000x3:axis=1",
        "cumsum:i32:64x2000:axis=0", "cumsum:f64:100x100:axis=1,in=1x100",
    };
    struct seen {
        char key[32];
        int taken;
    } seen[64] = { { "", 0 } };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        struct text t = { .length = 0 };
        tly_plan plan;
        char *save = NULL;
        cr_assert_eq(plan_of(words[i], "x86-64-v3", "", &plan, NULL), TALLY_OK);
        cr_assert_eq(tly_plan_print(&plan, append, &t), TALLY_OK);
        strtok_r(t.bytes, "\n", &save); /* the template */
        for (char *line; (line = strtok_r(NULL, "\n", &save)) != NULL;) {
            char key[32];
            int now, k = 0;
            cr_assert_eq(sscanf(line, "%31s = %d", key, &now), 2, "%s", line);
            while (*seen[k].key && strcmp(seen[k].key, key))
                k++;
            strcpy(seen[k].key, key);
            seen[k].taken += force(words[i], key, now);
        }
    }
    for (int k = 0; *seen[k].key; k++)
        cr_expect_gt(seen[k].taken, 0, "nothing can be forced for %s", seen[k].key);
}

/* No problem and no level has a choice beyond the template's limits. */
Test(plan, chooses_within_the_limits)
{
    static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64" };
    for (int i = 0; i < 2000; i++) {
        tly_random r = tly_random_seed(9, (uint64_t)i);
        tally_error error = TALLY_ERROR_INIT;
        tally_descriptor d;
        tly_problem p;
        tly_geometry g;
        tly_plan plan;
        tly_random_problem(&r, 100000, i % 2 ? TLY_DRAW_SCANS : TLY_DRAW_REDUCTIONS, &d);
        tly_canonicalise(&d, 0, &p, &g);
        for (int l = 0; l < 4; l++)
            cr_assert_eq(tly_plan_make(&p, tly_target_find(levels[l]), NULL, &plan, &error),
                         TALLY_OK, "%s: %s", levels[l], error.message);
    }
}

/* The lines name the keys that the template reads, and no other. */
Test(plan, prints_what_the_template_reads)
{
    static const struct {
        const char *word, *text;
    } table[] = {
        { "cumprod:f32:99:axis=0,order=serial",
          "template = serial\nunroll = 4\nsplit_bytes = 4194304\n" },
        { "cumprod:f32:1000x8:axis=1",
          "template = short\nlanes = 8\nblock = 2048\nprefetch = 2048\n"
          "split_bytes = 0\n" },
        { "sum:f32:99:order=serial",
          "template = reduce_rows\nlanes = 1\nunroll = 1\nrows = 1\nchunk = 0\nprefetch = 10240\n"
          "split_bytes = 0\n" },
        { "sum:f32:99x99:axes=0",
          "template = reduce_lanes\nlanes = 8\nrows = 8\ntile_lanes = 1024\nchunk = 32768\n"
          "split_bytes = 0\n" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct text t = { .length = 0 };
        tly_plan plan;
        cr_assert_eq(plan_of(table[i].word, "x86-64-v3", "", &plan, NULL), TALLY_OK);
        cr_assert_eq(tly_plan_print(&plan, append, &t), TALLY_OK);
        cr_expect_str_eq(t.bytes, table[i].text);
    }
}

/* Medium rows stand side by side where vectors are loaded in part, and short ones everywhere. */
Test(plan, rows_are_reduced_together)
{
    static const struct {
        const char *word, *level;
        int32_t rows, unroll;
    } table[] = {
        { "sum:f32:9x128:axes=1", "x86-64-v4", 16, 1 },
        { "sum:f32:9x129:axes=1", "x86-64-v4", 2, 1 },
        { "sum:f32:9x512:axes=1", "x86-64-v4", 2, 1 },
        { "sum:f32:9x512:axes=1,map=x*x", "x86-64-v4", 16, 1 },
        { "sum:f16:9x512:axes=1", "x86-64-v4", 16, 1 },
        { "sum:f32:9x513:axes=1", "x86-64-v4", 1, 8 },
        { "sum:f64:9x256:axes=1", "x86-64-v4", 2, 1 },
        { "sum:f64:9x257:axes=1", "x86-64-v4", 1, 8 },
        { "sum:f32:9x300:axes=1", "x86-64-v3", 4, 1 },
        { "sum:f16:9x300:axes=1", "x86-64-v3", 1, 8 },
        { "sum:f32:9x300:axes=1", "x86-64-v2", 1, 8 },
        { "sum:f32:9x100:axes=1", "x86-64-v2", 4, 1 },
        { "sum:f32:9x300:axes=1,order=serial", "x86-64-v4", 1, 1 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_plan plan;
        cr_assert_eq(plan_of(table[i].word, table[i].level, "", &plan, NULL), TALLY_OK);
        cr_expect(plan.rows_at_once == table[i].rows && plan.vectors == table[i].unroll,
                  "%s on %s: %d rows, %d vectors", table[i].word, table[i].level, plan.rows_at_once,
                  plan.vectors);
    }
}

/* What follows from a forced choice suits it. */
Test(plan, choices_follow_what_is_forced)
{
    tly_plan plan;
    cr_assert_eq(plan_of("cumsum:f64:999x15:axis=0", "x86-64-v3", "unroll=8", &plan, NULL),
                 TALLY_OK);
    cr_expect_eq(plan.block_elements % (plan.lanes * 8), 0);
    cr_expect_eq(plan.block_elements % 15, 0);
    cr_assert_eq(plan_of("cumsum:bf16:9999:axis=0", "x86-64-v3", "pairs=0", &plan, NULL), TALLY_OK);
    cr_expect_eq(plan.window_loads, 1);
    cr_assert_eq(plan_of("cumsum:f32:9999:axis=0", "x86-64-v2", "lanes=2,unroll=8", &plan, NULL),
                 TALLY_OK);
    cr_expect_eq(plan.block_elements, 256);
}

/* Nothing is computed in place of what is not known. */
Test(plan, refuses_by_name_what_is_not_made)
{
    static const struct {
        const char *word, *field, *message, *hint, *said;
    } table[] = {
        { "sum:i8:4", "dtype", "no kernels of sum exist from i8 to i8", "from i8 to i64 i32",
          "i8>i64" },
        { "cumlogsumexp:i32:4:axis=0", "dtype", "cumlogsumexp exist for i32", "f64 f32 f16 bf16",
          "" },
        { "cumsum:i16:4:axis=0", "dtype", "from i16 to i16", "from i16 to i64 i32", "i16>i64" },
        { "cumprod:bool:4:axis=0", "dtype", "from bool to bool", "from bool to i64", "bool>i64" },
        { "argmax:bool>f32:4", "dtype", "from bool to f32", "from bool to i64 i32 u64 u32",
          "bool>i64" },
        { "argmin:f32>i8:4", "dtype", "from f32 to i8", "from f32 to i64 i32 u64 u32", "f32>i64" },
        { "cumsum:f64>f32:4:axis=0", "dtype", "from f64 to f32", "from f64 to f64", "f64" },
        { "cumsum:i8>u32:4:axis=0", "dtype", "from i8 to u32", "from i8 to i64 i32", "i8>i64" },
        { "cummax:i8>i32:4:axis=0", "dtype", "from i8 to i32", "from i8 to i8", "i8" },
        { "mean:f16>f64:4", "dtype", "from f16 to f64", "from f16 to f32 f16", "f16" },
        { "mean:i8:4", "dtype", "from i8 to i8", "from i8 to f64 f32", "i8>f64" },
        { "mean:i8:4:post=y*2", "dtype", "from i8 to i8", "from i8 to f64 f32", "i8>f64" },
        { "l1:f16>f32:4", "dtype", "from f16 to f32", "from f16 to f16", "f16" },
        { "cumsum:bool>u64:4:axis=0", "dtype", "from bool to u64", "from bool to i64 i32 u32",
          "bool>i64" },
        { "cumsum:f32:4:axis=0,order=exact", "order", "order=exact", "order=serial", "" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_problem p = problem_of(table[i].word);
        tly_plan plan;
        tally_error e = TALLY_ERROR_INIT;
        tally_status s = tly_plan_make(&p, tly_target_find("x86-64-v3"), "", &plan, &e);
        cr_expect_eq(s, TALLY_UNSUPPORTED, "%s: %d", table[i].word, s);
        cr_expect_str_eq(e.field, table[i].field, "%s", table[i].word);
        cr_expect(strstr(e.message, table[i].message), "%s: %s", table[i].word, e.message);
        cr_expect(strstr(e.hint, table[i].hint), "%s: %s", table[i].word, e.hint);
        cr_expect(!strstr(e.hint, " word"), "%s: %s", table[i].word, e.hint);
        cr_expect_str_eq(e.word, table[i].said, "%s", table[i].word);
    }
}

Test(plan, refuses_an_operator_without_a_row)
{
    tly_problem p = problem_of("cumsum:f32:9999:axis=0");
    tly_plan plan;
    tally_error e = TALLY_ERROR_INIT;
    static const uint8_t ops[] = { TALLY_OP_COUNT, TLY_WIDE_MEAN };
    for (size_t i = 0; i < sizeof ops; i++) {
        p.op = ops[i];
        cr_expect_eq(tly_plan_make(&p, tly_target_find("x86-64-v3"), "", &plan, &e),
                     TALLY_UNSUPPORTED);
        cr_expect_str_eq(e.field, "op");
    }
    for (int op = 1; op < TALLY_OP_COUNT; op++)
        cr_expect_not_null(tly_operator_find(op), "%s", tally_op_name((tally_op)op));
}

/* Plans are made by the facts alone. */
Test(plan, facts_of_operators_are_those_of_their_functions)
{
    for (int k = 1; k <= TALLY_OP_COUNT; k++) {
        const int op = k < TALLY_OP_COUNT ? k : TLY_WIDE_MEAN;
        const tly_operator *facts = tly_operator_find(op);
        const tly_operator_code *code = tly_operator_code_find(op);
        const int converts = code->lift != NULL || code->project != NULL;
        cr_expect_eq(facts->converts, converts, "operator %d", op);
        cr_expect_eq(facts->applies, code->apply != NULL, "operator %d", op);
        cr_expect_eq(facts->takes, code->take != NULL, "operator %d", op);
    }
}

/* Vectors of 128 bits hold few lanes, and integer products take long: chains of scalars, or the way
 * of long rows. */
Test(plan, short_rows_go_by_what_a_level_has)
{
    static const struct {
        const char *word, *level;
        tly_template id;
    } table[] = {
        { "cumprod:f32:1000x33:axis=1", "x86-64-v2", TLY_TEMPLATE_SHORT },
        { "cumprod:f32:1000x48:axis=1", "aarch64", TLY_TEMPLATE_ROWS },
        { "cumprod:f32:1000x48:axis=1", "x86-64-v3", TLY_TEMPLATE_SHORT },
        { "cumprod:f32:1000x100:axis=1", "x86-64-v2", TLY_TEMPLATE_ROWS },
        { "cumprod:bf16:1000x100:axis=1", "x86-64-v2", TLY_TEMPLATE_SHORT },
        { "cumsum:f64:1000x33:axis=1", "x86-64-v2", TLY_TEMPLATE_SERIAL },
        { "cumsum:f64:1000x33:axis=1", "x86-64-v3", TLY_TEMPLATE_SHORT },
        { "cumsum:f64:1000x64:axis=1", "aarch64", TLY_TEMPLATE_ROWS },
        { "cumprod:i32:1000x16:axis=1", "x86-64-v4", TLY_TEMPLATE_SHORT },
        { "cumprod:i32:1000x17:axis=1", "x86-64-v4", TLY_TEMPLATE_SHORT },
        { "cumsum:i32:1000x17:axis=1", "x86-64-v4", TLY_TEMPLATE_SHORT },
        { "cumprod:u32:1000x100:axis=1", "x86-64-v4", TLY_TEMPLATE_SHORT },
        { "cumprod:i64:1000x5:axis=1", "x86-64-v3", TLY_TEMPLATE_SERIAL },
        { "cumprod:i64:1000x5:axis=1", "x86-64-v4", TLY_TEMPLATE_SHORT },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_plan plan;
        cr_assert_eq(plan_of(table[i].word, table[i].level, "", &plan, NULL), TALLY_OK);
        cr_expect_eq(plan.template_id, table[i].id, "%s, %s: %d", table[i].word, table[i].level,
                     plan.template_id);
    }
}
