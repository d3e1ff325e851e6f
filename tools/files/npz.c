/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading .npz files; see npz.h. The format is PKWARE's APPNOTE.TXT: an end record leads to the
 * central directory, whose entries lead to the members. Sizes are the directory's, with the 64-bit
 * ones of large members in an extra field.
 */
#include "npz.h"

#include <string.h>

enum { END = 22, END64 = 56, LOCATOR = 20, ENTRY = 46, LOCAL = 30, MOST_COMMENT = 65535 };

enum { STORED = 0, DEFLATED = 8 };

enum { MOST_RATIO = 1032 }; /* a deflated byte stands for no more */

static uint64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    while (bytes-- > 0) {
        value = value << 8 | at[bytes];
    }
    return value;
}

static int is_signed(const unsigned char *at, int third, int fourth)
{
    return at[0] == 'P' && at[1] == 'K' && at[2] == third && at[3] == fourth;
}

static int refuse(const tly_npz *npz, const char *why, tly_report *report)
{
    return tly_refuse(report, EXIT_FILE, "file", "%s: %s", npz->name, why);
}

static int damaged(const tly_npz *npz, tly_report *report)
{
    return refuse(npz, "is cut short or damaged: its list of arrays leads beyond its end", report);
}

/* Whether `bytes` bytes from `at` on lie within the first `end`. */
static int is_inside(uint64_t at, uint64_t bytes, uint64_t end)
{
    return at <= end && bytes <= end - at;
}

/* ---- the directory ---- */

/* Where the end record stands, behind which is only a comment; 0 if there is none. */
static size_t find_end(const tly_npz *npz)
{
    for (size_t comment = 0; comment <= MOST_COMMENT && comment + END <= npz->bytes; comment++) {
        const size_t at = npz->bytes - END - comment;
        if (is_signed(npz->data + at, 5, 6) && number(npz->data + at + 20, 2) == comment) {
            return at;
        }
    }
    return 0;
}

int tly_npz_open(tly_npz *npz, const char *name, const void *data, size_t bytes, tly_report *report)
{
    *npz = (tly_npz){ .name = name, .data = data, .bytes = bytes };
    const size_t end = find_end(npz);
    if (end == 0 && (bytes < END || !is_signed(npz->data, 5, 6))) {
        return refuse(npz, "is cut short, or no .npz file: it has no list of arrays", report);
    }
    uint64_t length = number(npz->data + end + 12, 4), at = number(npz->data + end + 16, 4);
    uint64_t last = end;
    if (end >= LOCATOR && is_signed(npz->data + end - LOCATOR, 6, 7)) {
        const uint64_t end64 = number(npz->data + end - LOCATOR + 8, 8);
        if (!is_inside(end64, END64, end - LOCATOR) || !is_signed(npz->data + end64, 6, 6)) {
            return damaged(npz, report);
        }
        length = number(npz->data + end64 + 40, 8);
        at = number(npz->data + end64 + 48, 8);
        last = end64;
    }
    if (!is_inside(at, length, last)) {
        return damaged(npz, report);
    }
    npz->directory = (size_t)at;
    npz->directory_end = (size_t)(at + length);
    return EXIT_DONE;
}

/* One entry of the directory. */
typedef struct entry {
    const char *name;
    size_t name_bytes; /* of an array without the .npy at its end */
    int is_array;
    unsigned flags, method;
    uint32_t crc;
    uint64_t stored, bytes, at;
} entry;

/* Takes the next of an entry's numbers that do not fit 32 bits. */
static int take_wide(uint64_t *value, const unsigned char **at, const unsigned char *end)
{
    if (*value != UINT32_MAX) {
        return 1;
    }
    if (end - *at < 8) {
        return 0;
    }
    *value = number(*at, 8);
    *at += 8;
    return 1;
}

static int read_wide(entry *e, const unsigned char *extra, size_t bytes)
{
    static const unsigned char none[1];
    const unsigned char *field = none, *end = none;
    for (size_t at = 0; is_inside(at, 4, bytes);) {
        const size_t length = (size_t)number(extra + at + 2, 2);
        if (!is_inside(at + 4, length, bytes)) {
            return 0;
        }
        if (number(extra + at, 2) == 1) {
            field = extra + at + 4;
            end = field + length;
        }
        at += 4 + length;
    }
    return take_wide(&e->bytes, &field, end) && take_wide(&e->stored, &field, end) &&
           take_wide(&e->at, &field, end);
}

