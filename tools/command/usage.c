/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong command lines; see usage.h. */
#include "usage.h"

#include "../common/about.h"

#include "../../runtime/host/suggest.h"

#include <string.h>

int tly_usage_is_word(const char *text)
{
    const size_t length = strcspn(text, ":");
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        const char *name = tally_op_name((tally_op)op);
        if (strlen(name) == length && strncmp(name, text, length) == 0) {
            return 1;
        }
    }
    return 0;
}

int tly_usage_refuse(const tly_verb *verb, tly_report *report, const char *what, const char *which)
{
    char message[sizeof report->message];
    snprintf(message, sizeof message, what, which);
    tly_refuse(report, EXIT_USAGE, "usage", "%s", message);
    tly_hint(report, "tally %s %s", verb->name, verb->usage);
    return EXIT_USAGE;
}

/* Whether a word is right, for some file; else *error says why. */
static int is_right(const char *word, tally_error *error)
{
    static const int64_t ones[TALLY_MAX_RANK] = { 1, 1, 1, 1, 1, 1, 1, 1 };
    char full[TALLY_WORD_MAX];
    return tally_word_complete(word, "f32", TALLY_MAX_RANK, ones, full, sizeof full, NULL, NULL,
                               error) == TALLY_OK;
}

static void hint_word(const char *word, tly_report *report)
{
    const char *quote = tly_quote_of(word);
    tly_hint(report, "it belongs to the word: tally run %s%s%s ...", quote, word, quote);
}

/* Suggests the word with an option added, such as axis and 0; `value` may be NULL. 0 if no such
 * word can be meant. */
static int suggest_in_word(const tly_options *options, const char *name, const char *value,
                           tly_report *report)
{
    char word[TALLY_WORD_MAX];
    if (options->args == 0 || !tly_usage_is_word(options->arg[0])) {
        return 0;
    }
    for (int with_value = value != NULL; with_value >= 0; with_value--) {
        for (int separator = 0; separator < 2; separator++) {
            tally_error error = TALLY_ERROR_INIT;
            const int length = snprintf(word, sizeof word, "%s%c%s%s%s", options->arg[0],
                                        ":,"[separator], name, with_value ? "=" : "",
                                        with_value ? value : "");
            if (length < (int)sizeof word && is_right(word, &error)) {
                hint_word(word, report);
                return 1;
            }
            if (strncmp(error.hint, "type ", 5) == 0) { /* the library knows better */
                hint_word(error.hint + 5, report);
                return 1;
            }
        }
    }
    return 0;
}

int tly_usage_option(const tly_verb *verb, const tly_options *options, const char *const *names,
                     const char *option, const char *next, tly_report *report)
{
    const size_t length = strcspn(option, "=");
    const size_t dashes = strspn(option, "-");
    tly_suggestion guess = tly_suggest_begin(option, length);
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)(length - dashes), option + dashes);
    const int is_carry_in = verb->options & OPTION_OPERANDS &&
                            (strcmp(name, "carry_in") == 0 || strcmp(name, "carry-in") == 0);
    for (; *names && !is_carry_in; names++) {
        tly_suggest_try(&guess, *names);
        if (strcmp(*names, "-o") == 0) {
            tly_suggest_alias(&guess, "--output", "-o");
            tly_suggest_alias(&guess, "--out", "-o");
        } else if (strcmp(*names, "--device") == 0) {
            tly_suggest_alias(&guess, "--gpu", "--device vulkan");
            tly_suggest_alias(&guess, "--cuda", "--device vulkan");
        }
    }
    tly_refuse(report, EXIT_USAGE, "usage", "%s has no option %.*s" TLY_SUGGESTION, verb->name,
               (int)(length < 60 ? length : 60), option, TLY_SUGGESTED(&guess));
    tly_hint(report, "tally %s %s", verb->name, verb->usage);
    if (dashes > 0 && tly_operand_of(option + dashes) >= 0) {
        tly_hint(report, "operands have no dashes: %s", option + dashes);
    } else if (is_carry_in) {
        tly_hint(report, "what a scan begins with has no dashes: carry_in=FILE");
    } else if (!guess.best) {
        suggest_in_word(options, name, option[length] ? option + length + 1 : next, report);
    }
    return EXIT_USAGE;
}

