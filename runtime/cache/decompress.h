/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of a pack's compressed entries, and how they are decompressed. Each entry is
 * compressed alone, with a dictionary of what entries like it have in common, so that one can be
 * read without the others. As in LZ4, literals alternate with copies of earlier bytes, from the
 * entry itself or the dictionary. Two things are added: a copy from as far back as the one before
 * needs no distance, because kernels differ in single bytes; and the dictionary may be large.
 * docs/cache.md has the layout.
 */
#ifndef TLY_DECOMPRESS_H
#define TLY_DECOMPRESS_H

#include <stddef.h>

typedef struct tly_dictionary {
    const unsigned char *bytes;
    size_t count;
} tly_dictionary;

/* The layout: a token of three fields, lengths' further bytes, literals, a distance. */
enum {
    TLY_COMPRESS_AGAIN = 0x80,   /* the distance is that of the copy before, and not there */
    TLY_COMPRESS_LITERALS = 7,   /* and three bits: from so many on further bytes follow */
    TLY_COMPRESS_COPIED = 15,    /* and four bits, likewise, of what is above the least */
    TLY_COMPRESS_LEAST = 4,      /* bytes of a copy with a distance */
    TLY_COMPRESS_LEAST_AGAIN = 1 /* and without */
};

/* Dictionaries are no larger, so that a distance has three bytes at most. */
#define TLY_DICTIONARY_MOST ((size_t)1 << 18)

/* 1: `count` bytes are now at `to`, whatever `from` holds, and all of it was used; else 0. Neither
 * reads nor writes outside. */
int tly_decompress(tly_dictionary dictionary, const unsigned char *from, size_t bytes,
                   unsigned char *to, size_t count);

#endif
