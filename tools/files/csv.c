/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading tables of numbers; see csv.h. A text is gone through twice: lines and columns are counted
 * for the memory, then numbers are read. What is not plainly a table of numbers is refused.
 */
#include "csv.h"

#include "../common/about.h"

#include <string.h>

enum { LOOKED_AT = 4096, SHOWN = 40 };

int tly_csv_is_text(const char *text, size_t bytes)
{
    const size_t looked_at = bytes < LOOKED_AT ? bytes : LOOKED_AT;
    for (size_t i = 0; i < looked_at; i++) {
        const unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\t' && c != '\n' && c != '\r') || c == 127) {
            return 0;
        }
    }
    return bytes > 0;
}

typedef tly_csv_field span;

typedef struct table {
    const char *name;
    tly_report *report;
    tally_dtype dtype;
    span rest;       /* lines to come */
    int64_t line;    /* number of the line at hand, from 1 */
    int64_t first;   /* the first line of numbers, */
    int64_t columns; /* how many it has, */
    char separator;  /* and what stands between them; ' ': any number of blanks and tabs */
} table;

/* ---- lines and fields ---- */

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static span trim(span s)
{
    while (s.at < s.end && is_blank(*s.at)) {
        s.at++;
    }
    while (s.at < s.end && is_blank(s.end[-1])) {
        s.end--;
    }
    return s;
}

/* The next line that is no comment; 0 if there is none. */
static int next_line(table *t, span *line)
{
    while (t->rest.at < t->rest.end) {
        const char *end = memchr(t->rest.at, '\n', (size_t)(t->rest.end - t->rest.at));
        *line = (span){ t->rest.at, end ? end : t->rest.end };
        t->rest.at = end ? end + 1 : t->rest.end;
        t->line++;
        if (line->at == line->end || *line->at != '#') {
            return 1;
        }
    }
    return 0;
}

static char separator_of(span line)
{
    for (const char *c = ";,\t"; *c; c++) {
        if (memchr(line.at, *c, (size_t)(line.end - line.at))) {
            return *c;
        }
    }
    return ' ';
}

/* Cuts the next field off a line, without blanks and quotes around it; 0 if there is none. At first
 * *more is 1; it is 0 behind the last field. */
static int next_field(char separator, span *line, int *more, span *field)
{
    if (separator == ' ') {
        *line = trim(*line);
        *more = line->at < line->end;
    }
    if (!*more) {
        return 0;
    }
    const char *at = line->at, *first = trim(*line).at;
    if (separator != ' ' && first < line->end && *first == '"') { /* up to the closing quote */
        const char *quote = memchr(first + 1, '"', (size_t)(line->end - first - 1));
        at = quote ? quote : at;
    }
    while (at < line->end && *at != separator && !(separator == ' ' && *at == '\t')) {
        at++;
    }
    *field = trim((span){ line->at, at });
    if (field->end - field->at >= 2 && *field->at == '"' && field->end[-1] == '"') {
        *field = trim((span){ field->at + 1, field->end - 1 });
    }
    *more = at < line->end;
    line->at = *more ? at + 1 : at;
    return 1;
}

static int64_t count_fields(char separator, span line)
{
    int64_t count = 0;
    int more = 1;
    span field;
    while (next_field(separator, &line, &more, &field)) {
        count++;
    }
    return count;
}

/* ---- the table ---- */

static int refuse_field(const table *t, int64_t column, span field, tly_csv_outcome why)
{
    const int length = (int)(field.end - field.at > SHOWN ? SHOWN : field.end - field.at);
    const char *dtype = tally_dtype_name(t->dtype);
    if (field.at == field.end) {
        tly_refuse(t->report, EXIT_FILE, "file", "%s: line %lld, column %lld is empty", t->name,
                   (long long)t->line, (long long)column);
        tly_hint(t->report, "a number that is not known is nan");
        return EXIT_FILE;
    }
    char what[32] = "is no number";
    if (why == TLY_CSV_TOO_LARGE || !tly_about_is_float(t->dtype)) {
        snprintf(what, sizeof what, why == TLY_CSV_TOO_LARGE ? "does not fit %s" : "is no %s",
                 dtype);
    }
    tly_refuse(t->report, EXIT_FILE, "file", "%s: line %lld, column %lld: '%.*s' %s", t->name,
               (long long)t->line, (long long)column, length, field.at, what);
    if (t->separator == ';' && memchr(field.at, ',', (size_t)(field.end - field.at))) {
        tly_hint(t->report, "numbers have a point, not a comma: 1.5");
    } else if (!tly_about_is_float(t->dtype)) {
        tly_hint(
            t->report,
            "%s takes whole numbers such as 1; an input is read as f64 if the word has no dtype",
            dtype);
    } else if (t->line == t->first) {
        tly_hint(t->report, "a first line of names has no numbers in it; " TLY_READABLE);
    }
    return EXIT_FILE;
}

/* Whether a field was meant as a number: 1,5 and [1 are no names either. */
static int is_like_number(const table *t, span field)
{
    char unused[8];
    const char *at = field.at;
    if (at < field.end && strchr("[{(", *at)) {
        return 1;
    }
    while (at < field.end && strchr("0123456789+-., ", *at)) {
        at++;
    }
    return (at == field.end && field.at < field.end) ||
           tly_csv_number(field, t->dtype, unused) == TLY_CSV_NUMBER ||
           tly_csv_number(field, TALLY_F64, unused) == TLY_CSV_NUMBER;
}

