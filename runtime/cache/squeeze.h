/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes squeezed by what others like them have in common, a dictionary, and each alone, so that one
 * is expanded without the others: the entries of a pack. Copies of what came before, in the
 * dictionary or in the bytes themselves, and literals between them, as LZ4 has them, with two more
 * ideas: a copy from as far back as the one before needs no distance, as kernels differ in single
 * bytes; and the dictionary may be large. docs/cache.md has the layout.
 */
#ifndef TLY_SQUEEZE_H
#define TLY_SQUEEZE_H

#include <stddef.h>

typedef struct tly_dictionary {
    const unsigned char *bytes;
    size_t count;
} tly_dictionary;

/* The layout: a token of three fields, lengths' further bytes, literals, a distance. */
enum {
    TLY_SQUEEZE_AGAIN = 0x80,   /* the distance is that of the copy before, and not there */
    TLY_SQUEEZE_LITERALS = 7,   /* and three bits: from so many on further bytes follow */
    TLY_SQUEEZE_COPIED = 15,    /* and four bits, likewise, of what is above the least */
    TLY_SQUEEZE_LEAST = 4,      /* bytes of a copy with a distance */
    TLY_SQUEEZE_LEAST_AGAIN = 1 /* and without */
};

/* Dictionaries are no larger, so that a distance has three bytes at most. */
#define TLY_DICTIONARY_MOST ((size_t)1 << 18)

/* 1: `count` bytes are now at `to`, whatever `from` holds, and all of it was used; else 0. Neither
 * reads nor writes outside. */
int tly_expand(tly_dictionary dictionary, const unsigned char *from, size_t bytes,
               unsigned char *to, size_t count);

#endif
