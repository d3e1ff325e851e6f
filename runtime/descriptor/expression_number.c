/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decimals of expressions. The C library converts digits, but never sees a decimal point, because
 * that is another character in some locales: 2.5 is read as 25e-1.
 */
#include "expression.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "descriptor.h"

/* Beyond it each number is infinite or zero, however many digits it has. */
#define MOST_EXPONENT 9999

double tly_number_read(const char *text, int length)
{
    char plain[TALLY_EXPRESSION_MAX + 16];
    int used = 0, at = 0, exponent = 0, fraction = 0, sign = 1;
    for (; at < length && at < TLY_MOST_TEXT && text[at] != 'e'; at++) {
        if (text[at] == '.') {
            fraction = 1;
        } else {
            plain[used++] = text[at];
            exponent -= fraction;
        }
    }
    if (at < length && text[at] == 'e') {
        int written = 0;
        at++;
        if (at < length && text[at] == '-') {
            sign = -1;
            at++;
        }
        for (; at < length; at++) {
            written = written > MOST_EXPONENT ? written : 10 * written + (text[at] - '0');
        }
        exponent += sign * written;
    }
    snprintf(plain + used, sizeof plain - (size_t)used, "e%d", exponent);
    return strtod(plain, NULL);
}

/* Whether digits with an exponent read back as a number. */
static int is_value(uint64_t digits, int exponent, double value)
{
    char text[TLY_NUMBER_MAX];
    snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
    return strtod(text, NULL) == value;
}

/* The fewest digits that read back, and their exponent. The nearest decimal of a length need not
 * read back where its neighbour does: at powers of two the numbers below lie closer. */
static uint64_t shortest(double value, int *exponent)
{
    for (int count = 1;; count++) {
        char text[TLY_NUMBER_MAX];
        uint64_t digits = 0;
        snprintf(text, sizeof text, "%.*e", count - 1, value);
        const char *at = text;
        for (; *at != 'e'; at++) { /* and nothing of the decimal point */
            digits = *at >= '0' && *at <= '9' ? 10 * digits + (uint64_t)(*at - '0') : digits;
        }
        *exponent = (int)strtol(at + 1, NULL, 10) - (count - 1);
        for (int i = 0; i < 3; i++) {
            static const int neighbours[] = { 0, 1, -1 };
            const uint64_t near = digits + (uint64_t)(int64_t)neighbours[i];
            if (near != 0 && is_value(near, *exponent, value)) {
                return near;
            }
        }
        if (count == 17) { /* enough for each f64 */
            return digits;
        }
    }
}

int tly_number_write(double value, char text[TLY_NUMBER_MAX])
{
    const char *sign = signbit(value) ? "-" : "";
    char digits[24];
    int exponent;
    if (value == 0) {
        return snprintf(text, TLY_NUMBER_MAX, "%s0", sign);
    }
    uint64_t number = shortest(fabs(value), &exponent);
    while (number % 10 == 0) {
        number /= 10;
        exponent++;
    }
    const int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    const int scientific = count + snprintf(text, TLY_NUMBER_MAX, "e%d", exponent);
    const int zeros = -exponent - count; /* between the point and the digits */
    const int plain = exponent >= 0 ? count + exponent : zeros >= 0 ? 2 + zeros + count : count + 1;
    if (scientific < plain) {
        return snprintf(text, TLY_NUMBER_MAX, "%s%se%d", sign, digits, exponent);
    }
    if (exponent >= 0) {
        return snprintf(text, TLY_NUMBER_MAX, "%s%s%.*s", sign, digits, exponent, "000");
    }
    if (zeros >= 0) {
        return snprintf(text, TLY_NUMBER_MAX, "%s0.%.*s%s", sign, zeros, "000", digits);
    }
    return snprintf(text, TLY_NUMBER_MAX, "%s%.*s.%s", sign, count + exponent, digits,
                    digits + count + exponent);
}

int tly_integer_read(const char *text, int length, tally_dtype type, uint64_t *bits)
{
    const int negative = length > 0 && text[0] == '-';
    const uint64_t largest = tly_dtypes[type].largest;
    const int is_signed = type == TALLY_I64 || type == TALLY_I32 || type == TALLY_I16 ||
                          type == TALLY_I8;
    uint64_t n = 0;
    for (int i = negative; i < length; i++) {
        if (text[i] < '0' || text[i] > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(text[i] - '0'), &n)) {
            return 0;
        }
    }
    *bits = negative ? 0 - n : n;
    return negative ? is_signed && n > 0 && n <= largest + 1 : n <= largest;
}