/* Whether the line names columns: there is something in it, and nothing like a number. */
static int is_header(const table *t, span line)
{
    const char separator = separator_of(line);
    int names = 0, more = 1;
    span field;
    while (next_field(separator, &line, &more, &field)) {
        names |= field.at < field.end;
        if (is_like_number(t, field)) {
            return 0;
        }
    }
    return names;
}

static int refuse_columns(const table *t, int64_t count, int64_t line, int64_t columns)
{
    return tly_refuse(t->report, EXIT_FILE, "file",
                      "%s: line %lld has %lld column%s, line %lld has %lld", t->name,
                      (long long)t->line, (long long)count, count == 1 ? "" : "s", (long long)line,
                      (long long)columns);
}

/* Goes to the first line of numbers, which says what all others are to be like. */
static int begin(table *t, span *line)
{
    const int any = next_line(t, line);
    const span header = *line;
    const int64_t header_line = t->line;
    const int named = any && is_header(t, header);
    if (!any || (named && !next_line(t, line))) {
        tly_refuse(t->report, EXIT_FILE, "file", "%s: holds no numbers", t->name);
        tly_hint(t->report, TLY_READABLE);
        return EXIT_FILE;
    }
    t->first = t->line;
    t->separator = separator_of(*line);
    t->columns = count_fields(t->separator, *line);
    /* Names may have blanks in them. */
    const int64_t names = named && t->separator != ' ' ? count_fields(t->separator, header)
                                                       : t->columns;
    return names == t->columns ? EXIT_DONE : refuse_columns(t, t->columns, header_line, names);
}

/* Reads the numbers of a line to `to`, which has room for t->columns. */
static int read_line(const table *t, span line, char *to)
{
    const span whole = trim(line);
    const int64_t count = count_fields(t->separator, line);
    int more = 1;
    span field;
    if (whole.at == whole.end) {
        return tly_refuse(t->report, EXIT_FILE, "file", "%s: line %lld is empty", t->name,
                          (long long)t->line);
    }
    if (count != t->columns) {
        return refuse_columns(t, count, t->first, t->columns);
    }
    for (int64_t column = 1; next_field(t->separator, &line, &more, &field); column++) {
        const tly_csv_outcome what = tly_csv_number(field, t->dtype, to);
        if (what != TLY_CSV_NUMBER) {
            return refuse_field(t, column, field, what);
        }
        to += tally_dtype_bytes(t->dtype);
    }
    return EXIT_DONE;
}

static int64_t count_lines(span text)
{
    int64_t count = 1;
    for (const char *at = text.at; (at = memchr(at, '\n', (size_t)(text.end - at))); at++) {
        count++;
    }
    return count;
}

static int read_lines(table *t, span line, char *to, int64_t *rows)
{
    const uint64_t all = (uint64_t)(t->rest.end - line.at);
    const char *from = line.at;
    int status = EXIT_DONE, more = 1;
    tly_progress("reading", all);
    for (*rows = 0; more && !status; ++*rows) {
        status = read_line(t, line, to);
        to += (size_t)t->columns * tally_dtype_bytes(t->dtype);
        tly_progress_at((uint64_t)(t->rest.at - from));
        more = next_line(t, &line);
    }
    return status;
}

int tly_csv_read(const char *name, const char *text, size_t bytes, tally_dtype dtype, tly_npy *npy,
                 void **elements, size_t *memory_bytes, tly_report *report)
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8 */
    const size_t skipped = bytes >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    const size_t element = tally_dtype_bytes(dtype);
    table t = { .name = name, .report = report, .dtype = dtype };
    span line = { text, text };
    t.rest = (span){ text + skipped, text + bytes };
    while (t.rest.at < t.rest.end && (is_blank(t.rest.end[-1]) || t.rest.end[-1] == '\n')) {
        t.rest.end--;
    }
    int status = begin(&t, &line);
    if (status) {
        return status;
    }
    /* A number is a character and what ends it at least, so a short line after a long one does not
     * ask for memory that the text cannot fill: it is refused before it is reached. */
    const size_t most = bytes / 2 + 1;
    const int64_t lines = count_lines((span){ line.at, t.rest.end });
    size_t room;
    if (__builtin_mul_overflow((size_t)lines, (size_t)t.columns, &room) || room > most) {
        room = most;
    }
    *memory_bytes = room * element;
    *elements = tly_memory_get(*memory_bytes);
    if (!*elements) {
        return tly_refuse(report, EXIT_MEMORY, "file", "%s: no memory for its numbers", name);
    }
    int64_t rows;
    status = read_lines(&t, line, *elements, &rows);
    if (status) {
        tly_memory_free(*elements, *memory_bytes);
        return status;
    }
    *npy = (tly_npy){ .dtype = dtype,
                      .rank = t.columns == 1 ? 1 : 2,
                      .sizes = { rows, t.columns },
                      .count = rows * t.columns,
                      .bytes = rows * t.columns * (int64_t)element };
    return EXIT_DONE;
}
