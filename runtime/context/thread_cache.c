/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of threads; see thread_cache.h. Each table has a lock of its own, which another thread
 * takes only to forget a context. Order of locks: a cache's, the registry's, a table's.
 */
#include "thread_cache.h"

#include "../cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

/* Two ways for each set, since two hot descriptors of one set would otherwise evict each other. */
#define SETS 32u
#define WAYS 2u

typedef struct local {
    atomic_flag lock; /* guards `seen` and hits in its kernels */
    tally_kernel *seen[SETS][WAYS];
    struct local *next, **link; /* guarded by registry */
} local;

/* initial-exec: one instruction instead of a call, at the price of 8 bytes of static TLS. */
static _Thread_local local *mine __attribute__((tls_model("initial-exec")));

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static local *locals;
static pthread_key_t key; /* as is key_made, guarded by registry, and then for good */
static int key_made;

static void lock(local *l)
{
    while (atomic_flag_test_and_set_explicit(&l->lock, memory_order_acquire)) {
        tly_relax();
    }
}

static void unlock(local *l)
{
    atomic_flag_clear_explicit(&l->lock, memory_order_release);
}

/* The table gives up its reference; its lock is held. */
static void forget(tally_kernel **slot)
{
    tally_kernel *kernel = *slot;
    *slot = NULL;
    atomic_fetch_add_explicit(&kernel->context->seen_hits, kernel->hits, memory_order_relaxed);
    kernel->hits = 0;
    tly_kernel_drop(kernel);
}

static void on_exit_of_thread(void *value)
{
    local *l = value;
    mine = NULL;
    /* An orphan leaves the rest be: the registry's lock may be held for ever. */
    if (!tly_fork_enter()) {
        return;
    }
    pthread_mutex_lock(&registry);
    *l->link = l->next;
    if (l->next != NULL) {
        l->next->link = l->link;
    }
    for (unsigned i = 0; i < SETS * WAYS; i++) {
        tally_kernel **slot = &l->seen[i / WAYS][i % WAYS];
        if (*slot != NULL) {
            forget(slot);
        }
    }
    pthread_mutex_unlock(&registry);
    tly_fork_leave();
    free(l);
}

/* With no call in flight, only a look-up that vanished with its thread holds a table's lock. */
static void in_child(void *self)
{
    (void)self;
    for (local *l = locals; l != NULL; l = l->next) {
        unlock(l);
    }
}

/* Whether there is a key; while a process has as many as it may, the next call tries again. */
static int need_key(void)
{
    static tly_fork_hook hook = { .child = in_child };
    pthread_mutex_lock(&registry);
    int first = !key_made && pthread_key_create(&key, on_exit_of_thread) == 0;
    key_made = key_made || first;
    int there = key_made;
    pthread_mutex_unlock(&registry);
    if (first) {
        tly_fork_watch(&hook);
    }
    return there;
}

static void enlist(local *l)
{
    pthread_mutex_lock(&registry);
    l->next = locals;
    l->link = &locals;
    if (locals != NULL) {
        locals->link = &l->next;
    }
    locals = l;
    pthread_mutex_unlock(&registry);
}

/* This thread's state, made at need, within the fork gate; NULL without memory. */
static local *own(void)
{
    if (mine != NULL) {
        return mine;
    }
    local *l = calloc(1, sizeof *l);
    if (l == NULL) {
        return NULL;
    }
    atomic_flag_clear(&l->lock);
    if (!need_key() || pthread_setspecific(key, l) != 0) {
        free(l);
        return NULL;
    }
    enlist(l);
    mine = l;
    return l;
}

tally_kernel *tly_thread_cache_find(const uint64_t *words, uint32_t count, uint64_t hash)
{
    local *l = mine;
    if (l == NULL) {
        return NULL;
    }
    tally_kernel *found = NULL;
    lock(l);
    tally_kernel **set = l->seen[hash % SETS];
    for (unsigned way = 0; way < WAYS; way++) {
        tally_kernel *kernel = set[way];
        if (kernel != NULL && kernel->seen_hash == hash && kernel->seen_words == count &&
            memcmp(kernel->seen, words, count * sizeof *words) == 0) {
            atomic_fetch_add_explicit(&kernel->refs, 1, memory_order_relaxed);
            kernel->hits++;
            found = kernel;
            break;
        }
    }
    unlock(l);
    return found;
}

void tly_thread_cache_add(tally_kernel *kernel)
{
    local *l = own();
    if (l == NULL) {
        return; /* only speed is lost */
    }
    atomic_fetch_add_explicit(&kernel->refs, 1, memory_order_relaxed);
    lock(l);
    tally_kernel **set = l->seen[kernel->seen_hash % SETS];
    unsigned way = 0; /* what a context left empty goes before the oldest */
    while (way < WAYS - 1 && set[way] != NULL) {
        way++;
    }
    if (set[way] != NULL) {
        forget(&set[way]);
    }
    memmove(set + 1, set, way * sizeof *set);
    set[0] = kernel;
    unlock(l);
}

void tly_thread_cache_forget(tally_context *context, void (*used)(tally_context *, tally_kernel *))
{
    pthread_mutex_lock(&registry);
    for (local *l = locals; l != NULL; l = l->next) {
        lock(l);
        for (unsigned i = 0; i < SETS * WAYS; i++) {
            tally_kernel **slot = &l->seen[i / WAYS][i % WAYS];
            if (*slot == NULL || (*slot)->context != context) {
                continue;
            }
            if (used != NULL && (*slot)->hits > 0) {
                used(context, *slot);
            }
            forget(slot);
        }
        unlock(l);
    }
    pthread_mutex_unlock(&registry);
}

uint64_t tly_thread_cache_hits(tally_context *context)
{
    uint64_t hits = 0;
    pthread_mutex_lock(&registry);
    for (local *l = locals; l != NULL; l = l->next) {
        lock(l);
        for (unsigned i = 0; i < SETS * WAYS; i++) {
            const tally_kernel *kernel = l->seen[i / WAYS][i % WAYS];
            if (kernel != NULL && kernel->context == context) {
                hits += kernel->hits;
            }
        }
        unlock(l);
    }
    pthread_mutex_unlock(&registry);
    return hits + atomic_load_explicit(&context->seen_hits, memory_order_relaxed);
}
