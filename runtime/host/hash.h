/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash of bytes for tables, file names and against damage; not against an adversary. Eight bytes
 * a step, and every step is a bijection of what went before, so that data which differ in one word
 * alone never have the same hash.
 */
#ifndef TLY_HASH_H
#define TLY_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t tly_hash_step(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

static inline uint64_t tly_hash(uint64_t seed, const void *data, size_t bytes)
{
    const char *p = data;
    uint64_t hash = tly_hash_step(seed, bytes), word;
    for (; bytes >= sizeof word; p += sizeof word, bytes -= sizeof word) {
        memcpy(&word, p, sizeof word);
        hash = tly_hash_step(hash, word);
    }
    word = 0;
    if (bytes > 0) {
        memcpy(&word, p, bytes);
    }
    hash = tly_hash_step(tly_hash_step(hash, word), 0);
    return hash ^ hash >> 32;
}

#endif
