/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: one table of options for all verbs. Guarantees that an option is one that the
 * verb takes, given once (--plan as often as wanted), with a value that can be meant.
 */
#include "../common/about.h"
#include "../files/data.h"
#include "usage.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct option {
    const char *name;
    unsigned bit;
    int takes_value;
    size_t text; /* offset in tly_options of the const char * that gets the value; 0: see `read` */
    int (*read)(tly_options *options, const char *value, tly_report *report);
} option;

enum { MOST_JOBS = 1024 }; /* threads of a context */

static int read_count(const char *name, const char *value, int32_t most, int32_t *count,
                      tly_report *report)
{
    char *end;
    long number = *value >= '0' && *value <= '9' ? strtol(value, &end, 10) : 0;
    if (number < 1 || *end || number > most) {
        return tly_refuse(report, EXIT_USAGE, "usage", "%s takes a number from 1 to %d, not '%s'",
                          name, (int)most, value);
    }
    *count = (int32_t)number;
    return EXIT_DONE;
}

static int read_threads(tly_options *options, const char *value, tly_report *report)
{
    return read_count("--threads", value, INT32_MAX, &options->threads, report);
}

static int read_jobs(tly_options *options, const char *value, tly_report *report)
{
    return read_count("-j", value, MOST_JOBS, &options->jobs, report);
}

static int read_seconds(tly_options *options, const char *value, tly_report *report)
{
    return read_count("--seconds", value, INT32_MAX, &options->seconds, report);
}

/* More than anybody waits for. */
#define MOST_STEPS INT64_C(1000000000000000)

static int read_steps(tly_options *options, const char *value, tly_report *report)
{
    char *end;
    const long long number = *value >= '0' && *value <= '9' ? strtoll(value, &end, 10) : 0;
    if (number < 1 || *end || number > MOST_STEPS) {
        return tly_refuse(report, EXIT_USAGE, "usage",
                          "--steps takes a number from 1 to 10^15, not '%s'", value);
    }
    options->steps = number;
    return EXIT_DONE;
}

int tly_plan_add(char plan[TLY_MOST_PLAN], const char *value, tly_report *report)
{
    const size_t used = strlen(plan);
    const char *equals = strchr(value, '=');
    if (!equals || equals == value || !equals[1] || strchr(value, ',')) {
        return tly_refuse(report, EXIT_USAGE, "usage", "--plan takes KEY=VALUE, not '%s'", value);
    }
    if (used + strlen(value) + 2 > TLY_MOST_PLAN) {
        return tly_refuse(report, EXIT_USAGE, "usage", "too many --plan options");
    }
    snprintf(plan + used, TLY_MOST_PLAN - used, "%s%s", used ? "," : "", value);
    return EXIT_DONE;
}

static int read_plan(tly_options *options, const char *value, tly_report *report)
{
    return tly_plan_add(options->plan, value, report);
}

/* TENSOR is that of IN; NAME=TENSOR that of an operand or of carry_in. */
static int read_raw(tly_options *options, const char *value, tly_report *report)
{
    const int operand = tly_operand_of(value);
    const char *of_carry = tly_carry_in_of(value);
    const char **raw = of_carry       ? &options->carry_raw
                       : operand >= 0 ? &options->operand_raw[operand]
                                      : &options->raw;
    if (*raw) {
        return tly_refuse(report, EXIT_USAGE, "usage", "--raw is given twice for %s",
                          of_carry       ? "carry_in"
                          : operand >= 0 ? tly_operand_letter(operand)
                                         : "IN");
    }
    *raw = of_carry ? of_carry : operand >= 0 ? value + 2 : value;
    return EXIT_DONE;
}

