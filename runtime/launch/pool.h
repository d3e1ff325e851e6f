/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A context's own worker threads. They start when first needed, sleep when idle, and serve any
 * number of runs at once: a run takes what workers are free, and its caller always takes part, so
 * that it ends even if no worker comes. Workers have the default floating-point environment and no
 * signals.
 */
#ifndef TLY_POOL_H
#define TLY_POOL_H

#include "../host/fork.h"

#include <pthread.h>
#include <stdint.h>

/* More threads than this are never started. */
#define TLY_MAX_THREADS 1024

typedef struct tly_pool_job tly_pool_job;

typedef struct tly_pool {
    pthread_mutex_t lock;
    pthread_cond_t work; /* a job was posted, or stop */
    pthread_cond_t done; /* some job's last worker has left it */
    tly_pool_job *jobs;  /* guarded by lock, as all below but posted */
    pthread_t *threads;
    int32_t started, capacity;
    int32_t sleeping;
    int stop;
    atomic_uint posted; /* counts postings, for workers that spin before they sleep */
    tly_fork_hook hook;
} tly_pool;

void tly_pool_init(tly_pool *pool);

/* Ends the workers; no run may be in flight. */
void tly_pool_end(tly_pool *pool);

/* Calls task(state, i) once for each i in [0, count), by the calling thread and up to count - 1
 * workers. Needs no memory that it could not do without. Thread-safe and re-entrant. */
void tly_pool_run(tly_pool *pool, int64_t count, void (*task)(void *state, int64_t index),
                  void *state);

#endif
