/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR from text (tally/kir.h). Its launch is the one that the descriptor's own kernel has, so
 * that everything but the instructions is as in a run: what the generator interprets are the calls
 * or the dispatches. Kernels see addresses of their own, far apart from each other: whatever they
 * access beyond a tensor is found, and what they compute from addresses is the same on every
 * machine.
 */
#include "../context/internal.h"

#include <tally/kir.h>

#include "../cpu/cpu.h"
#include "../descriptor/descriptor.h"
#include "../host/checked.h"
#include "../host/error.h"
#include "../host/thread.h"
#include "../launch/dispatches.h"
#include "../launch/prepared.h"
#include "inspect_launch.h"

#include <stdlib.h>
#include <string.h>

/* As many as a person waits for, some half a minute. */
#define DEFAULT_STEPS UINT64_C(1000000000)

/* --- what is read ---------------------------------------------------------------------------- */

/* The generator, and the kernels of the text, to be given back to it. */
static tally_status read_text(tally_context *context, const char *text, size_t bytes,
                              const tly_generator **generator, tly_kir **kir, tally_error *error)
{
    tally_status status = tly_stack_check(error);
    if (status == TALLY_OK) {
        status = tly_generator_find(context, generator, error);
    }
    if (status == TALLY_OK &&
        (!tly_generator_lasting(*generator) || (*generator)->read_kir == NULL)) {
        status = tly_fail(error, TALLY_NO_GENERATOR, "device",
                          "this libtally-codegen reads no kernel IR");
    }
    return status == TALLY_OK ? (*generator)->read_kir(text, bytes, kir, error) : status;
}

