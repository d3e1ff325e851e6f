/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper program: started, talked to, ended; see helper.h. Guarantees that whatever becomes of
 * it is a status: its reply is taken only whole, its end is waited for by its own number, so
 * that the host's other children, its handlers and an ignored SIGCHLD stay as they are, and no file
 * descriptor of ours reaches a program that the host starts. How long the system takes to start the
 * program, or to end it, is bounded by the caller, helper_wait.c.
 */
#include "helper.h"

#include "../host/clock.h"
#include "../host/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* How long a wait lasts at most before the helper is looked after: its end closes the socket at
 * once, unless a program that the host has forked holds the other end, too. */
#define LOOK_MS 50

/* No blob or module comes near; a length above it is not one. */
#define MOST_BYTES (UINT64_C(1) << 30)

extern char **environ;

typedef struct maker {
    int link, words; /* our end; what it says on its standard error */
    pid_t pid;       /* -1: its end has been seen */
    int how;         /* status of waitpid, if that told */
    int known;
    int late;      /* its time is over */
    int64_t until; /* ms */
    uint32_t limit_ms;
} maker;

static int64_t now_ms(void)
{
    return (int64_t)(tly_clock() / 1000000);
}

/* --- starting -------------------------------------------------------------------------------- */

/* Where the host's standard descriptors are closed, a new one may have their numbers, which the
 * helper needs for itself. Takes over fd. */
static int above_standard(int fd)
{
    if (fd < 0 || fd > 2) {
        return fd;
    }
    int higher = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    close(fd);
    return higher;
}

tally_status tly_helper_no_start(int reason, const char *path, tally_error *error)
{
    if (reason == ENOENT || reason == EACCES) {
        tly_helper_missing(path, strerror(reason), error);
        return TALLY_NO_GENERATOR;
    }
    return tly_fail(error, TALLY_OUT_OF_MEMORY, "memory", TLY_MAKER_NAME " cannot be started: %s",
                    strerror(reason));
}

/* Standard input is the link, what it says goes to the words; signals as in a new program. A group
 * of its own, so that what is typed at a terminal reaches it through the host alone. */
static int spawn(maker *m, const char *path, int link, posix_spawn_file_actions_t *files,
                 posix_spawnattr_t *how)
{
    static char *none[] = { NULL };
    char *argv[] = { (char[]){ TLY_MAKER_NAME }, NULL };
    char **environment = getauxval(AT_SECURE) != 0 ? none : environ;
    sigset_t no_signal, all_signals;
    sigemptyset(&no_signal);
    sigfillset(&all_signals);
    int failed = posix_spawn_file_actions_adddup2(files, link, 0);
    for (int fd = 1; fd <= 2 && !failed; fd++)
        failed = m->words >= 0 ? posix_spawn_file_actions_adddup2(files, m->words, fd)
                               : posix_spawn_file_actions_addclose(files, fd);
    if (!failed)
        failed = posix_spawnattr_setsigmask(how, &no_signal);
    if (!failed)
        failed = posix_spawnattr_setsigdefault(how, &all_signals);
    if (!failed)
        failed = posix_spawnattr_setpgroup(how, 0);
    if (!failed)
        failed = posix_spawnattr_setflags(how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                   POSIX_SPAWN_SETPGROUP);
    return failed ? failed : posix_spawn(&m->pid, path, files, how, argv, environment);
}

static int begin_with(maker *m, const char *path, int link)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) {
        return failed;
    }
    failed = posix_spawnattr_init(&how);
    if (!failed) {
        failed = spawn(m, path, link, &files, &how);
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static tally_status begin(maker *m, const char *path, tally_error *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return tly_helper_no_start(errno, path, error);
    }
    m->link = above_standard(ends[0]);
    ends[1] = above_standard(ends[1]);
    m->words = above_standard(memfd_create("tally-maker", MFD_CLOEXEC)); /* can be done without */
    m->pid = -1;
    int failed = m->link < 0 || ends[1] < 0 ? EMFILE : begin_with(m, path, ends[1]);
    if (ends[1] >= 0) {
        close(ends[1]);
    }
    if (failed) {
        m->pid = -1;
        return tly_helper_no_start(failed, path, error);
    }
    return TALLY_OK;
}

/* --- its end --------------------------------------------------------------------------------- */

/* Whether it has ended. ECHILD: somebody else has heard of it, or SIGCHLD is ignored. */
static int has_ended(maker *m, int options)
{
    pid_t ended = -1;
    while (m->pid > 0 && (ended = waitpid(m->pid, &m->how, options)) < 0 && errno == EINTR) {
    }
    if (m->pid > 0 && ended != 0) {
        m->known = ended == m->pid;
        m->pid = -1;
    }
    return m->pid < 0;
}

/* `patient`: the link is closed, so that it ends by itself, and how tells why. */
static void finish(maker *m, int patient)
{
    const struct timespec pause = { 0, 1000000 };
    while (patient && !has_ended(m, WNOHANG) && now_ms() < m->until) {
        nanosleep(&pause, NULL);
    }
    /* One that has ended and was not waited for keeps its number: nobody else is hit. */
    if (!has_ended(m, WNOHANG)) {
        kill(m->pid, SIGKILL);
    }
    has_ended(m, 0);
}

