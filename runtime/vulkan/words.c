/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of SPIR-V as they are stored. A word is cut into parts of 7 bits, the lowest first, with an
 * eighth where more follow; the bits of a part go through an adaptive binary arithmetic coder (after
 * M. Mahoney's lpaq), which has a probability for each, by those before it in the part. Of 66 modules of
 * scans and reductions the parts alone take .48 of the bytes, coded .26; deflate takes .29.
 */
#include "words.h"

enum {
    PLACES = 3,     /* of a part in its word; the third and later are alike */
    EVEN = 1 << 15, /* probability of a half */
    RATE = 4        /* a sixteenth of the way to what came */
};

typedef struct coder {
    uint32_t low, high;
    uint16_t one[PLACES][256]; /* probability of a 1 in 2^16, by a 1 and the bits before */
} coder;

static void begin(coder *c)
{
    c->low = 0;
    c->high = UINT32_MAX;
    for (int i = 0; i < PLACES * 256; i++) {
        c->one[i / 256][i % 256] = EVEN;
    }
}

/* Where the range is cut: 1 is below. No probability comes near 0 or 1. */
static uint32_t middle(const coder *c, uint16_t one)
{
    return c->low + (uint32_t)((uint64_t)(c->high - c->low) * one >> 16);
}

static void take(coder *c, uint16_t *one, uint32_t cut, int bit)
{
    if (bit) {
        c->high = cut;
        *one = (uint16_t)(*one + ((UINT16_MAX - *one) >> RATE));
    } else {
        c->low = cut + 1;
        *one = (uint16_t)(*one - (*one >> RATE));
    }
}

/* The first byte is known. */
static int settled(const coder *c)
{
    return c->low >> 24 == c->high >> 24;
}

static void shift(coder *c)
{
    c->low <<= 8;
    c->high = c->high << 8 | 0xff;
}

/* ---- there ---- */

static size_t put_part(coder *c, int place, unsigned part, unsigned char *to)
{
    size_t length = 0;
    for (unsigned node = 1, k = 0; k < 8; k++) {
        const int bit = part >> (7 - k) & 1;
        uint16_t *one = &c->one[place][node];
        take(c, one, middle(c, *one), bit);
        for (; settled(c); shift(c)) {
            to[length++] = (unsigned char)(c->high >> 24);
        }
        node = node << 1 | (unsigned)bit;
    }
    return length;
}

static size_t put_word(coder *c, uint32_t word, unsigned char *to)
{
    size_t length = 0;
    int place = 0;
    for (; word >= 0x80; word >>= 7) {
        length += put_part(c, place, (word & 0x7f) | 0x80, to + length);
        place += place + 1 < PLACES;
    }
    return length + put_part(c, place, word, to + length);
}

size_t tly_words_squeeze(const uint32_t *const *words, const size_t *counts, size_t modules,
                         unsigned char *bytes)
{
    coder c;
    size_t length = 0;
    begin(&c);
    for (size_t i = 0; i < modules; i++) {
        for (size_t k = 0; k < counts[i]; k++) {
            length += put_word(&c, words[i][k], bytes + length);
        }
    }
    for (int k = 0; k < 4; k++, shift(&c)) { /* one that is in the range */
        bytes[length++] = (unsigned char)(c.high >> 24);
    }
    return length;
}

/* ---- and back ---- */

typedef struct source {
    const unsigned char *bytes;
    size_t left;
    uint32_t code; /* the next four, zeros behind the last */
} source;

static void next(source *s)
{
    s->code = s->code << 8 | (s->left > 0 ? *s->bytes : 0u);
    s->bytes += s->left > 0;
    s->left -= s->left > 0;
}

static unsigned get_part(coder *c, int place, source *s)
{
    unsigned node = 1;
    while (node < 256) {
        uint16_t *one = &c->one[place][node];
        const uint32_t cut = middle(c, *one);
        const int bit = s->code <= cut;
        take(c, one, cut, bit);
        for (; settled(c); shift(c)) {
            next(s);
        }
        node = node << 1 | (unsigned)bit;
    }
    return node & 0xff;
}

static uint32_t get_word(coder *c, source *s)
{
    uint32_t word = 0;
    int place = 0;
    for (unsigned bits = 0; bits < 32; bits += 7) {
        const unsigned part = get_part(c, place, s);
        word |= (uint32_t)(part & 0x7f) << bits;
        if (part < 0x80) {
            break;
        }
        place += place + 1 < PLACES;
    }
    return word;
}

void tly_words_expand(const unsigned char *bytes, size_t length, uint32_t *words, size_t count)
{
    source s = { bytes, length, 0 };
    coder c;
    begin(&c);
    for (int k = 0; k < 4; k++) {
        next(&s);
    }
    for (size_t i = 0; i < count; i++) {
        words[i] = get_word(&c, &s);
    }
}
