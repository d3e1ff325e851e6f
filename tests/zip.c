/* SPDX-License-Identifier: Apache-2.0 */
/* Writing zip archives; see zip.h. */
#include "zip.h"

#include <string.h>

#ifdef TALLY_ZLIB
#include <zlib.h>
#endif

static void put(unsigned char *to, size_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[(*at)++] = (unsigned char)(i < 8 ? value >> 8 * i : 0);
    }
}

static void put_bytes(unsigned char *to, size_t *at, const void *from, size_t bytes)
{
    memcpy(to + *at, from, bytes);
    *at += bytes;
}

static uint32_t checksum(const unsigned char *from, size_t bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= from[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
        }
    }
    return ~crc;
}

static size_t deflated(const void *data, size_t bytes, unsigned char *to, size_t room)
{
#ifdef TALLY_ZLIB
    z_stream z = { .next_in = (unsigned char *)(uintptr_t)data,
                   .avail_in = (uInt)bytes,
                   .next_out = to,
                   .avail_out = (uInt)room };
    deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return z.total_out;
#else
    (void)data, (void)bytes, (void)to, (void)room;
    return 0;
#endif
}

void zip_add(zip *z, const char *name, const void *data, size_t bytes, int method)
{
    unsigned char packed[1 << 14];
    const size_t at = z->bytes, length = strlen(name);
    const uint32_t crc = checksum(data, bytes);
    const size_t stored = method ? deflated(data, bytes, packed, sizeof packed) : bytes;
    put_bytes(z->data, &z->bytes, "PK\3\4", 4);
    for (int i = 0; i < 2; i++) { /* before the member and in the directory */
        unsigned char *to = i ? z->directory : z->data;
        size_t *end = i ? &z->directory_bytes : &z->bytes;
        if (i) {
            put_bytes(to, end, "PK\1\2", 4);
            put(to, end, 45, 2);
        }
        put(to, end, 45, 2);
        put(to, end, 0, 2);
        put(to, end, (unsigned)method, 2);
        put(to, end, 0, 4); /* date and time */
        put(to, end, crc, 4);
        put(to, end, stored, 4);
        put(to, end, bytes, 4);
        put(to, end, length, 2);
        put(to, end, 0, 2);
        if (i) {
            put(to, end, 0, 10);
            put(to, end, at, 4);
        }
        put_bytes(to, end, name, length);
    }
    put_bytes(z->data, &z->bytes, method ? packed : data, stored);
    z->count++;
}

void zip_end(zip *z, int wide)
{
    const size_t at = z->bytes, length = z->directory_bytes;
    put_bytes(z->data, &z->bytes, z->directory, length);
    if (wide) {
        const size_t end = z->bytes;
        put_bytes(z->data, &z->bytes, "PK\6\6", 4);
        put(z->data, &z->bytes, 44, 8);
        put(z->data, &z->bytes, 0, 12);
        put(z->data, &z->bytes, (unsigned)z->count, 8);
        put(z->data, &z->bytes, (unsigned)z->count, 8);
        put(z->data, &z->bytes, length, 8);
        put(z->data, &z->bytes, at, 8);
        put_bytes(z->data, &z->bytes, "PK\6\7", 4);
        put(z->data, &z->bytes, 0, 4);
        put(z->data, &z->bytes, end, 8);
        put(z->data, &z->bytes, 1, 4);
    }
    put_bytes(z->data, &z->bytes, "PK\5\6", 4);
    put(z->data, &z->bytes, 0, 4);
    put(z->data, &z->bytes, wide ? UINT16_MAX : (unsigned)z->count, 2);
    put(z->data, &z->bytes, wide ? UINT16_MAX : (unsigned)z->count, 2);
    put(z->data, &z->bytes, wide ? UINT32_MAX : length, 4);
    put(z->data, &z->bytes, wide ? UINT32_MAX : at, 4);
    put(z->data, &z->bytes, 0, 2);
}
