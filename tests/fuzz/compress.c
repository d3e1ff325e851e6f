/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compressed bytes. Any bytes decompress or are refused, without a read or a write out of bounds.
 * Bytes that are compressed decompress to the same bytes again. The input is a byte for the
 * dictionary's share, two for the expected length, the dictionary, and the compressed bytes.
 */
#include "fuzz.h"

#include "../../runtime/cache/compress.c"

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
    (void)tly_decompress(d, from, count, to, expected);
    free(to);
    tly_compressor *compressor = tly_compressor_new(d, count);
    unsigned char *compressed = malloc(tly_compressed_most(count)), *again = malloc(count);
    HOLDS(compressor != NULL && compressed != NULL && again != NULL);
    const size_t length = tly_compress(compressor, from, count, compressed);
    HOLDS(length <= tly_compressed_most(count));
    HOLDS(tly_decompress(d, compressed, length, again, count) && memcmp(again, from, count) == 0);
    tly_compressor_free(compressor);
    free(compressed);
    free(again);
    free(dictionary);
    free(from);
    return 0;
}
