/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing .npy headers. The header is a Python dict written out; only what numpy
 * itself writes there is taken, and everything else is refused with its reason, so that no file
 * is misread: an unknown key or a type without a name in Tally is an error.
 */
#include "npy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../common/about.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "'<' is the order of every CPU level");

static char letter_of(tally_dtype dtype)
{
    return tly_about_dtype_of(dtype)->letter;
}

static int bytes_of(tally_dtype dtype)
{
    return (int)tally_dtype_bytes(dtype);
}

/* Longest header text that is read: 2.0 has room for 4 GiB, of which a tensor needs none. */
#define MAX_TEXT (1u << 20)

typedef struct cursor {
    const char *at, *end;
    const char *name;
    tly_report *report;
} cursor;

static int refuse(cursor *c, const char *why)
{
    return tly_refuse(c->report, EXIT_FILE, "file", "%s: %s", c->name, why);
}

static void skip_blanks(cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n')) {
        c->at++;
    }
}

/* Whether `text` comes next, blanks aside; then it is passed. */
static int take(cursor *c, const char *text)
{
    size_t length = strlen(text);
    skip_blanks(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, text, length) != 0) {
        return 0;
    }
    c->at += length;
    return 1;
}

/* A quoted string of at most capacity - 1 characters, none of which is zero. */
static int take_string(cursor *c, char *text, size_t capacity)
{
    const char *close;
    char quote;
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) {
        return 0;
    }
    quote = *c->at++;
    close = memchr(c->at, quote, (size_t)(c->end - c->at));
    if (!close || (size_t)(close - c->at) >= capacity ||
        memchr(c->at, 0, (size_t)(close - c->at))) {
        return 0;
    }
    memcpy(text, c->at, (size_t)(close - c->at));
    text[close - c->at] = 0;
    c->at = close + 1;
    return 1;
}

static int read_dtype(cursor *c, tly_npy *npy)
{
    char text[32];
    const char *type = text;
    char order = '=';
    skip_blanks(c);
    if (c->at < c->end && *c->at == '[') {
        return refuse(c, "structured dtypes are not taken");
    }
    if (!take_string(c, text, sizeof text)) {
        return refuse(c, "its header has no dtype that is taken");
    }
    if (*type && strchr("<>=|", *type)) {
        order = *type++;
    }
    if (*type == 'O') {
        return refuse(c, "object dtypes are not taken");
    }
    for (tally_dtype dtype = TALLY_F64; dtype < TALLY_DTYPE_COUNT; dtype++) {
        char known[4] = { letter_of(dtype), (char)('0' + bytes_of(dtype)) };
        if (strcmp(type, known) == 0) {
            npy->dtype = dtype;
            npy->swapped = order == '>' && bytes_of(dtype) > 1;
            return EXIT_DONE;
        }
    }
    tly_refuse(c->report, EXIT_FILE, "file", "%s: dtype '%s' has no name in Tally", c->name, text);
    tly_hint(c->report, "files of f64 f32 f16 bf16, i64 to i8, u64 to u8 and bool are read");
    return EXIT_FILE;
}

static int read_order(cursor *c, tly_npy *npy)
{
    npy->fortran = take(c, "True");
    if (!npy->fortran && !take(c, "False")) {
        return refuse(c, "its header's fortran_order is neither True nor False");
    }
    return EXIT_DONE;
}

/* A decimal number of Python, 2's trailing L included. */
static int take_size(cursor *c, int64_t *size)
{
    const char *first;
    skip_blanks(c);
    first = c->at;
    for (*size = 0; c->at < c->end && isdigit((unsigned char)*c->at); c->at++) {
        if (__builtin_mul_overflow(*size, 10, size) ||
            __builtin_add_overflow(*size, *c->at - '0', size)) {
            return 0;
        }
    }
    if (c->at == first || (*first == '0' && c->at - first > 1)) {
        return 0;
    }
    take(c, "L");
    return 1;
}

static int read_shape(cursor *c, tly_npy *npy)
{
    static const char wrong[] = "its header has no shape that is taken";
    npy->rank = 0;
    if (!take(c, "(")) {
        return refuse(c, wrong);
    }
    while (!take(c, ")")) {
        if (npy->rank == NPY_MAX_RANK || !take_size(c, &npy->sizes[npy->rank])) {
            return refuse(c, wrong);
        }
        npy->rank++;
        if (!take(c, ",")) {
            /* Without its comma, "(3)" is a number. */
            if (npy->rank == 1 || !take(c, ")")) {
                return refuse(c, wrong);
            }
            break;
        }
    }
    return EXIT_DONE;
}

static const struct {
    const char *name;
    int (*read)(cursor *c, tly_npy *npy);
} keys[] = { { "descr", read_dtype }, { "fortran_order", read_order }, { "shape", read_shape } };

enum { KEYS = sizeof keys / sizeof *keys };

