/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: a device that is not here, described by a text of its facts, so that kernels can be
 * made for it.
 *
 *   # a comment
 *   device = NVIDIA H100
 *   vendor = 0x10de
 *
 * One `name = value` a line, every field of caps.def and `device` exactly once, in any order.
 * Values are decimal or, behind 0x, hexadecimal.
 */
#ifndef TLY_PROFILE_H
#define TLY_PROFILE_H

#include "../problem/caps.h"

#include <tally/status.h>

typedef struct tly_profile {
    char device[64];
    tly_caps caps;
} tly_profile;

/* TALLY_INVALID names the line and what is wrong with it. */
tally_status tly_profile_parse(const char *text, tly_profile *profile, tally_error *error);

/* Writes at most `capacity` bytes with the terminator; returns the length of the whole text, which
 * parses back to the same profile. */
size_t tly_profile_print(const tly_profile *profile, char *text, size_t capacity);

#endif
