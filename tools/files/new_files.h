/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written together: each is made in memory first, and none is written if one cannot
 * be. */
#ifndef TLY_NEW_FILES_H
#define TLY_NEW_FILES_H

#include "file.h"

/* Whether two paths lead to one regular file, which need not be there. */
int tly_paths_are_one(const char *a, const char *b);

typedef struct tly_new_file {
    struct tly_new_file *next;
    char *path, *text;
    size_t bytes;
    FILE *to; /* into text; NULL once it is closed */
    tly_output output;
} tly_new_file;

/* Zero before the first is added. */
typedef struct tly_new_files {
    tly_new_file *first, *last;
} tly_new_files;

/* A stream for the contents of one more file; NULL without memory. It belongs to the files. What
 * goes wrong while it is written, tly_new_files_write tells. */
FILE *tly_new_files_add(tly_new_files *files, const char *path);

/* EXIT_USAGE if two of the files are one, or one is any of `count` files that were read: it
 * would be lost. */
int tly_new_files_are_apart(const tly_new_files *files, char *const *read, size_t count,
                            tly_report *report);

/* Writes every file beside its place before the first takes its place. */
int tly_new_files_write(tly_new_files *files, tly_report *report);

void tly_new_files_drop(tly_new_files *files);

typedef int (*tly_fill)(FILE *to, const void *state, tly_report *report);

/* guard.c: what `fill` writes, between lines that have a C header read once. Their macro is of the
 * prefix (NULL: none), the file's name and what is between: headers of one name that declare other
 * things can both be read, and nothing depends on folder or time. */
int tly_guarded_put(FILE *to, const char *path, const char *prefix, tly_fill fill,
                    const void *state, tly_report *report);

#endif
