/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command tells people: its one error, and progress. Guarantees that an error is one
 * line of the promised form, whatever bytes a file name holds, and that progress never reaches
 * anything but a terminal.
 */
#include "tool.h"

#include "../../runtime/host/printable.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* A message is one line, and a terminal obeys none of it. */
static void print(char *to, size_t room, const char *format, va_list args)
{
    char text[sizeof((tly_report *)0)->message];
    vsnprintf(text, sizeof text, format, args);
    tly_printable(to, room, text);
}

int tly_refuse(tly_report *report, int status, const char *field, const char *format, ...)
{
    va_list args;
    report->status = status;
    report->pipe_closed = 0;
    snprintf(report->field, sizeof report->field, "%s", field);
    va_start(args, format);
    print(report->message, sizeof report->message, format, args);
    va_end(args);
    report->hint[0] = 0;
    return status;
}

void tly_hint(tly_report *report, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print(report->hint, sizeof report->hint, format, args);
    va_end(args);
}

static const struct {
    tally_status status;
    int exit;
} exits[] = {
    { TALLY_INVALID, EXIT_USAGE },
    { TALLY_UNSUPPORTED, EXIT_UNSUPPORTED },
    { TALLY_NO_GENERATOR, EXIT_UNSUPPORTED },
    { TALLY_OUT_OF_MEMORY, EXIT_MEMORY },
    { TALLY_IO, EXIT_FILE },
};

/* What FIELD may be: scripts know the grammar's names and these three. */
static const char *const fields[] = {
    "word",     "op",        "dtype",    "sizes",     "option",  "axis",  "axes",
    "keepdims", "exclusive", "reverse",  "in",        "out",     "a",     "b",
    "c",        "d",         "map",      "coef",      "post",    "reset", "segments",
    "every",    "carry",     "last",     "order",     "acc",     "nan",   "file",
    "device",   "usage",     "carry_in", "carry_out", "offsets",
};

/* The library has names for its own parts, too: to a user these are the device, unless it is the
 * command line that is wrong. */
static const char *shown_field(const char *field, int status)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcmp(field, fields[i]) == 0) {
            return field;
        }
    }
    return status == EXIT_USAGE ? "usage" : "device";
}

void tly_report_where(tly_report *report, const char *where)
{
    char message[sizeof report->message];
    if (where[0]) {
        snprintf(message, sizeof message, "%s: %.900s", where, report->message);
        tly_printable(report->message, sizeof report->message, message);
    }
}

int tly_adopt(tly_report *report, const tally_error *error)
{
    int status = EXIT_FAULT;
    const char *field;
    for (size_t i = 0; i < sizeof exits / sizeof *exits; i++) {
        if ((int32_t)exits[i].status == error->status) {
            status = exits[i].exit;
        }
    }
    field = shown_field(error->field, status);
    if (error->position > 0) {
        tly_refuse(report, status, field, "%s (at character %d)", error->message,
                   (int)error->position);
    } else {
        tly_refuse(report, status, field, "%s", error->message);
    }
    tly_hint(report, "%s%s%s%s", error->hint, error->word[0] ? "; in a word: '" : "", error->word,
             error->word[0] ? "'" : "");
    return status;
}

void tly_report_print(const tly_report *report, FILE *to)
{
    fprintf(to, "tally: %s: %s\n", report->field, report->message);
    if (report->hint[0]) {
        fprintf(to, "hint: %s\n", report->hint);
    }
}

/* As two halves where one number of 16 bits does not hold it. */
static void put_number(FILE *to, uint32_t number)
{
    if (number == TLY_NO_CHARACTER) {
        fputs("\\ufffd", to);
    } else if (number < 0x10000) {
        fprintf(to, "\\u%04x", (unsigned)number);
    } else {
        fprintf(to, "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (number >> 10)),
                (unsigned)(0xdc00 | (number & 0x3ff)));
    }
}

void tly_json_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (size_t left = strlen(text), bytes; left > 0; text += bytes, left -= bytes) {
        uint32_t number;
        bytes = tly_utf8(text, left, &number);
        if (!tly_is_shown(number)) {
            put_number(to, number);
            continue;
        }
        if (*text == '"' || *text == '\\') {
            fputc('\\', to);
        }
        fwrite(text, 1, bytes, to);
    }
    fputc('"', to);
}

void tly_text_show(FILE *to, const char *text, int width)
{
    char shown[1024];
    tly_printable(shown, sizeof shown, text);
    fprintf(to, "%-*s", width, shown);
}

int tly_flush(tly_report *report)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        const int reason = errno;
        tly_refuse(report, EXIT_FILE, "file", "cannot write standard output: %s", strerror(reason));
        report->pipe_closed = reason == EPIPE;
        return EXIT_FILE;
    }
    return EXIT_DONE;
}

/* Shown from a signal handler, so that neither the library's calls nor the loops that read and
 * write need to think of it: plain loads and write(2) are all that happens there. */
static struct {
    const char *volatile stage;
    volatile uint64_t done, total;
    volatile sig_atomic_t shown;
} progress;

static size_t append(char *line, size_t at, size_t capacity, const char *text)
{
    while (*text && at < capacity) {
        line[at++] = *text++;
    }
    return at;
}

static void show_progress(int signal_number)
{
    char line[96];
    size_t at = append(line, 0, sizeof line, "\r\033[Ktally: ");
    int saved = errno;
    (void)signal_number;
    at = append(line, at, sizeof line, progress.stage);
    if (progress.total) {
        unsigned percent = (unsigned)((double)progress.done * 100 / (double)progress.total);
        char digits[] = " 00 %";
        digits[1] = (char)('0' + percent / 10 % 10);
        digits[2] = (char)('0' + percent % 10);
        at = append(line, at, sizeof line, percent < 100 ? digits : " 100 %");
    }
    /* Progress that cannot be shown is no reason to fail. */
    progress.shown = write(STDERR_FILENO, line, at) > 0;
    errno = saved;
}

static void set_timer(long seconds)
{
    struct itimerval timer = { { seconds, 0 }, { seconds, 0 } };
    setitimer(ITIMER_REAL, &timer, NULL);
}

void tly_progress(const char *stage, uint64_t total)
{
    int first = !progress.stage;
    progress.done = 0;
    progress.total = total;
    progress.stage = stage;
    if (first && isatty(STDERR_FILENO)) {
        struct sigaction action = { .sa_handler = show_progress, .sa_flags = SA_RESTART };
        sigemptyset(&action.sa_mask);
        sigaction(SIGALRM, &action, NULL);
        set_timer(1);
    }
}

void tly_progress_at(uint64_t done)
{
    progress.done = done;
}

void tly_progress_wipe(void)
{
    static const char clean[] = "\r\033[K";
    if (progress.shown) {
        (void)!write(STDERR_FILENO, clean, sizeof clean - 1);
    }
}

void tly_progress_end(void)
{
    if (progress.stage && isatty(STDERR_FILENO)) {
        set_timer(0);
        tly_progress_wipe();
    }
    progress.stage = NULL;
    progress.shown = 0;
}
