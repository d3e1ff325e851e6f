/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data that leave the range, as users' data do: every kind of `tally bench --data` and drifts that
 * cross the range once in 40, 400 and 4000 elements, through every template and way across lanes,
 * right as docs/semantics.md says; and no scan's bits depend on those beside it.
 *
 *     natural [PART PARTS]
 *
 * With PART from 0 on, only each PARTS-th kernel is tried, so that drivers of one kind share the
 * work.
 */
#include "bed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static double unit(tly_random *r)
{
    return (double)(tly_random_next(r) >> 11) * 0x1p-53;
}

/* ---- kinds: one scan's elements, by its random numbers and the position ---- */

static double near1(tly_random *r)
{
    return 1 + (unit(r) - 0.5) / 50;
}

static double survival(tly_random *r)
{
    return 1 - 0.05 * unit(r);
}

static double around1(tly_random *r)
{
    return 0.5 + unit(r);
}

static double growing(tly_random *r)
{
    return 1 + unit(r);
}

static double normal(tly_random *r)
{
    return sqrt(-2 * log(1 - unit(r))) * cos(6.283185307179586 * unit(r));
}

static double mask(tly_random *r)
{
    double u = unit(r);
    return u < 0.3 ? 1 : u < 0.32 ? 0 : 1 - unit(r);
}

static double zeros(tly_random *r)
{
    return tly_random_one_in(r, 1000) ? 0 : near1(r);
}

static double specials(tly_random *r)
{
    static const double values[] = { INFINITY, -INFINITY, NAN };
    return tly_random_one_in(r, 1000) ? values[tly_random_below(r, 3)] : near1(r);
}

/* Once a prefix is subnormal these leave it where it is, or take it to zero; an infinity shows
 * which. */
static double stuck(tly_random *r)
{
    return tly_random_one_in(r, 400) ? INFINITY : tly_random_one_in(r, 100) ? 0.3 : survival(r);
}

enum { SINKING = 79 }; /* elements until then */

static double huge(tly_random *r)
{
    return tly_random_one_in(r, 3) ? ldexp(unit(r) - 0.5, 100) : unit(r) - 0.5;
}

static double cold(tly_random *r)
{
    return tly_random_one_in(r, 40) ? near1(r) : -0.0;
}

static double drift(tly_random *r, double crossing, double reach)
{
    return exp2(2 * reach / crossing * (0.5 + unit(r)));
}

static const struct {
    const char *name;
    double (*make)(tly_random *r);
    int crossing; /* a drift; negative: downwards; it turns where the range ends */
} kinds[] = {
    { "near1", near1, 0 },      { "survival", survival, 0 }, { "around1", around1, 0 },
    { "uniform", unit, 0 },     { "growing", growing, 0 },   { "normal", normal, 0 },
    { "mask", mask, 0 },        { "zeros", zeros, 0 },       { "specials", specials, 0 },
    { "stuck", stuck, 0 },      { "huge", huge, 0 },         { "cold", cold, 0 },
    { "drift 40", NULL, 40 },   { "drift 400", NULL, -400 }, { "drift 4000", NULL, 4000 },
    { "drift -40", NULL, -40 }, { "drift 60", NULL, 60 },
};
enum { KINDS = COUNT(kinds) };

static void fill_scan(tly_case *c, int64_t row, int kind, uint64_t seed)
{
    tly_random r = tly_random_seed(seed, (uint64_t)(kind + 100 * row));
    const double reach = c->dtype == TALLY_F64 ? 1023 : c->dtype == TALLY_F16 ? 100 : 127;
    double prefix = 0, sense = kinds[kind].crossing < 0 ? -1 : 1;
    int64_t at, out;
    tly_layout_row(&c->l, row, &at, &out);
    for (int64_t i = 0; i < c->l.length; i++, at += c->l.in_step) {
        double x;
        if (kinds[kind].make == stuck && i < SINKING) {
            x = c->dtype == TALLY_F64 ? 0x1p-13 : 0.33;
        } else if (kinds[kind].make) {
            x = kinds[kind].make(&r);
        } else {
            x = log2(drift(&r, abs(kinds[kind].crossing), reach));
            if (fabs(prefix + sense * x) > reach - 3)
                sense = -sense;
            prefix += sense * x;
            x = exp2(sense * x);
        }
        tly_bits_store(c->dtype, (void *)(uintptr_t)tly_case_in(c), at, tly_encode(c->dtype, x));
    }
}

/* ---- every template ---- */

