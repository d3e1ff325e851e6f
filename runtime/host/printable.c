/* SPDX-License-Identifier: Apache-2.0 */
/* Text that can be shown; see printable.h. */
#include "printable.h"

#include <string.h>

/* Lengths of UTF-8: the first byte under `mask` is `first`, and the number is at least `least`. */
static const struct {
    unsigned char mask, first;
    uint32_t least;
} forms[] = {
    { 0x80, 0x00, 0 },
    { 0xe0, 0xc0, 0x80 },
    { 0xf0, 0xe0, 0x800 },
    { 0xf8, 0xf0, 0x10000 },
};

static const struct {
    uint32_t first, last;
} unshown[] = {
    { 0, 0x1f },          { 0x7f, 0x9f },
    { 0x61c, 0x61c },     { 0x200e, 0x200f },
    { 0x2028, 0x202e },   { 0x2066, 0x2069 },
    { 0xfeff, 0xfeff },   { 0xfff9, 0xfffb },
    { 0xe0000, 0xe007f }, { TLY_NO_CHARACTER, TLY_NO_CHARACTER },
};

size_t tly_utf8(const char *text, size_t bytes, uint32_t *number)
{
    const unsigned char *byte = (const unsigned char *)text;
    for (size_t more = 0; more < sizeof forms / sizeof *forms && more < bytes; more++) {
        if ((byte[0] & forms[more].mask) != forms[more].first) {
            continue;
        }
        uint32_t n = byte[0] & (unsigned char)~forms[more].mask;
        size_t i = 1;
        for (; i <= more && (byte[i] & 0xc0) == 0x80; i++) {
            n = n << 6 | (byte[i] & 0x3f);
        }
        const int surrogate = n >= 0xd800 && n <= 0xdfff;
        if (i <= more || n < forms[more].least || n > 0x10ffff || surrogate) {
            break;
        }
        *number = n;
        return more + 1;
    }
    *number = TLY_NO_CHARACTER;
    return 1;
}

int tly_is_shown(uint32_t number)
{
    for (size_t i = 0; i < sizeof unshown / sizeof *unshown; i++) {
        if (number >= unshown[i].first && number <= unshown[i].last) {
            return 0;
        }
    }
    return 1;
}

size_t tly_printable(char *to, size_t room, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = 0, left = strlen(text);
    while (left > 0) {
        uint32_t number;
        const size_t bytes = tly_utf8(text, left, &number);
        const int shown = tly_is_shown(number);
        if (length + (shown ? bytes : 4 * bytes) >= room) {
            break;
        }
        for (size_t i = 0; i < bytes; i++) {
            const unsigned char byte = (unsigned char)text[i];
            const char hex[] = { '\\', 'x', digits[byte >> 4], digits[byte & 15] };
            memcpy(to + length, shown ? text + i : hex, shown ? 1 : sizeof hex);
            length += shown ? 1 : sizeof hex;
        }
        text += bytes;
        left -= bytes;
    }
    if (room > 0) {
        to[length] = 0;
    }
    return length;
}
