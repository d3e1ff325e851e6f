/*
 * tally inspect: one stage of a kernel's making, as text (spirv: as words), whole or not at all.
 */
#include "file.h"
#include "subject.h"

#include <stdlib.h>
#include <string.h>

#include "../runtime/guess.h"

enum { CPU = 1, VULKAN = 2 };

static const struct {
    const char *name;
    int kinds; /* of device that have it */
    tally_stage stage;
} stages[] = {
    { "word", CPU | VULKAN, TALLY_STAGE_WORD },
    { "plan", CPU | VULKAN, TALLY_STAGE_PLAN },
    { "kir", CPU | VULKAN, TALLY_STAGE_KIR },
    { "llvm", CPU, TALLY_STAGE_LLVM },
    { "asm", CPU, TALLY_STAGE_ASM },
    { "spirv", VULKAN, TALLY_STAGE_SPIRV },
    { "spvasm", VULKAN, TALLY_STAGE_SPVASM },
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
    tly_guess guess = tly_guess_begin(name, strlen(name));
    for (int i = 0; i < STAGES; i++) {
        tly_guess_try(&guess, stages[i].name);
    }
    tly_refuse(report, EXIT_USAGE, "usage",
               options->emit ? "there is no stage '%s'" TLY_GUESS
                             : "--emit STAGE is missing%s" TLY_GUESS,
               name, TLY_GUESSED(&guess));
    tly_hint(report, "--emit word|plan|kir, for a CPU llvm|asm, for Vulkan spirv|spvasm");
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

/* The target: a device's selector, or a profile's text. */
typedef struct target {
    char selector[32];
    char *profile; /* NULL: none */
} target;

static int find_target(const tly_options *options, target *target, tly_report *report)
{
    if (options->given & OPTION_PROFILE) {
        return options->given & OPTION_DEVICE
                   ? tly_refuse(report, EXIT_USAGE, "usage",
                                "--device and --profile exclude each other")
                   : EXIT_DONE;
    }
    return tly_device_find(options->device, target->selector, report);
}

static int check_stage(const target *target, int stage, tly_report *report)
{
    int kind = strncmp(target->selector, "cpu", 3) == 0 ? CPU : VULKAN;
    if (stages[stage].kinds & kind) {
        return EXIT_DONE;
    }
    tly_refuse(report, EXIT_UNSUPPORTED, "device", "a kernel for %s has no stage %s",
               kind == CPU ? "a CPU" : "Vulkan", stages[stage].name);
    tly_hint(report, kind == CPU ? "--device vulkan:N or --profile FILE"
                                 : "word, plan, kir, spirv or spvasm");
    return EXIT_UNSUPPORTED;
}

static int make_text(const tly_subject *subject, const target *target, const char *plan,
                     tally_stage stage, page *text, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tally_kernel_options kernel = { .size = sizeof kernel,
                                    .profile = target->profile,
                                    .plan = plan[0] ? plan : NULL,
                                    .device = target->profile ? NULL : target->selector };
    tally_status made;
    /* A word can be shown even where no kernel for it exists. */
    if (stage == TALLY_STAGE_WORD) {
        made = add(text, subject->word, strlen(subject->word)) || add(text, "\n", 1) ? TALLY_IO
                                                                                     : TALLY_OK;
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
    target target = { { 0 }, NULL };
    tly_subject subject;
    int stage;
    int status = find_stage(options, &stage, report);
    if (!status) {
        status = find_target(options, &target, report);
    }
    if (!status) {
        status = read_subject(options, &subject, report);
    }
    if (!status) {
        status = check_stage(&target, stage, report);
    }
    if (!status && options->profile) {
        status = tly_profile_load(options->profile, &target.profile, report);
    }
    if (!status) {
        status = make_text(&subject, &target, options->plan, stages[stage].stage, &text, report);
    }
    if (!status) {
        status = write_text(options->out ? options->out : "-", &text, report);
    }
    free(target.profile);
    free(text.text);
    return status;
}
