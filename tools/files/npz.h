/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numpy's .npz files: zip archives of .npy files, stored or deflated, in memory. Knows the format
 * and nothing of files. No byte beyond the archive is read, whatever it holds.
 */
#ifndef TLY_NPZ_H
#define TLY_NPZ_H

#include "npy.h"

/* An archive; borrows the bytes. */
typedef struct tly_npz {
    const char *name; /* for messages */
    const unsigned char *data;
    size_t bytes;
    size_t directory, directory_end; /* where its list of members stands */
} tly_npz;

/* One array of an archive; borrows the archive. */
typedef struct tly_npz_array {
    const tly_npz *npz;
    const unsigned char *data; /* as it lies in the archive */
    size_t stored, bytes;      /* there, and of the .npy file that it is */
    int deflated;
    uint32_t crc;
} tly_npz_array;

/* Finds the list of members. EXIT_FILE where the bytes are no zip archive, or a damaged one. */
int tly_npz_open(tly_npz *npz, const char *name, const void *data, size_t bytes,
                 tly_report *report);

/* Finds the array `wanted`; NULL: the only one. EXIT_USAGE, with the names as a hint, where there
 * is no such, or where there are several to choose from. */
int tly_npz_find(const tly_npz *npz, const char *wanted, tly_npz_array *array, tly_report *report);

/* Reads the array's header. */
int tly_npz_header(const tly_npz_array *array, tly_npy *npy, tly_report *report);

/* Writes the array's elements, npy->bytes of them, to `to`. EXIT_FILE if there are fewer or more,
 * or if the archive's checksum is not theirs. */
int tly_npz_load(const tly_npz_array *array, const tly_npy *npy, void *to, tly_report *report);

#endif