static const struct {
    const char *shape, *plan;
    int waits; /* needs workgroups that make progress */
} ways[] = {
    { "3x3001:axis=1", "template=subgroups,workgroup=16,chunk=0", 0 },
    { "2x1500:axis=1,exclusive", "template=subgroups,team=4,vector=4,segments=2,chunk=0", 0 },
    { "3001:axis=0,reverse", "template=workgroups,workgroup=32,vector=2,segments=4,chunk=0", 0 },
    { "2x1700:axis=1,exclusive", "template=workgroups,scan=0,workgroup=16,vector=4,segments=2", 0 },
    { "2x5003:axis=1", "template=workgroups,workgroup=32,vector=2,segments=2,chunk=512", 0 },
    { "3001:axis=0", "template=workgroups,scan=0,workgroup=8,vector=2,segments=1,chunk=64", 0 },
    { "1501x3:axis=0", "template=subgroups,segments=4,chunk=0", 0 },
    { "2x1501x2:axis=1,exclusive", "template=subgroups,segments=2,chunk=200", 0 },
    { "601x5:axis=0,reverse", "template=workgroups,scan=0,workgroup=16,vector=1,chunk=0", 0 },
    { "901x7:axis=0", "template=workgroups,scan=0,workgroup=16,vector=1,segments=2,chunk=600", 0 },
    { "40x12:axis=1,exclusive", "template=turned", 0 },
    { "17x93:axis=1", "template=staged,team=4,vector=25", 0 },
    { "7x257:axis=1,exclusive", "template=staged,workgroup=16,team=16,vector=17", 0 },
    { "3x1500:axis=1,reverse", "template=staged,workgroup=64,team=64,vector=25", 0 },
    { "3001x8:axis=0", "template=columns,workgroup=32,vector=8,chunk=200", 0 },
    { "2001x5:axis=0,exclusive", "template=columns,workgroup=32,vector=1,chunk=150", 0 },
    { "2001x5:axis=0", "template=columns,workgroup=4,vector=1,segments=16,chunk=40", 0 },
    { "1501x3:axis=0,reverse", "template=subgroups,segments=1,chunk=24", 0 },
    { "9001:axis=0", "template=look_back,workgroup=32,vector=2,segments=2", 1 },
    { "2x3001:axis=1,exclusive", "template=look_back,workgroup=4,vector=4,segments=1", 1 },
    { "20011:axis=0", "template=look_back,workgroup=32,vector=4,segments=8", 1 },
    { "5001x5:axis=0", "template=look_back_lanes,team=5,workgroup=64,segments=24", 1 },
    { "2x3001:axis=1", "template=look_back,workgroup=8,vector=2,segments=4,park=1", 1 },
    { "3001:axis=0,exclusive", "template=look_back,workgroup=16,vector=2,segments=2,park=1", 1 },
    { "2001x5:axis=0", "template=look_back_lanes,team=5,workgroup=16,segments=2", 1 },
    { "2001x5:axis=0,exclusive", "template=look_back_lanes,team=5,workgroup=32,segments=6,park=1",
      1 },
    { "901x17:axis=0", "template=look_back_lanes,team=17,workgroup=64,segments=3,park=1", 1 },
    { "2x1501x3:axis=1,exclusive", "template=look_back_lanes,workgroup=16,segments=4", 1 },
    { "901x17:axis=0,reverse", "template=look_back_lanes,team=17,workgroup=64,segments=1", 1 },
};
static const char *const subjects[] = {
    "cumprod:f32", "cumprod:f64", "cumprod:f16", "cumprod:bf16",
    "cumsum:f32",  "cumsum:bf16", "cumsum:f64",
};

static int refused(tally_dtype dtype, const tly_caps *caps)
{
    return (dtype == TALLY_F64 && !caps->float64) ||
           ((dtype == TALLY_F16 || dtype == TALLY_BF16) && !caps->storage16);
}

/* Every kind by one kernel. */
static void try_way(tally_vulkan *v, const char *subject, int way)
{
    char word[120], label[160];
    tly_case c;
    snprintf(word, sizeof word, "%s:%s", subject, ways[way].shape);
    tly_case_make(&c, word, TLY_DATA_BENIGN, 1);
    tally_vulkan_kernel *kernel = NULL;
    if (!refused(c.dtype, &v->facts.caps))
        kernel = tly_case_kernel(&c, v, ways[way].plan, 0);
    for (int kind = 0; kernel && kind < KINDS; kind++) {
        char *out = tly_case_blank(&c);
        for (int64_t row = 0; row < c.l.rows; row++)
            fill_scan(&c, row, kind, 3);
        snprintf(label, sizeof label, "%s, '%s'", kinds[kind].name, ways[way].plan);
        if (tly_case_run(&c, kernel, out))
            tly_case_right(&c, out, tly_bed_flushes(v), 0, label);
        free(out);
    }
    tally_vulkan_kernel_destroy(&kernel);
    tly_case_end(&c);
}

