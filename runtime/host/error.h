/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling a caller's tally_error. One way for the whole library, so that every message names its
 * field, is one line, is terminated, and never overruns the struct of an older caller.
 *
 *   return tly_fail(error, TALLY_INVALID, "axis", "axis %d is not below rank %d", axis, rank);
 *
 * Everything here takes NULL for the error and then writes nothing. Allocates nothing.
 */
#ifndef TLY_ERROR_H
#define TLY_ERROR_H

#include <tally/status.h>

/* Fills status, field and message, clears position, hint and word; returns `status`, to be returned
 * in turn. `field` is a name of the word's grammar, or file, device, usage, memory. The arguments
 * may point into *error itself. What a terminal would not show becomes \xNN (printable.h). */
tally_status tly_fail(tally_error *error, tally_status status, const char *field,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));

/* After tly_fail: the character of the word, from 1, that the message speaks of. */
void tly_error_position(tally_error *error, int32_t position);

/* After tly_fail: what to do about it, one line. */
void tly_error_hint(tally_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* After tly_error_hint: how a word says it, for callers who wrote one. The hint itself is for all
 * callers, and those of a function with options have no word. */
void tly_error_word(tally_error *error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* After any of these: what it was about, in front of the message. */
void tly_error_where(tally_error *error, const char *where);

/* Hands on what another struct of full size was filled with; returns its status. */
tally_status tly_error_pass(tally_error *error, const tally_error *from);

/* TALLY_OUT_OF_MEMORY with the message that `bytes` for `what` could not be had. */
tally_status tly_out_of_memory(tally_error *error, const char *what, size_t bytes);

/* Clang's analyzer sees one file at a time: that a failing call returns the status which it was
 * given is told to it here, so that it does not go on where nothing was made. */
#if defined(__clang_analyzer__) && !defined(TLY_ERROR_ITSELF)
#define tly_fail(error, status, ...) ((void)(tly_fail)(error, status, __VA_ARGS__), (status))
#define tly_out_of_memory(error, what, bytes) \
    ((void)(tly_out_of_memory)(error, what, bytes), TALLY_OUT_OF_MEMORY)
#endif

#endif
