/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a descriptor to a kernel: a thread that asks again gets its answer from its own table; all
 * others get the canonical problem, whose code the context's cache finds or has made. Guarantees
 * that equal problems share code. What no kernel exists for is refused by the generator.
 */
#include "context/internal.h"

#include "context/backend.h"
#include "context/thread_cache.h"
#include "cpu/cpu.h"
#include "descriptor/descriptor.h"
#include "descriptor/stages.h"
#include "host/checked.h"
#include "host/clock.h"
#include "host/error.h"
#include "host/fork.h"
#include "host/thread.h"
#include "problem/specialise.h"

#include <stdlib.h>
#include <string.h>

/* --- preparing the launch ------------------------------------------------------------------ */

/* How lanes and bytes are cut between threads. */
static void prepare_cuts(tally_kernel *k, const tly_launch *l, int64_t in_bytes)
{
    const tly_context_limits *limits = &k->context->limits;
    int64_t machine = tly_reduces((int)l->form) ? limits->split_reads
                      : l->form == TLY_ROWS     ? limits->split_rows
                                                : limits->split_lanes;
    k->split_bytes = l->split_bytes > 0 ? tly_smaller(l->split_bytes, machine) : machine;
    k->alone = k->bytes < k->split_bytes || k->tiles == 1;
    k->once = k->alone && k->row_tiles <= k->most_tiles && k->scratch_bytes <= TLY_STACK_SCRATCH;
    if (l->form != TLY_ROWS && !tly_reduces((int)l->form)) {
        const int64_t tile = l->tile_lanes * in_bytes;
        k->share_tiles = limits->share / tile + (limits->share % tile != 0);
    }
}

static void prepare(tally_kernel *k, const tly_request *request)
{
    const tly_geometry *g = &request->geometry;
    const tly_problem *p = &request->problem;
    const tly_launch *l = &k->object->launch;
    int64_t in_bytes = tly_element_bytes(p, TLY_IN);
    int64_t out_bytes = tly_element_bytes(p, TLY_OUT);
    tly_entry full = atomic_load_explicit(&k->object->entry, memory_order_acquire);
    atomic_init(&k->entry, full != NULL ? full : k->object->quick.entry);
    tly_prepared_make(&k->prepared, p, g, l, k->context->limits.scratch_bytes, tly_stream_bytes());
    k->carry_bytes = l->form == TLY_ROWS ? (int32_t)l->record_bytes : 0;
    k->chunk_step = tly_multiply(l->chunk, k->args.tensor[TLY_IN].axis);
    prepare_cuts(k, l, in_bytes);
    /* Intel's cores fill the lines of stores in the order of the program, so that one that is
     * not in the first cache holds up all behind it. Of two streams of stores, to scratch and to
     * memory, each waits for the other then. f32 of 128x1024, axis 0, from L2, us, without and
     * with the lines fetched ahead: 32.2, 20.1; a copy 15.9 (Emerald Rapids). */
    k->apart_flags = k->bytes > tly_stream_bytes() ? TLY_LAUNCH_STREAM
                     : tly_cpu_is_intel()          ? TLY_LAUNCH_PREFETCHW
                                                   : 0;
    k->row_bytes = p->form == TLY_ROWS && p->rows.contiguous ? g->length * out_bytes : 0;
    atomic_init(&k->plain, (uint8_t)(full != NULL && tly_level_runs(request->level)));
}

/* --- kernels ------------------------------------------------------------------------------- */

/* Of the words that tell a descriptor from others. No words: the long way must judge. It is passed
 * by value: in memory, each step would wait for the one before (1.7 ns a hit, Zen 4,
 * bench/call.c). */
typedef struct digest {
    uint64_t hash;
    uint32_t count;
} digest;

typedef struct seen {
    uint64_t words[TLY_SEEN_WORDS];
    digest sum;
} seen;

