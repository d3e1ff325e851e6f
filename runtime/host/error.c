/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling a caller's tally_error; see error.h. A field is written only if the caller's struct, as
 * its `size` says, holds all of it.
 */
#define TLY_ERROR_ITSELF
#include "error.h"

#include "printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HOLDS(error, field) ((error)->size >= offsetof(tally_error, field) + sizeof((error)->field))

/* More than fits into any field: escaped text is not shorter. */
enum { MOST_TEXT = 512 };

/* Messages end up on one line of a terminal or a log, whatever a word or a file name contained.
 * Returns whether the text was cut. */
static int print(char *to, size_t room, const char *format, va_list args)
{
    char text[MOST_TEXT], all[4 * MOST_TEXT]; /* an escape has four bytes */
    if (vsnprintf(text, sizeof text, format, args) < 0) {
        text[0] = 0;
    }
    tly_printable(to, room, text);
    return tly_printable(all, sizeof all, text) >= room;
}

tally_status tly_fail(tally_error *error, tally_status status, const char *field,
                      const char *format, ...)
{
    if (error == NULL) {
        return status;
    }
    tally_error filled;
    memset(&filled, 0, sizeof filled);
    va_list args;
    va_start(args, format);
    print(filled.message, sizeof filled.message, format, args);
    va_end(args);
    snprintf(filled.field, sizeof filled.field, "%s", field);

    if (HOLDS(error, status)) {
        error->status = (int32_t)status;
    }
    if (HOLDS(error, position)) {
        error->position = 0;
    }
    if (HOLDS(error, field)) {
        memcpy(error->field, filled.field, sizeof error->field);
    }
    if (HOLDS(error, message)) {
        memcpy(error->message, filled.message, sizeof error->message);
    }
    if (HOLDS(error, hint)) {
        memset(error->hint, 0, sizeof error->hint);
    }
    if (HOLDS(error, word)) {
        memset(error->word, 0, sizeof error->word);
    }
    return status;
}

void tly_error_position(tally_error *error, int32_t position)
{
    if (error != NULL && HOLDS(error, position)) {
        error->position = position;
    }
}

/* Of a text that was cut at its capacity: it ends with a whole word, and with a sign of the cut. */
static void end_with_dots(char *text, size_t capacity)
{
    static const char dots[] = " ...";
    const size_t length = strlen(text), most = capacity - sizeof dots;
    size_t last = length < most ? length : most, at;
    while (last > 0 && (text[last] & 0xc0) == 0x80) { /* within a character */
        last--;
    }
    at = last;
    while (at > capacity / 2 && text[at] != ' ') {
        at--;
    }
    memcpy(text + (text[at] == ' ' ? at : last), dots, sizeof dots);
}

void tly_error_hint(tally_error *error, const char *format, ...)
{
    if (error == NULL || !HOLDS(error, hint)) {
        return;
    }
    char hint[sizeof error->hint];
    va_list args;
    va_start(args, format);
    if (print(hint, sizeof hint, format, args)) {
        end_with_dots(hint, sizeof hint);
    }
    va_end(args);
    memset(error->hint, 0, sizeof error->hint);
    memcpy(error->hint, hint, strlen(hint));
}

void tly_error_word(tally_error *error, const char *format, ...)
{
    if (error == NULL || !HOLDS(error, word)) {
        return;
    }
    va_list args;
    va_start(args, format);
    print(error->word, sizeof error->word, format, args);
    va_end(args);
}

void tly_error_where(tally_error *error, const char *where)
{
    if (error != NULL && HOLDS(error, hint)) {
        tally_error old = TALLY_ERROR_INIT;
        memcpy(&old, error, error->size < sizeof old ? error->size : sizeof old);
        tly_fail(error, old.status, old.field, "%.60s: %s", where, old.message);
        tly_error_hint(error, "%s", old.hint);
        tly_error_word(error, "%s", old.word);
    }
}

tally_status tly_error_pass(tally_error *error, const tally_error *from)
{
    tly_fail(error, (tally_status)from->status, from->field, "%s", from->message);
    tly_error_position(error, from->position);
    tly_error_hint(error, "%s", from->hint);
    tly_error_word(error, "%s", from->word);
    return (tally_status)from->status;
}

tally_status tly_out_of_memory(tally_error *error, const char *what, size_t bytes)
{
    return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory", "no memory for %s (%zu bytes)", what,
                    bytes);
}