static int read_entry(cursor *c, tly_npy *npy, unsigned *seen)
{
    char key[32];
    if (!take_string(c, key, sizeof key) || !take(c, ":")) {
        return refuse(c, "its header is no dict");
    }
    for (int i = 0; i < KEYS; i++) {
        if (strcmp(key, keys[i].name) == 0) {
            if (*seen & 1u << i) {
                return refuse(c, "its header has a key twice");
            }
            *seen |= 1u << i;
            return keys[i].read(c, npy);
        }
    }
    return tly_refuse(c->report, EXIT_FILE, "file", "%s: its header has an unknown key '%s'",
                      c->name, key);
}

static int read_dict(cursor *c, tly_npy *npy)
{
    unsigned seen = 0;
    if (!take(c, "{")) {
        return refuse(c, "its header is no dict");
    }
    while (!take(c, "}")) {
        int status = read_entry(c, npy, &seen);
        if (status) {
            return status;
        }
        if (!take(c, ",")) {
            if (!take(c, "}")) {
                return refuse(c, "its header is no dict");
            }
            break;
        }
    }
    skip_blanks(c);
    if (seen != (1u << KEYS) - 1 || c->at != c->end) {
        return refuse(c, "its header lacks a key or goes on behind the dict");
    }
    return EXIT_DONE;
}

/* Elements and bytes, unless no machine could hold them. */
static int count_elements(cursor *c, tly_npy *npy)
{
    npy->count = 1;
    for (int d = 0; d < npy->rank; d++) {
        if (npy->sizes[d] == 0) {
            npy->count = npy->bytes = 0;
            return EXIT_DONE;
        }
    }
    for (int d = 0; d < npy->rank; d++) {
        if (__builtin_mul_overflow(npy->count, npy->sizes[d], &npy->count)) {
            return refuse(c, "its shape has more elements than int64 counts");
        }
    }
    if (__builtin_mul_overflow(npy->count, (int64_t)tally_dtype_bytes(npy->dtype), &npy->bytes)) {
        return refuse(c, "its shape has more bytes than int64 counts");
    }
    return EXIT_DONE;
}

static int read_text(tly_npy_pull pull, void *user, cursor *c, size_t bytes, tly_npy *npy)
{
    char *text = malloc(bytes + 1);
    int status;
    if (!text) {
        return tly_refuse(c->report, EXIT_MEMORY, "file", "%s: no memory for its header", c->name);
    }
    status = pull(user, text, bytes, c->report);
    if (!status) {
        c->at = text;
        c->end = text + bytes;
        status = read_dict(c, npy);
    }
    free(text);
    return status ? status : count_elements(c, npy);
}

int tly_npy_read(tly_npy_pull pull, void *user, const char *name, tly_npy *npy, tly_report *report)
{
    cursor c = { NULL, NULL, name, report };
    unsigned char start[12];
    size_t bytes = 0;
    int width;
    int status = pull(user, start, 8, report);
    if (status) {
        return status;
    }
    if (memcmp(start, "\x93NUMPY", 6) != 0) {
        return refuse(&c, "no .npy file");
    }
    if (start[6] < 1 || start[6] > 3 || start[7] != 0) {
        return tly_refuse(report, EXIT_FILE, "file",
                          "%s: .npy version %u.%u is not taken, only 1.0, 2.0 and 3.0", name,
                          start[6], start[7]);
    }
    width = start[6] == 1 ? 2 : 4;
    status = pull(user, start + 8, (size_t)width, report);
    if (status) {
        return status;
    }
    for (int i = width - 1; i >= 0; i--) {
        bytes = bytes << 8 | start[8 + i];
    }
    if (bytes > MAX_TEXT) {
        return tly_refuse(report, EXIT_FILE, "file",
                          "%s: its header has %zu bytes, more than the %u that are taken", name,
                          bytes, MAX_TEXT);
    }
    memset(npy, 0, sizeof *npy);
    return read_text(pull, user, &c, bytes, npy);
}

size_t tly_npy_format(tally_dtype dtype, int rank, const int64_t *sizes, char *header)
{
    char *text = header + 10;
    size_t room = NPY_MAX_HEADER - 10, length = 0, total;
    length += (size_t)snprintf(text, room, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
                               bytes_of(dtype) > 1 ? '<' : '|', letter_of(dtype), bytes_of(dtype));
    for (int d = 0; d < rank; d++) {
        length += (size_t)snprintf(text + length, room - length, d ? " %lld%s" : "%lld%s",
                                   (long long)sizes[d], d + 1 < rank || rank == 1 ? "," : "");
    }
    length += (size_t)snprintf(text + length, room - length, "), }");
    total = (10 + length + 1 + 63) / 64 * 64;
    memset(text + length, ' ', total - 10 - length - 1);
    header[total - 1] = '\n';
    memcpy(header, "\x93NUMPY\x01", 8);
    header[8] = (char)((total - 10) & 255);
    header[9] = (char)((total - 10) >> 8);
    return total;
}
