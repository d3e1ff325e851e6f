/* SPDX-License-Identifier: Apache-2.0 */
/* A check that a text is one value of JSON in UTF-8 (RFC 8259). */
#ifndef FUZZ_JSON_H
#define FUZZ_JSON_H

#include "fuzz.h"

#include "../../runtime/host/printable.h"

typedef struct json_text {
    const char *at, *end;
} json_text;

static inline void json_blanks(json_text *j)
{
    while (j->at < j->end && strchr(" \t\r\n", *j->at) != NULL && *j->at != 0) {
        j->at++;
    }
}

static inline int json_take(json_text *j, const char *token)
{
    const size_t length = strlen(token);
    json_blanks(j);
    if ((size_t)(j->end - j->at) < length || memcmp(j->at, token, length) != 0) {
        return 0;
    }
    j->at += length;
    return 1;
}

static inline int json_escape(json_text *j)
{
    if (j->at == j->end || *j->at != 'u') {
        return j->at < j->end && *j->at != 0 && strchr("\"\\/bfnrt", *j->at++) != NULL;
    }
    size_t digits = strspn(++j->at, "0123456789abcdefABCDEF"); /* the text ends with a zero */
    if (digits < 4 || j->end - j->at < 4) {
        return 0;
    }
    j->at += 4;
    return 1;
}

static inline int json_string(json_text *j)
{
    if (!json_take(j, "\"")) {
        return 0;
    }
    while (j->at < j->end && *j->at != '"') {
        uint32_t number;
        const size_t bytes = tly_utf8(j->at, (size_t)(j->end - j->at), &number);
        j->at += bytes;
        if (number < ' ' || number == TLY_NO_CHARACTER || (number == '\\' && !json_escape(j))) {
            return 0;
        }
    }
    return json_take(j, "\"");
}

static inline int json_number(json_text *j)
{
    const size_t length = strspn(j->at, "-+.0123456789eE");
    const int good = length > 0 && length <= (size_t)(j->end - j->at);
    j->at += good ? length : 0;
    return good;
}

static inline int json_value(json_text *j);

static inline int json_items(json_text *j, const char *end, int named)
{
    if (json_take(j, end)) {
        return 1;
    }
    do {
        if ((named && (!json_string(j) || !json_take(j, ":"))) || !json_value(j)) {
            return 0;
        }
    } while (json_take(j, ","));
    return json_take(j, end);
}

static inline int json_value(json_text *j)
{
    if (json_take(j, "{")) {
        return json_items(j, "}", 1);
    }
    if (json_take(j, "[")) {
        return json_items(j, "]", 0);
    }
    json_blanks(j);
    if (j->at < j->end && *j->at == '"') {
        return json_string(j);
    }
    return json_take(j, "true") || json_take(j, "false") || json_take(j, "null") || json_number(j);
}

/* `text` has a zero behind its `bytes`. */
static inline int is_json(const char *text, size_t bytes)
{
    json_text j = { text, text + bytes };
    const int good = json_value(&j);
    json_blanks(&j);
    return good && j.at == j.end;
}

#endif
