/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code is loaded from where Tally was installed, or not at all: a program that holds libtally and
 * one that opens it are put into many places with decoys of libtally-codegen around, and must load
 * the right one, or none. Needs TALLY_TEST_BUILD, the build folder.
 */
#include <criterion/criterion.h>

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define CODEGEN "libtally-codegen.so"

enum { NOBODY = 65534, OTHER = 65533 };

static char root[PATH_MAX]; /* everything is below */

/* Runs what the format makes in a shell. */
static void __attribute__((format(printf, 1, 2))) sh(const char *format, ...)
{
    char *command;
    va_list args;
    va_start(args, format);
    cr_assert_geq(vasprintf(&command, format, args), 0);
    va_end(args);
    cr_assert_eq(system(command), 0, "%s", command);
    free(command);
}

static void put(const char *built, const char *folder, const char *name)
{
    sh("mkdir -p '%s/%s' && cp '%s/%s' '%s/%s/%s'", root, folder, getenv("TALLY_TEST_BUILD"), built,
       root, folder, name);
}

static void put_decoy(const char *folder)
{
    put("tests/libdecoy.so", folder, CODEGEN);
}

/* A path below root, which lasts for some calls. */
static char *at(const char *place)
{
    static char *paths[8];
    static unsigned next;
    char **path = &paths[next++ % 8];
    free(*path);
    cr_assert_geq(asprintf(path, "%s/%s", root, place), 0);
    return *path;
}

/* A static build has no libtally.so; nothing of it can be moved then. */
static int has_shared(void)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/libtally.so.0", getenv("TALLY_TEST_BUILD"));
    return access(path, R_OK) == 0;
}

static void enter(void)
{
    const char *tmp = getenv("TMPDIR");
    char made[PATH_MAX];
    snprintf(made, sizeof made, "%s/tally-library-XXXXXX", tmp ? tmp : P_tmpdir);
    cr_assert_not_null(getenv("TALLY_TEST_BUILD"));
    cr_assert_not_null(mkdtemp(made));
    cr_assert_not_null(realpath(made, root));
    cr_assert_eq(chmod(root, 0755), 0);
    umask(022);
    put_decoy("home");
    put_decoy("elsewhere");
    put("tests/where", "home", "where");
    put("tests/where", "alone", "where");
    if (has_shared()) {
        put("libtally.so.0", "home", "libtally.so");
    }
    unsetenv("TALLY_GENERATOR");
    unsetenv("LD_LIBRARY_PATH");
}

static void leave(void)
{
    cr_assert_eq(chdir("/"), 0);
    sh("rm -rf '%s'", root);
}

TestSuite(library, .init = enter, .fini = leave);

/* How `where` is called, and what it said. */
typedef struct call {
    const char *program, *name, *folder; /* below root; argv[0], NULL: the path; current */
    uid_t user;
    const char *option, *value;
    const char *more, *more_value;
    int raised;
    char said[512], loaded[PATH_MAX];
} call;

static void run(call *c)
{
    int pipes[2], status;
    char text[2 * PATH_MAX], *rest = text, *line;
    size_t have = 0;
    ssize_t got;
    cr_assert_eq(pipe(pipes), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        const char *path = c->program[0] == '/' ? c->program : at(c->program);
        char *argv[] = { (char *)(c->name ? c->name : path),
                         (char *)c->option,
                         (char *)c->value,
                         (char *)c->more,
                         (char *)c->more_value,
                         NULL };
        if (chdir(at(c->folder ? c->folder : "")) == 0 && dup2(pipes[1], 1) == 1 &&
            close(pipes[0]) == 0 &&
            (c->user == 0 || (setgid(c->user) == 0 && setuid(c->user) == 0))) {
            execv(path, argv);
        }
        _exit(127);
    }
    close(pipes[1]);
    while ((got = read(pipes[0], text + have, sizeof text - 1 - have)) > 0) {
        have += (size_t)got;
    }
    close(pipes[0]);
    text[have] = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) != 127, "%s cannot be run", c->program);
    line = strsep(&rest, "\n");
    cr_assert(line && sscanf(line, "raised %d", &c->raised) == 1, "%s", text);
    line = strsep(&rest, "\n");
    snprintf(c->said, sizeof c->said, "%s", line);
    line = strsep(&rest, "\n");
    snprintf(c->loaded, sizeof c->loaded, "%s", line);
    line = strsep(&rest, "\n");
    cr_expect(line && !*line, "%s: also %s", c->loaded, line);
}

