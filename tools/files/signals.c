/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that end the command. An interrupted command removes its unfinished file and then ends by
 * the same signal. A mapped input that is cut short ends the command with an error like any other.
 * Handlers call only what a signal handler may: unlink, write and _exit.
 */
#include "signals.h"

#include "../common/tool.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static const int interrupts[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU };

static const char *volatile unfinished;

/* One mapped file; `first` NULL: none. */
static struct mapped {
    const char *volatile first;
    volatile size_t bytes;
    char line[sizeof((tly_report *)0)->message + 64];
    volatile size_t length;
} mapped[TLY_MOST_MAPPED];

/* The file that an address lies in; NULL: none of them. */
static const struct mapped *find_mapped(const char *at)
{
    for (int i = 0; i < TLY_MOST_MAPPED; i++) {
        const char *first = mapped[i].first;
        if (first && at >= first && at < first + mapped[i].bytes) {
            return &mapped[i];
        }
    }
    return NULL;
}

static void end_by(int signal_number)
{
    if (unfinished) {
        unlink(unfinished);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

void tly_watch_unfinished(const char *path)
{
    unfinished = path;
    for (size_t i = 0; i < sizeof interrupts / sizeof *interrupts; i++) {
        struct sigaction older;
        /* What the parent had ignored (nohup) stays so. */
        if (sigaction(interrupts[i], NULL, &older) == 0 && older.sa_handler != SIG_IGN) {
            signal(interrupts[i], path ? end_by : SIG_DFL);
        }
    }
}

static void on_lost_page(int signal_number, siginfo_t *info, void *unused)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    const struct mapped *lost = find_mapped(info->si_addr);
    (void)unused;
    if (!lost) {
        signal(signal_number, SIG_DFL); /* not ours: the fault comes again, and ends the process */
        return;
    }
    while (atomic_flag_test_and_set(&told)) {
        pause(); /* another thread met the end first: it tells, and ends this one, too */
    }
    if (unfinished) {
        unlink(unfinished);
    }
    tly_progress_wipe();
    (void)!write(STDERR_FILENO, lost->line, lost->length);
    _exit(EXIT_FILE);
}

void tly_watch_mapped(const char *name, const void *first, size_t bytes)
{
    struct sigaction action = { .sa_sigaction = on_lost_page, .sa_flags = SA_SIGINFO };
    tly_report report;
    struct mapped *m = mapped;
    while (m < mapped + TLY_MOST_MAPPED && m->first) {
        m++;
    }
    if (m == mapped + TLY_MOST_MAPPED) {
        return;
    }
    tly_refuse(&report, EXIT_FILE, "file",
               "%s: was cut short, or its disk failed, while it was read", name);
    m->length = (size_t)snprintf(m->line, sizeof m->line, "tally: %s: %s\n", report.field,
                                 report.message);
    m->bytes = bytes;
    m->first = first;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}

void tly_forget_mapped(const void *first)
{
    int left = 0;
    for (int i = 0; i < TLY_MOST_MAPPED; i++) {
        mapped[i].first = mapped[i].first == first ? NULL : mapped[i].first;
        left += mapped[i].first != NULL;
    }
    if (left == 0) {
        signal(SIGBUS, SIG_DFL);
    }
}
