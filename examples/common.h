/* SPDX-License-Identifier: Apache-2.0 */
/* What the examples share: a kernel made from a word, timed and run. */
#ifndef EXAMPLES_COMMON_H
#define EXAMPLES_COMMON_H

#include <tally.h>

/* Memory for `count` elements of `element` bytes that may be timed (64-byte aligned, whole
 * lines); ends the program if there is none. Freed with free. */
void *get_array(size_t count, size_t element);

/* Makes the kernel that `word` names, times it beside copies of the same bytes, prints both on
 * one line, and leaves its result in `out`. Ends the program with a message if that fails. */
void scan(const char *word, const void *in, void *out);

#endif
