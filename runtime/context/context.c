/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts: what a program holds while it uses Tally. Making one opens nothing and starts no
 * thread. Here also are size-first structs, since every public call that takes options begins with
 * one.
 */
#include "internal.h"

#include "../cpu/cpu.h"
#include "../host/checked.h"
#include "../host/env.h"
#include "../host/error.h"
#include "backend.h"
#include "thread_cache.h"

#include <stdlib.h>
#include <string.h>

#define CACHE_KERNELS 4096
#define CACHE_PLANS 4096

/* A larger struct comes from no version: more likely its size was never set. */
#define MOST_STRUCT_BYTES 4096

tally_status tly_struct_take(void *to, size_t known, const void *from, const char *what,
                             tally_error *error)
{
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size < sizeof size || size > MOST_STRUCT_BYTES) {
        tly_fail(error, TALLY_INVALID, "usage", "size of %s is %zu", what, size);
        tly_error_hint(error, "set size to the sizeof of the struct");
        return TALLY_INVALID;
    }
    for (size_t i = known; i < size; i++) {
        if (((const unsigned char *)from)[i] != 0) {
            return tly_fail(error, TALLY_INVALID, "usage",
                            "%s has a field at byte %zu that this version does not know", what, i);
        }
    }
    memset(to, 0, known);
    memcpy(to, from, size < known ? size : known);
    return TALLY_OK;
}

tally_status tly_busy(tally_error *error)
{
    return tly_fail(error, TALLY_BUSY, "usage",
                    "this process was forked while its parent had a call in flight");
}

static void touch(tally_context *context, tally_kernel *kernel)
{
    if (kernel->object != NULL) {
        tly_cache_touch(&context->cache, &kernel->object->base);
    }
}

static void release(void *context)
{
    tly_thread_cache_forget(context, touch);
}

/* Bytes read and written, see below. */
enum { LEAST_SPLIT = 2 << 20, INTEL_SPLIT = 4 << 20, INTEL_CHAIN = 8 << 20 };

static void find_limits(tly_context_limits *limits, int host)
{
    int64_t cache = tly_stream_bytes(); /* half of the last one */
    /* A host's threads may use other CPUs than the one that asks, which it may have bound. */
    limits->host_cpus = tly_cpu_count();
    limits->cpus = host ? limits->host_cpus : 0;
    /* What lies in one core's cache is dear to share. One and two threads, us, Zen 4 with 32 MiB of
     * L3, f32: rows of 128, 1 MiB read and written 29, 39; 4 MiB 129, 118; 8 MiB 260, 165. Rows of
     * 4096, 2 MiB 52, 81; 8 MiB 208, 163. Axis 0 of 16384 lanes, 2 MiB 33, 54; 8 MiB 145, 100;
     * 16 MiB 633, 458; middle axis, 8 MiB 135, 165; 16 MiB 717, 418. Zen 5 breaks even at 8 and
     * 16 MiB. Intel's server cores share more readily: Emerald Rapids, rows of 4096, 1 MiB 54, 31;
     * 2 MiB 69 to 80, 41 to 54; 4 MiB 190, 86; axis 0 of 4096 lanes, 2 MiB 53 to 63, 22; 4 MiB 187,
     * 78; 8 MiB 364, 205. */
    int readily = tly_cpu_is_intel();
    limits->split_rows = readily ? INTEL_SPLIT : tly_larger(cache / 2, LEAST_SPLIT);
    limits->split_lanes = readily ? INTEL_SPLIT : tly_larger(cache, LEAST_SPLIT);
    limits->split_reads = readily ? INTEL_SPLIT : LEAST_SPLIT;
    limits->chain = tly_larger(cache / 2, INTEL_CHAIN);
    limits->crowd = 2 * cache; /* all of the last one */
    /* Narrower, both cores prefetch into the other's half of a page: Zen 4, axis 0 of 1024 lanes of
     * f32, 32 MiB, one and two threads 903, 1194 us; of 8192 lanes of f16 2857, 1646. */
    limits->share = 8192;
    limits->scratch_bytes = TLY_MOST_SCRATCH;
}

