/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of the text form; see reader.h.
 */
#include "reader.h"

#include <stdio.h>
#include <string.h>

int kir_broken(struct reader *r, const char *rule)
{
    if (r->fault[0] == 0) {
        snprintf(r->fault, sizeof r->fault, "%s", rule);
        r->broken = r->token;
    }
    return 0;
}

void kir_skip_blanks(struct reader *r)
{
    if (r->at != r->token) {
        r->behind = r->at;
    }
    while (r->at < r->end && memchr(" \t\r\n", *r->at, 4) != NULL) {
        r->at++;
    }
    r->token = r->at;
}

int kir_peek(struct reader *r, char c)
{
    kir_skip_blanks(r);
    return r->at < r->end && *r->at == c;
}

int kir_accept(struct reader *r, char c)
{
    int found = kir_peek(r, c);
    r->at += found;
    return found;
}

/* What is lacking at the end of a line is lacking there, and not on the next one. */
static int lacks(struct reader *r, const char *rule)
{
    if (memchr(r->behind, '\n', (size_t)(r->token - r->behind)) != NULL) {
        r->token = r->behind;
    }
    return kir_broken(r, rule);
}

int kir_expect(struct reader *r, char c)
{
    char rule[] = "expected 'x'";
    rule[10] = c;
    return kir_accept(r, c) ? 1 : lacks(r, rule);
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* A run of letters and digits that starts with a letter; 0 if there is none or it is too long. */
static size_t look(struct reader *r)
{
    kir_skip_blanks(r);
    size_t n = 0;
    while (r->at + n < r->end && (is_letter(r->at[n]) || (n > 0 && is_digit(r->at[n])))) {
        n++;
    }
    return n <= KIR_WORD_MAX ? n : 0;
}

int kir_word(struct reader *r, char *text)
{
    size_t n = look(r);
    memcpy(text, r->at, n);
    text[n] = 0;
    r->at += n;
    return n > 0 ? 1 : kir_broken(r, "expected a name");
}

int kir_accept_word(struct reader *r, const char *text)
{
    size_t n = look(r);
    if (n == 0 || n != strlen(text) || memcmp(r->at, text, n) != 0) {
        return 0;
    }
    r->at += n;
    return 1;
}

int kir_expect_word(struct reader *r, const char *text)
{
    if (kir_accept_word(r, text)) {
        return 1;
    }
    char rule[KIR_WORD_MAX + 16];
    snprintf(rule, sizeof rule, "expected '%s'", text);
    return lacks(r, rule);
}

static int digit_value(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

int kir_number(struct reader *r, uint64_t base, uint64_t limit, uint64_t *value)
{
    kir_skip_blanks(r);
    const char *start = r->at;
    uint64_t v = 0;
    for (; r->at < r->end && (uint64_t)digit_value(*r->at) < base; r->at++) {
        uint64_t digit = (uint64_t)digit_value(*r->at);
        if (digit > limit || v > (limit - digit) / base) {
            return kir_broken(r, "the number is too large here");
        }
        v = v * base + digit;
    }
    *value = v;
    return r->at > start ? 1 : kir_broken(r, "expected a number");
}

int kir_named(struct reader *r, const char *(*text_of)(int), int count, const char *rule)
{
    char text[KIR_WORD_MAX + 1];
    if (!kir_word(r, text)) {
        return -1;
    }
    for (int i = 0; i < count; i++) {
        if (strcmp(text, text_of(i)) == 0) {
            return i;
        }
    }
    kir_broken(r, rule);
    return -1;
}
