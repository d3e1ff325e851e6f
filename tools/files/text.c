/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows in memory; see text.h. */
#include "text.h"

#include "../../runtime/host/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `bytes` more and a zero: where they go, or NULL. */
static char *make_room(tly_text *t, size_t bytes)
{
    if (!t->failed && t->room - t->length < bytes + 1) {
        size_t room = t->room * 2 > t->length + bytes ? t->room * 2 : t->length + bytes;
        char *larger = realloc(t->text, room + 4096);
        t->failed = larger == NULL;
        if (larger) {
            t->text = larger;
            t->room = room + 4096;
        }
    }
    return t->failed ? NULL : t->text + t->length;
}

int tly_text_add(void *text, const char *from, size_t bytes)
{
    tly_text *t = text;
    char *to = make_room(t, bytes);
    if (!to) {
        return 1;
    }
    if (bytes) {
        memcpy(to, from, bytes);
    }
    to[bytes] = 0;
    t->length += bytes;
    return 0;
}

void tly_text_print(tly_text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int bytes = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *to = make_room(t, (size_t)bytes);
    if (to) {
        va_start(args, format);
        vsnprintf(to, (size_t)bytes + 1, format, args);
        va_end(args);
        t->length += (size_t)bytes;
    }
}

/* NULL: the character stands for itself. */
static const char *entity_of(uint32_t number)
{
    switch (number) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    default:
        return number == '\n' || number == '\t' || tly_is_shown(number) ? NULL : "?";
    }
}

void tly_text_escape(tly_text *t, const char *from, size_t bytes)
{
    size_t plain = 0, length;
    for (size_t i = 0; i < bytes; i += length) {
        uint32_t number;
        length = tly_utf8(from + i, bytes - i, &number);
        const char *entity = entity_of(number);
        if (entity) {
            tly_text_add(t, from + plain, i - plain);
            tly_text_add(t, entity, strlen(entity));
            plain = i + length;
        }
    }
    tly_text_add(t, from + plain, bytes - plain);
}
