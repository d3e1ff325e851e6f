/* codegen/plan: what is chosen for which problem, overrides and their refusals, the print. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../codegen/plan/plan.h"

static tly_problem problem_of(const char *word)
{
    tally_descriptor d = { .size = sizeof d };
    tly_problem p;
    tly_geometry g;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    tly_canonicalise(&d, &p, &g);
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
        { "cumprod:f32:1x1x3x4:axis=3", TLY_TEMPLATE_SERIAL },
        { "cumprod:f32:4096:axis=0,order=serial", TLY_TEMPLATE_SERIAL },
        { "cumsum:i32:64x100:axis=0", TLY_TEMPLATE_NARROW },
        { "cumsum:i32:64x100:axis=0,order=serial", TLY_TEMPLATE_NARROW },
        { "cumsum:i32:64x100:axis=0,in=101x1", TLY_TEMPLATE_COLUMNS },
        { "cumsum:i32:64x2000:axis=0", TLY_TEMPLATE_COLUMNS },
        { "cumsum:f32:1000x3:axis=0", TLY_TEMPLATE_ROWS },
        { "cumsum:f32:100x100:axis=1,in=1x100", TLY_TEMPLATE_TRANSPOSED },
        { "cumsum:f32:100:axis=0,in=7", TLY_TEMPLATE_ROWS },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_plan plan;
        cr_assert_eq(plan_of(table[i].word, "x86-64-v3", "", &plan, NULL), TALLY_OK);
        cr_expect_eq(plan.template_id, table[i].id, "%s: %s", table[i].word,
                     tly_template_name((tly_template)plan.template_id));
    }
}

Test(plan, follows_the_level_and_the_accumulator)
{
    static const struct {
        const char *word, *level;
        int32_t lanes;
    } table[] = {
        { "cumsum:f32:9999:axis=0", "x86-64-v2", 4 },  { "cumsum:f32:9999:axis=0", "x86-64-v3", 8 },
        { "cumsum:f32:9999:axis=0", "x86-64-v4", 16 }, { "cumsum:f16:9999:axis=0", "x86-64-v3", 8 },
        { "cumsum:f64:9999:axis=0", "x86-64-v3", 4 },
        { "cumsum:f16:9999:axis=0,acc=f64", "x86-64-v3", 4 },
        { "cumsum:i64:9999:axis=0", "aarch64", 2 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_plan plan;
        cr_assert_eq(plan_of(table[i].word, table[i].level, "", &plan, NULL), TALLY_OK);
        cr_expect_eq(plan.lanes, table[i].lanes, "%s %s", table[i].word, table[i].level);
        cr_expect_eq(plan.chunk % plan.block, 0);
    }
}

Test(plan, cuts_blocks_at_whole_units)
{
    static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64" };
    for (int unit = 2; unit <= TLY_MAX_UNIT; unit++)
        for (int l = 0; l < 4; l++) {
            tly_problem p = problem_of("cumsum:f64:1000x2:axis=0");
            tly_plan plan;
            p.unit = (uint8_t)unit;
            cr_assert_eq(tly_plan_make(&p, tly_target_find(levels[l]), "", &plan, NULL), TALLY_OK);
            cr_expect_eq(plan.block % unit, 0);
            cr_expect_eq(plan.block % (plan.lanes * plan.unroll), 0);
            cr_expect_eq(plan.chunk, 0);
        }
}

Test(plan, pairs_neighbours_and_leaves_slow_vectors)
{
    static const struct {
        const char *word, *level, *overrides;
        int pairs, scalar; /* pairs < 0: refused */
    } table[] = {
        { "cumsum:bf16:9999:axis=0", "x86-64-v3", "", 1, 0 },
        { "cumsum:bf16:9999:axis=0", "aarch64", "", 1, 0 },
        { "cumsum:bf16:9999:axis=0,reverse", "x86-64-v4", "", 1, 0 },
        { "cumsum:bf16:9999:axis=0", "x86-64-v3", "pairs=0", 0, 0 },
        { "cumsum:bf16:9999:axis=0,in=2", "x86-64-v3", "", 0, 0 },
        { "cumsum:bf16:9999:axis=0,acc=f64", "x86-64-v3", "", 0, 0 },
        { "cumsum:bf16:999x2:axis=0", "x86-64-v3", "", 0, 0 },
        { "cumsum:f16:9999:axis=0", "x86-64-v3", "", 0, 0 },
        { "cumsum:f16:9999:axis=0", "x86-64-v3", "pairs=1", -1, 0 },
        { "cumprod:i64:9999:axis=0", "x86-64-v3", "", 0, 1 },
        { "cumprod:u64:9999:axis=0", "x86-64-v2", "", 0, 1 },
        { "cumprod:i64:9999:axis=0", "x86-64-v4", "", 0, 0 },
        { "cumprod:i64:999x2:axis=0", "x86-64-v3", "", 0, 0 },
        { "cumsum:i64:9999:axis=0", "x86-64-v3", "", 0, 0 },
        { "cumprod:f64:9999:axis=0", "x86-64-v3", "scalar=1", -1, 0 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tly_plan plan = { .pairs = -1 };
        tally_status s = plan_of(table[i].word, table[i].level, table[i].overrides, &plan, NULL);
        cr_expect_eq(s, table[i].pairs < 0 ? TALLY_INVALID : TALLY_OK, "%s", table[i].word);
        cr_expect_eq(plan.pairs, table[i].pairs, "%s %s", table[i].word, table[i].level);
        cr_expect_eq(plan.scalar, table[i].scalar, "%s %s", table[i].word, table[i].level);
        if (s == TALLY_OK)
            cr_expect_eq(plan.block % (plan.lanes * plan.unroll << plan.pairs), 0);
    }
}

