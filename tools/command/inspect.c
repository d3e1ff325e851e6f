/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally inspect: one stage of a kernel's making, as text (spirv: as words), or all that can be told
 * of it as a page; whole or not at all.
 */
#include "../compile/profile.h"
#include "../files/file.h"
#include "../page/html.h"

#include <stdlib.h>
#include <string.h>

#include "../../runtime/host/suggest.h"

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

static int find_stage(const tly_options *options, int *stage, tly_report *report)
{
    const char *name = options->emit ? options->emit : "";
    for (*stage = 0; *stage < STAGES; ++*stage) {
        if (strcmp(stages[*stage].name, name) == 0) {
            return EXIT_DONE;
        }
    }
    tly_suggestion guess = tly_suggest_begin(name, strlen(name));
    for (int i = 0; i < STAGES; i++) {
        tly_suggest_try(&guess, stages[i].name);
    }
    tly_refuse(report, EXIT_USAGE, "usage",
               options->emit ? "there is no stage '%s'" TLY_SUGGESTION
                             : "--emit STAGE or --html FILE is missing%s" TLY_SUGGESTION,
               name, TLY_SUGGESTED(&guess));
    tly_hint(report, "--emit word|plan|kir, for a CPU llvm|asm, for Vulkan spirv|spvasm");
    return EXIT_USAGE;
}

/* A terminal gets text alone. */
static int check_output(const tly_options *options, int stage, tly_report *report)
{
    const char *path = options->out ? options->out : "-";
    if (stages[stage].stage != TALLY_STAGE_SPIRV || !tly_output_is_terminal(path)) {
        return EXIT_DONE;
    }
    tly_refuse(report, EXIT_USAGE, "usage", "SPIR-V is binary, and %s is a terminal",
               options->out && strcmp(path, "-") != 0 ? path : "standard output");
    tly_hint(report, "--emit spvasm shows it as text; -o FILE.spv writes it to a file");
    return EXIT_USAGE;
}

static int read_job(const tly_options *options, tly_job *job, tly_report *report)
{
    tly_input input;
    tally_dtype dtype;
    int status;
    if (options->args < 2 && options->raw) {
        return tly_refuse(report, EXIT_USAGE, "usage", "--raw is for a file: inspect WORD IN");
    }
    if (options->args < 2) {
        return tly_job_make(options->arg[0], NULL, NULL, NULL, job, report);
    }
    status = tly_job_check(options->arg[0], &dtype, report);
    if (status) {
        return status;
    }
    status = tly_input_open(&input, options->arg[1], options->raw, dtype, report);
    if (!status) {
        status = tly_job_make(options->arg[0], &input.npy, input.name, NULL, job, report);
    }
    tly_input_close(&input);
    return status;
}

/* The target: a device's selector, or a profile's text. */
typedef struct target {
    char selector[32];
    char *profile; /* NULL: none */
} target;

static int kind_of(const target *target)
{
    return strncmp(target->selector, "cpu", 3) == 0 ? CPU : VULKAN;
}

static int check_stage(const target *target, int stage, tly_report *report)
{
    const int kind = kind_of(target);
    if (stages[stage].kinds & kind) {
        return EXIT_DONE;
    }
    tly_refuse(report, EXIT_UNSUPPORTED, "device", "a kernel for %s has no stage %s",
               kind == CPU ? "a CPU" : "Vulkan", stages[stage].name);
    tly_hint(report, kind == CPU ? "--device vulkan:N or --profile FILE"
                                 : "word, plan, kir, spirv or spvasm");
    return EXIT_UNSUPPORTED;
}

static int add_stage(const tly_job *job, const target *target, const char *plan, tally_stage stage,
                     tly_text *text, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_context *context = NULL;
    tally_kernel_options kernel = { .size = sizeof kernel,
                                    .profile = target->profile,
                                    .plan = plan[0] ? plan : NULL,
                                    .device = target->profile ? NULL : target->selector };
    tally_status made = tally_context_create(NULL, &context, &error);
    if (made == TALLY_OK) {
        made = tally_inspect(context, &job->descriptor, &kernel, stage, tly_text_add, text, &error);
    }
    tally_context_destroy(&context);
    if (text->failed) {
        return tly_refuse(report, EXIT_MEMORY, "sizes", "no memory for the text");
    }
    return made == TALLY_OK ? EXIT_DONE : tly_adopt(report, &error);
}

static int make_text(const tly_job *job, const target *target, const char *plan, tally_stage stage,
                     tly_text *text, tly_report *report)
{
    if (stage != TALLY_STAGE_WORD) {
        return add_stage(job, target, plan, stage, text, report);
    }
    /* A word can be shown even where no kernel for it exists. */
    tly_text_print(text, "%s\n", job->word);
    return text->failed ? tly_refuse(report, EXIT_MEMORY, "sizes", "no memory for the text")
                        : EXIT_DONE;
}

static int emit(const tly_options *options, const tly_job *job, const target *target, int stage,
                tly_report *report)
{
    tly_text text = { NULL, 0, 0, 0 };
    int status = make_text(job, target, options->plan, stages[stage].stage, &text, report);
    if (!status) {
        status = tly_output_text(options->out ? options->out : "-", text.text, text.length, report);
    }
    free(text.text);
    return status;
}

