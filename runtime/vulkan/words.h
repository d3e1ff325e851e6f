/* SPDX-License-Identifier: Apache-2.0 */
/* Words of SPIR-V as they are stored. */
#ifndef TLY_WORDS_H
#define TLY_WORDS_H

#include <stddef.h>
#include <stdint.h>

enum { TLY_WORD_MOST = 5 }; /* bytes a word */

/* Returns how many bytes, of which there is room for the most. */
size_t tly_words_squeeze(const uint32_t *words, size_t count, unsigned char *bytes);

/* Returns how many bytes these words were; 0 where they are no such bytes. */
size_t tly_words_expand(const unsigned char *bytes, size_t length, uint32_t *words, size_t count);

#endif
