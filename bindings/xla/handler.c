/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtally-xla: the handler by which XLA runs Tally's kernels on its CPU platform. There is one for
 * all: a call has the attribute `word`, and its buffers are the word's tensors. The arguments are
 * in, a, b, c, d, offsets, carry_in, and the results out, carry_out, as far as the word has them.
 *
 * jax.vmap puts the same dimensions before those of all buffers. They become one more dimension of
 * the word. Large runs borrow XLA's threads.
 */
#include "prepared.h"

#include "../../runtime/host/huge_pages.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TALLY_API xla_error *tally_xla(const xla_call *call);

/* ---- errors ------------------------------------------------------------------------------- */

static xla_error *fail(const xla_call *call, const tally_error *e)
{
    static const struct {
        tally_status status;
        int32_t code;
    } codes[] = { { TALLY_INVALID, XLA_INVALID_ARGUMENT },
                  { TALLY_UNSUPPORTED, XLA_UNIMPLEMENTED },
                  { TALLY_OUT_OF_MEMORY, XLA_RESOURCE_EXHAUSTED },
                  { TALLY_NO_GENERATOR, XLA_FAILED_PRECONDITION },
                  { TALLY_BUSY, XLA_FAILED_PRECONDITION } };
    char text[sizeof e->field + sizeof e->message + sizeof e->hint + 32];
    xla_error_create args = { XLA_ERROR_CREATE_BYTES, NULL, text, XLA_INTERNAL };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        args.code = codes[i].status == e->status ? codes[i].code : args.code;
    }
    snprintf(text, sizeof text, "tally: %s: %s%s%s", e->field, e->message,
             e->hint[0] != 0 ? "; hint: " : "", e->hint);
    return call->api->create_error(&args);
}

tally_status tly_xla_fail(tally_error *e, tally_status status, const char *field,
                          const char *message)
{
    e->status = status;
    snprintf(e->field, sizeof e->field, "%s", field);
    snprintf(e->message, sizeof e->message, "%s", message);
    return status;
}

/* ---- threads ------------------------------------------------------------------------------ */

/* XLA's pool takes tasks and has nothing to wait with. So the caller works, too, and returns after
 * the last index is done; a task that begins later finds none. The job belongs to the caller and to
 * all tasks. */
typedef struct job {
    atomic_int_fast64_t next, done, owners;
    int64_t count;
    void (*task)(void *state, int64_t index);
    void *state;
    pthread_mutex_t lock;
    pthread_cond_t finished;
} job;

static void leave(job *j)
{
    if (atomic_fetch_sub(&j->owners, 1) == 1) {
        pthread_cond_destroy(&j->finished);
        pthread_mutex_destroy(&j->lock);
        free(j);
    }
}

static void work(job *j)
{
    for (int64_t i = atomic_fetch_add(&j->next, 1); i < j->count;
         i = atomic_fetch_add(&j->next, 1)) {
        j->task(j->state, i);
        if (atomic_fetch_add(&j->done, 1) + 1 == j->count) {
            pthread_mutex_lock(&j->lock);
            pthread_cond_signal(&j->finished);
            pthread_mutex_unlock(&j->lock);
        }
    }
}

static void help(void *data)
{
    work(data);
    leave(data);
}

static job *begin(int64_t count, void (*task)(void *, int64_t), void *state)
{
    job *j = calloc(1, sizeof *j);
    if (j == NULL || pthread_mutex_init(&j->lock, NULL) != 0) {
        free(j);
        return NULL;
    }
    if (pthread_cond_init(&j->finished, NULL) != 0) {
        pthread_mutex_destroy(&j->lock);
        free(j);
        return NULL;
    }
    j->count = count;
    j->task = task;
    j->state = state;
    atomic_init(&j->owners, 1);
    return j;
}

/* A tally_parallel_for. */
static void run_on_xla(void *user, int64_t count, void (*task)(void *, int64_t), void *state)
{
    const xla_call *call = user;
    job *j = begin(count, task, state);
    if (j == NULL) {
        for (int64_t i = 0; i < count; i++) {
            task(state, i);
        }
        return;
    }
    for (int64_t i = 1; i < count; i++) {
        xla_schedule args = { sizeof args, NULL, call->context, help, j };
        atomic_fetch_add(&j->owners, 1);
        xla_error *error = call->api->schedule(&args);
        if (error != NULL) { /* no pool: the caller does the rest */
            xla_error_destroy gone = { sizeof gone, NULL, error };
            call->api->destroy_error(&gone);
            atomic_fetch_sub(&j->owners, 1); /* the caller is still one */
            break;
        }
    }
    work(j);
    pthread_mutex_lock(&j->lock);
    while (atomic_load(&j->done) < j->count) {
        pthread_cond_wait(&j->finished, &j->lock);
    }
    pthread_mutex_unlock(&j->lock);
    leave(j);
}

