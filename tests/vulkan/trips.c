/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops beyond the 65,535 trips after which lavapipe ends an invocation's loops without a word:
 * rows and columns just above and far above, in serial order, in chunks, and where every tile must
 * be done again by the plain loop. Right on every device.
 */
#include "bed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {
    "cumsum:i32:65536:axis=0,order=serial",
    "cumsum:u32:65540:axis=0,order=serial,exclusive",
    "cumprod:f32:70000:axis=0,order=serial",
    "cumsum:f32:200000:axis=0,order=serial,reverse",
    "cumsum:f32:2x65541:axis=1,order=serial",
    "cumsum:i32:70000x3:axis=0",
    "cumprod:f32:70000x5:axis=0,order=serial",
    "cumsum:f32:2x66000x3:axis=1,reverse,exclusive",
    "cumsum:f64:70001:axis=0,order=serial",
    "cumsum:f16:65600:axis=0,order=serial",
    "cumsum:i64:70000x2:axis=0,order=serial",
    "linrec:f32:70000x3:axis=0,coef=0.75",
    "linrec:i32:200000:axis=0,coef=x",
    "linrec:f32:70000:axis=0,coef=1-x*x,exclusive",
    "linrec:f32:3x70000:axis=1,coef=0.5,order=serial",
};

static const struct {
    const char *word, *plan;
} forced[] = {
    { "cumsum:i32:200000:axis=0", "template=columns,chunk=0" },
    { "cumsum:f32:200000x2:axis=0", "template=columns,chunk=0,workgroup=4" },
    { "cumsum:f32:70000x2:axis=0", "template=columns,chunk=32000" },
    { "cumprod:u32:200000x3:axis=0", "template=columns,chunk=256" },
    { "cumprod:u32:70000x16:axis=0", "template=columns,vector=4,chunk=256" },
    { "cumsum:i32:200000:axis=0", "template=workgroups,chunk=0,workgroup=32,segments=1,vector=1" },
    { "cumsum:i32:2x270000:axis=1", "template=subgroups,team=4,chunk=0,segments=1,vector=1" },
    { "linrec:f32:200000x2:axis=0,coef=0.9", "template=columns,chunk=0,workgroup=4" },
    { "linrec:i32:200000x3:axis=0,coef=x", "template=columns,chunk=256" },
    { "linrec:f32:200000:axis=0,coef=0.9", "template=workgroups,workgroup=32,segments=1" },
    { "linrec:i32:200000:axis=0,coef=x", "template=workgroups,workgroup=64,chunk=16384" },
};

/* Every tile of these is out of range: the plain loop's own bits come out. */
static const struct {
    const char *word, *plan;
} redone[] = {
    { "cumprod:f32:70000:axis=0", "chunk=0" },
    { "cumprod:f32:200000:axis=0", "" },
    { "cumprod:f32:200000:axis=0,reverse", "template=workgroups,workgroup=32,chunk=0" },
    { "cumprod:f32:2x70000:axis=1,exclusive", "template=subgroups,team=4,chunk=0" },
    { "cumprod:f32:200000:axis=0", "template=workgroups,workgroup=64,chunk=16384" },
    { "cumprod:f32:70000x3:axis=0", "template=columns,chunk=4096" },
    { "cumprod:f32:70000x9:axis=0", "template=columns,vector=1,chunk=1" },
    { "cumprod:f64:140001:axis=0", "" },
    { "cumprod:bf16:140001:axis=0", "" },
    { "cumprod:f32:70002x2:axis=0", "" },
    { "cumprod:f32:9000x16:axis=0", "template=columns,vector=8,chunk=2000" },
    { "cumprod:f32:150000x2:axis=0,in=4x1", "template=columns,chunk=32500" }, /* the longest */
};

static int refused(const tly_case *c, const tally_vulkan *v)
{
    const tly_caps *caps = &v->facts.caps;
    return (c->element == 8 && (c->dtype == TALLY_F64 ? !caps->float64 : !caps->int64)) ||
           (c->element == 2 && !caps->storage16);
}

static void run_case(const tly_case *c, tally_vulkan *v, const char *plan, int serial)
{
    char label[120];
    if (refused(c, v))
        return;
    snprintf(label, sizeof label, "'%s'", plan);
    char *out = tly_case_result(c, v, plan, 0);
    if (out)
        tly_case_right(c, out, tly_bed_flushes(v), serial, label);
    free(out);
}

/* Huge and tiny in turn, so that every window of two leaves the guarded range and no prefix the
 * dtype's. The significands make every order round differently. */
static void fill_alternating(tly_case *c)
{
    tly_random r = tly_random_seed(5, 5);
    const int reach = c->dtype == TALLY_F64 ? 700 : 100;
    void *in = (void *)(uintptr_t)tly_case_in(c);
    for (int64_t row = 0; row < c->l.rows; row++) {
        int64_t at, out;
        tly_layout_row(&c->l, row, &at, &out);
        for (int64_t i = 0; i < c->l.length; i++, at += c->l.in_step) {
            double x = 1 + ldexp((double)tly_random_between(&r, -1000, 1000), -13);
            x = ldexp(x, i % 2 ? -reach : reach);
            tly_bits_store(c->dtype, in, at, tly_encode(c->dtype, x));
        }
    }
}

int main(void)
{
    tally_context *context = tly_bed_context();
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    tly_case c;
    for (size_t k = 0; k < sizeof words / sizeof words[0]; k++) {
        tly_case_make(&c, words[k], TLY_DATA_SIGNED, k);
        run_case(&c, v, "", 0);
        tly_case_end(&c);
    }
    for (size_t k = 0; k < sizeof forced / sizeof forced[0]; k++) {
        tly_case_make(&c, forced[k].word, TLY_DATA_BENIGN, k);
        run_case(&c, v, forced[k].plan, 0);
        tly_case_end(&c);
    }
    for (size_t k = 0; k < sizeof redone / sizeof redone[0]; k++) {
        tly_case_make(&c, redone[k].word, TLY_DATA_BENIGN, k);
        fill_alternating(&c);
        run_case(&c, v, redone[k].plan, 1);
        tly_case_end(&c);
    }
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    return tly_bed_end("trips", 30);
}
