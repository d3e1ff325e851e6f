/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a tensor. Regular files are mapped, so that a huge one costs no copy; pipes and odd
 * alignments are read into memory. Guarantees that exactly the elements of the header are there:
 * a short or an overlong file is refused, before anything is computed.
 */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is read from a pipe at first: its header may promise more than memory holds. */
#define FIRST_PIECE ((size_t)64 << 20)

static int refuse(const tly_input *input, const char *what, tly_report *report)
{
    return tly_refuse(report, EXIT_FILE, "file", "%s: %s: %s", input->name, what, strerror(errno));
}

/* Reads until `bytes` are there or the file ends; the count, or -1 with errno. */
static int64_t read_up_to(int fd, char *to, size_t bytes, uint64_t before)
{
    size_t have = 0;
    while (have < bytes) {
        ssize_t got = read(fd, to + have, bytes - have);
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

static int pull(void *user, void *to, size_t bytes, tly_report *report)
{
    tly_input *input = user;
    int64_t got = read_up_to(input->fd, to, bytes, 0);
    if (got < 0) {
        return refuse(input, "cannot be read", report);
    }
    if ((size_t)got < bytes) {
        return tly_refuse(report, EXIT_FILE, "file", "%s: ends within the header of a .npy file",
                          input->name);
    }
    return EXIT_DONE;
}

static int check_length(const tly_input *input, int64_t bytes, int more, tly_report *report)
{
    if (bytes < input->npy.bytes) {
        return tly_refuse(report, EXIT_FILE, "file",
                          "%s: is short: %lld bytes of elements in place of %lld", input->name,
                          (long long)bytes, (long long)input->npy.bytes);
    }
    if (bytes > input->npy.bytes || more) {
        return tly_refuse(report, EXIT_FILE, "file",
                          "%s: is overlong: something follows its %lld bytes of elements",
                          input->name, (long long)input->npy.bytes);
    }
    return EXIT_DONE;
}

int tly_input_open(tly_input *input, const char *path, tly_report *report)
{
    int status;
    int standard = strcmp(path, "-") == 0;
    memset(input, 0, sizeof *input);
    input->name = standard ? "standard input" : path;
    input->seekable = -1;
    input->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (input->fd < 0) {
        return refuse(input, "cannot be opened", report);
    }
    status = tly_npy_read(pull, input, input->name, &input->npy, report);
    if (!status && fstat(input->fd, &input->facts) == 0 && S_ISREG(input->facts.st_mode)) {
        input->seekable = (int64_t)lseek(input->fd, 0, SEEK_CUR);
        status = check_length(input, (int64_t)input->facts.st_size - input->seekable, 0, report);
    }
    return status;
}

/* Maps the elements. 0 if only reading can bring them, as where they are not aligned. */
static int map_elements(tly_input *input)
{
    int64_t page = (int64_t)sysconf(_SC_PAGESIZE);
    int64_t skipped;
    if (input->seekable < 0 ||
        input->seekable % (int64_t)tally_dtype_bytes(input->npy.dtype) != 0) {
        return 0;
    }
    skipped = input->seekable % page;
    input->memory_bytes = (size_t)(input->npy.bytes + skipped);
    input->memory = mmap(NULL, input->memory_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_NORESERVE, input->fd, input->seekable - skipped);
    if (input->memory == MAP_FAILED) {
        input->memory = NULL;
        return 0;
    }
    input->mapped = 1;
    tly_watch_mapped(input->name, input->memory, input->memory_bytes);
    input->data = (char *)input->memory + skipped;
    return 1;
}

/* Moves what was read to twice the room. */
static int grow(tly_input *input, size_t wanted, tly_report *report)
{
    void *larger = tly_memory_get(wanted);
    if (!larger) {
        return tly_refuse(report, EXIT_MEMORY, "file", "%s: no memory for its %lld bytes",
                          input->name, (long long)input->npy.bytes);
    }
    if (input->memory) {
        memcpy(larger, input->memory, input->memory_bytes);
        tly_memory_free(input->memory, input->memory_bytes);
    }
    input->data = input->memory = larger;
    input->memory_bytes = wanted;
    return EXIT_DONE;
}

static int read_elements(tly_input *input, tly_report *report)
{
    size_t bytes = (size_t)input->npy.bytes, have = 0;
    size_t room = input->seekable >= 0 || bytes < FIRST_PIECE ? bytes : FIRST_PIECE;
    char next;
    int64_t got;
    int status;
    for (;;) {
        status = grow(input, room, report);
        if (status) {
            return status;
        }
        got = read_up_to(input->fd, (char *)input->data + have, room - have, have);
        if (got < 0) {
            return refuse(input, "cannot be read", report);
        }
        have += (size_t)got;
        if (have < room || room == bytes) {
            break;
        }
        room = room > bytes / 2 ? bytes : room * 2;
    }
    got = have < bytes ? 0 : read_up_to(input->fd, &next, 1, have);
    if (got < 0) {
        return refuse(input, "cannot be read", report);
    }
    return check_length(input, (int64_t)have, got == 1, report);
}

int tly_input_load(tly_input *input, tly_report *report)
{
    if (input->npy.bytes > 0 && map_elements(input)) {
        return EXIT_DONE;
    }
    tly_progress("reading", (uint64_t)input->npy.bytes);
    return read_elements(input, report);
}

int tly_input_check(const tly_input *input, tly_report *report)
{
    const struct stat *then = &input->facts;
    struct stat now;
    if (input->seekable < 0) {
        return EXIT_DONE;
    }
    if (fstat(input->fd, &now) != 0) {
        return refuse(input, "cannot be looked at", report);
    }
    return now.st_size == then->st_size && now.st_mtim.tv_sec == then->st_mtim.tv_sec &&
                   now.st_mtim.tv_nsec == then->st_mtim.tv_nsec
               ? EXIT_DONE
               : tly_refuse(report, EXIT_FILE, "file", "%s: was changed while it was read",
                            input->name);
}

void tly_input_close(tly_input *input)
{
    if (input->mapped) {
        tly_forget_mapped();
        munmap(input->memory, input->memory_bytes);
    } else {
        tly_memory_free(input->memory, input->memory_bytes);
    }
    if (input->fd > STDIN_FILENO) {
        close(input->fd);
    }
}
