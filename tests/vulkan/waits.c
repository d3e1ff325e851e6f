/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nobody waits for another thread's wait: while one waits for a submission that cannot begin,
 * others submit, wait with a limit, make and free, and open the gate. What a wait that failed or
 * reached its limit leaves behind is never freed while it is in flight, whatever the caller gives
 * back.
 */
#include "bed.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MS = 1000000 };
static const char word[] = "cumsum:f32:70x33:axis=0";

typedef struct scene {
    tally_vulkan *v;
    tly_case c;
    tally_vulkan_kernel *kernel;
    tally_vulkan_buffer *in, *out;
    tally_vulkan_buffers buffers;
    VkSemaphore gate;
    uint64_t opened; /* the gate's value */
    PFN_vkSignalSemaphore signal;
    atomic_int waiting, returned;
} scene;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void doze(long ms)
{
    const struct timespec t = { 0, ms * MS };
    nanosleep(&t, NULL);
}

static void begin(scene *s, tally_context *context)
{
    const VkSemaphoreTypeCreateInfo type = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                             .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE };
    const VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                         .pNext = &type };
    tally_vulkan_handles h;
    memset(s, 0, sizeof *s);
    s->v = tly_bed_open(context, tly_bed_device());
    tly_case_make(&s->c, word, TLY_DATA_BENIGN, 1);
    s->kernel = tly_case_kernel(&s->c, s->v, NULL, 0);
    s->buffers.size = sizeof s->buffers;
    if (!tly_expect(s->kernel && s->v->facts.timeline &&
                        !tally_vulkan_buffer_create(s->v, s->c.in_bytes, &s->in, NULL) &&
                        !tally_vulkan_buffer_create(s->v, s->c.out_bytes, &s->out, NULL) &&
                        !tally_vulkan_buffer_write(s->in, 0, s->c.in, s->c.in_bytes, NULL),
                    "begin"))
        exit(tly_bed_end("waits", 0));
    tally_vulkan_buffer_info(s->in, &s->buffers.in);
    tally_vulkan_buffer_info(s->out, &s->buffers.out);
    tally_vulkan_info(s->v, &h);
    const PFN_vkGetDeviceProcAddr get = s->v->instance_fn.GetDeviceProcAddr;
    s->signal = (PFN_vkSignalSemaphore)get(h.device, "vkSignalSemaphore");
    ((PFN_vkCreateSemaphore)get(h.device, "vkCreateSemaphore"))(h.device, &info, NULL, &s->gate);
}

/* The semaphore goes last, when its device is idle. */
static void end(scene *s)
{
    tally_vulkan_buffer_destroy(&s->in);
    tally_vulkan_buffer_destroy(&s->out);
    tally_vulkan_kernel_destroy(&s->kernel);
    if (s->v) {
        tally_vulkan_handles h;
        tally_vulkan_info(s->v, &h);
        tly_expect(!tally_vulkan_wait(s->v, NULL), "the last wait");
        ((PFN_vkDestroySemaphore)s->v->instance_fn.GetDeviceProcAddr(
            h.device, "vkDestroySemaphore"))(h.device, s->gate, NULL);
    }
    tally_vulkan_destroy(&s->v);
    tly_case_end(&s->c);
}

static void open_gate(scene *s)
{
    tally_vulkan_handles h;
    tally_vulkan_info(s->v, &h);
    const VkSemaphoreSignalInfo go = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO,
                                       .semaphore = s->gate,
                                       .value = ++s->opened };
    tly_expect(!s->signal(h.device, &go), "the gate does not open");
}

/* Begins when the gate opens next. */
static void submit(scene *s)
{
    const tally_vulkan_sync sync = { .size = sizeof sync,
                                     .wait = s->gate,
                                     .wait_value = s->opened + 1 };
    tally_error error = TALLY_ERROR_INIT;
    const double before = now();
    const tally_status status = tally_vulkan_submit(s->kernel, &s->buffers, &sync, &error);
    tly_expect(!status, "submit: %s", error.message);
    tly_expect(now() - before < 500, "a submission took %g ms", now() - before);
}

/* Passes after `ms` and not much later. */
static void expect_limit(scene *s, uint64_t ms)
{
    tally_error error = TALLY_ERROR_INIT;
    const double before = now();
    const tally_status status = tally_vulkan_wait_for(s->v, ms * MS, &error);
    const double took = now() - before;
    tly_expect(status == TALLY_TIMEOUT && error.status == TALLY_TIMEOUT && error.message[0],
               "a wait of %d ms: status %d: %s", (int)ms, status, error.message);
    tly_expect(took >= (double)ms && took < (double)ms + 500, "a wait of %d ms took %g", (int)ms,
               took);
}

static void read_and_judge(scene *s, const char *label)
{
    char *out = tly_case_blank(&s->c);
    tly_expect(!tally_vulkan_buffer_read(s->out, 0, out, s->c.out_bytes, NULL), "%s: no read",
               label);
    tly_case_right(&s->c, out, tly_bed_flushes(s->v), 0, label);
    free(out);
}

/* ---- threads ---- */

enum { WAITERS = 3 };

