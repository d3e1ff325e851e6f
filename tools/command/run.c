/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally run: a word, a file in, a file or the printed result out. The order of its steps is the
 * order in which errors are judged: command line, word, device, input, what contradicts, kernel,
 * elements, output.
 */
#include "run.h"

#include "../common/about.h"
#include "../files/file.h"
#include "../files/job.h"
#include "../files/new_files.h"
#include "../files/offsets.h"
#include "../files/print.h"
#include "../files/states.h"

#include <stdlib.h>
#include <string.h>

/* Everything that one run holds; zero is nothing. */
typedef struct job {
    const tly_options *options;
    const char *word, *in;
    const tly_computer *computer; /* NULL: the kernel */
    tly_input input;
    tly_operands operands;
    tly_states states;
    tly_offsets offsets;
    tly_job job;
    char selector[32];
    tally_context *context;
    tally_kernel *kernel;
    char *result; /* in place of the input's elements, or the buffer */
    char *buffer;
    size_t result_bytes; /* of OUT's elements */
} job;

static int check_in_place(const tly_job *s, tly_report *report)
{
    const tally_descriptor *d = &s->descriptor;
    const char *why = !s->scan ? "only scans" : s->in.dtype != s->out.dtype ? "equal dtypes" : NULL;
    for (int i = 0; s->scan && i < d->rank && !why; i++) {
        if (d->sizes[i] != 1 && s->in.strides[i] != s->out.strides[i]) {
            why = "equal strides of input and output";
        }
    }
    if (!why && s->in.offset != s->out.offset) {
        why = "equal offsets of input and output";
    }
    return why ? tly_refuse(report, EXIT_USAGE, "usage", "--in-place takes %s", why) : EXIT_DONE;
}

static int make_kernel(job *j, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context_options context = { .size = sizeof context, .threads = j->options->threads };
    tally_kernel_options kernel = { .size = sizeof kernel,
                                    .device = j->selector,
                                    .plan = j->options->plan[0] ? j->options->plan : NULL };
    if (tally_context_create(&context, &j->context, &error) != TALLY_OK ||
        tally_kernel_create(j->context, &j->job.descriptor, &kernel, &j->kernel, &error) !=
            TALLY_OK) {
        return tly_adopt(report, &error);
    }
    return EXIT_DONE;
}

/* Copies the elements, and nothing between them, to the same places of the buffer. */
static void copy_elements(const job *j)
{
    const tally_descriptor *d = &j->job.descriptor;
    const tly_layout *layout = &j->job.in;
    int64_t index[TALLY_MAX_RANK] = { 0 };
    int64_t at = layout->offset;
    for (int64_t left = j->job.in.count; left > 0; left--) {
        int dim = d->rank - 1;
        size_t byte = (size_t)at * layout->element;
        memcpy(j->buffer + byte, (const char *)j->input.data + byte, layout->element);
        for (; dim >= 0; dim--) {
            at += layout->strides[dim];
            if (++index[dim] < d->sizes[dim]) {
                break;
            }
            at -= layout->strides[dim] * d->sizes[dim];
            index[dim] = 0;
        }
    }
}

/* Where the result goes: the input's own memory where that is what OUT is to hold, else a zeroed
 * buffer, so that gaps between the elements are zero. */
static int make_room(job *j, tly_report *report)
{
    const tly_job *s = &j->job;
    int in_place = (j->options->given & OPTION_IN_PLACE) != 0;
    j->result_bytes = (size_t)(s->out.high + 1) * s->out.element;
    if (in_place && s->in.count == j->input.npy.count && s->in.count == s->out.high + 1) {
        j->result = j->input.data;
        return EXIT_DONE;
    }
    j->result = j->buffer = tly_memory_get(j->result_bytes);
    if (!j->buffer) {
        return tly_refuse(report, EXIT_MEMORY, "sizes", "no memory for the result's %zu bytes",
                          j->result_bytes);
    }
    if (in_place) {
        copy_elements(j);
    }
    return EXIT_DONE;
}

