/* SPDX-License-Identifier: Apache-2.0 */
/* Published examples: what others say that a scan or a reduction is. */
#include <criterion/criterion.h>

#include <string.h>

#include "cases.h"

typedef struct golden {
    const char *name;
    tly_case c;
} golden;

#define CASE(name, word, in, out) { name, { word, in, out } },

static const golden onnx[] = {
#include "data/onnx.def"
#include "data/onnx_reductions.def"
};

static const golden directml[] = {
#include "data/directml.def"
#include "data/directml_reductions.def"
};

#undef CASE

/* Words that compute what the case of this name does by expressions. */
static const struct {
    const char *name, *word;
} expanded[] = {
#define EXPANDED(name, word) { name, word },
#include "data/onnx_expanded.def"
#undef EXPANDED
};

enum { ONNX = sizeof onnx / sizeof onnx[0], EXPANDED = sizeof expanded / sizeof expanded[0] };

static void check(const golden *table, size_t count)
{
    tly_levels levels;
    char why[512];
    cr_assert(tly_levels_open(&levels, why, sizeof why) == 0, "%s", why);
    for (size_t k = 0; k < count; k++)
        cr_expect(tly_case_run(&levels, &table[k].c, why, sizeof why) == 0, "%s: %s", table[k].name,
                  why);
    tly_levels_close(&levels);
}

Test(golden, onnx)
{
    cr_assert(ONNX == 141);
    check(onnx, ONNX);
}

Test(golden, onnx_expanded)
{
    golden cases[EXPANDED] = { { 0 } };
    cr_assert(EXPANDED == 41);
    for (int k = 0; k < EXPANDED; k++) {
        int of = 0;
        while (of < ONNX && strcmp(onnx[of].name, expanded[k].name) != 0)
            of++;
        cr_assert(of < ONNX, "%s", expanded[k].name);
        cr_assert(strstr(expanded[k].word, "map=") || strstr(expanded[k].word, "post="));
        cases[k] = onnx[of];
        cases[k].c.word = expanded[k].word;
    }
    check(cases, EXPANDED);
}

Test(golden, directml)
{
    cr_assert(sizeof directml / sizeof directml[0] == 23);
    check(directml, sizeof directml / sizeof directml[0]);
}