/* Refuses NAME=FILE if NAME is nearly a tensor's, and nearer to it than to carry=, which belongs to
 * the word, and to carry_out=, which is an option. */
static int refuse_named(const char *argument, tly_report *report)
{
    static const char *const names[] = { "offsets=", "carry_in=", "carry=", "carry_out=" };
    const size_t length = strcspn(argument, "=") + 1;
    tly_suggestion guess = tly_suggest_begin(argument, length);
    for (size_t i = 0; i < sizeof names / sizeof *names && argument[length - 1] != 0; i++) {
        tly_suggest_try(&guess, names[i]);
    }
    if (guess.best != names[0] && guess.best != names[1]) {
        return 0;
    }
    tly_refuse(report, EXIT_USAGE, "usage", "no tensor is named %.*s" TLY_SUGGESTION,
               (int)(length - 1), argument, TLY_SUGGESTED(&guess));
    tly_hint(report, "type %s%s", guess.best, argument + length);
    return 1;
}

int tly_usage_argument(const tly_verb *verb, const tly_options *options, const char *argument,
                       tly_report *report)
{
    const int takes_operands = (verb->options & OPTION_OPERANDS) != 0;
    if (takes_operands && refuse_named(argument, report)) {
        return EXIT_USAGE;
    }
    tly_usage_refuse(verb, report, "too many arguments, from %s", argument);
    const int is_carry_out = strncmp(argument, "carry_out=", 10) == 0 ||
                             strncmp(argument, "carry-out=", 10) == 0;
    if (takes_operands &&
        (tly_operand_of(options->arg[1]) >= 0 || tly_carry_in_of(options->arg[1]))) {
        tly_hint(report, "operands come last: tally %s '%s' %s %s", verb->name, options->arg[0],
                 argument, options->arg[1]);
    } else if (verb->options & OPTION_CARRY_OUT && is_carry_out) {
        tly_hint(report, "what is written is named by an option: --carry-out %s", argument + 10);
    } else if (!takes_operands && tly_carry_in_of(argument)) {
        tly_hint(report, "%s takes no tensors: carry=in in the word is enough", verb->name);
    } else if (!takes_operands && tly_operand_of(argument) >= 0) {
        tly_hint(report, "%s takes no operands: the word says what they are, as in %.1s=f32/0",
                 verb->name, argument);
    } else if (!suggest_in_word(options, argument, NULL, report) &&
               (verb->options & ~options->given) & OPTION_OUT) {
        tly_hint(report,
                 takes_operands && strchr(argument, '=')
                     ? "operands are named a, b, c and d, not %s"
                     : "what is written is named by -o: -o %s",
                 argument);
    }
    return EXIT_USAGE;
}

int tly_usage_missing(const tly_verb *verb, const tly_options *options, tly_report *report)
{
    /* The name of the argument, as the usage has it. */
    const char *name = verb->usage;
    for (int i = 0; i < options->args; i++) {
        name += strcspn(name, " ");
        name += strspn(name, " ");
    }
    char shown[32];
    snprintf(shown, sizeof shown, "%.*s", (int)strcspn(name, " "), name);
    return tly_usage_refuse(verb, report, "%s is missing", shown);
}

void tly_usage_order(const tly_verb *verb, const tly_options *options, tly_report *report)
{
    if (strcmp(report->field, "op") == 0 && options->args == 2 && verb->most == 2 &&
        tly_usage_is_word(options->arg[1])) {
        tly_hint(report, "the word comes first: tally %s %s %s", verb->name, options->arg[1],
                 options->arg[0]);
    }
}