/* ---- the page ---- */

/* The texts that a page is made of, for a CPU and for Vulkan (0: there is none). */
enum { REASONS, LAUNCH, KIR, LLVM, CODE, CODE_LINES, TEXTS };

static const tally_stage texts_of[][TEXTS] = {
    [CPU] = { TALLY_STAGE_REASONS, TALLY_STAGE_LAUNCH, TALLY_STAGE_KIR, TALLY_STAGE_LLVM_LINES,
              TALLY_STAGE_ASM, TALLY_STAGE_ASM_LINES },
    [VULKAN] = { TALLY_STAGE_REASONS, TALLY_STAGE_LAUNCH, TALLY_STAGE_KIR, TALLY_STAGE_WORD,
                 TALLY_STAGE_SPVASM, TALLY_STAGE_WORD },
};

/* Of a profile, its file's name. */
static const char *name_of(const tly_options *options, const target *target)
{
    const char *slash = options->profile ? strrchr(options->profile, '/') : NULL;
    return slash ? slash + 1 : options->profile ? options->profile : target->selector;
}

static int fill_page(const tly_options *options, const tly_job *job, const target *target,
                     tly_text *texts, tly_text *page, tly_report *report)
{
    const int kind = kind_of(target);
    tly_measurement measured;
    int status = EXIT_DONE;
    const int measure = (options->given & OPTION_MEASURE) != 0;
    for (int i = 0; i < TEXTS && !status; i++) {
        if (texts_of[kind][i] != TALLY_STAGE_WORD) {
            status = add_stage(job, target, options->plan, texts_of[kind][i], &texts[i], report);
        }
        if (!status && i == REASONS && measure) { /* the plan is right, and nothing made yet */
            status = tly_device_must_run(target->selector, report);
        }
    }
    if (!status && measure) {
        status = tly_bench_measure(options, job, target->selector, &measured, report);
    }
    if (status) {
        return status;
    }
    const tly_page of = { .job = job,
                          .device = name_of(options, target),
                          .plan = options->plan,
                          .reasons = texts[REASONS].text,
                          .launch = texts[LAUNCH].text,
                          .kir = texts[KIR].text,
                          .llvm = texts[LLVM].text,
                          .code = texts[CODE].text,
                          .code_lines = texts[CODE_LINES].text,
                          .measured = measure ? &measured : NULL };
    tly_html_write(&of, page);
    return page->failed ? tly_refuse(report, EXIT_MEMORY, "sizes", "no memory for the page")
                        : EXIT_DONE;
}

static int show_page(const tly_options *options, const tly_job *job, const target *target,
                     tly_report *report)
{
    tly_text texts[TEXTS] = { { NULL, 0, 0, 0 } }, page = { NULL, 0, 0, 0 };
    int status = tly_job_need_sizes(&job->descriptor, 0, report);
    if (!status) {
        status = fill_page(options, job, target, texts, &page, report);
    }
    if (!status) {
        status = tly_output_text(options->html, page.text, page.length, report);
    }
    for (int i = 0; i < TEXTS; i++) {
        free(texts[i].text);
    }
    free(page.text);
    return status;
}

/* ---- the verb ---- */

/* Options that cannot be together. */
static int check_options(const tly_options *options, tly_report *report)
{
    static const struct {
        unsigned one, other;
        const char *why;
    } apart[] = {
        { OPTION_HTML, OPTION_EMIT, "--html and --emit exclude each other" },
        { OPTION_HTML, OPTION_OUT, "--html names the file: -o is for --emit" },
        { OPTION_MEASURE, OPTION_EMIT, "--measure is for --html" },
        { OPTION_MEASURE, OPTION_PROFILE, "a profile describes no device that could be measured" },
        { OPTION_PROFILE, OPTION_DEVICE, "--device and --profile exclude each other" },
    };
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        if ((options->given & apart[i].one) && (options->given & apart[i].other)) {
            return tly_refuse(report, EXIT_USAGE, "usage", "%s", apart[i].why);
        }
    }
    return EXIT_DONE;
}

int tly_verb_inspect(const tly_options *options, tly_report *report)
{
    target target = { { 0 }, NULL };
    const int as_page = (options->given & OPTION_HTML) != 0;
    tly_job job;
    int stage = 0;
    int status = check_options(options, report);
    if (!status && !as_page) {
        status = find_stage(options, &stage, report);
        status = status ? status : check_output(options, stage, report);
    }
    if (!status && !options->profile) {
        status = tly_device_find(options->device, target.selector, report);
    }
    if (!status) {
        status = read_job(options, &job, report);
    }
    if (!status && !as_page) {
        status = check_stage(&target, stage, report);
    }
    if (!status && options->profile) {
        status = tly_profile_load(options->profile, &target.profile, report);
    }
    if (!status) {
        status = as_page ? show_page(options, &job, &target, report)
                         : emit(options, &job, &target, stage, report);
    }
    free(target.profile);
    return status;
}
