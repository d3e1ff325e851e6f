/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows in memory, to be written whole or not at all. */
#ifndef TLY_TEXT_H
#define TLY_TEXT_H

#include <stddef.h>

/* All zero is the empty one. Once there is no memory, `failed` stays and nothing more is added. The
 * text, if there is one, ends with a zero that `length` does not count; free it. */
typedef struct tly_text {
    char *text;
    size_t length, room;
    int failed;
} tly_text;

/* A tally_write: 0, or 1 without memory. */
int tly_text_add(void *text, const char *from, size_t bytes);

void tly_text_print(tly_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For HTML and XML: what has a meaning there is written as an entity, and what is not shown, or no
 * UTF-8, as a question mark. */
void tly_text_escape(tly_text *text, const char *from, size_t bytes);

#endif
