/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of files, drivers and callers on its way to a terminal, a log or JSON. Pure text, so that
 * library and command share it.
 */
#ifndef TLY_PRINTABLE_H
#define TLY_PRINTABLE_H

#include <stddef.h>
#include <stdint.h>

#define TLY_NO_CHARACTER UINT32_MAX

/* The bytes of the first character of a text of at least one byte, and in *number its number in
 * Unicode. What is not UTF-8 counts as TLY_NO_CHARACTER, a byte at a time. */
size_t tly_utf8(const char *text, size_t bytes, uint32_t *number);

/* Whether a terminal shows the character and does nothing else: control characters, line separators
 * and what changes the direction of text are not shown. */
int tly_is_shown(uint32_t number);

/* Copies a text whose length `room` bounds, with its zero: what is not shown becomes \xNN, a byte
 * at a time. A text that does not fit is cut between characters. Doing it twice changes nothing
 * more. Returns the length. `to` and `text` lie apart. */
size_t tly_printable(char *to, size_t room, const char *text);

#endif
