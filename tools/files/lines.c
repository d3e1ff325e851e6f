/* SPDX-License-Identifier: Apache-2.0 */
/* Files of lines; see lines.h. */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WHERE = 4096 };

#define MOST_LINE 65535
#define STRING_OF(number) #number
#define STRING(number) STRING_OF(number)

char *tly_trim(char *text)
{
    text += strspn(text, " \t\r\n");
    size_t length = strlen(text);
    while (length && strchr(" \t\r\n", text[length - 1])) {
        text[--length] = 0;
    }
    return text;
}

int tly_lines_add(tly_lines *lines, const char *text, const char *where, tly_report *report)
{
    void *items = lines->line;
    const int room = tly_memory_room(&items, lines->count, sizeof *lines->line);
    lines->line = items;
    if (room) {
        const tly_line line = { strdup(text), strdup(where) };
        lines->line[lines->count++] = line;
        if (line.text && line.where) {
            return EXIT_DONE;
        }
    }
    return tly_refuse(report, EXIT_MEMORY, "file", "no memory for a list");
}

/* The next line, without its end. 0: there is none, or *fault says why it cannot be taken. The
 * bound ends what has neither lines nor an end, as /dev/full. */
static int next_line(FILE *file, char line[MOST_LINE + 1], const char **fault)
{
    size_t length = 0;
    int c;
    while ((c = getc(file)) != EOF && c != '\n') {
        if (c == 0 || length == MOST_LINE) {
            *fault = c == 0 ? "the line has a zero byte"
                            : "the line is longer than " STRING(MOST_LINE) " bytes";
            return 0;
        }
        line[length++] = (char)c;
    }
    line[length] = 0;
    if (c == EOF && ferror(file)) {
        *fault = strerror(errno);
        return 0;
    }
    return c != EOF || length > 0;
}

int tly_lines_read(tly_lines *lines, const char *path, tly_report *report)
{
    FILE *file = fopen(path, "re");
    char line[MOST_LINE + 1], where[MOST_WHERE];
    const char *fault = NULL;
    int status = EXIT_DONE, number = 1;
    if (!file) {
        return tly_refuse(report, EXIT_FILE, "file", "%s: %s", path, strerror(errno));
    }
    for (; !status && next_line(file, line, &fault); number++) {
        line[strcspn(line, "#")] = 0;
        char *text = tly_trim(line);
        snprintf(where, sizeof where, "%s:%d", path, number);
        status = *text ? tly_lines_add(lines, text, where, report) : EXIT_DONE;
    }
    if (fault) {
        status = tly_refuse(report, EXIT_FILE, "file", "%s:%d: %s", path, number, fault);
    }
    fclose(file);
    return status;
}

void tly_lines_end(tly_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++) {
        free(lines->line[i].text);
        free(lines->line[i].where);
    }
    free(lines->line);
    *lines = (tly_lines){ NULL, 0 };
}
