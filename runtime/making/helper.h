/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper program tally-maker as a process that makes one kernel: it is started for a request
 * and has ended when the reply is there. What the two say to each other is in maker.h.
 */
#ifndef TLY_HELPER_H
#define TLY_HELPER_H

#include "../context/internal.h"
#include "maker.h"

#include <limits.h>

/* Has the helper beside `generator` do what `request` says, whose other fields are filled in here,
 * within the context's time. `bytes`, from malloc, are what came behind the reply, which has been
 * judged: a kernel has code, a module for each pass. On failure there are none. Whatever becomes of
 * the helper is a status. */
tally_status tly_helper_ask(const tally_context *context, const tly_generator *generator,
                            const tly_make_request *request, const char *plan,
                            tly_make_reply *reply, void *bytes[TLY_GPU_PASSES], tally_error *error);

/* Whether it lies there; the error is that of asking it where it does not. */
tally_status tly_helper_look(const tly_generator *generator, tally_error *error);

/* Frees what tly_helper_ask gave. */
void tly_helper_drop(void *bytes[TLY_GPU_PASSES]);

/* Judges a whole reply to a request: the status that it reports, as it is passed on, or
 * TALLY_INTERNAL for what no helper of this build says. */
tally_status tly_helper_judge(const tly_make_request *request, tly_make_reply *reply,
                              tally_error *error);

/* --- between helper.c and helper_wait.c ----------------------------------------------------- */

/* What the helper is told, whole. */
typedef struct tly_helper_call {
    tly_make_request request;
    char helper[PATH_MAX], library[PATH_MAX];
    char *plan;
} tly_helper_call;

/* Starts the helper, talks to it and ends it; by `until_ms` of tly_clock it is killed. The reply is
 * whole, and not yet judged. */
tally_status tly_helper_talk(const tly_helper_call *call, int64_t until_ms, tly_make_reply *reply,
                             void *bytes[TLY_GPU_PASSES], tally_error *error);

tally_status tly_helper_late(uint32_t limit_ms, tally_error *error);
/* Of an errno. */
tally_status tly_helper_no_start(int reason, const char *path, tally_error *error);
tally_status tly_helper_missing(const char *path, const char *why, tally_error *error);

#endif
