/* SPDX-License-Identifier: Apache-2.0 */
/* Files of lines; see lines.h. */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WHERE = 4096 };

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

int tly_lines_read(tly_lines *lines, const char *path, tly_report *report)
{
    FILE *file = fopen(path, "re");
    char *line = NULL, where[MOST_WHERE];
    size_t room = 0;
    int status = EXIT_DONE;
    if (!file) {
        return tly_refuse(report, EXIT_FILE, "file", "%s: %s", path, strerror(errno));
    }
    for (int number = 1; !status && getline(&line, &room, file) >= 0; number++) {
        line[strcspn(line, "#")] = 0;
        char *text = tly_trim(line);
        snprintf(where, sizeof where, "%s:%d", path, number);
        status = *text ? tly_lines_add(lines, text, where, report) : EXIT_DONE;
    }
    if (!status && ferror(file)) {
        status = tly_refuse(report, EXIT_FILE, "file", "%s: cannot be read", path);
    }
    free(line);
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
