/* SPDX-License-Identifier: Apache-2.0 */
/* Opening Tally's own libraries; see library.h. */
#include "library.h"

#include "error.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file that this code is part of, found once. */
typedef struct own_file {
    char *folder; /* absolute, resolved, with its last slash; NULL: not found yet */
    uid_t owner;
} own_file;

static const char anchor = 1; /* an address within that file */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static own_file own; /* guarded by lock until it is found */

int tly_raised(void)
{
    return getauxval(AT_SECURE) != 0;
}

/* Only the dynamic linker's programs name it. Where the linker is called as a program, it sets
 * AT_PHDR to the headers of the program that it was given. */
int tly_can_open(void)
{
    const ElfW(Phdr) *header = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    const unsigned long count = header != NULL ? getauxval(AT_PHNUM) : 0;
    int named = count == 0;
    for (unsigned long i = 0; i < count; i++) {
        named |= header[i].p_type == PT_INTERP;
    }
    return named;
}

/* ---- where this code lies ---- */

static tally_status not_found(const char *name, const char *why, tally_error *error)
{
    return tly_fail(error, TALLY_NO_GENERATOR, "device",
                    "%s cannot be looked for: where Tally lies is not known: %s", name, why);
}

/* The path in a line of /proc/self/maps, if its range holds the anchor; NULL otherwise. */
static char *path_in(char *line)
{
    uintptr_t first, end;
    char *path = strchr(line, '/');
    if (path == NULL || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &end) != 2 ||
        (uintptr_t)&anchor < first || (uintptr_t)&anchor >= end) {
        return NULL;
    }
    path[strcspn(path, "\n")] = 0;
    return path;
}

/* What the kernel has mapped at the anchor: absolute and resolved, whatever name the program or
 * the library was called by. An allocated copy, or NULL with errno; ENOENT where there is no such
 * list. */
static char *mapped_path(void)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL) {
        return NULL;
    }
    char *line = NULL, *path = NULL;
    size_t room = 0;
    errno = 0;
    while (path == NULL && getline(&line, &room, maps) >= 0) {
        path = path_in(line);
    }
    int reason = errno != 0 ? errno : ENOENT;
    path = path != NULL ? strdup(path) : NULL;
    reason = errno == ENOMEM ? ENOMEM : reason;
    free(line);
    fclose(maps);
    errno = reason;
    return path;
}

/* What the dynamic linker knows, where there is no /proc: good enough if it is absolute, but for a
 * program, whose name is argv[0]. */
static char *linked_path(void)
{
    Dl_info here, program;
    int known = dladdr(&anchor, &here) != 0 && here.dli_fname != NULL && here.dli_fname[0] == '/' &&
                dladdr((void *)getauxval(AT_PHDR), &program) != 0 &&
                program.dli_fbase != here.dli_fbase;
    errno = ENOENT;
    return known ? realpath(here.dli_fname, NULL) : NULL;
}

static tally_status find_own(const char *name, tally_error *error)
{
    char *path = mapped_path();
    if (path == NULL && errno == ENOENT) {
        path = linked_path();
    }
    if (path == NULL) {
        return not_found(name, strerror(errno), error);
    }
    struct stat facts;
    own.owner = stat(path, &facts) == 0 ? facts.st_uid : 0;
    strrchr(path, '/')[1] = 0;
    own.folder = path;
    return TALLY_OK;
}

static tally_status know_own(const char *name, tally_error *error)
{
    pthread_mutex_lock(&lock);
    tally_status status = own.folder != NULL ? TALLY_OK : find_own(name, error);
    pthread_mutex_unlock(&lock);
    return status;
}

/* ---- who could have put something there ---- */

static int safe_entry(const char *path)
{
    struct stat facts;
    int raised = tly_raised();
    if (lstat(path, &facts) != 0 ||
        (facts.st_uid != 0 && facts.st_uid != own.owner && (raised || facts.st_uid != geteuid()))) {
        return 0;
    }
    /* In a sticky folder, such as /tmp, strangers can add but not replace. A user's own group is
     * often trusted with everything. */
    mode_t others = raised ? S_IWGRP | S_IWOTH : S_IWOTH;
    return (facts.st_mode & others) == 0 || (S_ISDIR(facts.st_mode) && facts.st_mode & S_ISVTX);
}

/* `path` is absolute and resolved, and is put together again. */
static int safe_path(char *path)
{
    int safe = safe_entry("/") && safe_entry(path);
    for (char *slash = strchr(path + 1, '/'); safe && slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        safe = safe_entry(path);
        *slash = '/';
    }
    return safe;
}

/* ---- opening ---- */

