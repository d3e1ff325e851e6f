/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compresses one entry; see compress.h. The shortest form is found from front to back: each place
 * keeps the fewest bytes that lead to it, and the distance of the last copy on that way.
 */
#include "compress.h"

#include <stdlib.h>
#include <string.h>

/* On 566 modules 64 places and 512 bytes save 2 % of what they take, in four times the time
 * (Emerald Rapids). */
enum {
    BITS = 16,   /* of the hash of four bytes */
    TRIED = 16,  /* places with it */
    PLENTY = 24, /* bytes copied from as far back as before: no other place is looked for */
    ENOUGH = 64  /* bytes copied: no shorter copy is considered, nor what begins inside */
};

/* How a place in the bytes is best come to. */
typedef struct way {
    uint32_t cost, from, back; /* the last copy's distance, 0 before there is one */
    uint32_t literals;         /* since then */
    uint32_t next;             /* on the way to the end */
    int again;                 /* a copy from as far back as the one before */
} way;

struct tly_compressor {
    unsigned char *bytes; /* the dictionary's, then those that are compressed */
    uint32_t *before;     /* the place before with that hash, and 1; 0: none */
    way *ways;
    size_t dictionary, most, end;
    uint32_t first[1 << BITS];
};

static uint32_t hash_at(const tly_compressor *s, size_t at)
{
    uint32_t four;
    memcpy(&four, s->bytes + at, sizeof four);
    return four * UINT32_C(2654435761) >> (32 - BITS);
}

static void remember(tly_compressor *s, size_t at)
{
    const uint32_t hash = hash_at(s, at);
    s->before[at] = s->first[hash];
    s->first[hash] = (uint32_t)at + 1;
}

