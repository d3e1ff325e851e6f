/* SPDX-License-Identifier: Apache-2.0 */
/* The generator's pipeline for Vulkan: problem, plan, kernel IR a pass, SPIR-V. */
#include "generate_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "../templates/build.h"
#include "spirv/spirv.h"

void tly_release_gpu(tly_gpu_artifact *artifact)
{
    for (int pass = 0; pass < TLY_GPU_PASSES; pass++) {
        free(artifact->words[pass]);
        artifact->words[pass] = NULL;
        artifact->word_count[pass] = 0;
    }
}

static void free_kernels(kir_kernel **kernels)
{
    for (int pass = 0; pass < TLY_GPU_PASSES; pass++)
        kir_free(kernels[pass]);
}

tally_status tly_gpu_lower(const kir_kernel *kernel, const tly_caps *caps, int lines,
                           uint32_t **words, size_t *count, tally_error *error)
{
    const tly_spirv_options options = { .caps = caps,
                                        .addresses = (kernel->facts & KIR_ADDRESSES) != 0,
                                        .lines = (uint32_t)lines,
                                        .apart = (kernel->facts & KIR_APART) != 0 };
    return tly_spirv_lower(kernel, &options, words, count, error);
}

static tally_status lower(kir_kernel **kernels, const tly_caps *caps, int lines,
                          tly_gpu_artifact *made, tally_error *error)
{
    tally_status status = TALLY_OK;
    for (uint32_t pass = 0; pass < made->launch.passes && status == TALLY_OK; pass++)
        status = tly_gpu_lower(kernels[pass], caps, lines, &made->words[pass],
                               &made->word_count[pass], error);
    if (status != TALLY_OK)
        tly_release_gpu(made);
    return status;
}

tally_status tly_generate_gpu(const tly_problem *problem, const tly_caps *caps,
                              const tly_gpu_plan *plan, tly_gpu_artifact *artifact,
                              tally_error *error)
{
    kir_kernel *kernels[TLY_GPU_PASSES];
    tly_gpu_artifact made;
    memset(&made, 0, sizeof made);
    tally_status status = tly_gpu_template_build(problem, caps, plan, kernels, &made.launch, error);
    if (status != TALLY_OK)
        return status;
    status = lower(kernels, caps, 0, &made, error);
    free_kernels(kernels);
    if (status == TALLY_OK)
        *artifact = made;
    return status;
}

/* Words as little-endian bytes, whatever this machine is. */
tally_status tly_gpu_write_words(const uint32_t *words, size_t count, tally_write write, void *user)
{
    for (size_t i = 0; i < count; i++) {
        char bytes[4];
        for (int k = 0; k < 4; k++)
            bytes[k] = (char)(words[i] >> 8 * k);
        if (write(user, bytes, sizeof bytes) != 0)
            return TALLY_IO;
    }
    return TALLY_OK;
}

tally_status tly_show_gpu(const tly_problem *problem, const tly_caps *caps,
                          const tly_gpu_plan *plan, tally_stage stage, tally_write write,
                          void *user, tally_error *error)
{
    kir_kernel *kernels[TLY_GPU_PASSES];
    tly_gpu_artifact made;
    if (stage == TALLY_STAGE_PLAN)
        return tly_gpu_plan_print(plan, write, user);
    if (stage == TALLY_STAGE_ORDER)
        return tly_gpu_plan_order(problem, plan, write, user);
    if (stage == TALLY_STAGE_REASONS)
        return tly_gpu_plan_explain(plan, write, user);
    if (stage != TALLY_STAGE_KIR && stage != TALLY_STAGE_SPIRV && stage != TALLY_STAGE_SPVASM &&
        stage != TALLY_STAGE_LAUNCH)
        return tly_fail(error, TALLY_UNSUPPORTED, "device",
                        "a Vulkan kernel has the stages word, plan, kir, spirv and spvasm");
    memset(&made, 0, sizeof made);
    tally_status status = tly_gpu_template_build(problem, caps, plan, kernels, &made.launch, error);
    if (status != TALLY_OK)
        return status;
    if (stage == TALLY_STAGE_LAUNCH) {
        free_kernels(kernels);
        return write(user, (const char *)&made.launch, sizeof made.launch) == 0 ? TALLY_OK
                                                                                : TALLY_IO;
    }
    if (stage != TALLY_STAGE_KIR)
        status = lower(kernels, caps, stage == TALLY_STAGE_SPVASM, &made, error);
    for (uint32_t pass = 0; pass < made.launch.passes && status == TALLY_OK; pass++) {
        if (stage == TALLY_STAGE_KIR)
            status = kir_print(kernels[pass], write, user);
        else if (stage == TALLY_STAGE_SPIRV)
            status = tly_gpu_write_words(made.words[pass], made.word_count[pass], write, user);
        else
            status = tly_spirv_show(made.words[pass], made.word_count[pass], made.launch.addresses,
                                    write, user, error);
    }
    tly_release_gpu(&made);
    free_kernels(kernels);
    return status;
}