static int compute(job *j, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    const void *in = j->options->given & OPTION_IN_PLACE ? j->result : j->input.data;
    tly_progress("computing", 0);
    tally_buffers buffers = { .size = sizeof buffers,
                              .in = in,
                              .out = j->result,
                              .offsets = j->offsets.from,
                              .carry_in = j->states.from,
                              .carry_out = j->states.to };
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        buffers.operand[i] = j->operands.of[i].data;
    }
    if (j->computer) {
        return j->computer->compute(j->computer->user, &j->job.descriptor, &buffers, report);
    }
    if (j->job.out.count == 0 && !j->states.to) {
        return EXIT_DONE;
    }
    if (tally_kernel_run_buffers(j->kernel, &buffers, NULL, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    return EXIT_DONE;
}

/* OUT as a tensor: the result's shape, or with out= one dim. */
static int find_shape(const job *j, int64_t sizes[TALLY_MAX_RANK])
{
    const tly_layout *out = &j->job.out;
    memcpy(sizes, out->sizes, sizeof out->sizes);
    if (j->job.flat_out) {
        sizes[0] = out->high + 1;
    }
    return j->job.flat_out ? 1 : out->rank;
}

static int write_npy(const job *j, tly_output *output, tly_report *report)
{
    char header[NPY_MAX_HEADER];
    int64_t sizes[TALLY_MAX_RANK];
    const int rank = find_shape(j, sizes);
    const size_t length = tly_npy_format(j->job.out.dtype, rank, sizes, header);
    tly_progress("writing", j->result_bytes);
    int status = tly_output_write(output, header, length, report);
    return status ? status : tly_output_write(output, j->result, j->result_bytes, report);
}

static int write_text(const job *j, tly_output *output, tly_report *report)
{
    tly_text text = { NULL, 0, 0, 0 };
    int64_t sizes[TALLY_MAX_RANK];
    const int rank = find_shape(j, sizes);
    tly_print_tensor(&text, j->job.out.dtype, rank, sizes, j->result);
    tly_progress_end(); /* which may be shown on the same terminal */
    int status = text.failed ? tly_refuse(report, EXIT_MEMORY, "sizes", "no memory for the text")
                             : tly_output_write(output, text.text, text.length, report);
    free(text.text);
    return status;
}

static int write_states(const job *j, tly_output *output, tly_report *report)
{
    char header[NPY_MAX_HEADER];
    const tly_states *s = &j->states;
    const size_t length = tly_npy_format(s->dtype, s->rank, s->sizes, header);
    const int status = tly_output_write(output, header, length, report);
    return status ? status : tly_output_write(output, s->to, s->bytes, report);
}

static int check_files(const job *j, tly_report *report)
{
    int status = tly_input_check(&j->input, report);
    if (!status) {
        status = tly_operand_files_check(&j->operands, report);
    }
    if (!status) {
        status = tly_states_check(&j->states, report);
    }
    return status ? status : tly_offsets_check(&j->offsets, report);
}

/* The outputs of a run, the second only if the word hands on states. */
typedef struct outputs {
    tly_output result, states;
    int has_states;
} outputs;

static void drop_outputs(outputs *o)
{
    tly_output_drop(&o->result);
    if (o->has_states) {
        tly_output_drop(&o->states);
    }
}

static int open_outputs(const job *j, outputs *o, tly_report *report)
{
    const char *path = j->options->out;
    int status = tly_output_open(&o->result, path ? path : "-", report);
    o->has_states = 0;
    if (!status && j->states.to) {
        status = tly_output_open(&o->states, j->states.path, report);
        o->has_states = !status;
        if (status) {
            tly_output_drop(&o->result);
        }
    }
    return status;
}

/* The states come first, since what is printed cannot be taken back. */
static int write_outputs(const job *j, outputs *o, tly_report *report)
{
    const int status = o->has_states ? write_states(j, &o->states, report) : EXIT_DONE;
    return status            ? status
           : j->options->out ? write_npy(j, &o->result, report)
                             : write_text(j, &o->result, report);
}

static int finish_outputs(outputs *o, tly_report *report)
{
    const int status = tly_output_finish(&o->result, report);
    if (status && o->has_states) {
        tly_output_drop(&o->states);
    }
    return !status && o->has_states ? tly_output_finish(&o->states, report) : status;
}

static int compute_and_write(job *j, tly_report *report)
{
    const char *path = j->options->out;
    outputs o;
    int status = open_outputs(j, &o, report);
    if (status) {
        return status;
    }
    status = compute(j, report);
    /* A changed input is the reason for any failure, and must be known before anything is
     * printed. */
    if (!path && !status) {
        status = check_files(j, report);
    }
    if (!status) {
        status = write_outputs(j, &o, report);
    }
    if (path && check_files(j, report)) {
        status = EXIT_FILE;
    }
    if (status) {
        drop_outputs(&o);
        return status;
    }
    return finish_outputs(&o, report);
}

/* A terminal gets text alone. */
static int check_output(const job *j, tly_report *report)
{
    const char *out = j->options->out, *quote = tly_quote_of(j->word);
    const char *states = j->options->carry_out;
    if (states && tly_output_is_terminal(states)) {
        return tly_refuse(report, EXIT_USAGE, "usage", "states are binary, and %s is a terminal",
                          strcmp(states, "-") == 0 ? "standard output" : states);
    }
    if (states && (strcmp(states, "-") == 0 ? !out || strcmp(out, "-") == 0
                                            : out && tly_paths_are_one(out, states))) {
        tly_refuse(report, EXIT_USAGE, "usage", "the result and the states go to one file");
        tly_hint(report, "-o OUT.npy --carry-out FILE, and two names");
        return EXIT_USAGE;
    }
    if (!out || !tly_output_is_terminal(out)) {
        return EXIT_DONE;
    }
    tly_refuse(report, EXIT_USAGE, "usage", "a .npy file is binary, and %s is a terminal",
               strcmp(out, "-") == 0 ? "standard output" : out);
    tly_hint(report, "without -o the result is printed: tally run %s%s%s %s", quote, j->word, quote,
             j->in);
    return EXIT_USAGE;
}

static int is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int reads_standard_input(const job *j)
{
    int reads = is_standard(j->in);
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        reads |= is_standard(j->operands.of[i].given);
    }
    return reads;
}

