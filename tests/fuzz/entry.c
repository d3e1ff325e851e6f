/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of the disk cache: no entry is read past its end, and an entry that is accepted is
 * written again with the same bytes. The target corrects the checksum, which would refuse nearly
 * every input.
 */
#include "fuzz.h"

#include "../../runtime/cache/entry.c"

static void check(const uint8_t *data, size_t bytes)
{
    tly_stored e;
    tly_store_key key = { .count = 0 };
    tly_store_name name;
    size_t again;
    const char *why = tly_entry_read(data, bytes, &e);
    if (why != NULL) {
        HOLDS(why[0] != 0);
        return;
    }
    HOLDS(e.word >= (const char *)data && e.device > e.word);
    HOLDS(e.key > (const unsigned char *)e.device && e.value == e.key + e.key_bytes);
    HOLDS(e.value + e.value_bytes == data + bytes);
    if (e.key_bytes > sizeof key.bytes || strlen(e.word) >= sizeof name.word ||
        strlen(e.device) >= sizeof name.device) {
        return; /* tly_entry_write cannot write such an entry */
    }
    memcpy(key.bytes, e.key, key.count = e.key_bytes);
    strcpy(name.word, e.word);
    strcpy(name.device, e.device);
    void *made = tly_entry_write(&key, &name, e.value, e.value_bytes, &again);
    HOLDS(made != NULL && again <= bytes); /* the input may have more behind the device's zero */
    HOLDS(again != bytes || memcmp(made, data, bytes) == 0);
    free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    check(data, bytes);
    if (bytes >= sizeof(head)) {
        uint8_t *copy = fuzz_copy(data, bytes, 0);
        head h;
        memcpy(&h, copy, sizeof h);
        h.magic = MAGIC;
        h.checksum = sum(copy, bytes);
        memcpy(copy, &h, sizeof h);
        check(copy, bytes);
        free(copy);
    }
    return 0;
}