/* ---- neighbours ---- */

static const struct {
    const char *word, *plan;
} beside[] = {
    { "cumprod:f32:700x2:axis=0", "chunk=0" },
    { "cumprod:f32:700x3:axis=0", "chunk=0" },
    { "cumprod:f32:700x3:axis=0", "chunk=200" },
    { "cumprod:f32:2x500x4:axis=1", "" },
    { "cumprod:f32:700x5:axis=0", "template=workgroups,scan=0,workgroup=16,vector=1" },
    { "cumprod:f32:700x6:axis=0", "template=workgroups,scan=0,workgroup=16,vector=1,chunk=300" },
    { "cumprod:f32:700x7:axis=0", "template=workgroups,scan=0,workgroup=32,vector=1" },
    { "cumprod:f32:700x11:axis=0", "template=workgroups,scan=0,workgroup=16,vector=1" },
    { "cumprod:f32:700x15:axis=0", "template=workgroups,scan=0,workgroup=16,vector=1" },
    { "cumprod:f32:900x8:axis=0", "template=columns,workgroup=32,vector=4,chunk=100" },
    { "cumprod:f32:900x9:axis=0", "template=columns,workgroup=32,vector=1,chunk=100" },
    { "cumprod:f32:900x8:axis=0", "template=columns,workgroup=16,vector=4,chunk=10" },
    { "cumsum:f32:700x3:axis=0", "chunk=200" },
    { "cumprod:f32:700x3:axis=0", "template=look_back_lanes,workgroup=16,segments=2" },
    { "cumprod:f32:700x20:axis=0", "template=look_back_lanes,team=16,workgroup=64,segments=2" },
    { "cumprod:bf16:700x2:axis=0", "chunk=300" },
    { "cumprod:f32:5x97:axis=1", "template=staged,team=4,vector=25" },
    { "cumprod:bf16:3x300:axis=1", "template=staged,workgroup=32,team=32,vector=11" },
    { "cumprod:f64:700x3:axis=0", "chunk=0" },
};

/* Scan 1 stays; the others change from `kind` to the next. */
static void try_neighbours(tally_vulkan *v, int which)
{
    static const int stays[] = { 0, 3, 9, 10, 12 };
    tly_case c;
    char label[160];
    tly_case_make(&c, beside[which].word, TLY_DATA_BENIGN, 1);
    tally_vulkan_kernel *kernel = NULL;
    if (!refused(c.dtype, &v->facts.caps))
        kernel = tly_case_kernel(&c, v, beside[which].plan, 0);
    for (int k = 0; kernel && k < COUNT(stays); k++) {
        char *first = tly_case_blank(&c), *out = tly_case_blank(&c);
        for (int kind = 0; kind < KINDS; kind++) {
            for (int64_t row = 0; row < c.l.rows; row++)
                fill_scan(&c, row, row == 1 ? stays[k] : (kind + (int)row) % KINDS, 5);
            if (!tly_case_run(&c, kernel, out))
                break;
            snprintf(label, sizeof label, "%s beside %s, '%s'", kinds[stays[k]].name,
                     kinds[kind].name, beside[which].plan);
            tly_case_right(&c, out, tly_bed_flushes(v), 0, label);
            int64_t at, to, differs = -1;
            tly_layout_row(&c.l, 1, &at, &to);
            to -= c.l.out_low;
            for (int64_t i = 0; i < c.l.length && kind > 0 && differs < 0; i++, to += c.l.out_step)
                if (!tly_bits_same(c.dtype, tly_bits_load(c.dtype, first, to),
                                   tly_bits_load(c.dtype, out, to)))
                    differs = i;
            tly_expect(differs < 0, "%s %s: position %lld has other bits than beside %s", c.word,
                       label, (long long)differs, kinds[0].name);
            if (kind == 0)
                memcpy(first, out, c.out_bytes);
        }
        free(first);
        free(out);
    }
    tally_vulkan_kernel_destroy(&kernel);
    tly_case_end(&c);
}

int main(int argc, char **argv)
{
    const int part = argc > 2 ? (int)strtol(argv[1], NULL, 10) : 0;
    const int parts = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;
    tally_context *context = tly_bed_context();
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    for (int way = 0; way < COUNT(ways); way++)
        for (int k = 0; k < COUNT(subjects); k++)
            if ((way + k) % parts == part && (!ways[way].waits || v->facts.caps.progress))
                try_way(v, subjects[k], way);
    for (int k = 0; k < COUNT(beside); k++)
        if (k % parts == part && (!strstr(beside[k].plan, "look_back") || v->facts.caps.progress))
            try_neighbours(v, k);
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    return tly_bed_end("natural data", 1000 / parts);
}
