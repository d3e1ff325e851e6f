/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a carry as files; see states.h. */
#include "states.h"

#include "../common/about.h"
#include "number.h"

#include <string.h>

/* ---- arguments ---- */

/* The value of the word's option, such as "in+out"; NULL: there is none. No other part of a word
 * looks like it. */
static const char *option_of(const char *word)
{
    for (const char *at = strpbrk(word, ":,"); at; at = strpbrk(at + 1, ":,")) {
        if (strncmp(at + 1, "carry=", 6) == 0) {
            return at + 7;
        }
    }
    return NULL;
}

static int32_t carry_of(const char *word)
{
    const char *value = option_of(word);
    const int length = value ? (int)strcspn(value, ",") : 0;
    return (length == 2 || length == 6 ? TALLY_CARRY_IN : 0) |
           (length == 3 || length == 6 ? TALLY_CARRY_OUT : 0);
}

/* Shows the word with what it lacks of a carry. */
static void hint_word(const char *word, const char *lacking, tly_report *report)
{
    const char *value = option_of(word);
    if (value) {
        const size_t length = strcspn(value, ",");
        tly_hint(report, "the word needs carry=in+out: '%.*sin+out%s'", (int)(value - word), word,
                 value + length);
        return;
    }
    const char *colon = strrchr(word, ':');
    tly_hint(report, "the word needs carry=%s: '%s%scarry=%s'", lacking, word,
             colon && strchr(colon, '=') ? "," : ":", lacking);
}

/* `is_there` and not `is_named`: an argument that the word does not name. */
static int refuse_unnamed(const char *word, const char *field, const char *argument,
                          const char *lacking, tly_report *report)
{
    tly_refuse(report, EXIT_USAGE, field, "%s is given, and the word has no carry=%s", argument,
               lacking);
    hint_word(word, lacking, report);
    return EXIT_USAGE;
}

