/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of the disk cache; see folder.h. */
#include "folder.h"

#include "entry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What is being written has a name of its own; after so long nobody writes it any more. */
#define TEMPORARY_NAME (TLY_FOLDER_NAME + 24)
enum { ABANDONED_S = 600, BLOCK = 4096 };

/* --- trust ----------------------------------------------------------------------------------- */

static const char *distrust(const struct stat *facts)
{
    if (facts->st_uid != 0 && facts->st_uid != geteuid()) {
        return "it belongs to another user";
    }
    return facts->st_mode & (S_IWGRP | S_IWOTH) ? "others may write to it" : NULL;
}

/* The folder itself and the one around it, ~/.cache where there is none yet: a path that leads
 * nowhere at all is somebody's mistake. */
static int make_folder(const char *path)
{
    if (mkdir(path, 0700) == 0 || errno != ENOENT) {
        return errno == EEXIST;
    }
    char *around = strdup(path);
    char *slash = around != NULL ? strrchr(around, '/') : NULL;
    if (slash != NULL && slash != around) {
        *slash = 0;
        (void)mkdir(around, 0700);
    }
    free(around);
    return mkdir(path, 0700) == 0;
}

int tly_folder_open(const char *path, int create, const char **why)
{
    const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat facts;
    int folder = open(path, how);
    if (folder < 0 && errno == ENOENT && create) {
        (void)make_folder(path);
        folder = open(path, how);
    }
    if (folder < 0) {
        *why = errno == ENOENT                      ? NULL
               : errno == ENOTDIR || errno == ELOOP ? "it is a link, or no folder"
                                                    : strerror(errno);
        return -1;
    }
    *why = fstat(folder, &facts) != 0 ? "its owner is not known" : distrust(&facts);
    if (*why != NULL) {
        close(folder);
        return -1;
    }
    return folder;
}

/* --- reading --------------------------------------------------------------------------------- */

static void *read_all(int file, size_t count)
{
    char *bytes = malloc(count > 0 ? count : 1);
    for (size_t done = 0; bytes != NULL && done < count;) {
        ssize_t got = read(file, bytes + done, count - done);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            free(bytes);
            return NULL;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return bytes;
}

int tly_file_open(int folder, const char *name, uint64_t *bytes, const char **why)
{
    struct stat facts;
    /* A pipe of this name must not hold up its opener. */
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    *why = NULL;
    if (file < 0) {
        *why = errno == ENOENT ? NULL : errno == ELOOP ? "it is a link" : strerror(errno);
        return -1;
    }
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        *why = "it is no file";
    } else {
        *why = distrust(&facts);
        *bytes = (uint64_t)facts.st_size;
    }
    if (*why != NULL) {
        close(file);
        return -1;
    }
    return file;
}

void *tly_folder_read(int folder, const char *name, int use, size_t *count, const char **why)
{
    const struct timespec now[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_nsec = UTIME_NOW } };
    uint64_t length;
    void *bytes = NULL;
    int file = tly_file_open(folder, name, &length, why);
    if (file < 0) {
        return NULL;
    }
    if (length > TLY_ENTRY_MOST) {
        *why = "its length";
    } else {
        *count = (size_t)length;
        bytes = read_all(file, *count);
        if (bytes == NULL) {
            *why = "it cannot be read";
        } else if (use) {
            (void)futimens(file, now);
        }
    }
    close(file);
    return bytes;
}

uint64_t tly_folder_bytes(uint64_t count)
{
    return (count + BLOCK - 1) / BLOCK * BLOCK;
}

/* --- names ----------------------------------------------------------------------------------- */

void tly_folder_name(char name[TLY_FOLDER_NAME], uint64_t hash)
{
    snprintf(name, TLY_FOLDER_NAME, "%016" PRIx64 ".tally", hash);
}

/* 1: an entry's; 2: a temporary one's; 0: another. */
static int kind_of(const char *name)
{
    static const char digits[] = "0123456789abcdef";
    if (strspn(name, digits) != 16) {
        return 0;
    }
    if (strcmp(name + 16, ".tally") == 0) {
        return 1;
    }
    return name[16] == '.' && strspn(name + 17, digits) == 16 && strcmp(name + 33, ".tmp") == 0 ? 2
                                                                                                : 0;
}

