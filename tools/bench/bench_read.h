/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of copies and reads, as bench_copy.c and bench_read.c hand them to the copier. */
#ifndef TLY_BENCH_READ_H
#define TLY_BENCH_READ_H

#include <stddef.h>

typedef struct tly_mover {
    const char *name;
    void (*move)(char *to, const char *from, size_t bytes);
    int (*here)(void); /* whether this machine can run it; NULL: every one can */
    /* In place of `move`: does part `number` of `of` parts of a task. */
    void (*share)(const void *task, int number, int of);
} tly_mover;

#if defined(__x86_64__)
static inline int tly_has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}

static inline int tly_has_avx2_only(void)
{
    return __builtin_cpu_supports("avx2") && !tly_has_avx512();
}
#endif

/* They read all bytes and leave `to` alone; NULL is the name behind the last. */
extern const tly_mover tly_reads[];

#endif
