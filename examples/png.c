/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The least PNG: one zlib stream of stored blocks, one row a block, so that nothing has to be
 * compressed. PNG specification (ISO/IEC 15948) for the chunks, RFC 1950 and 1951 for the stream.
 */
#include "png.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A chunk being written: bytes pass through its checksum. */
typedef struct chunk {
    FILE *file;
    uint32_t crc;
} chunk;

static void put(chunk *c, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++) {
        c->crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) {
            c->crc = c->crc >> 1 ^ (c->crc & 1 ? 0xedb88320u : 0);
        }
    }
    fwrite(data, 1, bytes, c->file);
}

static void put32(chunk *c, uint32_t value)
{
    const uint8_t bytes[4] = { (uint8_t)(value >> 24), (uint8_t)(value >> 16),
                               (uint8_t)(value >> 8), (uint8_t)value };
    put(c, bytes, 4);
}

static void begin_chunk(chunk *c, const char *type, uint32_t bytes)
{
    put32(c, bytes);
    c->crc = 0xffffffffu; /* the length does not count */
    put(c, type, 4);
}

static void end_chunk(chunk *c)
{
    put32(c, ~c->crc);
}

/* The pixels: every row is a filter byte and its colours, in a stored block of its own. */
static void put_rows(chunk *c, const uint8_t *rgb, uint32_t width, uint32_t height)
{
    uint32_t row = 1 + 3 * width, a = 1, b = 0;
    begin_chunk(c, "IDAT", 2 + height * (5 + row) + 4);
    put(c, "\x78\x01", 2);
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *pixels = rgb + (size_t)y * 3 * width;
        const uint8_t head[6] = { y + 1 == height, (uint8_t)row,         (uint8_t)(row >> 8),
                                  (uint8_t)~row,   (uint8_t)(~row >> 8), 0 };
        put(c, head, sizeof head);
        put(c, pixels, 3 * width);
        b = (b + a) % 65521;
        for (uint32_t i = 0; i < 3 * width; i++) {
            a = (a + pixels[i]) % 65521;
            b = (b + a) % 65521;
        }
    }
    put32(c, b << 16 | a);
    end_chunk(c);
}

int png_write(const char *path, const uint8_t *rgb, uint32_t width, uint32_t height)
{
    chunk c = { fopen(path, "wb"), 0 };
    int failed;
    if (!c.file) {
        return -1;
    }
    put(&c, "\x89PNG\r\n\x1a\n", 8);
    begin_chunk(&c, "IHDR", 13);
    put32(&c, width);
    put32(&c, height);
    put(&c, "\x08\x02\x00\x00\x00", 5); /* 8 bits, RGB */
    end_chunk(&c);
    put_rows(&c, rgb, width, height);
    begin_chunk(&c, "IEND", 0);
    end_chunk(&c);
    failed = ferror(c.file);
    return fclose(c.file) != 0 || failed ? -1 : 0;
}