/* ---- the call ----------------------------------------------------------------------------- */

static tally_status take(const tly_xla_tensor *tensors, int count, const xla_buffers *from,
                         tally_buffers *to, tally_error *e)
{
    static const tally_dtype dtypes[XLA_DTYPES] = {
        [XLA_PRED] = TALLY_BOOL, [XLA_S8] = TALLY_I8,   [XLA_S16] = TALLY_I16,
        [XLA_S32] = TALLY_I32,   [XLA_S64] = TALLY_I64, [XLA_U8] = TALLY_U8,
        [XLA_U16] = TALLY_U16,   [XLA_U32] = TALLY_U32, [XLA_U64] = TALLY_U64,
        [XLA_F16] = TALLY_F16,   [XLA_F32] = TALLY_F32, [XLA_F64] = TALLY_F64,
        [XLA_BF16] = TALLY_BF16
    };
    if (from->count != count) {
        return tly_xla_fail(e, TALLY_INVALID, "usage",
                            "the word has another number of tensors than the call");
    }
    for (int i = 0; i < count; i++) {
        const xla_buffer *b = from->buffers[i];
        int64_t has = 1;
        for (int64_t d = 0; d < b->rank; d++) {
            has *= b->sizes[d];
        }
        if (b->dtype < 0 || b->dtype >= XLA_DTYPES || dtypes[b->dtype] != tensors[i].dtype ||
            has != tensors[i].count) {
            return tly_xla_fail(e, TALLY_INVALID, tensors[i].name,
                                "the array has another dtype or shape than the word");
        }
        memcpy((char *)to + tensors[i].member, &b->data, sizeof b->data);
    }
    return TALLY_OK;
}

/* Whether elements of a scan lie outside of all segments: their results, which nothing writes, are
 * 0. The offsets need not be right. */
static int leaves_elements(const tly_xla_prepared *p, const void *offsets)
{
    const int32_t *narrow = offsets;
    const int64_t *wide = offsets;
    if (p->scanned < 0 || offsets == NULL) {
        return 0;
    }
    return p->offsets == TALLY_I32 ? narrow[0] != 0 || narrow[p->segments] != p->scanned
                                   : wide[0] != 0 || wide[p->segments] != p->scanned;
}

static tally_status run(const xla_call *call, tally_error *e)
{
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    tally_run_options options = TALLY_RUN_OPTIONS_INIT;
    if (call->arguments.count == 0) {
        return tly_xla_fail(e, TALLY_INVALID, "usage", "the call has no array");
    }
    const tly_xla_prepared *p = tly_xla_prepare(&call->attributes, call->arguments.buffers[0], e);
    if (p == NULL) {
        return (tally_status)e->status;
    }
    options.parallel = run_on_xla;
    options.parallel_user = (void *)(uintptr_t)call;
    tally_status status = take(p->argument, p->arguments, &call->arguments, &buffers, e);
    if (status == TALLY_OK) {
        status = take(p->result, p->results, &call->results, &buffers, e);
    }
    if (status == TALLY_OK) {
        const tly_xla_tensor *out = &p->result[0];
        const size_t bytes = (size_t)out->count * tally_dtype_bytes(out->dtype);
        tly_huge_pages(buffers.out, bytes);
        if (leaves_elements(p, buffers.offsets)) {
            memset(buffers.out, 0, bytes);
        }
        status = tally_kernel_run_buffers(p->kernel, &buffers, &options, e);
    }
    tly_xla_release(p);
    return status;
}

/** XLA_FFI_Handler: returns NULL, or an error that XLA destroys. */
xla_error *tally_xla(const xla_call *call)
{
    const xla_extension *x = call->extensions;
    tally_error e = TALLY_ERROR_INIT;
    if (x != NULL && x->type == XLA_METADATA) {
        xla_metadata *m = ((const xla_metadata_extension *)(const void *)x)->metadata;
        m->version.major = XLA_MAJOR;
        m->version.minor = XLA_MINOR;
        m->traits = 0;
        return NULL;
    }
    return run(call, &e) == TALLY_OK ? NULL : fail(call, &e);
}
