/* SPDX-License-Identifier: Apache-2.0 */
/* How bytes are squeezed and dictionaries found (squeeze.h has the way back). The command has this
 * too, the library does not. */
#ifndef TLY_SQUEEZE_WRITE_H
#define TLY_SQUEEZE_WRITE_H

#include "pack.h"
#include "squeeze.h"

typedef struct tly_squeezer tly_squeezer;

/* For pieces of `most` bytes at most. NULL without memory. The dictionary is copied. */
tly_squeezer *tly_squeezer_new(tly_dictionary dictionary, size_t most);
void tly_squeezer_free(tly_squeezer *s);

/* What `count` bytes take at most. */
static inline size_t tly_squeezed_most(size_t count)
{
    return count + count / 255 + 16;
}

/* Writes to `to`; returns how many bytes. They depend on nothing but the dictionary and these. */
size_t tly_squeeze(tly_squeezer *s, const void *from, size_t count, unsigned char *to);

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
