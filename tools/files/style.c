/* SPDX-License-Identifier: Apache-2.0 */
/* How elements are written; see style.h. */
#include "style.h"

#include "../common/about.h"

#include "floats.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PRECISION = 8 };

static int larger(int a, int b)
{
    return a > b ? a : b;
}

/* ---- what all elements have in common ---- */

/* Decimal digits that each number of a dtype keeps: numpy's finfo(dtype).precision. */
static int kept_digits(tally_dtype dtype)
{
    return dtype == TALLY_F64 ? 15 : dtype == TALLY_F32 ? 6 : dtype == TALLY_F16 ? 3 : 2;
}

/* The number as the dtype has it: numpy compares such numbers. */
static double in_dtype(tally_dtype dtype, double value)
{
    double rounded = 0;
    tly_float_store(dtype, value, &rounded);
    return tly_float_load(dtype, &rounded);
}

void tly_style_see_range(tly_style *style, const void *element)
{
    if (!tly_about_is_float(style->dtype)) {
        return;
    }
    const double value = tly_float_load(style->dtype, element), magnitude = fabs(value);
    const int digits = kept_digits(style->dtype);
    if (!isfinite(value)) {
        style->not_finite = 1;
        style->negative |= isinf(value) && value < 0;
    } else if (value != 0) {
        style->least = style->most == 0 || magnitude < style->least ? magnitude : style->least;
        style->most = magnitude > style->most ? magnitude : style->most;
        style->exponents = style->most >= pow(10, digits < PRECISION ? digits : PRECISION) ||
                           style->least < in_dtype(style->dtype, 0.0001) ||
                           in_dtype(style->dtype, style->most / style->least) > 1000;
    }
}

/* The digits that are shown: as many as name the number, and up to PRECISION behind the point. */
static tly_digits shown_digits(const tly_style *style, double value)
{
    const tly_digits d = tly_float_digits(style->dtype, value);
    const int before = style->exponents ? 1 : d.exponent + 1;
    return d.count - before > PRECISION ? tly_float_rounded(value, before + PRECISION) : d;
}

static int count_exponent(int exponent)
{
    return abs(exponent) > 99 ? 3 : 2;
}

/* How many digits stand behind the point without zeros at the end. */
static int count_behind(const tly_digits *d)
{
    return larger(d->count - 1 - d->exponent, 0);
}

static void see_float_width(tly_style *style, double value)
{
    if (!isfinite(value)) {
        return;
    }
    const tly_digits d = shown_digits(style, value);
    const int sign = signbit(value) != 0;
    if (style->exponents) {
        style->left = larger(style->left, sign + 1);
        style->precision = larger(style->precision, d.count - 1);
        style->exponent_digits = larger(style->exponent_digits, count_exponent(d.exponent));
        style->right = style->precision + style->exponent_digits + 2;
    } else {
        style->left = larger(style->left, sign + larger(d.exponent, 0) + 1);
        style->right = larger(style->right, count_behind(&d));
    }
}

/* ---- integers ---- */

static int64_t load_signed(tally_dtype dtype, const void *element)
{
    int64_t value = 0;
    const int unused = 64 - 8 * (int)tally_dtype_bytes(dtype);
    memcpy(&value, element, tally_dtype_bytes(dtype));
    return (int64_t)((uint64_t)value << unused) >> unused;
}

static void write_integer(tally_dtype dtype, const void *element, int width,
                          char word[TLY_MOST_WORD])
{
    uint64_t value = 0;
    if (tly_about_is_signed(dtype)) {
        snprintf(word, TLY_MOST_WORD, "%*" PRId64, width, load_signed(dtype, element));
        return;
    }
    memcpy(&value, element, tally_dtype_bytes(dtype));
    snprintf(word, TLY_MOST_WORD, "%*" PRIu64, width, value);
}

void tly_style_see_width(tly_style *style, const void *element)
{
    char word[TLY_MOST_WORD];
    if (tly_about_is_float(style->dtype)) {
        see_float_width(style, tly_float_load(style->dtype, element));
    } else {
        write_integer(style->dtype, element, 0, word);
        style->left = larger(style->left, (int)strlen(word));
    }
}

/* ---- floats ---- */

/* The digits with the place values 10^first down to 10^last. */
static size_t put_digits(char *to, const tly_digits *d, int first, int last)
{
    size_t length = 0;
    for (int place = first; place >= last; place--) {
        const int at = d->exponent - place;
        to[length++] = at < 0 || at >= d->count ? '0' : d->digit[at];
    }
    return length;
}

