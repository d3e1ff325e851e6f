/* SPDX-License-Identifier: Apache-2.0 */
/* The canonical problem: its form by tables of words, which descriptors share one, and, by brute
 * force over random descriptors, that problem and geometry describe every element exactly. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tally.h>

#include "../runtime/problem/canonicalise.h"
#include "../runtime/problem/specialise.h"

#define ANY TLY_ANY_STEP

static tly_problem problem_of(const char *word, tly_geometry *g)
{
    tally_descriptor d;
    tally_error e = TALLY_ERROR_INIT;
    tly_problem p;
    cr_assert_eq(tally_descriptor_parse(word, &d, &e), TALLY_OK, "%s: %s", word, e.message);
    tly_canonicalise(&d, 0, &p, g);
    return p;
}

/* Rows: 0, dense 1, medium or a stream 2; lanes: their packing, one more where lines are whole. */
static int lies(const tly_problem *p)
{
    return p->form == TLY_ROWS ? p->rows.contiguous + p->rows.is_medium
                               : p->lanes.packing + p->lanes.lines;
}

/* A literal, or the power of two within: no problem has both. */
static int known(const tly_problem *p)
{
    return p->form == TLY_ROWS ? p->rows.length + p->rows.least : p->lanes.count + p->lanes.least;
}

