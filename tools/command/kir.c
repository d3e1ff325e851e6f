/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally kir: kernel IR from a file, lowered, or interpreted in place of a word's kernel. What is
 * wrong with it, or what it does wrong, is told with the file's name, line and column.
 */
#include "../compile/profile.h"
#include "../files/file.h"
#include "../files/text.h"
#include "run.h"

#include "../../runtime/host/suggest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TEXT = 64 << 20 };

static const struct {
    const char *name;
    tally_stage stage;
} stages[] = {
    { "kir", TALLY_STAGE_KIR },     { "llvm", TALLY_STAGE_LLVM },     { "asm", TALLY_STAGE_ASM },
    { "spirv", TALLY_STAGE_SPIRV }, { "spvasm", TALLY_STAGE_SPVASM },
};

enum { STAGES = sizeof stages / sizeof *stages };

typedef struct job {
    const tly_options *options;
    const char *name; /* of the text, for people */
    tly_text text;
    char selector[32];
    char *profile; /* NULL: none */
} job;

static int refuse_stage(const char *name, tly_report *report)
{
    tly_suggestion guess = tly_suggest_begin(name, strlen(name));
    for (int i = 0; i < STAGES; i++) {
        tly_suggest_try(&guess, stages[i].name);
    }
    tly_refuse(report, EXIT_USAGE, "usage", "kernel IR has no stage '%s'" TLY_SUGGESTION, name,
               TLY_SUGGESTED(&guess));
    tly_hint(report, "--emit kir, for a CPU llvm|asm, for Vulkan spirv|spvasm");
    return EXIT_USAGE;
}

/* Whether one of the tensors is there. */
static int reads_standard_input(const tly_options *options)
{
    int reads = strcmp(options->arg[1], "-") == 0;
    for (int i = 0; i < options->named; i++) {
        reads |= strcmp(options->arg[options->args + i] + 2, "-") == 0;
    }
    return reads || (options->carry_in && strcmp(options->carry_in, "-") == 0);
}

static int check_options(const tly_options *options, int *stage, tly_report *report)
{
    const int runs = (options->given & OPTION_RUN) != 0;
    if (runs == ((options->given & OPTION_EMIT) != 0)) {
        return tly_refuse(report, EXIT_USAGE, "usage", "--emit STAGE or --run WORD, one of them");
    }
    if (options->given & OPTION_PROFILE && options->given & OPTION_DEVICE) {
        return tly_refuse(report, EXIT_USAGE, "usage", "--device and --profile exclude each other");
    }
    if (!runs && options->given & (OPTION_PLAN | OPTION_STEPS | OPTION_CARRY_OUT)) {
        return tly_refuse(report, EXIT_USAGE, "usage",
                          "--plan, --steps and --carry-out are for --run");
    }
    if (options->args != 1 + runs) {
        tly_refuse(report, EXIT_USAGE, "usage",
                   runs ? "IN is missing" : "one FILE.kir, and no other argument");
        tly_hint(report, "tally kir FILE.kir %s",
                 runs ? "--run WORD IN.npy -o OUT.npy" : "--emit STAGE");
        return EXIT_USAGE;
    }
    if (runs && strcmp(options->arg[0], "-") == 0 && reads_standard_input(options)) {
        return tly_refuse(report, EXIT_USAGE, "usage",
                          "one of FILE.kir, IN, the operands and carry_in may be -");
    }
    for (*stage = 0; !runs && *stage < STAGES; ++*stage) {
        if (strcmp(stages[*stage].name, options->emit) == 0) {
            return EXIT_DONE;
        }
    }
    return runs ? EXIT_DONE : refuse_stage(options->emit, report);
}

static int read_all(FILE *file, job *j, tly_report *report)
{
    char piece[1 << 14];
    size_t got;
    do { /* no read behind the end, at which a terminal would be asked again */
        got = fread(piece, 1, sizeof piece, file);
        if (tly_text_add(&j->text, piece, got) != 0) {
            return tly_refuse(report, EXIT_MEMORY, "file", "%s: no memory for it", j->name);
        }
        if (j->text.length > MOST_TEXT) {
            return tly_refuse(report, EXIT_FILE, "file", "%s: longer than any kernel", j->name);
        }
    } while (got == sizeof piece);
    return ferror(file) ? tly_refuse(report, EXIT_FILE, "file", "%s: cannot be read: %s", j->name,
                                     strerror(errno))
                        : EXIT_DONE;
}

