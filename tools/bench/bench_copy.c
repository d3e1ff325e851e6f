/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceiling of a scan: how fast the same bytes can be copied. A kernel is held against the best
 * of several copies, because which one is best changes with size, machine and thread count:
 * memcpy wins in the caches, non-temporal stores beyond them, with a prefetch or without.
 */
#include "bench_copy.h"
#include "bench_move.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void copy_plain(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Ahead of the loads; as in the kernels' prototypes, where 2 to 8 KiB measured alike. */
#define PREFETCH_BYTES 2048

/* Four vectors a step, loads before stores; what is no whole step is memcpy's. */
#define DEFINE_COPY(name, features, vector, load, stream, prefetch) \
    __attribute__((target(features))) static void name(char *to, const char *from, size_t bytes) \
    { \
        size_t step = 4 * sizeof(vector), done = 0; \
        for (; bytes - done >= step; done += step) { \
            const vector *source = (const vector *)(const void *)(from + done); \
            vector *target = (vector *)(void *)(to + done); \
            vector a, b, c, d; \
            for (size_t line = 0; prefetch && line < step; line += 64) { \
                _mm_prefetch(from + done + line + PREFETCH_BYTES, _MM_HINT_T0); \
            } \
            a = load(source); \
            b = load(source + 1); \
            c = load(source + 2); \
            d = load(source + 3); \
            stream(target, a); \
            stream(target + 1, b); \
            stream(target + 2, c); \
            stream(target + 3, d); \
        } \
        _mm_sfence(); \
        memcpy(to + done, from + done, bytes - done); \
    }

#define STREAM_512(to, value) _mm512_stream_si512((void *)(to), value)

DEFINE_COPY(copy_128, "sse2", __m128i, _mm_loadu_si128, _mm_stream_si128, 0)
DEFINE_COPY(copy_128_ahead, "sse2", __m128i, _mm_loadu_si128, _mm_stream_si128, 1)
DEFINE_COPY(copy_256, "avx", __m256i, _mm256_loadu_si256, _mm256_stream_si256, 0)
DEFINE_COPY(copy_256_ahead, "avx", __m256i, _mm256_loadu_si256, _mm256_stream_si256, 1)
DEFINE_COPY(copy_512, "avx512f", __m512i, _mm512_loadu_si512, STREAM_512, 0)
DEFINE_COPY(copy_512_ahead, "avx512f", __m512i, _mm512_loadu_si512, STREAM_512, 1)

static int has_sse2_only(void)
{
    return !__builtin_cpu_supports("avx");
}

static int has_avx(void)
{
    return !has_sse2_only();
}
#endif

static const tly_mover copies[] = {
    { "memcpy", copy_plain, NULL, NULL },
#if defined(__x86_64__)
    { "non-temporal 128", copy_128, has_sse2_only, NULL },
    { "non-temporal 128, prefetch", copy_128_ahead, has_sse2_only, NULL },
    { "non-temporal 256", copy_256, has_avx, NULL },
    { "non-temporal 256, prefetch", copy_256_ahead, has_avx, NULL },
    { "non-temporal 512", copy_512, tly_has_avx512, NULL },
    { "non-temporal 512, prefetch", copy_512_ahead, tly_has_avx512, NULL },
#endif
    { NULL, NULL, NULL, NULL },
};

static const tly_mover *const tables[] = {
    [TLY_COPIES] = copies, [TLY_READS] = tly_reads, [TLY_MOVES] = tly_move_loops
};

/* The kind-th that runs here; the last one, which has no name, behind the last kind. */
static const tly_mover *mover_of(tly_moves moves, int kind)
{
    const tly_mover *mover = tables[moves];
    for (; mover->name; mover++) {
        if ((mover->here == NULL || mover->here()) && kind-- == 0) {
            break;
        }
    }
    return mover;
}

int tly_copy_kinds(tly_moves moves)
{
    int kinds = 0;
    while (mover_of(moves, kinds)->name) {
        kinds++;
    }
    return kinds;
}

const char *tly_copy_name(tly_moves moves, int kind)
{
    return mover_of(moves, kind)->name;
}

struct tly_copier {
    int threads;            /* the caller included */
    pthread_t *worker;      /* threads - 1 */
    const tly_mover *mover; /* what the next turn does */
    char *to;
    const char *from;
    size_t bytes;
    atomic_int next; /* number of the next worker to start */
    atomic_uint turn, finished;
    atomic_int awake; /* threads that take turns: the caller, and workers below this number */
    atomic_int stopped;
    unsigned before; /* the turn before the first of those that are awake; under the lock, as is */
    int sleeping;    /* how many workers sleep */
    pthread_mutex_t lock;
    pthread_cond_t woken, slept;
};

/* Slices begin at pages, so that no two threads write one line. */
static void copy_slice(const tly_copier *copier, int number)
{
    int awake = atomic_load_explicit(&copier->awake, memory_order_relaxed);
    if (copier->bytes > 0 && copier->mover->share) {
        copier->mover->share(copier->from, number, awake);
        return;
    }
    size_t slice = (copier->bytes / (size_t)awake + 4095) / 4096 * 4096;
    size_t begin = slice * (size_t)number;
    size_t end = number + 1 == awake ? copier->bytes : begin + slice;
    if (end > copier->bytes) {
        end = copier->bytes;
    }
    if (begin < end) {
        copier->mover->move(copier->to + begin, copier->from + begin, end - begin);
    }
}