/* `wanted` is below root, or NULL: nothing was loaded, and status and message say so. */
static void expect(call c, const char *wanted)
{
    run(&c);
    if (wanted) {
        cr_expect_str_eq(c.loaded, at(wanted), "%s: %s loaded, %s", c.program, c.loaded, c.said);
        cr_expect_not_null(strstr(c.said, "is version 77.77"), "%s", c.said);
    } else {
        cr_expect_str_eq(c.loaded, "none", "%s: %s loaded, %s", c.program, c.loaded, c.said);
        cr_expect_eq(strncmp(c.said, "-6 " CODEGEN ", ", 24), 0, "%s", c.said);
    }
}

Test(library, name_of_the_program)
{
    expect((call){ .program = "home/where" }, "home/" CODEGEN);
    expect((call){ .program = "home/where", .name = at("elsewhere/x") }, "home/" CODEGEN);
    expect((call){ .program = "home/where", .name = "x", .folder = "elsewhere" }, "home/" CODEGEN);
    expect((call){ .program = "home/where", .name = "./x", .folder = "elsewhere" },
           "home/" CODEGEN);
    expect((call){ .program = "home/where", .name = "" }, "home/" CODEGEN);
}

Test(library, current_folder)
{
    if (!has_shared()) {
        cr_skip_test("a static build: no shared library was tried");
    }
    expect((call){ .program = "alone/where",
                   .option = "--library",
                   .value = "./libtally.so",
                   .folder = "home",
                   .more = "--chdir",
                   .more_value = "../elsewhere" },
           "home/" CODEGEN);
    expect((call){ .program = "alone/where",
                   .option = "--library",
                   .value = "home/libtally.so",
                   .folder = "",
                   .more = "--chdir",
                   .more_value = "elsewhere" },
           "home/" CODEGEN);
    /* What the program names by a relative path is seen from the current folder. */
    expect((call){ .program = "alone/where",
                   .option = "--generator",
                   .value = CODEGEN,
                   .folder = "elsewhere" },
           "elsewhere/" CODEGEN);
}

Test(library, links)
{
    if (!has_shared()) {
        cr_skip_test("a static build: no shared library was tried");
    }
    put_decoy("links");
    cr_assert_eq(symlink("../home/libtally.so", at("links/libtally.so")), 0);
    cr_assert_eq(symlink("../home/where", at("links/where")), 0);
    cr_assert_eq(symlink("home", at("folder")), 0);
    expect(
        (call){ .program = "alone/where", .option = "--library", .value = at("links/libtally.so") },
        "home/" CODEGEN);
    expect((call){ .program = "links/where" }, "home/" CODEGEN);
    expect((call){ .program = "alone/where",
                   .option = "--library",
                   .value = at("folder/libtally.so") },
           "home/" CODEGEN);
}

/* Neither a search path nor the current folder helps, and the message says where one looked. */
Test(library, or_not_at_all)
{
    setenv("LD_LIBRARY_PATH", at("elsewhere"), 1);
    expect((call){ .program = "alone/where", .folder = "elsewhere" }, NULL);
    call c = { .program = "alone/where" };
    run(&c);
    cr_expect_not_null(strstr(c.said, at("alone/")), "%s", c.said);
    cr_expect_not_null(strstr(c.said, "is not in"), "%s", c.said);
}

Test(library, named)
{
    setenv("TALLY_GENERATOR", at("elsewhere/" CODEGEN), 1);
    expect((call){ .program = "home/where" }, "elsewhere/" CODEGEN);
    expect((call){ .program = "home/where", .option = "--generator", .value = at("home/" CODEGEN) },
           "home/" CODEGEN);
    setenv("TALLY_GENERATOR", at("none.so"), 1);
    call c = { .program = "home/where" };
    run(&c);
    cr_expect_str_eq(c.loaded, "none");
    cr_expect_not_null(strstr(c.said, "No such file"), "%s", c.said);
    setenv("TALLY_GENERATOR", at("home/where"), 1);
    run(&c);
    cr_expect_str_eq(c.loaded, "none");
    cr_expect_not_null(strstr(c.said, "-6 where cannot be opened: "), "%s", c.said);
}

