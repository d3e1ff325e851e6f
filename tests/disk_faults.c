/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What goes wrong while the disk cache is used is only a miss: a full disk, a read-only one, calls
 * that fail, writers that are killed, many processes at once. Nobody ever sees half an entry, or
 * another's. A plain program, each case in processes of its own; exit status 0: right.
 */
#include "disk.h"
#include "filter.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Runs `work` in a child; its exit status. */
static int in_child(int (*work)(int), int argument)
{
    int how = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        failures = 0;
        int status = work(argument);
        fflush(NULL);
        _exit(failures > 0 ? 99 : status);
    }
    waitpid(child, &how, 0);
    return WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how);
}

/* --- values whose every byte says whose they are ---------------------------------------------- */

enum { NUMBERS = 20, LEAST = 200 };

static size_t fill(unsigned char *value, int number)
{
    size_t count = LEAST + (size_t)number * 1000;
    memset(value, number + 1, count);
    return count;
}

static tly_store store_of_test(void)
{
    return (tly_store){ .folder = cache,
                        .limit = TLY_STORE_LIMIT,
                        .log = { .call = on_log, .called = 1 << TALLY_LOG_WARNING } };
}

static void save(tly_store *store, int number)
{
    static unsigned char value[LEAST + NUMBERS * 1000];
    tly_store_key key;
    tly_store_name name = { "word", "device" };
    tly_store_key_make(&key, "test", &number, sizeof number, "");
    tly_store_save(store, &key, &name, value, fill(value, number));
}

/* 1: found, and right. */
static int load(tly_store *store, int number)
{
    static unsigned char right[LEAST + NUMBERS * 1000];
    tly_store_key key;
    void *value;
    size_t count;
    tly_store_key_make(&key, "test", &number, sizeof number, "");
    if (!tly_store_load(store, &key, &value, &count, NULL)) {
        return 0;
    }
    EXPECT(count == fill(right, number) && memcmp(value, right, count) == 0, "another's: %d",
           number);
    free(value);
    return 1;
}

static void expect_sound(const char *what, int least)
{
    int entries, wrong = count_wrong(&entries);
    EXPECT(wrong == 0 && entries >= least, "%s: %d files are no entries, %d are", what, wrong,
           entries);
}

static void fresh(void)
{
    sh("rm -rf '%s'", cache);
}

/* --- many processes
 * ---------------------------------------------------------------------------- */

enum { PROCESSES = 8, ROUNDS = 200 };

static int load_and_save(int seed)
{
    tly_store store = store_of_test();
    unsigned at = (unsigned)seed * 7919u;
    for (int i = 0; i < ROUNDS; i++) {
        at = at * 1103515245u + 12345u;
        int number = (int)(at >> 16) % NUMBERS;
        if (!load(&store, number) || at >> 28 == 0) {
            save(&store, number);
            EXPECT(load(&store, number), "%d is gone", number);
        }
    }
    EXPECT(notices == 0, "%s", noticed);
    return 0;
}

static void eight_at_once(void)
{
    pid_t children[PROCESSES];
    fresh();
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            failures = 0;
            load_and_save(i);
            _exit(failures > 0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int how = 1;
        waitpid(children[i], &how, 0);
        EXPECT(how == 0, "process %d: %d", i, how);
    }
    expect_sound("eight at once", NUMBERS);
}

static int write_for_ever(int unused)
{
    tly_store store = store_of_test();
    (void)unused;
    for (int i = 0;; i++) {
        save(&store, i % NUMBERS);
    }
    return 0;
}

/* Killed at any moment: what was there still is, and what is left over is not in the way. */
static void killed_writers(void)
{
    tly_store store = store_of_test();
    fresh();
    for (int number = 0; number < NUMBERS; number++) {
        save(&store, number);
    }
    for (int i = 0; i < 200; i++) {
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            _exit(write_for_ever(0));
        }
        fake_sleep(200 + i * 37 % 2000);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        for (int number = 0; number < NUMBERS; number++) {
            EXPECT(load(&store, number), "%d is gone", number);
        }
    }
    /* Left-over temporaries alone are no entries, and go in time. */
    sh("find '%s' -name '*.tmp' -exec touch -d '1 hour ago' {} +", cache);
    tly_store later = store_of_test();
    save(&later, 0);
    expect_sound("killed writers", NUMBERS);
}

/* --- calls that fail
 * ---------------------------------------------------------------------------- */

