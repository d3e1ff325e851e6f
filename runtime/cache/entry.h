/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry of the disk cache, in a file, in a pack or in the program's hands: a head, a name for
 * people, the key and the value. docs/cache.md has the layout. Bytes that are not exactly one
 * whole, undamaged entry are refused.
 */
#ifndef TLY_ENTRY_H
#define TLY_ENTRY_H

#include <stddef.h>
#include <stdint.h>

/* All that a value depends on, as bytes. */
typedef struct tly_store_key {
    uint64_t hash;
    size_t count;
    unsigned char bytes[4096]; /* plans for Vulkan have the longest: problem, geometry, device */
} tly_store_key;

/* For people who list the folder. */
typedef struct tly_store_name {
    char word[64], device[64];
} tly_store_name;

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
