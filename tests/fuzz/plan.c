/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan overrides. The input's first byte chooses problem and target, the rest is the text. An
 * accepted plan makes a kernel that the verifier accepts, and its print gives the same plan again.
 * A refusal says why.
 */
#include "cases.h"
#include "page.h"

#include "../../codegen/plan/planner.h"
#include "../../codegen/plan/target.h"
#include "../../templates/build.h"
#ifdef TALLY_VULKAN
#include "../../codegen/plan/gpu.h"
#endif

static void check_refusal(tally_status status, const tally_error *e)
{
    HOLDS(status == TALLY_INVALID || status == TALLY_UNSUPPORTED);
    HOLDS(e->field[0] != 0 && e->message[0] != 0);
}

static void check_cpu(const fuzz_case *c, const char *level, const char *text)
{
    const tly_target *target = tly_target_find(level);
    tly_plan plan, again;
    tly_launch launch;
    kir_kernel *kernel = NULL;
    fuzz_page print = { .length = 0 };
    tally_error e = TALLY_ERROR_INIT;
    memset(&plan, 0, sizeof plan);
    memset(&again, 0, sizeof again);
    const tally_status status = tly_plan_make(&c->problem, target, text, &plan, &e);
    if (status != TALLY_OK) {
        check_refusal(status, &e);
        return;
    }
    HOLDS(tly_template_build(&c->problem, target, &plan, &kernel, &launch, &e) == TALLY_OK);
    HOLDS(kir_verify(kernel, &e) == TALLY_OK);
    kir_free(kernel);
    HOLDS(tly_plan_print(&plan, fuzz_add, &print) == TALLY_OK);
    HOLDS(tly_plan_make(&c->problem, target, print.text, &again, &e) == TALLY_OK);
    HOLDS(memcmp(&plan, &again, sizeof plan) == 0);
}

#ifdef TALLY_VULKAN
static void check_gpu(const fuzz_case *c, const char *text)
{
    tly_gpu_plan plan;
    tly_gpu_launch launch;
    kir_kernel *kernels[TLY_GPU_PASSES];
    tally_error e = TALLY_ERROR_INIT;
    const tally_status status = tly_gpu_plan_make(&c->problem, &c->geometry, &fuzz_caps, text,
                                                  &plan, &e);
    if (status != TALLY_OK) {
        check_refusal(status, &e);
        return;
    }
    HOLDS(tly_gpu_plan_stands(&c->problem, &c->geometry, &fuzz_caps, &plan));
    HOLDS(tly_gpu_template_build(&c->problem, &fuzz_caps, &plan, kernels, &launch, &e) == TALLY_OK);
    for (int pass = 0; pass < TLY_GPU_PASSES; pass++) {
        kir_free(kernels[pass]);
    }
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4",
                                          "aarch64",   "riscv64",   NULL }; /* NULL: Vulkan */
    enum { LEVELS = sizeof levels / sizeof *levels };
    fuzz_case c;
    if (bytes == 0) {
        return 0;
    }
    const char *level = levels[data[0] % LEVELS];
    char *text = fuzz_text(data + 1, bytes - 1);
    fuzz_case_make(data[0] / LEVELS, level == NULL, &c);
    if (level != NULL) {
        check_cpu(&c, level, text);
    }
#ifdef TALLY_VULKAN
    else {
        check_gpu(&c, text);
    }
#endif
    free(text);
    return 0;
}