static inline digest add_words(digest sum, uint64_t *words, const void *from, int32_t count)
{
    /* Odd multipliers in a row (multiples of the golden ratio): independent multiplications, where
     * a chained hash would wait for each. */
    const uint64_t golden = UINT64_C(0x9e3779b97f4a7c15);
    const char *p = from;
    for (int32_t i = 0; i < count; i++, sum.count++) {
        uint64_t word;
        memcpy(&word, p + 8 * i, 8);
        words[sum.count] = word;
        sum.hash += (word + sum.count) * (golden * (2 * sum.count + 1));
    }
    return sum;
}

/* Whether a descriptor of this version, or of the one before, has nothing but what words had before
 * operands and expressions. All others take the long way. */
static int is_plain(const tally_descriptor *d)
{
    return d->size == offsetof(tally_descriptor, operands) ||
           (d->size == sizeof *d && !tly_shows_stages(d));
}

static digest look_at(const tally_context *context, const tally_descriptor *d,
                      const tally_kernel_options *options, uint64_t *words)
{
    const digest none = { .count = 0 };
    if (d == NULL || !is_plain(d) || d->rank < 0 || d->rank > TALLY_MAX_RANK) {
        return none;
    }
    int level = TLY_LEVEL_NONE; /* "cpu", found out only when it is made */
    if (options != NULL) {
        tally_kernel_options known;
        if (tly_kernel_options_take(options, &known, NULL) != TALLY_OK ||
            (known.plan != NULL && known.plan[0] != 0) || known.profile != NULL ||
            tly_device_level(known.device, &level, NULL) != TALLY_OK || level == TLY_LEVEL_NONE) {
            return none;
        }
        level = level == tly_level_host() ? TLY_LEVEL_NONE : level;
    }
    const uint64_t origin[2] = { (uint64_t)(uintptr_t)context, (uint64_t)(int64_t)level };
    digest sum = add_words(none, words, origin, 2);
    sum = add_words(sum, words, &d->op, 5);
    /* Strides and offsets without their flag are refused unless they are zero. */
    const int64_t no_in = d->flags & TALLY_IN_STRIDES ? 0 : -1;
    const int64_t no_out = d->flags & TALLY_OUT_STRIDES ? 0 : -1;
    int64_t unused = (d->in_offset & no_in) | (d->out_offset & no_out);
    for (int32_t i = 0; i < d->rank; i++) {
        sum = add_words(sum, words, &d->sizes[i], 1);
        unused |= (d->in_strides[i] & no_in) | (d->out_strides[i] & no_out);
    }
    if (!no_in) {
        sum = add_words(sum, words, d->in_strides, d->rank);
        sum = add_words(sum, words, &d->in_offset, 1);
    }
    if (!no_out) {
        sum = add_words(sum, words, d->out_strides, d->rank);
        sum = add_words(sum, words, &d->out_offset, 1);
    }
    sum.hash ^= sum.hash >> 32;
    sum.hash *= UINT64_C(0xd6e8feb86659fd93);
    sum.hash ^= sum.hash >> 32;
    return unused == 0 ? sum : none;
}

_Static_assert(offsetof(tally_descriptor, sizes) - offsetof(tally_descriptor, op) == 5 * 8,
               "the five words from op to axes_given");

/* The arguments of tly_vulkan_kernel_make as one. */
typedef struct gpu_making {
    const tly_request *request;
    tally_vulkan_kernel **kernel;
} gpu_making;

static tally_status make_gpu(void *state, tally_error *error)
{
    const gpu_making *m = state;
    return tly_vulkan_kernel_make(m->request->vulkan, m->request, m->kernel, error);
}

/* What the kernel runs, and the creation is told. */
static tally_status make(tally_kernel *k, const tly_request *request, tly_want want,
                         tally_error *error)
{
    gpu_making gpu = { request, &k->gpu };
    const int on_device = request->vulkan != NULL && !request->geometry.empty;
    const uint64_t start = tly_clock();
    tly_origin origin = { .from = TLY_FROM_NOWHERE };
    tally_status status = TALLY_OK;
    if (on_device && want == TLY_WANT_FOUND) {
        return TALLY_OK;
    }
    if (on_device) {
        status = tly_stack_call(make_gpu, &gpu, error); /* which tells, too */
    } else if (request->geometry.empty) {
        k->empty = 1; /* nothing to compute, so nothing to make */
    } else {
        status = tly_native_get(k->context, request, want, &k->object, &origin, error);
    }
    if (status == TALLY_NO_GENERATOR) {
        status = tly_fail_never(k->context, request, error);
    }
    if (!on_device && (k->empty || k->object != NULL || status != TALLY_OK)) {
        tly_log_creation(k->context, request, &origin, start, status, error);
    }
    return status;
}

