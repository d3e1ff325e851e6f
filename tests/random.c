/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random problems. Guarantees: every descriptor is valid by docs/semantics.md, section 2; only the
 * seed decides.
 */
#include "random.h"

#include <string.h>

#include "reference.h"
#include "splitmix.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

tly_random tly_random_seed(uint64_t seed, uint64_t number)
{
    tly_random r = { seed * UINT64_C(0x9e3779b97f4a7c15) ^ number * UINT64_C(0xd1342543de82ef95) };
    tly_random_next(&r);
    return r;
}

uint64_t tly_random_next(tly_random *r)
{
    return tly_splitmix(&r->state);
}

int64_t tly_random_below(tly_random *r, int64_t bound)
{
    return (int64_t)(tly_random_next(r) % (uint64_t)bound);
}

int tly_random_one_in(tly_random *r, int64_t n)
{
    return tly_random_below(r, n) == 0;
}

int64_t tly_random_between(tly_random *r, int64_t low, int64_t high)
{
    return low + tly_random_below(r, high - low + 1);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- shapes ---- */

/* Lengths at which kernels change their way: vectors and their blocks, windows, chunks. */
static const int64_t borders[] = { 4,    8,    16,   32,   64,    128,   256,   512,
                                   1024, 2048, 4096, 8192, 16384, 32768, 49152, 65536 };

static int64_t any_length(tly_random *r, int64_t most)
{
    switch (tly_random_below(r, 7)) {
    case 6:
        return smaller(tly_random_between(r, 60, 520), most); /* of a few vectors */
    case 0:
        return smaller(tly_random_between(r, 1, 40), most);
    case 1:
        return smaller(tly_random_between(r, 1, 3000), most);
    case 2:
        return tly_random_between(r, 1, most);
    default: {
        int64_t border = borders[tly_random_below(r, COUNT(borders))];
        int64_t length = border * tly_random_between(r, 1, 2) + tly_random_between(r, -3, 3);
        return length > most ? smaller(border + tly_random_between(r, -1, 1), most) : length;
    }
    }
}

static int64_t lanes(tly_random *r) /* sizes of the dims inside the axis */
{
    static const int64_t widths[] = { 16, 32, 48, 64, 128, 256, 1024, 2048 };
    if (tly_random_one_in(r, 2))
        return tly_random_between(r, 2, 15); /* small inner */
    return widths[tly_random_below(r, COUNT(widths))] + tly_random_between(r, -2, 2);
}

static void insert(tally_descriptor *d, int at, int64_t size)
{
    memmove(d->sizes + at + 1, d->sizes + at, (size_t)(d->rank - at) * sizeof d->sizes[0]);
    d->sizes[at] = size;
    d->axis += at <= d->axis;
    d->rank++;
}

/* The axis alone, then dims inside and outside, while room is left. */
static void shape(tly_random *r, int64_t most, tally_descriptor *d)
{
    const int kind = (int)tly_random_below(r, 8);
    int64_t room;

    d->rank = 1;
    d->axis = 0;
    if (kind == 0) { /* many dims, all of them small */
        const int rank = (int)tly_random_between(r, 1, TALLY_MAX_RANK);
        d->rank = rank;
        d->axis = (int32_t)tly_random_below(r, rank);
        room = most;
        for (int k = 0; k < rank; room /= d->sizes[k++])
            d->sizes[k] = smaller(tly_random_between(r, 1, 5), room);
        for (int k = 0; tly_random_one_in(r, 2) && k < 3; k++)
            d->sizes[tly_random_below(r, rank)] = 1;
    } else if (kind <= 3) { /* rows */
        d->sizes[0] = any_length(r, most);
    } else { /* something inside the axis */
        int64_t inner = smaller(lanes(r), most);
        d->sizes[0] = any_length(r, smaller(most / inner, tly_random_one_in(r, 3) ? most : 300));
        insert(d, 1, inner);
    }
    room = most;
    for (int k = 0; k < d->rank; k++)
        room /= d->sizes[k];
    for (int k = 0; k < 3 && kind > 0 && room > 1 && tly_random_one_in(r, 2); k++) {
        int64_t size = tly_random_between(r, 1, smaller(room, tly_random_one_in(r, 3) ? 1000 : 9));
        int at = tly_random_one_in(r, 3) ? (int)tly_random_between(r, 0, d->rank) : 0;
        insert(d, at, size);
        room /= size;
    }
    if (tly_random_one_in(r, 60))
        d->sizes[tly_random_below(r, d->rank)] = 0;
}

/* ---- strides ---- */

static void shuffle(tly_random *r, int *order, int count)
{
    for (int k = count - 1; k > 0; k--) {
        int other = (int)tly_random_below(r, k + 1), keep = order[k];
        order[k] = order[other];
        order[other] = keep;
    }
}

/* Strides of a tensor that lies in memory with the dims permuted, padded and walked backwards. Each
 * stride exceeds what the smaller ones reach, so addresses are distinct. `limit`: elements. */
static void lay_out(tly_random *r, int rank, const int64_t *sizes, int64_t limit, int64_t *strides,
                    int64_t *offset)
{
    int order[TALLY_MAX_RANK]; /* innermost first */
    int64_t reach = 0;         /* the highest index so far */
    int64_t left = 1;          /* elements of the dims that come yet */
    const int permuted = tly_random_one_in(r, 2), padded = tly_random_one_in(r, 2);
    const int backwards = tly_random_one_in(r, 2);

    for (int k = 0; k < rank; k++) {
        order[k] = rank - 1 - k;
        left *= sizes[k] ? sizes[k] : 1;
    }
    if (permuted)
        shuffle(r, order, rank);
    *offset = tly_random_one_in(r, 2) ? 0 : tly_random_between(r, -40, 40);
    int64_t first = reach + 1;
    if (tly_random_one_in(r, 4))
        first += tly_random_between(r, 1, 3); /* a step */
    for (int k = 0; k < rank; k++) {
        int64_t size = sizes[order[k]] ? sizes[order[k]] : 1;
        int64_t stride = k ? reach + 1 : first;
        if (k && padded)
            stride += tly_random_between(r, 0, 9);
        left /= size;
        if ((stride * (size - 1) + reach + 1) * left > limit)
            stride = reach + 1;
        reach += stride * (size - 1);
        int negative = backwards && tly_random_one_in(r, 2);
        strides[order[k]] = negative ? -stride : stride;
        if (negative)
            *offset += stride * (size - 1);
    }
}

/* The last dim is the axis in the output, and the outermost one in the input's memory. */
static void transpose(tally_descriptor *d)
{
    const int last = d->rank - 1;
    int64_t stride = 1;
    d->axis = tally_op_is_scan((tally_op)d->op) ? last : 0;
    for (int k = last - 1; k >= 0; k--) {
        d->in_strides[k] = stride;
        stride *= d->sizes[k] ? d->sizes[k] : 1;
    }
    d->in_strides[last] = stride;
    d->flags |= TALLY_IN_STRIDES;
}

/* A scan's result has the input's shape, a reduction's lacks dims or has them with size 1. */
static int result_shape(const tally_descriptor *d, int64_t *sizes)
{
    const uint32_t every = (1u << d->rank) - 1;
    const uint32_t reduced = tally_op_is_scan((tally_op)d->op) ? 0
                             : d->axes_given                   ? d->axes
                                                               : every;
    int rank = 0;
    for (int k = 0; k < d->rank; k++)
        if (!(reduced >> k & 1))
            sizes[rank++] = d->sizes[k];
        else if (d->flags & TALLY_KEEPDIMS)
            sizes[rank++] = 1;
    return rank;
}

static void strides(tly_random *r, int64_t limit, tally_descriptor *d)
{
    int64_t sizes[TALLY_MAX_RANK] = { 0 };
    const int rank = result_shape(d, sizes);
    if (d->rank > 1 && tly_random_one_in(r, 5)) {
        transpose(d);
    } else if (!tly_random_one_in(r, 3)) {
        lay_out(r, d->rank, d->sizes, limit, d->in_strides, &d->in_offset);
        d->flags |= TALLY_IN_STRIDES;
        for (int k = 0; k < d->rank; k++) /* broadcasts */
            if (tly_random_one_in(r, 12))
                d->in_strides[k] = 0;
    }
    if (tly_random_one_in(r, 3)) {
        lay_out(r, rank, sizes, limit, d->out_strides, &d->out_offset);
        d->flags |= TALLY_OUT_STRIDES;
    }
    if (tally_op_is_scan((tally_op)d->op) && d->flags & TALLY_OUT_STRIDES &&
        tly_random_one_in(r, 2)) { /* fit for in place */
        memcpy(d->in_strides, d->out_strides, sizeof d->in_strides);
        d->in_offset = d->out_offset;
        d->flags |= TALLY_IN_STRIDES;
    }
}

/* Of so many elements only i64 tells all apart. */
static void widen_index(tally_descriptor *d)
{
    tly_layout l;
    tly_layout_of(d, &l);
    if (tly_operations[d->op].family == TLY_INDICES && l.length > INT32_MAX)
        d->out_dtype = TALLY_I64;
}

void tly_random_problem(tly_random *r, int64_t most, uint32_t draws, tally_descriptor *d)
{
    memset(d, 0, sizeof *d);
    d->size = sizeof *d;
    tly_random_operator(r, draws, d);
    if (draws & TLY_DRAW_STAGES)
        tly_random_shown(r, draws, d);
    const int shows = d->axes_given;
    const int is_scan = tally_op_is_scan((tally_op)d->op);
    if (is_scan || !tly_random_one_in(r, 30)) /* else a scalar */
        shape(r, tly_random_one_in(r, 2) ? smaller(most, 4096) : most, d);
    if (!is_scan)
        tly_random_axes(r, d);
    if (shows) {
        d->axes_given = 1;
        d->axes = 0;
    }
    if (tly_random_one_in(r, 2))
        strides(r, 8 * most, d);
    widen_index(d);
    if (draws & TLY_DRAW_STAGES)
        tly_random_stages(r, 8 * most, d);
}

void tly_random_descriptor(tly_random *r, int64_t most, tally_descriptor *d)
{
    tly_random_problem(r, most, TLY_DRAW_SCANS, d);
}

/* ---- views ---- */

/* Sizes at which forms of problems and their vectors change, short ones most of all. */
static const int64_t view_sizes[] = { 2,   2,   3,   4,    4,    5,    7,    8,   8,   9,
                                      12,  15,  16,  17,   24,   31,   32,   32,  33,  48,
                                      63,  64,  64,  65,   96,   96,   96,   127, 128, 129,
                                      255, 256, 257, 1000, 1024, 4096, 65536 };
static const int64_t short_sizes[] = { 2, 2, 4, 8, 3, 6, 7, 15 };

static void view_shape(tly_random *r, int64_t most, tally_descriptor *d)
{
    int64_t room = most;
    d->rank = (int32_t)tly_random_between(r, 1, tly_random_between(r, 3, TALLY_MAX_RANK));
    d->axis = (int32_t)tly_random_below(r, d->rank);
    for (int k = d->rank - 1; k >= 0; k--) {
        int64_t size = view_sizes[tly_random_below(r, COUNT(view_sizes))];
        if (k == d->rank - 1 && tly_random_one_in(r, 2))
            size = short_sizes[tly_random_below(r, COUNT(short_sizes))];
        else if (tly_random_one_in(r, 8))
            size = tly_random_between(r, 1, 1 + smaller(room, 3000));
        else if (tly_random_one_in(r, 200)) /* past 32 bits */
            size = (int64_t)1 << tly_random_between(r, 20, 33);
        d->sizes[k] = smaller(size, room);
        room /= d->sizes[k];
    }
    if (tly_random_one_in(r, 60))
        d->sizes[tly_random_below(r, d->rank)] = 0;
}

/* The input has the dims in another order, without gaps, as layouts of images have. */
static void view_permuted(tly_random *r, tally_descriptor *d)
{
    int order[TALLY_MAX_RANK]; /* innermost first */
    int64_t stride = 1;
    for (int k = 0; k < d->rank; k++)
        order[k] = k;
    shuffle(r, order, d->rank);
    for (int k = 0; k < d->rank; k++) {
        d->in_strides[order[k]] = stride;
        stride *= d->sizes[order[k]] ? d->sizes[order[k]] : 1;
    }
    d->flags |= TALLY_IN_STRIDES;
}

void tly_random_view(tly_random *r, int64_t most, uint32_t draws, tally_descriptor *d)
{
    static const uint8_t narrow[] = { TALLY_U8, TALLY_I8, TALLY_BOOL, TALLY_I16, TALLY_U16 };
    memset(d, 0, sizeof *d);
    d->size = sizeof *d;
    tly_random_operator(r, draws, d);
    if (tly_operations[d->op].family == TLY_PICKS && tly_random_one_in(r, 2)) {
        d->dtype = narrow[tly_random_below(r, COUNT(narrow))];
        d->flags &= ~(uint32_t)TALLY_NAN_IGNORE;
    }
    view_shape(r, most, d);
    if (!tally_op_is_scan((tally_op)d->op))
        tly_random_axes(r, d);
    if (tly_random_one_in(r, 2))
        view_permuted(r, d);
    else if (!tly_random_one_in(r, 4))
        strides(r, 8 * most, d);
    widen_index(d);
}
