/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The N-th allocation of the command fails, for every verb, for every N until all goes well, once
 * and from there on: exit status 5 (or another of a failure, where the system says why), an error
 * of the promised form, no file and no half of one; or the very result, where it could do without.
 *
 *   verbs TALLY FAIL_ALLOC PROFILE
 */
#include "fail_alloc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"
#include "../zip.h"

enum { MOST = 1 << 16 };

static const char *tally, *fail_alloc, *profile;

/* @P: the profile. Each is given IN.npy, IN.npz and IN.csv and may leave OUT.npy. `stride` is 1 but
 * for what takes its time, and fails as others do but for a few allocations. */
static const struct {
    const char *line;
    long stride;
} commands[] = {
    { "run cumsum:axis=0 in.npy -o out.npy", 1 },
    { "run cumprod:i32:8x8:axis=1 in.npy -o out.npy --in-place --threads 2", 1 },
    { "run cumsum:f32:axis=0 in.csv", 7 },
    { "inspect sum in.npz:x --emit word", 1 },
    { "inspect sum in.csv --emit word", 1 },
    { "inspect cumprod:f32:4x5:axis=1 --emit plan", 1 },
    { "inspect cumprod:axis=1 in.npy --emit kir -o out.npy", 1 },
    { "inspect cumprod:f32:64x64:axis=1 --emit spirv --profile @P -o out.npy", 1 },
    { "kir k.kir --run cumsum:axis=0 in.npy -o out.npy", 1 },
    { "kir k.kir --emit kir -o out.npy", 1 },
    { "devices --json", 1 },
    { "bench cumsum:i32:8:axis=0 --json", 11 },
};

typedef struct outcome {
    int how; /* of waitpid */
    char out[MOST], err[MOST];
    size_t bytes; /* of OUT.npy; 0: there is none */
    char file[MOST];
} outcome;

