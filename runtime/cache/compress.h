/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses the entries of packs and makes their dictionaries; decompress.h has the format and the
 * way back. Only the command is built with this, not the library. */
#ifndef TLY_COMPRESS_H
#define TLY_COMPRESS_H

#include "decompress.h"
#include "pack.h"

typedef struct tly_compressor tly_compressor;

/* For pieces of `most` bytes at most. NULL without memory. The dictionary is copied. */
tly_compressor *tly_compressor_new(tly_dictionary dictionary, size_t most);
void tly_compressor_free(tly_compressor *s);

/* What `count` bytes take at most. */
static inline size_t tly_compressed_most(size_t count)
{
    return count + count / 255 + 16;
}

/* Writes to `to`; returns how many bytes. They depend on nothing but the dictionary and these. */
size_t tly_compress(tly_compressor *s, const void *from, size_t count, unsigned char *to);

/* Bytes of a dictionary for so many bytes of entries. */
static inline size_t tly_dictionary_most(size_t all)
{
    return all / 24 < TLY_DICTIONARY_MOST ? all / 24 : TLY_DICTIONARY_MOST;
}

/* Fills `bytes` with `most` of what most of the entries have in common, or less; returns how
 * much, 0 without memory. */
size_t tly_dictionary_make(const tly_packed_entry *const *entries, size_t entry_count,
                           unsigned char *bytes, size_t most);

#endif
