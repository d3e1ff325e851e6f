/* SPDX-License-Identifier: Apache-2.0 */
/* Batch files; see batch.h. docs/word.md has their grammar. */
#include "batch.h"

#include "../files/lines.h"

#include <stdlib.h>
#include <string.h>

/* Files that include the next one twice are read 2, 4, 8, ... times: so their number is bounded,
 * too. */
enum { MOST_WORD = TALLY_WORD_MAX, MOST_NESTED = 16, MOST_FILES = 1000 };

static int no_memory(tly_report *report)
{
    return tly_refuse(report, EXIT_MEMORY, "file", "no memory for the list of kernels");
}

static int refuse(tly_report *report, const char *where, const char *field, const char *what,
                  const char *which)
{
    tly_refuse(report, EXIT_USAGE, field, "%s: %s", which, what);
    tly_report_where(report, where);
    return EXIT_USAGE;
}

int tly_batch_prefix(tly_batch *batch, const char *prefix, tly_report *report)
{
    char name[MOST_WORD];
    const char *fault = "is too long";
    if (strlen(prefix) + 2 <= sizeof name) {
        tly_name_set alone = { .count = 0 };
        snprintf(name, sizeof name, "%sx", prefix); /* a name that is fine by itself */
        if (!tly_name_set_add(&alone, name, &fault)) {
            return no_memory(report);
        }
        tly_name_set_end(&alone);
    }
    if (fault) {
        return tly_refuse(report, EXIT_USAGE, "usage", "--prefix %s: a name with it %s", prefix,
                          fault);
    }
    batch->prefix = prefix;
    return EXIT_DONE;
}

/* The canonical word with _ for what is no letter or digit. */
static int escape(const tally_descriptor *d, char name[MOST_WORD], tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    if (tally_descriptor_print(d, name, MOST_WORD, NULL, &error) != TALLY_OK) {
        return tly_adopt(report, &error);
    }
    tly_name_escape(name);
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

static void drop(tly_batch_line *line)
{
    free(line->name);
    free(line->where);
    free(line->plan);
}

static int append(tly_batch *batch, const char *name, const char *where, const char *plan,
                  const tally_descriptor *d, tly_report *report)
{
    void *lines = batch->lines;
    const int room = tly_memory_room(&lines, batch->count, sizeof *batch->lines);
    batch->lines = lines;
    if (!room) {
        return no_memory(report);
    }
    tly_batch_line line = { strdup(name), strdup(where), strdup(plan), *d };
    if (!line.name || !line.where || !line.plan) {
        drop(&line);
        return no_memory(report);
    }
    const char *fault = NULL;
    const int added = tly_name_set_add(&batch->names, line.name, &fault);
    if (!added || fault) {
        const int status = fault ? refuse(report, where, "usage", fault, name) : no_memory(report);
        if (fault) {
            tly_hint(report, "NAME=WORD gives a kernel another name");
        }
        drop(&line);
        return status;
    }
    batch->lines[batch->count++] = line;
    return EXIT_DONE;
}

/* The `=` behind a NAME is the first one, as there is none in a word before its first colon. */
int tly_batch_add(tly_batch *batch, const char *text, const char *plan, const char *where,
                  tly_report *report)
{
    char line[MOST_WORD], escaped[MOST_WORD] = "";
    if (strlen(text) >= sizeof line) {
        return refuse(report, where, "usage", "is too long", "a word");
    }
    strcpy(line, text);
    char *equals = line + strcspn(line, "=:");
    const int named = *equals == '=';
    *equals = named ? 0 : *equals;
    char whole[2 * MOST_WORD];
    const char *name = named ? tly_trim(line) : escaped;
    char *word = tly_trim(named ? equals + 1 : line);
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    int status = parse(word, where, &d, report);
    if (!status && !named) {
        status = escape(&d, escaped, report);
    }
    /* A line without any name stays one. */
    snprintf(whole, sizeof whole, "%s%s", name[0] && batch->prefix ? batch->prefix : "", name);
    return status ? status : append(batch, whole, where, plan, &d, report);
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

/* Takes the `--plan KEY=VALUE` behind a word off the line, and adds them to the list's. */
static int cut_plan(char *text, const char *of_all, char plan[TLY_MOST_PLAN], tly_report *report)
{
    static const char option[] = " --plan ";
    char *at = strstr(text, option), *next;
    int status = EXIT_DONE;
    snprintf(plan, TLY_MOST_PLAN, "%s", of_all);
    for (; at && !status; at = next) {
        *at = 0;
        at += sizeof option - 1;
        next = strstr(at, option);
        if (next) {
            *next = 0;
        }
        status = tly_plan_add(plan, tly_trim(at), report);
    }
    return status;
}

static int read_line(tly_batch *batch, const tly_line *line, const char *path, int depth,
                     tly_report *report)
{
    static const char word[] = "include";
    char *text = line->text;
    if (strncmp(text, word, sizeof word - 1) == 0 && strchr(" \t\"", text[sizeof word - 1])) {
        return include(batch, text + sizeof word - 1, path, line->where, depth, report);
    }
    if (text[strcspn(text, "=:")] != '=') {
        return refuse(report, line->where, "usage", "a line is NAME = WORD", text);
    }
    char plan[TLY_MOST_PLAN];
    const int status = cut_plan(text, batch->plan, plan, report);
    if (status) {
        tly_report_where(report, line->where);
    }
    return status ? status : tly_batch_add(batch, text, plan, line->where, report);
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
    if (batch->file_count == MOST_FILES) {
        return refuse(report, where, "file", "more than 1000 files are included", path);
    }
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

int tly_batch_read(tly_batch *batch, const char *path, const char *plan, tly_report *report)
{
    batch->plan = plan;
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
        drop(&batch->lines[i]);
    }
    free(batch->lines);
    for (size_t i = 0; i < batch->file_count; i++) {
        free(batch->files[i]);
    }
    free(batch->files);
    tly_name_set_end(&batch->names);
    *batch = (tly_batch){ .lines = NULL };
}
