/* SPDX-License-Identifier: Apache-2.0 */
/* What the library tells; see log.h. */
#include "log.h"

#include "env.h"
#include "error.h"
#include "printable.h"

#include <tally/version.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In front of what is printed. */
static const char *const kinds[] = {
    [TALLY_LOG_WARNING] = "warning,",
    [TALLY_LOG_EVENT] = "",
    [TALLY_LOG_REASON] = "why,",
};

enum {
    LEVELS = sizeof kinds / sizeof kinds[0],
    MOST_LINE = 2048 /* below the 4096 that a pipe takes at once, and above any word */
};

tally_status tly_log_init(tly_log *log, const tally_context_options *options, tally_error *error)
{
    static const uint32_t printed[] = { 0, 1u << TALLY_LOG_EVENT, (1u << LEVELS) - 2 };
    const uint32_t most = options->log_level > 0 ? options->log_level : TALLY_LOG_WARNING;
    if (most >= LEVELS) {
        return tly_fail(error, TALLY_INVALID, "usage", "log_level is %u, not 0 to %d", most,
                        LEVELS - 1);
    }
    *log = (tly_log){ .call = options->log,
                      .user = options->log_user,
                      .called = options->log != NULL ? (2u << most) - 2 : 0,
                      .printed = printed[tly_env_verbose()] };
    return TALLY_OK;
}

/* A failure has no one to be told to. */
static void print(const char *line, size_t length)
{
    ssize_t wrote;
    do {
        wrote = write(STDERR_FILENO, line, length);
    } while (wrote < 0 && errno == EINTR);
}

void tly_log_say(const tly_log *log, tally_log_level level, const char *format, ...)
{
    char text[MOST_LINE], line[MOST_LINE + 64];
    const int before = errno;
    if (!tly_log_tells(log, level)) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    char *message = line + snprintf(line, sizeof line, "tally," TALLY_VERSION ",%s", kinds[level]);
    const size_t length = tly_printable(message, MOST_LINE, text);
    if (log->called >> level & 1) {
        log->call(log->user, level, message);
    }
    if (log->printed >> level & 1) {
        message[length] = '\n';
        print(line, (size_t)(message - line) + length + 1);
    }
    errno = before;
}

void tly_log_event(const tly_log *log, const char *what, const char *device, const char *how,
                   uint64_t nanoseconds, const char *word)
{
    char name[128];
    size_t length = 0;
    for (; device[length] != 0 && length + 1 < sizeof name; length++) {
        name[length] = device[length];
        if (name[length] == ',') {
            name[length] = ';'; /* commas part the fields of a line */
        }
    }
    name[length] = 0;
    /* No decimal point of a locale's. */
    tly_log_say(log, TALLY_LOG_EVENT, "%s,%s,%s,%" PRIu64 ".%03d,%s", what, name, how,
                nanoseconds / 1000, (int)(nanoseconds % 1000), word);
}
