/* SPDX-License-Identifier: Apache-2.0 */
/* Packs; see pack.h. Reads by offset rather than by a mapping: a file that shrinks is a miss
 * then, and no signal. */
#include "pack.h"

#include "decompress.h"
#include "entry.h"
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Slots that a lookup reads at once, at first and then. */
enum { FEW = 8, MANY = 64 };

static int read_at(int file, void *bytes, size_t count, uint64_t at)
{
    for (size_t done = 0; done < count;) {
        ssize_t got = pread(file, (char *)bytes + done, count - done, (off_t)(at + done));
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return 0;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return 1;
}

/* Whether such a part lies behind the slots and in the file, whose length no field exceeds. */
static int has_part(const tly_pack *pack, tly_pack_part part)
{
    const uint64_t first = sizeof(tly_pack_head) + pack->slots * sizeof(tly_pack_slot);
    return part.at >= first && part.at <= pack->bytes && part.count <= pack->bytes - part.at;
}

/* Fills *pack from a head that its checksum has found whole. NULL, or what is wrong: nothing is
 * read and no slot is counted that does not lie in the file. */
static const char *take_head(tly_pack *pack, const tly_pack_head *h, uint64_t bytes)
{
    if (h->bytes != bytes || bytes > UINT32_MAX || h->slots == 0 ||
        (h->slots & (h->slots - 1)) != 0 ||
        h->slots > (bytes - sizeof *h) / sizeof(tly_pack_slot)) {
        return "its length";
    }
    pack->slots = h->slots;
    pack->bytes = bytes;
    memcpy(pack->dictionaries, h->dictionaries, sizeof h->dictionaries);
    for (int i = 0; i < TLY_PACK_DICTIONARIES; i++) {
        if (h->dictionaries[i].count > 0 && !has_part(pack, h->dictionaries[i])) {
            return "its dictionaries";
        }
    }
    return NULL;
}

const char *tly_pack_open(tly_pack *pack, const char *path)
{
    const char *why;
    uint64_t bytes;
    tly_pack_head h;
    *pack = (tly_pack){ .slots = 0 };
    pack->file = tly_file_open(AT_FDCWD, path, &bytes, &why);
    if (pack->file < 0) {
        return why != NULL ? why : "";
    }
    if (!read_at(pack->file, &h, sizeof h, 0) || h.magic != TLY_PACK_MAGIC ||
        h.checksum != tly_pack_sum(&h)) {
        why = "it is no pack";
    } else {
        why = take_head(pack, &h, bytes);
    }
    if (why != NULL) {
        tly_pack_close(pack);
    }
    return why;
}

void tly_pack_close(tly_pack *pack)
{
    if (pack->file >= 0) {
        close(pack->file);
    }
    pack->file = -1;
    for (int i = 0; i < TLY_PACK_DICTIONARIES; i++) {
        free(atomic_exchange(&pack->read[i], NULL));
    }
}

/* From malloc; NULL without memory, or where it is not there. */
static unsigned char *read_part(const tly_pack *pack, tly_pack_part part)
{
    unsigned char *bytes = has_part(pack, part) ? malloc(part.count + (size_t)1) : NULL;
    if (bytes != NULL && !read_at(pack->file, bytes, part.count, part.at)) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/* Its bytes are NULL if it cannot be read. Of two threads that read it one keeps it. */
static tly_dictionary dictionary(tly_pack *pack, uint32_t i)
{
    const tly_pack_part where = pack->dictionaries[i];
    unsigned char *bytes = atomic_load(&pack->read[i]), *none = NULL;
    if (bytes == NULL && where.count <= TLY_DICTIONARY_MOST) {
        bytes = read_part(pack, where);
        if (bytes != NULL && !atomic_compare_exchange_strong(&pack->read[i], &none, bytes)) {
            free(bytes);
            bytes = none;
        }
    }
    return (tly_dictionary){ bytes, where.count };
}

uint64_t tly_pack_next(const tly_pack *pack, uint64_t place)
{
    const off_t first = sizeof(tly_pack_head), at = first + (off_t)(place * sizeof(tly_pack_slot));
    const off_t data = lseek(pack->file, at, SEEK_DATA); /* all else reads by offset */
    if (data < 0) {
        return errno == ENXIO ? pack->slots : place;
    }
    const uint64_t next = (uint64_t)(data - first) / sizeof(tly_pack_slot);
    return next < pack->slots ? next : pack->slots;
}

size_t tly_pack_slots(const tly_pack *pack, uint64_t place, tly_pack_slot *slots, size_t most)
{
    const uint64_t left = pack->slots - place;
    const size_t count = left < most ? (size_t)left : most;
    return read_at(pack->file, slots, count * sizeof *slots,
                   sizeof(tly_pack_head) + place * sizeof *slots)
               ? count
               : 0;
}

/* The slot of a hash; its count is 0 if there is none. */
static tly_pack_slot find(const tly_pack *pack, uint64_t hash)
{
    tly_pack_slot window[MANY] = { { .hash = 0 } };
    const uint64_t far = pack->slots < TLY_PACK_FAR ? pack->slots : TLY_PACK_FAR;
    uint64_t at = hash & (pack->slots - 1);
    for (uint64_t passed = 0; passed < far;) {
        const size_t count = tly_pack_slots(pack, at, window, passed > 0 ? MANY : FEW);
        for (size_t i = 0; i < count; i++) {
            if (window[i].compressed.count == 0 || window[i].hash == hash) {
                return window[i];
            }
        }
        if (count == 0) {
            break;
        }
        at = (at + count) & (pack->slots - 1);
        passed += count;
    }
    return (tly_pack_slot){ .hash = 0 };
}

void *tly_pack_entry(tly_pack *pack, const tly_pack_slot *s)
{
    if (s->compressed.count == 0 || s->compressed.count > TLY_ENTRY_MOST ||
        s->count > TLY_ENTRY_MOST || s->dictionary >= TLY_PACK_DICTIONARIES) {
        return NULL;
    }
    const tly_dictionary d = dictionary(pack, s->dictionary);
    unsigned char *compressed = d.bytes != NULL ? read_part(pack, s->compressed) : NULL;
    unsigned char *bytes = compressed != NULL ? malloc(s->count + (size_t)1) : NULL;
    if (bytes != NULL && !tly_decompress(d, compressed, s->compressed.count, bytes, s->count)) {
        free(bytes);
        bytes = NULL;
    }
    free(compressed);
    return bytes;
}

void *tly_pack_read(tly_pack *pack, uint64_t hash, size_t *count)
{
    const tly_pack_slot s = find(pack, hash);
    *count = (size_t)s.count;
    return tly_pack_entry(pack, &s);
}
