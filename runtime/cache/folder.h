/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of the disk cache. It is trusted, as is each file, only if it belongs to this user or
 * to root and nobody else may write to it: code is run from there. That is judged by the open
 * descriptor, from which everything is then read, and the last part of a path is never a link.
 */
#ifndef TLY_FOLDER_H
#define TLY_FOLDER_H

#include <stddef.h>
#include <stdint.h>

#define TLY_FOLDER_NAME \
    24 /* bytes of an entry's name with its zero: 16 hexadecimal digits, ".tally" */

/* A descriptor, or -1; then *why says why it is not used, or is NULL if there is no such folder.
 * `create`: it is made, with the folder around it. */
int tly_folder_open(const char *path, int create, const char **why);

void tly_folder_name(char name[TLY_FOLDER_NAME], uint64_t hash);

/* A descriptor of a file, which is no link and trusted, and its length; or -1, then *why, as
 * above. */
int tly_file_open(int folder, const char *name, uint64_t *bytes, const char **why);

/* The bytes of a file from malloc, or NULL; then *why, as above. The file counts as used now if
 * `use`. */
void *tly_folder_read(int folder, const char *name, int use, size_t *count, const char **why);

/* Whole under this name, or not at all: written beside it and renamed. */
int tly_folder_write(int folder, const char *name, const void *bytes, size_t count);

/* What a file takes on disk: whole blocks. */
uint64_t tly_folder_bytes(uint64_t count);

/* One file with the name of an entry. */
typedef struct tly_folder_file {
    char name[TLY_FOLDER_NAME];
    uint64_t bytes;        /* that it takes, in whole blocks */
    int64_t used, used_ns; /* last use, since 1970 */
} tly_folder_file;

/* The files with names of entries, the one unused for longest first, from malloc; and what killed
 * writers left behind is removed. 0: they cannot be listed. */
int tly_folder_list(int folder, tly_folder_file **files, size_t *count);

/* Removes entries, the one unused for longest first, until `limit` bytes at most are left. Returns
 * how many. */
size_t tly_folder_trim(int folder, uint64_t limit);

#endif
