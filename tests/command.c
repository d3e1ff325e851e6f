/* SPDX-License-Identifier: Apache-2.0 */
/* The built command in a child; see command.h. */
#include <criterion/criterion.h>

#include "command.h"

#include <fcntl.h>
#include <limits.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TALLY_TOOL
#define TALLY_TOOL "tally"
#endif

enum { MOST_ARGS = 24, MOST_LINE = 2048 };

static char tool[PATH_MAX], folder[PATH_MAX];

tly_outcome tly_last;

/* Every test works in a folder of its own. */
static void enter_folder(void)
{
    const char *named = getenv("TALLY_TOOL"), *tmp = getenv("TMPDIR");
    cr_assert_not_null(realpath(named ? named : TALLY_TOOL, tool), "no tool at %s",
                       named ? named : TALLY_TOOL);
    snprintf(folder, sizeof folder, "%s/tally-cli-XXXXXX", tmp ? tmp : P_tmpdir);
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void leave_folder(void)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    cr_assert_eq(chdir("/"), 0);
    cr_expect_eq(system(command), 0);
}

TestSuite(cli, .init = enter_folder, .fini = leave_folder);

size_t tly_read_file(const char *name, char *to, size_t capacity)
{
    FILE *file = fopen(name, "rb");
    size_t length = file ? fread(to, 1, capacity - 1, file) : 0;
    if (file) {
        fclose(file);
    }
    to[length] = 0;
    return length;
}

void tly_write_file(const char *name, const void *data, size_t bytes)
{
    FILE *file = fopen(name, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(data, 1, bytes, file), bytes);
    cr_assert_eq(fclose(file), 0);
}

static int redirect(const char *name, int flags, int to)
{
    int fd = open(name, flags, 0600);
    return fd >= 0 && dup2(fd, to) == to;
}

/* Arguments by blanks, behind the tool; `line` holds them. */
static void divide(const char *arguments, char line[MOST_LINE], char *argv[MOST_ARGS + 2])
{
    char *rest;
    int argc = 0;
    snprintf(line, MOST_LINE, "%s", arguments);
    argv[argc++] = tool;
    for (char *arg = strtok_r(line, " ", &rest); arg; arg = strtok_r(NULL, " ", &rest)) {
        cr_assert_lt(argc, MOST_ARGS);
        argv[argc++] = arg;
    }
    argv[argc] = NULL;
}

int tly_call_with(const char *in, const char *arguments)
{
    char line[MOST_LINE], *argv[MOST_ARGS + 2];
    int status;
    pid_t child;
    divide(arguments, line, argv);
    child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (redirect(in, O_RDONLY, 0) && redirect(".out", O_WRONLY | O_CREAT | O_TRUNC, 1) &&
            redirect(".err", O_WRONLY | O_CREAT | O_TRUNC, 2)) {
            execv(tool, argv);
        }
        _exit(127);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status), "tally %s: ended by signal %d", arguments, WTERMSIG(status));
    tly_last.status = WEXITSTATUS(status);
    tly_last.out_bytes = tly_read_file(".out", tly_last.out, sizeof tly_last.out);
    tly_read_file(".err", tly_last.err, sizeof tly_last.err);
    return tly_last.status;
}

int tly_call_on_terminal(const char *arguments)
{
    char line[MOST_LINE], *argv[MOST_ARGS + 2];
    int terminal, status;
    ssize_t got;
    divide(arguments, line, argv);
    const pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    cr_assert_geq(child, 0);
    if (child == 0) {
        execv(tool, argv);
        _exit(127);
    }
    tly_last.out_bytes = 0;
    while ((got = read(terminal, tly_last.out + tly_last.out_bytes,
                       sizeof tly_last.out - 1 - tly_last.out_bytes)) > 0) {
        tly_last.out_bytes += (size_t)got;
    }
    tly_last.out[tly_last.out_bytes] = 0;
    close(terminal);
    cr_assert_eq(waitpid(child, &status, 0), child);
    tly_last.err[0] = 0;
    return tly_last.status = WEXITSTATUS(status);
}

