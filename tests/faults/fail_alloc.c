/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be preloaded: malloc and its kin, and mmap, fail when they are told to; see fail_alloc.h. A
 * program that knows nothing of this is told by the environment: TALLY_FAULT="AT,ON,WHICH", and the
 * file that TALLY_FAULT_REPORT names gets a byte when the first allocation fails.
 */
#include "fail_alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- who asks ---- */

typedef struct module {
    uintptr_t begin, end;
    int which;
} module;

enum { MODULES = 256 };
static module modules[MODULES];
static atomic_int module_count;
static pthread_mutex_t module_lock = PTHREAD_MUTEX_INITIALIZER;

/* Beginnings of file names; what has none here is somebody else's, and never fails. */
static const struct {
    const char *name;
    int which;
} known[] = {
    { "libtally-llvm", FAULT_THEIRS }, { "libtally-spirv", FAULT_THEIRS },
    { "libtally", FAULT_OURS },        { "libc.so", FAULT_SYSTEM },
    { "ld-", FAULT_SYSTEM },
};

static int kind_of(const char *path)
{
    if (path == NULL || path[0] == 0) {
        return FAULT_OURS; /* the program */
    }
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strncmp(name, known[i].name, strlen(known[i].name)) == 0) {
            return known[i].which;
        }
    }
    return 0;
}

typedef struct search {
    uintptr_t address;
    module found;
} search;

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    search *s = data;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t end = begin + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && s->address >= begin && s->address < end) {
            s->found = (module){ begin, end, kind_of(info->dlpi_name) };
            return 1;
        }
    }
    return 0;
}

static int who(const void *caller)
{
    uintptr_t address = (uintptr_t)caller;
    int count = atomic_load_explicit(&module_count, memory_order_acquire);
    for (int i = 0; i < count; i++) {
        if (address >= modules[i].begin && address < modules[i].end) {
            return modules[i].which;
        }
    }
    search s = { .address = address };
    dl_iterate_phdr(look, &s);
    pthread_mutex_lock(&module_lock);
    count = atomic_load_explicit(&module_count, memory_order_relaxed);
    if (s.found.end != 0 && count < MODULES) {
        modules[count] = s.found;
        atomic_store_explicit(&module_count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&module_lock);
    return s.found.which;
}

/* ---- when it fails ---- */

static atomic_long counted;
static atomic_long fail_at = -1;
static atomic_int fail_on, fail_which; /* fail_which 0: nothing is counted */
static const char *report;

EXPORT void tally_fault_arm(long at, int on, int which);
EXPORT long tally_fault_disarm(void);

void tally_fault_arm(long at, int on, int which)
{
    counted = 0;
    fail_at = at;
    fail_on = on;
    fail_which = which;
}

long tally_fault_disarm(void)
{
    fail_which = 0;
    return counted;
}

static int fails_as(int kind)
{
    if ((atomic_load_explicit(&fail_which, memory_order_relaxed) & kind) == 0) {
        return 0;
    }
    const long call = atomic_fetch_add(&counted, 1);
    const int failed = fail_at >= 0 && (call == fail_at || (fail_on && call > fail_at));
    if (failed && report != NULL && call == fail_at) {
        int fd = open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (fd >= 0) {
            (void)!write(fd, "x", 1);
            close(fd);
        }
    }
    return failed;
}

static int fails(const void *caller)
{
    /* Nobody is looked for before that is wanted. */
    return atomic_load_explicit(&fail_which, memory_order_relaxed) != 0 && fails_as(who(caller));
}

static int fails_map(const void *caller)
{
    return (atomic_load_explicit(&fail_which, memory_order_relaxed) & FAULT_MAPS) != 0 &&
           (who(caller) & (FAULT_OURS | FAULT_THEIRS)) != 0 && fails_as(FAULT_MAPS);
}

__attribute__((constructor)) static void by_environment(void)
{
    const char *text = getenv("TALLY_FAULT");
    report = getenv("TALLY_FAULT_REPORT");
    long at;
    int on, which;
    if (text != NULL && sscanf(text, "%ld,%d,%d", &at, &on, &which) == 3) {
        tally_fault_arm(at, on, which);
    }
}

/* ---- the functions ---- */

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void (*free)(void *);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
} next;

/* dlsym allocates before there is anything to do that with. */
static _Alignas(16) unsigned char early[1 << 16];
static size_t early_used;

static void *take_early(size_t bytes)
{
    size_t whole = (bytes + 15) / 16 * 16;
    void *block = early + early_used;
    early_used += whole;
    return early_used <= sizeof early ? block : NULL;
}

static int is_early(const void *block)
{
    return (const unsigned char *)block >= early &&
           (const unsigned char *)block < early + sizeof early;
}

static int resolving;

static int resolve(void)
{
    if (next.malloc != NULL) {
        return 1;
    }
    if (resolving) {
        return 0;
    }
    resolving = 1;
    const struct {
        const char *name;
        void *place;
    } all[] = {
        { "calloc", &next.calloc },
        { "realloc", &next.realloc },
        { "posix_memalign", &next.posix_memalign },
        { "aligned_alloc", &next.aligned_alloc },
        { "free", &next.free },
        { "mmap", &next.mmap },
        { "malloc", &next.malloc },
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        void *symbol = dlsym(RTLD_NEXT, all[i].name);
        memcpy(all[i].place, &symbol, sizeof symbol);
    }
    resolving = 0;
    return 1;
}

#define CALLER __builtin_return_address(0)

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

EXPORT void *malloc(size_t bytes)
{
    if (!resolve()) {
        return take_early(bytes);
    }
    return fails(CALLER) ? no_memory() : next.malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    if (!resolve()) {
        return take_early(count * bytes);
    }
    return fails(CALLER) ? no_memory() : next.calloc(count, bytes);
}

EXPORT void *realloc(void *block, size_t bytes)
{
    if (!resolve()) {
        return take_early(bytes);
    }
    return fails(CALLER) ? no_memory() : next.realloc(block, bytes);
}

EXPORT int posix_memalign(void **block, size_t align, size_t bytes)
{
    resolve();
    return fails(CALLER) ? ENOMEM : next.posix_memalign(block, align, bytes);
}

EXPORT void *aligned_alloc(size_t align, size_t bytes)
{
    resolve();
    return fails(CALLER) ? no_memory() : next.aligned_alloc(align, bytes);
}

static void *map(const void *caller, void *at, size_t bytes, int protection, int flags, int fd,
                 off_t offset)
{
    resolve();
    if (fails_map(caller)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return next.mmap(at, bytes, protection, flags, fd, offset);
}

/* The header may call the one by the other's name. off_t has 64 bits on the machines that Tally is
 * made for, so that both are the same. */
#define MAP(name, symbol) \
    EXPORT void *name(void *at, size_t bytes, int protection, int flags, int fd, \
                      off_t offset) __asm__(symbol); \
    void *name(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) \
    { \
        return map(CALLER, at, bytes, protection, flags, fd, offset); \
    }
MAP(map_32, "mmap")
MAP(map_64, "mmap64")

EXPORT void free(void *block)
{
    if (!is_early(block) && resolve()) {
        next.free(block);
    }
}
