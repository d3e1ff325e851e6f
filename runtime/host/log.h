/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the library tells: to the program, through the callback of tally_context_options, and where
 * TALLY_VERBOSE asks for it, on standard error, one line by one write, which nothing else in the
 * library prints on. docs/environment.md has the lines. Whether anything is told is decided when a
 * context is made; kernels that tell their runs take the slow way into launch.c, so that a ready
 * call of the others pays nothing.
 */
#ifndef TLY_LOG_H
#define TLY_LOG_H

#include <tally/kernel.h>

typedef struct tly_log {
    tally_log call; /* NULL: there is none */
    void *user;
    uint32_t called, printed; /* bits 1 << tally_log_level: told to `call`, on standard error */
} tly_log;

/* TALLY_INVALID for a level that there is not. */
tally_status tly_log_init(tly_log *log, const tally_context_options *options, tally_error *error);

/* Whether anybody listens. */
static inline int tly_log_tells(const tly_log *log, tally_log_level level)
{
    return (int)((log->called | log->printed) >> level & 1);
}

/* One line; longer ones are cut. What a terminal would not show becomes \xNN (printable.h).
 * Thread-safe; keeps errno. */
void tly_log_say(const tly_log *log, tally_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* An event: what happened, on which device, whence or how, for how long, with which word. */
void tly_log_event(const tly_log *log, const char *what, const char *device, const char *how,
                   uint64_t nanoseconds, const char *word);

#endif