static tally_status create(tally_context *context, const tally_descriptor *descriptor,
                           const tally_kernel_options *options, const seen *s, tly_want want,
                           tally_kernel **kernel, tally_error *error)
{
    tly_request request;
    tally_status status = tly_request_resolve(context, descriptor, options, TLY_ASKED_RUN, &request,
                                              error);
    if (status != TALLY_OK) {
        return status;
    }
    if (request.level == TLY_LEVEL_NONE && request.vulkan == NULL) {
        tly_fail(error, TALLY_UNSUPPORTED, "device", "a profile describes no device that runs");
        tly_error_hint(error, "tally_inspect takes profiles");
        return TALLY_UNSUPPORTED;
    }
    size_t bytes = sizeof(tally_kernel) + s->sum.count * sizeof s->words[0];
    tally_kernel *k = calloc(1, bytes);
    if (k == NULL) {
        return tly_out_of_memory(error, "a kernel", bytes);
    }
    k->context = context;
    k->level = request.level;
    k->full = request.full;
    k->seen_hash = s->sum.hash;
    k->seen_words = s->sum.count;
    memcpy(k->seen, s->words, s->sum.count * sizeof s->words[0]);
    atomic_init(&k->refs, 1);
    status = make(k, &request, want, error);
    if (status != TALLY_OK || (!k->empty && k->object == NULL && k->gpu == NULL)) {
        free(k);
        return status; /* or what was looked for is not in memory */
    }
    if (!k->empty) {
        tly_prepared_check(&k->prepared, &request.problem, &request.geometry);
    }
    if (k->object != NULL) {
        prepare(k, &request);
    }
    if (k->gpu == NULL) {
        k->word = tly_log_word(context, &request);
        if (k->word != NULL) {
            atomic_init(&k->plain, 0);
        }
    }
    /* What is told is asked for the long way. */
    if (s->sum.count > 0 && k->word == NULL) {
        tly_thread_cache_add(k);
    }
    *kernel = k;
    return TALLY_OK;
}

/* An orphan looks into its own table alone, and finds nothing else. */
static tally_status get(tally_context *context, const tally_descriptor *descriptor,
                        const tally_kernel_options *options, tly_want want, tally_kernel **kernel,
                        tally_error *error)
{
    if (context == NULL || kernel == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage",
                        "the context or the place for the kernel is NULL");
    }
    if (tly_fork_orphan() && want != TLY_WANT_FOUND) {
        return tly_busy(error);
    }
    seen s;
    const digest sum = look_at(context, descriptor, options, s.words);
    tally_kernel *found = sum.count > 0 ? tly_thread_cache_find(s.words, sum.count, sum.hash)
                                        : NULL;
    if (found != NULL) {
        *kernel = found;
        return TALLY_OK;
    }
    if (!tly_fork_enter()) {
        return want == TLY_WANT_FOUND ? TALLY_OK : tly_busy(error);
    }
    s.sum = sum;
    tally_status status = create(context, descriptor, options, &s, want, kernel, error);
    tly_fork_leave();
    return status;
}

tally_status tally_kernel_create(tally_context *context, const tally_descriptor *descriptor,
                                 const tally_kernel_options *options, tally_kernel **kernel,
                                 tally_error *error)
{
    return get(context, descriptor, options, TLY_WANT_CODE, kernel, error);
}

