/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the word of a call, makes its kernel, and lists its tensors. The result is kept, since XLA
 * calls with the same word again and again.
 */
#include "prepared.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the word ----------------------------------------------------------------------------- */

/* The text of the attribute; NULL if there is none. */
static const xla_span *find_word(const xla_attributes *a)
{
    for (int64_t i = 0; i < a->count; i++) {
        if (a->types[i] == XLA_ATTRIBUTE_STRING && a->names[i]->bytes == 4 &&
            memcmp(a->names[i]->text, "word", 4) == 0) {
            return a->values[i];
        }
    }
    return NULL;
}

static const char *const letters[TALLY_MAX_OPERANDS] = { "a", "b", "c", "d" };

/* Buffers are packed, so a word with strides would mean another tensor. */
static tally_status refuse_strides(const tally_descriptor *d, tally_error *e)
{
    static const char message[] = "strides are not for arrays of JAX, which are packed";
    if (d->flags & (TALLY_IN_STRIDES | TALLY_OUT_STRIDES)) {
        return tly_xla_fail(e, TALLY_INVALID, d->flags & TALLY_IN_STRIDES ? "in" : "out", message);
    }
    for (int k = 0; k < TALLY_MAX_OPERANDS && d->operands[k].dtype != 0; k++) {
        if (d->operands[k].place == TALLY_PLACE_STRIDES) {
            return tly_xla_fail(e, TALLY_INVALID, letters[k], message);
        }
    }
    return TALLY_OK;
}

static int are_equal(const int64_t *a, const int64_t *b, int64_t count)
{
    int64_t i = 0;
    while (i < count && a[i] == b[i]) {
        i++;
    }
    return i == count;
}

/* The dimensions that a buffer has before those of the word become the word's first one. */
static tally_status widen(tally_descriptor *d, const xla_buffer *x, tally_error *e)
{
    const int64_t more = x->rank - d->rank;
    int64_t batch = 1;
    if (more < 0 || !are_equal(x->sizes + more, d->sizes, d->rank)) {
        return tly_xla_fail(e, TALLY_INVALID, "sizes", "the array has another shape than the word");
    }
    if (more == 0) {
        return TALLY_OK;
    }
    if (d->rank == TALLY_MAX_RANK) {
        return tly_xla_fail(e, TALLY_INVALID, "sizes",
                            "with the dimensions of vmap there are more than 8");
    }
    for (int64_t i = 0; i < more; i++) { /* no overflow: they are of one buffer */
        batch *= x->sizes[i];
    }
    memmove(d->sizes + 1, d->sizes, (size_t)d->rank * sizeof *d->sizes);
    d->sizes[0] = batch;
    if (tally_op_is_scan((tally_op)d->op)) {
        d->axis++;
    } else {
        d->axes = (d->axes_given ? d->axes : (1u << d->rank) - 1) << 1;
        d->axes_given = 1;
    }
    d->rank++;
    for (int k = 0; k < TALLY_MAX_OPERANDS && d->operands[k].dtype != 0; k++) {
        if (d->operands[k].place == TALLY_PLACE_AXES) {
            d->operands[k].axes = d->operands[k].axes << 1 | 1;
        }
    }
    return TALLY_OK;
}

/* A tensor that extends along `axes`. */
static tly_xla_tensor of(const char *name, int32_t dtype, size_t member, const int64_t *sizes,
                         int32_t rank, uint32_t axes)
{
    int64_t count = 1;
    for (int32_t i = 0; i < rank; i++) {
        count *= axes >> i & 1 ? sizes[i] : 1;
    }
    return (tly_xla_tensor){ name, (tally_dtype)dtype, member, count };
}

static tally_status list_tensors(tly_xla_prepared *p, const tally_descriptor *d, tally_error *e)
{
    int64_t sizes[TALLY_MAX_RANK], states[TALLY_MAX_CARRY_RANK];
    int32_t rank, states_rank = 0;
    tally_dtype dtype, state = TALLY_DTYPE_NONE;
    if (tally_descriptor_result(d, &rank, sizes, &dtype, e) != TALLY_OK ||
        (d->carry != 0 && tally_descriptor_carry(d, &states_rank, states, &state, e) != TALLY_OK)) {
        return (tally_status)e->status;
    }
    tly_xla_tensor *t = p->argument;
    *t++ = of("in", d->dtype, offsetof(tally_buffers, in), d->sizes, d->rank, ~0u);
    for (int k = 0; k < TALLY_MAX_OPERANDS && d->operands[k].dtype != 0; k++) {
        const tally_operand *o = &d->operands[k];
        *t++ = of(letters[k], o->dtype,
                  offsetof(tally_buffers, operand) + sizeof(void *) * (size_t)k, d->sizes, d->rank,
                  o->place == TALLY_PLACE_AXES ? o->axes : ~0u);
    }
    if (d->segment_dtype != 0) {
        const int64_t count = d->segments + 1;
        *t++ = of("offsets", d->segment_dtype, offsetof(tally_buffers, offsets), &count, 1, 1);
    }
    if (d->carry & TALLY_CARRY_IN) {
        *t++ = of("carry_in", state, offsetof(tally_buffers, carry_in), states, states_rank, ~0u);
    }
    p->arguments = (int)(t - p->argument);
    t = p->result;
    *t++ = of("out", dtype, offsetof(tally_buffers, out), sizes, rank, ~0u);
    if (d->carry & TALLY_CARRY_OUT) {
        *t++ = of("carry_out", state, offsetof(tally_buffers, carry_out), states, states_rank, ~0u);
    }
    p->results = (int)(t - p->result);
    const int is_scan = d->segment_dtype != 0 && tally_op_is_scan((tally_op)d->op);
    p->scanned = is_scan ? d->sizes[d->axis < 0 ? d->axis + d->rank : d->axis] : -1;
    p->segments = d->segments;
    p->offsets = (tally_dtype)d->segment_dtype;
    return TALLY_OK;
}