/* Thread 0 does everything else, while the others wait without end; the gate opens last. */
static void take_part(void *user, int index)
{
    scene *s = user;
    if (index > 0) {
        s->waiting++;
        tly_expect(!tally_vulkan_wait(s->v, NULL), "an endless wait");
        s->returned++;
        return;
    }
    while (s->waiting < WAITERS)
        doze(1);
    doze(30);
    submit(s);
    expect_limit(s, 0);
    expect_limit(s, 20);
    tally_vulkan_buffer *buffer = NULL;
    tly_expect(!tally_vulkan_buffer_create(s->v, 1000, &buffer, NULL), "a buffer");
    tally_vulkan_buffer_destroy(&buffer);
    tally_vulkan_kernel *other = tly_case_kernel(&s->c, s->v, NULL, 0);
    tally_vulkan_kernel_destroy(&other);
    tly_expect(s->returned == 0, "%d waits ended", s->returned);
    open_gate(s);
}

/* ---- limits ---- */

static void limited(tally_context *context, int staged)
{
    scene s;
    begin(&s, context);
    s.v->staged = staged;
    submit(&s);
    tally_vulkan_limit_waits(s.v, 20 * MS);
    tally_error error = TALLY_ERROR_INIT;
    char *out = tly_case_blank(&s.c), *blank = tly_case_blank(&s.c);
    double seconds;
    tally_status status = tally_vulkan_run(s.kernel, tly_case_in(&s.c), tly_case_out(&s.c, out),
                                           &error);
    tly_expect(status == TALLY_TIMEOUT && !memcmp(out, blank, s.c.out_bytes), "run: status %d: %s",
               status, error.message);
    status = tally_vulkan_time(s.kernel, &s.buffers, &seconds, &error);
    tly_expect(status == TALLY_TIMEOUT, "time: status %d: %s", status, error.message);
    tally_vulkan_buffer *other = NULL;
    tly_expect(!tally_vulkan_buffer_create(s.v, 4096, &other, NULL), "a buffer");
    status = tally_vulkan_buffer_write(other, 0, s.c.in, 4096, &error);
    tly_expect(status == (staged ? TALLY_TIMEOUT : TALLY_OK), "write: status %d: %s", status,
               error.message);
    /* Its copy has not begun: it lives on until then. */
    tally_vulkan_buffer_destroy(&other);
    tally_vulkan_kernel_destroy(&s.kernel);
    tly_expect(!staged || s.v->orphans, "a buffer was freed");
    tally_vulkan_limit_waits(s.v, UINT64_MAX);
    open_gate(&s);
    tly_expect(!tally_vulkan_wait(s.v, &error), "the wait: %s", error.message);
    tly_expect(s.v->pending == NULL && s.v->orphans == NULL, "something is left");
    read_and_judge(&s, "after a limit");
    s.kernel = tly_case_kernel(&s.c, s.v, NULL, 0);
    tly_case_run(&s.c, s.kernel, out);
    tly_case_right(&s.c, out, tly_bed_flushes(s.v), 0, "without a limit");
    free(out);
    free(blank);
    end(&s);
}

/* ---- failures while something runs ---- */

static VkResult fails_with;
static atomic_int failures_left;
static PFN_vkWaitForFences real_wait;

static VKAPI_ATTR VkResult VKAPI_CALL bad_wait(VkDevice d, uint32_t n, const VkFence *f, VkBool32 a,
                                               uint64_t t)
{
    return failures_left-- > 0 ? fails_with : real_wait(d, n, f, a, t);
}

/* Thread 1 opens the gate while thread 0 gives all back. */
static void fail_and_leave(void *user, int index)
{
    scene *s = user;
    if (index == 1) {
        doze(50);
        open_gate(s);
        return;
    }
    tally_error error = TALLY_ERROR_INIT;
    const tally_status status = tally_vulkan_wait(s->v, &error);
    tly_expect(status == (fails_with == VK_ERROR_DEVICE_LOST ? TALLY_DEVICE_LOST : TALLY_OK),
               "a wait that fails with %d: status %d: %s", (int)fails_with, status, error.message);
    tally_vulkan_buffer_destroy(&s->in);
    tally_vulkan_buffer_destroy(&s->out);
    tally_vulkan_kernel_destroy(&s->kernel);
}

static void failing(tally_context *context, VkResult result, int count)
{
    scene s;
    begin(&s, context);
    submit(&s);
    real_wait = s.v->fn.WaitForFences;
    s.v->fn.WaitForFences = bad_wait;
    fails_with = result;
    failures_left = count;
    tly_bed_threads(2, fail_and_leave, &s);
    s.v->fn.WaitForFences = real_wait;
    if (result == VK_ERROR_DEVICE_LOST)
        s.v->lost = 0; /* it was not, and the end of this test waits */
    end(&s);
}

int main(void)
{
    tally_context *context = tly_bed_context();
    scene s;
    begin(&s, context);
    submit(&s);
    tly_bed_threads(1 + WAITERS, take_part, &s);
    tly_expect(s.returned == WAITERS, "%d waits ended", s.returned);
    tly_expect(!tally_vulkan_wait(s.v, NULL), "the second submission");
    read_and_judge(&s, "among threads");
    tly_expect(!tally_vulkan_wait_for(s.v, 0, NULL), "nothing is left to wait for");
    end(&s);
    limited(context, 0);
    limited(context, 1);
    static const VkResult results[] = { VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY,
                                        VK_ERROR_DEVICE_LOST, VK_ERROR_UNKNOWN };
    for (size_t k = 0; k < sizeof results / sizeof results[0]; k++)
        for (int count = 1; count < 1000; count += 998)
            failing(context, results[k], count);
    tally_context_destroy(&context);
    return tly_bed_end("waits", 60);
}
