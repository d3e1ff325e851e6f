/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a dictionary of what many entries have in common; see compress.h. It works as Zstandard's
 * trainer does, after "Effective construction of relative Lempel-Ziv dictionaries" (2016). The
 * entries, one behind the other, are cut into stretches. Each stretch gives the segment whose parts
 * of eight bytes occur in most entries; parts that the dictionary has already do not count.
 */
#include "compress.h"

#include <stdlib.h>
#include <string.h>

enum { BITS = 20, PART = 8, SEGMENT = 512 };

typedef struct parts {
    uint32_t *entries;  /* that have it, by its hash */
    uint32_t *last;     /* of them, and 1 */
    uint16_t *inside;   /* how often it is in the segment that is looked at */
    unsigned char *all; /* entries one behind the other */
    size_t count;
} parts;

static uint32_t hash_at(const parts *p, size_t at)
{
    uint64_t part;
    memcpy(&part, p->all + at, PART);
    return (uint32_t)(part * UINT64_C(0x9e3779b97f4a7c15) >> (64 - BITS));
}

static void gather(parts *p, const tly_packed_entry *const *entries, size_t entry_count)
{
    for (size_t i = 0; i < entry_count; i++) {
        const size_t from = p->count;
        memcpy(p->all + from, entries[i]->bytes, entries[i]->count);
        p->count += entries[i]->count;
        for (size_t at = from; at + PART <= p->count; at++) {
            const uint32_t hash = hash_at(p, at);
            p->entries[hash] += p->last[hash] != i + 1 && p->last[hash] != 0; /* others */
            p->last[hash] = (uint32_t)i + 1;
        }
    }
}

/* The best segment that begins from `from` on and before `to`; its worth is 0 if there is none. */
static size_t best(parts *p, size_t from, size_t to, uint64_t *worth)
{
    uint64_t sum = 0;
    size_t where = from;
    *worth = 0;
    for (size_t at = from; at < to + SEGMENT && at + PART <= p->count; at++) {
        const uint32_t in = hash_at(p, at);
        sum += p->inside[in]++ == 0 ? p->entries[in] : 0;
        if (at >= from + SEGMENT - PART + 1) {
            const uint32_t out = hash_at(p, at - (SEGMENT - PART + 1));
            sum -= --p->inside[out] == 0 ? p->entries[out] : 0;
        }
        if (sum > *worth && at >= from + SEGMENT - PART) {
            *worth = sum;
            where = at - (SEGMENT - PART);
        }
    }
    for (size_t at = from; at < to + SEGMENT && at + PART <= p->count; at++) {
        p->inside[hash_at(p, at)] = 0;
    }
    return where;
}

static size_t choose(parts *p, unsigned char *bytes, size_t most)
{
    const size_t stretches = most / SEGMENT;
    size_t count = 0;
    for (size_t i = 0; i < stretches; i++) {
        uint64_t worth;
        const size_t from = p->count / stretches * i;
        const size_t at = best(p, from, from + p->count / stretches, &worth);
        if (worth > 0) {
            memcpy(bytes + count, p->all + at, SEGMENT);
            count += SEGMENT;
            for (size_t k = at; k + PART <= at + SEGMENT; k++) {
                p->entries[hash_at(p, k)] = 0;
            }
        }
    }
    return count;
}

size_t tly_dictionary_make(const tly_packed_entry *const *entries, size_t entry_count,
                           unsigned char *bytes, size_t most)
{
    size_t all = 0, count = 0;
    for (size_t i = 0; i < entry_count; i++) {
        all += entries[i]->count;
    }
    parts p = { .entries = calloc((size_t)1 << BITS, sizeof *p.entries),
                .last = calloc((size_t)1 << BITS, sizeof *p.last),
                .inside = calloc((size_t)1 << BITS, sizeof *p.inside),
                .all = malloc(all + 1) };
    if (p.entries != NULL && p.last != NULL && p.inside != NULL && p.all != NULL) {
        gather(&p, entries, entry_count);
        count = choose(&p, bytes, most);
    }
    free(p.entries);
    free(p.last);
    free(p.inside);
    free(p.all);
    return count;
}
