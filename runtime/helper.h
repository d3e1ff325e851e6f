/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper program tally-maker as a process that makes one kernel: it is started for a request and
 * has ended when the reply is there. What the two say to each other is in maker.h.
 */
#ifndef TLY_HELPER_H
#define TLY_HELPER_H

#include "internal.h"
#include "maker.h"

/* Has the helper beside `generator` do what `request` says, whose other fields are filled in here,
 * within the context's time. `bytes`, from malloc, are what came behind the reply; on failure there
 * are none. Whatever becomes of the helper is a status. */
tally_status tly_helper_ask(const tally_context *context, const tly_generator *generator,
                            tly_make_request *request, const char *plan, tly_make_reply *reply,
                            void *bytes[TLY_GPU_PASSES], tally_error *error);

/* Frees what the last function gave. */
void tly_helper_drop(void *bytes[TLY_GPU_PASSES]);

#endif