/* What dlopen says, without the path that it begins with: the reason must fit into the message. */
static const char *reason_of(const char *path)
{
    const char *why = dlerror();
    size_t length = strlen(path);
    if (why == NULL) {
        return "it is no library of Tally";
    }
    if (strncmp(why, path, length) == 0 && why[length] == ':') {
        why += length + 1 + (why[length + 1] == ' ');
    }
    return why;
}

static tally_status open_resolved(const char *path, const char *symbol, void **found,
                                  tally_error *error)
{
    if (!tly_can_open()) {
        tly_fail(error, TALLY_NO_GENERATOR, "device",
                 "%s cannot be opened by a program that is linked with -static",
                 strrchr(path, '/') + 1);
        tly_error_hint(error, "link libtally.a without -static, or take the kernel from a pack");
        return TALLY_NO_GENERATOR;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *found = library != NULL ? dlsym(library, symbol) : NULL;
    if (*found == NULL) {
        tly_fail(error, TALLY_NO_GENERATOR, "device", "%s cannot be opened: %s (%s)",
                 strrchr(path, '/') + 1, reason_of(path), path);
        tly_error_hint(error, "the next kernel tries again; a limit (ulimit -n, -v) can be why");
        return TALLY_NO_GENERATOR;
    }
    return TALLY_OK;
}

/* The file `name` of a place, as an allocated resolved path. NULL with errno otherwise. */
static char *resolve(const char *place, const char *name)
{
    const char *before = place[0] == '/' ? "" : own.folder;
    char *path;
    if (asprintf(&path, "%s%s%s", before, place, name) < 0) {
        errno = ENOMEM;
        return NULL;
    }
    char *resolved = realpath(path, NULL);
    int reason = errno;
    free(path);
    errno = reason;
    return resolved;
}

/* The file `name` of the first place that has it and is safe, as an allocated resolved path. NULL
 * otherwise; then *why is a reason other than that there is none, or NULL. errno is ENOMEM without
 * memory. */
static char *find_file(const char *name, const char *const *places, const char **why)
{
    for (*why = NULL; *places != NULL; places++) {
        char *path = resolve(*places, name);
        if (path == NULL && errno == ENOMEM) {
            return NULL;
        }
        if (path == NULL) {
            *why = *why != NULL || errno == ENOENT || errno == ENOTDIR ? *why : strerror(errno);
            continue;
        }
        int own_place = (*places)[0] == 0 && !tly_raised();
        if (own_place || safe_path(path)) {
            return path;
        }
        *why = *why != NULL ? *why : "it is not safe from strangers";
        free(path);
    }
    errno = ENOENT;
    return NULL;
}

tally_status tly_library_find(const char *name, const char *const *places, const char *symbol,
                              void **found, tally_error *error)
{
    const char *why;
    tally_status status = know_own(name, error);
    if (status != TALLY_OK) {
        return status;
    }
    char *path = find_file(name, places, &why);
    if (path != NULL) {
        status = open_resolved(path, symbol, found, error);
        free(path);
        return status;
    }
    if (errno == ENOMEM) {
        return tly_out_of_memory(error, "a path", strlen(own.folder) + strlen(name) + 1);
    }
    if (why == NULL) {
        const char *last = "";
        for (; *places != NULL; places++) {
            last = *places;
        }
        tly_fail(error, TALLY_NO_GENERATOR, "device", "%s, which makes kernels, is not in %s%s%s",
                 name, own.folder, last[0] == '/' ? " and not in " : "",
                 last[0] == '/' ? last : "");
    } else {
        tly_fail(error, TALLY_NO_GENERATOR, "device",
                 "%s, which makes kernels, is not opened: %s (Tally lies in %s)", name, why,
                 own.folder);
    }
    tly_error_hint(error, "install it there%s",
                   tly_raised() ? "" : ", or name libtally-codegen.so in TALLY_GENERATOR");
    return TALLY_NO_GENERATOR;
}

char *tly_library_file(const char *name, const char *const *places)
{
    const char *why;
    return know_own(name, NULL) == TALLY_OK ? find_file(name, places, &why) : NULL;
}

tally_status tly_library_open(const char *path, const char *symbol, void **found,
                              tally_error *error)
{
    int allowed = path[0] == '/' || !tly_raised();
    char *resolved = allowed ? realpath(path, NULL) : NULL;
    if (resolved == NULL) {
        tly_fail(error, TALLY_NO_GENERATOR, "device", "libtally-codegen is not opened: %s: %s",
                 allowed ? strerror(errno) : "privileges are raised, and its path is relative",
                 path);
        tly_error_hint(error, "the path comes from tally_context_options.generator%s",
                       tly_raised() ? "" : " or TALLY_GENERATOR");
        return TALLY_NO_GENERATOR;
    }
    tally_status status = open_resolved(resolved, symbol, found, error);
    free(resolved);
    return status;
}
