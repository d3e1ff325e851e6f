/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of an entry of the disk cache, in a file or in the host's hands: a head, the name for
 * people, the key, the value. docs/cache.md has the layout. What is not exactly an entry, whole and
 * undamaged, is none.
 */
#ifndef TLY_ENTRY_H
#define TLY_ENTRY_H

#include "store.h"

/* A longer file is no entry: the largest kernel seen is 60 KiB. */
#define TLY_ENTRY_MOST ((size_t)1 << 26)

/* Views into the bytes of an entry. */
typedef struct tly_stored {
    const char *word, *device;
    const unsigned char *key, *value;
    size_t key_bytes, value_bytes;
} tly_stored;

/* NULL: there is an entry, and this is it. Else what is wrong, in a few words. */
const char *tly_entry_read(const void *bytes, size_t count, tly_stored *entry);

/* From malloc; NULL without memory. */
void *tly_entry_write(const tly_store_key *key, const tly_store_name *name, const void *value,
                      size_t value_bytes, size_t *count);

#endif