/* Reads the entry at *at and moves it to the next one: 1, 0 at the end, -1 if it is damaged. */
static int next_entry(const tly_npz *npz, size_t *at, entry *e)
{
    static const char ending[] = ".npy";
    const unsigned char *from = npz->data + *at;
    if (*at == npz->directory_end) {
        return 0;
    }
    if (!is_inside(*at, ENTRY, npz->directory_end) || !is_signed(from, 1, 2)) {
        return -1;
    }
    const size_t name = (size_t)number(from + 28, 2), extra = (size_t)number(from + 30, 2);
    const size_t whole = ENTRY + name + extra + (size_t)number(from + 32, 2);
    if (!is_inside(*at, whole, npz->directory_end)) {
        return -1;
    }
    *e = (entry){ .name = (const char *)from + ENTRY,
                  .name_bytes = name,
                  .flags = (unsigned)number(from + 8, 2),
                  .method = (unsigned)number(from + 10, 2),
                  .crc = (uint32_t)number(from + 16, 4),
                  .stored = number(from + 20, 4),
                  .bytes = number(from + 24, 4),
                  .at = number(from + 42, 4) };
    e->is_array = name >= sizeof ending - 1 &&
                  memcmp(e->name + name - (sizeof ending - 1), ending, sizeof ending - 1) == 0;
    e->name_bytes -= e->is_array ? sizeof ending - 1 : 0;
    *at += whole;
    return read_wide(e, from + ENTRY + name, extra) ? 1 : -1;
}

/* ---- arrays by name ---- */

/* "a.npz:x, a.npz:y", as far as there is room. */
static void list_names(const tly_npz *npz, char *text, size_t capacity)
{
    size_t at = npz->directory, length = 0;
    entry e;
    text[0] = 0;
    while (next_entry(npz, &at, &e) == 1) {
        if (!e.is_array) {
            continue;
        }
        const size_t needed = strlen(npz->name) + e.name_bytes + sizeof ":, , ...";
        if (length + needed > capacity) {
            snprintf(text + length, capacity - length, ", ...");
            return;
        }
        length += (size_t)snprintf(text + length, capacity - length, "%s%s:%.*s",
                                   length ? ", " : "", npz->name, (int)e.name_bytes, e.name);
    }
}

static int refuse_name(const tly_npz *npz, const char *wanted, int count, tly_report *report)
{
    char names[sizeof report->hint - 40];
    if (count == 0) {
        refuse(npz, "is a zip archive without .npy files", report);
        tly_hint(report, TLY_READABLE);
        return EXIT_FILE;
    }
    if (wanted) {
        tly_refuse(report, EXIT_USAGE, "file", "%s holds no array '%s'", npz->name, wanted);
    } else {
        tly_refuse(report, EXIT_USAGE, "file", "%s holds %d arrays, and one is needed", npz->name,
                   count);
    }
    list_names(npz, names, sizeof names);
    tly_hint(report, "name one of them: %s", names);
    return EXIT_USAGE;
}

/* What the local header leads to. */
static int find_data(const tly_npz *npz, const entry *e, tly_npz_array *array, tly_report *report)
{
    const unsigned char *local = npz->data + e->at;
    if (e->flags & 1) {
        return refuse(npz, "is encrypted", report);
    }
    if (e->method != STORED && e->method != DEFLATED) {
        return refuse(npz, "is compressed by another method than deflate", report);
    }
    if (!is_inside(e->at, LOCAL, npz->directory) || !is_signed(local, 3, 4)) {
        return damaged(npz, report);
    }
    const uint64_t at = e->at + LOCAL + number(local + 26, 2) + number(local + 28, 2);
    if (!is_inside(at, e->stored, npz->directory) ||
        (e->method == STORED && e->stored != e->bytes) || e->bytes / MOST_RATIO > e->stored) {
        return damaged(npz, report);
    }
    *array = (tly_npz_array){ .npz = npz,
                              .data = npz->data + at,
                              .stored = (size_t)e->stored,
                              .bytes = (size_t)e->bytes,
                              .deflated = e->method == DEFLATED,
                              .crc = e->crc };
    return EXIT_DONE;
}

int tly_npz_find(const tly_npz *npz, const char *wanted, tly_npz_array *array, tly_report *report)
{
    size_t at = npz->directory;
    int count = 0, matches = 0, more;
    entry e, found = { .name = NULL };
    while ((more = next_entry(npz, &at, &e)) == 1) {
        if (e.is_array) {
            count++;
            /* Of several with one name the last, as in Python. */
            if (!wanted ||
                (strlen(wanted) == e.name_bytes && memcmp(wanted, e.name, e.name_bytes) == 0)) {
                matches++;
                found = e;
            }
        }
    }
    if (more < 0) {
        return damaged(npz, report);
    }
    if (matches == 0 || (!wanted && matches > 1)) {
        return refuse_name(npz, wanted, count, report);
    }
    return find_data(npz, &found, array, report);
}