static tally_status init_caches(tally_context *context, size_t bound, tally_compile_mode compile,
                                tally_error *error)
{
    tally_status status = tly_cache_init(&context->cache, bound, error);
    if (status != TALLY_OK) {
        return status;
    }
    status = tly_cache_init(&context->plans, CACHE_PLANS, error);
    if (status != TALLY_OK) {
        tly_cache_end(&context->cache);
        return status;
    }
    context->cache.rules.store = context->plans.rules.store = &context->store;
    context->cache.rules.compile = compile; /* plans are made in any case */
    return TALLY_OK;
}

/* What every kernel of the context will have for a reason. */
static void tell(const tally_context *c)
{
    const tly_log *log = &c->store.log;
    const int level = tly_level_host();
    char brand[64];
    if (tly_env_threads(TLY_MAX_THREADS) < 0) {
        tly_log_say(log, TALLY_LOG_WARNING,
                    "TALLY_THREADS is not used: it is no number from 0 to %d", TLY_MAX_THREADS);
    }
    if (!tly_log_tells(log, TALLY_LOG_REASON)) {
        return;
    }
    tly_cpu_brand(brand, sizeof brand);
    tly_log_say(
        log, TALLY_LOG_REASON,
        "cpu is %s: the highest level that %s and the system run; threads: %d; disk cache: %s",
        level != TLY_LEVEL_NONE ? tly_level_name(level) : "none", brand,
        (int)tally_context_threads(c),
        c->store.folder != NULL ? c->store.folder
        : c->store.load != NULL ? "the program's"
                                : "none");
}

/* What a context has that names no number of threads. */
static int32_t default_threads(void)
{
    const int wanted = tly_env_threads(TLY_MAX_THREADS);
    return wanted > 0 ? wanted : tly_cpu_count();
}

static tally_status fill(tally_context *context, const tally_context_options *options,
                         tally_error *error)
{
    context->usual = options->threads > 0 ? options->threads : default_threads();
    atomic_init(&context->threads, context->usual);
    context->most = options->threads > 0 ? options->threads : TLY_MAX_THREADS;
    context->parallel = options->parallel;
    context->parallel_user = options->parallel_user;
    context->isolate = options->isolate;
    find_limits(&context->limits, options->parallel != NULL);
    if (options->generator != NULL) {
        context->generator_path = strdup(options->generator);
        if (context->generator_path == NULL) {
            return tly_out_of_memory(error, "a path", strlen(options->generator) + 1);
        }
    }
    tally_status status = tly_store_init(&context->store, options, error);
    if (status == TALLY_OK) {
        size_t bound = options->cache_kernels > 0 ? options->cache_kernels : CACHE_KERNELS;
        status = init_caches(context, bound, (tally_compile_mode)options->compile, error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    context->cache.release = release;
    context->cache.release_user = context;
    pthread_mutex_init(&context->generator_lock, NULL);
    pthread_mutex_init(&context->vulkan_lock, NULL);
    tly_pool_init(&context->pool);
    if (options->compile == TALLY_COMPILE_BACKGROUND) {
        tly_background_init(&context->background, &context->cache);
    }
    tell(context);
    return TALLY_OK;
}

static tally_status create(const tally_context_options *options, tally_context **context,
                           tally_error *error)
{
    tally_context *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return tly_out_of_memory(error, "a context", sizeof *made);
    }
    tally_status status = fill(made, options, error);
    if (status != TALLY_OK) {
        tly_store_end(&made->store);
        free(made->generator_path);
        free(made);
        return status;
    }
    *context = made;
    return TALLY_OK;
}

tally_status tally_context_create(const tally_context_options *options, tally_context **context,
                                  tally_error *error)
{
    tally_context_options known = { .size = sizeof known };
    tally_status status = TALLY_OK;
    if (options != NULL) {
        status = tly_struct_take(&known, sizeof known, options, "tally_context_options", error);
    }
    if (status != TALLY_OK) {
        return status;
    }
    if (context == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "there is no place for the context");
    }
    if (known.threads < 0 || known.threads > TLY_MAX_THREADS) {
        return tly_fail(error, TALLY_INVALID, "usage", "threads is %d, not 0 to %d", known.threads,
                        TLY_MAX_THREADS);
    }
    if (known.compile > TALLY_COMPILE_NEVER) {
        return tly_fail(error, TALLY_INVALID, "usage", "compile is %u, and there is no such way",
                        known.compile);
    }
    if (known.log_reserved != 0) {
        return tly_fail(error, TALLY_INVALID, "usage", "log_reserved is %u, not 0",
                        known.log_reserved);
    }
    if (!tly_fork_enter()) {
        return tly_busy(error);
    }
    status = create(&known, context, error);
    tly_fork_leave();
    return status;
}

