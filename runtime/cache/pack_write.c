/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out a pack; see pack.h. Only the command is built with this, not the library. */
#include "pack.h"

#include "compress.h"
#include "entry.h"

#include <stdlib.h>
#include <string.h>

/* A pack on its way. */
typedef struct writing {
    const tly_packed_entry **sorted;
    size_t entries, at;
    char *bytes; /* head, slots, and what is behind them up to `at` */
    tly_pack_head head;
} writing;

/* ---- the order ---- */

static const char *device_of(const tly_packed_entry *entry)
{
    tly_stored stored;
    return tly_entry_read(entry->bytes, entry->count, &stored) == NULL ? stored.device : "";
}

/* The same bytes in whatever order kernels were made. */
static int by_device(const void *a, const void *b)
{
    const tly_packed_entry *x = *(const tly_packed_entry *const *)a;
    const tly_packed_entry *y = *(const tly_packed_entry *const *)b;
    const int order = strcmp(device_of(x), device_of(y));
    return order != 0           ? order
           : x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                                : (x > y) - (x < y);
}

/* Behind the last entry of the device that sorted[from] is for. */
static size_t end_of(const writing *w, size_t from)
{
    const char *device = device_of(w->sorted[from]);
    while (from < w->entries && strcmp(device_of(w->sorted[from]), device) == 0) {
        from++;
    }
    return from;
}

/* Half of the slots are free at most, and a quarter at least. */
static uint64_t slots_for(size_t entries)
{
    uint64_t slots = 1;
    while (slots < entries + entries / 3 + 1) {
        slots *= 2;
    }
    return slots;
}

/* ---- written ---- */

/* 1: *slot is where an entry goes, or NULL if it is there already; 0: too many hashes meet there.
 */
static int place(const writing *w, uint64_t hash, tly_pack_slot **slot)
{
    tly_pack_slot *slots = (tly_pack_slot *)(void *)(w->bytes + sizeof(tly_pack_head));
    uint64_t i = hash & (w->head.slots - 1), passed = 0;
    while (slots[i].compressed.count != 0 && slots[i].hash != hash && ++passed < TLY_PACK_FAR) {
        i = (i + 1) & (w->head.slots - 1);
    }
    *slot = slots[i].compressed.count == 0 ? &slots[i] : NULL;
    return passed < TLY_PACK_FAR;
}

static int put_entry(writing *w, const tly_packed_entry *entry, tly_compressor *compressor,
                     uint32_t dictionary)
{
    tly_pack_slot *s;
    if (!place(w, entry->hash, &s)) {
        return 0;
    }
    if (s != NULL) {
        const size_t count = tly_compress(compressor, entry->bytes, entry->count,
                                          (unsigned char *)w->bytes + w->at);
        *s = (tly_pack_slot){
            entry->hash, { (uint32_t)w->at, (uint32_t)count }, (uint32_t)entry->count, dictionary
        };
        w->at += count;
    }
    return 1;
}

/* The entries from `from` on, before `end`. 0: no memory, or no place. */
static int put_entries(writing *w, size_t from, size_t end, uint32_t number)
{
    unsigned char *bytes = (unsigned char *)w->bytes + w->at;
    size_t all = 0, most = 0;
    for (size_t i = from; i < end; i++) {
        all += w->sorted[i]->count;
        most = w->sorted[i]->count > most ? w->sorted[i]->count : most;
    }
    const tly_dictionary d = { bytes, tly_dictionary_make(w->sorted + from, end - from, bytes,
                                                          tly_dictionary_most(all)) };
    tly_compressor *compressor = tly_compressor_new(d, most);
    if (compressor == NULL) {
        return 0;
    }
    w->head.dictionaries[number] = (tly_pack_part){ (uint32_t)w->at, (uint32_t)d.count };
    w->at += d.count;
    int good = 1;
    for (size_t i = from; i < end && good; i++) {
        good = put_entry(w, w->sorted[i], compressor, number);
    }
    tly_compressor_free(compressor);
    return good;
}

static int put_all(writing *w)
{
    uint32_t number = 0;
    for (size_t from = 0, end; from < w->entries; from = end, number++) {
        end = number + 1 < TLY_PACK_DICTIONARIES ? end_of(w, from) : w->entries;
        if (!put_entries(w, from, end, number)) {
            return 0;
        }
    }
    w->head.bytes = w->at;
    w->head.checksum = tly_pack_sum(&w->head);
    memcpy(w->bytes, &w->head, sizeof w->head);
    return 1;
}

void *tly_pack_write(const tly_packed_entry *entries, size_t entry_count, size_t *count)
{
    writing w = { .entries = entry_count,
                  .head = { .magic = TLY_PACK_MAGIC, .slots = slots_for(entry_count) } };
    size_t room = w.at = sizeof w.head + (size_t)w.head.slots * sizeof(tly_pack_slot), all = 0;
    for (size_t i = 0; i < entry_count; i++) {
        room += tly_compressed_most(entries[i].count);
        all += entries[i].count;
    }
    room += tly_dictionary_most(all) * TLY_PACK_DICTIONARIES;
    w.bytes = room <= UINT32_MAX ? calloc(1, room) : NULL;
    w.sorted = calloc(entry_count + 1, sizeof *w.sorted);
    int good = w.bytes != NULL && w.sorted != NULL;
    for (size_t i = 0; i < entry_count && good; i++) {
        w.sorted[i] = &entries[i];
    }
    if (good) {
        qsort(w.sorted, entry_count, sizeof *w.sorted, by_device);
        good = put_all(&w);
    }
    free(w.sorted);
    if (!good) {
        free(w.bytes);
        return NULL;
    }
    *count = w.at;
    return w.bytes;
}
