/* SPDX-License-Identifier: Apache-2.0 */
/* The command's files: .npy in, anything out. `-` is standard input or output. */
#ifndef TLY_FILE_H
#define TLY_FILE_H

#include "npy.h"

#include <sys/stat.h>

typedef struct tly_input {
    tly_npy npy;
    const char *name;
    int fd;
    int64_t seekable; /* a regular file: where its first element is; else -1 */
    void *data;       /* after tly_input_load: npy.bytes, writable without touching the file */
    void *memory;     /* what `data` lies in, and how it goes back */
    size_t memory_bytes;
    int mapped;
    struct stat facts; /* of a regular file, as it was opened */
} tly_input;

/* Opens the file, reads its header and, where the file is regular, checks its length. */
int tly_input_open(tly_input *input, const char *path, tly_report *report);

/* Brings the elements into memory; a regular file is mapped. EXIT_FILE if they are too few or
 * something follows them. */
int tly_input_load(tly_input *input, tly_report *report);

/* EXIT_FILE if a regular file is no longer what was opened: what was computed of it means nothing.
 * To be asked after the last use of the elements. */
int tly_input_check(const tly_input *input, tly_report *report);

/* Valid after every outcome of tly_input_open. */
void tly_input_close(tly_input *input);

typedef struct tly_output {
    const char *name;
    char *path;      /* NULL: written directly */
    char *temporary; /* beside it; NULL: none, or one without a name */
    int fd;
    int replaces; /* there is an older file */
    mode_t mode;  /* of the finished file */
    size_t bytes; /* written */
} tly_output;

/* From here on either tly_output_finish or tly_output_drop must follow. Until the first returns
 * EXIT_DONE, an older file stays as it was (what is no regular file is written directly). */
int tly_output_open(tly_output *output, const char *path, tly_report *report);
int tly_output_write(tly_output *output, const void *data, size_t bytes, tly_report *report);
int tly_output_finish(tly_output *output, tly_report *report);
void tly_output_drop(tly_output *output);

/* Whether the path leads to a terminal, to which nothing binary is written. */
int tly_output_is_terminal(const char *path);

/* The file that goes if the command is interrupted from here on; NULL: none. The text must last. */
void tly_watch_unfinished(const char *path);

/* From here on a page of the mapped file that cannot be read ends the command with EXIT_FILE. */
void tly_watch_mapped(const char *name, const void *first, size_t bytes);
void tly_forget_mapped(void);

#endif