/* The last line that it said, which is where LLVM and the C++ library tell why they end. */
static void last_words(const maker *m, char *text, size_t room)
{
    ssize_t got = m->words >= 0 ? pread(m->words, text, room - 1, 0) : 0;
    text[got > 0 ? got : 0] = 0;
    text[strcspn(text, "\n")] = 0;
}

static tally_status ended_early(const maker *m, tally_error *error)
{
    char said[120];
    if (m->late || (m->known && WIFSIGNALED(m->how) && WTERMSIG(m->how) == SIGALRM)) {
        return tly_helper_late(m->limit_ms, error);
    }
    last_words(m, said, sizeof said);
    const int memory = strstr(said, "memory") != NULL || strstr(said, "bad_alloc") != NULL;
    const tally_status status = memory ? TALLY_OUT_OF_MEMORY : TALLY_INTERNAL;
    const char *colon = said[0] != 0 ? ": " : "";
    if (!m->known) {
        return tly_fail(error, status, "device", "the process that makes the kernel ended%s%s",
                        colon, said);
    }
    return tly_fail(error, status, "device", "the process that makes the kernel ended by %s %d%s%s",
                    WIFSIGNALED(m->how) ? "signal" : "status",
                    WIFSIGNALED(m->how) ? WTERMSIG(m->how) : WEXITSTATUS(m->how), colon, said);
}

/* --- talking --------------------------------------------------------------------------------- */

/* Waits until the link can be read or written; 0 when there is nothing more to wait for. */
static int ready(maker *m, short events)
{
    for (;;) {
        int64_t left = m->until - now_ms();
        struct pollfd one = { .fd = m->link, .events = events };
        if (left <= 0) {
            m->late = 1;
            return 0;
        }
        const int ended = has_ended(m, WNOHANG); /* what it wrote before can be read */
        int count = poll(&one, 1, ended ? 0 : left < LOOK_MS ? (int)left : LOOK_MS);
        if (count > 0) {
            return 1;
        }
        if (ended || (count < 0 && errno != EINTR && errno != EAGAIN)) {
            return 0;
        }
    }
}

static int tell(maker *m, const void *from, size_t bytes)
{
    const char *p = from;
    while (bytes > 0) {
        if (!ready(m, POLLOUT)) {
            return 0;
        }
        ssize_t sent = send(m->link, p, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR && errno != EAGAIN && errno != ENOBUFS) {
            return 0;
        }
        p += sent > 0 ? sent : 0;
        bytes -= sent > 0 ? (size_t)sent : 0;
    }
    return 1;
}

static int hear(maker *m, void *to, size_t bytes)
{
    char *p = to;
    while (bytes > 0) {
        if (!ready(m, POLLIN)) {
            return 0;
        }
        ssize_t got = recv(m->link, p, bytes, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
            return 0;
        }
        p += got > 0 ? got : 0;
        bytes -= got > 0 ? (size_t)got : 0;
    }
    return 1;
}

/* TALLY_OK: the reply is whole, and `bytes`, from malloc, hold what came behind it. 1: it is
 * not. */
static int hear_reply(maker *m, tly_make_reply *reply, void *bytes[TLY_GPU_PASSES],
                      tally_error *error)
{
    if (!hear(m, reply, sizeof *reply)) {
        return 1;
    }
    if (reply->shape != TLY_MAKER_SHAPE) {
        return tly_fail(error, TALLY_NO_GENERATOR, "device",
                        TLY_MAKER_NAME " is of another version");
    }
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        if (reply->bytes[i] == 0) {
            continue;
        }
        bytes[i] = reply->bytes[i] <= MOST_BYTES ? malloc((size_t)reply->bytes[i]) : NULL;
        if (bytes[i] == NULL) {
            return tly_out_of_memory(error, "a kernel", (size_t)reply->bytes[i]);
        }
        if (!hear(m, bytes[i], (size_t)reply->bytes[i])) {
            return 1;
        }
    }
    return TALLY_OK;
}

tally_status tly_helper_talk(const tly_helper_call *c, int64_t until_ms, tly_make_reply *reply,
                             void *bytes[TLY_GPU_PASSES], tally_error *error)
{
    maker m = {
        .link = -1, .words = -1, .pid = -1, .limit_ms = c->request.limit_ms, .until = until_ms
    };
    tally_status status = begin(&m, c->helper, error);
    if (status == TALLY_OK) {
        /* A helper of another build may have answered and ended before it has read all. */
        const int told = tell(&m, &c->request, sizeof c->request) &&
                         tell(&m, c->library, c->request.generator_bytes) &&
                         tell(&m, c->plan, c->request.plan_bytes);
        const int heard = told || !m.late ? hear_reply(&m, reply, bytes, error) : 1;
        finish(&m, heard == 1 && !m.late);
        status = heard == 1 ? ended_early(&m, error) : (tally_status)heard;
    }
    if (m.link >= 0) {
        close(m.link);
    }
    if (m.words >= 0) {
        close(m.words);
    }
    return status;
}
