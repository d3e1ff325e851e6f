/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a result: whole or not at all. A regular file is written without a name, or beside its
 * place where the file system has no files without, and then put into its place at once: a reader
 * sees the older file or the new one, a failure leaves the older one, and nothing else is left.
 * Until it is whole nobody else can open it. Devices, pipes and standard output are written
 * directly.
 */
#include "file.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#define LARGEST_WRITE ((size_t)16 << 20) /* so that progress is seen */

/* Larger files are on the disk before they take their place, lest a loss of power leave the name
 * with less than the file; smaller ones are cheap to make again. */
#define SYNCED ((size_t)1 << 20)

enum { MOST_LINKS = 40 /* as Linux */, MOST_NAMES = 1000 };

static int refuse(const tly_output *output, tly_report *report)
{
    const int reason = errno;
    if (reason == ENOMEM) {
        return tly_refuse(report, EXIT_MEMORY, "file", "%s: no memory to write it", output->name);
    }
    tly_refuse(report, EXIT_FILE, "file", "%s: cannot be written: %s", output->name,
               strerror(reason));
    report->pipe_closed = reason == EPIPE;
    return EXIT_FILE;
}

/* Characters of the path up to its file's name. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

/* ---- names ---- */

/* Forgets the name beside the path, which no longer is there or no longer is unfinished. */
static void drop_name(tly_output *output)
{
    int reason = errno;
    if (output->temporary) {
        tly_watch_unfinished(NULL);
    }
    free(output->temporary);
    output->temporary = NULL;
    errno = reason;
}

/* Has a file made beside the path under a name that nobody has: 0, or -1 with errno. */
static int make_beside(tly_output *output, int (*make)(tly_output *))
{
    for (unsigned attempt = 0; attempt < MOST_NAMES; attempt++) {
        if (asprintf(&output->temporary, "%.*s.tally-%ld-%u", folder_length(output->path),
                     output->path, (long)getpid(), attempt) < 0) {
            output->temporary = NULL;
            errno = ENOMEM;
            return -1;
        }
        tly_watch_unfinished(output->temporary);
        if (make(output) == 0) {
            return 0;
        }
        drop_name(output);
        if (errno != EEXIST) {
            break;
        }
    }
    return -1;
}

static int open_named(tly_output *output)
{
    output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return output->fd >= 0 ? 0 : -1;
}

/* What a file without a name is called while it is open. */
static const char *self_name(int fd, char name[32])
{
    snprintf(name, 32, "/proc/self/fd/%d", fd);
    return name;
}

static int link_to(const tly_output *output, const char *path)
{
    char self[32];
    return linkat(AT_FDCWD, self_name(output->fd, self), AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

static int link_named(tly_output *output)
{
    return link_to(output, output->temporary);
}

/* ---- opening ---- */

/* Opens a file without a name in the path's folder. Fails where there can be none, or none that
 * could be given a name. */
static int open_nameless(tly_output *output)
{
    char folder[PATH_MAX], self[32];
    int length = snprintf(folder, sizeof folder, "%.*s.", folder_length(output->path),
                          output->path);
    output->fd = length < (int)sizeof folder ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)
                                             : -1;
    if (output->fd >= 0 && access(self_name(output->fd, self), F_OK) != 0) {
        close(output->fd);
        output->fd = -1;
    }
    return output->fd >= 0 ? 0 : -1;
}

/* The path to make where there is nothing, or where a chain of links leads to nothing. Allocated;
 * NULL with errno. */
static char *end_of_links(const char *path)
{
    char target[PATH_MAX], *at = strdup(path);
    for (int links = 0; at && links < MOST_LINKS; links++) {
        ssize_t length = readlink(at, target, sizeof target);
        char *next = NULL;
        if (length < 0 || length == (ssize_t)sizeof target) {
            return at;
        }
        if (asprintf(&next, "%.*s%.*s", target[0] == '/' ? 0 : folder_length(at), at, (int)length,
                     target) < 0) {
            next = NULL;
        }
        free(at);
        at = next;
    }
    errno = at ? ELOOP : ENOMEM;
    free(at);
    return NULL;
}

static mode_t mode_of_new(void)
{
    mode_t mask = umask(077);
    umask(mask);
    return 0666 & ~mask;
}

static int open_regular(tly_output *output, const char *path, const struct stat *older,
                        tly_report *report)
{
    /* A link stays a link: what it leads to is replaced, or made. */
    output->path = older ? realpath(path, NULL) : end_of_links(path);
    output->replaces = older != NULL;
    output->mode = older ? older->st_mode & 0777 : mode_of_new(); /* no bit that gives rights */
    if (!output->path || (older && access(path, W_OK) != 0) ||
        (open_nameless(output) != 0 && make_beside(output, open_named) != 0)) {
        int status = refuse(output, report);
        free(output->path);
        output->path = NULL;
        return status;
    }
    return EXIT_DONE;
}

int tly_output_open(tly_output *output, const char *path, tly_report *report)
{
    struct stat older;
    int standard = strcmp(path, "-") == 0;
    int exists = !standard && stat(path, &older) == 0;
    int absent = !standard && !exists && errno == ENOENT;
    memset(output, 0, sizeof *output);
    output->name = standard ? "standard output" : path;
    output->fd = -1;
    if (absent || (exists && S_ISREG(older.st_mode))) {
        return open_regular(output, path, exists ? &older : NULL, report);
    }
    if (standard || exists) {
        output->fd = standard ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);
    }
    return output->fd < 0 ? refuse(output, report) : EXIT_DONE;
}

