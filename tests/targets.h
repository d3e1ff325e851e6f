/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices that tests run on: found by selector or name, and what each may refuse or flush.
 * A device may refuse exactly the dtypes that it says it lacks, and must then name them; every
 * other refusal is a failure, and so is a kernel where it says that there is none.
 */
#ifndef TLY_TARGETS_H
#define TLY_TARGETS_H

#include <tally/kernel.h>

enum { TLY_MOST_TARGETS = 16 };

/* By selector, "cpu" or "vulkan" for the default of that kind, or part of a name. Returns 0, or -1
 * and a message in `why`. */
int tly_target_find(const char *text, tally_device *target, char *why, size_t capacity);

/* Is `feature` one of the words of `lacks`? */
int tly_target_lacks(const tally_device *target, const char *feature);

/* Subnormal floats may count as zeros there. lavapipe promises nothing, but keeps them. */
int tly_target_flushes(const tally_device *target);

/* What the judge lets it do (compare.h); NULL: nothing. */
int tly_target_may(const tally_device *target);

/* The first dtype of `d` that the device lacks; NULL if it has them all. */
const char *tly_target_missing(const tally_device *target, const tally_descriptor *d);

/* Does a device lack a dtype of `d`, and is that how it says so? */
int tly_refusal_is_right(const tally_device *target, const tally_descriptor *d, tally_status status,
                         const tally_error *error);

#endif