tly_compressor *tly_compressor_new(tly_dictionary dictionary, size_t most)
{
    const size_t all = dictionary.count + most;
    tly_compressor *s = calloc(1, sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    s->dictionary = dictionary.count;
    s->most = most;
    s->bytes = malloc(all + 1);
    s->before = malloc((all + 1) * sizeof *s->before);
    s->ways = malloc((most + 1) * sizeof *s->ways);
    if (s->bytes == NULL || s->before == NULL || s->ways == NULL) {
        tly_compressor_free(s);
        return NULL;
    }
    if (dictionary.count > 0) {
        memcpy(s->bytes, dictionary.bytes, dictionary.count);
    }
    for (size_t at = 0; at + TLY_COMPRESS_LEAST <= dictionary.count; at++) {
        remember(s, at);
    }
    return s;
}

void tly_compressor_free(tly_compressor *s)
{
    if (s != NULL) {
        free(s->bytes);
        free(s->before);
        free(s->ways);
    }
    free(s);
}

/* ---- the shortest form ---- */

/* Bytes behind a field. */
static uint32_t more(size_t value, unsigned full)
{
    return value < full ? 0 : (uint32_t)((value - full) / 255 + 1);
}

/* Those from there on that are the ones from here on, up to the end of the part they lie in. */
static size_t common(const tly_compressor *s, size_t there, size_t here)
{
    const size_t end = there < s->dictionary ? s->dictionary : s->end;
    size_t count = 0;
    while (here + count < s->end && there + count < end &&
           s->bytes[there + count] == s->bytes[here + count]) {
        count++;
    }
    return count;
}

static void lead(way *to, const way *step)
{
    if (step->cost < to->cost) {
        *to = *step;
    }
}

/* Returns how long it is at most. */
static size_t lead_again(const tly_compressor *s, uint32_t i)
{
    const way *w = &s->ways[i];
    const size_t here = s->dictionary + i;
    const size_t most = w->back > 0 && w->back <= here ? common(s, here - w->back, here) : 0;
    way step = { .from = i, .back = w->back, .again = 1 };
    for (size_t n = most > ENOUGH ? most : 1; n <= most; n++) {
        step.cost = w->cost + 1 + more(n - TLY_COMPRESS_LEAST_AGAIN, TLY_COMPRESS_COPIED);
        lead(&s->ways[i + n], &step);
    }
    return most;
}

/* Of several places the nearest for each length. Returns the longest. */
static size_t lead_copies(const tly_compressor *s, uint32_t i)
{
    const way *w = &s->ways[i];
    const size_t here = s->dictionary + i;
    size_t known = TLY_COMPRESS_LEAST - 1;
    if (here + TLY_COMPRESS_LEAST > s->end) {
        return 0;
    }
    uint32_t there = s->first[hash_at(s, here)];
    for (int tried = 0; there > 0 && tried < TRIED; tried++, there = s->before[there - 1]) {
        const size_t most = common(s, there - 1, here);
        way step = { .from = i, .back = (uint32_t)(here + 1 - there) };
        const uint32_t far = step.back < 1 << 15 ? 2 : 3;
        for (size_t n = most > ENOUGH && most > known ? most : known + 1; n <= most; n++) {
            step.cost = w->cost + 1 + far + more(n - TLY_COMPRESS_LEAST, TLY_COMPRESS_COPIED);
            lead(&s->ways[i + n], &step);
        }
        known = most > known ? most : known;
    }
    return known;
}

static void lead_literal(const tly_compressor *s, uint32_t i)
{
    const way *w = &s->ways[i];
    way step = { .from = i, .back = w->back, .literals = w->literals + 1 };
    step.cost = w->cost + 1 + more(step.literals, TLY_COMPRESS_LITERALS) -
                more(w->literals, TLY_COMPRESS_LITERALS);
    lead(&s->ways[i + 1], &step);
}

static void find_ways(tly_compressor *s, uint32_t count)
{
    for (uint32_t i = 0; i <= count; i++) {
        s->ways[i].cost = i == 0 ? 0 : UINT32_MAX;
    }
    s->ways[0].back = s->ways[0].literals = 0;
    for (uint32_t i = 0, skip = 0; i < count; i++) {
        if (i >= skip && s->ways[i].cost != UINT32_MAX) {
            lead_literal(s, i);
            const size_t again = lead_again(s, i);
            const size_t longest = again >= PLENTY ? again : lead_copies(s, i);
            skip = longest > ENOUGH ? i + (uint32_t)longest : skip;
        }
        if (s->dictionary + i + TLY_COMPRESS_LEAST <= s->end) {
            remember(s, s->dictionary + i);
        }
    }
    for (uint32_t i = count; i-- > 0;) { /* the dictionary alone is remembered */
        if (s->dictionary + i + TLY_COMPRESS_LEAST <= s->end) {
            s->first[hash_at(s, s->dictionary + i)] = s->before[s->dictionary + i];
        }
    }
    for (uint32_t i = count; i > 0; i = s->ways[i].from) {
        s->ways[s->ways[i].from].next = i;
    }
}

/* ---- written ---- */

static unsigned field(size_t value, unsigned full)
{
    return value < full ? (unsigned)value : full;
}

static unsigned char *put_more(unsigned char *to, size_t value, unsigned full)
{
    if (value < full) {
        return to;
    }
    for (value -= full; value >= 255; value -= 255) {
        *to++ = 255;
    }
    *to++ = (unsigned char)value;
    return to;
}

static unsigned char *put_distance(unsigned char *to, uint32_t back)
{
    const int far = back >= 1 << 15;
    const uint32_t low = far ? (back & 0x7fff) | 0x8000 : back;
    *to++ = (unsigned char)low;
    *to++ = (unsigned char)(low >> 8);
    if (far) {
        *to++ = (unsigned char)(back >> 15);
    }
    return to;
}

/* Literals, then what leads on from behind them; NULL: the end. */
static unsigned char *put(unsigned char *to, const unsigned char *from, size_t literals,
                          const way *copy, size_t copied)
{
    const int again = copy != NULL && copy->again;
    const size_t above = copy == NULL
                             ? 0
                             : copied - (again ? TLY_COMPRESS_LEAST_AGAIN : TLY_COMPRESS_LEAST);
    *to++ = (unsigned char)((again ? TLY_COMPRESS_AGAIN : 0) |
                            field(literals, TLY_COMPRESS_LITERALS) << 4 |
                            field(above, TLY_COMPRESS_COPIED));
    to = put_more(to, literals, TLY_COMPRESS_LITERALS);
    memcpy(to, from, literals);
    to += literals;
    if (copy != NULL && !again) {
        to = put_distance(to, copy->back);
    }
    return put_more(to, above, TLY_COMPRESS_COPIED);
}

size_t tly_compress(tly_compressor *s, const void *from, size_t count, unsigned char *to)
{
    unsigned char *begin = to;
    const unsigned char *bytes = from;
    uint32_t written = 0;
    if (count == 0 || count > s->most) {
        return 0;
    }
    memcpy(s->bytes + s->dictionary, from, count);
    s->end = s->dictionary + count;
    find_ways(s, (uint32_t)count);
    for (uint32_t i = 0; i < count; i = s->ways[i].next) {
        const uint32_t next = s->ways[i].next;
        const way *w = &s->ways[next];
        if (w->literals == 0) {
            to = put(to, bytes + written, i - written, w, next - i);
            written = next;
        }
    }
    if (written < count) {
        to = put(to, bytes + written, count - written, NULL, 0);
    }
    return (size_t)(to - begin);
}
