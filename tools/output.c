/*
 * Writing a result: whole or not at all. A regular file is written beside its place and renamed
 * into it, so that a reader sees the older file or the new one, and a failure leaves the older
 * one; an interrupted command takes its unfinished file away. Devices, pipes and standard output
 * are written directly.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LARGEST_WRITE ((size_t)16 << 20) /* so that progress is seen */

static const int interrupts[] = { SIGINT, SIGTERM, SIGHUP };

static char *volatile unfinished;

static void remove_unfinished(int signal_number)
{
    if (unfinished) {
        unlink(unfinished);
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void watch_interrupts(char *temporary)
{
    unfinished = temporary;
    for (size_t i = 0; i < sizeof interrupts / sizeof *interrupts; i++) {
        struct sigaction older;
        /* What the parent had ignored (nohup) stays so. */
        if (sigaction(interrupts[i], NULL, &older) == 0 && older.sa_handler != SIG_IGN) {
            signal(interrupts[i], temporary ? remove_unfinished : SIG_DFL);
        }
    }
}

static int refuse(const tly_output *output, tly_report *report)
{
    return tly_refuse(report, EXIT_FILE, "file", "%s: cannot be written: %s", output->name,
                      strerror(errno));
}

/* Opens a file beside `path` under a name that nobody has. */
static int open_beside(tly_output *output)
{
    const char *slash = strrchr(output->path, '/');
    size_t folder = slash ? (size_t)(slash - output->path) + 1 : 0;
    size_t room = folder + 64;
    output->temporary = malloc(room);
    if (!output->temporary) {
        errno = ENOMEM;
        return -1;
    }
    memcpy(output->temporary, output->path, folder);
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        snprintf(output->temporary + folder, room - folder, ".tally-%ld-%u", (long)getpid(),
                 attempt);
        output->fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (output->fd >= 0 || errno != EEXIST) {
            break;
        }
    }
    if (output->fd < 0) {
        free(output->temporary);
        output->temporary = NULL;
    }
    return output->fd;
}

static int open_regular(tly_output *output, const char *path, const struct stat *older,
                        tly_report *report)
{
    /* A link stays a link: its target is replaced. */
    output->path = older ? realpath(path, NULL) : strdup(path);
    if (!output->path || (older && access(path, W_OK) != 0) || open_beside(output) < 0) {
        int status = errno == ENOMEM
                         ? tly_refuse(report, EXIT_MEMORY, "file", "%s: no memory for its name",
                                      output->name)
                         : refuse(output, report);
        free(output->path);
        output->path = NULL;
        return status;
    }
    if (older) {
        /* A file whose mode cannot be kept is still the result. */
        (void)!fchmod(output->fd, older->st_mode & 07777);
    }
    watch_interrupts(output->temporary);
    return EXIT_DONE;
}

int tly_output_open(tly_output *output, const char *path, tly_report *report)
{
    struct stat older;
    int standard = strcmp(path, "-") == 0;
    int exists = !standard && stat(path, &older) == 0;
    memset(output, 0, sizeof *output);
    output->name = standard ? "standard output" : path;
    output->fd = -1;
    if (!standard && (!exists || S_ISREG(older.st_mode))) {
        return open_regular(output, path, exists ? &older : NULL, report);
    }
    output->fd = standard ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);
    return output->fd < 0 ? refuse(output, report) : EXIT_DONE;
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
    return EXIT_DONE;
}

/* Closes, and forgets the file beside, which no longer is there or no longer is unfinished. */
static int release(tly_output *output)
{
    int closed = output->fd > STDOUT_FILENO ? close(output->fd) : 0;
    output->fd = -1;
    return closed;
}

static void forget(tly_output *output)
{
    if (output->temporary) {
        watch_interrupts(NULL);
    }
    free(output->temporary);
    free(output->path);
    output->temporary = output->path = NULL;
}

int tly_output_finish(tly_output *output, tly_report *report)
{
    if (release(output) != 0 ||
        (output->temporary && rename(output->temporary, output->path) != 0)) {
        int status = refuse(output, report);
        tly_output_drop(output);
        return status;
    }
    forget(output);
    return EXIT_DONE;
}

void tly_output_drop(tly_output *output)
{
    release(output);
    if (output->temporary) {
        unlink(output->temporary);
    }
    forget(output);
}