/* One spell of waiting. A yield now and then, for when there are more threads than CPUs. */
static void wait_a_moment(unsigned *waited)
{
    if (++*waited % 4096 == 0) {
        sched_yield();
    }
#if defined(__x86_64__)
    _mm_pause();
#endif
}

static int is_awake(const tly_copier *copier, int number)
{
    return number < atomic_load_explicit(&copier->awake, memory_order_relaxed);
}

/* Until the worker is one of those that are awake; the turn that it has seen then. */
static unsigned sleep_until_awake(tly_copier *copier, int number)
{
    pthread_mutex_lock(&copier->lock);
    copier->sleeping++;
    pthread_cond_signal(&copier->slept);
    while (!is_awake(copier, number) && !atomic_load(&copier->stopped)) {
        pthread_cond_wait(&copier->woken, &copier->lock);
    }
    copier->sleeping--;
    unsigned seen = copier->before;
    pthread_mutex_unlock(&copier->lock);
    return seen;
}

static void *work(void *user)
{
    tly_copier *copier = user;
    int number = atomic_fetch_add(&copier->next, 1);
    unsigned seen = 0, waited = 0;
    while (!atomic_load_explicit(&copier->stopped, memory_order_acquire)) {
        if (!is_awake(copier, number)) {
            seen = sleep_until_awake(copier, number);
        } else if (atomic_load_explicit(&copier->turn, memory_order_acquire) != seen) {
            seen++;
            copy_slice(copier, number);
            atomic_fetch_add_explicit(&copier->finished, 1, memory_order_release);
        } else {
            wait_a_moment(&waited);
        }
    }
    return NULL;
}

int tly_copier_threads(const tly_copier *copier)
{
    return copier->threads;
}

/* Threads that take turns on a CPU spin in each other's way. */
static int at_most_cpus(int threads)
{
    cpu_set_t set;
    int cpus = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : threads;
    return threads < cpus ? threads : cpus;
}

tly_copier *tly_copier_start(int threads)
{
    threads = at_most_cpus(threads);
    tly_copier *copier = calloc(1, sizeof *copier);
    pthread_t *workers = calloc((size_t)threads, sizeof *workers);
    if (!copier || !workers) {
        free(copier);
        free(workers);
        return NULL;
    }
    copier->threads = 1;
    copier->worker = workers;
    atomic_init(&copier->next, 1);
    atomic_init(&copier->awake, 1);
    pthread_mutex_init(&copier->lock, NULL);
    pthread_cond_init(&copier->woken, NULL);
    pthread_cond_init(&copier->slept, NULL);
    for (int i = 1; i < threads; i++) {
        if (pthread_create(&workers[i - 1], NULL, work, copier) != 0) {
            tly_copier_stop(copier);
            return NULL;
        }
        copier->threads++;
    }
    return copier;
}

/* Returns when all workers sleep, so that none is late for the turns after the next waking. */
void tly_copier_rest(tly_copier *copier)
{
    pthread_mutex_lock(&copier->lock);
    atomic_store(&copier->awake, 1);
    while (copier->sleeping < copier->threads - 1) {
        pthread_cond_wait(&copier->slept, &copier->lock);
    }
    pthread_mutex_unlock(&copier->lock);
}

void tly_copier_stop(tly_copier *copier)
{
    if (!copier) {
        return;
    }
    pthread_mutex_lock(&copier->lock);
    atomic_store(&copier->stopped, 1);
    pthread_cond_broadcast(&copier->woken);
    pthread_mutex_unlock(&copier->lock);
    for (int i = 1; i < copier->threads; i++) {
        pthread_join(copier->worker[i - 1], NULL);
    }
    pthread_cond_destroy(&copier->slept);
    pthread_cond_destroy(&copier->woken);
    pthread_mutex_destroy(&copier->lock);
    free(copier->worker);
    free(copier);
}

/* One turn of all threads that are awake. */
static void take_turn(tly_copier *copier)
{
    unsigned workers = (unsigned)atomic_load(&copier->awake) - 1, waited = 0;
    atomic_store_explicit(&copier->finished, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&copier->turn, 1, memory_order_release);
    copy_slice(copier, 0);
    while (atomic_load_explicit(&copier->finished, memory_order_acquire) < workers) {
        wait_a_moment(&waited);
    }
}

void tly_copier_wake(tly_copier *copier, int threads)
{
    tly_copier_rest(copier);
    pthread_mutex_lock(&copier->lock);
    copier->before = atomic_load(&copier->turn);
    atomic_store(&copier->awake, threads < copier->threads ? threads : copier->threads);
    pthread_cond_broadcast(&copier->woken);
    pthread_mutex_unlock(&copier->lock);
    copier->bytes = 0; /* a turn without work ends when all are there */
    take_turn(copier);
}

void tly_copier_run(tly_copier *copier, tly_moves moves, int kind, void *to, const void *from,
                    size_t bytes)
{
    copier->mover = mover_of(moves, kind);
    copier->to = to;
    copier->from = from;
    copier->bytes = bytes;
    take_turn(copier);
}
