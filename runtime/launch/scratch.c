/* SPDX-License-Identifier: Apache-2.0 */
/* Scratch blocks; see scratch.h. */
#include "scratch.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { LINE = 64 };

struct tly_block {
    size_t bytes;
    alignas(LINE) char scratch[];
};

static tly_block *make(size_t bytes)
{
    if (bytes > SIZE_MAX - sizeof(tly_block) - LINE) {
        return NULL;
    }
    size_t whole = (bytes + LINE - 1) / LINE * LINE;
    tly_block *block = aligned_alloc(LINE, sizeof *block + whole);
    if (block != NULL) {
        block->bytes = whole;
    }
    return block;
}

tly_block *tly_scratch_take(tly_spare *spare, size_t bytes)
{
    tly_block *block = NULL;
    for (int i = 0; i < TLY_SPARE_BLOCKS && block == NULL; i++) {
        /* Looked at first: an exchange would take the line from others for nothing. */
        if (atomic_load_explicit(&spare->blocks[i], memory_order_relaxed) != NULL) {
            block = atomic_exchange_explicit(&spare->blocks[i], NULL, memory_order_acquire);
        }
    }
    if (block != NULL && block->bytes < bytes) {
        free(block); /* so in the end all are as large as the largest that was asked for */
        block = NULL;
    }
    return block != NULL ? block : make(bytes);
}

void tly_scratch_give(tly_spare *spare, tly_block *block)
{
    for (int i = 0; i < TLY_SPARE_BLOCKS; i++) {
        tly_block *none = NULL;
        if (atomic_load_explicit(&spare->blocks[i], memory_order_relaxed) == NULL &&
            atomic_compare_exchange_strong_explicit(&spare->blocks[i], &none, block,
                                                    memory_order_release, memory_order_relaxed)) {
            return;
        }
    }
    free(block);
}

char *tly_scratch_of(tly_block *block)
{
    return block->scratch;
}

size_t tly_scratch_kept(tly_spare *spare)
{
    size_t bytes = 0;
    for (int i = 0; i < TLY_SPARE_BLOCKS; i++) {
        tly_block *block = atomic_load_explicit(&spare->blocks[i], memory_order_acquire);
        bytes += block != NULL ? block->bytes : 0;
    }
    return bytes;
}

void tly_scratch_end(tly_spare *spare)
{
    for (int i = 0; i < TLY_SPARE_BLOCKS; i++) {
        free(atomic_load_explicit(&spare->blocks[i], memory_order_acquire));
    }
}
