/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generator's pipeline on one page: problem, plan, kernel IR, native code; and its door, the
 * table of functions that the runtime gets. libtally-llvm is opened when native code must be made.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../runtime/cache/identity.h"
#include "../runtime/host/error.h"
#include "../runtime/host/library.h"
#include "../templates/build.h"
#include "draft.h"
#include "generate_gpu.h"
#include "generate_kir.h"
#include "shared/native.h"
#ifdef TALLY_VULKAN
#include "spirv/spirv.h"
#endif

static pthread_mutex_t native_lock = PTHREAD_MUTEX_INITIALIZER;
static const tly_native *opened; /* NULL: not opened yet; guarded by native_lock */

/* libtally-llvm lies beside this library. Never closed: LLVM's state lives as long as the
 * process. */
static tally_status open_native(tally_error *error)
{
    static const char *const beside[] = { "", NULL };
    void *symbol;
    tally_status s = tly_library_find("libtally-llvm.so", beside, TLY_NATIVE_SYMBOL, &symbol,
                                      error);
    if (s != TALLY_OK)
        return s;
    tly_native_get get;
    memcpy(&get, &symbol, sizeof get);
    const tly_native *found = get();
    if (found->version != TLY_GENERATOR_VERSION)
        return tly_fail(error, TALLY_NO_GENERATOR, "device",
                        "libtally-llvm is of generator version %u, not %u", found->version,
                        TLY_GENERATOR_VERSION);
    opened = found;
    return TALLY_OK;
}

/* A failure is not remembered: what was missing may be there for the next kernel. */
tally_status tly_native_need(const tly_native **native, tally_error *error)
{
    pthread_mutex_lock(&native_lock);
    tally_status s = opened != NULL ? TALLY_OK : open_native(error);
    *native = opened;
    pthread_mutex_unlock(&native_lock);
    return s;
}

static tally_status plan_draft(const tly_problem *problem, const char *level, const char *plan,
                               tly_draft *d, tally_error *error)
{
    d->target = tly_target_find(level);
    if (d->target == NULL)
        return tly_fail(error, TALLY_INVALID, "device", "there is no CPU level '%s'", level);
    return tly_plan_make(problem, d->target, plan, &d->plan, error);
}

static tally_status build_draft(const tly_problem *problem, tly_draft *d, tally_error *error)
{
    return tly_template_build(problem, d->target, &d->plan, &d->kernel, &d->launch, error);
}

tally_status tly_draft_make(const tly_problem *problem, const char *level, const char *plan,
                            tly_draft *d, tally_error *error)
{
    d->kernel = NULL;
    tally_status s = plan_draft(problem, level, plan, d, error);
    return s == TALLY_OK ? build_draft(problem, d, error) : s;
}

static tally_status generate_by(const tly_problem *problem, const char *level, const char *plan,
                                int quick, tly_artifact *artifact, tally_error *error)
{
    tly_draft d = { .kernel = NULL };
    tly_artifact made;
    const tly_native *native;
    tally_status s = plan_draft(problem, level, plan, &d, error);
    if (s == TALLY_OK)
        s = tly_native_need(&native, error);
    if (s == TALLY_OK)
        s = build_draft(problem, &d, error);
    if (s != TALLY_OK)
        return s;
    s = (quick ? native->compile_quick : native->compile)(d.kernel, d.target, &made.code,
                                                          &made.code_bytes, error);
    kir_free(d.kernel);
    if (s != TALLY_OK)
        return s;
    made.launch = d.launch;
    *artifact = made;
    return TALLY_OK;
}

static tally_status generate(const tly_problem *problem, const char *level, const char *plan,
                             tly_artifact *artifact, tally_error *error)
{
    return generate_by(problem, level, plan, 0, artifact, error);
}

static tally_status generate_quick(const tly_problem *problem, const char *level, const char *plan,
                                   tly_artifact *artifact, tally_error *error)
{
    return generate_by(problem, level, plan, 1, artifact, error);
}

static void release(tly_artifact *artifact)
{
    const tly_native *native;
    if (artifact->code != NULL && tly_native_need(&native, NULL) == TALLY_OK)
        native->release(artifact->code);
    artifact->code = NULL;
    artifact->code_bytes = 0;
}

static tally_status show(const tly_problem *problem, const char *level, const char *plan,
                         tally_stage stage, tally_write write, void *user, tally_error *error)
{
    tly_draft d = { .kernel = NULL };
    const tly_native *native = NULL;
    tally_status s = plan_draft(problem, level, plan, &d, error);
    if (s == TALLY_OK && stage == TALLY_STAGE_PLAN)
        return tly_plan_print(&d.plan, write, user);
    if (s == TALLY_OK && stage == TALLY_STAGE_CHOICES)
        return tly_plan_choices(problem, d.target, plan, write, user, error);
    if (s == TALLY_OK && stage == TALLY_STAGE_ORDER)
        return tly_plan_order(problem, &d.plan, write, user);
    if (s == TALLY_OK && stage == TALLY_STAGE_REASONS)
        return tly_plan_explain(&d.plan, write, user);
    if (s == TALLY_OK && stage != TALLY_STAGE_KIR && stage != TALLY_STAGE_LAUNCH)
        s = tly_native_need(&native, error);
    if (s == TALLY_OK)
        s = build_draft(problem, &d, error);
    if (s != TALLY_OK)
        return s;
    if (stage == TALLY_STAGE_KIR)
        s = kir_print(d.kernel, write, user);
    else if (stage == TALLY_STAGE_LAUNCH)
        s = write(user, (const char *)&d.launch, sizeof d.launch) == 0 ? TALLY_OK : TALLY_IO;
    else
        s = native->show(d.kernel, d.target, stage, write, user, error);
    kir_free(d.kernel);
    return s;
}

static tally_status check(const tly_problem *problem, const char *level, const char *plan,
                          tally_error *error)
{
    tly_draft d = { .kernel = NULL };
    return plan_draft(problem, level, plan, &d, error);
}

static tally_status open_library(int gpu, tally_error *error)
{
    const tly_native *native;
#ifdef TALLY_VULKAN
    if (gpu)
        return tly_spirv_open(error);
#endif
    (void)gpu;
    return tly_native_need(&native, error);
}

static const tly_generator generator = {
    .abi = TLY_ABI_VERSION,
    .version = TLY_GENERATOR_VERSION,
    .identity = tly_identity,
    .generate = generate,
    .release = release,
    .show = show,
    .generate_quick = generate_quick,
    .ahead = tly_generate_ahead,
    .read_kir = tly_kir_read,
    .drop_kir = tly_kir_drop,
    .show_kir = tly_kir_show,
    .call_kir = tly_kir_call_kernel,
    .check = check,
    .open = open_library,
#ifdef TALLY_VULKAN
    .plan_gpu = tly_gpu_plan_make,
    .generate_gpu = tly_generate_gpu,
    .release_gpu = tly_release_gpu,
    .show_gpu = tly_show_gpu,
    .choices_gpu = tly_gpu_plan_choices,
#endif
};

TALLY_API const tly_generator *tally_codegen_generator(void);

const tly_generator *tally_codegen_generator(void)
{
    return &generator;
}
