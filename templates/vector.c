/*
 * The scan of one vector by itself, for scans that lie side by side in it: `unit` interleaved ones,
 * or rows of `length` lanes one after another. What comes before the vector joins in one more
 * operation, y = before + scan, so that the chain from vector to vector is one operation long.
 */
#include "template.h"

/* `yes` in the lanes that `pick` names, else `no`. */
static kir_value choose(tly_build *c, const uint8_t *pick, kir_value yes, kir_value no)
{
    unsigned n = kir_type_of(c->b, yes).lanes;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)(pick[i] ? i : n + i);
    return kir_shuffle(c->b, yes, no, index, n);
}

/* Adds to each picked lane of v the lane `from` names. */
static kir_value join(tly_build *c, kir_value v, const uint8_t *from, const uint8_t *pick)
{
    unsigned n = kir_type_of(c->b, v).lanes;
    return choose(c, pick, tly_combine(c, kir_shuffle(c->b, v, v, from, n), v), v);
}

/* The upper half of each pair of blocks takes the last lane of the lower half: no lane moves
 * further than it must, and within 128 bits it costs one cycle. */
static kir_value scan_blocks(tly_build *c, kir_value v, unsigned length)
{
    unsigned n = kir_type_of(c->b, v).lanes;
    uint8_t from[64], pick[64];
    for (unsigned half = 1; half < length; half *= 2) {
        for (unsigned i = 0; i < n; i++) {
            pick[i] = (i & half) != 0;
            from[i] = (uint8_t)(i / (2 * half) * (2 * half) + half - 1);
        }
        v = join(c, v, from, pick);
    }
    return v;
}

kir_value tly_vector_scan(tly_build *c, kir_value v, unsigned unit, unsigned length)
{
    unsigned n = kir_type_of(c->b, v).lanes;
    uint8_t from[64], pick[64];
    if (unit == 1 && (length & (length - 1)) == 0)
        return scan_blocks(c, v, length);
    for (unsigned apart = unit; apart < length; apart *= 2) {
        for (unsigned i = 0; i < n; i++) {
            pick[i] = i % length >= apart;
            from[i] = (uint8_t)(pick[i] ? i - apart : i);
        }
        v = join(c, v, from, pick);
    }
    return v;
}

kir_value tly_vector_before(tly_build *c, kir_value first, kir_value y, unsigned unit,
                            unsigned length)
{
    unsigned n = kir_type_of(c->b, y).lanes;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++)
        index[i] = (uint8_t)(i % length < unit ? i : n + i - unit);
    return kir_shuffle(c->b, first, y, index, n);
}

kir_value tly_vector_newest(tly_build *c, kir_value y, unsigned unit)
{
    unsigned n = kir_type_of(c->b, y).lanes;
    uint8_t index[64];
    for (unsigned i = 0; i < n; i++) /* as many whole units back as lead out of the next vector */
        index[i] = (uint8_t)(n + i - (i / unit + 1) * unit);
    return kir_shuffle(c->b, y, y, index, n);
}
