/* SPDX-License-Identifier: Apache-2.0 */
/* Surviving fork(); see fork.h. */
#include "fork.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

/* Seconds that a fork waits for work: ten times what the slowest kernels took to make, but not for
 * ever, as who forks may hold a lock that the work wants. */
#define PATIENCE 2

atomic_int tly_orphaned;

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static long in_flight; /* guarded by gate, as are the hooks and what follows */
static long working;   /* of which a fork waits for the end */
static int forking;
static pthread_cond_t rest = PTHREAD_COND_INITIALIZER; /* no work goes on, or no fork */
static int installed;
static tly_fork_hook *hooks;

static void prepare(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE;
    pthread_mutex_lock(&gate);
    forking++;
    while (working > 0 && pthread_cond_timedwait(&rest, &gate, &end) == 0) {
    }
}

static void parent(void)
{
    forking--;
    pthread_cond_broadcast(&rest);
    pthread_mutex_unlock(&gate);
}

static void child(void)
{
    forking = 0;
    pthread_cond_init(&rest, NULL); /* who waited there is gone */
    if (in_flight + working > 0) {
        atomic_store_explicit(&tly_orphaned, 1, memory_order_relaxed);
    } else {
        for (tly_fork_hook *hook = hooks; hook != NULL; hook = hook->next) {
            hook->child(hook->self);
        }
    }
    pthread_mutex_unlock(&gate);
}

/* Fails only for want of memory; a child of now then has what fork() alone gives. */
static void install(void)
{
    installed = installed || pthread_atfork(prepare, parent, child) == 0;
}

int tly_fork_enter(void)
{
    if (tly_fork_orphan()) {
        return 0;
    }
    pthread_mutex_lock(&gate);
    install();
    in_flight++;
    pthread_mutex_unlock(&gate);
    return 1;
}

void tly_fork_leave(void)
{
    /* A thread that forked within its own call leaves a gate it never entered in the child. */
    if (tly_fork_orphan()) {
        return;
    }
    pthread_mutex_lock(&gate);
    in_flight--;
    pthread_mutex_unlock(&gate);
}

void tly_fork_work_begin(void)
{
    pthread_mutex_lock(&gate);
    install();
    while (forking > 0) {
        pthread_cond_wait(&rest, &gate);
    }
    working++;
    pthread_mutex_unlock(&gate);
}

void tly_fork_work_end(void)
{
    pthread_mutex_lock(&gate);
    working--;
    pthread_cond_broadcast(&rest);
    pthread_mutex_unlock(&gate);
}

void tly_fork_watch(tly_fork_hook *hook)
{
    pthread_mutex_lock(&gate);
    hook->next = hooks;
    hook->link = &hooks;
    if (hooks != NULL) {
        hooks->link = &hook->next;
    }
    hooks = hook;
    pthread_mutex_unlock(&gate);
}

void tly_fork_unwatch(tly_fork_hook *hook)
{
    pthread_mutex_lock(&gate);
    *hook->link = hook->next;
    if (hook->next != NULL) {
        hook->next->link = hook->link;
    }
    pthread_mutex_unlock(&gate);
}