/* With `behind` digits behind the point. */
static void write_positional(char word[TLY_MOST_WORD], double value, const tly_digits *d,
                             int behind)
{
    size_t length = 0;
    if (signbit(value)) {
        word[length++] = '-';
    }
    length += put_digits(word + length, d, larger(d->exponent, 0), 0);
    word[length++] = '.';
    length += put_digits(word + length, d, -1, -behind);
    word[length] = 0;
}

static void write_scientific(char word[TLY_MOST_WORD], double value, const tly_digits *d,
                             int behind, int exponent_digits)
{
    size_t length = 0;
    if (signbit(value)) {
        word[length++] = '-';
    }
    length += put_digits(word + length, d, d->exponent, d->exponent);
    word[length++] = '.';
    length += put_digits(word + length, d, d->exponent - 1, d->exponent - behind);
    snprintf(word + length, TLY_MOST_WORD - length, "e%c%0*d", d->exponent < 0 ? '-' : '+',
             exponent_digits, abs(d->exponent));
}

static const char *name_of(double value)
{
    return isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
}

/* A number with blanks around it. */
static void frame(char word[TLY_MOST_WORD], int before, const char *number, int after)
{
    size_t length = 0;
    for (; before > 0 && length < TLY_MOST_WORD - 1; before--) {
        word[length++] = ' ';
    }
    for (; *number && length < TLY_MOST_WORD - 1; number++) {
        word[length++] = *number;
    }
    for (; after > 0 && length < TLY_MOST_WORD - 1; after--) {
        word[length++] = ' ';
    }
    word[length] = 0;
}

/* Characters before the point; infinities and NaNs, which have none, may need more of them. */
static int left_of(const tly_style *style)
{
    return style->not_finite ? larger(style->left, 3 + style->negative - style->right - 1)
                             : style->left;
}

static void write_float(const tly_style *style, double value, char word[TLY_MOST_WORD])
{
    char number[TLY_MOST_WORD];
    int after = 0; /* blanks behind the number */
    if (!isfinite(value)) {
        const char *name = name_of(value);
        frame(word, left_of(style) + style->right + 1 - (int)strlen(name), name, 0);
        return;
    }
    tly_digits d = shown_digits(style, value);
    if (style->exponents) {
        /* Where others need more digits, this one shows its own there, which may be no zeros. */
        d = d.count - 1 < style->precision ? tly_float_rounded(value, style->precision + 1) : d;
        write_scientific(number, value, &d, style->precision, style->exponent_digits);
    } else {
        write_positional(number, value, &d, count_behind(&d));
        after = style->right - count_behind(&d);
    }
    frame(word, left_of(style) - (int)strcspn(number, "."), number, after);
}

static void write_lone_float(tally_dtype dtype, double value, char word[TLY_MOST_WORD])
{
    const double magnitude = fabs(value);
    const double most = pow(10, dtype == TALLY_F64 ? 16 : kept_digits(dtype));
    if (!isfinite(value)) {
        snprintf(word, TLY_MOST_WORD, "%s", name_of(value));
        return;
    }
    const tly_digits d = tly_float_digits(dtype, value);
    if (value == 0 || (magnitude >= 0.0001 && magnitude < most)) {
        write_positional(word, value, &d, larger(count_behind(&d), 1));
        return;
    }
    write_scientific(word, value, &d, d.count - 1, count_exponent(d.exponent));
    if (d.count == 1) { /* 1e+10, without the point */
        char *point = strchr(word, '.');
        memmove(point, point + 1, strlen(point));
    }
}

/* ---- any element ---- */

void tly_style_write(const tly_style *style, const void *element, char word[TLY_MOST_WORD])
{
    if (tly_about_is_float(style->dtype)) {
        write_float(style, tly_float_load(style->dtype, element), word);
    } else if (style->dtype == TALLY_BOOL) {
        snprintf(word, TLY_MOST_WORD, "%s", *(const char *)element ? " True" : "False");
    } else {
        write_integer(style->dtype, element, style->left, word);
    }
}

void tly_style_write_lone(tally_dtype dtype, const void *element, char word[TLY_MOST_WORD])
{
    if (tly_about_is_float(dtype)) {
        write_lone_float(dtype, tly_float_load(dtype, element), word);
    } else if (dtype == TALLY_BOOL) {
        snprintf(word, TLY_MOST_WORD, "%s", *(const char *)element ? "True" : "False");
    } else {
        write_integer(dtype, element, 0, word);
    }
}
