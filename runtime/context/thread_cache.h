/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread's cache: the kernels of the descriptors that it has seen. A kernel found here costs
 * no canonicalising and no shared lock. Freed when the thread ends.
 */
#ifndef TLY_THREAD_CACHE_H
#define TLY_THREAD_CACHE_H

#include "internal.h"

/* The kernel seen under these words, with a reference for the caller; NULL if there is none. */
tally_kernel *tly_thread_cache_find(const uint64_t *words, uint32_t count, uint64_t hash);

/* Remembers a kernel, taking a reference of its own. Within the fork gate. */
void tly_thread_cache_add(tally_kernel *kernel);

/* Makes all threads forget the context's kernels; calls used(context, kernel), unless NULL, for
 * those found since the last call. */
void tly_thread_cache_forget(tally_context *context, void (*used)(tally_context *, tally_kernel *));

/* How often threads found kernels of the context. */
uint64_t tly_thread_cache_hits(tally_context *context);

#endif
