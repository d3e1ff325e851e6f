/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: a text with a wrong count of elements is a failure, never a shorter tensor. */
#include "elements.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"

typedef struct token {
    char mark; /* 0, '~', '_' or '?' */
    uint64_t bits;
    int64_t repeat;
} token;

/* Reads one token and returns what follows it; NULL at the end, or where it is none. */
static const char *read_token(tally_dtype dtype, const char *text, token *t)
{
    char *end;

    text += strspn(text, " ");
    if (!*text)
        return NULL;
    t->mark = strchr("~_?", *text) ? *text++ : 0;
    t->bits = 0;
    t->repeat = 1;
    end = (char *)(uintptr_t)text;
    if (t->mark != '_' && t->mark != '?') {
        if (tly_is_float(dtype))
            t->bits = tly_encode(dtype, strtod(text, &end));
        else
            t->bits = *text == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
        if (end == text)
            return NULL;
    }
    if (*end == '*')
        t->repeat = strtoll(end + 1, &end, 10);
    return *end == ' ' || !*end ? end : NULL;
}

void tly_elements_release(tly_elements *e)
{
    free(e->bits);
    free(e->marks);
}

int tly_elements_read(tally_dtype dtype, const char *text, int64_t count, tly_elements *e)
{
    token t;
    const char *rest = text;
    int64_t total = 0;

    memset(e, 0, sizeof *e);
    e->bits = calloc((size_t)count + 1, sizeof e->bits[0]);
    e->marks = calloc((size_t)count + 1, 1);
    if (!e->bits || !e->marks)
        return -1;
    while ((rest = read_token(dtype, rest, &t)) != NULL)
        for (int64_t k = 0; k < t.repeat; k++, total++)
            if (total < count) {
                e->bits[total] = t.bits;
                e->marks[total] = t.mark;
            }
    e->count = total;
    return total == count ? 0 : -1;
}

uint64_t tly_canary(tally_dtype dtype)
{
    return UINT64_C(0xb5b5b5b5b5b5b5b5) >> (64 - 8 * tally_dtype_bytes(dtype));
}

int tly_element_is_right(tally_dtype dtype, const tly_elements *e, int64_t k, uint64_t got)
{
    double value, wanted;
    switch (e->marks[k]) {
    case '?':
        return 1;
    case '_':
        return got == tly_canary(dtype);
    case '~':
        value = tly_decode(dtype, got);
        wanted = tly_decode(dtype, e->bits[k]);
        return fabs(value - wanted) <= 1e-5 * fabs(wanted);
    default:
        value = 0;
        tly_bits_store(dtype, &value, 0, e->bits[k]); /* cuts integers to their width */
        return tly_bits_same(dtype, got, tly_bits_load(dtype, &value, 0));
    }
}
