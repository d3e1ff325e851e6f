/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of kernels to be made: words with names, from the command line or from batch files. */
#ifndef TLY_BATCH_H
#define TLY_BATCH_H

#include "../common/tool.h"

#include "../../runtime/making/names.h"

typedef struct tly_batch_line {
    char *name;  /* a C identifier, with its prefix */
    char *where; /* FILE:LINE; "" on the command line */
    char *plan;  /* overrides, comma-separated; "": none */
    tally_descriptor descriptor;
} tly_batch_line;

typedef struct tly_batch {
    tly_batch_line *lines;
    size_t count;
    char **files; /* that were read */
    size_t file_count;
    tly_name_set names;
    const char *plan;   /* of all lines of files, as --plan says; borrowed */
    const char *prefix; /* of all names, as tly_batch_prefix has checked it; NULL: none. Borrowed */
} tly_batch;

/* Puts `prefix` in front of every name that is added from now on. EXIT_USAGE if no identifier
 * begins with it. */
int tly_batch_prefix(tly_batch *batch, const char *prefix, tly_report *report);

/* Adds `[NAME=]WORD` with a plan's overrides, which stands at `where` (a file and line, or ""
 * for the command line). Without NAME: the canonical word, every other character as _.
 * EXIT_USAGE for what is no word, no name, or a name that is there already. */
int tly_batch_add(tly_batch *batch, const char *text, const char *plan, const char *where,
                  tly_report *report);

/* Adds every line of a file and of those that it includes, each with `plan` and its own
 * overrides. */
int tly_batch_read(tly_batch *batch, const char *path, const char *plan, tly_report *report);

/* For what is found when a kernel is made: a message that begins with a line's name says where that
 * stands, too. */
void tly_batch_where(const tly_batch *batch, tly_report *report);

void tly_batch_end(tly_batch *batch);

#endif
