/* SPDX-License-Identifier: Apache-2.0 */
/* `tally grad`: the words that compute the gradient of a word. */
#include "../common/tool.h"

#include <string.h>

/* The name of a source in the output; `steps` are those that it may name. */
static const char *name_of(int32_t source, const tally_gradient_step *steps)
{
    return source >= TALLY_SOURCE_STEP ? steps[source - TALLY_SOURCE_STEP].name
                                       : tally_source_name((tally_source)source);
}

static int read_wrt(const char *name, tally_source *wrt, tly_report *report)
{
    static const char letters[] = "xabcd";
    const char *found = name[0] && !name[1] ? strchr(letters, name[0]) : NULL;
    if (strcmp(name, "carry_in") == 0) {
        *wrt = TALLY_SOURCE_CARRY_IN;
        return EXIT_DONE;
    }
    if (!found) {
        return tly_refuse(report, EXIT_USAGE, "usage",
                          "--wrt takes x, a, b, c, d or carry_in, not '%s'", name);
    }
    *wrt = found == letters ? TALLY_SOURCE_X
                            : (tally_source)(TALLY_SOURCE_A + (found - letters) - 1);
    return EXIT_DONE;
}

static int print_step(const tally_gradient_step *step, const tally_gradient_step *steps,
                      tly_report *report)
{
    char word[TALLY_WORD_MAX];
    tally_error error = TALLY_ERROR_INIT;
    if (tally_descriptor_print(&step->descriptor, word, sizeof word, NULL, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    printf("%s = %s  # in=%s", step->name, word, name_of(step->in, steps));
    for (int i = 0; i < TALLY_MAX_OPERANDS && step->operand[i]; i++) {
        printf(" %c=%s", 'a' + i, name_of(step->operand[i], steps));
    }
    if (step->carry_in) {
        printf(" carry_in=%s", name_of(step->carry_in, steps));
    }
    if (step->descriptor.segment_dtype != 0) {
        printf(" offsets=offsets");
    }
    putchar('\n');
    return EXIT_DONE;
}

int tly_verb_grad(const tly_options *options, tly_report *report)
{
    tally_gradient_step steps[TALLY_GRADIENT_MAX];
    tally_descriptor descriptor;
    tally_error error = TALLY_ERROR_INIT;
    tally_source wrt = TALLY_SOURCE_X;
    size_t count = 0;
    int status = options->wrt ? read_wrt(options->wrt, &wrt, report) : EXIT_DONE;
    steps[0].size = sizeof steps[0];
    if (!status &&
        (tally_descriptor_parse(options->arg[0], &descriptor, &error) != TALLY_OK ||
         tally_gradient(&descriptor, wrt, steps, TALLY_GRADIENT_MAX, &count, &error) != TALLY_OK)) {
        return tly_adopt(report, &error);
    }
    for (size_t i = 0; i < count && !status; i++) {
        status = print_step(&steps[i], steps, report);
    }
    return status ? status : tly_flush(report);
}
