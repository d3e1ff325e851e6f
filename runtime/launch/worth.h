/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether several threads are worth more than one, learnt from a kernel's own runs; no bit of a
 * result depends on it. All zero is how it begins. Safe from many threads.
 */
#ifndef TLY_WORTH_H
#define TLY_WORTH_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct tly_worth {
    _Atomic uint32_t runs;
    _Atomic int64_t best[2]; /* ns of a run by one thread, and by several; 0: none was told yet */
} tly_worth;

/* 1: the next run is to be by several threads. */
int tly_worth_several(tly_worth *worth);

/* What it took. */
void tly_worth_tell(tly_worth *worth, int several, uint64_t ns);

#endif