tally_status tally_kernel_find(tally_context *context, const tally_descriptor *descriptor,
                               const tally_kernel_options *options, tally_kernel **kernel,
                               tally_error *error)
{
    tally_kernel *found = NULL;
    tally_status status = get(context, descriptor, options, TLY_WANT_FOUND,
                              kernel != NULL ? &found : NULL, error);
    if (status == TALLY_OK) {
        *kernel = found;
    }
    return status;
}

tally_status tally_kernel_word(const tally_kernel *kernel, char *text, size_t capacity,
                               size_t *length, tally_error *error)
{
    return kernel != NULL ? tly_word_print(&kernel->full, text, capacity, length, error)
                          : tly_fail(error, TALLY_INVALID, "usage", "the kernel is NULL");
}

tally_status tly_kernel_warm(tally_context *context, const tally_descriptor *descriptor,
                             const tally_kernel_options *options, tally_error *error)
{
    const seen none = { .sum = { .count = 0 } };
    tally_kernel *kernel = NULL;
    tally_status status = create(context, descriptor, options, &none, TLY_WANT_FULL, &kernel,
                                 error);
    if (kernel != NULL) {
        tly_kernel_drop(kernel);
    }
    return status;
}

tally_status tly_kernel_create_part(tally_context *context, const tally_descriptor *descriptor,
                                    const tally_kernel_options *options, int64_t parts,
                                    tally_kernel **kernel, tally_error *error)
{
    const seen none = { .sum = { .count = 0 } };
    if (tly_fork_orphan() || !tly_fork_enter()) {
        return tly_busy(error);
    }
    tally_status status = create(context, descriptor, options, &none, TLY_WANT_CODE, kernel, error);
    tly_fork_leave();
    if (status == TALLY_OK && (*kernel)->object != NULL) {
        tally_kernel *k = *kernel;
        const int is_far = tly_multiply(k->bytes, parts) > tly_stream_bytes();
        k->apart_flags = is_far ? TLY_LAUNCH_STREAM : k->apart_flags & ~TLY_LAUNCH_STREAM;
    }
    return status;
}

void tly_kernel_drop(tally_kernel *kernel)
{
    if (atomic_fetch_sub_explicit(&kernel->refs, 1, memory_order_acq_rel) == 1) {
        if (kernel->object != NULL) {
            tly_object_drop(&kernel->object->base);
        }
        if (kernel->gpu != NULL) {
            tly_vulkan_kernel_drop(kernel->gpu);
        }
        free(kernel->word);
        free(kernel);
    }
}

void tally_kernel_destroy(tally_kernel **kernel)
{
    if (kernel != NULL && *kernel != NULL) {
        tally_context *context = (*kernel)->context;
        tly_kernel_drop(*kernel);
        *kernel = NULL;
        if (tly_cache_above(&context->cache) && tly_fork_enter()) {
            tly_cache_trim(&context->cache);
            tly_fork_leave();
        }
    }
}

/* Whether bits depend on the order in which elements are combined. */
static int rounds(const tally_descriptor *full)
{
    const tally_dtype acc = tly_problem_accumulator(full);
    return tly_ops[full->op].computes != TLY_COMPUTES_KEYS &&
           (acc == TALLY_F32 || acc == TALLY_F64);
}

int64_t tally_kernel_chunk(const tally_kernel *kernel)
{
    if (kernel == NULL || kernel->gpu != NULL) {
        return 0;
    }
    if (kernel->empty || kernel->object == NULL || kernel->form != TLY_ROWS ||
        !rounds(&kernel->full)) {
        return 1;
    }
    const tally_descriptor *full = &kernel->full;
    const int64_t axis = full->every > 0 ? full->every : full->sizes[full->axis];
    const int is_interleaved = kernel->args.length > axis; /* a row has elements of several scans */
    const int is_linear = tly_ops[full->op].has_coef || full->reset[0] != 0 ||
                          (full->carry != 0 && is_interleaved);
    if (is_linear && full->order != TALLY_ORDER_SERIAL) {
        return TLY_LINEAR_CUT; /* of such words, those with a carry have no chunks */
    }
    const int64_t chunk = kernel->object->launch.chunk;
    return chunk > 0 ? chunk : 1; /* without chunks, in the order of the plain loop */
}