static const struct {
    const char *name;
    filter_rule rule;
} faults[] = {
    { "no write: the disk is full", { SYS_write, 0, 0, ENOSPC } },
    { "no write: the quota is used up", { SYS_write, 0, 0, EDQUOT } },
    { "no write: the disk is broken", { SYS_write, 0, 0, EIO } },
    { "no new file", { SYS_openat, 2, O_CREAT, EROFS } },
    { "no file at all", { SYS_openat, 0, 0, EMFILE } },
    { "no fstat", { SYS_newfstatat, 0, 0, EIO } },
    { "no time of use", { SYS_utimensat, 0, 0, EPERM } },
    { "no list", { SYS_getdents64, 0, 0, EIO } },
    { "no read", { SYS_read, 0, 0, EIO } },
#ifdef SYS_rename
    { "no rename", { SYS_renameat, 0, 0, EACCES } },
#endif
};

/* A kernel is made, with a call that fails while it is looked for and stored. */
static int make_with_fault(int which)
{
    if (!filter_calls(&faults[which].rule, 1)) {
        return 77;
    }
    tly_generator mine = fake_generator;
    mine.identity = tly_identity;
    tally_context_options options = { .size = sizeof options, .cache_folder = cache };
    tally_context *context = fake_context(&options);
    tally_error error = TALLY_ERROR_INIT;
    tly_context_set_generator(context, &mine);
    tally_kernel *kernel = fake_kernel(context, "cumsum:i64:40:axis=0", &error);
    return kernel != NULL ? 0 : 1;
}

static void calls_that_fail(void)
{
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        for (int stored = 0; stored < 2; stored++) {
            int entries;
            fresh();
            EXPECT(!stored || ask() == MADE, "%s", noticed);
            int status = in_child(make_with_fault, (int)i);
            if (status == 77) {
                printf("disk_faults: %s: not tried, as calls cannot be filtered here\n",
                       faults[i].name);
                continue;
            }
            EXPECT(status == 0, "%s: status %d", faults[i].name, status);
            EXPECT(count_wrong(&entries) <= 0 && entries <= 1, "%s: it left something",
                   faults[i].name);
            EXPECT(ask() == (entries == 1 ? LOADED : MADE), "%s, afterwards", faults[i].name);
        }
    }
}

/* Beyond a limit of file sizes a write would be a signal, which ends a process. */
static int make_within(int bytes)
{
    const struct rlimit limit = { (rlim_t)bytes, (rlim_t)bytes };
    setrlimit(RLIMIT_FSIZE, &limit);
    return ask() == FAILED_TO;
}

static void limits_of_files(void)
{
    for (int bytes = 0; bytes < 1000; bytes += 99) {
        int entries;
        fresh();
        EXPECT(in_child(make_within, bytes) == 0, "%d bytes", bytes);
        EXPECT(count_wrong(&entries) <= 0, "%d bytes: it left something", bytes);
    }
}

/* --- disks
 * ------------------------------------------------------------------------------------- */

/* A file system of its own, of a few pages. */
static int fill_a_disk(int unused)
{
    (void)unused;
    mkdir(cache, 0700);
    if (mount("tally", cache, "tmpfs", 0, "size=64k,mode=0700") != 0) {
        return 77;
    }
    tly_store store = store_of_test();
    int entries, found = 0;
    for (int round = 0; round < 3; round++) {
        for (int number = 0; number < NUMBERS; number++) {
            save(&store, number);
        }
    }
    for (int number = 0; number < NUMBERS; number++) {
        found += load(&store, number);
    }
    EXPECT(count_wrong(&entries) == 0 && entries == found && found > 0 && found < NUMBERS,
           "%d of %d are found", found, entries);
    EXPECT(ask() != FAILED_TO, "%s", noticed);
    EXPECT(mount("tally", cache, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=64k") == 0, "remount");
    for (int number = 0; number < NUMBERS; number++) {
        found -= load(&store, number);
    }
    EXPECT(found == 0, "%d are lost on a read-only disk", found);
    EXPECT(ask_with(cache, tly_identity, "key=1") == MADE, "read-only");
    EXPECT(umount(cache) == 0, "it is in use");
    return 0;
}

static void full_and_read_only(void)
{
    fresh();
    int status = in_child(fill_a_disk, 0);
    if (status == 77) {
        puts("disk_faults: a small disk cannot be mounted here: only writes that fail were tried");
    } else {
        EXPECT(status == 0, "status %d", status);
    }
}

int main(void)
{
    if (!begin_disk()) {
        perror("disk_faults");
        return 1;
    }
    eight_at_once();
    killed_writers();
    calls_that_fail();
    limits_of_files();
    full_and_read_only();
    return end_disk("disk_faults");
}
