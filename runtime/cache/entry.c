/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of an entry; see entry.h. */
#include "entry.h"

#include "../host/hash.h"

#include <stdlib.h>
#include <string.h>

/* Every byte of an entry is compared or under the checksum: of the magic number, which counts the
 * versions of this layout and is another number where bytes are in another order; of the checksum;
 * of all that follows. */
typedef struct head {
    uint64_t magic, checksum;
    uint32_t name_bytes; /* word and device, each with a zero behind */
    uint32_t key_bytes;
    uint64_t value_bytes;
} head;

#define MAGIC UINT64_C(0x017972746e656c74) /* "tlentry", version 1 */

enum { MOST_NAME = sizeof(tly_store_name) };

_Static_assert(sizeof(head) == 32, "no padding");

static uint64_t sum(const void *bytes, size_t count)
{
    const size_t from = offsetof(head, name_bytes);
    return tly_hash(MAGIC, (const char *)bytes + from, count - from);
}

static int lengths_fit(const head *h, size_t count)
{
    size_t left = count - sizeof *h;
    return h->name_bytes >= 2 && h->name_bytes <= MOST_NAME && h->name_bytes <= left &&
           h->key_bytes <= left - h->name_bytes &&
           h->value_bytes == left - h->name_bytes - h->key_bytes;
}

const char *tly_entry_read(const void *bytes, size_t count, tly_stored *entry)
{
    head h;
    if (count < sizeof h || count > TLY_ENTRY_MOST) {
        return "its length";
    }
    memcpy(&h, bytes, sizeof h);
    if (h.magic != MAGIC) {
        return "its first bytes";
    }
    if (!lengths_fit(&h, count)) {
        return "its length";
    }
    if (h.checksum != sum(bytes, count)) {
        return "its checksum";
    }
    const char *name = (const char *)bytes + sizeof h;
    const char *end = memchr(name, 0, h.name_bytes);
    if (name[h.name_bytes - 1] != 0 || end == name + h.name_bytes - 1) {
        return "its name";
    }
    entry->word = name;
    entry->device = end + 1;
    entry->key = (const unsigned char *)name + h.name_bytes;
    entry->key_bytes = h.key_bytes;
    entry->value = entry->key + h.key_bytes;
    entry->value_bytes = (size_t)h.value_bytes;
    return NULL;
}

static char *put(char *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return to + bytes;
}

void *tly_entry_write(const tly_store_key *key, const tly_store_name *name, const void *value,
                      size_t value_bytes, size_t *count)
{
    size_t word = strlen(name->word) + 1, device = strlen(name->device) + 1;
    head h = { .magic = MAGIC,
               .name_bytes = (uint32_t)(word + device),
               .key_bytes = (uint32_t)key->count,
               .value_bytes = value_bytes };
    if (value_bytes > TLY_ENTRY_MOST - sizeof h - MOST_NAME - sizeof key->bytes) {
        return NULL;
    }
    *count = sizeof h + h.name_bytes + h.key_bytes + value_bytes;
    char *bytes = malloc(*count);
    if (bytes == NULL) {
        return NULL;
    }
    char *to = put(bytes, &h, sizeof h);
    to = put(to, name->word, word);
    to = put(to, name->device, device);
    to = put(to, key->bytes, key->count);
    put(to, value, value_bytes);
    h.checksum = sum(bytes, *count);
    memcpy(bytes, &h, sizeof h);
    return bytes;
}
