/* SPDX-License-Identifier: Apache-2.0 */
/* CPU levels, and which of them this machine runs. Freestanding. */
#ifndef TLY_FEATURES_H
#define TLY_FEATURES_H

#include <stdint.h>

/* Levels are numbers from 0 to TLY_LEVELS - 1, in ascending order within one architecture. */
#define TLY_LEVELS 5
#define TLY_LEVEL_NONE (-1)

/* This architecture's name in the table of levels. */
#if defined(__x86_64__)
#define TLY_MACHINE "x86-64"
#elif defined(__riscv)
#define TLY_MACHINE "riscv64"
#else
#define TLY_MACHINE "aarch64"
#endif

/* "x86-64-v3" and its like, and the architecture it belongs to. */
const char *tly_level_name(int level);
const char *tly_level_machine(int level);

/* A bit for each level that this machine, with its operating system, runs. */
#define TLY_FEATURE_INTEL (1u << 31) /* and whether Intel made the processor */
uint32_t tly_features_find(void);

#endif
