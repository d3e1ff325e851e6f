/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scratch of the tasks that run at once: blocks that a context keeps from run to run, as many as
 * it ever needed together, and frees when it ends. No lock, so that a fork leaves nothing locked:
 * the blocks in use by threads that vanish are lost to the child, and only they.
 */
#ifndef TLY_SCRATCH_H
#define TLY_SCRATCH_H

#include <stdatomic.h>
#include <stddef.h>

/* No more blocks than this are kept; what runs beyond them allocates anew. */
#define TLY_SPARE_BLOCKS 256

typedef struct tly_block tly_block;

typedef struct tly_spare {
    _Atomic(tly_block *) blocks[TLY_SPARE_BLOCKS];
} tly_spare;

/* A block of at least so many bytes; NULL without memory. */
tly_block *tly_scratch_take(tly_spare *spare, size_t bytes);
void tly_scratch_give(tly_spare *spare, tly_block *block);

/* 64-byte aligned. */
char *tly_scratch_of(tly_block *block);

/* Bytes in the blocks that are kept, for tests. */
size_t tly_scratch_kept(tly_spare *spare);

/* Frees the blocks; none may be in use. */
void tly_scratch_end(tly_spare *spare);

#endif
