/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that kernels are made for ahead of time. */
#ifndef TLY_COMPILE_TARGETS_H
#define TLY_COMPILE_TARGETS_H

#include "../common/tool.h"

enum { TLY_MOST_TARGETS = 16, TLY_SELECTOR = 32 };

typedef struct tly_targets {
    char selectors[TLY_MOST_TARGETS][TLY_SELECTOR];
    char *profiles[TLY_MOST_TARGETS]; /* texts */
    size_t count, profile_count;
} tly_targets;

/* Names with commas between them; NULL: the levels of this machine's architecture. */
int tly_targets_read(tly_targets *targets, const char *names, tly_report *report);

/* Files of profiles with commas between them. */
int tly_targets_read_profiles(tly_targets *targets, const char *names, tly_report *report);

void tly_targets_end(tly_targets *targets);

#endif
