/* SPDX-License-Identifier: Apache-2.0 */
/* Batch files; see batch.h. docs/word.md has their grammar. */
#include "batch.h"

#include "lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORD = 1024, MOST_NESTED = 16 };

static const char letters[] = "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

static int no_memory(tly_report *report)
{
    return tly_refuse(report, EXIT_MEMORY, "file", "no memory for the list of kernels");
}

/* ---- names ---- */

/* Of C11 and C++20, and what cannot be a function's name beside them: what objects themselves call,
 * what headers need, compilers' macros. */
static int is_keyword(const char *name)
{
    static const char *const keywords[] = {
        "alignas",     "alignof",      "and",       "and_eq",
        "asm",         "auto",         "bitand",    "bitor",
        "bool",        "break",        "case",      "catch",
        "char",        "char16_t",     "char32_t",  "char8_t",
        "class",       "co_await",     "co_return", "co_yield",
        "compl",       "concept",      "const",     "const_cast",
        "consteval",   "constexpr",    "constinit", "continue",
        "decltype",    "default",      "delete",    "do",
        "double",      "dynamic_cast", "else",      "enum",
        "explicit",    "export",       "extern",    "false",
        "float",       "for",          "friend",    "goto",
        "if",          "inline",       "int",       "long",
        "main",        "mutable",      "namespace", "new",
        "noexcept",    "not",          "not_eq",    "nullptr",
        "operator",    "or",           "or_eq",     "private",
        "protected",   "public",       "register",  "reinterpret_cast",
        "requires",    "restrict",     "return",    "short",
        "signed",      "sizeof",       "static",    "static_assert",
        "static_cast", "struct",       "switch",    "template",
        "this",        "thread_local", "throw",     "true",
        "try",         "typedef",      "typeid",    "typename",
        "union",       "unsigned",     "using",     "virtual",
        "void",        "volatile",     "wchar_t",   "while",
        "xor",         "xor_eq",       "malloc",    "free",
        "memcpy",      "memset",       "typeof",    "linux",
        "unix",        "NULL",         "size_t",    "ptrdiff_t",
        "offsetof",    "max_align_t",  "errno",     "EINVAL",
        "ENOMEM",      "ENOTSUP",      "SIZE_MAX",  "PTRDIFF_MIN",
        "PTRDIFF_MAX",
    };
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        if (strcmp(keywords[i], name) == 0) {
            return 1;
        }
    }
    return 0;
}

/* What C keeps for itself and for <stdint.h>: int64_t, INT64_MAX, UINT64_C and their like. */
static int is_reserved(const char *name)
{
    static const struct {
        const char *begin, *end;
    } kept[] = {
        { "int", "_t" }, { "uint", "_t" },   { "INT", "_MIN" }, { "INT", "_MAX" },
        { "INT", "_C" }, { "UINT", "_MAX" }, { "UINT", "_C" },  { "__", "" },
    };
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const size_t begin = strlen(kept[i].begin), end = strlen(kept[i].end);
        if (length >= begin + end && strncmp(name, kept[i].begin, begin) == 0 &&
            strcmp(name + length - end, kept[i].end) == 0) {
            return 1;
        }
    }
    return name[0] == '_' && isupper((unsigned char)name[1]);
}

/* Whether one is the other's with _part behind it: both would name the same function. */
static int is_part_of(const char *name, const char *whole)
{
    const size_t length = strlen(whole);
    return strncmp(name, whole, length) == 0 && strcmp(name + length, "_part") == 0;
}

static int refuse(tly_report *report, const char *where, const char *field, const char *what,
                  const char *which)
{
    tly_refuse(report, EXIT_USAGE, field, "%s: %s", which, what);
    tly_report_where(report, where);
    return EXIT_USAGE;
}

static int check_name(const tly_batch *batch, const char *name, const char *where,
                      tly_report *report)
{
    if (!name[0] || isdigit((unsigned char)name[0]) || name[strspn(name, letters)]) {
        return refuse(report, where, "usage", "is no C identifier", name);
    }
    if (is_keyword(name) || is_reserved(name)) {
        return refuse(report, where, "usage", "is a name of C's or C++'s own", name);
    }
    for (size_t i = 0; i < batch->count; i++) {
        const char *other = batch->lines[i].name;
        if (strcmp(other, name) == 0) {
            return refuse(report, where, "usage", "comes twice", name);
        }
        if (is_part_of(name, other) || is_part_of(other, name)) {
            return refuse(report, where, "usage", "collides with another's _part", name);
        }
    }
    return EXIT_DONE;
}

