/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of copies and reads, as bench_copy.c and bench_read.c hand them to the copier. */
#ifndef TLY_BENCH_READ_H
#define TLY_BENCH_READ_H

#include <stddef.h>

typedef struct tly_mover {
    const char *name;
    void (*move)(char *to, const char *from, size_t bytes);
    int (*here)(void); /* whether this machine can run it */
    /* In place of `move`: does part `number` of `of` parts of a task. */
    void (*share)(const void *task, int number, int of);
} tly_mover;

/* They read all bytes and leave `to` alone; NULL is the name behind the last. */
extern const tly_mover tly_reads[];

#endif
