/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This machine's CPU, found without LLVM: which levels it runs, how many CPUs the process may use,
 * and from how many bytes on data is beyond the cache. Everything here is thread-safe; nothing
 * allocates for longer than a call.
 */
#ifndef TLY_CPU_H
#define TLY_CPU_H

#include "features.h"

#include <stddef.h>
#include <stdint.h>

/* Whether this machine, with its operating system, runs kernels of the level. */
int tly_level_runs(int level);

/* The highest level that runs here; TLY_LEVEL_NONE on a machine below all of them. */
int tly_level_host(void);

/* CPUs in the affinity mask, at least 1. Asked anew on every call, since masks change. */
int32_t tly_cpu_count(void);

/* Bytes read and written from which on a launch passes by the cache. */
int64_t tly_stream_bytes(void);

/* Whether Intel made the processor: how stores and shared lines behave goes with that. */
int tly_cpu_is_intel(void);

/* The processor's name for people, always terminated; the architecture's where it tells none. */
void tly_cpu_brand(char *text, size_t capacity);

/* In a spin: tells the core that this thread waits. */
static inline void tly_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory"); /* yield is a no-op on most cores */
#endif
}

#endif
