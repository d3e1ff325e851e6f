/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words of SPIR-V as they are stored. Ids go up through a module, so that the same code has other
 * words wherever it lies; what stays is by how much a word differs from the one in its place in the
 * last instruction with that opcode. The difference is cut into parts of 7 bits, the lowest first,
 * with an eighth where more follow, and negative ones take odd numbers. Of 566 kernels that is .41
 * of the bytes, and what a pack compresses them to (decompress.h) .066; of the words themselves,
 * cut in this way, .19.
 */
#include "words.h"

#include <string.h>

enum {
    OPCODES = 512, /* higher ones share places */
    PLACES = 8,    /* the eighth word of an instruction and later ones share one */
    FRONT = 5      /* words of a module before the first instruction */
};

/* Where a word lies, and what was in its place before. */
typedef struct place {
    uint32_t opcode, number, left; /* words of this instruction before and behind */
    uint32_t last[OPCODES][PLACES];
} place;

static void begin(place *p)
{
    memset(p, 0, sizeof *p);
    p->left = FRONT;
}

/* NULL: the word says which instruction begins. */
static uint32_t *last(place *p)
{
    if (p->left == 0) {
        return NULL;
    }
    p->left--;
    p->number += p->number < PLACES - 1;
    return &p->last[p->opcode][p->number];
}

static void instruction(place *p, uint32_t word)
{
    const uint32_t words = word >> 16;
    p->opcode = word % OPCODES;
    p->number = 0;
    p->left = words > 0 ? words - 1 : 0;
}

static uint32_t difference(place *p, uint32_t word)
{
    uint32_t *from = last(p);
    if (from == NULL) {
        instruction(p, word);
        return word;
    }
    const uint32_t by = word - *from;
    *from = word;
    return by >> 31 ? ~by << 1 | 1 : by << 1;
}

static uint32_t word_of(place *p, uint32_t coded)
{
    uint32_t *from = last(p);
    if (from == NULL) {
        instruction(p, coded);
        return coded;
    }
    *from += coded & 1 ? ~(coded >> 1) : coded >> 1;
    return *from;
}

size_t tly_words_write(const uint32_t *words, size_t count, unsigned char *bytes)
{
    place p;
    size_t length = 0;
    begin(&p);
    for (size_t i = 0; i < count; i++) {
        uint32_t coded = difference(&p, words[i]);
        for (; coded >= 0x80; coded >>= 7) {
            bytes[length++] = (unsigned char)(coded | 0x80);
        }
        bytes[length++] = (unsigned char)coded;
    }
    return length;
}

size_t tly_words_read(const unsigned char *bytes, size_t length, uint32_t *words, size_t count)
{
    place p;
    size_t at = 0;
    begin(&p);
    for (size_t i = 0; i < count; i++) {
        uint32_t coded = 0;
        unsigned char part = 0x80;
        for (unsigned bits = 0; bits < 32 && part & 0x80; bits += 7) {
            part = at < length ? bytes[at] : 0;
            coded |= (uint32_t)(part & 0x7f) << bits;
            at += at < length;
        }
        words[i] = word_of(&p, coded);
    }
    return at;
}
