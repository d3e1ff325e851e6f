/* SPDX-License-Identifier: Apache-2.0 */
/* Words of SPIR-V as they are stored, in about a quarter of their bytes. */
#ifndef TLY_WORDS_H
#define TLY_WORDS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of so many words at most: 40 bits each, none of which takes more than 12.1 (a probability of
 * 15 in 2^16). */
static inline size_t tly_words_most(size_t count)
{
    return 64 * count + 8;
}

/* Writes the words of each module, one behind the other, to `bytes`; returns how many bytes. */
size_t tly_words_squeeze(const uint32_t *const *words, const size_t *counts, size_t modules,
                         unsigned char *bytes);

/* Any bytes make some words. */
void tly_words_expand(const unsigned char *bytes, size_t length, uint32_t *words, size_t count);

#endif