int tly_call_unread(const char *arguments)
{
    char line[MOST_LINE], *argv[MOST_ARGS + 2];
    int pipes[2], status;
    divide(arguments, line, argv);
    cr_assert_eq(pipe(pipes), 0);
    close(pipes[0]);
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (dup2(pipes[1], 1) == 1 && redirect(".err", O_WRONLY | O_CREAT | O_TRUNC, 2)) {
            execv(tool, argv);
        }
        _exit(127);
    }
    close(pipes[1]);
    cr_assert_eq(waitpid(child, &status, 0), child);
    tly_read_file(".err", tly_last.err, sizeof tly_last.err);
    return tly_last.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int tly_call(const char *arguments)
{
    return tly_call_with("/dev/null", arguments);
}

int tly_call_piped(const char *source, const char *arguments)
{
    char command[PATH_MAX + 128];
    snprintf(command, sizeof command, "%s | '%s' %s 2>.err", source, tool, arguments);
    return WEXITSTATUS(system(command));
}

void tly_expect_success(const char *in, const char *arguments)
{
    cr_assert_eq(tly_call_with(in, arguments), 0, "tally %s: %d, %s", arguments, tly_last.status,
                 tly_last.err);
    cr_expect_str_empty(tly_last.err, "tally %s: %s", arguments, tly_last.err);
}

void tly_expect_failure(const char *in, const char *arguments, int status, const char *field)
{
    char start[64];
    const char *second;
    cr_expect_eq(tly_call_with(in, arguments), status, "tally %s: %d, not %d: %s", arguments,
                 tly_last.status, status, tly_last.err);
    snprintf(start, sizeof start, "tally: %s: ", field);
    cr_expect_eq(strncmp(tly_last.err, start, strlen(start)), 0, "tally %s: not '%s': %s",
                 arguments, start, tly_last.err);
    second = strchr(tly_last.err, '\n');
    cr_assert_not_null(second, "tally %s: %s", arguments, tly_last.err);
    second++;
    cr_expect(!*second || (strncmp(second, "hint: ", 6) == 0 &&
                           strchr(second, '\n') == second + strlen(second) - 1),
              "tally %s: %s", arguments, tly_last.err);
    cr_expect_eq(tly_last.out_bytes, 0, "tally %s: %s", arguments, tly_last.out);
}

size_t tly_make_npy(char *file, int major, const char *descr, const char *fortran,
                    const char *shape, const void *data, size_t bytes)
{
    size_t before = major == 1 ? 10 : 12;
    size_t length = (size_t)sprintf(file + before,
                                    "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr,
                                    fortran, shape);
    size_t padded = (before + length + 64) / 64 * 64 - before;
    memset(file + before + length, ' ', padded - length);
    file[before + padded - 1] = '\n';
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)major;
    file[7] = 0;
    for (size_t i = 0; i < before - 8; i++) {
        file[8 + i] = (char)(padded >> 8 * i);
    }
    if (bytes) {
        memcpy(file + before + padded, data, bytes);
    }
    return before + padded + bytes;
}

void tly_put_npy(const char *name, const char *descr, const char *fortran, const char *shape,
                 const void *data, size_t bytes)
{
    static char file[TLY_MOST_BYTES];
    tly_write_file(name, file, tly_make_npy(file, 1, descr, fortran, shape, data, bytes));
}

const float tly_example[12] = { 2, 1, 3, 5, 3, 8, 7, 3, 9, 6, 2, 4 };
static const float fortran[12] = { 2, 3, 9, 1, 8, 6, 3, 7, 2, 5, 3, 4 };
const float tly_products[12] = { 2, 2, 6, 30, 3, 24, 168, 504, 9, 54, 108, 432 };

void tly_put_inputs(void)
{
    tly_put_npy("a.npy", "<f4", "False", "(1, 1, 3, 4)", tly_example, sizeof tly_example);
    tly_put_npy("fortran.npy", "<f4", "True", "(1, 1, 3, 4)", fortran, sizeof tly_example);
    tly_put_npy("flat.npy", "<f4", "False", "(12,)", tly_example, sizeof tly_example);
}

void tly_expect_npy(const char *file, const char *descr, const char *shape, const void *data,
                    size_t bytes)
{
    static char wanted[TLY_MOST_BYTES], found[TLY_MOST_BYTES];
    size_t length = tly_make_npy(wanted, 1, descr, "False", shape, data, bytes);
    size_t have = file ? tly_read_file(file, found, sizeof found) : tly_last.out_bytes;
    const char *got = file ? found : tly_last.out;
    cr_assert_eq(have, length, "%s: %zu bytes in place of %zu", file ? file : "-", have, length);
    cr_expect_arr_eq(got, wanted, length, "%s differs", file ? file : "-");
}
