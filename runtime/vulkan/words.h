/* SPDX-License-Identifier: Apache-2.0 */
/* Words of SPIR-V as they are stored, in half of their bytes and so that packs find what modules
 * have in common. */
#ifndef TLY_WORDS_H
#define TLY_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of so many words at most. */
static inline size_t tly_words_most(size_t count)
{
    return 5 * count;
}

/* Writes a module's words to `bytes`; returns how many bytes. */
size_t tly_words_write(const uint32_t *words, size_t count, unsigned char *bytes);

/* Any bytes make some words. Returns how many bytes they took. */
size_t tly_words_read(const unsigned char *bytes, size_t length, uint32_t *words, size_t count);

#endif
