/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels made here, or by the helper program where the context asks for that; see isolate.h. */
#include "isolate.h"

#include "../cpu/cpu.h"
#include "../host/error.h"
#include "helper.h"

#include <stdlib.h>
#include <string.h>

tally_status tly_make_cpu(const tally_context *context, const tly_generator *generator,
                          const tly_problem *problem, const char *level, const char *plan,
                          int quick, tly_artifact *artifact, tally_error *error)
{
    if (context->isolate == 0) {
        return (quick ? generator->generate_quick : generator->generate)(problem, level, plan,
                                                                         artifact, error);
    }
    tly_make_request request = { .what = quick ? TLY_MAKE_CPU_QUICK : TLY_MAKE_CPU,
                                 .problem = *problem };
    tly_make_reply reply;
    void *bytes[TLY_GPU_PASSES] = { NULL };
    strncpy(request.level, level, sizeof request.level - 1);
    tally_status status = tly_helper_ask(context, generator, &request, plan, &reply, bytes, error);
    if (status == TALLY_OK) {
        artifact->launch = reply.launch;
        artifact->code = bytes[0];
        artifact->code_bytes = (size_t)reply.bytes[0];
    }
    return status;
}

void tly_release_cpu(const tally_context *context, const tly_generator *generator,
                     tly_artifact *artifact)
{
    if (context->isolate == 0) {
        generator->release(artifact);
    } else {
        free(artifact->code);
        artifact->code = NULL;
        artifact->code_bytes = 0;
    }
}

tally_status tly_make_gpu(const tally_context *context, const tly_generator *generator,
                          const tly_problem *problem, const tly_caps *caps,
                          const tly_gpu_plan *plan, tly_gpu_artifact *artifact, tally_error *error)
{
    if (context->isolate == 0) {
        return generator->generate_gpu(problem, caps, plan, artifact, error);
    }
    tly_make_request request = {
        .what = TLY_MAKE_GPU, .problem = *problem, .caps = *caps, .plan = *plan
    };
    tly_make_reply reply;
    void *bytes[TLY_GPU_PASSES] = { NULL };
    tally_status status = tly_helper_ask(context, generator, &request, "", &reply, bytes, error);
    for (int i = 0; i < TLY_GPU_PASSES && status == TALLY_OK; i++) {
        artifact->launch = reply.gpu;
        artifact->words[i] = bytes[i];
        artifact->word_count[i] = (size_t)reply.bytes[i] / sizeof(uint32_t);
    }
    return status;
}

void tly_release_gpu_artifact(const tally_context *context, const tly_generator *generator,
                              tly_gpu_artifact *artifact)
{
    if (context->isolate == 0) {
        generator->release_gpu(artifact);
        return;
    }
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        free(artifact->words[i]);
        artifact->words[i] = NULL;
        artifact->word_count[i] = 0;
    }
}

tally_status tly_make_open(const tally_context *context, const tly_generator *generator, int gpu,
                           tally_error *error)
{
    if (context->isolate != 0) {
        return tly_helper_look(generator, error);
    }
    return tly_generator_lasting(generator) && generator->open != NULL ? generator->open(gpu, error)
                                                                       : TALLY_OK;
}

/* Stages that neither LLVM nor SPIRV-Tools have a part in. */
static int is_plain(tally_stage stage)
{
    return stage == TALLY_STAGE_PLAN || stage == TALLY_STAGE_KIR || stage == TALLY_STAGE_REASONS ||
           stage >= TALLY_STAGE_LAUNCH;
}

tally_status tly_make_show(const tally_context *context, const tly_generator *generator,
                           const tly_request *request, const tly_gpu_plan *gpu, tally_stage stage,
                           tally_write write, void *user, tally_error *error)
{
    const char *level = gpu == NULL ? tly_level_name(request->level) : "";
    if (context->isolate == 0 || is_plain(stage)) {
        return gpu == NULL ? generator->show(&request->problem, level, request->plan, stage, write,
                                             user, error)
                           : generator->show_gpu(&request->problem, &request->caps, gpu, stage,
                                                 write, user, error);
    }
    tly_make_request wanted = { .what = gpu == NULL ? TLY_MAKE_SHOW_CPU : TLY_MAKE_SHOW_GPU,
                                .stage = (uint32_t)stage,
                                .problem = request->problem };
    tly_make_reply reply;
    void *bytes[TLY_GPU_PASSES] = { NULL };
    strncpy(wanted.level, level, sizeof wanted.level - 1);
    if (gpu != NULL) {
        wanted.caps = request->caps;
        wanted.plan = *gpu;
    }
    tally_status status = tly_helper_ask(context, generator, &wanted, request->plan, &reply, bytes,
                                         error);
    if (status == TALLY_OK && bytes[0] != NULL &&
        write(user, bytes[0], (size_t)reply.bytes[0]) != 0) {
        status = tly_fail(error, TALLY_IO, "file", "the text could not be written");
    }
    tly_helper_drop(bytes);
    return status;
}