Test(plan, takes_overrides)
{
    tly_plan plan;
    cr_assert_eq(plan_of("cumsum:f32:9999:axis=0", "x86-64-v3", "unroll=4,prefetch=0,block=256",
                         &plan, NULL), TALLY_OK);
    cr_expect_eq(plan.unroll, 4);
    cr_expect_eq(plan.prefetch, 0);
    cr_expect_eq(plan.block, 256);
}

Test(plan, refuses_what_is_no_override)
{
    static const char *const wrong[] = {
        "unroll", "=4", "unroll=", "unroll=x", "unroll=3", "unroll=64", "colour=4", "lines=1",
        "block=100", "chunk=1000", "chunk=0", "unroll=4x", "unroll=4,,", "scalar=1", "pairs=1",
        "template=1",
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

/* What is printed can be given back, key by key. */
Test(plan, prints_what_overrides_take)
{
    tly_plan plan, again;
    struct text t = { .length = 0 };
    cr_assert_eq(plan_of("cumprod:f32:9999:axis=0", "x86-64-v3", "block=128", &plan, NULL),
                 TALLY_OK);
    cr_assert_eq(tly_plan_print(&plan, append, &t), TALLY_OK);
    cr_expect_eq(strncmp(t.bytes, "template = rows\n", 16), 0, "%s", t.bytes);
    cr_expect_not_null(strstr(t.bytes, "\nblock = 128\n"));
    char overrides[512] = "", *save = NULL;
    char *line = strtok_r(t.bytes + 16, "\n", &save);
    for (; line; line = strtok_r(NULL, "\n", &save)) {
        char key[32], value[32];
        cr_assert_eq(sscanf(line, "%31s = %31s", key, value), 2, "%s", line);
        if (!strcmp(key, "lanes") || !strcmp(key, "index_bits"))
            continue;
        strcat(strcat(strcat(overrides, *overrides ? "," : ""), key), "=");
        strcat(overrides, value);
    }
    cr_assert_eq(plan_of("cumprod:f32:9999:axis=0", "x86-64-v3", overrides, &again, NULL), TALLY_OK,
                 "%s", overrides);
    cr_expect_eq(memcmp(&plan, &again, sizeof plan), 0);
}
