/* SPDX-License-Identifier: Apache-2.0 */
/* Worker threads; see pool.h. */
#include "pool.h"

#include "../cpu/cpu.h"
#include "../host/thread.h"

#include <fenv.h>
#include <stdlib.h>

/* Pauses before a sleep: some 30 us, the order of what waking a thread costs. */
#define SPINS 1000

struct tly_pool_job {
    void (*task)(void *state, int64_t index);
    void *state;
    int64_t count;
    _Atomic int64_t next; /* next index to hand out; count and above: none left */
    atomic_int active;    /* workers inside; written under the pool's lock */
    tly_pool_job *behind; /* in the pool's list, first come first served */
};

static void drain(tly_pool_job *job)
{
    for (;;) {
        int64_t index = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (index >= job->count) {
            return;
        }
        job->task(job->state, index);
    }
}

static tly_pool_job *find_open(tly_pool *pool)
{
    for (tly_pool_job *job = pool->jobs; job != NULL; job = job->behind) {
        if (atomic_load_explicit(&job->next, memory_order_relaxed) < job->count) {
            return job;
        }
    }
    return NULL;
}

static void spin_for_posting(tly_pool *pool, unsigned seen)
{
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load_explicit(&pool->posted, memory_order_relaxed) != seen) {
            return;
        }
        tly_relax();
    }
}

static void serve(tly_pool *pool, tly_pool_job *job)
{
    atomic_fetch_add_explicit(&job->active, 1, memory_order_relaxed);
    pthread_mutex_unlock(&pool->lock);
    drain(job);
    pthread_mutex_lock(&pool->lock);
    /* Release: a caller that only peeks at `active` locks before it goes on, but once this is 0
     * and the lock is free the job, on that caller's stack, is gone. */
    if (atomic_fetch_sub_explicit(&job->active, 1, memory_order_release) == 1) {
        pthread_cond_broadcast(&pool->done);
    }
}

static void *worker(void *argument)
{
    tly_pool *pool = argument;
    fesetenv(FE_DFL_ENV); /* threads inherit their creator's */
    pthread_setname_np(pthread_self(), "tally");
    pthread_mutex_lock(&pool->lock);
    int rested = 0; /* has spun in vain since its last job */
    while (!pool->stop) {
        tly_pool_job *job = find_open(pool);
        if (job != NULL) {
            serve(pool, job);
            rested = 0;
        } else if (!rested) {
            unsigned seen = atomic_load_explicit(&pool->posted, memory_order_relaxed);
            pthread_mutex_unlock(&pool->lock);
            spin_for_posting(pool, seen);
            pthread_mutex_lock(&pool->lock);
            rested = 1;
        } else {
            pool->sleeping++;
            pthread_cond_wait(&pool->work, &pool->lock);
            pool->sleeping--;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* As many of `wanted` workers as the system gives; the lock is held. */
static void grow(tly_pool *pool, int64_t wanted)
{
    wanted = wanted < TLY_MAX_THREADS ? wanted : TLY_MAX_THREADS;
    if (wanted <= pool->started) {
        return;
    }
    if (wanted > pool->capacity) {
        pthread_t *threads = realloc(pool->threads, (size_t)wanted * sizeof *threads);
        if (threads == NULL) {
            return;
        }
        pool->threads = threads;
        pool->capacity = (int32_t)wanted;
    }
    while (pool->started < wanted &&
           tly_thread_start(&pool->threads[pool->started], 0, worker, pool) == 0) {
        pool->started++;
    }
}

/* Makes the job known; how many sleepers it could use. The lock is held. */
static int64_t post(tly_pool *pool, tly_pool_job *job)
{
    tly_pool_job **end = &pool->jobs;
    while (*end != NULL) {
        end = &(*end)->behind;
    }
    *end = job;
    atomic_fetch_add_explicit(&pool->posted, 1, memory_order_relaxed);
    return job->count - 1 < pool->sleeping ? job->count - 1 : pool->sleeping;
}

/* No worker finds the job any more; waits for those inside. The lock is held. */
static void retire(tly_pool *pool, tly_pool_job *job)
{
    tly_pool_job **link = &pool->jobs;
    while (*link != job) {
        link = &(*link)->behind;
    }
    *link = job->behind;
    if (atomic_load_explicit(&job->active, memory_order_acquire) > 0) {
        pthread_mutex_unlock(&pool->lock);
        for (int i = 0; i < SPINS; i++) {
            if (atomic_load_explicit(&job->active, memory_order_acquire) == 0) {
                break;
            }
            tly_relax();
        }
        pthread_mutex_lock(&pool->lock);
    }
    while (atomic_load_explicit(&job->active, memory_order_acquire) > 0) {
        pthread_cond_wait(&pool->done, &pool->lock);
    }
}

void tly_pool_run(tly_pool *pool, int64_t count, void (*task)(void *state, int64_t index),
                  void *state)
{
    tly_pool_job job = { .task = task, .state = state, .count = count };
    pthread_mutex_lock(&pool->lock);
    grow(pool, count - 1);
    int64_t wake = post(pool, &job);
    pthread_mutex_unlock(&pool->lock);
    for (int64_t i = 0; i < wake; i++) {
        pthread_cond_signal(&pool->work); /* the lock is free, so that who wakes need not wait */
    }
    drain(&job);
    pthread_mutex_lock(&pool->lock);
    retire(pool, &job);
    pthread_mutex_unlock(&pool->lock);
}

/* A pool without threads, whatever the memory held before. */
static void blank(tly_pool *pool)
{
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    pool->jobs = NULL;
    pool->started = 0;
    pool->sleeping = 0;
    pool->stop = 0;
}

static void in_child(void *self)
{
    blank(self); /* the workers are the parent's; here they are gone, locks and all */
}

void tly_pool_init(tly_pool *pool)
{
    blank(pool);
    pool->threads = NULL;
    pool->capacity = 0;
    atomic_init(&pool->posted, 0);
    pool->hook = (tly_fork_hook){ .child = in_child, .self = pool };
    tly_fork_watch(&pool->hook);
}

void tly_pool_end(tly_pool *pool)
{
    tly_fork_unwatch(&pool->hook);
    pthread_mutex_lock(&pool->lock);
    pool->stop = 1;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int32_t i = 0; i < pool->started; i++) {
        pthread_join(pool->threads[i], NULL);
    }
    free(pool->threads);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
}
