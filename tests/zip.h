/* SPDX-License-Identifier: Apache-2.0 */
/* Zip archives as numpy writes them, for tests of what reads .npz files. */
#ifndef ZIP_H
#define ZIP_H

#include <stddef.h>
#include <stdint.h>

/* One archive in the making; all zero is an empty one. */
typedef struct zip {
    unsigned char data[1 << 16];
    size_t bytes;
    unsigned char directory[1 << 12];
    size_t directory_bytes;
    int count;
} zip;

/* Adds a member; `method` 0 stores it, 8 deflates it (by zlib, if that is there). */
void zip_add(zip *z, const char *name, const void *data, size_t bytes, int method);

/* Ends the archive. `wide`: with 64-bit records, as of archives beyond 4 GiB. */
void zip_end(zip *z, int wide);

#endif
