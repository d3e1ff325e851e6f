/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of numpy's .npy files, as a tensor's dtype, shape and order. Knows the format's
 * versions 1.0, 2.0 and 3.0, and nothing of files. Other formats are described by the same struct.
 */
#ifndef TLY_NPY_H
#define TLY_NPY_H

#include "../common/tool.h"

#define NPY_MAX_RANK 64     /* numpy's own */
#define NPY_MAX_HEADER 1024 /* bytes that tly_npy_format needs at most */

typedef struct tly_npy {
    tally_dtype dtype; /* bf16 for two bytes of no type, as ml_dtypes writes it */
    int fortran;       /* the first axis is the fastest */
    int swapped;       /* elements have the other byte order than this machine's */
    int rank;
    int64_t sizes[NPY_MAX_RANK];
    int64_t count; /* elements */
    int64_t bytes; /* of the elements */
} tly_npy;

/* For hints: every kind of file that is read. */
#define TLY_READABLE \
    "IN is .npy, .npz (IN.npz:name), a CSV of numbers, or raw bytes with --raw f32:3x4"

/* Gives exactly `bytes` bytes of what is being read, or fails. */
typedef int (*tly_npy_pull)(void *user, void *to, size_t bytes, tly_report *report);

/* Reads up to the first element. `name` is the file's, for messages. EXIT_FILE where the bytes
 * are no .npy that is taken: the message says why. */
int tly_npy_read(tly_npy_pull pull, void *user, const char *name, tly_npy *npy, tly_report *report);

/* Writes the version 1.0 header of a C-order tensor of rank up to TALLY_MAX_CARRY_RANK to `header`,
 * NPY_MAX_HEADER bytes, and returns its length, a multiple of 64. */
size_t tly_npy_format(tally_dtype dtype, int rank, const int64_t *sizes, char *header);

#endif
