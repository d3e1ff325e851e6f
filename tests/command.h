/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built `tally` as scripts meet it: environment TALLY_TOOL, or the compile definition of that
 * name. Tests of it are one Criterion suite, `cli`, each in a folder of its own, and look only at
 * exit status, standard output, standard error and files.
 */
#ifndef TLY_COMMAND_H
#define TLY_COMMAND_H

#include <stddef.h>

enum { TLY_MOST_BYTES = 1 << 16 };

/* What a call left behind. */
typedef struct tly_outcome {
    int status;
    size_t out_bytes;
    char out[TLY_MOST_BYTES], err[TLY_MOST_BYTES];
} tly_outcome;
extern tly_outcome tly_last;

/* Runs the tool with blank-separated arguments; standard input is the file `in`, or nothing. */
int tly_call_with(const char *in, const char *arguments);
int tly_call(const char *arguments);
/* The same where standard input is the output of a shell's command; only the status is kept. */
int tly_call_piped(const char *source, const char *arguments);
/* The same on a terminal, to which output and errors go: tly_last.out. */
int tly_call_on_terminal(const char *arguments);
/* The same where nobody reads standard output; 128 and the signal where one ends the tool. */
int tly_call_unread(const char *arguments);
void tly_expect_success(const char *in, const char *arguments);
/* One line of the promised form, at most one hint, nothing on standard output. */
void tly_expect_failure(const char *in, const char *arguments, int status, const char *field);

/* `capacity` counts the 0 that is put behind it. */
size_t tly_read_file(const char *name, char *to, size_t capacity);
void tly_write_file(const char *name, const void *data, size_t bytes);

/* Writes a .npy of any version; returns its bytes. */
size_t tly_make_npy(char *file, int major, const char *descr, const char *fortran,
                    const char *shape, const void *data, size_t bytes);
void tly_put_npy(const char *name, const char *descr, const char *fortran, const char *shape,
                 const void *data, size_t bytes);
/* `file`, or standard output where that is NULL, is exactly this .npy. */
void tly_expect_npy(const char *file, const char *descr, const char *shape, const void *data,
                    size_t bytes);

/* The example tensor of the DirectML pages, 1x1x3x4, and its products on axis 3; and as a.npy,
 * fortran.npy, its memory transposed, and flat.npy. */
extern const float tly_example[12], tly_products[12];
void tly_put_inputs(void);

#endif
