/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs: whatever head, slots, dictionaries and entries say, nothing outside of the file is read,
 * and an entry is as long as its slot says. The target corrects the length in the head, and passes
 * over the checksum.
 */
#include "fuzz.h"

#include "../../runtime/cache/pack.c"

#include <sys/mman.h>

static void look_up(tly_pack *pack, const tly_pack_slot *slot)
{
    size_t count = 0;
    tly_stored e;
    void *bytes = tly_pack_entry(pack, slot);
    HOLDS(bytes == NULL || slot->compressed.count > 0);
    if (bytes != NULL) {
        (void)tly_entry_read(bytes, slot->count, &e);
    }
    free(bytes);
    bytes = tly_pack_read(pack, slot->hash, &count); /* of this slot, or of one before it */
    if (bytes != NULL) {
        (void)tly_entry_read(bytes, count, &e);
    }
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    enum { MOST = 64 }; /* slots */
    static int file = -1;
    tly_pack_head head;
    tly_pack pack = { .slots = 0 };
    tly_pack_slot slots[MOST];
    file = file < 0 ? memfd_create("pack", 0) : file;
    HOLDS(file >= 0 && ftruncate(file, 0) == 0);
    HOLDS(pwrite(file, data, bytes, 0) == (ssize_t)bytes);
    if (bytes < sizeof head) {
        return 0;
    }
    memcpy(&head, data, sizeof head);
    head.bytes = bytes;
    if (take_head(&pack, &head, bytes) != NULL) {
        return 0;
    }
    pack.file = dup(file);
    HOLDS(sizeof head + pack.slots * sizeof *slots <= bytes);
    HOLDS(tly_pack_next(&pack, 0) <= pack.slots);
    const size_t count = tly_pack_slots(&pack, 0, slots, MOST);
    HOLDS(count == (pack.slots < MOST ? pack.slots : MOST));
    for (size_t i = 0; i < count; i++) {
        look_up(&pack, &slots[i]);
    }
    tly_pack_close(&pack);
    return 0;
}
