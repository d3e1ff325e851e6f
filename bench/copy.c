/*
 * The yardstick: how fast this machine copies the same bytes. A scan reads and writes each element
 * once, so the fastest copy is the ceiling of every case. No single copy is fastest on every
 * machine and size: all are offered, and the harness takes the best of those measured in one run.
 *
 * copy_run splits the bytes over `threads` threads at page borders. It is called from one thread
 * at a time; its workers are made at the first use and live as long as the process.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Copies bytes, a multiple of 64, between buffers aligned to 64. */
typedef void (*copy)(char *to, const char *from, size_t bytes);

static void plain_memcpy(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

#if defined(__x86_64__)

/* Far enough to cover the memory's latency at full speed, and within a page's 4 KiB, beyond which
 * the hardware's own prefetcher restarts anyway. */
enum { DISTANCE = 2048 };

#define PREFETCH(from, bytes) \
    for (size_t line = 0; line < (bytes); line += 64) \
        _mm_prefetch((from) + DISTANCE + line, _MM_HINT_T0)

#define NO_PREFETCH(from, bytes) (void)0

/* One copy: four registers at once, loads before stores. */
#define COPY(name, isa, vector, load, store, ahead, end) \
    __attribute__((target(isa))) \
    static void name(char *to, const char *from, size_t bytes) \
    { \
        const size_t step = 4 * sizeof(vector); \
        size_t i = 0; \
        for (; i + step <= bytes; i += step) { \
            const vector *source = (const vector *)(from + i); \
            vector *target = (vector *)(to + i); \
            ahead(from + i, step); \
            vector a = load(source), b = load(source + 1); \
            vector c = load(source + 2), d = load(source + 3); \
            store(target, a); \
            store(target + 1, b); \
            store(target + 2, c); \
            store(target + 3, d); \
        } \
        memcpy(to + i, from + i, bytes - i); \
        end; \
    }

COPY(plain_sse2, "sse2", __m128i, _mm_load_si128, _mm_store_si128, NO_PREFETCH, (void)0)
COPY(nt_sse2, "sse2", __m128i, _mm_load_si128, _mm_stream_si128, NO_PREFETCH, _mm_sfence())
COPY(nt_sse2_ahead, "sse2", __m128i, _mm_load_si128, _mm_stream_si128, PREFETCH, _mm_sfence())
COPY(plain_avx2, "avx2", __m256i, _mm256_load_si256, _mm256_store_si256, NO_PREFETCH, (void)0)
COPY(nt_avx2, "avx2", __m256i, _mm256_load_si256, _mm256_stream_si256, NO_PREFETCH, _mm_sfence())
COPY(nt_avx2_ahead, "avx2", __m256i, _mm256_load_si256, _mm256_stream_si256, PREFETCH,
     _mm_sfence())
COPY(plain_avx512, "avx512f", __m512i, _mm512_load_si512, _mm512_store_si512, NO_PREFETCH, (void)0)
COPY(nt_avx512, "avx512f", __m512i, _mm512_load_si512, _mm512_stream_si512, NO_PREFETCH,
     _mm_sfence())
COPY(nt_avx512_ahead, "avx512f", __m512i, _mm512_load_si512, _mm512_stream_si512, PREFETCH,
     _mm_sfence())

static int always(void) { return 1; }
static int has_avx2(void) { return __builtin_cpu_supports("avx2"); }
static int has_avx512(void) { return __builtin_cpu_supports("avx512f"); }

static int only_without_avx2(void) { return !has_avx2(); }

#else

static int always(void) { return 1; }

#endif

static const struct {
    const char *name;
    copy run;
    int (*supported)(void);
} copies[] = {
    { "memcpy", plain_memcpy, always },
#if defined(__x86_64__)
    { "sse2", plain_sse2, only_without_avx2 },
    { "sse2 nt", nt_sse2, only_without_avx2 },
    { "sse2 nt prefetch", nt_sse2_ahead, only_without_avx2 },
    { "avx2", plain_avx2, has_avx2 },
    { "avx2 nt", nt_avx2, has_avx2 },
    { "avx2 nt prefetch", nt_avx2_ahead, has_avx2 },
    { "avx512", plain_avx512, has_avx512 },
    { "avx512 nt", nt_avx512, has_avx512 },
    { "avx512 nt prefetch", nt_avx512_ahead, has_avx512 },
#endif
};

enum { COPIES = sizeof(copies) / sizeof(copies[0]), MAX_THREADS = 64, PAGE = 4096 };

/* The job of the moment; a worker sees a new one by its number. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t begin, done;
    int64_t number;
    int running, workers, threads;
    copy run;
    char *to;
    const char *from;
    size_t bytes;
} job = { .lock = PTHREAD_MUTEX_INITIALIZER, .begin = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER };

static void share(int index)
{
    size_t piece = (job.bytes / (size_t)job.threads + PAGE - 1) / PAGE * PAGE;
    size_t start = piece * (size_t)index;
    if (start < job.bytes)
        job.run(job.to + start, job.from + start,
                piece < job.bytes - start ? piece : job.bytes - start);
}

static void *worker(void *argument)
{
    int index = (int)(intptr_t)argument;
    int64_t seen = 0;
    pthread_mutex_lock(&job.lock);
    for (;;) {
        while (job.number == seen)
            pthread_cond_wait(&job.begin, &job.lock);
        seen = job.number;
        if (index >= job.threads)
            continue;
        pthread_mutex_unlock(&job.lock);
        share(index);
        pthread_mutex_lock(&job.lock);
        if (--job.running == 0)
            pthread_cond_signal(&job.done);
    }
    return NULL;
}

/* Number of copies; copy_name is NULL for one that this machine cannot run. */
int copy_count(void)
{
    return COPIES;
}

const char *copy_name(int index)
{
    return copies[index].supported() ? copies[index].name : NULL;
}

/* Returns 0; -1 for too many threads, or if a thread could not be made. */
int copy_run(int index, char *to, const char *from, size_t bytes, int threads)
{
    if (threads < 1 || threads > MAX_THREADS)
        return -1;
    if (threads == 1) {
        copies[index].run(to, from, bytes);
        return 0;
    }
    pthread_mutex_lock(&job.lock);
    while (job.workers < threads - 1) {
        pthread_t thread;
        /* Worker w serves share w + 1; it may miss jobs from before it was made, so it is made
         * before the job is numbered. */
        if (pthread_create(&thread, NULL, worker, (void *)(intptr_t)(job.workers + 1)) != 0) {
            pthread_mutex_unlock(&job.lock);
            return -1;
        }
        pthread_detach(thread);
        job.workers++;
    }
    job.run = copies[index].run;
    job.to = to;
    job.from = from;
    job.bytes = bytes;
    job.threads = threads;
    job.running = threads - 1;
    job.number++;
    pthread_cond_broadcast(&job.begin);
    pthread_mutex_unlock(&job.lock);

    share(0);

    pthread_mutex_lock(&job.lock);
    while (job.running > 0)
        pthread_cond_wait(&job.done, &job.lock);
    pthread_mutex_unlock(&job.lock);
    return 0;
}
