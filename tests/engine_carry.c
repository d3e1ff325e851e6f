/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan in pieces, each of which goes on with the states that the one before has handed on. What
 * they store together is judged as one scan. Where pieces end as docs/state.md promises the bits of
 * one run for, every other run is that one. Reductions, and scans of segments, run as they are.
 */
#include "arena.h"
#include "engine.h"
#include "fused.h"
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct carried {
    tly_engine face;
    tly_engine *piece[TLY_MOST_PIECES];
    int32_t carry[TLY_MOST_PIECES]; /* what the pieces' words have */
    int count;
    int in_one;        /* states are replaced where they are */
    tly_engine *whole; /* the scan in one piece; NULL: none that has the pieces' bits is known */
    int is_whole_made, turn;
    tally_context *context; /* of `whole` and its device */
    const char *device;     /* the caller's */
    tly_arena arena[2];
    char *states[2];
} carried;

static void drop(carried *e)
{
    for (int k = 0; k < 2; k++) {
        if (e->arena[k].bytes)
            tly_arena_close(&e->arena[k]);
        e->arena[k].bytes = 0;
        e->states[k] = NULL;
    }
    e->count = e->is_whole_made = e->turn = 0;
    e->face.has_own_bits = 0;
}

/* The word of `count` positions from position `first` on, for the same pointers. */
static tally_descriptor piece_of(const tally_descriptor *d, const tly_layout *l, int64_t first,
                                 int64_t count, int32_t carry)
{
    tally_descriptor piece = *d;
    const int reverse = (d->flags & TALLY_REVERSE) != 0;
    const int64_t skipped = reverse ? l->length - first - count : first;
    /* The layout counts from the scan's start, a word from the lowest coordinate. */
    const int64_t lowest = reverse && count > 0 ? first + count - 1 : first;
    piece.carry = carry;
    piece.flags |= TALLY_IN_STRIDES | TALLY_OUT_STRIDES;
    memcpy(piece.in_strides, l->in_strides, sizeof piece.in_strides);
    memcpy(piece.out_strides, l->out_strides, sizeof piece.out_strides);
    piece.sizes[l->axis] = count;
    piece.in_offset = l->in_offset + lowest * l->in_step;
    piece.out_offset = l->out_offset + lowest * l->out_step;
    for (int k = 0; k < TALLY_MAX_OPERANDS && piece.operands[k].dtype; k++) {
        tly_fused_place place;
        tally_operand *o = &piece.operands[k];
        tly_fused_place_of(d, k, &place);
        o->place = TALLY_PLACE_STRIDES;
        o->axes = 0;
        memcpy(o->strides, place.strides, sizeof o->strides);
        o->offset = place.offset + skipped * place.strides[l->axis];
    }
    return piece;
}

/* Overrides are for whole words: what a piece does not take goes without. */
static tally_status make(carried *e, const tally_descriptor *d, const char *plan,
                         tally_error *error)
{
    tly_engine *piece = e->piece[e->count];
    tally_status status = piece->prepare(piece, d, plan, error);
    if (status == TALLY_INVALID && *plan && !strcmp(error->field, "plan"))
        status = piece->prepare(piece, d, "", error);
    e->carry[e->count++] = d->carry;
    return status;
}

/* Each at the end of what may be touched. */
static tally_status take_states(carried *e, const tally_descriptor *d, tally_error *error)
{
    int64_t sizes[TALLY_MAX_CARRY_RANK];
    int32_t rank;
    tally_dtype dtype;
    tally_status status = tally_descriptor_carry(d, &rank, sizes, &dtype, error);
    if (status)
        return status;
    size_t bytes = tally_dtype_bytes(dtype);
    for (int32_t k = 0; k < rank; k++)
        bytes *= (size_t)sizes[k];
    for (int k = 0; k < 2; k++) {
        if (tly_arena_open(&e->arena[k], bytes + 64))
            return TALLY_OUT_OF_MEMORY;
        e->states[k] = tly_arena_place(&e->arena[k], TLY_PLACE_END, 0, bytes).at;
    }
    return TALLY_OK;
}

/* Makes the scan in one piece, and returns at multiples of how many elements pieces may end so that
 * they have its bits; 0: nowhere. */
static int64_t find_unit(carried *e, const tally_descriptor *d, const char *plan)
{
    tally_descriptor whole = *d;
    const tally_kernel_options options = { .size = sizeof options, .device = e->device };
    tally_kernel *kernel = NULL;
    whole.carry = TALLY_CARRY_IN | TALLY_CARRY_OUT;
    if (!e->whole || *plan || tally_kernel_create(e->context, &whole, &options, &kernel, NULL))
        return 0;
    const int64_t unit = tally_kernel_chunk(kernel);
    tally_kernel_destroy(&kernel);
    e->is_whole_made = unit > 0 && !e->whole->prepare(e->whole, &whole, "", NULL);
    return e->is_whole_made ? unit : 0;
}

