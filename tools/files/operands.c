/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands as arguments; see operands.h. What the text of a word says of an operand is read here
 * and not from the descriptor, because a descriptor does not tell what was left out.
 */
#include "operands.h"

#include "number.h"

#include <string.h>

/* The length of one part of a word, up to a separator that stands in no parentheses. */
static size_t part_length(const char *part)
{
    size_t length = 0;
    for (int depth = 0; part[length]; length++) {
        depth += (part[length] == '(') - (part[length] == ')');
        if (depth <= 0 && strchr(":,", part[length])) {
            break;
        }
    }
    return length;
}

static tly_said_place said_place(const char *place, size_t length)
{
    return memchr(place, '@', length) ? TLY_SAYS_STRIDES
           : *place == 'n'            ? TLY_SAYS_NONE
                                      : TLY_SAYS_AXES;
}

/* Reads `LETTER[=[DTYPE][/PLACE]]`; returns what the part lacks to place the operand as one
 * element. */
static const char *read_part(const char *part, size_t length, tly_operands *operands)
{
    const int operand = part[0] - 'a';
    if (length == 0 || operand < 0 || operand >= TALLY_MAX_OPERANDS ||
        (length > 1 && part[1] != '=')) {
        return "";
    }
    tly_operand_input *o = &operands->of[operand];
    const char *slash = memchr(part, '/', length);
    o->declared = 1;
    o->says_dtype = length > 2 && part[2] != '/';
    o->place = slash ? said_place(slash + 1, length - (size_t)(slash + 1 - part))
                     : TLY_SAYS_NOTHING;
    return slash ? "" : length == 1 ? "=/none" : "/none";
}

int tly_operands_read(const char *word, tly_operands *operands)
{
    char *text = operands->word;
    size_t used = 0, length;
    int count = 0;
    memset(operands, 0, sizeof *operands);
    for (const char *part = word; *part; part += length) {
        const size_t separator = part > word;
        const char *added;
        length = separator + part_length(part + separator);
        added = separator ? read_part(part + 1, length - 1, operands) : "";
        if (used + length + strlen(added) < sizeof operands->word) {
            used += (size_t)snprintf(text + used, sizeof operands->word - used, "%.*s%s",
                                     (int)length, part, added);
        } else {
            used = sizeof operands->word; /* a word that is too long for the library, too */
        }
    }
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        count += operands->of[i].declared;
    }
    return count;
}

/* ---- arguments ---- */

static void hint_given(const char *verb, const char *word, const char *letter, tly_report *report)
{
    tly_hint(report, "tally %s '%s' IN %s=FILE, or %s=NUMBER", verb, word, letter, letter);
}

static int take(tly_operands *operands, const char *verb, const char *word, const char *argument,
                tly_report *report)
{
    const int operand = tly_operand_of(argument);
    if (operand < 0) {
        return tly_refuse(report, EXIT_USAGE, "usage", "%s names no operand", argument);
    }
    tly_operand_input *o = &operands->of[operand];
    const char *letter = tly_operand_letter(operand);
    if (!o->declared) {
        tly_refuse(report, EXIT_USAGE, letter, "the word has no operand %s", letter);
        tly_hint(report,
                 "an operand is named in the word, and an expression uses it: "
                 "tally %s 'cumsum:axis=0,a,map=x*a' IN a=FILE",
                 verb);
        return EXIT_USAGE;
    }
    if (o->given) {
        tly_refuse(report, EXIT_USAGE, letter, "operand %s is given twice: %s and %s", letter,
                   o->given, argument + 2);
        tly_hint(report, "leave one of them out");
        return EXIT_USAGE;
    }
    if (!argument[2]) {
        tly_refuse(report, EXIT_USAGE, letter, "nothing stands behind %s=", letter);
        hint_given(verb, word, letter, report);
        return EXIT_USAGE;
    }
    o->given = argument + 2;
    return EXIT_DONE;
}

static int refuse_number(const tly_operand_input *o, const char *letter, const char *why,
                         tly_report *report)
{
    tly_refuse(report, EXIT_USAGE, letter, "%s is a number, and %s", o->given, why);
    tly_hint(report, "a number is one element, as %s=f32/none. If it is a file's name, type ./%s",
             letter, o->given);
    return EXIT_USAGE;
}

/* Whether FILE|NUMBER is a number, and then whether it can be one. */
static int look_at(tly_operand_input *o, const char *letter, tly_report *report)
{
    o->is_number = tly_is_number(o->given);
    if (o->is_number && o->place > TLY_SAYS_NONE) {
        return refuse_number(o, letter, "the word places the operand along axes", report);
    }
    if (o->is_number && o->raw) {
        return refuse_number(o, letter, "--raw describes a file", report);
    }
    return EXIT_DONE;
}

static int refuse_missing(const char *verb, const char *word, const char *letter,
                          tly_report *report)
{
    tly_refuse(report, EXIT_USAGE, letter, "operand %s of the word is not given", letter);
    hint_given(verb, word, letter, report);
    return EXIT_USAGE;
}

static int refuse_input(const char *letter, tly_report *report)
{
    tly_refuse(report, EXIT_USAGE, letter, "standard input can be read only once");
    tly_hint(report, "put one of the tensors into a file");
    return EXIT_USAGE;
}

int tly_operands_match(tly_operands *operands, const char *verb, const char *word,
                       char *const *argument, int arguments, const char *const *raw, const char *in,
                       tly_report *report)
{
    int status = EXIT_DONE, reads_input = strcmp(in, "-") == 0;
    for (int i = 0; i < arguments && !status; i++) {
        status = take(operands, verb, word, argument[i], report);
    }
    for (int i = 0; i < TALLY_MAX_OPERANDS && !status; i++) {
        tly_operand_input *o = &operands->of[i];
        const char *letter = tly_operand_letter(i);
        const int is_standard = o->given && strcmp(o->given, "-") == 0;
        o->raw = raw[i];
        if (o->declared && !o->given) {
            status = refuse_missing(verb, word, letter, report);
        } else if (is_standard && reads_input) {
            status = refuse_input(letter, report);
        } else if (o->declared) {
            status = look_at(o, letter, report);
        } else if (o->raw) {
            tly_refuse(report, EXIT_USAGE, letter,
                       "--raw describes %s, and the word has no such "
                       "operand",
                       letter);
            tly_hint(report, "leave --raw %s=%s out", letter, o->raw);
            status = EXIT_USAGE;
        }
        reads_input |= is_standard;
    }
    return status;
}

/* ---- elements ---- */

int tly_operands_load(tly_operands *operands, tly_report *report)
{
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        tly_operand_input *o = &operands->of[i];
        if (o->is_number) {
            o->data = &o->number;
        } else if (o->declared) {
            const int status = tly_input_load(&o->input, report);
            if (status) {
                return status;
            }
            o->data = o->input.data;
        }
    }
    return EXIT_DONE;
}

int tly_operand_files_check(const tly_operands *operands, tly_report *report)
{
    int status = EXIT_DONE;
    for (int i = 0; i < TALLY_MAX_OPERANDS && !status; i++) {
        status = tly_input_check(&operands->of[i].input, report);
    }
    return status;
}

void tly_operands_close(tly_operands *operands)
{
    for (int i = 0; i < TALLY_MAX_OPERANDS; i++) {
        tly_input_close(&operands->of[i].input);
    }
}
