/* SPDX-License-Identifier: Apache-2.0 */
/* Guarantees: each task once, and none is running when the call returns. */
#include "host.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MOST_THREADS = 4 };

typedef struct work {
    void (*task)(void *state, int64_t index);
    void *state;
    int64_t count;
    int backwards;
    atomic_llong next;
} work;

static void *take(void *argument)
{
    work *w = argument;
    for (int64_t n = atomic_fetch_add(&w->next, 1); n < w->count; n = atomic_fetch_add(&w->next, 1))
        w->task(w->state, w->backwards ? w->count - 1 - n : n);
    return NULL;
}

/* One thread after the other, or 1 to 4 at once beside the caller's; from either end. */
void tly_host_run(void *user, int64_t count, void (*task)(void *state, int64_t index), void *state)
{
    tly_host *host = user;
    const unsigned call = host->calls++;
    work w = { .task = task, .state = state, .count = count, .backwards = call % 2 == 0 };
    pthread_t threads[MOST_THREADS];
    const unsigned wanted = call / 2 % (MOST_THREADS + 1);
    unsigned started = 0;
    atomic_init(&w.next, 0);
    while (started < wanted && !pthread_create(&threads[started], NULL, take, &w))
        started++;
    take(&w);
    for (unsigned k = 0; k < started; k++)
        pthread_join(threads[k], NULL);
}
