/* SPDX-License-Identifier: Apache-2.0 */
/* Packs; see pack.h. Reads by offset rather than by a mapping: a file that shrinks is a miss then, and
 * no signal. */
#include "pack.h"

#include "entry.h"
#include "folder.h"
#include "squeeze.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WINDOW = 8 };

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
    } else if (h.bytes != bytes || h.slots == 0 || (h.slots & (h.slots - 1)) != 0 ||
               h.slots > bytes / sizeof(tly_pack_slot)) {
        why = "its length";
    } else {
        pack->slots = h.slots;
        memcpy(pack->dictionaries, h.dictionaries, sizeof h.dictionaries);
        return NULL;
    }
    tly_pack_close(pack);
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
static unsigned char *part(const tly_pack *pack, tly_pack_part part)
{
    unsigned char *bytes = malloc(part.count + (size_t)1);
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
        bytes = part(pack, where);
        if (bytes != NULL && !atomic_compare_exchange_strong(&pack->read[i], &none, bytes)) {
            free(bytes);
            bytes = none;
        }
    }
    return (tly_dictionary){ bytes, where.count };
}

/* The slot of a hash; its count is 0 if there is none. */
static tly_pack_slot find(const tly_pack *pack, uint64_t hash)
{
    tly_pack_slot window[WINDOW] = { { .hash = 0 } };
    uint64_t at = hash & (pack->slots - 1), most;
    for (uint64_t passed = 0; passed < pack->slots; passed += most) {
        most = pack->slots - at < WINDOW ? pack->slots - at : WINDOW; /* up to the table's end */
        if (!read_at(pack->file, window, (size_t)most * sizeof *window,
                     sizeof(tly_pack_head) + at * sizeof *window)) {
            break;
        }
        for (uint64_t i = 0; i < most; i++) {
            if (window[i].squeezed.count == 0 || window[i].hash == hash) {
                return window[i];
            }
        }
        at = (at + most) & (pack->slots - 1);
    }
    return (tly_pack_slot){ .hash = 0 };
}

/* NULL for a free one. */
static void *bytes_of(tly_pack *pack, const tly_pack_slot *s)
{
    if (s->squeezed.count == 0 || s->squeezed.count > TLY_ENTRY_MOST || s->count > TLY_ENTRY_MOST ||
        s->dictionary >= TLY_PACK_DICTIONARIES) {
        return NULL;
    }
    const tly_dictionary d = dictionary(pack, s->dictionary);
    unsigned char *squeezed = d.bytes != NULL ? part(pack, s->squeezed) : NULL;
    unsigned char *bytes = squeezed != NULL ? malloc(s->count + (size_t)1) : NULL;
    if (bytes != NULL && !tly_expand(d, squeezed, s->squeezed.count, bytes, s->count)) {
        free(bytes);
        bytes = NULL;
    }
    free(squeezed);
    return bytes;
}

void *tly_pack_read(tly_pack *pack, uint64_t hash, size_t *count)
{
    const tly_pack_slot s = find(pack, hash);
    *count = (size_t)s.count;
    return bytes_of(pack, &s);
}

void *tly_pack_at(tly_pack *pack, uint64_t place, tly_pack_slot *slot)
{
    if (!read_at(pack->file, slot, sizeof *slot, sizeof(tly_pack_head) + place * sizeof *slot)) {
        *slot = (tly_pack_slot){ .hash = 0 };
    }
    return bytes_of(pack, slot);
}