/* One of `KIND` and `NAME=KIND`: x is the input. */
static int read_one_kind(tly_options *options, const char *one, tly_report *report)
{
    char kinds[256];
    const int named = one[0] && one[1] == '=';
    const int operand = tly_operand_of(one);
    const char *of_carry = tly_carry_in_of(one);
    const char *name = of_carry ? of_carry : named ? one + 2 : one;
    const tly_kind *kind = (!named || one[0] == 'x' || operand >= 0) ? tly_kind_find(name) : NULL;
    const char **data = of_carry       ? &options->carry_data
                        : operand >= 0 ? &options->operand_data[operand]
                                       : &options->data;
    if (!kind) {
        tly_kind_list(kinds, sizeof kinds);
        return tly_refuse(report, EXIT_USAGE, "usage", "--data takes %s, not '%s'", kinds, one);
    }
    if (*data) {
        return tly_refuse(report, EXIT_USAGE, "usage", "--data has two kinds for %s",
                          of_carry       ? "carry_in"
                          : operand >= 0 ? tly_operand_letter(operand)
                                         : "x");
    }
    *data = tly_kind_name(kind);
    return EXIT_DONE;
}

static int read_data(tly_options *options, const char *value, tly_report *report)
{
    int status = EXIT_DONE;
    for (const char *at = value; at && !status; at = strchr(at, ',')) {
        char one[64];
        at += *at == ',';
        snprintf(one, sizeof one, "%.*s", (int)strcspn(at, ","), at);
        status = read_one_kind(options, one, report);
    }
    return status;
}

static const option table[] = {
    { "--device", OPTION_DEVICE, 1, offsetof(tly_options, device), NULL },
    { "--threads", OPTION_THREADS, 1, 0, read_threads },
    { "--in-place", OPTION_IN_PLACE, 0, 0, NULL },
    { "--plan", OPTION_PLAN, 1, 0, read_plan },
    { "--data", OPTION_DATA, 1, 0, read_data },
    { "--json", OPTION_JSON, 0, 0, NULL },
    { "--emit", OPTION_EMIT, 1, offsetof(tly_options, emit), NULL },
    { "--html", OPTION_HTML, 1, offsetof(tly_options, html), NULL },
    { "--measure", OPTION_MEASURE, 0, 0, NULL },
    { "--profile", OPTION_PROFILE, 1, offsetof(tly_options, profile), NULL },
    { "--batch", OPTION_BATCH, 1, offsetof(tly_options, batch), NULL },
    { "--depfile", OPTION_DEPFILE, 1, offsetof(tly_options, depfile), NULL },
    { "--raw", OPTION_RAW, 1, 0, read_raw },
    { "--header", OPTION_HEADER, 1, offsetof(tly_options, header), NULL },
    { "--prefix", OPTION_PREFIX, 1, offsetof(tly_options, prefix), NULL },
    { "-j", OPTION_JOBS, 1, 0, read_jobs },
    { "--words", OPTION_WORDS, 1, offsetof(tly_options, words), NULL },
    { "--plans", OPTION_PLANS, 1, offsetof(tly_options, plans), NULL },
    { "--seconds", OPTION_SECONDS, 1, 0, read_seconds },
    { "--keep", OPTION_KEEP, 0, 0, NULL },
    { "--run", OPTION_RUN, 1, offsetof(tly_options, run), NULL },
    { "--steps", OPTION_STEPS, 1, 0, read_steps },
    { "--wrt", OPTION_WRT, 1, offsetof(tly_options, wrt), NULL },
    { "-o", OPTION_OUT, 1, offsetof(tly_options, out), NULL },
    { "--carry-out", OPTION_CARRY_OUT, 1, offsetof(tly_options, carry_out), NULL },
    { "--help", OPTION_HELP, 0, 0, NULL },
    { "-h", OPTION_HELP, 0, 0, NULL },
};

