/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for libraries that end the process when an allocation fails: LLVM and SPIRV-Tools.
 *
 * A call of theirs goes between tly_reserve_enter, which asks the system for room and says
 * TALLY_OUT_OF_MEMORY if there is none, and tly_reserve_leave. In between, what malloc refuses this
 * thread comes from that room, and they never see a failure while it lasts. The room is address
 * space and becomes memory only where it is used.
 *
 * This needs their malloc to be ours (reserve_wrap.c, linked with --wrap): so it does where they
 * are linked statically. Where they are not, the room is given back before they begin.
 */
#ifndef TLY_RESERVE_H
#define TLY_RESERVE_H

#include <stddef.h>

#include <tally/status.h>

tally_status tly_reserve_enter(size_t bytes, tally_error *error);
void tly_reserve_leave(void);

/* For reserve_wrap.c. A block of this thread's room, aligned to `align` (a power of two); NULL if
 * it does not fit. */
void *tly_reserve_take(size_t bytes, size_t align);

/* Gives such a block back; 0 if the pointer is none. */
int tly_reserve_give(void *block);

/* Bytes of such a block; 0 if the pointer is none. */
size_t tly_reserve_size(const void *block);

/* Most bytes that one thread's room has ever given out at once, with what is lost between blocks:
 * how the sizes of the rooms were measured. */
size_t tly_reserve_most(void);

#endif
