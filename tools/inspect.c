/*
 * tally inspect: one stage of a kernel's making, as text, whole or not at all.
 */
#include "file.h"
#include "subject.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int made; /* by this version */
    tally_stage stage;
} stages[] = {
    { "word", 1, TALLY_STAGE_WORD }, { "plan", 1, TALLY_STAGE_PLAN },
    { "kir", 1, TALLY_STAGE_KIR },   { "llvm", 1, TALLY_STAGE_LLVM },
    { "asm", 1, TALLY_STAGE_ASM },   { "spirv", 0, TALLY_STAGE_WORD },
    { "spvasm", 0, TALLY_STAGE_WORD },
};

enum { STAGES = sizeof stages / sizeof *stages };

/* Text that grows; the library hands it over piece by piece. */
typedef struct page {
    char *text;
    size_t length, room;
    int failed;
} page;

static int add(void *user, const char *text, size_t bytes)
{
    page *p = user;
    if (p->room - p->length < bytes) {
        size_t room = p->room * 2 > p->length + bytes ? p->room * 2 : p->length + bytes + 4096;
        char *larger = realloc(p->text, room);
        if (!larger) {
            p->failed = 1;
            return 1;
        }
        p->text = larger;
        p->room = room;
    }
    if (bytes) {
        memcpy(p->text + p->length, text, bytes);
        p->length += bytes;
    }
    return 0;
}

static int find_stage(const tly_options *options, int *stage, tly_report *report)
{
    const char *name = options->emit ? options->emit : "";
    for (*stage = 0; *stage < STAGES; ++*stage) {
        if (strcmp(stages[*stage].name, name) == 0) {
            return EXIT_DONE;
        }
    }
    tly_refuse(report, EXIT_USAGE, "usage",
               options->emit ? "there is no stage '%s'" : "--emit STAGE is missing%s", name);
    tly_hint(report, "--emit word|plan|kir|llvm|asm|spirv|spvasm");
    return EXIT_USAGE;
}

static int read_subject(const tly_options *options, tly_subject *subject, tly_report *report)
{
    tly_input input;
    int status;
    if (options->args < 2) {
        return tly_subject_make(options->arg[0], NULL, NULL, subject, report);
    }
    status = tly_subject_check(options->arg[0], report);
    if (status) {
        return status;
    }
    status = tly_input_open(&input, options->arg[1], report);
    if (!status) {
        status = tly_subject_make(options->arg[0], &input.npy, input.name, subject, report);
    }
    tly_input_close(&input);
    return status;
}

static int make_text(const tly_subject *subject, const char *selector, tally_stage stage,
                     page *text, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tally_kernel_options kernel = { .size = sizeof kernel, .device = selector };
    tally_status made;
    /* A word can be shown even where no kernel for it exists. */
    if (stage == TALLY_STAGE_WORD) {
        made = add(text, subject->word, strlen(subject->word)) || add(text, "\n", 1)
                   ? TALLY_IO : TALLY_OK;
    } else {
        made = tally_context_create(NULL, &context, &error);
        if (made == TALLY_OK) {
            made = tally_inspect(context, &subject->descriptor, &kernel, stage, add, text, &error);
        }
        tally_context_destroy(&context);
    }
    if (text->failed) {
        return tly_refuse(report, EXIT_MEMORY, "sizes", "no memory for the text");
    }
    return made == TALLY_OK ? EXIT_DONE : tly_adopt(report, &error);
}

static int write_text(const char *path, const page *text, tly_report *report)
{
    tly_output output;
    int status = tly_output_open(&output, path, report);
    if (status) {
        return status;
    }
    status = tly_output_write(&output, text->text, text->length, report);
    if (status) {
        tly_output_drop(&output);
        return status;
    }
    return tly_output_finish(&output, report);
}

int tly_verb_inspect(const tly_options *options, tly_report *report)
{
    page text = { NULL, 0, 0, 0 };
    tly_subject subject;
    char selector[32];
    int stage;
    int status = find_stage(options, &stage, report);
    if (!status && (options->given & OPTION_DEVICE) && (options->given & OPTION_PROFILE)) {
        status = tly_refuse(report, EXIT_USAGE, "usage",
                            "--device and --profile exclude each other");
    }
    if (!status) {
        status = tly_device_find(options->device, selector, report);
    }
    if (!status) {
        status = read_subject(options, &subject, report);
    }
    if (!status && (options->given & OPTION_PROFILE || !stages[stage].made)) {
        status = tly_refuse(report, EXIT_UNSUPPORTED, "device",
                            "this version makes kernels for CPUs only: no %s",
                            options->given & OPTION_PROFILE ? "--profile" : stages[stage].name);
    }
    if (!status) {
        status = make_text(&subject, selector, stages[stage].stage, &text, report);
    }
    if (!status) {
        status = write_text(options->out ? options->out : "-", &text, report);
    }
    free(text.text);
    return status;
}
