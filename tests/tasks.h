/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run cut into tasks as threads would cut it, but one after another and on purpose badly: in
 * reverse, in uneven parts, with every carry taken from totals. No cut may change a bit.
 */
#ifndef TLY_TASKS_H
#define TLY_TASKS_H

#include "../runtime/context/internal.h"

/* Calls the kernel, whatever that means for an engine; *result is its return value. */
typedef tally_status (*tly_call)(void *user, const tly_args *args, const tly_task *task,
                                 int64_t *result, tally_error *error);

/* `threads` 1: one task over all. 2: reversed halves, or, for rows cut into chunks, each chunk's
 * carry from totals. Others: uneven ranges, carries handed on by scans. `scratch` is 64-byte
 * aligned and holds kernel->scratch_bytes. */
tally_status tly_tasks_run(const tally_kernel *kernel, const tly_args *args, char *scratch,
                           int32_t threads, tly_call call, void *user, tally_error *error);

#endif