/* --- writing --------------------------------------------------------------------------------- */

/* A new file that nobody else has. */
static int open_temporary(int folder, const char *name, char temporary[TEMPORARY_NAME])
{
    static atomic_uint turn;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (int tries = 0; tries < 4; tries++) {
        uint64_t own = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        own = (own ^ (uint64_t)getpid() << 40) + ((uint64_t)atomic_fetch_add(&turn, 1) << 20);
        snprintf(temporary, TEMPORARY_NAME, "%.16s.%016" PRIx64 ".tmp", name, own);
        int file = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                          0600);
        if (file >= 0 || errno != EEXIST) {
            return file;
        }
    }
    return -1;
}

static int write_all(int file, const char *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t wrote = write(file, bytes + done, count - done);
        if (wrote == 0 || (wrote < 0 && errno != EINTR)) {
            return 0;
        }
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return 1;
}

int tly_folder_write(int folder, const char *name, const void *bytes, size_t count)
{
    char temporary[TEMPORARY_NAME];
    struct rlimit limit;
    /* Beyond a limit of file sizes, writing would be a signal. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < count) {
        return 0;
    }
    int file = open_temporary(folder, name, temporary);
    if (file < 0) {
        return 0;
    }
    /* No fsync: what a crash of the machine leaves incomplete, the checksum finds. */
    int written = write_all(file, bytes, count);
    written = close(file) == 0 && written;
    if (written && renameat(folder, temporary, folder, name) == 0) {
        return 1;
    }
    (void)unlinkat(folder, temporary, 0);
    return 0;
}

/* --- all of them ----------------------------------------------------------------------------- */

static int older_first(const void *a, const void *b)
{
    const tly_folder_file *x = a, *y = b;
    if (x->used != y->used) {
        return x->used < y->used ? -1 : 1;
    }
    return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

static int add(tly_folder_file **files, size_t *count, const char *name, const struct stat *facts)
{
    if ((*count & (*count - 1)) == 0) { /* room for the next power of two */
        size_t room = *count > 0 ? *count * 2 : 1;
        tly_folder_file *more = realloc(*files, room * sizeof *more);
        if (more == NULL) {
            return 0;
        }
        *files = more;
    }
    tly_folder_file *file = &(*files)[(*count)++];
    strcpy(file->name, name);
    file->bytes = tly_folder_bytes((uint64_t)facts->st_size);
    file->used = facts->st_mtim.tv_sec;
    file->used_ns = facts->st_mtim.tv_nsec;
    return 1;
}

static DIR *open_list(int folder)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 ? fdopendir(again) : NULL;
    if (list == NULL && again >= 0) {
        close(again);
    }
    return list;
}

int tly_folder_list(int folder, tly_folder_file **files, size_t *count)
{
    DIR *list = open_list(folder);
    const time_t now = time(NULL);
    int whole = list != NULL;
    *files = NULL;
    *count = 0;
    for (const struct dirent *next; whole && (next = readdir(list)) != NULL;) {
        struct stat facts;
        int kind = kind_of(next->d_name);
        if (kind == 0 || fstatat(folder, next->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (kind == 1) {
            whole = add(files, count, next->d_name, &facts);
        } else if (facts.st_mtim.tv_sec < now - ABANDONED_S) {
            (void)unlinkat(folder, next->d_name, 0);
        }
    }
    if (list != NULL) {
        closedir(list);
    }
    if (!whole) {
        free(*files);
        *files = NULL;
        *count = 0;
        return 0;
    }
    if (*count > 1) {
        qsort(*files, *count, sizeof **files, older_first);
    }
    return 1;
}

size_t tly_folder_trim(int folder, uint64_t limit)
{
    tly_folder_file *files;
    size_t count, removed = 0;
    uint64_t total = 0;
    if (!tly_folder_list(folder, &files, &count)) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        total += files[i].bytes;
    }
    for (size_t i = 0; i < count && total > limit; i++) {
        removed += unlinkat(folder, files[i].name, 0) == 0;
        total -= files[i].bytes;
    }
    free(files);
    return removed;
}