/* bin/where finds lib/libtally-codegen.so, wherever both were moved, if it is safe. */
Test(library, moved_prefix)
{
    put("tests/where", "moved/bin", "where");
    put_decoy("moved/bin/" TALLY_FROM_PROGRAM);
    char *resolved = realpath(at("moved/bin/" TALLY_FROM_PROGRAM CODEGEN), NULL);
    cr_assert_not_null(resolved);
    expect((call){ .program = "moved/bin/where" }, resolved + strlen(root) + 1);
    cr_assert_eq(chmod(resolved, 0757), 0);
    expect((call){ .program = "moved/bin/where" }, NULL);
    cr_assert_eq(chmod(resolved, 0755), 0);
    cr_assert_eq(chmod(at("moved"), 0757), 0);
    expect((call){ .program = "moved/bin/where" }, NULL);
    cr_assert_eq(chmod(at("moved"), 01757), 0); /* sticky, as /tmp */
    expect((call){ .program = "moved/bin/where" }, resolved + strlen(root) + 1);
    if (geteuid() == 0) {
        cr_assert_eq(chown(resolved, NOBODY, NOBODY), 0);
        expect((call){ .program = "moved/bin/where" }, NULL);
    }
    free(resolved);
}

/* Makes home/where a program that raises whoever runs it; skips, saying so, where that cannot be
 * tried. */
static void raise_home(uid_t owner)
{
    if (geteuid() != 0) {
        cr_skip_test("not root: raised privileges were not tried");
    }
    cr_assert_eq(chown(at("home/where"), owner, owner), 0);
    cr_assert_eq(chmod(at("home/where"), 04755), 0);
    call c = { .program = "home/where", .user = OTHER };
    run(&c);
    if (!c.raised) {
        cr_skip_test("%s raises no privileges (nosuid): they were not tried", root);
    }
}

static void expect_raised(uid_t owner)
{
    raise_home(owner);
    setenv("TALLY_GENERATOR", at("elsewhere/" CODEGEN), 1);
    setenv("LD_LIBRARY_PATH", at("elsewhere"), 1);
    const call plain = { .program = "home/where", .user = OTHER, .folder = "elsewhere" };
    call named = plain, asked = plain;
    expect(plain, "home/" CODEGEN);
    named.name = at("elsewhere/x");
    expect(named, "home/" CODEGEN);
    asked.option = "--generator";
    asked.value = CODEGEN;
    run(&asked);
    cr_expect_str_eq(asked.loaded, "none", "%s", asked.loaded);
    cr_expect_not_null(strstr(asked.said, "its path is relative"), "%s", asked.said);

    /* Others could have put it there. */
    cr_assert_eq(chmod(at("home"), 0777), 0);
    expect(plain, NULL);
    cr_assert_eq(chmod(at("home"), 0775), 0);
    expect(plain, NULL);
    cr_assert_eq(chmod(at("home"), 0755), 0);
    expect(plain, "home/" CODEGEN);
    cr_assert_eq(chown(at("home"), OTHER, OTHER), 0);
    expect(plain, NULL);
    cr_assert_eq(chown(at("home"), 0, 0), 0);
    cr_assert_eq(chown(at("home/" CODEGEN), OTHER, OTHER), 0);
    expect(plain, NULL);
    cr_assert_eq(chown(at("home/" CODEGEN), 0, 0), 0);

    /* A second name of the program, in a folder of whoever runs it. */
    put_decoy("theirs");
    cr_assert_eq(link(at("home/where"), at("theirs/where")), 0);
    cr_assert_eq(chown(at("theirs"), OTHER, OTHER), 0);
    call theirs = plain;
    theirs.program = "theirs/where";
    expect(theirs, NULL);
}

Test(library, raised_to_root)
{
    expect_raised(0);
}

Test(library, raised_to_another)
{
    expect_raised(NOBODY);
}

/* The command in its build folder, static or not, by its own name and by another. */
Test(library, build_folder)
{
    sh("bash -c \"cd / && exec -a /none/tally '%s/tools/tally' inspect cumsum:f32:64:axis=0 --emit "
       "plan >'%s/plan'\"",
       getenv("TALLY_TEST_BUILD"), root);
}
