/* SPDX-License-Identifier: Apache-2.0 */
/* The ceiling of a word with operands or expressions: several tensors are read, and one is
 * written. */
#ifndef TLY_BENCH_MOVE_H
#define TLY_BENCH_MOVE_H

#include "bench_read.h"

enum { TLY_MOST_SOURCES = 7 };

/* What is read and written. All pointers are 64-byte aligned, and `to` may be written anywhere. */
typedef struct tly_moved {
    int sources;
    const char *from[TLY_MOST_SOURCES];
    size_t bytes[TLY_MOST_SOURCES];
    char *to;
    size_t to_bytes;
} tly_moved;

/* Their `share` takes a tly_moved; NULL is the name behind the last. */
extern const tly_mover tly_move_loops[];

#endif
