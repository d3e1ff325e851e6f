/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two devices of different drivers in one process and one context, chosen by name, computing at
 * once from two threads, through kernel handles and through device handles. Each is right, and
 * where both combine in the same order their bits are equal.
 */
#include "bed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 8, DEVICES = 2 };

static const char *const names[DEVICES] = { "llvmpipe", "SwiftShader" };

/* Integers and columns: one right answer. */
static const struct {
    const char *word, *plan;
    tly_data data;
} cases[] = {
    { "cumsum:i32:30001:axis=0", NULL, TLY_DATA_BITS },
    { "cumprod:u32:7x333:axis=1,exclusive", NULL, TLY_DATA_BENIGN },
    { "cumsum:f32:120x70:axis=0", "template=columns,chunk=0", TLY_DATA_SIGNED },
    { "cumprod:f32:90x33:axis=0,reverse", "template=columns,chunk=0", TLY_DATA_BENIGN },
    { "cumsum:f32:500:axis=0,order=serial", NULL, TLY_DATA_SIGNED },
};
enum { CASES = sizeof cases / sizeof cases[0] };

typedef struct both {
    tally_context *context;
    tally_vulkan *device[DEVICES];
    tly_case c[CASES];
    char *out[DEVICES][CASES];
} both;

static void compute(void *user, int index)
{
    both *b = user;
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < CASES; k++) {
            free(b->out[index][k]);
            b->out[index][k] = tly_case_result(&b->c[k], b->device[index], cases[k].plan, 0);
        }
}

/* By name, through the door of every program. */
static void compute_by_name(void *user, int index)
{
    both *b = user;
    const tally_kernel_options options = { .size = sizeof options, .device = names[index] };
    for (int round = 0; round < ROUNDS; round++) {
        const tly_case *c = &b->c[round % CASES];
        tally_kernel *k = NULL;
        tally_error error = TALLY_ERROR_INIT;
        char *out = tly_case_blank(c);
        tally_status status = tally_kernel_create(b->context, &c->d, &options, &k, &error);
        if (status == TALLY_OK)
            status = tally_kernel_run(k, tly_case_in(c), tly_case_out(c, out), &error);
        if (tly_expect(status == TALLY_OK, "%s on %s: %s", c->word, names[index], error.message))
            tly_case_right(c, out, index == 1, 0, names[index]);
        tally_kernel_destroy(&k);
        free(out);
    }
}

int main(void)
{
    both b = { .context = tly_bed_context() };
    for (int k = 0; k < DEVICES; k++) {
        b.device[k] = tly_bed_open(b.context, names[k]);
        tly_expect(strstr(b.device[k]->facts.name, names[k]) != NULL, "%s is %s", names[k],
                   b.device[k]->facts.name);
    }
    tly_expect(b.device[0]->facts.caps.driver != b.device[1]->facts.caps.driver, "one driver");
    for (int k = 0; k < CASES; k++)
        tly_case_make(&b.c[k], cases[k].word, cases[k].data, (uint64_t)k);
    tly_bed_threads(DEVICES, compute, &b);
    for (int k = 0; k < CASES; k++)
        if (tly_expect(b.out[0][k] && b.out[1][k], "%s: no result", cases[k].word)) {
            tly_case_right(&b.c[k], b.out[0][k], 0, 0, names[0]);
            tly_case_same(&b.c[k], b.out[0][k], b.out[1][k], "on both");
        }
    tly_bed_threads(DEVICES, compute_by_name, &b);
    for (int k = 0; k < CASES; k++) {
        free(b.out[0][k]);
        free(b.out[1][k]);
        tly_case_end(&b.c[k]);
    }
    for (int k = 0; k < DEVICES; k++)
        tally_vulkan_destroy(&b.device[k]);
    tally_context_destroy(&b.context);
    return tly_bed_end("two devices", 2 * DEVICES * ROUNDS * CASES);
}
