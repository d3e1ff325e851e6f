/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch records and plans as they are stored. The input's first byte chooses the kind of record
 * and the problem, the rest is the record. An accepted launch record gives a launch without
 * overflow, and no internal error. An accepted plan makes a kernel.
 */
#include "cases.h"

#include "../../runtime/making/native.c"

#ifdef TALLY_VULKAN
#include "../../codegen/plan/gpu.h"
#include "../../runtime/launch/dispatches.h"
#include "../../runtime/vulkan/judge.h"
#include "../../templates/build.h"
#endif

/* Fills a record with the bytes that there are, and with zeros. */
#define TAKE(record, data, bytes) \
    (memset(&(record), 0, sizeof(record)), \
     memcpy(&(record), data, (bytes) < sizeof(record) ? (bytes) : sizeof(record)))

static void check_launch(size_t number, const uint8_t *data, size_t bytes)
{
    fuzz_case c;
    facts f = { .level = "x86-64-v3" };
    tly_launch l;
    tly_prepared r;
    fuzz_case_make(number, 0, &c);
    f.problem = c.problem;
    TAKE(l, data, bytes);
    memset(&r, 0, sizeof r);
    if (sound(&l, &f)) {
        tly_prepared_make(&r, &c.problem, &c.geometry, &l, TLY_MOST_SCRATCH,
                          TLY_AHEAD_STREAM_BYTES);
        HOLDS(r.rows > 0 && r.row_tiles > 0 && r.tiles == r.rows * r.row_tiles);
        HOLDS(r.most_tiles >= 0 && r.scratch_bytes < (size_t)1 << 40);
    }
}

#ifdef TALLY_VULKAN
static void check_gpu_launch(size_t number, const uint8_t *data, size_t bytes)
{
    fuzz_case c;
    tly_gpu_launch l;
    tly_gpu_plan plan;
    tly_gpu_steps steps;
    tally_error e = TALLY_ERROR_INIT;
    fuzz_case_make(number, 1, &c);
    HOLDS(tly_gpu_plan_make(&c.problem, &c.geometry, &fuzz_caps, "", &plan, &e) == TALLY_OK);
    HOLDS(tly_gpu_plan_stands(&c.problem, &c.geometry, &fuzz_caps, &plan));
    TAKE(l, data, bytes);
    if (l.abi == TLY_GPU_ABI_VERSION && tly_has_tensors(l.tensors) &&
        tly_vk_launch_stands(&l, &c.problem, &plan)) {
        const tally_status status = tly_gpu_steps_make(&c.problem, &c.geometry, &plan, &l,
                                                       &fuzz_caps, &steps, &e);
        HOLDS(status == TALLY_OK || (status == TALLY_UNSUPPORTED && e.message[0] != 0));
        if (status == TALLY_OK) {
            tly_gpu_steps_free(&steps);
        }
    }
}

static void check_gpu_plan(size_t number, const uint8_t *data, size_t bytes)
{
    fuzz_case c;
    tly_gpu_plan plan;
    tly_gpu_launch l;
    kir_kernel *kernels[TLY_GPU_PASSES];
    tally_error e = TALLY_ERROR_INIT;
    fuzz_case_make(number, 1, &c);
    TAKE(plan, data, bytes);
    if (tly_gpu_plan_stands(&c.problem, &c.geometry, &fuzz_caps, &plan)) {
        HOLDS(tly_gpu_template_build(&c.problem, &fuzz_caps, &plan, kernels, &l, &e) == TALLY_OK);
        HOLDS(tly_vk_launch_stands(&l, &c.problem, &plan));
        for (int pass = 0; pass < TLY_GPU_PASSES; pass++) {
            kir_free(kernels[pass]);
        }
    }
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static void (*const checks[])(size_t, const uint8_t *, size_t) = {
        check_launch,
#ifdef TALLY_VULKAN
        check_gpu_launch,
        check_gpu_plan,
#endif
    };
    enum { CHECKS = sizeof checks / sizeof *checks };
    if (bytes > 0) {
        checks[data[0] % CHECKS](data[0] / CHECKS, data + 1, bytes - 1);
    }
    return 0;
}
