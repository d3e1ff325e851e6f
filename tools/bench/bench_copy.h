/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kernels are held against, on any number of threads: scans against copies, memcpy and
 * non-temporal ones, and reductions against reads. No part of the command's own; a benchmark
 * elsewhere can compile bench_copy.c, bench_move.c and bench_read.c alone.
 */
#ifndef TLY_BENCH_COPY_H
#define TLY_BENCH_COPY_H

#include <stddef.h>

/* TLY_MOVES: several tensors are read and one is written (bench_move.h). */
typedef enum tly_moves { TLY_COPIES, TLY_READS, TLY_MOVES } tly_moves;

/* Threads that wait to copy or to read. One caller at a time. */
typedef struct tly_copier tly_copier;

/* With `threads` threads, the caller among them, but no more than the process may use CPUs. NULL if
 * there is no memory or no thread. */
tly_copier *tly_copier_start(int threads);
int tly_copier_threads(const tly_copier *copier);
void tly_copier_stop(tly_copier *copier);

/* The kinds that this machine can run: 0 to tly_copy_kinds() - 1. Kind 0 is memcpy or a loop. */
#define TLY_COPY_MOST_KINDS 5
int tly_copy_kinds(tly_moves moves);
const char *tly_copy_name(tly_moves moves, int kind);

/* Between these two calls `threads` of the copier's threads work: the caller, and others that spin,
 * so that a copy starts at once. All other threads sleep, and leave their CPUs to what is timed
 * beside. More threads than the copier has are all that it has. */
void tly_copier_wake(tly_copier *copier, int threads);
void tly_copier_rest(tly_copier *copier);

/* Copies or reads `bytes`, one slice by each thread that is awake. Both buffers are 64-byte
 * aligned. A read leaves `to` alone. For TLY_MOVES `from` is a tly_moved, `to` is not used, and
 * `bytes` is not 0. */
void tly_copier_run(tly_copier *copier, tly_moves moves, int kind, void *to, const void *from,
                    size_t bytes);

#endif
