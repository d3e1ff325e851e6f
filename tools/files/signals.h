/* SPDX-License-Identifier: Apache-2.0 */
/* What a signal that ends the command must still do: remove an unfinished file, or report a mapped
 * input that was cut short. One unfinished file at a time; not thread-safe. */
#ifndef TLY_SIGNALS_H
#define TLY_SIGNALS_H

#include <stddef.h>

/* An interrupted command removes this file from here on; NULL: none. The text must last. */
void tly_watch_unfinished(const char *path);

/* The most mapped files at a time: an input and its operands. */
enum { TLY_MOST_MAPPED = 5 };

/* From here on a page of the mapped file that cannot be read ends the command with EXIT_FILE. A
 * file beyond the most is not watched. */
void tly_watch_mapped(const char *name, const void *first, size_t bytes);
void tly_forget_mapped(const void *first);

#endif
