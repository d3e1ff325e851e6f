/* Showing how a kernel is made, stage by stage, for people. */
#include "internal.h"

#include "cpu/cpu.h"
#include "error.h"

#include <string.h>

static tally_status write_word(const tly_request *request, tally_write write, void *user,
                               tally_error *error)
{
    char word[TALLY_WORD_MAX + 1];
    size_t length;
    tally_status status =
        tally_descriptor_print(&request->full, word, TALLY_WORD_MAX, &length, error);
    if (status != TALLY_OK) {
        return status;
    }
    word[length++] = '\n';
    if (write(user, word, length) != 0) {
        return tly_fail(error, TALLY_IO, "file", "the text could not be written");
    }
    return TALLY_OK;
}

static tally_status show_gpu(const tly_generator *generator, const tly_request *request,
                             tally_stage stage, tally_write write, void *user, tally_error *error)
{
    tly_gpu_plan plan;
    tally_status status = tly_plan_gpu(generator, request, &plan, error);
    if (status != TALLY_OK) {
        return status;
    }
    return generator->show_gpu(&request->problem, &request->caps, &plan, stage, write, user,
                               error);
}

static tally_status show(tally_context *context, const tly_request *request, tally_stage stage,
                         tally_write write, void *user, tally_error *error)
{
    if (stage == TALLY_STAGE_WORD) {
        return write_word(request, write, user, error);
    }
    const tly_generator *generator;
    tally_status status = tly_generator_find(context, &generator, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (request->level == TLY_LEVEL_NONE) {
        return show_gpu(generator, request, stage, write, user, error);
    }
    return generator->show(&request->problem, tly_level_name(request->level), request->plan, stage,
                           write, user, error);
}

tally_status tally_inspect(tally_context *context, const tally_descriptor *descriptor,
                           const tally_kernel_options *options, tally_stage stage,
                           tally_write write, void *user, tally_error *error)
{
    if (context == NULL || write == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "the context or the writer is NULL");
    }
    if ((int)stage < TALLY_STAGE_WORD || (int)stage > TALLY_STAGE_SPVASM) {
        return tly_fail(error, TALLY_INVALID, "usage", "there is no stage %d", (int)stage);
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    tly_request request;
    tally_status status = tly_request_resolve(context, descriptor, options, &request, error);
    if (status == TALLY_OK) {
        status = show(context, &request, stage, write, user, error);
    }
    tly_fork_leave();
    return status;
}
