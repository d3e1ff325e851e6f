/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads on one context and one device at once: making kernels, the same and others, running
 * them, submitting on buffers, giving them back. Every result is right.
 */
#include "bed.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 10 };

static const char *const words[] = {
    "cumsum:i32:5000:axis=0",        "cumprod:u32:30x70:axis=0", "cumsum:f32:9x200:axis=1",
    "cumsum:i32:700:axis=0,reverse", "cumsum:u32:3x5:axis=1",    "cumprod:f32:40000:axis=0",
    "cumsum:i32:100x3:axis=0",
};
enum { WORDS = sizeof words / sizeof words[0] };

typedef struct crowd {
    tally_context *context;
    tally_vulkan *v;
    tly_case c[WORDS];
} crowd;

/* On buffers of the device; returns at once and waits for everybody's work. */
static void submit(const tly_case *c, tally_vulkan *v, const tally_vulkan_kernel *k, char *out)
{
    tally_vulkan_buffer *in = NULL, *to = NULL;
    tally_vulkan_buffers buffers = { .size = sizeof buffers };
    tally_error error = TALLY_ERROR_INIT;
    tally_status status = tally_vulkan_buffer_create(v, c->in_bytes, &in, &error);
    if (!status)
        status = tally_vulkan_buffer_create(v, c->out_bytes, &to, &error);
    if (!status)
        status = tally_vulkan_buffer_write(in, 0, c->in, c->in_bytes, &error);
    if (!status) {
        tally_vulkan_buffer_info(in, &buffers.in);
        tally_vulkan_buffer_info(to, &buffers.out);
        status = tally_vulkan_submit(k, &buffers, NULL, &error);
    }
    if (!status)
        status = tally_vulkan_wait(v, &error);
    if (!status)
        status = tally_vulkan_buffer_read(to, 0, out, c->out_bytes, &error);
    tly_expect(!status, "%s submitted: %s", c->word, error.message);
    tally_vulkan_buffer_destroy(&in);
    tally_vulkan_buffer_destroy(&to);
}

static void work(void *user, int index)
{
    crowd *all = user;
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < WORDS; k++) {
            const tly_case *c = &all->c[(k + (round % 2) * index) % WORDS];
            tally_vulkan_kernel *kernel = tly_case_kernel(c, all->v, NULL, 0);
            char *out = tly_case_blank(c);
            if (kernel && (round + index) % 2)
                submit(c, all->v, kernel, out);
            else if (kernel)
                tly_case_run(c, kernel, out);
            tly_case_right(c, out, tly_bed_flushes(all->v), 0, "among threads");
            tally_vulkan_kernel_destroy(&kernel);
            free(out);
        }
}

/* Through the context: the device itself is opened by whoever comes first. */
static void work_by_name(void *user, int index)
{
    crowd *all = user;
    const tally_kernel_options options = { .size = sizeof options, .device = tly_bed_device() };
    for (int k = 0; k < WORDS; k++) {
        const tly_case *c = &all->c[(k + index) % WORDS];
        tally_kernel *kernel = NULL;
        tally_error error = TALLY_ERROR_INIT;
        char *out = tly_case_blank(c);
        tally_status status = tally_kernel_create(all->context, &c->d, &options, &kernel, &error);
        if (!status)
            status = tally_kernel_run(kernel, tly_case_in(c), tly_case_out(c, out), &error);
        if (tly_expect(!status, "%s by name: %s", c->word, error.message))
            tly_case_right(c, out, tly_bed_flushes(all->v), 0, "by name");
        tally_kernel_destroy(&kernel);
        free(out);
    }
}

int main(void)
{
    crowd all = { .context = tly_bed_context() };
    all.v = tly_bed_open(all.context, tly_bed_device());
    for (int k = 0; k < WORDS; k++)
        tly_case_make(&all.c[k], words[k], TLY_DATA_BENIGN, (uint64_t)k);
    tly_bed_threads(THREADS, work_by_name, &all);
    tly_bed_threads(THREADS, work, &all);
    for (int k = 0; k < WORDS; k++)
        tly_case_end(&all.c[k]);
    tally_vulkan_destroy(&all.v);
    tally_context_destroy(&all.context);
    return tly_bed_end("threads", THREADS * ROUNDS * WORDS);
}
