/* SPDX-License-Identifier: Apache-2.0 */
/* What a pack is made of; see pack.h. The command has this too, the library does not. */
#include "pack.h"

#include <stdlib.h>
#include <string.h>

/* NULL if it is there already. */
static tly_pack_slot *place(tly_pack_slot *slots, uint64_t slot_count, uint64_t hash)
{
    uint64_t i = hash & (slot_count - 1);
    while (slots[i].count != 0 && slots[i].hash != hash) {
        i = (i + 1) & (slot_count - 1);
    }
    return slots[i].count == 0 ? &slots[i] : NULL;
}

static int by_hash(const void *a, const void *b)
{
    const tly_packed_entry *x = *(const tly_packed_entry *const *)a;
    const tly_packed_entry *y = *(const tly_packed_entry *const *)b;
    return (x->hash > y->hash) - (x->hash < y->hash);
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

static size_t fill(const tly_packed_entry *const *sorted, size_t entries, uint64_t slot_count,
                   char *bytes, size_t at)
{
    tly_pack_slot *slots = (tly_pack_slot *)(void *)(bytes + sizeof(tly_pack_head));
    for (size_t i = 0; i < entries; i++) {
        tly_pack_slot *s = place(slots, slot_count, sorted[i]->hash);
        if (s != NULL) {
            *s = (tly_pack_slot){ sorted[i]->hash, at, sorted[i]->count };
            memcpy(bytes + at, sorted[i]->bytes, sorted[i]->count);
            at += sorted[i]->count;
        }
    }
    return at;
}

void *tly_pack_write(const tly_packed_entry *entries, size_t entry_count, size_t *count)
{
    const uint64_t slots = slots_for(entry_count);
    const size_t front = sizeof(tly_pack_head) + (size_t)slots * sizeof(tly_pack_slot);
    size_t room = front;
    for (size_t i = 0; i < entry_count; i++) {
        room += entries[i].count;
    }
    char *bytes = calloc(1, room);
    const tly_packed_entry **sorted = calloc(entry_count + 1, sizeof *sorted);
    if (bytes == NULL || sorted == NULL) {
        free(bytes);
        free(sorted);
        return NULL;
    }
    for (size_t i = 0; i < entry_count; i++) {
        sorted[i] = &entries[i];
    }
    /* The same bytes in whatever order kernels were made. */
    qsort(sorted, entry_count, sizeof *sorted, by_hash);
    *count = fill(sorted, entry_count, slots, bytes, front);
    tly_pack_head h = { TLY_PACK_MAGIC, slots, *count, 0 };
    h.checksum = tly_pack_sum(&h);
    memcpy(bytes, &h, sizeof h);
    free(sorted);
    return bytes;
}
