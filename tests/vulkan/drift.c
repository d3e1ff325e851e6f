/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of many elements next to 1 on devices: by each way of scans and reductions that combines
 * in another order than the plain loop, the largest relative error is at most twice the loop's.
 */
#include "../drift_series.h"
#include "bed.h"

#include <stdlib.h>

enum { LANES = 4, COUNT = 100000 }; /* the shorter series is that long */

/* Most of the time goes to drivers' compilers: tiles are small, and a kernel takes every series. */
static const struct {
    const char *word;
    int64_t lanes; /* each has the series */
    int waits;     /* 1: for the device whose workgroups make progress; 0: for the other */
    const char *plan;
} cases[] = {
    { "cumprod:f32:100000:axis=0", 1, 0, "template=workgroups,workgroup=32,vector=4,segments=2" },
    { "cumprod:f32:100000:axis=0", 1, 0, "template=subgroups,vector=4,segments=2,chunk=4096" },
    { "cumprod:f32:100000x4:axis=0", LANES, 0, "template=subgroups,vector=1,segments=4" },
    { "cumprod:f32:100000x4:axis=0", LANES, 0, "template=columns,chunk=1024" },
    { "cumprod:f32:100000:axis=0,post=2*y/2", 1, 0,
      "template=workgroups,workgroup=32,vector=4,segments=2" },
    { "prod:f32:100000:axes=0", 1, 0, NULL },
    { "prod:f32:100000x4:axes=0", LANES, 0, "template=reduce_lanes,segments=1,chunk=1024" },
    { "cumprod:f32:100000:axis=0", 1, 1, "template=look_back,workgroup=64,vector=4,segments=2" },
    { "cumprod:f32:100000:axis=0,post=2*y/2", 1, 1,
      "template=look_back,workgroup=64,vector=4,segments=2" },
    { "cumprod:f32:100000x4:axis=0", LANES, 1,
      "template=look_back_lanes,team=4,workgroup=256,segments=8" },
};

/* The loop's largest error; `right`: the products. */
static double fill(const tly_series *s, int64_t lanes, float *in, long double *right)
{
    uint64_t state = 1;
    long double all = 1;
    double worst = 0;
    float loop = 1;
    for (int64_t i = 0; i < COUNT; i++) {
        float x = (float)tly_series_next(s, &state);
        for (int64_t k = 0; k < lanes; k++)
            in[i * lanes + k] = x;
        loop *= x;
        right[i] = all *= (long double)x;
        worst = fmax(worst, tly_series_error(all, (double)loop));
    }
    return worst;
}

static double worst_of(const float *out, int64_t count, int64_t lanes, const long double *right)
{
    double worst = 0;
    for (int64_t i = 0; i < count * lanes; i++) {
        double error = tly_series_error(right[i / lanes], (double)out[i]);
        worst = error <= worst ? worst : error;
    }
    return worst;
}

static void check(tally_vulkan *v, size_t n)
{
    static long double right[COUNT];
    const int64_t lanes = cases[n].lanes;
    const char *plan = cases[n].plan != NULL ? cases[n].plan : "";
    tly_case c;
    tly_case_make(&c, cases[n].word, TLY_DATA_EXACT, 1);
    tally_vulkan_kernel *kernel = tly_case_kernel(&c, v, cases[n].plan, 0);
    char *out = tly_case_blank(&c);
    for (int i = 0; kernel != NULL && i < TLY_ALL_SERIES; i++) {
        double loop = fill(&tly_all_series[i], lanes, (float *)(void *)c.in, right);
        int64_t shown = (int64_t)(c.out_bytes / sizeof(float)) / lanes;
        double worst = tly_case_run(&c, kernel, out)
                           ? worst_of((float *)(void *)out, shown, lanes, right + COUNT - shown)
                           : NAN;
        tly_expect(worst <= 2 * loop, "%s, %s, %s: %.2e, the loop %.2e", c.word, plan,
                   tly_all_series[i].name, worst, loop);
    }
    free(out);
    tally_vulkan_kernel_destroy(&kernel);
    tly_case_end(&c);
}

int main(void)
{
    tally_context *context = tly_bed_context();
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    int done = 0;
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        if (cases[n].waits != (int)v->facts.caps.progress)
            continue;
        check(v, n);
        done += TLY_ALL_SERIES;
    }
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    return tly_bed_end("drift", done > 0 ? done : 1);
}
