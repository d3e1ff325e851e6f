/* SPDX-License-Identifier: Apache-2.0 */
/* Files of one thing a line: # begins a comment, blank lines are free. */
#ifndef TLY_LINES_H
#define TLY_LINES_H

#include "../common/tool.h"

typedef struct tly_line {
    char *text;  /* without blanks around */
    char *where; /* FILE:LINE, as tly_report_where takes it */
} tly_line;

typedef struct tly_lines {
    tly_line *line;
    size_t count;
} tly_lines;

/* Without the blanks at both ends; cuts `text`. */
char *tly_trim(char *text);

/* To be ended after every outcome; all zero is no line. A line that has a zero byte, is longer than
 * 65,535 bytes or cannot be read is EXIT_FILE, and the message names it. */
int tly_lines_read(tly_lines *lines, const char *path, tly_report *report);
int tly_lines_add(tly_lines *lines, const char *text, const char *where, tly_report *report);
void tly_lines_end(tly_lines *lines);

#endif