static tally_status inspect(tally_context *context, const char *text, size_t bytes,
                            const tally_kernel_options *options, tally_stage stage,
                            tally_write write, void *user, tally_error *error)
{
    const tly_generator *generator;
    tly_request request = { .level = TLY_LEVEL_NONE };
    tly_kir *kir;
    tally_kernel_options known = { .size = sizeof known };
    tally_status status = TALLY_OK;
    if (options != NULL) {
        status = tly_struct_take(&known, sizeof known, options, "tally_kernel_options", error);
    }
    if (status == TALLY_OK) {
        status = tly_request_target(context, &known, &request, error);
    }
    if (status == TALLY_OK) {
        status = tly_stage_check(&request, stage, error);
    }
    if (status == TALLY_OK) {
        status = read_text(context, text, bytes, &generator, &kir, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    const int cpu = request.level != TLY_LEVEL_NONE;
    status = generator->show_kir(kir, cpu ? tly_level_name(request.level) : NULL,
                                 cpu ? NULL : &request.caps, stage, write, user, error);
    generator->drop_kir(kir);
    return status == TALLY_IO ? tly_fail(error, TALLY_IO, "file", "the text could not be written")
                              : status;
}

static tally_status check_call(const tally_context *context, const char *text, const void *other,
                               tally_error *error)
{
    return context != NULL && text != NULL && other != NULL
               ? TALLY_OK
               : tly_fail(error, TALLY_INVALID, "usage", "the %s is NULL",
                          context == NULL ? "context"
                          : text == NULL  ? "text"
                                          : "writer or the descriptor");
}

tally_status tally_kir_inspect(tally_context *context, const char *text, size_t bytes,
                               const tally_kernel_options *options, tally_stage stage,
                               tally_write write, void *user, tally_error *error)
{
    void *writer = NULL;
    memcpy(&writer, &write, sizeof writer);
    tally_status status = check_call(context, text, writer, error);
    if (status == TALLY_OK && stage != TALLY_STAGE_KIR && stage != TALLY_STAGE_LLVM &&
        stage != TALLY_STAGE_ASM && stage != TALLY_STAGE_SPIRV && stage != TALLY_STAGE_SPVASM) {
        status = tly_fail(error, TALLY_INVALID, "usage", "kernel IR has no stage %d", (int)stage);
    }
    if (status != TALLY_OK) {
        return status;
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    status = inspect(context, text, bytes, options, stage, write, user, error);
    tly_fork_leave();
    return status;
}

/* --- memory ---------------------------------------------------------------------------------- */

enum { SCRATCH = TLY_TENSOR_COUNT, PLACES };

typedef struct run {
    tally_context *context;
    const tly_generator *generator;
    tly_kir *kir;
    tly_request request;
    uint64_t steps;
    tly_kir_memory memory[PLACES];
    uint64_t zero[PLACES]; /* the address of element 0 */
} run;

static int is_written(const tly_problem *p, int t)
{
    return t < tly_tensors_of(p) && tly_is_written(tly_tensor_of(p, t));
}

/* Memory for the bytes from `low` up to `end`, counted from element 0, which is well aligned.
 * Devices access the words that it has a part in, whole. */
static tally_status lay(run *r, int place, int64_t low, int64_t end, int64_t word,
                        tally_error *error)
{
    const uint64_t first = (uint64_t)(place + 1) << 48;
    tly_kir_memory *memory = &r->memory[place];
    low -= ((low % word) + word) % word;
    end += (word - ((end % word) + word) % word) % word;
    r->zero[place] = first;
    memory->at = first + (uint64_t)low;
    memory->bytes = end > low ? (uint64_t)(end - low) : 0;
    memory->writable = place == SCRATCH || is_written(&r->request.problem, place);
    memory->data = calloc(1, (size_t)memory->bytes + 1);
    return memory->data != NULL
               ? TALLY_OK
               : tly_out_of_memory(error, "copies of the tensors", (size_t)memory->bytes);
}

/* What the kernel has at a tensor's `offset`, in bytes from element 0. */
static char *own(const run *r, int place, int64_t offset)
{
    return r->memory[place].data + (int64_t)(r->zero[place] - r->memory[place].at) + offset;
}

static int64_t word_of(const run *r)
{
    return r->request.level != TLY_LEVEL_NONE ? 1 : 4;
}

static tally_status copy_in(run *r, const tly_pointers *p, tally_error *error)
{
    for (int t = 0; t < tly_tensors_of(&r->request.problem); t++) {
        const tly_tensor_place *g = &r->request.geometry.tensor[t];
        const tally_dtype dtype = (tally_dtype)r->request.problem.tensor[t].dtype;
        const int64_t bytes = (int64_t)tally_dtype_bytes(dtype);
        const int64_t low = g->low * bytes, end = (g->high + 1) * bytes;
        const int has_any = low < end && p->at[t] != NULL;
        tally_status status = lay(r, t, has_any ? low : 0, has_any ? end : 0, word_of(r), error);
        if (status != TALLY_OK) {
            return status;
        }
        if (has_any) {
            memcpy(own(r, t, low), p->at[t] + low, (size_t)(end - low));
        }
    }
    return TALLY_OK;
}

/* The elements of the output, and nothing between them; and the states, which have no gaps. */
static void copy_out(const run *r, const tly_pointers *p)
{
    char *const out = p->at[TLY_OUT];
    const tally_descriptor *full = &r->request.full;
    const int64_t bytes = (int64_t)tally_dtype_bytes((tally_dtype)full->out_dtype);
    int64_t sizes[TALLY_MAX_RANK], index[TALLY_MAX_RANK] = { 0 };
    const int32_t rank = tly_result_shape(full, sizes);
    int64_t at = full->out_offset;
    const tly_tensor_place *place = &r->request.geometry.tensor[TLY_OUT];
    for (int32_t dim = place->high < place->low ? -1 : 0; dim >= 0;) {
        memcpy(out + at * bytes, own(r, TLY_OUT, at * bytes), (size_t)bytes);
        for (dim = rank - 1; dim >= 0; dim--) {
            at += full->out_strides[dim];
            if (++index[dim] < sizes[dim]) {
                break;
            }
            at -= full->out_strides[dim] * sizes[dim];
            index[dim] = 0;
        }
    }
    const int made = tly_tensors_of(&r->request.problem) - 1;
    if (full->carry & TALLY_CARRY_OUT) {
        memcpy(p->at[made], own(r, made, 0), (size_t)r->memory[made].bytes);
    }
}

/* --- launches -------------------------------------------------------------------------------- */

static tally_status call(run *r, tly_kir_call *c, tally_error *error)
{
    c->memory = r->memory;
    c->memory_count = PLACES;
    c->steps = &r->steps;
    return r->generator->call_kir(r->kir, c, error);
}

static tally_status fits(const run *r, uint32_t kernels, tally_error *error)
{
    return r->kir->count == kernels ? TALLY_OK
                                    : tly_fail(error, TALLY_INVALID, "kir",
                                               "the launch has %u kernel%s, and the text has %u",
                                               kernels, kernels == 1 ? "" : "s", r->kir->count);
}

static tally_status run_cpu(run *r, const tly_pointers *p, tally_error *error)
{
    tly_launch l;
    tly_prepared prepared = { .tiles = 0 };
    tally_status status = fits(r, 1, error);
    if (status == TALLY_OK && r->kir->workgroup[0] != 0) {
        status = tly_fail(error, TALLY_INVALID, "kir",
                          "the kernel has a workgroup, and the launch is on a CPU");
    }
    if (status == TALLY_OK) {
        status = tly_launch_record(r->context, r->generator, &r->request, NULL, &l, sizeof l,
                                   error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    tly_prepared_make(&prepared, &r->request.problem, &r->request.geometry, &l,
                      r->context->limits.scratch_bytes, tly_stream_bytes());
    status = lay(r, SCRATCH, 0, (int64_t)prepared.scratch_bytes, 1, error);
    tly_args args = prepared.args;
    for (int t = 0; t < tly_tensors_of(&r->request.problem); t++) {
        const int is_lacking = p->at[t] == NULL && t >= TLY_FIRST_OPERAND;
        args.tensor[t].base = (char *)(uintptr_t)(is_lacking
                                                      ? 0
                                                      : r->zero[t] + (uint64_t)prepared.first[t]);
    }
    args.flags = prepared.bytes > tly_stream_bytes() ? TLY_LAUNCH_STREAM : 0;
    tly_task task = { .scratch = (char *)(uintptr_t)r->zero[SCRATCH] };
    for (; status == TALLY_OK && task.begin < prepared.tiles; task.begin = task.end) {
        tly_kir_call c = { .args = &args, .task = &task };
        task.end = tly_call_end(&prepared, task.begin, prepared.tiles);
        status = call(r, &c, error);
    }
    return status;
}

/* A device that does not say gets small subgroups, so that every barrier counts. */
static uint32_t subgroup_of(const run *r, const tly_gpu_pass *pass)
{
    return pass->subgroup             ? pass->subgroup
           : r->request.caps.subgroup ? r->request.caps.subgroup
                                      : 4;
}

static tally_status dispatch(run *r, const tly_pointers *p, const tly_gpu_launch *l,
                             const tly_gpu_steps *steps, tally_error *error)
{
    tally_status status = TALLY_OK;
    tly_gpu_bases bases = { .scratch = r->zero[SCRATCH] };
    memcpy(bases.tensor, r->zero, sizeof bases.tensor); /* places are tensors, then the scratch */
    for (int t = TLY_FIRST_OPERAND; t < tly_tensors_of(&r->request.problem); t++) {
        bases.lacking |= p->at[t] == NULL ? tly_gpu_states_flag(&r->request.problem, t) : 0;
    }
    for (size_t i = 0; i < steps->count && status == TALLY_OK; i++) {
        const tly_gpu_step *step = &steps->step[i];
        const tly_push push = tly_gpu_step_place(steps, i, &bases);
        tly_kir_call c = { .kernel = step->pass,
                           .push = &push,
                           .groups_x = step->x,
                           .groups_y = step->y,
                           .subgroup = subgroup_of(r, &l->pass[step->pass]) };
        if (step->block) {
            const tly_gpu_block block = tly_gpu_step_block(steps, i, &bases);
            memcpy(r->memory[SCRATCH].data, &block, sizeof block);
        }
        if (step->zero) {
            memset(r->memory[SCRATCH].data + steps->zero_first, 0, (size_t)steps->zeroed);
        }
        status = call(r, &c, error);
    }
    return status;
}

static tally_status run_gpu(run *r, const tly_pointers *p, tally_error *error)
{
    tly_gpu_plan plan;
    tly_gpu_launch l;
    tly_gpu_steps steps = { .count = 0 };
    tally_status status = tly_plan_gpu(r->generator, &r->request, &plan, error);
    if (status == TALLY_OK) {
        status = tly_launch_record(r->context, r->generator, &r->request, &plan, &l, sizeof l,
                                   error);
    }
    if (status == TALLY_OK) {
        status = fits(r, l.passes, error);
    }
    for (uint32_t i = 0; status == TALLY_OK && i < l.passes; i++) {
        if (r->kir->workgroup[i] != l.pass[i].workgroup) {
            status = tly_fail(error, TALLY_INVALID, "kir",
                              "kernel %u of the launch has a workgroup of %u, and that of the "
                              "text has %u",
                              i + 1, l.pass[i].workgroup, r->kir->workgroup[i]);
        }
    }
    if (status == TALLY_OK) {
        status = tly_gpu_steps_make(&r->request.problem, &r->request.geometry, &plan, &l,
                                    &r->request.caps, &steps, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    status = lay(r, SCRATCH, 0, (int64_t)steps.scratch_bytes, word_of(r), error);
    if (status == TALLY_OK) {
        status = dispatch(r, p, &l, &steps, error);
    }
    tly_gpu_steps_free(&steps);
    return status;
}

static tally_status run_all(run *r, tly_pointers *p, tally_error *error)
{
    const int cpu = r->request.level != TLY_LEVEL_NONE;
    const tly_geometry *g = &r->request.geometry;
    if (g->empty) {
        return TALLY_OK;
    }
    tly_rules rules;
    tly_rules_make(&rules, &r->request.problem, g);
    tly_pointers_place(&rules, p);
    for (int t = 0; t < rules.tensors; t++) {
        const char *name = tly_tensor_name(tly_tensor_of(&r->request.problem, t));
        if (p->at[t] == NULL && g->tensor[t].high >= g->tensor[t].low &&
            !tly_may_be_missing(&rules, t)) {
            return tly_fail(error, TALLY_INVALID, name, "%s is NULL, and the tensor is not empty",
                            name);
        }
    }
    tally_status status = copy_in(r, p, error);
    if (status == TALLY_OK) {
        status = cpu ? run_cpu(r, p, error) : run_gpu(r, p, error);
    }
    if (status == TALLY_OK) {
        copy_out(r, p);
    }
    for (int place = 0; place < PLACES; place++) {
        free(r->memory[place].data);
    }
    return status;
}

static tally_status run_text(tally_context *context, const char *text, size_t bytes,
                             const tally_descriptor *descriptor,
                             const tally_kernel_options *options, tly_pointers *p, uint64_t steps,
                             tally_error *error)
{
    run r = { .context = context, .steps = steps > 0 ? steps : DEFAULT_STEPS };
    tally_status status = check_call(context, text, descriptor, error);
    if (status != TALLY_OK) {
        return status;
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    status = tly_request_resolve(context, descriptor, options, TLY_ASKED_RUN, &r.request, error);
    if (status == TALLY_OK) {
        status = read_text(context, text, bytes, &r.generator, &r.kir, error);
    }
    if (status == TALLY_OK) {
        status = run_all(&r, p, error);
        r.generator->drop_kir(r.kir);
    }
    tly_fork_leave();
    return status;
}

tally_status tally_kir_run(tally_context *context, const char *text, size_t bytes,
                           const tally_descriptor *descriptor, const tally_kernel_options *options,
                           const void *in, void *out, uint64_t steps, tally_error *error)
{
    tly_pointers p = tly_pointers_of(in, out);
    return run_text(context, text, bytes, descriptor, options, &p, steps, error);
}

tally_status tally_kir_run_buffers(tally_context *context, const char *text, size_t bytes,
                                   const tally_descriptor *descriptor,
                                   const tally_kernel_options *options,
                                   const tally_buffers *buffers, uint64_t steps, tally_error *error)
{
    tly_pointers p;
    tally_status status = tly_buffers_take(buffers, &p, error);
    return status == TALLY_OK
               ? run_text(context, text, bytes, descriptor, options, &p, steps, error)
               : status;
}