/* Whether FILE|NUMBER is a number, and then whether it can be one. */
static int look_at(tly_states *s, tly_report *report)
{
    s->is_number = tly_is_number(s->given);
    if (s->is_number && s->raw) {
        tly_refuse(report, EXIT_USAGE, "carry_in", "%s is a number, and --raw describes a file",
                   s->given);
        tly_hint(report, "if it is a file's name, type ./%s", s->given);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

int tly_states_match(tly_states *s, const char *verb, const char *word, const char *in,
                     tly_report *report)
{
    const char *quote = tly_quote_of(word);
    s->carry = carry_of(word);
    if ((s->given || s->raw) && !(s->carry & TALLY_CARRY_IN)) {
        return refuse_unnamed(word, "carry_in", s->given ? "carry_in" : "--raw carry_in", "in",
                              report);
    }
    if (s->path && !(s->carry & TALLY_CARRY_OUT)) {
        return refuse_unnamed(word, "carry_out", "--carry-out", "out", report);
    }
    if (!s->path && s->carry & TALLY_CARRY_OUT) {
        tly_refuse(report, EXIT_USAGE, "carry_out", "the word has carry=out, and no file for it");
        tly_hint(report, "tally %s %s%s%s %s --carry-out FILE", verb, quote, word, quote, in);
        return EXIT_USAGE;
    }
    if ((s->given && !*s->given) || (s->raw && !s->given)) {
        tly_refuse(report, EXIT_USAGE, "carry_in",
                   s->raw ? "--raw describes a file that is missing"
                          : "nothing stands behind carry_in=");
        tly_hint(report,
                 "tally %s %s%s%s %s carry_in=FILE; without it the scan begins from nothing", verb,
                 quote, word, quote, in);
        return EXIT_USAGE;
    }
    return s->given ? look_at(s, report) : EXIT_DONE;
}

/* ---- shapes ---- */

static void print_sizes(char text[200], int rank, const int64_t *sizes)
{
    size_t used = 0;
    snprintf(text, 200, "one element");
    for (int k = 0; k < rank && used < 200; k++) {
        used += (size_t)snprintf(text + used, 200 - used, k ? "x%lld" : "%lld",
                                 (long long)sizes[k]);
    }
}

/* Whether the file has the sizes, or those without the axis, unless that has segments. */
static int has_sizes(const tly_states *s, const tly_npy *npy)
{
    const int leaves_out = npy->rank == s->rank - 1 && s->sizes[s->axis] == 1;
    if (npy->rank != s->rank && !leaves_out) {
        return 0;
    }
    for (int k = 0; k < npy->rank; k++) {
        if (npy->sizes[k] != s->sizes[k + (leaves_out && k >= s->axis)]) {
            return 0;
        }
    }
    return 1;
}

static int open_file(tly_states *s, tly_report *report)
{
    char found[200], wanted[200];
    const tly_npy *npy = &s->input.npy;
    const int status = tly_input_open(&s->input, s->given, s->raw, s->dtype, report);
    if (status) {
        return status;
    }
    if (npy->dtype != s->dtype && !(s->dtype == TALLY_BF16 && npy->dtype == TALLY_U16)) {
        tly_refuse(report, EXIT_USAGE, "carry_in", "%s holds %s, and the word's states are %s",
                   s->input.name, tally_dtype_name(npy->dtype), tally_dtype_name(s->dtype));
        tly_hint(report, "states have the dtype that the scan is computed in, as --carry-out "
                         "writes them");
        return EXIT_USAGE;
    }
    if (!has_sizes(s, npy)) {
        print_sizes(found, npy->rank < 32 ? npy->rank : 32, npy->sizes);
        print_sizes(wanted, s->rank, s->sizes);
        tly_refuse(report, EXIT_USAGE, "carry_in", "%s holds %s, and the word's states are %s",
                   s->input.name, found, wanted);
        tly_hint(report,
                 s->sizes[s->axis] == 1
                     ? "states have the input's sizes, with 1 on the axis or without it"
                     : "states have the input's sizes, and on the axis one for each segment");
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

static int read_number(tly_states *s, int32_t rank, tly_report *report)
{
    if (s->rank > rank) {
        tly_refuse(report, EXIT_USAGE, "carry_in",
                   "%s is one number, and a state of this operator is several", s->given);
        tly_hint(report, "--carry-out writes such states. If it is a file's name, type ./%s",
                 s->given);
        return EXIT_USAGE;
    }
    return tly_read_number(s->given, s->dtype, "carry_in", "the word's states have this dtype",
                           s->number, report);
}

int tly_states_place(tly_states *s, const tally_descriptor *descriptor, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    if (!s->carry) {
        return EXIT_DONE;
    }
    if (tally_descriptor_carry(descriptor, &s->rank, s->sizes, &s->dtype, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    s->axis = descriptor->axis < 0 ? descriptor->axis + descriptor->rank : descriptor->axis;
    s->bytes = tally_dtype_bytes(s->dtype);
    for (int32_t k = 0; k < s->rank; k++) {
        s->bytes *= (size_t)s->sizes[k]; /* at most twice the input's elements, of 8 bytes each */
    }
    return s->is_number ? read_number(s, descriptor->rank, report)
           : s->given   ? open_file(s, report)
                        : EXIT_DONE;
}

/* ---- elements ---- */

static int refuse_memory(const tly_states *s, tly_report *report)
{
    return tly_refuse(report, EXIT_MEMORY, "sizes", "no memory for the %zu bytes of states",
                      s->bytes);
}

/* In C order. */
static int reorder(tly_states *s, tly_report *report)
{
    const tly_npy *npy = &s->input.npy;
    const size_t element = tally_dtype_bytes(s->dtype);
    int64_t index[TALLY_MAX_CARRY_RANK] = { 0 };
    s->made = tly_memory_get(s->bytes);
    if (!s->made) {
        return refuse_memory(s, report);
    }
    for (int64_t i = 0; i < npy->count; i++) {
        int64_t at = 0;
        for (int k = npy->rank - 1; k >= 0; k--) {
            at = at * npy->sizes[k] + index[k];
        }
        memcpy(s->made + (size_t)i * element, (const char *)s->input.data + (size_t)at * element,
               element);
        for (int k = npy->rank - 1; k >= 0 && ++index[k] == npy->sizes[k]; k--) {
            index[k] = 0;
        }
    }
    s->from = s->made;
    return EXIT_DONE;
}

/* The number for each scan. */
static int repeat(tly_states *s, tly_report *report)
{
    const size_t element = tally_dtype_bytes(s->dtype);
    s->made = tly_memory_get(s->bytes);
    if (!s->made) {
        return refuse_memory(s, report);
    }
    for (size_t at = 0; at < s->bytes; at += element) {
        memcpy(s->made + at, s->number, element);
    }
    s->from = s->made;
    return EXIT_DONE;
}

int tly_states_load(tly_states *s, tly_report *report)
{
    if (s->is_number && repeat(s, report)) {
        return EXIT_MEMORY;
    }
    if (s->given && !s->is_number) {
        const int status = tly_input_load(&s->input, report);
        if (status) {
            return status;
        }
        s->from = s->input.data;
        if (s->input.npy.fortran && s->input.npy.count > 0 && reorder(s, report)) {
            return EXIT_MEMORY;
        }
    }
    if (s->carry & TALLY_CARRY_OUT) {
        s->to = tly_memory_get(s->bytes);
        if (!s->to) {
            return refuse_memory(s, report);
        }
    }
    return EXIT_DONE;
}

int tly_states_check(const tly_states *s, tly_report *report)
{
    return tly_input_check(&s->input, report);
}

void tly_states_close(tly_states *s)
{
    tly_input_close(&s->input);
    tly_memory_free(s->made, s->bytes);
    tly_memory_free(s->to, s->bytes);
}
