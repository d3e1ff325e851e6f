/* SPDX-License-Identifier: Apache-2.0 */
/* What the examples of words share. Each function ends the program with a message if a call of
 * Tally fails. */
#ifndef EXAMPLES_WORD_H
#define EXAMPLES_WORD_H

#include <stddef.h>
#include <tally.h>

tally_context *open_context(void);

/* The kernel that `word` names; NULL if this version of Tally makes none for such words. */
tally_kernel *make_kernel(tally_context *context, const char *word);

void run_kernel(const tally_kernel *kernel, const tally_buffers *buffers);

/* Makes a kernel, runs it once and destroys it. Returns 0 if there is no such kernel. */
int run_word(tally_context *context, const char *word, const tally_buffers *buffers);

/* Whether no number is further than `bound` from the number that is wanted. Prints the first that
 * is. */
int are_close(const char *what, const float *got, const float *want, size_t count, float bound);

#endif