/* The canonical word with _ for what is no letter or digit. */
static int escape(const tally_descriptor *d, char name[MOST_WORD], tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    if (tally_descriptor_print(d, name, MOST_WORD, NULL, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    for (char *c = name; *c; c++) {
        *c = strchr(letters, *c) ? *c : '_';
    }
    return EXIT_DONE;
}

/* ---- lines ---- */

static int parse(const char *word, const char *where, tally_descriptor *d, tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    if (tally_descriptor_parse(word, d, &error) == TALLY_OK &&
        tally_descriptor_check(d, &error) == TALLY_OK) {
        return EXIT_DONE;
    }
    const int status = tly_adopt(report, &error);
    tly_report_where(report, where);
    return status;
}

static int append(tly_batch *batch, const char *name, const char *where, const tally_descriptor *d,
                  tly_report *report)
{
    void *lines = batch->lines;
    const int room = tly_memory_room(&lines, batch->count, sizeof *batch->lines);
    batch->lines = lines;
    char *name_copy = room ? strdup(name) : NULL, *where_copy = room ? strdup(where) : NULL;
    if (!name_copy || !where_copy) {
        free(name_copy);
        free(where_copy);
        return no_memory(report);
    }
    batch->lines[batch->count++] = (tly_batch_line){ name_copy, where_copy, *d };
    return EXIT_DONE;
}

/* The `=` behind a NAME is the first one, as there is none in a word before its first colon. */
int tly_batch_add(tly_batch *batch, const char *text, const char *where, tly_report *report)
{
    char line[MOST_WORD], escaped[MOST_WORD];
    if (strlen(text) >= sizeof line) {
        return refuse(report, where, "usage", "is too long", "a word");
    }
    strcpy(line, text);
    char *equals = line + strcspn(line, "=:");
    const int named = *equals == '=';
    *equals = named ? 0 : *equals;
    char *name = named ? tly_trim(line) : escaped, *word = tly_trim(named ? equals + 1 : line);
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    int status = parse(word, where, &d, report);
    if (!status && !named) {
        status = escape(&d, escaped, report);
    }
    if (!status) {
        status = check_name(batch, name, where, report);
    }
    return status ? status : append(batch, name, where, &d, report);
}

/* ---- files ---- */

static int read_file(tly_batch *batch, const char *path, const char *where, int depth,
                     tly_report *report);

/* include "FILE", beside the file that says so. */
static int include(tly_batch *batch, char *rest, const char *from, const char *where, int depth,
                   tly_report *report)
{
    char *name = tly_trim(rest), path[MOST_WORD * 4];
    const size_t length = strlen(name);
    const char *slash = strrchr(from, '/');
    if (length < 3 || name[0] != '"' || name[length - 1] != '"') {
        return refuse(report, where, "usage", "takes a file's name in quotation marks", "include");
    }
    name[length - 1] = 0;
    name++;
    const int folder = slash && name[0] != '/' ? (int)(slash - from) + 1 : 0;
    if (snprintf(path, sizeof path, "%.*s%s", folder, from, name) >= (int)sizeof path) {
        return refuse(report, where, "file", "is too long", "a path");
    }
    return depth < MOST_NESTED ? read_file(batch, path, where, depth + 1, report)
                               : refuse(report, where, "file", "is included too deeply", path);
}

static int read_line(tly_batch *batch, const tly_line *line, const char *path, int depth,
                     tly_report *report)
{
    static const char word[] = "include";
    char *text = line->text;
    if (strncmp(text, word, sizeof word - 1) == 0 && strchr(" \t\"", text[sizeof word - 1])) {
        return include(batch, text + sizeof word - 1, path, line->where, depth, report);
    }
    return text[strcspn(text, "=:")] == '='
               ? tly_batch_add(batch, text, line->where, report)
               : refuse(report, line->where, "usage", "a line is NAME = WORD", text);
}

static int append_file(tly_batch *batch, const char *path)
{
    void *files = batch->files;
    const int room = tly_memory_room(&files, batch->file_count, sizeof *batch->files);
    batch->files = files;
    char *copy = room ? strdup(path) : NULL;
    if (copy) {
        batch->files[batch->file_count++] = copy;
    }
    return copy != NULL;
}

/* `where` includes it, or is "". */
static int read_file(tly_batch *batch, const char *path, const char *where, int depth,
                     tly_report *report)
{
    tly_lines lines = { NULL, 0 };
    int status = tly_lines_read(&lines, path, report);
    if (status) {
        tly_report_where(report, where);
    } else if (!append_file(batch, path)) {
        status = no_memory(report);
    }
    for (size_t i = 0; i < lines.count && !status; i++) {
        status = read_line(batch, &lines.line[i], path, depth, report);
    }
    tly_lines_end(&lines);
    return status;
}

int tly_batch_read(tly_batch *batch, const char *path, tly_report *report)
{
    return read_file(batch, path, "", 0, report);
}

void tly_batch_where(const tly_batch *batch, tly_report *report)
{
    for (size_t i = 0; i < batch->count; i++) {
        const size_t length = strlen(batch->lines[i].name);
        if (strncmp(report->message, batch->lines[i].name, length) == 0 &&
            strncmp(report->message + length, ": ", 2) == 0) {
            tly_report_where(report, batch->lines[i].where);
            return;
        }
    }
}

void tly_batch_end(tly_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        free(batch->lines[i].name);
        free(batch->lines[i].where);
    }
    free(batch->lines);
    for (size_t i = 0; i < batch->file_count; i++) {
        free(batch->files[i]);
    }
    free(batch->files);
    *batch = (tly_batch){ NULL, 0, NULL, 0 };
}
