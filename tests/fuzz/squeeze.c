/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Squeezed bytes. Any bytes expand or are refused, without a read or a write out of bounds. Bytes
 * that are squeezed expand to the same bytes again. The input is a byte for the dictionary's share,
 * two for the expected length, the dictionary, and the squeezed bytes.
 */
#include "fuzz.h"

#include "../../runtime/cache/squeeze.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    enum { FRONT = 3 };
    if (bytes < FRONT) {
        return 0;
    }
    const size_t rest = bytes - FRONT, known = rest * data[0] / 256, count = rest - known;
    const size_t expected = (size_t)data[1] << 8 | data[2];
    unsigned char *dictionary = fuzz_copy(data + FRONT, known, 0);
    unsigned char *from = fuzz_copy(data + FRONT + known, count, 0);
    const tly_dictionary d = { dictionary, known };
    unsigned char *to = malloc(expected);
    (void)tly_expand(d, from, count, to, expected);
    free(to);
    tly_squeezer *squeezer = tly_squeezer_new(d, count);
    unsigned char *squeezed = malloc(tly_squeezed_most(count)), *again = malloc(count);
    HOLDS(squeezer != NULL && squeezed != NULL && again != NULL);
    const size_t length = tly_squeeze(squeezer, from, count, squeezed);
    HOLDS(length <= tly_squeezed_most(count));
    HOLDS(tly_expand(d, squeezed, length, again, count) && memcmp(again, from, count) == 0);
    tly_squeezer_free(squeezer);
    free(squeezed);
    free(again);
    free(dictionary);
    free(from);
    return 0;
}
