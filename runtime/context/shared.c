/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context that a process has once, for libraries that are loaded side by side and know nothing
 * of each other: with a context each, every one would have its own kernels and its own threads.
 */
#include "internal.h"

#include "../host/error.h"
#include "../host/fork.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* taken within the fork gate */
static _Atomic(tally_context *) shared;                  /* never destroyed */

tally_context *tly_context_shared_now(void)
{
    return atomic_load_explicit(&shared, memory_order_acquire);
}

static tally_status make(tally_error *error)
{
    tally_context *made = NULL;
    tally_status status = TALLY_OK;
    pthread_mutex_lock(&lock);
    if (tly_context_shared_now() == NULL) {
        status = tally_context_create(NULL, &made, error);
        if (status == TALLY_OK) {
            atomic_store_explicit(&shared, made, memory_order_release);
        }
    }
    pthread_mutex_unlock(&lock);
    return status;
}

tally_status tally_context_shared(tally_context **context, tally_error *error)
{
    if (context == NULL) {
        return tly_fail(error, TALLY_INVALID, "usage", "there is no place for the context");
    }
    if (tly_context_shared_now() == NULL) {
        if (!tly_fork_enter()) {
            return tly_busy(error);
        }
        tally_status status = make(error);
        tly_fork_leave();
        if (status != TALLY_OK) {
            return status;
        }
    }
    *context = tly_context_shared_now();
    return TALLY_OK;
}