static size_t read_file(const char *name, char *to)
{
    FILE *file = fopen(name, "re");
    size_t bytes = file != NULL ? fread(to, 1, MOST - 1, file) : 0;
    to[bytes] = 0;
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

/* In the child: becomes the command. */
static void become(const char *command, const char *fault)
{
    char line[1024], *argv[24], *rest;
    int count = 0;
    snprintf(line, sizeof line, "tally %s", command);
    for (char *word = strtok_r(line, " ", &rest); word && count < 23; count++) {
        argv[count] = strcmp(word, "@P") == 0 ? (char *)profile : word;
        word = strtok_r(NULL, " ", &rest);
    }
    argv[count] = NULL;
    setenv("LD_PRELOAD", fail_alloc, 1);
    setenv("TALLY_FAULT", fault, 1);
    setenv("TALLY_FAULT_REPORT", "reached", 1);
    setenv("VK_DRIVER_FILES", "", 1);
    dup2(open("stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
    dup2(open("stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
    execv(tally, argv);
    _exit(127);
}

static void call(const char *command, const char *fault, outcome *o)
{
    unlink("out.npy");
    unlink("reached");
    pid_t child = fork();
    if (child == 0) {
        become(command, fault);
    }
    waitpid(child, &o->how, 0);
    read_file("stdout", o->out);
    read_file("stderr", o->err);
    o->bytes = read_file("out.npy", o->file);
}

/* Files beside the known ones; what was left half-made. */
static int strangers(void)
{
    static const char *const known[] = { ".",       "..",     "in.npy", "in.npz",  "in.csv",
                                         "out.npy", "stdout", "stderr", "reached", "k.kir" };
    int count = 0;
    DIR *folder = opendir(".");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL; count++) {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            if (strcmp(entry->d_name, known[i]) == 0) {
                count--;
                break;
            }
        }
    }
    closedir(folder);
    return count;
}

/* Whether the N-th allocation was reached. */
static int fail_nth(const char *command, long n, int on, const outcome *good)
{
    static outcome o;
    char fault[64];
    snprintf(fault, sizeof fault, "%ld,%d,%d", n, on, FAULT_OURS | FAULT_SYSTEM | FAULT_MAPS);
    call(command, fault, &o);
    const int reached = access("reached", F_OK) == 0;
    const int status = WIFEXITED(o.how) ? WEXITSTATUS(o.how) : -1;
    if (status == 0) {
        const int timed = strncmp(command, "bench", 5) == 0;
        EXPECT(timed || (strcmp(o.out, good->out) == 0 && o.bytes == good->bytes &&
                         memcmp(o.file, good->file, o.bytes) == 0),
               "%s, allocation %ld, %d: another result", command, n, on);
    } else {
        EXPECT(status == 5 || status == 4 || status == 3, "%s, allocation %ld, %d: %s %d: %s",
               command, n, on, WIFEXITED(o.how) ? "exit" : "signal",
               WIFEXITED(o.how) ? status : WTERMSIG(o.how), o.err);
        EXPECT(strncmp(o.err, "tally: ", 7) == 0 && strchr(o.err, '\n') != NULL,
               "%s, allocation %ld, %d: exit %d, and it says: %s", command, n, on, status, o.err);
        EXPECT(o.bytes == 0, "%s, allocation %ld, %d: it wrote", command, n, on);
    }
    EXPECT(strangers() == 0, "%s, allocation %ld, %d: a file is left", command, n, on);
    EXPECT(reached || status == 0, "%s, allocation %ld, %d: exit %d, and nothing failed", command,
           n, on, status);
    return reached;
}

static void write_file(const char *name, const void *data, size_t bytes)
{
    FILE *file = fopen(name, "we");
    fwrite(data, 1, bytes, file);
    fclose(file);
}

static void write_inputs(void)
{
    static const char shape[] = "{'descr': '<i4', 'fortran_order': False, 'shape': (8, 8), }";
    static const char kir[] = "kernel k {\n%1 : i64 = const 0\n%2 : ptr = arg out\n"
                              "%3 : i32 = const 5\nstore %2, %3, align 4\nreturn %1\n}\n";
    static const char table[] = "a,b\n1,2\n3,4\n";
    static zip z;
    char npy[128 + 64 * sizeof(int)];
    memset(npy, ' ', sizeof npy);
    memcpy(npy, "\x93NUMPY\1\0\x76\0", 10);
    memcpy(npy + 10, shape, strlen(shape));
    npy[127] = '\n';
    for (int i = 0; i < 64; i++) {
        memcpy(npy + 128 + (size_t)i * sizeof i, &i, sizeof i);
    }
    write_file("in.npy", npy, sizeof npy);
    write_file("in.csv", table, sizeof table - 1);
    write_file("k.kir", kir, sizeof kir - 1);
#ifdef TALLY_ZLIB
    zip_add(&z, "x.npy", npy, sizeof npy, 8);
#else
    zip_add(&z, "x.npy", npy, sizeof npy, 0);
#endif
    zip_end(&z, 0);
    write_file("in.npz", z.data, z.bytes);
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/tally-verbs-XXXXXX", clean[64];
    if (argc < 3) {
        return 2;
    }
    tally = realpath(argv[1], NULL);
    fail_alloc = realpath(argv[2], NULL);
    profile = argc > 3 ? argv[3] : "";
    if (tally == NULL || fail_alloc == NULL || mkdtemp(folder) == NULL || chdir(folder) != 0) {
        return 2;
    }
    write_inputs();
    for (size_t i = 0; i < sizeof commands / sizeof commands[0] && failures < 20; i++) {
        static outcome good;
        const char *line = commands[i].line;
        if (profile[0] == 0 && strstr(line, "@P") != NULL) {
            continue;
        }
        call(line, "-1,0,7", &good);
        EXPECT(good.how == 0, "%s: status %d: %s", line, good.how, good.err);
        long points = 0;
        for (int on = 0; on < 2 && failures < 20; on++) {
            for (long n = 0; fail_nth(line, n, on, &good) && failures < 20; points++) {
                n += commands[i].stride;
            }
        }
        EXPECT(points > 4, "%s: only %ld allocations", line, points);
        printf("%s: %ld allocations\n", line, points);
        fflush(stdout);
    }
    snprintf(clean, sizeof clean, "rm -rf %s", folder);
    EXPECT(chdir("/") == 0 && system(clean) == 0, "%s is left", folder);
    printf("%d failures\n", failures);
    return failures != 0;
}
