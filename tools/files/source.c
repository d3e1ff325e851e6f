/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of inputs; see source.h. */
#include "source.h"

#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What is read from a pipe at first: a header may promise more than memory holds. */
#define FIRST_PIECE ((size_t)64 << 20)

static int refuse(const tly_source *source, const char *what, tly_report *report)
{
    return tly_refuse(report, EXIT_FILE, "file", "%s: %s: %s", source->name, what, strerror(errno));
}

/* Reads until `bytes` are there or the file ends; the count, or -1 with errno. */
static int64_t read_up_to(tly_source *source, char *to, size_t bytes, uint64_t before)
{
    size_t have = source->head_bytes - source->head_used;
    have = have < bytes ? have : bytes;
    memcpy(to, source->head + source->head_used, have);
    source->head_used += have;
    while (have < bytes) {
        ssize_t got = read(source->fd, to + have, bytes - have);
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        if (got == 0) {
            break;
        }
        have += got > 0 ? (size_t)got : 0;
        tly_progress_at(before + have);
    }
    return (int64_t)have;
}

int tly_source_pull(void *user, void *to, size_t bytes, tly_report *report)
{
    tly_source *source = user;
    int64_t got = read_up_to(source, to, bytes, 0);
    if (got < 0) {
        return refuse(source, "cannot be read", report);
    }
    if ((size_t)got < bytes) {
        return tly_refuse(report, EXIT_FILE, "file", "%s: ends within the header of a .npy file",
                          source->name);
    }
    return EXIT_DONE;
}

int tly_source_open(tly_source *source, const char *path, int *absent, tly_report *report)
{
    const int standard = strcmp(path, "-") == 0;
    char head[TLY_HEAD];
    memset(source, 0, sizeof *source);
    source->name = standard ? "standard input" : path;
    source->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    *absent = source->fd < 0 && (errno == ENOENT || errno == ENOTDIR);
    if (source->fd < 0) {
        return refuse(source, "cannot be opened", report);
    }
    source->regular = fstat(source->fd, &source->facts) == 0 && S_ISREG(source->facts.st_mode);
    const int64_t got = read_up_to(source, head, sizeof head, 0);
    if (got < 0) {
        return refuse(source, "cannot be read", report);
    }
    memcpy(source->head, head, (size_t)got);
    source->head_bytes = (size_t)got;
    return EXIT_DONE;
}

/* Where the next byte of a regular file stands. */
static int64_t position(const tly_source *source)
{
    return (int64_t)lseek(source->fd, 0, SEEK_CUR) -
           (int64_t)(source->head_bytes - source->head_used);
}

int64_t tly_source_left(const tly_source *source)
{
    const int64_t left = source->regular ? (int64_t)source->facts.st_size - position(source) : -1;
    return left < 0 && source->regular ? 0 : left;
}

/* Maps the next bytes of a regular file. 0 if only reading can bring them, as where elements would
 * not be aligned. */
static int map(tly_source *source, int64_t bytes, size_t element, char **data)
{
    const int64_t page = (int64_t)sysconf(_SC_PAGESIZE), at = position(source);
    const int64_t skipped = at % page;
    if (bytes == 0 || at % (int64_t)element != 0) {
        return 0;
    }
    source->memory_bytes = (size_t)(bytes + skipped);
    source->memory = mmap(NULL, source->memory_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_NORESERVE, source->fd, at - skipped);
    if (source->memory == MAP_FAILED) {
        source->memory = NULL;
        return 0;
    }
    source->mapped = 1;
    tly_watch_mapped(source->name, source->memory, source->memory_bytes);
    *data = (char *)source->memory + skipped;
    return 1;
}

/* Moves what was read to more room. */
static int grow(tly_source *source, size_t have, size_t wanted, tly_report *report)
{
    void *larger = tly_memory_get(wanted);
    if (!larger) {
        return tly_refuse(report, EXIT_MEMORY, "file", "%s: no memory for %zu bytes of it",
                          source->name, wanted);
    }
    if (source->memory) {
        memcpy(larger, source->memory, have);
        tly_memory_free(source->memory, source->memory_bytes);
    }
    source->memory = larger;
    source->memory_bytes = wanted;
    return EXIT_DONE;
}

/* Reads up to `wanted` bytes; `sure`: as many are there. */
static int read_all(tly_source *source, size_t wanted, int sure, size_t *have, tly_report *report)
{
    size_t room = sure || wanted < FIRST_PIECE ? wanted : FIRST_PIECE;
    for (*have = 0;;) {
        const int status = grow(source, *have, room, report);
        if (status) {
            return status;
        }
        const int64_t got = read_up_to(source, (char *)source->memory + *have, room - *have, *have);
        if (got < 0) {
            return refuse(source, "cannot be read", report);
        }
        *have += (size_t)got;
        if (*have < room || room == wanted) {
            return EXIT_DONE;
        }
        room = room > wanted / 2 ? wanted : room * 2;
    }
}

int tly_source_bring(tly_source *source, int64_t wanted, size_t element, char **data,
                     int64_t *bytes, int *more, tly_report *report)
{
    const int64_t left = tly_source_left(source);
    const int64_t most = source->regular && left < wanted ? left : wanted;
    char next;
    size_t have;
    *bytes = most;
    *more = source->regular && left > wanted;
    if (source->regular && map(source, most, element, data)) {
        return EXIT_DONE;
    }
    tly_progress("reading", most == TLY_TO_THE_END ? 0 : (uint64_t)most);
    int status = read_all(source, (size_t)most, source->regular, &have, report);
    if (status) {
        return status;
    }
    *data = source->memory;
    *bytes = (int64_t)have;
    if ((int64_t)have == wanted) {
        const int64_t got = read_up_to(source, &next, 1, have);
        *more = got == 1;
        status = got < 0 ? refuse(source, "cannot be read", report) : EXIT_DONE;
    }
    return status;
}

void tly_source_release(tly_source *source)
{
    if (source->mapped) {
        tly_forget_mapped(source->memory);
        munmap(source->memory, source->memory_bytes);
    } else {
        tly_memory_free(source->memory, source->memory_bytes);
    }
    source->memory = NULL;
    source->mapped = 0;
}

int tly_source_check(const tly_source *source, tly_report *report)
{
    const struct stat *then = &source->facts;
    struct stat now;
    if (!source->regular) {
        return EXIT_DONE;
    }
    if (fstat(source->fd, &now) != 0) {
        return refuse(source, "cannot be looked at", report);
    }
    return now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
                   now.st_mtim.tv_nsec == then->st_mtim.tv_nsec
               ? EXIT_DONE
               : tly_refuse(report, EXIT_FILE, "file", "%s: was changed while it was read",
                            source->name);
}

void tly_source_close(tly_source *source)
{
    tly_source_release(source);
    if (source->fd > STDIN_FILENO) {
        close(source->fd);
    }
}
