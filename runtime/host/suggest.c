/* SPDX-License-Identifier: Apache-2.0 */
/* Compares names; see suggest.h. */
#include "suggest.h"

#include <stdint.h>
#include <string.h>

/* Names are short; of longer texts the beginning is compared. */
#define MOST 32

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Edits (one letter wrong, missing, too many, or two neighbours swapped) from a to b: the optimal
 * string alignment distance, three rows of its table at a time. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t rows[3][MOST + 1];
    size_t *before = rows[0], *above = rows[1], *row = rows[2];
    for (size_t j = 0; j <= b_length; j++) {
        before[j] = above[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            char x = lower(a[i - 1]), y = lower(b[j - 1]);
            row[j] = least(above[j - 1] + (x != y), least(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && x != y && x == lower(b[j - 2]) && lower(a[i - 2]) == y) {
                row[j] = least(row[j], before[j - 2] + 1);
            }
        }
        size_t *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[b_length];
}

/* Where the number at the end of a text of letters begins; 0 if there is other than that. */
static size_t number_at(const char *text, size_t length)
{
    size_t at = 0;
    while (at < length && lower(text[at]) >= 'a' && lower(text[at]) <= 'z') {
        at++;
    }
    size_t end = at;
    while (end < length && text[end] >= '0' && text[end] <= '9') {
        end++;
    }
    return end == length && at < end ? at : 0;
}

/* float32 and f32, int8 and i8. */
static int is_abbreviated(const char *text, size_t length, const char *name, size_t name_length)
{
    size_t at = number_at(text, length), name_at = number_at(name, name_length);
    return at > 1 && name_at > 0 && lower(text[0]) == name[0] &&
           length - at == name_length - name_at &&
           memcmp(text + at, name + name_at, length - at) == 0;
}

tly_suggestion tly_suggest_begin(const char *text, size_t length)
{
    return (tly_suggestion){ text, least(length, MOST), NULL, SIZE_MAX };
}

void tly_suggest_try(tly_suggestion *s, const char *name)
{
    size_t length = least(strlen(name), MOST);
    size_t longer = length > s->length ? length : s->length;
    size_t found = distance(s->text, s->length, name, length);
    if (s->length == 0) {
        return;
    }
    if ((s->length >= 3 && s->length < length &&
         distance(s->text, s->length, name, s->length) == 0) ||
        is_abbreviated(s->text, s->length, name, length)) {
        found = 1;
    }
    /* A third of the letters: more is another word, and so is one of two. */
    if (found < s->distance && found <= (longer + 1) / 3 && 2 * found < longer) {
        s->best = name;
        s->distance = found;
    }
}

void tly_suggest_alias(tly_suggestion *s, const char *other, const char *name)
{
    size_t at = 0;
    for (; at < s->length && *other != 0; at++) {
        if (s->text[at] == '_') {
            continue;
        }
        if (lower(s->text[at]) != *other) {
            return;
        }
        other++;
    }
    while (at < s->length && s->text[at] == '_') {
        at++;
    }
    if (at == s->length && *other == 0 && at > 0 && s->distance > 0) {
        s->best = name;
        s->distance = 0;
    }
}

void tly_names_add(char *text, size_t capacity, const char *name)
{
    static const char more[] = " ...";
    size_t length = strlen(text), bytes = strlen(name);
    if (length >= sizeof more - 1 && strcmp(text + length - (sizeof more - 1), more) == 0) {
        return;
    }
    /* Room for the end of the list stays free. */
    if (length + 1 + bytes + sizeof more > capacity) {
        memcpy(text + length, more, least(sizeof more, capacity - length));
        text[capacity - 1] = 0;
        return;
    }
    if (length > 0) {
        text[length++] = ' ';
    }
    memcpy(text + length, name, bytes + 1);
}
