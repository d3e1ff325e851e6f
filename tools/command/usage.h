/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of command lines that are wrong. All of these return EXIT_USAGE. */
#ifndef TLY_USAGE_H
#define TLY_USAGE_H

#include "../common/tool.h"

/* Whether a text begins like a word: with an operator. */
int tly_usage_is_word(const char *text);

/* `what` is a format for `which`; the hint is the verb's usage. */
int tly_usage_refuse(const tly_verb *verb, tly_report *report, const char *what, const char *which)
    __attribute__((format(printf, 3, 0)));

/* An option that the verb, whose own are `names` up to a NULL, does not take; `next` is the
 * argument behind it, or NULL. What belongs to the word is suggested there. */
int tly_usage_option(const tly_verb *verb, const tly_options *options, const char *const *names,
                     const char *option, const char *next, tly_report *report);

/* One argument too many. */
int tly_usage_argument(const tly_verb *verb, const tly_options *options, const char *argument,
                       tly_report *report);

/* One argument too few. */
int tly_usage_missing(const tly_verb *verb, const tly_options *options, tly_report *report);

/* After the verb has refused its word: arguments may have come in the wrong order. */
void tly_usage_order(const tly_verb *verb, const tly_options *options, tly_report *report);

#endif
