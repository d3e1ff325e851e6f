/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses the entries of packs; see decompress.h. Damaged bytes are refused, or give wrong
 * bytes, but nothing is read or written out of bounds. */
#include "decompress.h"

#include <stdint.h>
#include <string.h>

typedef struct source {
    const unsigned char *at, *end;
} source;

static size_t left(const source *s)
{
    return (size_t)(s->end - s->at);
}

/* A field and the bytes behind it that belong to it; more than there can be where they end too
 * early. */
static size_t length(source *s, unsigned field, unsigned full)
{
    size_t sum = field;
    for (unsigned more = field == full ? 255 : 0; more == 255; sum += more) {
        if (s->at == s->end) {
            return SIZE_MAX / 2;
        }
        more = *s->at++;
    }
    return sum;
}

/* Fifteen bits, and seven or eight more where the first is set; 0, which none is, where they end
 * too early. */
static size_t distance(source *s)
{
    if (left(s) < 2) {
        return 0;
    }
    size_t sum = s->at[0] | (size_t)s->at[1] << 8;
    s->at += 2;
    if (sum & 0x8000) {
        if (s->at == s->end) {
            return 0;
        }
        sum = (sum & 0x7fff) | (size_t)*s->at++ << 15;
    }
    return sum;
}

/* Most are short: a constant sixteen, where there is room for it, takes half the time. */
static inline void move(unsigned char *to, size_t room, const unsigned char *from, size_t there,
                        size_t count)
{
    if (count <= 16 && room >= 16 && there >= 16) {
        memcpy(to, from, 16);
    } else {
        memcpy(to, from, count);
    }
}

/* 0: there is nothing so far back, or it ends with the dictionary. */
static int copy(tly_dictionary dictionary, size_t back, unsigned char *to, size_t done,
                size_t count, size_t room)
{
    if (back == 0 || back > done + dictionary.count) {
        return 0;
    }
    if (back > done) {
        back -= done;
        if (count > back) {
            return 0;
        }
        move(to + done, room, dictionary.bytes + dictionary.count - back, back, count);
    } else if (count <= back) {
        move(to + done, room, to + done - back, back, count);
    } else {
        for (size_t i = done; i < done + count; i++) {
            to[i] = to[i - back];
        }
    }
    return 1;
}

int tly_decompress(tly_dictionary dictionary, const unsigned char *from, size_t bytes,
                   unsigned char *to, size_t count)
{
    source s = { from, from + bytes };
    size_t done = 0, back = 0;
    while (done < count) {
        if (s.at == s.end) {
            return 0;
        }
        const unsigned token = *s.at++;
        const int again = (token & TLY_COMPRESS_AGAIN) != 0;
        const size_t literals = length(&s, token >> 4 & TLY_COMPRESS_LITERALS,
                                       TLY_COMPRESS_LITERALS);
        if (literals > left(&s) || literals > count - done) {
            return 0;
        }
        move(to + done, count - done, s.at, left(&s), literals);
        s.at += literals;
        done += literals;
        if (done == count) {
            break; /* the last token copies nothing */
        }
        back = again ? back : distance(&s);
        const size_t copied = length(&s, token & TLY_COMPRESS_COPIED, TLY_COMPRESS_COPIED) +
                              (again ? TLY_COMPRESS_LEAST_AGAIN : TLY_COMPRESS_LEAST);
        if (copied > count - done || !copy(dictionary, back, to, done, copied, count - done)) {
            return 0;
        }
        done += copied;
    }
    return s.at == s.end;
}
