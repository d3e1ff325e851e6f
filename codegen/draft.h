/* SPDX-License-Identifier: Apache-2.0 */
/* The pipeline up to kernel IR, and the door to what comes behind it: for generate.c and
 * ahead.c. */
#ifndef TLY_DRAFT_H
#define TLY_DRAFT_H

#include "plan/planner.h"
#include "shared/native.h"

typedef struct tly_draft {
    const tly_target *target;
    tly_plan plan;
    kir_kernel *kernel; /* for kir_free */
    tly_launch launch;
} tly_draft;

/* `plan`: overrides, "" for none. */
tally_status tly_draft_make(const tly_problem *problem, const char *level, const char *plan,
                            tly_draft *draft, tally_error *error);

/* libtally-llvm, opened where it must be. A failure is not remembered: what was missing may be
 * there for the next kernel. */
tally_status tly_native_need(const tly_native **native, tally_error *error);

/* ahead.c: tly_generator's. */
tally_status tly_generate_ahead(const tly_ahead_order *order, tally_write write, void *user,
                                tally_error *error);

#endif