static tally_status fill(tly_xla_prepared *p, const xla_buffer *x, tally_error *e)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_context *context = NULL;
    if (tally_descriptor_parse(p->word, &d, e) != TALLY_OK || refuse_strides(&d, e) != TALLY_OK ||
        widen(&d, x, e) != TALLY_OK || list_tensors(p, &d, e) != TALLY_OK ||
        tally_context_shared(&context, e) != TALLY_OK) {
        return (tally_status)e->status;
    }
    return tally_kernel_create(context, &d, NULL, &p->kernel, e);
}

static tly_xla_prepared *make(const xla_span *word, const xla_buffer *x, tally_error *e)
{
    tly_xla_prepared *p = calloc(1, sizeof *p + word->bytes + 1);
    if (p == NULL) {
        tly_xla_fail(e, TALLY_OUT_OF_MEMORY, "memory", "there is no memory for the call");
        return NULL;
    }
    p->bytes = word->bytes;
    memcpy(p->word, word->text, word->bytes);
    p->rank = x->rank;
    for (int64_t i = 0; i < x->rank && i < TLY_XLA_DIMS; i++) {
        p->sizes[i] = x->sizes[i];
    }
    if (fill(p, x, e) != TALLY_OK) {
        free(p);
        return NULL;
    }
    return p;
}

/* ---- known calls -------------------------------------------------------------------------- */

/* Reading a word takes .8 us, and XLA 3.5 us for all else (3x4 elements, Zen 4). So the first calls
 * are kept as long as the process lives. They never change, hence no lock. A call that finds no
 * place is prepared each time. */
enum { PLACES = 512, TRIES = 4 };
static _Atomic(tly_xla_prepared *) known[PLACES];

static uint64_t hash(const xla_span *word, const xla_buffer *x)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325) + (uint64_t)x->rank;
    for (int64_t i = 0; i < x->rank; i++) {
        h = (h ^ (uint64_t)x->sizes[i]) * UINT64_C(0x100000001b3);
    }
    for (size_t i = 0; i < word->bytes; i++) {
        h = (h ^ (unsigned char)word->text[i]) * UINT64_C(0x100000001b3);
    }
    return h ^ h >> 32;
}

static int is_for(const tly_xla_prepared *p, const xla_span *word, const xla_buffer *x)
{
    return p->bytes == word->bytes && p->rank == x->rank &&
           memcmp(p->word, word->text, word->bytes) == 0 && are_equal(p->sizes, x->sizes, x->rank);
}

const tly_xla_prepared *tly_xla_prepare(const xla_attributes *attributes, const xla_buffer *x,
                                        tally_error *e)
{
    const xla_span *word = find_word(attributes);
    if (word == NULL || word->text == NULL) {
        tly_xla_fail(e, TALLY_INVALID, "usage", "the call has no attribute word");
        return NULL;
    }
    const size_t first = (size_t)hash(word, x);
    _Atomic(tly_xla_prepared *) *place = NULL;
    for (size_t i = 0; i < TRIES && x->rank <= TLY_XLA_DIMS && place == NULL; i++) {
        tly_xla_prepared *p = atomic_load_explicit(&known[(first + i) % PLACES],
                                                   memory_order_acquire);
        if (p == NULL) {
            place = &known[(first + i) % PLACES];
        } else if (is_for(p, word, x)) {
            return p;
        }
    }
    tly_xla_prepared *p = make(word, x, e), *none = NULL;
    if (p != NULL && place != NULL) {
        p->is_kept = 1;
        if (!atomic_compare_exchange_strong(place, &none, p)) {
            p->is_kept = 0; /* another thread took the place */
        }
    }
    return p;
}

void tly_xla_release(const tly_xla_prepared *p)
{
    if (!p->is_kept) {
        tally_kernel *kernel = p->kernel;
        tally_kernel_destroy(&kernel);
        free((void *)(uintptr_t)p);
    }
}
