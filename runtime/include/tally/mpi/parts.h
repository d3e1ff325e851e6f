/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of tally/mpi.h: slices of a part, and blocks of its lanes. */
#ifndef TALLY_MPI_PARTS_H
#define TALLY_MPI_PARTS_H

#include <tally/mpi/job.h>

/* ---- descriptors -------------------------------------------------------------------------- */

static inline void tally_mpi__pack(const tally_descriptor *d, uint32_t axes, int64_t *strides)
{
    int64_t stride = 1;
    for (int32_t k = d->rank - 1; k >= 0; k--) {
        strides[k] = axes >> k & 1 ? stride : 0;
        stride *= axes >> k & 1 ? d->sizes[k] : 1;
    }
}

/* The elements [first, first + count) of a dimension, for the same pointers. */
static inline void tally_mpi__slice(const tally_descriptor *d, int32_t dim, int64_t first,
                                    int64_t count, tally_descriptor *slice)
{
    *slice = *d;
    if (!(d->flags & TALLY_IN_STRIDES)) {
        tally_mpi__pack(d, ~0u, slice->in_strides);
    }
    if (!(d->flags & TALLY_OUT_STRIDES)) {
        tally_mpi__pack(d, ~0u, slice->out_strides);
    }
    slice->flags |= TALLY_IN_STRIDES | TALLY_OUT_STRIDES;
    slice->sizes[dim] = count;
    slice->in_offset += first * slice->in_strides[dim];
    slice->out_offset += first * slice->out_strides[dim];
    for (int k = 0; k < TALLY_MAX_OPERANDS && d->operands[k].dtype != 0; k++) {
        tally_operand *o = &slice->operands[k];
        if (o->place != TALLY_PLACE_STRIDES) {
            tally_mpi__pack(d, o->place == TALLY_PLACE_AXES ? o->axes : ~0u, o->strides);
        }
        o->place = TALLY_PLACE_STRIDES;
        o->axes = 0;
        o->offset += first * o->strides[dim];
    }
}

/* What must be equal on all ranks, as one number. */
static inline int64_t tally_mpi__hash(const tally_mpi__job *j, int way)
{
    tally_descriptor d = j->scan;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    d.flags &= ~(uint32_t)(TALLY_IN_STRIDES | TALLY_OUT_STRIDES);
    d.sizes[d.axis] = way;
    for (int32_t k = 0; k < TALLY_MAX_RANK; k++) {
        d.sizes[k] = k < d.rank ? d.sizes[k] : 0;
        d.in_strides[k] = d.out_strides[k] = 0;
    }
    d.in_offset = d.out_offset = 0;
    for (int k = 0; k < TALLY_MAX_OPERANDS; k++) {
        const int32_t dtype = d.operands[k].dtype;
        memset(&d.operands[k], 0, sizeof d.operands[k]);
        d.operands[k].dtype = dtype;
    }
    for (size_t k = 0; k < sizeof d; k++) {
        unsigned char byte;
        memcpy(&byte, (const char *)&d + k, 1);
        hash = (hash ^ byte) * UINT64_C(0x100000001b3);
    }
    return (int64_t)(hash >> 1);
}

/* ---- blocks of lanes ------------------------------------------------------------------------ */

static inline int64_t tally_mpi__first(const tally_mpi__job *j, int block)
{
    const int64_t size = j->scan.rank > 1 ? j->scan.sizes[j->cut] : 1;
    return size / j->blocks * block +
           (size % j->blocks < block ? size % j->blocks : (int64_t)block);
}

/* Several blocks for each rank, cut along the outermost dimension that has enough indices for them,
 * or the one that makes most. Blocks have two indices or more, and of packed elements 64, so that
 * ranks read whole lines. */
static inline void tally_mpi__find_blocks(tally_mpi__job *j)
{
    const tally_descriptor *s = &j->scan;
    int64_t wanted = 4 * (int64_t)j->ranks, most = 1;
    wanted = wanted < TALLY_MPI__BLOCKS ? wanted : (int64_t)TALLY_MPI__BLOCKS;
    j->cut = 0;
    for (int32_t k = 0; k < s->rank && most < wanted; k++) {
        const int64_t size = s->sizes[k] / (k < s->rank - 1 ? 2 : 64);
        if (k != s->axis && size > most) {
            most = size;
            j->cut = k;
        }
    }
    j->blocks = j->ranks == 1 ? 1 : (int)(most < wanted ? most : wanted);
    j->outer = j->inner = 1;
    for (int32_t k = 0; k < s->rank; k++) {
        const size_t size = k == s->axis ? 1 : (size_t)s->sizes[k];
        j->outer *= k < j->cut ? size : 1;
        j->inner *= k > j->cut ? size : 1;
    }
}

/* Bytes before a block's states; they lie block after block. */
static inline size_t tally_mpi__offset(const tally_mpi__job *j, int block)
{
    return block == j->blocks
               ? j->states
               : j->outer * (size_t)tally_mpi__first(j, block) * j->inner * j->numbers * j->bytes;
}

/* Copies states from row-major order to blocks, or back. */
static inline void tally_mpi__turn(const tally_mpi__job *j, const char *from, char *to, int is_back)
{
    const size_t each = j->inner * j->numbers * j->bytes, end = j->states / (j->outer * each);
    for (int b = 0; b < j->blocks; b++) {
        const size_t first = (size_t)tally_mpi__first(j, b);
        const size_t next = b + 1 < j->blocks ? (size_t)tally_mpi__first(j, b + 1) : end;
        const size_t bytes = (next - first) * each;
        for (size_t o = 0; o < j->outer; o++) {
            const size_t row = (o * end + first) * each;
            const size_t block = tally_mpi__offset(j, b) + o * bytes;
            memcpy(to + (is_back ? row : block), from + (is_back ? block : row), bytes);
        }
    }
}

#endif
