/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of a table; see csv.h. */
#include "csv.h"

#include "../common/about.h"

#include "floats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_FIELD = 160 };

static tly_csv_outcome read_float(const char *text, tally_dtype dtype, void *to)
{
    static const char *const names[] = { "nan", "inf", "infinity" };
    const char *unsigned_text = text + (*text == '+' || *text == '-');
    int named = 0;
    char *end;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        named |= strcasecmp(unsigned_text, names[i]) == 0;
    }
    if (!named && text[strspn(text, "0123456789+-.eE")]) {
        return TLY_CSV_NO_NUMBER;
    }
    /* f32 is rounded once; f16 and bf16 are, from the nearest f64. */
    const double value = dtype == TALLY_F32 ? (double)strtof(text, &end) : strtod(text, &end);
    if (end == text || *end) {
        return TLY_CSV_NO_NUMBER;
    }
    tly_float_store(dtype, value, to);
    return TLY_CSV_NUMBER;
}

static tly_csv_outcome read_integer(const char *text, tally_dtype dtype, void *to)
{
    const int is_signed = tly_about_is_signed(dtype);
    const int bits = 8 * (int)tally_dtype_bytes(dtype);
    const char *digits = text + (*text == '+' || (is_signed && *text == '-'));
    if (!*digits || digits[strspn(digits, "0123456789")]) {
        return TLY_CSV_NO_NUMBER;
    }
    errno = 0;
    if (is_signed) {
        const int64_t value = strtoll(text, NULL, 10);
        const int64_t most = INT64_MAX >> (64 - bits);
        memcpy(to, &value, tally_dtype_bytes(dtype));
        return errno || value > most || value < -most - 1 ? TLY_CSV_TOO_LARGE : TLY_CSV_NUMBER;
    }
    const uint64_t value = strtoull(text, NULL, 10);
    memcpy(to, &value, tally_dtype_bytes(dtype));
    return errno || value > UINT64_MAX >> (64 - bits) || (dtype == TALLY_BOOL && value > 1)
               ? TLY_CSV_TOO_LARGE
               : TLY_CSV_NUMBER;
}

tly_csv_outcome tly_csv_number(tly_csv_field field, tally_dtype dtype, void *to)
{
    char text[MOST_FIELD];
    const size_t length = (size_t)(field.end - field.at);
    if (length == 0 || length >= sizeof text) {
        return TLY_CSV_NO_NUMBER;
    }
    memcpy(text, field.at, length);
    text[length] = 0;
    if (dtype == TALLY_BOOL && (strcasecmp(text, "true") == 0 || strcasecmp(text, "false") == 0)) {
        const char value = text[0] == 't' || text[0] == 'T';
        memcpy(to, &value, 1);
        return TLY_CSV_NUMBER;
    }
    return tly_about_is_float(dtype) ? read_float(text, dtype, to) : read_integer(text, dtype, to);
}
