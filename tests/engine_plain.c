/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference as an engine, with a fault on demand. A checker that lets one of these faults
 * pass is worth nothing; `differential --self-test` shows that it does not.
 */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fused.h"

typedef struct plain {
    tly_engine face;
    tly_fault fault;
    tally_descriptor d;
    void *out; /* of the current run */
    const void *const *operands;
    int runs;
    uint64_t first; /* NEIGHBOUR: the first scan's first element in the first run */
} plain;

static tally_status prepare(tly_engine *e, const tally_descriptor *d, const char *plan,
                            tally_error *error)
{
    (void)plan, (void)error;
    ((plain *)e)->d = *d;
    ((plain *)e)->runs = 0;
    return TALLY_OK;
}

static int store(void *user, const tly_fact *fact)
{
    plain *p = user;
    const tally_dtype dtype = tly_reference_output(&p->d);
    const int flushed = p->fault == TLY_FAULT_FLUSH && tly_is_float(dtype) && !p->d.post[0];
    tly_bits_store(dtype, p->out, fact->out,
                   flushed ? tly_encode(dtype, fact->flushed) : fact->bits);
    return 0;
}

/* The scan of each row's second half stands in for the row's: the carry is lost. */
static void lose_carry(plain *p, const tly_layout *l, const void *in)
{
    tally_descriptor half = p->d;
    const int reverse = (half.flags & TALLY_REVERSE) != 0;
    const int64_t middle = l->length / 2;

    half.flags |= TALLY_IN_STRIDES | TALLY_OUT_STRIDES;
    memcpy(half.in_strides, l->in_strides, sizeof half.in_strides);
    memcpy(half.out_strides, l->out_strides, sizeof half.out_strides);
    half.sizes[l->axis] = l->length - middle;
    half.in_offset = l->in_offset + middle * l->in_step;
    half.out_offset = l->out_offset + middle * l->out_step;
    if (reverse) { /* back from the scan's start to the lowest coordinate */
        half.in_offset += (l->length - middle - 1) * l->in_step;
        half.out_offset += (l->length - middle - 1) * l->out_step;
    }
    tly_reference_buffers(&half, in, p->operands, store, p);
}

static void spoil_operand(plain *p)
{
    tly_fused_place place;
    tly_fused_place_of(&p->d, 0, &place);
    const size_t bytes = tally_dtype_bytes(place.dtype);
    if (place.low <= place.high)
        *(char *)((uintptr_t)p->operands[0] + (uintptr_t)place.high * bytes) ^= 1;
}

static void damage(plain *p, const tly_layout *l, const void *in, int32_t threads, int is_new)
{
    const tally_dtype dtype = tly_reference_output(&p->d);
    const size_t bytes = tally_dtype_bytes(dtype);
    char *const low = (char *)((uintptr_t)p->out + (uintptr_t)l->out_low * bytes);
    char *const high = (char *)((uintptr_t)p->out + (uintptr_t)(l->out_high + 1) * bytes);
    int64_t at_in, at_out;
    int bend = 0;

    tly_layout_row(l, l->rows - 1, &at_in, &at_out);
    switch (p->fault) {
    case TLY_FAULT_LAST_BIT:
        bend = 1;
        break;
    case TLY_FAULT_THREADS:
        bend = threads == 3;
        break;
    case TLY_FAULT_NEIGHBOUR:
        bend = is_new && l->rows > 1;
        break;
    case TLY_FAULT_ALIGNMENT:
        bend = ((uintptr_t)low & 63) != 0;
        break;
    case TLY_FAULT_IN_PLACE:
        bend = in == p->out;
        break;
    case TLY_FAULT_LOST_CARRY:
        if (l->is_scan)
            lose_carry(p, l, in);
        break;
    case TLY_FAULT_IDENTITY:
        tly_bits_store(dtype, p->out, at_out, 0);
        break;
    case TLY_FAULT_BEYOND:
        *high ^= 1;
        break;
    case TLY_FAULT_BEFORE:
        low[-1] ^= 1;
        break;
    case TLY_FAULT_OPERAND:
        if (p->d.operands[0].dtype)
            spoil_operand(p);
        break;
    case TLY_FAULT_GAP:
        low[bytes] ^= 1;
        break;
    case TLY_FAULT_INPUT:
        *(char *)((uintptr_t)in + (uintptr_t)l->in_low * bytes) ^= 1;
        break;
    default:
        break;
    }
    if (bend) {
        int64_t last = at_out + (l->results - 1) * l->out_step;
        tly_bits_store(dtype, p->out, last, tly_bits_load(dtype, p->out, last) ^ 1);
    }
}

static int has_new_neighbour(plain *p, const tly_layout *l, const void *in)
{
    int64_t at_in, at_out;
    tly_layout_row(l, 0, &at_in, &at_out);
    const uint64_t now = tly_bits_load((tally_dtype)p->d.dtype, in, at_in);
    if (p->runs++ == 0)
        p->first = now;
    return p->fault == TLY_FAULT_NEIGHBOUR && now != p->first;
}

/* The word without an expression, or with operands of one element. */
static void leave_out(plain *p, const void *in)
{
    tally_descriptor less = p->d;
    if (p->fault == TLY_FAULT_NO_MAP)
        memset(less.map, 0, sizeof less.map);
    if (p->fault == TLY_FAULT_NO_POST)
        memset(less.post, 0, sizeof less.post);
    for (int k = 0; k < TALLY_MAX_OPERANDS && p->fault == TLY_FAULT_PLACE; k++)
        if (less.operands[k].dtype) {
            less.operands[k].place = TALLY_PLACE_STRIDES;
            less.operands[k].axes = 0;
            memset(less.operands[k].strides, 0, sizeof less.operands[k].strides);
        }
    tly_reference_buffers(&less, in, p->operands, store, p);
}

static tally_status run(tly_engine *e, const tally_buffers *buffers, int32_t threads,
                        tally_error *error)
{
    const void *in = buffers->in;
    plain *p = (plain *)e;
    tly_layout l;

    (void)error;
    tly_layout_of(&p->d, &l);
    p->out = buffers->out;
    p->operands = buffers->operand;
    const int is_new = l.rows && l.length && has_new_neighbour(p, &l, in);
    leave_out(p, in);
    if (l.rows && l.length)
        damage(p, &l, in, threads, is_new);
    return TALLY_OK;
}

static void close_engine(tly_engine *e)
{
    free(e);
}

tly_engine *tly_engine_plain(tly_fault fault, tally_error *error)
{
    plain *p = calloc(1, sizeof *p);
    if (!p) {
        snprintf(error->message, sizeof error->message, "out of memory");
        return NULL;
    }
    p->face = (tly_engine){ "plain", prepare, run, close_engine, 0 };
    p->fault = fault;
    return &p->face;
}