/* The operands and the carry of the word beside the arguments. */
static int match_tensors(job *j, tly_report *report)
{
    const tly_options *o = j->options;
    const char *verb = j->computer ? j->computer->verb : "run";
    tly_operands_read(j->word, &j->operands);
    int status = tly_operands_match(&j->operands, verb, j->word, o->arg + o->args, o->named,
                                    o->operand_raw, j->in, report);
    if (!status) {
        j->states.given = o->carry_in;
        j->states.raw = o->carry_raw;
        j->states.path = o->carry_out;
        status = tly_states_match(&j->states, verb, j->word, j->in, report);
    }
    if (!status &&
        is_standard(o->carry_in) + is_standard(o->offsets) + reads_standard_input(j) > 1) {
        tly_refuse(report, EXIT_USAGE, is_standard(o->carry_in) ? "carry_in" : "offsets",
                   "standard input can be read only once");
        tly_hint(report, "put one of the tensors into a file");
        status = EXIT_USAGE;
    }
    return status;
}

static int read_and_judge(job *j, tly_report *report)
{
    tally_dtype dtype;
    int status = check_output(j, report);
    if (!status) {
        status = tly_job_check(j->word, &dtype, report);
    }
    if (!status) {
        status = match_tensors(j, report);
    }
    if (!status) {
        status = tly_device_find(j->options->device, j->selector, report);
    }
    if (!status) {
        status = tly_input_open(&j->input, j->in, j->options->raw, dtype, report);
    }
    if (!status) {
        status = tly_job_make(j->word, &j->input.npy, j->input.name, &j->operands, &j->job, report);
    }
    if (!status) {
        status = tly_states_place(&j->states, &j->job.descriptor, report);
    }
    if (!status) {
        j->offsets.given = j->options->offsets;
        status = tly_offsets_place(&j->offsets, &j->job.descriptor, j->word, report);
    }
    if (!status && j->options->given & OPTION_IN_PLACE) {
        status = check_in_place(&j->job, report);
    }
    return status;
}

int tly_run_word(const tly_options *options, const char *word, const char *in,
                 const tly_computer *computer, tly_report *report)
{
    job j = { .options = options, .word = word, .in = in, .computer = computer };
    int status = read_and_judge(&j, report);
    if (!status && !computer) {
        status = make_kernel(&j, report);
    }
    if (!status) {
        status = tly_input_load(&j.input, report);
    }
    if (!status) {
        status = tly_operands_load(&j.operands, report);
    }
    if (!status) {
        status = tly_states_load(&j.states, report);
    }
    if (!status) {
        status = tly_offsets_load(&j.offsets, report);
    }
    if (!status) {
        status = make_room(&j, report);
    }
    if (!status) {
        status = compute_and_write(&j, report);
    }
    tally_kernel_destroy(&j.kernel);
    tally_context_destroy(&j.context);
    tly_memory_free(j.buffer, j.result_bytes);
    tly_input_close(&j.input);
    tly_operands_close(&j.operands);
    tly_states_close(&j.states);
    tly_offsets_close(&j.offsets);
    return status;
}

int tly_verb_run(const tly_options *options, tly_report *report)
{
    return tly_run_word(options, options->arg[0], options->arg[1], NULL, report);
}
