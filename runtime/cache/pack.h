/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs: many entries of the disk cache in one file that is only read. Packs are made while Tally
 * is built, or by `tally compile`. docs/cache.md has the layout. Entries are compressed
 * (decompress.h), all entries of a device with one dictionary. A pack must pass the same checks as
 * the cache's folder, and its entries the same as the entries there: if slots, dictionaries or
 * compressed bytes are damaged, the entry's own checksum finds it.
 */
#ifndef TLY_PACK_H
#define TLY_PACK_H

#include "../host/hash.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Of one dictionary each: the entries of a device's name. Those of further devices have the
 * last. */
enum { TLY_PACK_DICTIONARIES = 16 };

/* A part of the file; none of it lies beyond 4 GiB. */
typedef struct tly_pack_part {
    uint32_t at, count;
} tly_pack_part;

/* The file: a head, slots, dictionaries, entries. */
typedef struct tly_pack_head {
    uint64_t magic, slots;                             /* a power of two */
    uint64_t bytes;                                    /* of the whole file */
    tly_pack_part dictionaries[TLY_PACK_DICTIONARIES]; /* count 0: none */
    uint64_t checksum;                                 /* of all before */
} tly_pack_head;

/* An entry's place is its hash modulo the number of slots, or the next free one after it, and no
 * more than TLY_PACK_FAR after it: so a hash that is not there is soon known to be missing, also
 * where no slot is free. Of a million slots, three quarters of them taken, the longest run of taken
 * ones is some hundreds. */
enum { TLY_PACK_FAR = 4096 };

typedef struct tly_pack_slot {
    uint64_t hash;
    tly_pack_part compressed; /* count 0: the slot is free */
    uint32_t count;           /* of the entry itself */
    uint32_t dictionary;
} tly_pack_slot;

_Static_assert(sizeof(tly_pack_head) == 160 && sizeof(tly_pack_slot) == 24, "no padding");

#define TLY_PACK_MAGIC UINT64_C(0x026b636170796c74) /* "tlypack", version 2 */

static inline uint64_t tly_pack_sum(const tly_pack_head *head)
{
    return tly_hash(TLY_PACK_MAGIC, head, offsetof(tly_pack_head, checksum));
}

typedef struct tly_pack {
    int file; /* -1: there is none */
    uint64_t slots, bytes;
    tly_pack_part dictionaries[TLY_PACK_DICTIONARIES];
    unsigned char
        *_Atomic read[TLY_PACK_DICTIONARIES]; /* from malloc, once the first entry wanted it */
} tly_pack;

/* What a pack is made of: the bytes of an entry (entry.h). */
typedef struct tly_packed_entry {
    uint64_t hash; /* of its key */
    const void *bytes;
    size_t count;
} tly_packed_entry;

/* Fills *pack. Returns NULL, or why the file is not used, in a few words; "" if there is no such
 * file. */
const char *tly_pack_open(tly_pack *pack, const char *path);
void tly_pack_close(tly_pack *pack);

/* The bytes of the entry with this hash from malloc, or NULL. Thread-safe. */
void *tly_pack_read(tly_pack *pack, uint64_t hash, size_t *count);

/* The first slot from `place` on that need not be free: a hole of the file has free ones alone. */
uint64_t tly_pack_next(const tly_pack *pack, uint64_t place);

/* Reads slots from `place` on, up to the last one and `most` at most; returns how many. 0: they
 * cannot be read. */
size_t tly_pack_slots(const tly_pack *pack, uint64_t place, tly_pack_slot *slots, size_t most);

/* The bytes of a slot's entry from malloc; NULL: what the slot says is not there. */
void *tly_pack_entry(tly_pack *pack, const tly_pack_slot *slot);

/* pack_write.c: the bytes of a pack of these entries, from malloc; NULL without memory, above 4
 * GiB, or where more than TLY_PACK_FAR hashes meet in one place, as those of keys do not. Their
 * order does not matter, and of several with one hash the first is taken. */
void *tly_pack_write(const tly_packed_entry *entries, size_t entry_count, size_t *count);

#endif
