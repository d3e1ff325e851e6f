/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tally run` when its files or its limits change under it: the exit status and message of
 * docs/word.md, and never a file left that is not whole. Each test that writes a regular file does
 * so in three ways: as a file without a name, beside its place (what a file system without
 * O_TMPFILE gets), and as a file without a name that cannot be given one.
 */
#include "filter.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { MOST_RULES = 4, HEADER = 128 };

static char tool[PATH_MAX], folder[PATH_MAX];

static void enter_folder(void)
{
    const char *named = getenv("TALLY_TOOL"), *tmp = getenv("TMPDIR");
    cr_assert_not_null(named);
    cr_assert_not_null(realpath(named, tool), "no tool at %s", named);
    snprintf(folder, sizeof folder, "%s/tally-run-XXXXXX", tmp ? tmp : P_tmpdir);
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    umask(027);
}

static void leave_folder(void)
{
    char *command;
    cr_assert_eq(chdir("/"), 0);
    cr_assert_geq(asprintf(&command, "rm -rf '%s'", folder), 0);
    cr_expect_eq(system(command), 0);
    free(command);
}

TestSuite(run, .init = enter_folder, .fini = leave_folder);

/* ---- ways to write ---- */

#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

static const struct way {
    const char *name;
    filter_rule rules[1];
    unsigned count;
} ways[] = {
    { "without a name", { { 0, 0, 0, 0 } }, 0 },
    { "beside", { { SYS_openat, 2, TMPFILE_BIT, EOPNOTSUPP } }, 1 },
    { "copied", { { SYS_linkat, 0, 0, EPERM } }, 1 },
};

enum { WAYS = sizeof ways / sizeof *ways, BESIDE = 1 };

/* ---- the command ---- */

/* What a child does before it becomes the command. */
typedef struct setup {
    int way;
    filter_rule rule; /* one more, if it has a call */
    int limit;        /* of `limited` bytes, unless 0 */
    rlim_t limited;
    const char *operand; /* the argument NAME=FILE; NULL: there is none */
} setup;

static void prepare(const setup *s)
{
    const struct rlimit none = { 0, 0 }, size = { s->limited, s->limited };
    filter_rule rules[2];
    unsigned count = ways[s->way].count;
    int err = open(".err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    rules[0] = ways[s->way].rules[0];
    if (s->rule.call) {
        rules[count++] = s->rule;
    }
    setrlimit(RLIMIT_CORE, &none);
    if (err < 0 || dup2(err, STDERR_FILENO) < 0 || (count && !filter_calls(rules, count)) ||
        (s->limit && setrlimit(s->limit, &size) != 0)) {
        _exit(126);
    }
}

/* What ends a command; a test that runs in the background or under nohup ignores some of them. */
static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU };
enum { ENDING = sizeof ending / sizeof *ending };

static pid_t start(const setup *s, const char *word, const char *in, const char *out)
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        for (int i = 0; i < ENDING; i++) {
            signal(ending[i], SIG_DFL);
        }
        prepare(s);
        execl(tool, tool, "run", word, "-o", out, in, s->operand, (char *)NULL);
        _exit(127);
    }
    return child;
}

static int finish(pid_t child)
{
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(!WIFEXITED(status) || WEXITSTATUS(status) < 126, "the command was not started");
    return status;
}

static const char *message(void)
{
    static char text[2048];
    FILE *file = fopen(".err", "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = 0;
    if (file) {
        fclose(file);
    }
    return text;
}

/* One line of the promised form with `part` in it. */
static void expect_refused(int status, const char *part)
{
    const char *said = message();
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 4, "wait status %d, %s", status, said);
    cr_expect_eq(strncmp(said, "tally: file: ", 13), 0, "%s", said);
    cr_expect_not_null(strstr(said, part), "%s in place of %s", said, part);
    cr_expect_eq(strchr(said, '\n'), said + strlen(said) - 1, "%s", said);
}

/* ---- files ---- */

/* A .npy of `count` zeros; the file is sparse. */
static void put_zeros(const char *name, const char *descr, size_t element, size_t count)
{
    char header[HEADER + 1];
    FILE *file = fopen(name, "wb");
    int length = snprintf(header + 10, sizeof header - 10,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (%zu,), }", descr,
                          count);
    memset(header + 10 + length, ' ', sizeof header - 10 - (size_t)length);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    header[HEADER - 1] = '\n';
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(header, 1, HEADER, file), HEADER);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(truncate(name, (off_t)(HEADER + element * count)), 0);
}

static void put_text(const char *name, const char *text)
{
    FILE *file = fopen(name, "wb");
    cr_assert_not_null(file);
    fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

static void expect_text(const char *name, const char *text)
{
    char found[64] = { 0 };
    FILE *file = fopen(name, "rb");
    cr_assert_not_null(file, "%s is gone", name);
    cr_expect_eq(fread(found, 1, sizeof found - 1, file), strlen(text));
    fclose(file);
    cr_expect_str_eq(found, text);
}

static off_t size_of(const char *name)
{
    struct stat facts;
    return stat(name, &facts) == 0 ? facts.st_size : -1;
}

static int mode_of(const char *name)
{
    struct stat facts;
    return lstat(name, &facts) == 0 ? (int)(facts.st_mode & 07777) : -1;
}

static void expect_nothing_left(void)
{
    cr_expect_neq(system("ls -A . sub 2>/dev/null | grep -q '^[.]tally'"), 0,
                  "an unfinished file was left");
}

static int beside(void)
{
    DIR *here = opendir(".");
    int found = 0;
    for (struct dirent *entry; here && !found && (entry = readdir(here)) != NULL;) {
        found = strncmp(entry->d_name, ".tally", 6) == 0;
    }
    closedir(here);
    return found;
}

/* A busy machine may let the command end before it is met where it should be: then again. */
enum { TRIES = 60 };

static int has_ended(pid_t child)
{
    int status;
    return waitpid(child, &status, WNOHANG) == child;
}

static void nap(void)
{
    nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
}

/* ---- input that changes ---- */

/* Waits until the command has mapped the file; 0 if it has ended before. */
static int wait_until_mapped(pid_t child, const char *name)
{
    char path[64], wanted[PATH_MAX + 64], line[PATH_MAX + 256];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)child);
    snprintf(wanted, sizeof wanted, "%s/%s", folder, name);
    while (!has_ended(child)) {
        int found = 0;
        FILE *maps = fopen(path, "r");
        while (maps && !found && fgets(line, sizeof line, maps)) {
            found = strstr(line, wanted) != NULL;
        }
        if (maps) {
            fclose(maps);
        }
        if (found) {
            return 1;
        }
        nap();
    }
    return 0;
}

/* The command waits for a reader of its output while its input is cut. */
static void cut_while_read(const char *word, size_t count, off_t bytes, const char *part)
{
    char drained[4096];
    const setup s = { 0 };
    put_zeros("in.npy", "<f4", 4, count);
    unlink("pipe");
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    pid_t child = start(&s, word, "in.npy", "pipe");
    cr_assert(wait_until_mapped(child, "in.npy"), "%s", message());
    cr_assert_eq(truncate("in.npy", bytes), 0);
    int fd = open("pipe", O_RDONLY);
    cr_assert_geq(fd, 0);
    while (read(fd, drained, sizeof drained) > 0) {
    }
    close(fd);
    expect_refused(finish(child), part);
}

/* The message is about the file that was cut, whichever is mapped first. */
static void cut_operand(off_t bytes, const char *part)
{
    char drained[4096];
    const setup s = { .operand = "a=operand.npy" };
    put_zeros("in.npy", "<f4", 4, 1 << 20);
    put_zeros("operand.npy", "<f4", 4, 1 << 20);
    unlink("pipe");
    cr_assert_eq(mkfifo("pipe", 0600), 0);
    pid_t child = start(&s, "cumsum:axis=0,a,map=x+a", "in.npy", "pipe");
    cr_assert(wait_until_mapped(child, "operand.npy"), "%s", message());
    cr_assert_eq(truncate("operand.npy", bytes), 0);
    int fd = open("pipe", O_RDONLY);
    cr_assert_geq(fd, 0);
    while (read(fd, drained, sizeof drained) > 0) {
    }
    close(fd);
    expect_refused(finish(child), part);
}

Test(run, operand_cut)
{
    cut_operand(4096, "operand.npy: was cut short");
    cut_operand(HEADER + (5 << 20), "operand.npy: was changed");
}

Test(run, input_cut)
{
    const size_t count = 1 << 20, large = 1 << 24;
    cut_while_read("cumsum:axis=0", count, 4096, "in.npy: was cut short");
    cut_while_read("cumsum:axis=0", count, 0, "in.npy: was cut short");
    /* Large enough for several threads: the fault is not always the first one's. */
    cut_while_read("cumsum:f32:4096x4096:axis=1,in=4096x1", large, 33 << 20,
                   "in.npy: was cut short");
    cut_while_read("cumsum:f32:4096x4096:axis=0,in=4096x1", large, 0, "in.npy: was cut short");
    /* Within the last page nothing faults: the rest of it reads as zeros. */
    cut_while_read("cumsum:axis=0", count, HEADER + (4 << 20) - 100, "in.npy: was changed");
    /* Longer than it was is as wrong. */
    cut_while_read("cumsum:axis=0", count, HEADER + (5 << 20), "in.npy: was changed");
}

/* With regular files there is no moment to wait for: the command is stopped where it happens to be,
 * and whichever part notices, the result is the same. */
Test(run, input_cut_while_a_file_is_written)
{
    for (int way = 0; way < WAYS; way++) {
        const setup s = { .way = way };
        pid_t child = 0;
        for (int tries = 0; child == 0 && tries < TRIES; tries++) {
            put_zeros("in.npy", "<f2", 2, 1 << 24);
            put_text("out.npy", "older");
            child = start(&s, "cumprod:axis=0,order=serial", "in.npy", "out.npy");
            child = wait_until_mapped(child, "in.npy") ? child : 0;
        }
        cr_assert_neq(child, 0, "never met: %s", message());
        cr_assert_eq(kill(child, SIGSTOP), 0);
        cr_assert_eq(truncate("in.npy", 5000), 0);
        cr_assert_eq(kill(child, SIGCONT), 0);
        expect_refused(finish(child), "in.npy: was c");
        expect_text("out.npy", "older");
        expect_nothing_left();
    }
}

/* ---- limits and signals ---- */

Test(run, file_size_limit)
{
    put_zeros("in.npy", "<f4", 4, 1 << 18);
    for (int way = 0; way < WAYS; way++) {
        const setup s = { .way = way, .limit = RLIMIT_FSIZE, .limited = 100000 };
        put_text("out.npy", "older");
        expect_refused(finish(start(&s, "cumsum:axis=0", "in.npy", "out.npy")), "File too large");
        expect_text("out.npy", "older");
        expect_refused(finish(start(&s, "cumsum:axis=0", "in.npy", "new.npy")), "File too large");
        cr_expect_eq(size_of("new.npy"), -1);
        expect_nothing_left();
    }
}

/* Interrupted while its file lies beside the place; later than that is as good. */
Test(run, signals)
{
    const setup s = { .way = BESIDE };
    put_zeros("in.npy", "<f2", 2, 1 << 25);
    for (int i = 0; i < ENDING; i++) {
        int status = 0;
        for (int tries = 0; !WIFSIGNALED(status) && tries < TRIES; tries++) {
            put_text("out.npy", "older");
            pid_t child = start(&s, "cumprod:axis=0,order=serial", "in.npy", "out.npy");
            int met = 0, ended = 0;
            while (!met && !ended) {
                met = beside();
                ended = !met && has_ended(child);
            }
            if (met) {
                cr_assert_eq(kill(child, ending[i]), 0);
                status = finish(child);
            }
            if (size_of("out.npy") != sizeof "older" - 1)
                status = 0; /* met too late: what is there is the new file */
        }
        cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == ending[i], "signal %d: %d", ending[i],
                  status);
        expect_text("out.npy", "older");
        expect_nothing_left();
    }
}

/* No handler takes a file without a name away, and none need. */
Test(run, killed)
{
    const setup s = { 0 };
    int probe = open(".", O_TMPFILE | O_WRONLY, 0600);
    if (probe < 0) {
        cr_skip_test("%s has no files without a name", folder);
    }
    close(probe);
    put_zeros("in.npy", "<f2", 2, 1 << 25);
    int status = 0;
    for (int tries = 0; !WIFSIGNALED(status) && tries < TRIES; tries++) {
        put_text("out.npy", "older");
        pid_t child = start(&s, "cumprod:axis=0,order=serial", "in.npy", "out.npy");
        if (wait_until_mapped(child, "in.npy")) {
            for (int i = 0; i < 20; i++) {
                nap();
            }
            cr_expect(!beside());
            cr_assert_eq(kill(child, SIGKILL), 0);
            status = finish(child);
        }
    }
    cr_expect(WIFSIGNALED(status), "always too fast");
    expect_text("out.npy", "older");
    expect_nothing_left();
}

/* ---- the file that is left ---- */

Test(run, modes)
{
    static const struct {
        int older, wanted; /* -1: there is none */
    } cases[] = { { -1, 0640 },   { 0644, 0644 },  { 0600, 0600 },  { 0660, 0660 },
                  { 0755, 0755 }, { 06755, 0755 }, { 04711, 0711 }, { 01666, 0666 } };
    put_zeros("in.npy", "<f4", 4, 100);
    for (int way = 0; way < WAYS; way++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            const setup s = { .way = way };
            unlink("out.npy");
            if (cases[i].older >= 0) {
                put_text("out.npy", "older");
                cr_assert_eq(chmod("out.npy", (mode_t)cases[i].older), 0);
            }
            cr_assert_eq(finish(start(&s, "cumsum:axis=0", "in.npy", "out.npy")), 0, "%s: %s",
                         ways[way].name, message());
            cr_expect_eq(mode_of("out.npy"), cases[i].wanted, "%s: %o becomes %o", ways[way].name,
                         (unsigned)cases[i].older, (unsigned)mode_of("out.npy"));
            cr_expect_eq(size_of("out.npy"), HEADER + 400);
            expect_nothing_left();
        }
    }
}

/* Where the mode cannot be changed it is seen as it was all the time. */
Test(run, nobody_else_opens_it_before)
{
    put_zeros("in.npy", "<f4", 4, 100);
    for (int way = 0; way < WAYS; way++) {
        const setup s = { .way = way, .rule = { SYS_fchmod, 0, 0, EPERM } };
        unlink("out.npy");
        cr_assert_eq(finish(start(&s, "cumsum:axis=0", "in.npy", "out.npy")), 0, "%s", message());
        cr_expect_eq(mode_of("out.npy"), 0600, "%s: %o", ways[way].name,
                     (unsigned)mode_of("out.npy"));
    }
}

static int is_link(const char *name)
{
    struct stat facts;
    return lstat(name, &facts) == 0 && S_ISLNK(facts.st_mode);
}

Test(run, links)
{
    put_zeros("in.npy", "<f4", 4, 100);
    cr_assert_eq(mkdir("sub", 0700), 0);
    cr_assert_eq(symlink("sub/second", "first"), 0);
    cr_assert_eq(symlink("../made.npy", "sub/second"), 0);
    cr_assert_eq(symlink("loop", "loop"), 0);
    cr_assert_eq(symlink("none/made.npy", "astray"), 0);
    for (int way = 0; way < WAYS; way++) {
        const setup s = { .way = way };
        unlink("made.npy");
        for (int there = 0; there < 2; there++) {
            cr_assert_eq(finish(start(&s, "cumsum:axis=0", "in.npy", "first")), 0, "%s", message());
            cr_expect(is_link("first") && is_link("sub/second") && !is_link("made.npy"));
            cr_expect_eq(size_of("made.npy"), HEADER + 400);
        }
        expect_refused(finish(start(&s, "cumsum:axis=0", "in.npy", "loop")), "loop: cannot be");
        expect_refused(finish(start(&s, "cumsum:axis=0", "in.npy", "astray")), "No such file");
        cr_expect(is_link("loop") && is_link("astray"));
        expect_nothing_left();
    }
}

/* A file above 1 MiB is on the disk before it takes its place: where that fails, it does not. */
Test(run, synced)
{
    put_zeros("large.npy", "<f4", 4, 1 << 19);
    put_zeros("small.npy", "<f4", 4, 1 << 17);
    for (int way = 0; way < WAYS; way++) {
        const setup s = { .way = way, .rule = { SYS_fsync, 0, 0, EIO } };
        put_text("out.npy", "older");
        expect_refused(finish(start(&s, "cumsum:axis=0", "large.npy", "out.npy")),
                       "Input/output error");
        expect_text("out.npy", "older");
        cr_assert_eq(finish(start(&s, "cumsum:axis=0", "small.npy", "out.npy")), 0, "%s",
                     message());
        cr_expect_eq(size_of("out.npy"), HEADER + (4 << 17));
        expect_nothing_left();
    }
}
