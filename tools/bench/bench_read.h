/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of copies and reads, as bench_copy.c and bench_read.c hand them to the copier. */
#ifndef TLY_BENCH_READ_H
#define TLY_BENCH_READ_H

#include <stddef.h>

typedef struct tly_mover {
    const char *name;
    void (*move)(char *to, const char *from, size_t bytes);
    int (*here)(void); /* whether this machine can run it */
} tly_mover;

/* They read all bytes and leave `to` alone; NULL is the name behind the last. */
extern const tly_mover tly_reads[];

#endif
