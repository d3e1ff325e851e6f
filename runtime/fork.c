/* Surviving fork(); see fork.h. */
#include "fork.h"

#include <pthread.h>
#include <stddef.h>

atomic_int tly_orphaned;

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static long in_flight; /* guarded by gate, as are the hooks and what follows */
static int installed;
static tly_fork_hook *hooks;

static void prepare(void)
{
    pthread_mutex_lock(&gate);
}

static void parent(void)
{
    pthread_mutex_unlock(&gate);
}

static void child(void)
{
    if (in_flight > 0) {
        atomic_store_explicit(&tly_orphaned, 1, memory_order_relaxed);
    } else {
        for (tly_fork_hook *hook = hooks; hook != NULL; hook = hook->next) {
            hook->child(hook->self);
        }
    }
    pthread_mutex_unlock(&gate);
}

int tly_fork_enter(void)
{
    if (tly_fork_orphan()) {
        return 0;
    }
    pthread_mutex_lock(&gate);
    /* Fails only for want of memory; a child of now then has what fork() alone gives. */
    installed = installed || pthread_atfork(prepare, parent, child) == 0;
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
