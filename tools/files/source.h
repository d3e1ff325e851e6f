/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of an input, whatever they mean: of a file, or of standard input. Regular files are
 * mapped, so that a huge one costs no copy; pipes are read into memory.
 */
#ifndef TLY_SOURCE_H
#define TLY_SOURCE_H

#include "../common/tool.h"

#include <sys/stat.h>

enum { TLY_HEAD = 6 };

typedef struct tly_source {
    const char *name; /* for messages; as long as the source */
    int fd;
    int regular;
    struct stat facts;   /* of a regular file, as it was opened */
    char head[TLY_HEAD]; /* the first bytes; those from head_used on come again */
    size_t head_bytes, head_used;
    void *memory; /* what tly_source_bring brought, and how it goes back */
    size_t memory_bytes;
    int mapped;
} tly_source;

/* Opens a path, - being standard input, and reads its first bytes to `head`. Of a path that leads
 * to nothing *absent becomes 1. */
int tly_source_open(tly_source *source, const char *path, int *absent, tly_report *report);

/* Takes exactly `bytes` bytes from a tly_source, or fails (tly_npy_pull). */
int tly_source_pull(void *source, void *to, size_t bytes, tly_report *report);

/* Bytes that are left of a regular file; -1: nothing says so. */
int64_t tly_source_left(const tly_source *source);

#define TLY_TO_THE_END INT64_MAX

/* Brings the next `wanted` bytes into memory, or all that there are, and sets *data and *bytes to
 * them; they may be written to, which changes no file. *data is aligned to elements of `element`
 * bytes, a power of two. *more is 1 if bytes follow them. */
int tly_source_bring(tly_source *source, int64_t wanted, size_t element, char **data,
                     int64_t *bytes, int *more, tly_report *report);

/* Gives back what was brought. */
void tly_source_release(tly_source *source);

/* EXIT_FILE if a regular file is no longer what was opened: what was computed of it means nothing.
 * To be called after the last use of its bytes. */
int tly_source_check(const tly_source *source, tly_report *report);

/* Valid after every outcome of tly_source_open. */
void tly_source_close(tly_source *source);

#endif