Test(problem, forms)
{
    static const struct {
        const char *word;
        tly_form form;
        int in_step, out_step, unit, lies, known;
        int64_t inner, rows;
    } cases[] = {
        /* Rows: one, many, short, strided, reversed. */
        { "cumsum:f32:1000:axis=0", TLY_ROWS, 1, 1, 1, 1, 0, 1, 1 },
        { "cumsum:f32:10x1000:axis=1", TLY_ROWS, 1, 1, 1, 1, 0, 1, 10 },
        { "cumsum:f32:10x32:axis=1", TLY_ROWS, 1, 1, 1, 1, 32, 1, 10 },
        { "cumsum:f32:10x64:axis=1", TLY_ROWS, 1, 1, 1, 1, 64, 1, 10 },
        { "cumsum:f32:10x65:axis=1", TLY_ROWS, 1, 1, 1, 2, 0, 1, 10 },
        { "cumsum:f32:10x128:axis=1", TLY_ROWS, 1, 1, 1, 1, 128, 1, 10 },
        { "cumsum:f32:10x128:axis=1,order=serial", TLY_ROWS, 1, 1, 1, 1, 0, 1, 10 },
        { "cumsum:f32:10x128:axis=1,in=129x1", TLY_ROWS, 1, 1, 1, 0, 0, 1, 10 },
        { "cumsum:f32:10x255:axis=1,reverse", TLY_ROWS, -1, -1, 1, 2, 0, 1, 10 },
        { "cumsum:f32:10x257:axis=1", TLY_ROWS, 1, 1, 1, 1, 0, 1, 10 },
        { "cumsum:f32:65:axis=0,order=serial", TLY_ROWS, 1, 1, 1, 1, 0, 1, 1 },
        { "cumsum:f32:10x65:axis=1,in=66x1", TLY_ROWS, 1, 1, 1, 0, 0, 1, 10 },
        { "cumsum:f32:2x5x7:axis=2", TLY_ROWS, 1, 1, 1, 1, 7, 1, 10 },
        { "cumsum:f32:10x7:axis=1,reverse", TLY_ROWS, -1, -1, 1, 1, 7, 1, 10 },
        { "cumsum:f32:10x7:axis=1,in=-7x-1@69,out=-7x-1@69", TLY_ROWS, -1, -1, 1, 1, 7, 1, 10 },
        { "cumsum:f32:10x7:axis=1,in=-7x-1@69", TLY_ROWS, -1, 1, 1, 0, 4, 1, 10 },
        { "cumsum:f32:10x7:axis=1,in=8x1", TLY_ROWS, 1, 1, 1, 0, 4, 1, 10 },
        { "cumsum:f32:10x7:axis=1,out=8x1", TLY_ROWS, 1, 1, 1, 0, 4, 1, 10 },
        { "cumsum:f32:10x7:axis=1,in=0x1", TLY_ROWS, 1, 1, 1, 0, 4, 1, 10 },
        { "cumsum:f32:10x7:axis=1,in=1x0", TLY_ROWS, 0, 1, 1, 0, 4, 1, 10 },
        { "cumsum:f32:10x7:axis=1,in=14x2", TLY_ROWS, 2, 1, 1, 0, 4, 1, 10 },
        { "cumsum:f32:10x7:axis=1,in=14x-2@20", TLY_ROWS, -2, 1, 1, 0, 4, 1, 10 },
        { "cumsum:f32:10x7:axis=1,in=21x3", TLY_ROWS, 3, 1, 1, 0, 4, 1, 10 },
        { "cumsum:f32:10x7:axis=1,in=14x2,out=14x2", TLY_ROWS, 2, ANY, 1, 0, 4, 1, 10 },
        { "cumsum:f32:7x10:axis=0,in=1x7,out=1x7", TLY_ROWS, 1, 1, 1, 1, 7, 1, 10 },
        { "cumsum:f32:9:axis=0,in=-1@8", TLY_ROWS, -1, 1, 1, 0, 0, 1, 1 },
        /* Columns. */
        { "cumsum:f32:10x16:axis=0", TLY_COLUMNS, 1, 1, 1, 1, 16, 16, 1 },
        { "cumsum:f32:3x10x16:axis=1,reverse", TLY_COLUMNS, 1, 1, 1, 2, 16, 16, 3 },
        { "cumsum:f32:10x4x5:axis=0", TLY_COLUMNS, 1, 1, 1, 1, 20, 20, 1 },
        { "cumsum:f32:10x80:axis=0", TLY_COLUMNS, 1, 1, 1, 1, 80, 80, 1 },
        { "cumsum:f64:10x65:axis=0", TLY_COLUMNS, 1, 1, 1, 1, 0, 65, 1 },
        { "cumsum:f16:10x80:axis=0,exclusive", TLY_COLUMNS, 1, 1, 1, 1, 80, 80, 1 },
        { "cumsum:f32:10x496:axis=0", TLY_COLUMNS, 1, 1, 1, 1, 0, 496, 1 },
        { "cumsum:f32:10x512:axis=0", TLY_COLUMNS, 1, 1, 1, 0, 0, 512, 1 },
        { "cumsum:f32:10x1023:axis=0", TLY_COLUMNS, 1, 1, 1, 1, 0, 1023, 1 },
        { "cumsum:f32:10x1024:axis=0", TLY_COLUMNS, 1, 1, 1, 0, 0, 1024, 1 },
        { "cumsum:f32:10x1025:axis=0", TLY_COLUMNS, 1, 1, 1, 0, 0, 1025, 1 },
        { "cumsum:f32:9x16:axis=0,in=-16x1@128,out=-16x1@128", TLY_COLUMNS, 1, 1, 1, 2, 16, 16, 1 },
        { "cumsum:f32:10x16:axis=0,in=-16x1@144", TLY_COLUMNS, 1, 1, 1, 0, 0, 16, 1 },
        { "cumsum:f32:10x16:axis=0,in=16x-1@15,out=16x-1@15", TLY_COLUMNS, 1, 1, 1, 1, 16, 16, 1 },
        { "cumsum:f32:1x16:axis=0,in=17x1", TLY_ROWS, 1, 1, 1, 1, 1, 1, 16 },
        { "cumsum:f32:10x4:axis=0,in=5x1", TLY_COLUMNS, 1, 1, 1, 0, 4, 4, 1 },
        { "cumsum:f32:10x4:axis=0,out=5x1", TLY_COLUMNS, 1, 1, 1, 0, 4, 4, 1 },
        { "cumsum:f32:10x4:axis=0,in=8x2", TLY_COLUMNS, 2, 1, 1, 0, 4, 4, 1 },
        { "cumsum:f32:10x4:axis=0,in=9x3", TLY_COLUMNS, 3, 1, 1, 0, 4, 4, 1 },
        { "cumsum:f32:40x10x16:axis=1,in=10x1x400", TLY_COLUMNS, ANY, 1, 1, 3, 0, 16, 40 },
        { "cumsum:f32:40x10x16:axis=1,in=10x1x400,reverse", TLY_COLUMNS, ANY, 1, 1, 4, 0, 16, 40 },
        { "cumsum:f32:10x4:axis=0,in=1x0", TLY_COLUMNS, 0, 1, 1, 0, 4, 4, 1 },
        { "cumsum:f32:10x4:axis=0,out=8x2", TLY_COLUMNS, 1, ANY, 1, 0, 4, 4, 1 },
        { "cumsum:f32:10x4:axis=0,in=4x-1@3", TLY_COLUMNS, -1, 1, 1, 0, 4, 4, 1 },
        { "cumsum:f32:10x20:axis=1,out=1x10", TLY_COLUMNS, ANY, 1, 1, 3, 8, 10, 1 },
        /* A packed block of axis and few lanes is one stream. */
        { "cumsum:f32:10x4:axis=0", TLY_ROWS, 1, 1, 4, 2, 0, 1, 1 },
        { "cumsum:f32:10x15:axis=0", TLY_ROWS, 1, 1, 15, 2, 0, 1, 1 },
        { "cumsum:f32:1000x4:axis=0", TLY_ROWS, 1, 1, 4, 1, 0, 1, 1 },
        { "cumsum:f32:6x10x3:axis=1", TLY_ROWS, 1, 1, 3, 2, 0, 1, 6 },
        { "cumsum:f32:6x10x3:axis=1,reverse", TLY_ROWS, -1, -1, 3, 2, 0, 1, 6 },
        { "cumsum:f32:6x10x3:axis=1,in=40x3x1", TLY_ROWS, 1, 1, 3, 0, 0, 1, 6 },
        { "cumsum:f32:10x4:axis=0,in=4x-1@3,out=4x-1@3", TLY_ROWS, 1, 1, 4, 2, 0, 1, 1 },
        { "cumsum:f32:10x4:axis=0,order=serial", TLY_COLUMNS, 1, 1, 1, 0, 4, 4, 1 },
        { "cumsum:f32:10x4:axis=0,order=exact", TLY_ROWS, 1, 1, 4, 2, 0, 1, 1 },
        /* Transposed inputs. */
        { "cumsum:f32:8x6:axis=1,in=1x8", TLY_TRANSPOSED, 1, 1, 1, 0, 4, 8, 1 },
        { "cumsum:f32:3x8x6:axis=2,in=48x1x8", TLY_TRANSPOSED, 1, 1, 1, 0, 4, 8, 3 },
        { "cumsum:f32:7x6:axis=1,in=1x7", TLY_ROWS, ANY, 1, 1, 0, 4, 1, 7 },
        { "cumsum:f32:8x6:axis=1,in=1x-8@40", TLY_TRANSPOSED, 1, 1, 1, 0, 4, 8, 1 },
        { "cumsum:f32:8x6:axis=1,in=1x8,reverse", TLY_TRANSPOSED, 1, 1, 1, 4, 4, 8, 1 },
        { "cumsum:f32:8x6:axis=1,in=1x8,out=12x2", TLY_ROWS, ANY, ANY, 1, 0, 4, 1, 8 },
        { "cumsum:f32:100x31:axis=1,in=1x100", TLY_TRANSPOSED, 1, 1, 1, 0, 16, 100, 1 },
        { "cumsum:f32:100x32:axis=1,in=1x100", TLY_TRANSPOSED, 1, 1, 1, 0, 0, 100, 1 },
        /* One element along the axis. */
        { "cumsum:f32:1:axis=0", TLY_ROWS, 1, 1, 1, 1, 1, 1, 1 },
        { "cumsum:f32:1:axis=0,in=-5@3,out=9@2,reverse", TLY_ROWS, 1, 1, 1, 1, 1, 1, 1 },
        { "cumsum:f32:20x1:axis=1", TLY_ROWS, 1, 1, 1, 1, 1, 1, 20 },
        { "cumsum:f32:20x1x3:axis=1", TLY_ROWS, 1, 1, 1, 1, 1, 1, 60 },
        { "cumsum:f32:20x1:axis=1,in=2x9", TLY_COLUMNS, 2, 1, 1, 0, 0, 20, 1 },
        /* Nothing. */
        { "cumsum:f32:0:axis=0", TLY_ROWS, 1, 1, 1, 1, 0, 0, 0 },
        { "cumsum:f32:5x0x3:axis=0,in=1x1x2", TLY_ROWS, 1, 1, 1, 1, 0, 0, 0 },
        { "cumsum:i8:0:axis=0,in=1@-9223372036854775808", TLY_ROWS, 1, 1, 1, 1, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *word = cases[i].word;
        tly_geometry g;
        tly_problem p = problem_of(word, &g);
        cr_expect_eq(p.form, cases[i].form, "%s: form %d", word, p.form);
        cr_expect_eq(p.tensor[TLY_IN].step, cases[i].in_step, "%s: in_step %d", word,
                     p.tensor[TLY_IN].step);
        cr_expect_eq(p.tensor[TLY_OUT].step, cases[i].out_step, "%s: out_step %d", word,
                     p.tensor[TLY_OUT].step);
        cr_expect_eq(p.interleave, cases[i].unit, "%s: unit %d", word, p.interleave);
        cr_expect_eq(lies(&p), cases[i].lies, "%s: lies %d", word, lies(&p));
        cr_expect_eq(known(&p), cases[i].known, "%s: known %d", word, known(&p));
        cr_expect_eq(g.inner, cases[i].inner, "%s: inner %d", word, (int)g.inner);
        cr_expect_eq(g.rows, cases[i].rows, "%s: rows %d", word, (int)g.rows);
    }
}

/* Pairs of one problem; where `geometry`, of one geometry too. */
/* Reductions: which dim becomes lanes, and what is left of the reduced ones. */
Test(problem, forms_of_reductions)
{
    static const struct {
        const char *word;
        tly_form form;
        int in_step, out_step;
        int64_t length, steps, inner, rows;
    } cases[] = {
        { "sum:f32:1000", TLY_REDUCED_ROWS, 1, 1, 1000, 1, 1, 1 },
        { "sum:f32:scalar", TLY_REDUCED_ROWS, 1, 1, 1, 1, 1, 1 },
        { "sum:f32:1x1:axes=none", TLY_REDUCED_ROWS, 1, 1, 1, 1, 1, 1 },
        { "sum:f32:10x20", TLY_REDUCED_ROWS, 1, 1, 200, 1, 1, 1 },
        { "sum:f32:10x20:in=1x10", TLY_REDUCED_ROWS, 1, 1, 200, 1, 1, 1 },
        { "sum:f32:10x20:in=-20x-1@199", TLY_REDUCED_ROWS, 1, 1, 200, 1, 1, 1 },
        { "sum:f32:10x20:in=30x1", TLY_REDUCED_ROWS, 1, 1, 20, 10, 1, 1 },
        { "sum:f32:10x20:in=40x2", TLY_REDUCED_ROWS, 2, 1, 200, 1, 1, 1 },
        { "sum:f32:10x20:axes=1", TLY_REDUCED_ROWS, 1, 1, 20, 1, 1, 10 },
        { "sum:f32:10x20:axes=1,in=0x1", TLY_REDUCED_ROWS, 1, 1, 20, 1, 1, 10 },
        { "sum:f32:10x20:axes=1,out=-3@27", TLY_REDUCED_ROWS, 1, 1, 20, 1, 1, 10 },
        { "sum:f32:10x20x30:axes=0+2", TLY_REDUCED_ROWS, 1, 1, 30, 10, 1, 20 },
        { "sum:f32:10x64x3:axes=0+2", TLY_REDUCED_LANES, 3, 1, 10, 3, 64, 1 },
        { "argmax:f32:10x64x3:axes=0+2", TLY_REDUCED_LANES, 3, 1, 3, 10, 64, 1 },
        { "sum:f32:10x63x3:axes=0+2", TLY_REDUCED_ROWS, 1, 1, 3, 10, 1, 63 },
        { "sum:f32:10x64x8:axes=0+2", TLY_REDUCED_ROWS, 1, 1, 8, 10, 1, 64 },
        { "sum:f32:10x20x30x40:axes=1+2", TLY_REDUCED_LANES, 1, 1, 600, 1, 40, 10 },
        { "sum:f32:10x20x30x40:axes=0+2", TLY_REDUCED_LANES, 1, 1, 30, 10, 40, 20 },
        { "sum:f32:10x20:axes=0", TLY_REDUCED_LANES, 1, 1, 10, 1, 20, 1 },
        { "sum:f32:10x20:axes=0,out=2", TLY_REDUCED_LANES, 1, ANY, 10, 1, 20, 1 },
        { "sum:f32:10x20:axes=1,in=1x10", TLY_REDUCED_LANES, 1, 1, 20, 1, 10, 1 },
        { "sum:f32:10x20:axes=none", TLY_REDUCED_LANES, 1, 1, 1, 1, 200, 1 },
        { "sum:f32:10x20:axes=none,in=40x2", TLY_REDUCED_LANES, 2, 1, 1, 1, 200, 1 },
        /* Nothing lies side by side: lanes are what is nearest, unless it is few and rows are long,
         * or rows are nearer. */
        { "sum:f32:10x20:axes=0,in=100x5", TLY_REDUCED_LANES, ANY, 1, 10, 1, 20, 1 },
        { "sum:f32:10x20:axes=0,in=100x0", TLY_REDUCED_LANES, 0, 1, 10, 1, 20, 1 },
        { "sum:f32:10x20:axes=0,in=-40x-2@399", TLY_REDUCED_LANES, ANY, 1, 10, 1, 20, 1 },
        { "sum:f32:10x20:axes=0,in=20x-1@19", TLY_REDUCED_LANES, -1, 1, 10, 1, 20, 1 },
        { "sum:f32:10x15:axes=0,in=100x5", TLY_REDUCED_ROWS, ANY, 1, 10, 1, 1, 15 },
        { "sum:f32:20x64:axes=1,in=200x3", TLY_REDUCED_LANES, ANY, 1, 64, 1, 20, 1 },
        { "sum:f32:20x65:axes=1,in=200x3", TLY_REDUCED_ROWS, 3, 1, 65, 1, 1, 20 },
        { "sum:f32:20x65:axes=1,in=3x200", TLY_REDUCED_LANES, 3, 1, 65, 1, 20, 1 },
        { "sum:f32:20x20x65:axes=1,in=9000x400x6", TLY_REDUCED_LANES, ANY, 1, 20, 1, 65, 20 },
        /* What counts elements keeps their order. */
        { "argmax:f32:10x20", TLY_REDUCED_ROWS, 1, 1, 200, 1, 1, 1 },
        { "argmax:f32:10x20:in=1x10", TLY_REDUCED_ROWS, ANY, 1, 20, 10, 1, 1 },
        { "argmax:f32:20:in=-1@19", TLY_REDUCED_ROWS, -1, 1, 20, 1, 1, 1 },
        { "sum:f32:10x20:in=1x10,order=serial", TLY_REDUCED_ROWS, ANY, 1, 20, 10, 1, 1 },
        /* Nothing to combine. */
        { "sum:f32:0", TLY_REDUCED_ROWS, 1, 1, 0, 1, 1, 1 },
        { "sum:f32:5x0:axes=1", TLY_REDUCED_LANES, 1, 1, 0, 1, 5, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *word = cases[i].word;
        tly_geometry g;
        tly_problem p = problem_of(word, &g);
        cr_expect_eq(p.form, cases[i].form, "%s: form %d", word, p.form);
        cr_expect_eq(p.tensor[TLY_IN].step, cases[i].in_step, "%s: in_step %d", word,
                     p.tensor[TLY_IN].step);
        cr_expect_eq(p.tensor[TLY_OUT].step, cases[i].out_step, "%s: out_step %d", word,
                     p.tensor[TLY_OUT].step);
        cr_expect_eq(g.length, cases[i].length, "%s: length %d", word, (int)g.length);
        cr_expect_eq(g.steps, cases[i].steps, "%s: steps %d", word, (int)g.steps);
        cr_expect_eq(g.inner, cases[i].inner, "%s: inner %d", word, (int)g.inner);
        cr_expect_eq(g.rows, cases[i].rows, "%s: rows %d", word, (int)g.rows);
        cr_expect(!g.empty, "%s", word);
    }
}

Test(problem, equal_problems)
{
    static const struct {
        const char *a, *b;
        int geometry;
    } pairs[] = {
        { "cumsum:f32:3x80:axis=1", "cumsum:f32:700x100:axis=1", 0 },
        { "cumsum:f32:3x80:axis=1", "cumsum:f32:80:axis=0,in=1@9", 0 },
        { "cumsum:f32:3x80:axis=1", "cumsum:f32:1x3x1x80x1:axis=3", 1 },
        { "cumsum:f32:3x80:axis=1", "cumsum:f32:1x3x1x80x1:axis=3,in=7x80x9x1x-5", 1 },
        { "cumsum:f32:6x40:axis=1", "cumsum:f32:2x3x40:axis=2", 1 },
        { "cumsum:f32:6x40:axis=1", "cumsum:f32:3x2x40:axis=2,in=40x120x1,out=40x120x1", 1 },
        { "cumsum:f32:6x40:axis=1", "cumsum:f32:40x6:axis=0,in=1x40,out=1x40", 1 },
        { "cumsum:f32:6x40:axis=1", "cumsum:f32:6x40:axis=1,in=-40x1@200,out=-40x1@200", 1 },
        { "cumsum:f32:6x40:axis=1", "cumsum:f32>f32:6x40:axis=-1,in=40x1", 1 },
        { "cumsum:f32:6x40:axis=1,reverse", "cumsum:f32:6x40:axis=1,in=40x-1@39,out=40x-1@39", 1 },
        { "cumsum:f32:6x40:axis=1", "cumsum:f32:6x40:axis=1,in=40x-1@39,out=40x-1@39,reverse", 1 },
        { "cumsum:f32:40x20:axis=0", "cumsum:f32:30x20:axis=0", 0 },
        { "cumsum:f32:40x20:axis=0", "cumsum:f32:9x4000x20:axis=1", 0 },
        { "cumsum:f32:40x150:axis=0", "cumsum:f32:9x400x199:axis=1", 0 },
        { "cumsum:f32:40x20:axis=0", "cumsum:f32:9x40x20:axis=1", -1 }, /* short slices */
        { "cumsum:f32:9x40x20:axis=1", "cumsum:f32:7x50x20:axis=1", 0 },
        { "cumsum:f32:9x40x20:axis=1", "cumsum:f32:7x50x20:axis=1,out=1001x20x1", -1 },
        { "cumsum:f32:40x2000:axis=0", "cumsum:f32:40x2000:axis=0,reverse", 0 },
        { "cumsum:f32:40x2000:axis=0", "cumsum:f32:9x40x3000:axis=1", 0 },
        { "cumsum:f32:40x2000:axis=0", "cumsum:f32:40x2000:axis=0,in=9999x1", 0 },
        { "cumsum:f32:40x20:axis=0", "cumsum:f32:20x40:axis=1,in=1x20,out=1x20", 1 },
        { "cumsum:f32:40x5:axis=0", "cumsum:f32:7x30x5:axis=1", 0 },
        { "cumsum:f32:40x1:axis=0", "cumsum:f32:40x1:axis=0,acc=f64,in=1x77", -1 },
        { "cumsum:f64:40:axis=0,acc=f64", "cumsum:f64:40:axis=0", 1 },
        { "cumsum:f32:5x1:axis=1,reverse", "cumsum:f32:5x1:axis=1,in=1x-7", 1 },
        { "cumsum:f32:0x5:axis=1", "cumsum:f32:5x0:axis=0,in=3x4,reverse", 1 },
        { "cumsum:f32:6x40:axis=1,every=8", "cumsum:f32:6x5x8:axis=2", 1 },
        { "cumsum:f32:6x40:axis=1,every=8,reverse", "cumsum:f32:6x5x8:axis=2,reverse", 1 },
        { "cumsum:f32:40x6:axis=0,every=8,carry=in", "cumsum:f32:5x8x6:axis=1,carry=in", 1 },
        { "cumprod:f32:6x40:axis=1,every=40", "cumprod:f32:6x40:axis=1", 1 },
        { "cumprod:f32:6x40:axis=1,every=99", "cumprod:f32:6x40:axis=1", 1 },
        { "cumsum:f32:40:axis=0,every=1,a,map=a*x", "cumsum:f32:40x1:axis=1,a,map=a*x", 1 },
        { "cumsum:f32:6x40:axis=1,every=8,carry=out", "cumsum:f32:6x5x8:axis=2,carry=out", 1 },
        { "cumsum:f32:0:axis=0,every=8,carry=out", "cumsum:f32:0x8:axis=1,carry=out", 0 },
        { "sum:f32:6x40:axes=1,every=8", "sum:f32:6x5x8:axes=2", 1 },
        { "prod:f32:40x6:axes=0,every=8", "prod:f32:5x8x6:axes=1", 1 },
        { "sum:f32:6x40:axes=1,every=50", "sum:f32:6x40:axes=1", 1 },
        { "sum:f32:40", "sum:f32:8x5", 1 },
        { "sum:f32:40", "sum:f32:40:keepdims", 1 },
        { "sum:f32:40", "sum:f32:90x80:axes=1", 0 },
        { "sum:f32:4000", "sum:f32:7x7x8:axes=0+2", 0 },
        { "sum:f32:9x40x20:axes=1", "sum:f32:7x30x25:axes=1", 0 }, /* short slices */
        { "sum:f32:9x40x20:axes=1", "sum:f32:7x30x25:axes=1,in=9999x25x1", 0 },
        { "sum:f32:9x40x20:axes=1", "sum:f32:3x40x20:axes=1", -1 },
        { "sum:f32:9x40x20:axes=1", "sum:f32:9x600x20:axes=1", -1 },
        { "sum:f32:9x4x3:axes=1", "sum:f32:7x9x3:axes=1", 0 },
        { "sum:f32:9x4x3:axes=1", "sum:f32:9x4x5:axes=1", -1 },
        { "sum:f32:9x4x3:axes=1", "sum:f32:9x4x3:axes=1,in=20x3x1", -1 },
        { "log_sum_exp:f32:9x40x20:axes=1", "log_sum_exp:f32:2x40x20:axes=1", 0 },
        { "sum:f32:129", "sum:f32:4x512:axes=1", 0 },
        { "sum:f32:7x32x40:axes=0+2", "sum:f32:4096x50x128:axes=0+2", 0 },
        { "sum:f32:7x32x40:axes=0+2", "sum:f32:7x31x40:axes=0+2", -1 },
        { "sum:f32:7x32x16:axes=0+2", "sum:f32:9999x8x16:axes=0+2", 0 },
        { "sum:f32:7x32x16:axes=0+2", "sum:f32:9999x7x16:axes=0+2", -1 },
        { "sum:f32:7x32x16:axes=0+2", "sum:f32:9999x8x17:axes=0+2", -1 },
        { "sum:f32:7x32x40:axes=0+2", "sum:f32:4097x32x40:axes=0+2", -1 },
        { "sum:f32:7x32x40:axes=0+2", "sum:f32:32x40:axes=1", -1 },
        { "sum:f32:7x32x40:axes=0+2", "sum:f32:7x32x129:axes=0+2", -1 },
        { "argmax:f32:7x32x129:axes=0+2", "argmax:f32:4000", 0 },
        { "sum:f32:128", "sum:f32:129", -1 },
        { "sum:f32:512", "sum:f32:513", -1 },
        { "sum:f64:256", "sum:f64:257", -1 },
        { "sum:f32:40", "sum:f32:40:in=-1@39", 1 },
        { "max:f32:4x5:axes=0", "max:f32:5x4:axes=1,in=1x5", 1 },
        { "argmax:f32:40", "argmax:f32>i64:2x20", 1 },
        { "argmax:f32:40", "argmax:f32:40:in=-1@39", -1 },
        { "argmax:f32:40", "argmax:f32:40:last", -1 },
        { "max:f32:40", "max:f32:40:nan=ignore", -1 },
        { "max:f32:40", "min:f32:40", -1 },
        { "sum:f32:40", "sum:f32:40:order=serial", -1 },
        { "sum:f32:40", "sum:f32>f64:40", -1 },
        { "sum:f32:40", "cumsum:f32:40:axis=0", -1 },
        { "sum:f32:4x5:axes=0", "sum:f32:4x5:axes=1", -1 },
        /* Different problems. */
        { "cumsum:f32:40:axis=0", "cumprod:f32:40:axis=0", -1 },
        { "cumsum:f32:40:axis=0", "cumsum:f64:40:axis=0", -1 },
        { "cumsum:f32:40:axis=0", "cumsum:f32>f64:40:axis=0", -1 },
        { "cumsum:f32:40:axis=0", "cumsum:f32:40:axis=0,exclusive", -1 },
        { "cumsum:f32:40:axis=0", "cumsum:f32:40:axis=0,reverse", -1 },
        { "cumsum:f32:40:axis=0", "cumsum:f32:40:axis=0,order=serial", -1 },
        { "cumsum:f32:40:axis=0", "cumsum:f32:30:axis=0", -1 },
        { "cumsum:f32:40:axis=0", "cumsum:f32:40:axis=0,in=2", -1 },
        { "cumsum:f32:40x20:axis=0", "cumsum:f32:40x20:axis=0,reverse", -1 },
        { "cumsum:f32:40x20:axis=0", "cumsum:f32:40x21:axis=0", -1 },
        { "cumsum:f32:40x20:axis=0", "cumsum:f32:40x20:axis=0,in=99x1", -1 },
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        tly_geometry ga, gb;
        tly_problem a = problem_of(pairs[i].a, &ga);
        tly_problem b = problem_of(pairs[i].b, &gb);
        int equal = memcmp(&a, &b, sizeof a) == 0;
        cr_expect_eq(equal, pairs[i].geometry >= 0, "%s and %s", pairs[i].a, pairs[i].b);
        if (pairs[i].geometry == 1) {
            /* The extents of a dim of size 1 with any stride are the same, too. */
            cr_expect_eq(memcmp(&ga, &gb, sizeof ga), 0, "geometry of %s and %s", pairs[i].a,
                         pairs[i].b);
        }
    }
    cr_expect_eq(TLY_FACT_BYTES, 32u, "padding would be compared");
}

static uint64_t lcg;

Test(problem, one_kernel_for_integers_of_either_sign)
{
    static const struct {
        const char *a, *b;
        int same;
    } cases[] = {
        { "cumsum:i32:9x100:axis=1", "cumsum:u32:9x100:axis=1", 1 },
        { "cumprod:u64:9x100:axis=0,exclusive", "cumprod:i64:9x100:axis=0,exclusive", 1 },
        { "sum:u32:9x100:axes=1", "sum:i32:9x100:axes=1", 1 },
        { "prod:u64:9x100:axes=0", "prod:i64:9x100:axes=0", 1 },
        { "sum_square:u32:100", "sum_square:i32:100", 1 },
        { "argmax:f32>u32:100", "argmax:f32>i32:100", 1 },
        { "argmin:u32>u64:100", "argmin:u32>i64:100", 1 },
        { "argmin:u32>u64:100", "argmin:i32>u64:100", 0 }, /* compared with a sign or without */
        { "max:u32:100", "max:i32:100", 0 },
        { "cummin:u64:100:axis=0", "cummin:i64:100:axis=0", 0 },
        { "cumsum:u32>u64:100:axis=0", "cumsum:i32>i64:100:axis=0", 0 }, /* a sign is widened */
        { "sum:u16>u32:100", "sum:i16>i32:100", 0 },
        { "l1:u32:100", "l1:i32:100", 0 },
        { "mean:u64:100", "mean:i64:100", 0 },
        { "cumsum:i64:9:axis=0", "cumsum:i32:9:axis=0", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tly_geometry g, h;
        tly_problem p = problem_of(cases[i].a, &g), q = problem_of(cases[i].b, &h);
        cr_expect_eq(memcmp(&p, &q, sizeof p) == 0, cases[i].same, "%s, %s", cases[i].a,
                     cases[i].b);
    }
}

static int64_t below(int64_t n)
{
    lcg = lcg * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((lcg >> 33) % (uint64_t)n);
}

/* Strides of a tensor that is packed in a random order of dims, sometimes with gaps or signs. */
static void random_strides(tally_descriptor *d, int64_t *strides, int64_t *offset)
{
    int32_t order[TALLY_MAX_RANK];
    int shuffle = below(2) == 0;
    int gaps = below(4) == 0;
    int signs = below(3) == 0;
    for (int32_t i = 0; i < d->rank; i++) {
        int32_t at = shuffle ? (int32_t)below(i + 1) : i;
        order[i] = order[at];
        order[at] = i;
    }
    int64_t step = gaps ? 1 + below(3) : 1;
    *offset = below(3) == 0 ? below(100) - 50 : 0;
    for (int32_t i = d->rank - 1; i >= 0; i--) {
        int32_t dim = order[i];
        strides[dim] = step;
        step = step * (d->sizes[dim] > 0 ? d->sizes[dim] : 1) + (gaps ? below(3) : 0);
        if (signs && below(2) == 0) {
            *offset += (d->sizes[dim] - 1) * strides[dim];
            strides[dim] = -strides[dim];
        }
    }
}

static tally_descriptor random_descriptor(void)
{
    static const int64_t sizes[] = { 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 16, 33, 0 };
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    d.op = TALLY_CUMSUM;
    d.dtype = TALLY_F32;
    d.rank = (int32_t)(1 + below(5));
    d.axis = (int32_t)below(d.rank);
    d.order = below(4) == 0 ? TALLY_ORDER_SERIAL : TALLY_ORDER_RUN;
    d.flags = below(2) == 0 ? TALLY_REVERSE : 0;
    for (int64_t i = 0, total = 1; i < d.rank; i++) {
        int64_t size = sizes[below(below(8) == 0 ? 13 : 12)];
        d.sizes[i] = total * size <= 4000 ? size : 1;
        total *= d.sizes[i] > 0 ? d.sizes[i] : 1;
    }
    if (below(4) != 0) {
        d.flags |= TALLY_OUT_STRIDES;
        random_strides(&d, d.out_strides, &d.out_offset);
    }
    switch (below(5)) {
    case 0:
        break;
    case 4: /* Fortran order */
        d.flags |= TALLY_IN_STRIDES;
        for (int64_t i = 0, step = 1; i < d.rank; i++) {
            d.in_strides[i] = step;
            step *= d.sizes[i] > 0 ? d.sizes[i] : 1;
        }
        break;
    case 1: /* as the output, where that has strides */
        d.flags |= d.flags & TALLY_OUT_STRIDES ? TALLY_IN_STRIDES : 0;
        memcpy(d.in_strides, d.out_strides, sizeof d.in_strides);
        d.in_offset = d.out_offset;
        break;
    case 2:
        d.flags |= TALLY_IN_STRIDES;
        random_strides(&d, d.in_strides, &d.in_offset);
        break;
    default: /* anything, elements meeting included */
        d.flags |= TALLY_IN_STRIDES;
        for (int32_t i = 0; i < d.rank; i++) {
            d.in_strides[i] = below(9) - 4;
        }
        break;
    }
    return d;
}

/* For each output element, by index from the lowest: the input it belongs to and the output
 * element before it in its scan (-1: it is the first). */
typedef struct link {
    int64_t in, before;
    int written;
} link;

typedef struct table {
    link *links;
    int64_t low, count, elements;
} table;

static void note(table *t, int64_t in, int64_t out, int64_t before)
{
    cr_assert(out >= t->low && out - t->low < t->count, "index %d out of range", (int)out);
    link *l = &t->links[out - t->low];
    cr_assert_not(l->written, "element %d written twice", (int)out);
    *l = (link){ in, before == INT64_MIN ? -1 : before - t->low, 1 };
    t->elements++;
}

static void follow_descriptor(const tally_descriptor *full, table *t)
{
    int64_t index[TALLY_MAX_RANK] = { 0 };
    int32_t a = full->axis;
    int64_t back = full->flags & TALLY_REVERSE ? full->out_strides[a] : -full->out_strides[a];
    int64_t first = full->flags & TALLY_REVERSE ? full->sizes[a] - 1 : 0;
    for (;;) {
        int64_t in = full->in_offset, out = full->out_offset;
        for (int32_t d = 0; d < full->rank; d++) {
            in += index[d] * full->in_strides[d];
            out += index[d] * full->out_strides[d];
        }
        note(t, in, out, index[a] == first ? INT64_MIN : out + back);
        int32_t d = full->rank - 1;
        while (d >= 0 && ++index[d] == full->sizes[d]) {
            index[d--] = 0;
        }
        if (d < 0) {
            return;
        }
    }
}

static void follow_geometry(const tly_problem *p, const tly_geometry *g, table *t)
{
    int64_t index[TALLY_MAX_RANK] = { 0 };
    int64_t in_end = 0, out_end = 0;
    for (int64_t row = 0; row < g->rows; row++) {
        int64_t in_row = g->tensor[TLY_IN].first, out_row = g->tensor[TLY_OUT].first;
        for (int32_t d = 0; d < g->outer_rank; d++) {
            in_row += index[d] * g->outer[d].stride[TLY_IN];
            out_row += index[d] * g->outer[d].stride[TLY_OUT];
        }
        if (p->form == TLY_ROWS && p->rows.contiguous && row > 0) {
            cr_assert(in_row == in_end && out_row == out_end, "not dense at row %d", (int)row);
        }
        in_end = in_row + g->length * g->tensor[TLY_IN].axis;
        out_end = out_row + g->length * g->tensor[TLY_OUT].axis;
        for (int64_t lane = 0; lane < g->inner; lane++) {
            for (int64_t i = 0; i < g->length; i++) {
                int64_t out = out_row + lane * g->tensor[TLY_OUT].lane +
                              i * g->tensor[TLY_OUT].axis;
                note(t, in_row + lane * g->tensor[TLY_IN].lane + i * g->tensor[TLY_IN].axis, out,
                     i < p->interleave ? INT64_MIN : out - p->interleave * g->tensor[TLY_OUT].axis);
            }
        }
        for (int32_t d = g->outer_rank - 1; d >= 0 && ++index[d] == g->outer[d].size; d--) {
            index[d] = 0;
        }
    }
}

static int64_t power_within(int64_t n)
{
    return n >= 16 ? 16 : n >= 8 ? 8 : n >= 4 ? 4 : n >= 2 ? 2 : 1;
}

/* What specialise.h says about literals, judged by the geometry. */
static void check_literals(const tly_problem *p, const tly_geometry *g)
{
    int rows = p->form == TLY_ROWS, columns = p->form == TLY_COLUMNS;
    int64_t in = rows ? g->tensor[TLY_IN].axis : g->tensor[TLY_IN].lane;
    int64_t out = columns ? g->tensor[TLY_OUT].lane
                  : rows  ? g->tensor[TLY_OUT].axis
                          : llabs(g->tensor[TLY_OUT].axis);
    cr_expect(p->tensor[TLY_IN].step == (in >= -2 && in <= TLY_NEAR_STEP ? in : ANY));
    cr_expect(p->tensor[TLY_OUT].step == (out == 1 || (rows && out == -1) ? out : ANY));
    cr_expect(p->form != TLY_TRANSPOSED || (p->tensor[TLY_IN].step == 1 && g->inner >= 8));
    cr_expect(rows ? g->inner == 1 && g->tensor[TLY_IN].lane == 0 && g->tensor[TLY_OUT].lane == 0
                   : p->interleave == 1);
    cr_expect(p->interleave >= 1 && p->interleave <= TLY_MAX_INTERLEAVE &&
              g->length % p->interleave == 0);
    cr_expect(p->interleave == 1 || (in == out && (in == 1 || in == -1)));
    if (rows) {
        int streams = p->rows.contiguous && p->interleave == 1 && p->order != TALLY_ORDER_SERIAL;
        int is_short = p->interleave == 1 &&
                       (g->length <= TLY_SHORT_ROW ||
                        (streams && g->length <= TLY_MEDIUM_ROW && g->length % TLY_EVEN_STEP == 0));
        int is_narrow = tly_element_bytes(p, TLY_OUT) < 4 && p->acc != TALLY_F32;
        int64_t most = is_narrow ? TLY_STREAM_NARROW : TLY_STREAM_ROW;
        int is_medium = p->interleave > 1 ? p->rows.contiguous && g->length <= most
                                          : streams && !is_short && g->length <= TLY_MEDIUM_ROW;
        int64_t within = g->rows > 1 ? power_within(g->length) : 0;
        cr_expect_eq(p->rows.length, is_short && p->rows.contiguous ? g->length : 0);
        cr_expect_eq(p->rows.least, is_short && !p->rows.contiguous ? within : 0);
        cr_expect_eq(p->rows.is_medium, is_medium);
    } else {
        const int packing = p->lanes.packing;
        int64_t block = packing == TLY_PACKED_DOWN ? -g->inner : g->inner;
        int packed = g->tensor[TLY_IN].axis == block && g->tensor[TLY_OUT].axis == block &&
                     in == 1 && out == 1;
        int narrow = packing == TLY_PACKED_UP || packing == TLY_PACKED_DOWN;
        int64_t axis = columns ? g->tensor[TLY_IN].axis : g->tensor[TLY_OUT].axis;
        cr_expect(!narrow || (columns && packed));
        cr_expect(packing != TLY_AXIS_UP ||
                  (columns && axis == 1 && p->tensor[TLY_IN].step == ANY));
        cr_expect(packing != TLY_ROWS_UP || (columns && in != 1 && out == 1));
        cr_expect(packing != TLY_AXIS_DOWN ||
                  (axis == -1 && (!columns || p->tensor[TLY_IN].step == ANY)));
        int64_t few = !columns && g->length < 32 && g->length < g->inner ? g->length : g->inner;
        int64_t within = few < g->inner || few <= TLY_MAX_INTERLEAVE ? power_within(few) : 0;
        cr_expect_eq(p->lanes.least, within);
        cr_expect_eq(p->lanes.count,
                     narrow && g->inner <= TLY_FEW_COLUMNS_BYTES / 4 ? g->inner : 0);
        cr_expect(!p->lanes.lines || packing == TLY_ROWS_UP);
        const int64_t slice = g->length * g->inner;
        cr_expect(!p->lanes.short_slices ||
                  (narrow && g->outer_rank == 1 && g->outer[0].stride[TLY_IN] == slice &&
                   g->outer[0].stride[TLY_OUT] == slice));
    }
    int64_t before = INT64_MAX;
    for (int32_t d = 0; d < g->outer_rank; d++) {
        int64_t a = llabs(g->outer[d].stride[TLY_IN]), b = llabs(g->outer[d].stride[TLY_OUT]);
        cr_expect(g->outer[d].size > 1 && (a < b ? a : b) <= before);
        before = a < b ? a : b;
    }
}

/* By the row of an operator: what it computes in, and whether reduced dims keep their order, of
 * integers, of floats that it computes in wider ones, and of others. */
Test(problem, operators_by_their_rows)
{
    static const struct {
        const char *op;
        int i8, u16, i32, f16;            /* accumulators */
        int kept_i32, kept_f16, kept_f32; /* -1: a scan */
    } cases[] = {
        { "cummax", TALLY_I32, TALLY_U32, TALLY_I32, TALLY_I32, -1, -1, -1 },
        { "cumsum", TALLY_I8, TALLY_U16, TALLY_I32, TALLY_F32, -1, -1, -1 },
        { "sum", TALLY_I8, TALLY_U16, TALLY_I32, TALLY_F32, 0, 0, 0 },
        { "prod", TALLY_I8, TALLY_U16, TALLY_I32, TALLY_F32, 0, 1, 0 },
        { "mean", TALLY_I8, TALLY_U16, TALLY_I64, TALLY_F32, 0, 0, 0 },
        { "l1", TALLY_I8, TALLY_U16, TALLY_I32, TALLY_F32, 0, 0, 0 },
        { "l2", TALLY_F64, TALLY_F64, TALLY_F64, TALLY_F32, 0, 0, 0 },
        { "log_sum", TALLY_I8, TALLY_U16, TALLY_I64, TALLY_F32, 0, 0, 0 },
        { "log_sum_exp", TALLY_F64, TALLY_F64, TALLY_F64, TALLY_F32, 0, 0, 0 },
        { "max", TALLY_I8, TALLY_U16, TALLY_I32, TALLY_I16, 0, 0, 0 },
        { "argmin", TALLY_I32, TALLY_I32, TALLY_I32, TALLY_I32, 1, 1, 1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *dtypes[] = { "i8", "u16", "i32", "f16", "f32" };
        const int acc[] = { cases[i].i8, cases[i].u16, cases[i].i32, cases[i].f16 };
        const int kept[] = { [2] = cases[i].kept_i32, cases[i].kept_f16, cases[i].kept_f32 };
        for (size_t k = 0; k < 5; k++) {
            char word[96];
            tly_geometry g;
            const int scans = cases[i].kept_i32 < 0;
            snprintf(word, sizeof word, "%s:%s:5x7:%sin=1x5", cases[i].op, dtypes[k],
                     scans ? "axis=1," : "");
            tly_problem p = problem_of(word, &g);
            if (k < 4) {
                cr_expect_eq(p.acc, acc[k], "%s: %s", word, tally_dtype_name(p.acc));
            }
            if (!scans && kept[k] != 0) { /* or else both dims are one of 35 neighbours */
                cr_expect(g.length == 7 && g.steps == 5 && g.tensor[TLY_IN].axis == 5, "%s", word);
            } else if (!scans && k >= 2) {
                cr_expect(g.length == 35 && g.steps == 1 && g.tensor[TLY_IN].axis == 1, "%s", word);
            }
        }
    }
}

Test(problem, every_element_exactly)
{
    int seen[4][TLY_ROWS_UP + 2] = { { 0 } }, streams = 0, negative = 0;
    lcg = 20240607;
    for (int round = 0; round < 3000; round++) {
        tally_descriptor d = random_descriptor(), full;
        char word[TALLY_WORD_MAX] = "";
        tally_error e = TALLY_ERROR_INIT;
        cr_assert_eq(tly_descriptor_resolve(&d, &full, &e), TALLY_OK, "%s", e.message);
        tally_descriptor_print(&d, word, sizeof word, NULL, NULL);
        tly_problem p, q;
        tly_geometry g, h;
        tly_canonicalise(&d, 0, &p, &g);
        tly_canonicalise_resolved(&full, 0, &q, &h);
        cr_assert(memcmp(&p, &q, sizeof p) == 0 && memcmp(&g, &h, sizeof g) == 0, "%s", word);
        int empty = 0;
        for (int32_t i = 0; i < d.rank; i++) {
            empty |= d.sizes[i] == 0;
        }
        cr_assert_eq(g.empty, empty, "%s", word);
        if (empty) {
            cr_expect(g.rows == 0 && g.tensor[TLY_IN].high < g.tensor[TLY_IN].low &&
                      g.tensor[TLY_OUT].high < g.tensor[TLY_OUT].low);
            continue;
        }
        int64_t count = g.tensor[TLY_OUT].high - g.tensor[TLY_OUT].low + 1;
        cr_assert(count > 0 && count < 100000, "%s", word);
        table a = { calloc((size_t)count, sizeof(link)), g.tensor[TLY_OUT].low, count, 0 };
        table b = { calloc((size_t)count, sizeof(link)), g.tensor[TLY_OUT].low, count, 0 };
        cr_assert(a.links != NULL && b.links != NULL);
        follow_descriptor(&full, &a);
        follow_geometry(&p, &g, &b);
        cr_assert_eq(a.elements, b.elements, "%s", word);
        cr_assert_eq(memcmp(a.links, b.links, (size_t)count * sizeof(link)), 0, "%s", word);
        int64_t low = INT64_MAX, high = INT64_MIN;
        for (int64_t i = 0; i < count; i++) {
            if (a.links[i].written) {
                low = a.links[i].in < low ? a.links[i].in : low;
                high = a.links[i].in > high ? a.links[i].in : high;
            }
        }
        cr_expect(low == g.tensor[TLY_IN].low && high == g.tensor[TLY_IN].high, "%s", word);
        cr_expect(a.links[0].written && a.links[count - 1].written, "%s: extent", word);
        check_literals(&p, &g);
        free(a.links);
        free(b.links);
        seen[p.form][lies(&p)]++;
        streams += p.interleave > 1;
        negative += p.tensor[TLY_OUT].step == -1;
    }
    cr_expect(seen[TLY_ROWS][0] > 50 && seen[TLY_ROWS][1] > 50);
    cr_expect(seen[TLY_COLUMNS][TLY_PACKED_UP] > 20 && seen[TLY_COLUMNS][TLY_PACKED_DOWN] > 20);
    cr_expect(seen[TLY_COLUMNS][0] > 50 && seen[TLY_TRANSPOSED][0] > 20);
    cr_expect(seen[TLY_COLUMNS][TLY_AXIS_UP] > 20 && seen[TLY_COLUMNS][TLY_AXIS_DOWN] > 20);
    cr_expect(seen[TLY_COLUMNS][TLY_ROWS_UP] > 5 && seen[TLY_TRANSPOSED][TLY_AXIS_DOWN] > 5);
    cr_expect(streams > 50 && negative > 50);
}

/* Few lanes whose lines rows along another dim complete, and those that none does. */
Test(problem, rows_that_make_a_line)
{
    static const struct {
        const char *word;
        int lines;
    } cases[] = {
        { "cumsum:f32:8x9x3x4x8:axis=2,in=1x8x2304x72x288", 1 },
        { "cumsum:f64:8x9x3x4x8:axis=2,in=1x8x2304x72x288", 0 }, /* one row is one */
        { "cumsum:f16:8x9x3x4x8:axis=2,in=1x8x2304x72x288", 1 },
        { "cumsum:f32:8x9x3x5x8:axis=2,in=1x8x2880x72x360", 0 }, /* half a line is left */
        { "cumsum:f32:8x9x3x4x7:axis=2,in=1x8x2016x72x288", 0 },
        { "cumsum:f32:37x5x100:axis=1,in=1x3700x37", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tally_descriptor d;
        tally_error e = TALLY_ERROR_INIT;
        tly_problem p;
        tly_geometry g;
        cr_assert_eq(tally_descriptor_parse(cases[i].word, &d, &e), TALLY_OK, "%s", e.message);
        tly_canonicalise(&d, 0, &p, &g);
        cr_expect(p.form == TLY_COLUMNS && p.lanes.packing == TLY_ROWS_UP &&
                      p.lanes.lines == cases[i].lines,
                  "%s", cases[i].word);
    }
}

/* Borders of int64: no overflow on the way (run under the sanitizer). */
Test(problem, far_strides)
{
    static const char *const words[] = {
        "cumsum:i8:2x2:axis=0,in=6917529027641081855x2",
        "cumsum:i8:2x2:axis=0,out=6917529027641081855x2",
        "cumsum:i8:2x2:axis=1,in=-4611686018427387904x2,out=-4611686018427387904x2",
        "cumsum:i8:2:axis=0,in=-9223372036854775806@9223372036854775805,reverse",
        "cumsum:i8:1x2:axis=0,in=-9223372036854775808x1,out=9223372036854775807x1,reverse",
        "cumsum:i8:3037000499x3037000499:axis=0",
        "cumsum:i8:9223372036854775807:axis=0,reverse",
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        tly_geometry g;
        problem_of(words[i], &g);
        cr_expect(g.tensor[TLY_IN].low <= g.tensor[TLY_IN].first &&
                      g.tensor[TLY_IN].first <= g.tensor[TLY_IN].high,
                  "%s", words[i]);
        cr_expect(g.tensor[TLY_OUT].low <= g.tensor[TLY_OUT].first &&
                      g.tensor[TLY_OUT].first <= g.tensor[TLY_OUT].high,
                  "%s", words[i]);
    }
}
