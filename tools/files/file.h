/* SPDX-License-Identifier: Apache-2.0 */
/* The command's files: tensors in, anything out. `-` is standard input or output. */
#ifndef TLY_FILE_H
#define TLY_FILE_H

#include "npz.h"
#include "source.h"

typedef struct tly_input {
    tly_npy npy;
    const char *name; /* for messages */
    void *data;       /* after tly_input_load: npy.bytes, writable without touching the file */
    /* How the elements come. */
    tly_source source;
    char *path;  /* of an archive, without the array's name */
    tly_npz npz; /* an array of an archive; name NULL: not of one */
    tly_npz_array array;
    void *elements; /* read from another form; NULL: they are the source's own bytes */
    size_t elements_bytes;
} tly_input;

/*
 * Opens a file of any kind that is read (TLY_READABLE), finds what it holds and, where the file is
 * regular, checks its length. IN.npz:NAME is one array of an archive. `raw`: what --raw says of
 * the bytes, or NULL; `dtype`: what numbers of a text become, f64 for TALLY_DTYPE_NONE.
 */
int tly_input_open(tly_input *input, const char *path, const char *raw, tally_dtype dtype,
                   tly_report *report);

/* Brings the elements into memory; those of a regular file may be mapped. EXIT_FILE if they are
 * too few or something follows them. */
int tly_input_load(tly_input *input, tly_report *report);

/* EXIT_FILE if a regular file is no longer what was opened: what was computed of it means nothing.
 * To be called after the last use of the elements. */
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

/* All of that for a text. */
int tly_output_text(const char *path, const char *text, size_t bytes, tly_report *report);

#endif
