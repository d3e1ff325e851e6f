/* SPDX-License-Identifier: Apache-2.0 */
/* Showing how a kernel is made, stage by stage, for people. */
#include "../context/internal.h"

#include "../cpu/cpu.h"
#include "../descriptor/descriptor.h"
#include "../host/error.h"
#include "../host/thread.h"
#include "inspect_launch.h"
#include "isolate.h"

#include <string.h>

/* Which kernels have a stage: those for a CPU, for Vulkan, and those with open sizes. */
enum { CPU = 1, VULKAN = 2, OPEN = 4 };

static const struct {
    const char *name;
    int kinds;
} stages[] = {
    [TALLY_STAGE_WORD] = { "word", CPU | VULKAN | OPEN },
    [TALLY_STAGE_PLAN] = { "plan", CPU | VULKAN | OPEN },
    [TALLY_STAGE_KIR] = { "kir", CPU | VULKAN | OPEN },
    [TALLY_STAGE_LLVM] = { "llvm", CPU },
    [TALLY_STAGE_ASM] = { "asm", CPU },
    [TALLY_STAGE_SPIRV] = { "spirv", VULKAN },
    [TALLY_STAGE_SPVASM] = { "spvasm", VULKAN },
    [TALLY_STAGE_LLVM_LINES] = { "llvm with lines", CPU },
    [TALLY_STAGE_ASM_LINES] = { "asm with lines", CPU },
    [TALLY_STAGE_REASONS] = { "reasons", CPU | VULKAN | OPEN },
    [TALLY_STAGE_LAUNCH] = { "launch", CPU | VULKAN },
    [TALLY_STAGE_CHOICES] = { "choices", CPU | VULKAN },
    [TALLY_STAGE_ORDER] = { "order", CPU | VULKAN },
};

enum { STAGES = sizeof stages / sizeof stages[0] };

static int kind_of(const tly_request *request)
{
    return request->level != TLY_LEVEL_NONE ? CPU : VULKAN;
}

const char *tly_stage_name(const tly_request *request, tally_stage stage)
{
    return stages[stage].kinds & kind_of(request) ? stages[stage].name : "";
}

tally_status tly_stage_check(const tly_request *request, tally_stage stage, tally_error *error)
{
    int cpu = kind_of(request) == CPU;
    int open = tly_has_open_size(&request->full);
    if (!(stages[stage].kinds & kind_of(request))) {
        tly_fail(error, TALLY_UNSUPPORTED, "device", "a kernel for %s has no stage %s",
                 cpu ? "a CPU" : "Vulkan", stages[stage].name);
        tly_error_hint(error, cpu ? "stages for a CPU: word plan kir llvm asm"
                                  : "stages for Vulkan: word plan kir spirv spvasm");
        return TALLY_UNSUPPORTED;
    }
    if (open && stage != TALLY_STAGE_WORD && (!cpu || !(stages[stage].kinds & OPEN))) {
        tly_fail(error, TALLY_INVALID, "sizes", "%s needs every size, and one is open",
                 cpu ? stages[stage].name : "a kernel for Vulkan");
        tly_error_hint(error, "with open sizes there are word, plan and kir, for a CPU");
        return TALLY_INVALID;
    }
    return TALLY_OK;
}

static tally_status write_word(const tly_request *request, tally_write write, void *user,
                               tally_error *error)
{
    char word[TALLY_WORD_MAX + 1];
    size_t length;
    tally_status status = tly_word_print(&request->full, word, TALLY_WORD_MAX, &length, error);
    if (status != TALLY_OK) {
        return status;
    }
    word[length++] = '\n';
    if (write(user, word, length) != 0) {
        return tly_fail(error, TALLY_IO, "file", "the text could not be written");
    }
    return TALLY_OK;
}

tally_status tly_stage_show(tally_context *context, const tly_request *request, tally_stage stage,
                            tally_write write, void *user, tally_error *error)
{
    if (stage == TALLY_STAGE_WORD) {
        return write_word(request, write, user, error);
    }
    const tly_generator *generator;
    tally_status status = tly_stack_check(error); /* `write` must be called on this thread */
    if (status == TALLY_OK) {
        status = tly_generator_find(context, &generator, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    tly_gpu_plan plan;
    const int gpu = request->level == TLY_LEVEL_NONE;
    status = gpu ? tly_plan_gpu(generator, request, &plan, error) : TALLY_OK;
    if (status == TALLY_OK && gpu && stage == TALLY_STAGE_CHOICES) {
        return generator->choices_gpu(&request->problem, &request->geometry, &request->caps,
                                      request->plan, write, user, error);
    }
    if (status == TALLY_OK && stage == TALLY_STAGE_LAUNCH) {
        return tly_inspect_launch(context, generator, request, gpu ? &plan : NULL, write, user,
                                  error);
    }
    return status != TALLY_OK ? status
                              : tly_make_show(context, generator, request, gpu ? &plan : NULL,
                                              stage, write, user, error);
}

tally_status tally_inspect(tally_context *context, const tally_descriptor *descriptor,
                           const tally_kernel_options *options, tally_stage stage,
                           tally_write write, void *user, tally_error *error)
{
    if (context == NULL || write == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the context or the writer is NULL");
    }
    if ((int)stage < TALLY_STAGE_WORD || (int)stage >= STAGES) {
        return tly_fail(error, TALLY_INVALID, "usage", "there is no stage %d", (int)stage);
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    tly_request request;
    const tly_asked asked = stage == TALLY_STAGE_WORD ? TLY_ASKED_WORD : TLY_ASKED_SHOW;
    tally_status status = tly_request_resolve(context, descriptor, options, asked, &request, error);
    if (status == TALLY_OK) {
        status = tly_stage_check(&request, stage, error);
    }
    if (status == TALLY_OK) {
        status = tly_stage_show(context, &request, stage, write, user, error);
    }
    tly_fork_leave();
    return status;
}
