/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the disk cache share: a folder of their own, a generator that makes kernels
 * without a compiler and is of this library's build, and creations that say where their kernel came
 * from.
 */
#ifndef DISK_H
#define DISK_H

#include "fake.h"

#include "../runtime/cache/entry.h"
#include "../runtime/cache/folder.h"
#include "../runtime/cache/identity.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "expect.h"

static char root[PATH_MAX], cache[PATH_MAX]; /* everything is below; the folder */
static int notices;
static char noticed[512];

#define HOLDS(condition) EXPECT(condition, "%s", noticed)

static inline void on_log(void *user, tally_log_level level, const char *message)
{
    (void)user;
    notices += level == TALLY_LOG_WARNING;
    snprintf(noticed, sizeof noticed, "%s", message);
}

static void sh(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void sh(const char *format, ...)
{
    char command[2 * PATH_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(command, sizeof command, format, args);
    va_end(args);
    EXPECT(system(command) == 0, "%s", command);
}

static int begin_disk(void)
{
    const char *tmp = getenv("TMPDIR");
    char made[PATH_MAX];
    umask(022);
    snprintf(made, sizeof made, "%.3000s/tally-disk-XXXXXX", tmp != NULL ? tmp : "/tmp");
    int made_it = mkdtemp(made) != NULL && realpath(made, root) != NULL && chmod(root, 0755) == 0;
    snprintf(cache, sizeof cache, "%.3000s/cache", root);
    return made_it;
}

static int end_disk(const char *name)
{
    sh("rm -rf '%s'", root);
    printf("%s: %d failures\n", name, failures);
    return failures != 0;
}

static tally_context *open_context(const char *folder, const char *identity)
{
    static tly_generator mine;
    tally_context_options options = { .size = sizeof options,
                                      .cache_folder = folder,
                                      .log = on_log };
    tally_context *context = fake_context(&options);
    mine = fake_generator;
    mine.identity = identity;
    tly_context_set_generator(context, &mine);
    return context;
}

typedef enum origin { FAILED_TO, MADE, LOADED } origin;

/* Asks a new context for a kernel and runs it. */
static origin ask_with(const char *folder, const char *identity, const char *plan)
{
    tally_context *context = open_context(folder, identity);
    tally_kernel_options options = { .size = sizeof options, .plan = plan };
    tally_kernel *kernel = NULL;
    tally_stats stats = TALLY_STATS_INIT;
    tally_descriptor d;
    tally_error error = TALLY_ERROR_INIT;
    int64_t in[40], out[40];
    tally_descriptor_parse("cumsum:i64:40:axis=0", &d, NULL);
    for (int i = 0; i < 40; i++) {
        in[i] = i + 1;
    }
    tally_status status = tally_kernel_create(context, &d, &options, &kernel, &error);
    EXPECT(status == TALLY_OK, "%s", error.message);
    if (status == TALLY_OK) {
        EXPECT(tally_kernel_run(kernel, in, out, &error) == TALLY_OK, "%s", error.message);
        EXPECT(out[39] == 820, "%d", (int)out[39]);
    }
    tally_context_stats(context, &stats);
    tally_kernel_destroy(&kernel);
    tally_context_destroy(&context);
    return status != TALLY_OK                         ? FAILED_TO
           : stats.loaded == 1 && stats.compiled == 0 ? LOADED
                                                      : MADE;
}

static inline origin ask(void)
{
    return ask_with(cache, tly_identity, NULL);
}

/* Files in the folder that are not entries or cannot be read as such; -1 if it cannot be listed. */
static inline int count_wrong(int *entries)
{
    DIR *list = opendir(cache);
    int wrong = 0;
    *entries = 0;
    if (list == NULL) {
        return -1;
    }
    for (const struct dirent *next; (next = readdir(list)) != NULL;) {
        size_t count;
        const char *why;
        tly_stored entry;
        if (next->d_name[0] == '.') {
            continue;
        }
        void *bytes = tly_folder_read(dirfd(list), next->d_name, 0, &count, &why);
        if (strlen(next->d_name) != TLY_FOLDER_NAME - 2 || bytes == NULL ||
            tly_entry_read(bytes, count, &entry) != NULL) {
            wrong++;
        } else {
            ++*entries;
        }
        free(bytes);
    }
    closedir(list);
    return wrong;
}

#endif
