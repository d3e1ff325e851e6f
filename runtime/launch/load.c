/* SPDX-License-Identifier: Apache-2.0 */
/*
 * W^X loading of generated code: an anonymous mapping is filled while writable, then made
 * executable and read-only for good. Where a policy refuses that (PR_SET_MDWE, SELinux), a sealed
 * file in memory is mapped executable from the start. Page alignment of the start keeps the
 * alignment that the blob's constants have relative to its first byte.
 */
#include "load.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../host/error.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* Linux 6.3 */
#endif

_Static_assert(sizeof(tly_entry) == sizeof(void *), "code and data pointers are alike");

/* The mapping, or MAP_FAILED with errno. */
static void *map_pages(const unsigned char *blob, size_t bytes, size_t mapped)
{
    void *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return base;
    }
    memcpy(base, blob, bytes);
    if (mprotect(base, mapped, PROT_READ | PROT_EXEC) != 0) {
        int reason = errno;
        munmap(base, mapped);
        errno = reason;
        return MAP_FAILED;
    }
    return base;
}

/* A file in memory; beyond its limit, writing would be a signal. */
static int open_file(size_t bytes)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes) {
        errno = EFBIG;
        return -1;
    }
    int fd = memfd_create("tally", flags | MFD_EXEC);
    return fd >= 0 || errno != EINVAL ? fd : memfd_create("tally", flags);
}

static int fill(int fd, const unsigned char *blob, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t wrote = write(fd, blob + done, bytes - done);
        if (wrote < 0 && errno != EINTR) {
            return -1;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

/* The mapping, or MAP_FAILED with errno. */
static void *map_file(const unsigned char *blob, size_t bytes, size_t mapped)
{
    int fd = open_file(bytes);
    void *base = MAP_FAILED;
    if (fd >= 0 && fill(fd, blob, bytes) == 0) {
        base = mmap(NULL, mapped, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) {
        int reason = errno;
        close(fd);
        errno = reason;
    }
    return base;
}

static tally_status refuse(int pages, int file, size_t bytes, tally_error *error)
{
    if (pages == ENOMEM || file == ENOMEM) {
        return tly_out_of_memory(error, "code", bytes);
    }
    char first[64];
    strncpy(first, strerror(pages), sizeof first - 1);
    first[sizeof first - 1] = 0;
    tly_fail(error, TALLY_UNSUPPORTED, "memory",
             "the system refuses executable memory (pages: %s; a file in memory: %s)", first,
             strerror(file));
    tly_error_hint(error, "a security policy of this process may forbid generated code");
    return TALLY_UNSUPPORTED;
}

tally_status tly_code_load(const unsigned char *blob, size_t bytes, tly_code *code,
                           tally_error *error)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes == 0 || bytes > SIZE_MAX - page) {
        return tly_fail(error, TALLY_INTERNAL, "memory", "%zu bytes of code cannot be loaded",
                        bytes);
    }
    const size_t mapped = (bytes + page - 1) / page * page;
    void *base = map_pages(blob, bytes, mapped);
    if (base == MAP_FAILED) {
        int reason = errno;
        base = reason != ENOMEM ? map_file(blob, bytes, mapped) : base;
        if (base == MAP_FAILED) {
            return refuse(reason, errno, mapped, error);
        }
    }
    __builtin___clear_cache((char *)base, (char *)base + bytes);
    memcpy(&code->entry, &base, sizeof base);
    code->bytes = mapped;
    return TALLY_OK;
}

void tly_code_unload(tly_code *code)
{
    if (code->entry == NULL) {
        return;
    }
    void *base;
    memcpy(&base, &code->entry, sizeof base);
    munmap(base, code->bytes);
    *code = (tly_code){ 0 };
}