/* The option that `arg` names, as "--name", "--name=value" or "-o". */
static const option *find(const char *arg, const char **value)
{
    size_t length = strncmp(arg, "--", 2) == 0 ? strcspn(arg, "=") : strlen(arg);
    *value = arg[length] ? arg + length + 1 : NULL;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strlen(table[i].name) == length && strncmp(table[i].name, arg, length) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

/* argv[0] is no option of the verb's; what follows it may be its value. */
static int refuse_option(const tly_verb *verb, const tly_options *options, int argc, char **argv,
                         tly_report *report)
{
    const char *names[sizeof table / sizeof *table + 1];
    size_t count = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if ((verb->options | OPTION_HELP) & table[i].bit) {
            names[count++] = table[i].name;
        }
    }
    names[count] = NULL;
    return tly_usage_option(verb, options, names, argv[0], argc > 1 ? argv[1] : NULL, report);
}

/* Takes one option at argv[*at]; leaves *at at the last argument that it used. */
static int take(const tly_verb *verb, int argc, char **argv, int *at, tly_options *options,
                tly_report *report)
{
    const char *value;
    const option *o = find(argv[*at], &value);
    if (!o || !((verb->options | OPTION_HELP) & o->bit)) {
        return refuse_option(verb, options, argc - *at, argv + *at, report);
    }
    if (!o->takes_value && value) {
        return tly_usage_refuse(verb, report, "no value is taken by %s", o->name);
    }
    if (o->takes_value && !value) {
        if (*at + 1 == argc) {
            return tly_usage_refuse(verb, report, "a value is missing after %s", o->name);
        }
        value = argv[++*at];
    }
    if (options->given & o->bit & ~(unsigned)(OPTION_PLAN | OPTION_RAW | OPTION_HELP)) {
        return tly_usage_refuse(verb, report, "%s is given twice", o->name);
    }
    options->given |= o->bit;
    if (o->read) {
        return o->read(options, value, report);
    }
    if (o->takes_value) {
        memcpy((char *)options + o->text, &value, sizeof value);
    }
    return EXIT_DONE;
}

/* NAME=FILE, once. */
static int take_file(const char **to, const char *name, const char *file, tly_report *report)
{
    if (*to) {
        tly_refuse(report, EXIT_USAGE, name, "%s is given twice: %s and %s", name, *to, file);
        tly_hint(report, "leave one of them out");
        return EXIT_USAGE;
    }
    *to = file;
    return EXIT_DONE;
}

int tly_options_read(const tly_verb *verb, int argc, char **argv, tly_options *options,
                     tly_report *report)
{
    int only_args = 0;
    memset(options, 0, sizeof *options);
    options->arg = argv;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i];
        if (!only_args && strcmp(arg, "--") == 0) {
            only_args = 1;
        } else if (!only_args && arg[0] == '-' && arg[1] && arg[1] != ':') {
            int status = take(verb, argc, argv, &i, options, report);
            if (status || options->given & OPTION_HELP) {
                return status;
            }
        } else if (options->args == verb->most && verb->options & OPTION_OPERANDS &&
                   tly_operand_of(arg) >= 0) {
            options->arg[options->args + options->named++] = argv[i];
        } else if (options->args == verb->most && verb->options & OPTION_OPERANDS &&
                   tly_carry_in_of(arg)) {
            const int status = take_file(&options->carry_in, "carry_in", tly_carry_in_of(arg),
                                         report);
            if (status) {
                return status;
            }
        } else if (options->args == verb->most && verb->options & OPTION_OPERANDS &&
                   tly_offsets_of(arg)) {
            const int status = take_file(&options->offsets, "offsets", tly_offsets_of(arg), report);
            if (status) {
                return status;
            }
        } else if (options->args == verb->most) {
            return tly_usage_argument(verb, options, arg, report);
        } else {
            options->arg[options->args++] = argv[i];
        }
    }
    if (options->args < verb->least) {
        return tly_usage_missing(verb, options, report);
    }
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        if (options->operand_raw[i] && !(verb->options & OPTION_OPERANDS)) {
            return tly_usage_refuse(verb, report, "%s has no operands that --raw could describe",
                                    verb->name);
        }
    }
    if (options->carry_raw && !(verb->options & OPTION_OPERANDS)) {
        return tly_usage_refuse(verb, report, "%s has no carry_in that --raw could describe",
                                verb->name);
    }
    return EXIT_DONE;
}