int tly_output_is_terminal(const char *path)
{
    struct stat facts;
    if (strcmp(path, "-") == 0) {
        return isatty(STDOUT_FILENO);
    }
    if (stat(path, &facts) != 0 || !S_ISCHR(facts.st_mode)) {
        return 0;
    }
    const int fd = open(path, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    const int found = fd >= 0 && isatty(fd);
    if (fd >= 0) {
        close(fd);
    }
    return found;
}

int tly_output_write(tly_output *output, const void *data, size_t bytes, tly_report *report)
{
    for (size_t done = 0; done < bytes;) {
        size_t piece = bytes - done < LARGEST_WRITE ? bytes - done : LARGEST_WRITE;
        ssize_t wrote = write(output->fd, (const char *)data + done, piece);
        if (wrote < 0 && errno != EINTR) {
            return refuse(output, report);
        }
        done += wrote > 0 ? (size_t)wrote : 0;
        tly_progress_at(done);
    }
    output->bytes += bytes;
    return EXIT_DONE;
}

/* ---- finishing: 0, or -1 with errno ---- */

/* The file gets its mode and, where that is worth it, is on the disk. */
static int settle(const tly_output *output)
{
    /* A file whose mode cannot be kept is still the result. */
    (void)!fchmod(output->fd, output->mode);
    if (output->bytes > SYNCED) {
        tly_progress("syncing", 0);
        if (fsync(output->fd) != 0) {
            return -1;
        }
    }
    /* What closing has to say, before the file takes its place. */
    int other = dup(output->fd);
    return other >= 0 ? close(other) : 0;
}

/* Goes on with a named copy, where a file without a name cannot get one. */
static int copy_to_named(tly_output *output)
{
    int from = output->fd;
    ssize_t moved = -1;
    off_t at = 0;
    if (make_beside(output, open_named) == 0) {
        do {
            moved = sendfile(output->fd, from, &at, LARGEST_WRITE);
        } while (moved > 0);
    }
    if (output->fd != from) {
        int reason = errno;
        close(from);
        errno = reason;
    }
    return moved == 0 ? settle(output) : -1;
}

static int forbidden(int reason)
{
    return reason == EPERM || reason == EACCES || reason == EOPNOTSUPP || reason == ENOSYS ||
           reason == EXDEV;
}

/* A file without a name gets the path's, or one beside it where there is an older file. */
static int give_name(tly_output *output)
{
    int given = output->replaces ? -1 : link_to(output, output->path);
    if (given != 0 && (output->replaces || errno == EEXIST)) {
        given = make_beside(output, link_named);
    }
    return given != 0 && forbidden(errno) ? copy_to_named(output) : given;
}

static int publish(tly_output *output)
{
    if (settle(output) != 0 || (!output->temporary && give_name(output) != 0)) {
        return -1;
    }
    return output->temporary ? rename(output->temporary, output->path) : 0;
}

/* Closes and forgets everything. */
static int release(tly_output *output)
{
    int closed = output->fd > STDOUT_FILENO ? close(output->fd) : 0;
    output->fd = -1;
    drop_name(output);
    free(output->path);
    output->path = NULL;
    return closed;
}

int tly_output_finish(tly_output *output, tly_report *report)
{
    if (output->path && publish(output) != 0) {
        int status = refuse(output, report);
        tly_output_drop(output);
        return status;
    }
    int direct = output->path == NULL;
    return release(output) != 0 && direct ? refuse(output, report) : EXIT_DONE;
}

void tly_output_drop(tly_output *output)
{
    if (output->temporary) {
        unlink(output->temporary);
    }
    release(output);
}

int tly_output_text(const char *path, const char *text, size_t bytes, tly_report *report)
{
    tly_output output;
    int status = tly_output_open(&output, path, report);
    if (status) {
        return status;
    }
    status = tly_output_write(&output, text, bytes, report);
    if (status) {
        tly_output_drop(&output);
        return status;
    }
    return tly_output_finish(&output, report);
}
