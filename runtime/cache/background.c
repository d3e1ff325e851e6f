/* SPDX-License-Identifier: Apache-2.0 */
/* Makes full code in the background; see background.h. */
#include "background.h"

#include "../host/thread.h"

#include <fenv.h>

static void tell(const tly_background *b, const tly_object *object, tally_status status,
                 const tally_error *why)
{
    tly_store_name name = { { 0 }, { 0 } };
    object->key.backend->name(object, &name);
    if (status == TALLY_OK) {
        tly_log_say(&b->cache->rules.store->log, TALLY_LOG_REASON, "%s for %s goes on in full",
                    name.word, name.device);
    } else {
        tly_log_say(&b->cache->rules.store->log, TALLY_LOG_WARNING,
                    "%s for %s goes on with quick code: %s", name.word, name.device, why->message);
    }
}

/* One object, unless another thread was faster. No fork comes in between. */
static void make_next(tly_background *b)
{
    tally_error error = TALLY_ERROR_INIT;
    tally_status status = TALLY_OK;
    tly_origin origin = { .from = TLY_FROM_NOWHERE };
    tly_fork_work_begin();
    pthread_mutex_lock(&b->cache->lock);
    tly_object *object = b->stop ? NULL : tly_cache_next(b->cache);
    if (object != NULL) {
        status = tly_cache_finish(b->cache, object, &origin, &error);
    }
    pthread_mutex_unlock(&b->cache->lock);
    if (object != NULL) {
        tell(b, object, status, &error);
        tly_object_drop(object);
    }
    tly_fork_work_end();
}

static void *work(void *argument)
{
    tly_background *b = argument;
    fesetenv(FE_DFL_ENV); /* threads inherit their creator's */
    pthread_setname_np(pthread_self(), "tally-make");
    for (int stop = 0; !stop;) {
        /* A fork may come here: nothing but the lock is held, which a child begins anew. */
        pthread_mutex_lock(&b->cache->lock);
        while (!b->stop && b->cache->first == NULL) {
            pthread_cond_wait(&b->work, &b->cache->lock);
        }
        stop = b->stop;
        pthread_mutex_unlock(&b->cache->lock);
        if (!stop) {
            make_next(b);
        }
    }
    return NULL;
}

static int wake(void *self)
{
    tly_background *b = self;
    b->started = b->started || tly_thread_start(&b->thread, 0, work, b) == 0;
    pthread_cond_signal(&b->work);
    return b->started;
}

/* A child has no such thread: what is queued waits until the next object wakes one. */
static void in_child(void *self)
{
    tly_background *b = self;
    pthread_mutex_init(&b->cache->lock, NULL);
    pthread_cond_init(&b->cache->made, NULL);
    pthread_cond_init(&b->work, NULL);
    b->started = 0;
}

void tly_background_init(tly_background *b, tly_cache *cache)
{
    b->cache = cache;
    pthread_cond_init(&b->work, NULL);
    b->started = b->stop = 0;
    b->hook = (tly_fork_hook){ .child = in_child, .self = b };
    tly_fork_watch(&b->hook);
    cache->wake = wake;
    cache->wake_user = b;
    cache->rules.quick = 1;
}

void tly_background_end(tly_background *b)
{
    tly_fork_unwatch(&b->hook);
    pthread_mutex_lock(&b->cache->lock);
    b->stop = 1;
    pthread_cond_signal(&b->work);
    pthread_mutex_unlock(&b->cache->lock);
    if (b->started) {
        pthread_join(b->thread, NULL);
    }
    for (tly_object *object; (object = tly_cache_next(b->cache)) != NULL;) {
        tly_object_drop(object);
    }
    pthread_cond_destroy(&b->work);
}