static tally_status prepare(tly_engine *face, const tally_descriptor *d, const char *plan,
                            tally_error *error)
{
    carried *e = (carried *)face;
    tly_layout l;
    drop(e);
    const int tells_index = tly_operations[d->op].family == TLY_INDICES; /* which has no carry */
    if (!tally_op_is_scan((tally_op)d->op) || tells_index || d->every)
        return make(e, d, plan, error);
    tly_layout_of(d, &l);
    tly_random r = tly_random_seed((uint64_t)l.length * 31 + (uint64_t)l.rows, (uint64_t)d->op);
    e->in_one = tly_random_one_in(&r, 2);
    e->face.has_own_bits = d->order != TALLY_ORDER_SERIAL;
    const int64_t promised = tly_random_one_in(&r, 2) ? find_unit(e, d, plan) : 0;
    const int64_t unit = promised > 0 ? promised : 1;
    const int pieces = 2 + (int)tly_random_below(&r, TLY_MOST_PIECES - 1);
    for (int64_t from = 0, k = 0; k < pieces; k++) {
        const int64_t left = l.length - from;
        int64_t count = tly_random_below(&r, left / unit + 1) * unit;
        if (tly_random_one_in(&r, 3))
            count = 0;
        if (d->op == TALLY_LINREC && from == 0 && count == 0)
            count = unit; /* a state of no elements takes part, unlike none */
        if (k + 1 == pieces || left - count < unit) /* shorter ones have no promise */
            count = left;
        const int32_t carry = (k > 0 || tly_random_one_in(&r, 2) ? TALLY_CARRY_IN : 0) |
                              (k + 1 < pieces || tly_random_one_in(&r, 2) ? TALLY_CARRY_OUT : 0);
        const tally_descriptor piece = piece_of(d, &l, from, count, carry ? carry : TALLY_CARRY_IN);
        tally_status status = make(e, &piece, plan, error);
        if (!status && !e->states[0])
            status = take_states(e, &piece, error);
        if (status)
            return status;
        from += count;
    }
    return TALLY_OK;
}

static tally_status run(tly_engine *face, const tally_buffers *buffers, int32_t threads,
                        tally_error *error)
{
    carried *e = (carried *)face;
    if (e->is_whole_made && e->turn++ % 2) {
        tally_buffers all = *buffers;
        all.carry_out = e->states[0];
        return e->whole->run(e->whole, &all, threads, error);
    }
    for (int k = 0; k < e->count; k++) {
        tally_buffers all = *buffers;
        const int from = e->in_one ? 0 : k % 2, to = e->in_one ? 0 : 1 - from;
        all.carry_in = k > 0 && e->carry[k] & TALLY_CARRY_IN ? e->states[from] : NULL;
        all.carry_out = e->carry[k] & TALLY_CARRY_OUT ? e->states[to] : NULL;
        tally_status status = e->piece[k]->run(e->piece[k], &all, threads, error);
        if (status)
            return status;
    }
    return TALLY_OK;
}

static void close_engine(tly_engine *face)
{
    carried *e = (carried *)face;
    drop(e);
    if (e->whole)
        e->whole->close(e->whole);
    for (int k = 0; k < TLY_MOST_PIECES; k++)
        if (e->piece[k])
            e->piece[k]->close(e->piece[k]);
    free(e);
}

tly_engine *tly_engine_in_pieces(tly_engine *(*open)(void *user, tally_error *error), void *user,
                                 tally_error *error)
{
    carried *e = calloc(1, sizeof *e);
    if (!e) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return NULL;
    }
    e->face = (tly_engine){ "carry", prepare, run, close_engine, 0 };
    for (int k = 0; k < TLY_MOST_PIECES; k++) {
        e->piece[k] = open(user, error);
        if (!e->piece[k]) {
            close_engine(&e->face);
            return NULL;
        }
    }
    return &e->face;
}

/* ---- by the public API ---- */

typedef struct place {
    tally_context *context;
    const char *device;
} place;

static tly_engine *open_library(void *user, tally_error *error)
{
    const place *at = user;
    return tly_engine_library(at->context, at->device, error);
}

tly_engine *tly_engine_carry(tally_context *context, const char *device, tally_error *error)
{
    place at = { context, device };
    carried *e = (carried *)tly_engine_in_pieces(open_library, &at, error);
    if (!e)
        return NULL;
    e->context = context;
    e->device = device;
    e->whole = open_library(&at, error);
    if (!e->whole) {
        close_engine(&e->face);
        return NULL;
    }
    return &e->face;
}