void tally_context_destroy(tally_context **context)
{
    if (context == NULL || *context == NULL) {
        return;
    }
    tally_context *c = *context;
    *context = NULL;
    if (c == tly_context_shared_now()) {
        return;
    }
    /* An orphan cannot end what vanished threads held. */
    if (!tly_fork_enter()) {
        return;
    }
    if (c->cache.rules.quick) {
        tly_background_end(&c->background);
    }
    tly_thread_cache_forget(c, NULL);
    tly_vulkan_forget(c);
    tly_pool_end(&c->pool);
    tly_scratch_end(&c->spare);
    tly_cache_end(&c->cache);
    tly_cache_end(&c->plans);
    tly_store_end(&c->store);
    pthread_mutex_destroy(&c->generator_lock);
    pthread_mutex_destroy(&c->vulkan_lock);
    free(c->generator_path);
    free(c);
    tly_fork_leave();
}

tally_status tally_context_set_threads(tally_context *context, int32_t threads, tally_error *error)
{
    if (context == NULL || threads < 0 || threads > context->most) {
        return context == NULL
                   ? tly_fail(error, TALLY_INVALID, "usage", "the context is NULL")
                   : tly_fail(error, TALLY_INVALID, "usage", "threads is %d, not 0 to %d",
                              (int)threads, (int)context->most);
    }
    atomic_store_explicit(&context->threads, threads > 0 ? threads : context->usual,
                          memory_order_relaxed);
    return TALLY_OK;
}

int32_t tally_context_threads(const tally_context *context)
{
    return context != NULL ? atomic_load_explicit(&context->threads, memory_order_relaxed) : 0;
}

void tally_context_stats(const tally_context *context, tally_stats *stats)
{
    if (stats == NULL) {
        return;
    }
    tally_stats all = { .size = stats->size };
    /* The counters' lock is no part of what the caller sees as the context. */
    tally_context *c = (tally_context *)(uintptr_t)context;
    if (c != NULL && tly_fork_enter()) {
        all.hits = tly_thread_cache_hits(c);
        pthread_mutex_lock(&c->cache.lock);
        all.compiled = c->cache.compiled;
        all.hits += c->cache.hits;
        all.cached = c->cache.cached;
        all.evicted = c->cache.evicted;
        all.loaded = c->cache.loaded;
        all.quick = c->cache.quick;
        pthread_mutex_unlock(&c->cache.lock);
        tly_fork_leave();
    }
    memcpy(stats, &all, stats->size < sizeof all ? stats->size : sizeof all);
}

void tly_context_set_generator(tally_context *context, const tly_generator *generator)
{
    pthread_mutex_lock(&context->generator_lock);
    context->generator = generator;
    pthread_mutex_unlock(&context->generator_lock);
}