static int read_text(job *j, tly_report *report)
{
    const int standard = strcmp(j->options->arg[0], "-") == 0;
    FILE *file = standard ? stdin : fopen(j->options->arg[0], "rb");
    j->name = standard ? "standard input" : j->options->arg[0];
    if (!file) {
        return tly_refuse(report, EXIT_FILE, "file", "%s: cannot be opened: %s", j->name,
                          strerror(errno));
    }
    const int status = read_all(file, j, report);
    if (!standard) {
        fclose(file);
    }
    return status;
}

/* What is wrong with the text, at its place in the file; all else is told as it is everywhere. */
static int adopt(const job *j, const tally_error *error, tly_report *report)
{
    const int of_text = error->status == TALLY_INVALID && strcmp(error->field, "kir") == 0;
    int line = 1, column = 1;
    if (!of_text) {
        return tly_adopt(report, error);
    }
    for (int32_t i = 0; i + 1 < error->position && (size_t)i < j->text.length; i++) {
        const int ends = j->text.text[i] == '\n';
        line += ends;
        column = ends ? 1 : column + 1;
    }
    if (error->position > 0) {
        tly_refuse(report, EXIT_USAGE, "file", "%s:%d:%d: %s", j->name, line, column,
                   error->message);
    } else {
        tly_refuse(report, EXIT_USAGE, "file", "%s: %s", j->name, error->message);
    }
    tly_hint(report, "%s", error->hint);
    return EXIT_USAGE;
}

static tally_kernel_options target_of(const job *j)
{
    return (tally_kernel_options){ .size = sizeof(tally_kernel_options),
                                   .device = j->profile ? NULL : j->selector,
                                   .profile = j->profile,
                                   .plan = j->options->plan[0] ? j->options->plan : NULL };
}

/* ---- --emit ---- */

static int emit(const job *j, tally_stage stage, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    const tally_kernel_options options = target_of(j);
    tly_text text = { NULL, 0, 0, 0 };
    tally_status made = tally_context_create(NULL, &context, &error);
    if (made == TALLY_OK) {
        made = tally_kir_inspect(context, j->text.text, j->text.length, &options, stage,
                                 tly_text_add, &text, &error);
    }
    tally_context_destroy(&context);
    int status = text.failed ? tly_refuse(report, EXIT_MEMORY, "file", "no memory for the text")
                 : made != TALLY_OK ? adopt(j, &error, report)
                                    : EXIT_DONE;
    if (!status) {
        status = tly_output_text(j->options->out ? j->options->out : "-", text.text, text.length,
                                 report);
    }
    free(text.text);
    return status;
}

/* ---- --run ---- */

static int interpret(void *user, const tally_descriptor *descriptor, const tally_buffers *buffers,
                     tly_report *report)
{
    const job *j = user;
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    const tally_kernel_options options = target_of(j);
    tally_status made = tally_context_create(NULL, &context, &error);
    if (made == TALLY_OK) {
        made = tally_kir_run_buffers(context, j->text.text, j->text.length, descriptor, &options,
                                     buffers, (uint64_t)j->options->steps, &error);
    }
    tally_context_destroy(&context);
    return made == TALLY_OK ? EXIT_DONE : adopt(j, &error, report);
}

int tly_verb_kir(const tly_options *options, tly_report *report)
{
    job j = { .options = options };
    int stage = 0;
    int status = check_options(options, &stage, report);
    if (!status && options->profile) {
        status = tly_profile_load(options->profile, &j.profile, report);
    } else if (!status) {
        status = tly_device_find(options->device, j.selector, report);
    }
    if (!status) {
        status = read_text(&j, report);
    }
    if (!status && !j.text.text && tly_text_add(&j.text, "", 0) != 0) {
        status = tly_refuse(report, EXIT_MEMORY, "file", "no memory for %s", j.name);
    }
    if (!status && options->given & OPTION_RUN) {
        status = tly_run_word(options, options->run, options->arg[1],
                              &(tly_computer){ interpret, &j, "kir FILE.kir --run" }, report);
    } else if (!status) {
        status = emit(&j, stages[stage].stage, report);
    }
    free(j.profile);
    free(j.text.text);
    return status;
}
