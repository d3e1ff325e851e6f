/* SPDX-License-Identifier: Apache-2.0 */
/* What a signal that ends the command must still do: remove an unfinished file, or report a mapped
 * input that was cut short. One file of each kind at a time; not thread-safe. */
#ifndef TLY_SIGNALS_H
#define TLY_SIGNALS_H

#include <stddef.h>

/* An interrupted command removes this file from here on; NULL: none. The text must last. */
void tly_watch_unfinished(const char *path);

/* From here on a page of the mapped file that cannot be read ends the command with EXIT_FILE. */
void tly_watch_mapped(const char *name, const void *first, size_t bytes);
void tly_forget_mapped(void);

#endif
