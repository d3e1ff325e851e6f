/*
 * The command, as scripts meet it: docs/word.md, "The command", line by line. Drives the built
 * `tally` (environment TALLY_TOOL, or the compile definition of that name) and looks only at exit
 * status, standard output, standard error and files.
 */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef TALLY_TOOL
#define TALLY_TOOL "tally"
#endif

enum { MOST_ARGS = 24, MOST_BYTES = 1 << 16 };

static char tool[PATH_MAX], folder[PATH_MAX];

/* What a call left behind. */
typedef struct outcome {
    int status;
    size_t out_bytes;
    char out[MOST_BYTES], err[MOST_BYTES];
} outcome;

static outcome last;

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

static size_t read_file(const char *name, char *to, size_t capacity)
{
    FILE *file = fopen(name, "rb");
    size_t length = file ? fread(to, 1, capacity - 1, file) : 0;
    if (file) {
        fclose(file);
    }
    to[length] = 0;
    return length;
}

static void write_file(const char *name, const void *data, size_t bytes)
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

/* Runs the tool with blank-separated arguments; standard input is the file `in`. */
static int call_with(const char *in, const char *arguments)
{
    char line[2048], *rest, *argv[MOST_ARGS + 2];
    int argc = 0, status;
    pid_t child;
    snprintf(line, sizeof line, "%s", arguments);
    argv[argc++] = tool;
    for (char *arg = strtok_r(line, " ", &rest); arg; arg = strtok_r(NULL, " ", &rest)) {
        cr_assert_lt(argc, MOST_ARGS);
        argv[argc++] = arg;
    }
    argv[argc] = NULL;
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
    last.status = WEXITSTATUS(status);
    last.out_bytes = read_file(".out", last.out, sizeof last.out);
    read_file(".err", last.err, sizeof last.err);
    return last.status;
}

static int call(const char *arguments)
{
    return call_with("/dev/null", arguments);
}

static void expect_success(const char *in, const char *arguments)
{
    cr_assert_eq(call_with(in, arguments), 0, "tally %s: %d, %s", arguments, last.status, last.err);
    cr_expect_str_empty(last.err, "tally %s: %s", arguments, last.err);
}

/* One line of the promised form, at most one hint, nothing on standard output. */
static void expect_failure(const char *in, const char *arguments, int status, const char *field)
{
    char start[64];
    const char *second;
    cr_expect_eq(call_with(in, arguments), status, "tally %s: %d, not %d: %s", arguments,
                 last.status, status, last.err);
    snprintf(start, sizeof start, "tally: %s: ", field);
    cr_expect_eq(strncmp(last.err, start, strlen(start)), 0, "tally %s: not '%s': %s", arguments,
                 start, last.err);
    second = strchr(last.err, '\n');
    cr_assert_not_null(second, "tally %s: %s", arguments, last.err);
    second++;
    cr_expect(!*second || (strncmp(second, "hint: ", 6) == 0 &&
                           strchr(second, '\n') == second + strlen(second) - 1),
              "tally %s: %s", arguments, last.err);
    cr_expect_eq(last.out_bytes, 0, "tally %s: %s", arguments, last.out);
}

/* Writes a .npy of any version; returns its bytes. */
static size_t make_npy(char *file, int major, const char *descr, const char *fortran,
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

static void put_npy(const char *name, const char *descr, const char *fortran, const char *shape,
                    const void *data, size_t bytes)
{
    static char file[MOST_BYTES];
    write_file(name, file, make_npy(file, 1, descr, fortran, shape, data, bytes));
}

/* The example tensor of the DirectML pages, its transposed memory, and its products on axis 3. */
static const float A[12] = { 2, 1, 3, 5, 3, 8, 7, 3, 9, 6, 2, 4 };
static const float A_FORTRAN[12] = { 2, 3, 9, 1, 8, 6, 3, 7, 2, 5, 3, 4 };
static const float PRODUCTS[12] = { 2, 2, 6, 30, 3, 24, 168, 504, 9, 54, 108, 432 };

static void put_inputs(void)
{
    put_npy("a.npy", "<f4", "False", "(1, 1, 3, 4)", A, sizeof A);
    put_npy("fortran.npy", "<f4", "True", "(1, 1, 3, 4)", A_FORTRAN, sizeof A);
    put_npy("flat.npy", "<f4", "False", "(12,)", A, sizeof A);
}

/* `file`, or standard output where that is NULL, is exactly this .npy. */
static void expect_npy(const char *file, const char *descr, const char *shape, const void *data,
                       size_t bytes)
{
    static char wanted[MOST_BYTES], found[MOST_BYTES];
    size_t length = make_npy(wanted, 1, descr, "False", shape, data, bytes);
    size_t have = file ? read_file(file, found, sizeof found) : last.out_bytes;
    const char *got = file ? found : last.out;
    cr_assert_eq(have, length, "%s: %zu bytes in place of %zu", file ? file : "-", have, length);
    cr_expect_arr_eq(got, wanted, length, "%s differs", file ? file : "-");
}

Test(cli, help_and_version)
{
    static const char *const helps[] = { "--help",
                                         "-h",
                                         "run --help",
                                         "bench --help",
                                         "inspect --help",
                                         "devices --help",
                                         "run --help --nonsense" };
    for (size_t i = 0; i < sizeof helps / sizeof *helps; i++) {
        expect_success("/dev/null", helps[i]);
        cr_expect_eq(strncmp(last.out, "usage: tally ", 13), 0, "%s", last.out);
    }
    expect_success("/dev/null", "--version");
    cr_expect_eq(strncmp(last.out, "tally ", 6), 0, "%s", last.out);
}

Test(cli, run_reads_and_writes)
{
    static char file[MOST_BYTES];
    static const char shape[] = "(1, 1, 3, 4)";
    static const char *const same[] = {
        "run cumprod:f32:1x1x3x4:axis=3 a.npy -o out.npy",
        "run cumprod:f32:axis=3 a.npy -o out.npy",
        "run cumprod:1x1x3x4:axis=3 a.npy -o out.npy",
        "run cumprod:axis=-1 a.npy -o out.npy",
        "run cumprod:axis=-1 fortran.npy -o out.npy",
        "run -o out.npy cumprod:axis=-1 a.npy --threads 1",
        "run cumprod:axis=-1 a.npy -o out.npy --threads=2",
        "run cumprod:axis=-1 a.npy -o out.npy --device cpu",
        "run cumprod:axis=-1 a.npy -o out.npy --in-place",
        "run cumprod:f32:1x1x3x4:axis=3,in=12x12x4x1 flat.npy -o out.npy",
        "run cumprod:f32:1x1x3x4:axis=3,in=12x12x1x3 fortran.npy -o out.npy",
    };
    put_inputs();
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        unlink("out.npy");
        expect_success("/dev/null", same[i]);
        cr_expect_eq(last.out_bytes, 0);
        expect_npy("out.npy", "<f4", shape, PRODUCTS, sizeof PRODUCTS);
    }
    for (int major = 1; major <= 3; major++) {
        write_file("v.npy", file, make_npy(file, major, "<f4", "False", shape, A, sizeof A));
        expect_success("v.npy", "run cumprod:axis=-1 - -o -");
        expect_npy(NULL, "<f4", shape, PRODUCTS, sizeof PRODUCTS);
    }
}

Test(cli, run_strides)
{
    static const float gaps[24] = { 0, 2,   0, 2,   0, 6, 0, 30, 0, 3,   0, 24,
                                    0, 168, 0, 504, 0, 9, 0, 54, 0, 108, 0, 432 };
    static const float backwards[5] = { 3, 15, 45, 45, 90 };
    static const float constant[3] = { 2, 4, 8 };
    static const float pairs[8] = { 0, 1, 0, 5, 0, 8, 0, 24 };
    put_inputs();
    expect_success("/dev/null", "run cumprod:f32:3x4:axis=1,in=4x1,out=8x2@1 flat.npy -o -");
    expect_npy(NULL, "<f4", "(24,)", gaps, sizeof gaps);
    /* out= is a flat result even where its strides are the packed ones. */
    expect_success("/dev/null", "run cumprod:f32:3x4:axis=1,in=4x1,out=4x1 a.npy -o -");
    expect_npy(NULL, "<f4", "(12,)", PRODUCTS, sizeof PRODUCTS);
    expect_success("/dev/null", "run cumprod:f32:5:axis=0,in=-1@4 flat.npy -o -");
    expect_npy(NULL, "<f4", "(5,)", backwards, sizeof backwards);
    expect_success("/dev/null", "run cumprod:f32:3:axis=0,in=0 flat.npy -o -");
    expect_npy(NULL, "<f4", "(3,)", constant, sizeof constant);
    /* In place leaves the same OUT, zero between the elements, although the input has no zeros. */
    expect_success("/dev/null", "run cumprod:f32:2x2:axis=1,in=4x2@1,out=4x2@1 flat.npy -o -");
    expect_npy(NULL, "<f4", "(8,)", pairs, sizeof pairs);
    expect_success("/dev/null",
                   "run cumprod:f32:2x2:axis=1,in=4x2@1,out=4x2@1 flat.npy -o - --in-place");
    expect_npy(NULL, "<f4", "(8,)", pairs, sizeof pairs);
}

Test(cli, run_dtypes)
{
    static const uint16_t twos[3] = { 0x4000, 0x4000, 0x4000 };
    static const uint16_t bf16[3] = { 0x4000, 0x4080, 0x4100 };
    static const int64_t ones[3] = { 1, 1, 1 }, sums[3] = { 1, 2, 3 };
    put_npy("v.npy", "<V2", "False", "(3,)", twos, sizeof twos);
    put_npy("bar.npy", "|V2", "False", "(3,)", twos, sizeof twos);
    put_npy("u.npy", "<u2", "False", "(3,)", twos, sizeof twos);
    put_npy("i.npy", "<i8", "False", "(3,)", ones, sizeof ones);
    expect_success("/dev/null", "run cumprod:axis=0 v.npy -o -");
    expect_npy(NULL, "<V2", "(3,)", bf16, sizeof bf16);
    expect_success("/dev/null", "run cumprod:axis=0 bar.npy -o -");
    expect_npy(NULL, "<V2", "(3,)", bf16, sizeof bf16);
    expect_success("/dev/null", "run cumprod:bf16:axis=0 u.npy -o -");
    expect_npy(NULL, "<V2", "(3,)", bf16, sizeof bf16);
    expect_success("/dev/null", "run cumsum:axis=0 i.npy -o -");
    expect_npy(NULL, "<i8", "(3,)", sums, sizeof sums);
    expect_failure("/dev/null", "run cumprod:axis=0 u.npy -o out.npy", 3, "dtype");
    expect_failure("/dev/null", "run cumprod:f16:axis=0 v.npy -o out.npy", 2, "dtype");
}

/* The result has a shape and a dtype of its own. */
Test(cli, run_reductions)
{
    static const float six[6] = { 1, 2, 3, 4, 5, 6 }, columns[3] = { 5, 7, 9 }, mean = 3.5f;
    static const int64_t last_of_row[2] = { 2, 2 };
    static const double wide[2] = { 6, 15 };
    static const float none[2] = { 0, 0 };
    put_npy("r.npy", "<f4", "False", "(2, 3)", six, sizeof six);
    put_npy("n.npy", "<f4", "False", "(2, 0)", six, 0);
    expect_success("/dev/null", "run sum:axes=0 r.npy -o -");
    expect_npy(NULL, "<f4", "(3,)", columns, sizeof columns);
    expect_success("/dev/null", "run argmax:axes=1,keepdims r.npy -o -");
    expect_npy(NULL, "<i8", "(2, 1)", last_of_row, sizeof last_of_row);
    expect_success("/dev/null", "run sum:f32>f64:axes=-1 r.npy -o - --threads 2");
    expect_npy(NULL, "<f8", "(2,)", wide, sizeof wide);
    expect_success("/dev/null", "run mean r.npy -o -");
    expect_npy(NULL, "<f4", "()", &mean, sizeof mean);
    expect_success("/dev/null", "run sum:axes=1 n.npy -o -");
    expect_npy(NULL, "<f4", "(2,)", none, sizeof none);
}

Test(cli, run_zero_size)
{
    put_inputs();
    put_npy("none.npy", "<f4", "False", "(0, 5)", NULL, 0);
    put_npy("none_fortran.npy", "<f4", "True", "(0, 5)", NULL, 0);
    expect_success("/dev/null", "run cumsum:axis=1 none.npy -o -");
    expect_npy(NULL, "<f4", "(0, 5)", NULL, 0);
    expect_success("/dev/null", "run cumsum:axis=1 none_fortran.npy -o -");
    expect_npy(NULL, "<f4", "(0, 5)", NULL, 0);
    expect_success("/dev/null", "run cumsum:axis=1 none.npy -o - --in-place");
    expect_npy(NULL, "<f4", "(0, 5)", NULL, 0);
    expect_success("/dev/null", "run cumsum:f32:0x5:axis=1,in=5x1,out=5x1 flat.npy -o -");
    expect_npy(NULL, "<f4", "(0,)", NULL, 0);
}

/* A reduction's OUT has the shape and the dtype of the result, of no elements too. */
Test(cli, run_reductions_of_views)
{
    static const float rows[3] = { 11, 21, 21 }, strided[5] = { 0, 9, 0, 0, 8 };
    static const float all = 53, zeros[5];
    static const int64_t largest[4] = { 2, 1, 1, 0 };
    put_inputs();
    put_npy("none.npy", "<f4", "False", "(0, 5)", NULL, 0);
    expect_success("/dev/null", "run sum:axes=-1 a.npy -o -");
    expect_npy(NULL, "<f4", "(1, 1, 3)", rows, sizeof rows);
    expect_success("/dev/null", "run sum a.npy -o - --threads 2");
    expect_npy(NULL, "<f4", "()", &all, sizeof all);
    expect_success("/dev/null", "run argmax:axes=2,keepdims fortran.npy -o -");
    expect_npy(NULL, "<i8", "(1, 1, 1, 4)", largest, sizeof largest);
    expect_success("/dev/null", "run max:f32:2x6:axes=1,in=6x1,out=-3@4 flat.npy -o -");
    expect_npy(NULL, "<f4", "(5,)", strided, sizeof strided);
    expect_success("/dev/null", "run sum:axes=0 none.npy -o -");
    expect_npy(NULL, "<f4", "(5,)", zeros, sizeof zeros);
    expect_success("/dev/null", "run sum:axes=1 none.npy -o -");
    expect_npy(NULL, "<f4", "(0,)", NULL, 0);
}

/* Statuses 2 and 3: everything that is wrong before, or without, the file. */
Test(cli, usage_and_words)
{
    static const struct {
        const char *arguments;
        int status;
        const char *field;
    } cases[] = {
        { "", 2, "usage" },
        { "compute", 2, "usage" },
        { "run", 2, "usage" },
        { "run cumprod:axis=-1 a.npy", 2, "usage" },
        { "run cumprod:axis=-1 -o out.npy", 2, "usage" },
        { "run cumprod:axis=-1 a.npy b.npy -o out.npy", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy --json", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy --fast", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy --in-place=1", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy -o out.npy", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy --threads 0", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy --threads -1", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy --threads 2x", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy --threads 4294967297", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy --plan unroll", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy --plan nonsense=1", 2, "usage" },
        { "run cumprod:axis=-1 a.npy -o out.npy --device gpu", 2, "device" },
        { "run cumprod:axis=-1 a.npy -o out.npy --device cpu:x86-64-v9", 2, "device" },
        { "run cumprod:axis=-1 a.npy -o out.npy --device vulkan:x", 2, "device" },
        { "run cumprod:axis=-1 a.npy -o out.npy --device vulkan:", 2, "device" },
        { "run cumprod:axis=-1 a.npy -o out.npy --device vulkan:63", 3, "device" },
        { "run cumprod:axis=4 a.npy -o out.npy --device vulkan:63", 2, "axis" },
        /* A bad word is told even if the file is missing. */
        { "run cumproduct:axis=-1 none.npy -o out.npy", 2, "op" },
        { "run cumprod:f33:axis=-1 none.npy -o out.npy", 2, "dtype" },
        { "run cumprod:f32:3x:axis=-1 none.npy -o out.npy", 2, "sizes" },
        { "run cumprod:f32:3:axis=1 none.npy -o out.npy", 2, "axis" },
        { "run cumprod:f32:3 none.npy -o out.npy", 2, "axis" },
        { "run cumprod:f32:3:axis=0,axis=0 none.npy -o out.npy", 2, "axis" },
        { "run cumprod:axis=0,in=1 flat.npy -o out.npy", 2, "in" },
        { "run cumprod:axis=0,out=1 flat.npy -o out.npy", 2, "out" },
        { "run cumprod:f32:3x4:axis=0,out=1x1 flat.npy -o out.npy", 2, "out" },
        { "run cumprod:i32:3:axis=0,acc=f64 none.npy -o out.npy", 2, "acc" },
        { "run cumprod:f32:3:axis=0,keepdims none.npy -o out.npy", 2, "keepdims" },
        { "run cumprod:f32:1x1x1x1x1x1x1x1x1:axis=0 none.npy -o out.npy", 2, "sizes" },
        /* A file that contradicts its word. */
        { "run cumprod:f64:axis=0 a.npy -o out.npy", 2, "dtype" },
        { "run cumprod:f32:3x4:axis=0 a.npy -o out.npy", 2, "sizes" },
        { "run cumprod:f32:1x1x4x3:axis=0 a.npy -o out.npy", 2, "sizes" },
        { "run cumprod:f32:12:axis=0,in=-1 flat.npy -o out.npy", 2, "in" },
        { "run cumprod:f32:4:axis=0,in=4 flat.npy -o out.npy", 2, "in" },
        { "run cumprod:f32:4:axis=0,in=1,out=-1 flat.npy -o out.npy", 2, "out" },
        { "run cumprod:axis=0 scalar.npy -o out.npy", 2, "sizes" },
        { "run cumprod:axis=0 rank9.npy -o out.npy", 2, "sizes" },
        { "run cumprod:axis=-1 fortran.npy -o out.npy --in-place", 2, "usage" },
        { "run cumprod:f32:3x4:axis=1,in=4x1,out=8x2 flat.npy -o out.npy --in-place", 2, "usage" },
        { "run cumprod:f32:3:axis=0,in=1@1,out=1 flat.npy -o out.npy --in-place", 2, "usage" },
        { "run cumsum:f32>f64:axis=0 flat.npy -o out.npy --in-place", 2, "usage" },
        { "run sum flat.npy -o out.npy --in-place", 2, "usage" },
        /* Valid, and no kernel exists for it. */
        { "run l2 i8.npy -o out.npy", 3, "dtype" },
        { "run argmax bool.npy -o out.npy", 3, "dtype" },
        { "run cumsum:axis=0,order=exact flat.npy -o out.npy", 3, "order" },
        { "run cumsum:f32>i64:axis=0 flat.npy -o out.npy", 3, "dtype" },
        { "run cumsum:f32:?x4:axis=0 flat.npy -o out.npy", 2, "sizes" },
        { "run cumsum:axis=0 i8.npy -o out.npy", 3, "dtype" },
        { "run cumsum:axis=0 bool.npy -o out.npy", 3, "dtype" },
    };
    static const unsigned char bytes[12] = { 1, 0, 1 };
    put_inputs();
    put_npy("scalar.npy", "<f4", "False", "()", A, 4);
    put_npy("rank9.npy", "<f4", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", A, 4);
    put_npy("i8.npy", "|i1", "False", "(12,)", bytes, sizeof bytes);
    put_npy("bool.npy", "|b1", "False", "(12,)", bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_failure("/dev/null", cases[i].arguments, cases[i].status, cases[i].field);
        cr_expect_neq(access("out.npy", F_OK), 0, "tally %s left a file", cases[i].arguments);
    }
}

/* Status 4, by path and by standard input. */
Test(cli, bad_files)
{
    static char file[MOST_BYTES];
    static const struct {
        const char *descr, *fortran, *shape;
        size_t bytes;
    } cases[] = {
        { ">f4", "False", "(12,)", 48 },
        { "|O", "False", "(12,)", 48 },
        { "<c8", "False", "(6,)", 48 },
        { "<f16", "False", "(3,)", 48 },
        { "<f4", "Maybe", "(12,)", 48 },
        { "<f4", "False", "(12", 48 },
        { "<f4", "False", "(12,)", 47 },
        { "<f4", "False", "(12,)", 0 },
        { "<f4", "False", "(11,)", 48 },
        { "<f4", "False", "(0,)", 1 },
        { "<f4", "False", "(1099511627776, 1048576)", 48 },
        { "<f4", "False", "(1099511627776, 1099511627776)", 48 },
    };
    size_t whole = make_npy(file, 1, "<f4", "False", "(12,)", A, sizeof A);
    static const size_t cuts[] = { 0, 1, 7, 9, 10, 60, 127, 128, 175 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_npy("bad.npy", cases[i].descr, cases[i].fortran, cases[i].shape, A, cases[i].bytes);
        expect_failure("/dev/null", "run cumsum:axis=0 bad.npy -o out.npy", 4, "file");
        expect_failure("bad.npy", "run cumsum:axis=0 - -o out.npy", 4, "file");
    }
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        make_npy(file, 1, "<f4", "False", "(12,)", A, sizeof A);
        cr_assert_lt(cuts[i], whole);
        write_file("bad.npy", file, cuts[i]);
        expect_failure("/dev/null", "run cumsum:axis=0 bad.npy -o out.npy", 4, "file");
    }
    expect_failure("/dev/null", "run cumsum:axis=0 missing.npy -o out.npy", 4, "file");
    expect_failure("/dev/null", "run cumsum:axis=0 . -o out.npy", 4, "file");
    expect_failure("/dev/null", "run cumsum:axis=0 - -o out.npy", 4, "file");
    cr_expect_neq(access("out.npy", F_OK), 0);
}

/* A pipe has no length to look up: it is read, and judged at its end. */
Test(cli, pipes)
{
    static const struct {
        const char *cut;
        int status;
    } cases[] = { { "cat a.npy", 0 }, { "head -c 150 a.npy", 4 }, { "cat a.npy a.npy", 4 } };
    put_inputs();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[PATH_MAX + 128];
        snprintf(command, sizeof command, "%s | '%s' run cumprod:axis=-1 - -o out.npy 2>.err",
                 cases[i].cut, tool);
        cr_expect_eq(WEXITSTATUS(system(command)), cases[i].status, "%s", cases[i].cut);
    }
    expect_npy("out.npy", "<f4", "(1, 1, 3, 4)", PRODUCTS, sizeof PRODUCTS);
}

/* OUT appears whole or not at all, and nothing else appears. */
Test(cli, outputs)
{
    static char found[MOST_BYTES];
    struct stat facts;
    put_inputs();
    write_file("out.npy", "older", 5);
    cr_assert_eq(chmod("out.npy", 0640), 0);
    expect_failure("/dev/null", "run cumprod:axis=9 a.npy -o out.npy", 2, "axis");
    expect_failure("/dev/null", "run cumprod:axis=-1 missing.npy -o out.npy", 4, "file");
    cr_expect_eq(read_file("out.npy", found, sizeof found), 5);
    cr_expect_str_eq(found, "older");
    expect_success("/dev/null", "run cumprod:axis=-1 a.npy -o out.npy");
    expect_npy("out.npy", "<f4", "(1, 1, 3, 4)", PRODUCTS, sizeof PRODUCTS);
    cr_expect_eq(stat("out.npy", &facts), 0);
    cr_expect_eq(facts.st_mode & 0777, 0640);
    /* A link stays one; input and output may be one file. */
    cr_assert_eq(symlink("out.npy", "link.npy"), 0);
    expect_success("/dev/null", "run cumprod:axis=-1 a.npy -o link.npy");
    cr_expect_eq(lstat("link.npy", &facts), 0);
    cr_expect(S_ISLNK(facts.st_mode));
    expect_success("/dev/null", "run cumprod:axis=-1 a.npy -o a.npy");
    expect_npy("a.npy", "<f4", "(1, 1, 3, 4)", PRODUCTS, sizeof PRODUCTS);
    expect_success("/dev/null", "run cumprod:axis=-1 a.npy -o /dev/null");
    expect_failure("/dev/null", "run cumprod:axis=-1 a.npy -o /dev/full", 4, "file");
    expect_failure("/dev/null", "run cumprod:axis=-1 a.npy -o .", 4, "file");
    expect_failure("/dev/null", "run cumprod:axis=-1 a.npy -o none/out.npy", 4, "file");
    cr_expect_neq(system("ls -A | grep -q '^.tally'"), 0, "an unfinished file was left");
}

Test(cli, inspect)
{
    static const struct {
        const char *arguments, *out; /* NULL: any text */
    } words[] = {
        { "inspect cumprod:f32:1x1x3x4:axis=-1 --emit word", "cumprod:f32:1x1x3x4:axis=3\n" },
        { "inspect cumsum:f32:3x4:reverse,exclusive,axis=0,in=4x1 --emit word",
          "cumsum:f32:3x4:axis=0,exclusive,reverse\n" },
        { "inspect cumsum:axis=-1 fortran.npy --emit word",
          "cumsum:f32:1x1x3x4:axis=3,in=1x1x1x3\n" },
        { "inspect sum:f32:3x4:axes=-1 --emit word", "sum:f32:3x4:axes=1\n" },
        { "inspect argmax:f32:3:last --emit word", "argmax:f32>i64:3:last\n" },
        { "inspect cumprod:f32:64x64:axis=1 --emit plan", NULL },
        { "inspect cumprod:f32:64x2048:axis=0,order=serial --emit plan --plan rows=8 "
          "--device cpu:x86-64-v3",
          "template = columns\nlanes = 8\nrows = 8\nlines = 2\ntile_lanes = 64\n"
          "prefetch = 2048\nlong_row = 16384\nsmall = 131072\nsplit_bytes = 0\n" },
        { "inspect cumprod:f32:64x64:axis=1 --emit kir", NULL },
        { "inspect cumprod:f32:64x64:axis=0 --emit llvm", NULL },
        { "inspect cumprod:f32:?x64:axis=-1 --emit word", "cumprod:f32:?x64:axis=1\n" },
        { "inspect cumprod:f32:?x?x?:axis=1 --emit plan", NULL },
        { "inspect cumprod:f32:?x3x?:axis=0 --emit kir", NULL },
        { "inspect cumprod:f32:64x64:axis=0 --emit asm", NULL },
        { "inspect cumprod:axis=0 a.npy --emit plan --device cpu:aarch64", NULL },
    };
    static const struct {
        const char *arguments;
        int status;
        const char *field;
    } wrong[] = {
        { "inspect cumprod:f32:64x64:axis=1", 2, "usage" },
        { "inspect cumprod:f32:64x64:axis=1 --emit elf", 2, "usage" },
        { "inspect cumprod:f64:64x64:axis=1,in=1x64 --emit plan --plan lanes=16", 2, "usage" },
        { "inspect cumprod:f32:64x64:axis=1 --emit kir --plan rows=4", 2, "usage" },
        { "inspect cumprod:f32:64x64:axis=1 --emit plan --plan lanes=4 --plan lanes=4", 2,
          "usage" },
        { "inspect cumprod:axis=1 --emit word", 2, "dtype" },
        { "inspect cumprod:f32:?:axis=0 --emit asm", 2, "sizes" },
        { "inspect cumprod:f32:?:axis=0 a.npy --emit word", 2, "sizes" },
        { "run cumprod:f32:?x4:axis=0 missing.npy -o out.npy", 2, "sizes" },
        { "bench cumprod:f32:?x4:axis=0", 2, "sizes" },
        { "inspect cumprod:f32:64x64:axis=1 --emit plan --plan lanes=8, ", 2, "usage" },
        { "inspect cumprod:f32:64x64:axis=2 --emit spirv", 2, "axis" },
        { "inspect cumprod:f32:64x64:axis=1 --emit spirv", 3, "device" },
        { "inspect cumprod:f32:64x64:axis=1 --emit spvasm", 3, "device" },
        { "inspect cumprod:f32:64x64:axis=1 --emit plan --profile none.profile", 4, "file" },
        { "inspect cumprod:f32:64x64:axis=1 --emit plan --profile a.npy", 4, "file" },
        { "inspect cumprod:f32:64x64:axis=1 --emit plan --profile bad.profile", 2, "device" },
        { "inspect cumprod:f32:64x64:axis=1 --emit asm --profile bad.profile", 3, "device" },
        { "inspect cumprod:f32:64x64:axis=1 --emit plan --device cpu --profile p", 2, "usage" },
        { "inspect cumprod:f32:64x64:axis=1 --emit plan --device vulkan:63", 3, "device" },
        { "inspect l1:i8:64 --emit plan", 3, "dtype" },
        { "inspect cumprod:f32:64x64:axis=1 --emit plan -o none/p.txt", 4, "file" },
        { "inspect cumprod:axis=0 missing.npy --emit word", 4, "file" },
    };
    char text[MOST_BYTES];
    put_inputs();
    write_file("bad.profile", "vendor = 1\n", 11);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        expect_success("/dev/null", words[i].arguments);
        cr_expect_gt(last.out_bytes, 0, "tally %s", words[i].arguments);
        if (words[i].out) {
            cr_expect_str_eq(last.out, words[i].out, "tally %s: %s", words[i].arguments, last.out);
        }
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        expect_failure("/dev/null", wrong[i].arguments, wrong[i].status, wrong[i].field);
    }
    expect_success("/dev/null", "inspect cumsum:f32:3:axis=-1 --emit word -o word.txt");
    cr_expect_eq(last.out_bytes, 0);
    read_file("word.txt", text, sizeof text);
    cr_expect_str_eq(text, "cumsum:f32:3:axis=0\n");
}

#ifdef TALLY_VULKAN
/* A described device is as good as one that is here, except for running. */
Test(cli, inspect_by_profile)
{
    static const char profile[] =
        "# a device with little\ndevice = none\nvendor = 0x10de\ndriver = 4\nsubgroup = 32\n"
        "subgroup_ops = 0xff\nsize_control = 0\nint64 = 0\nfloat64 = 0\nstorage16 = 0\n"
        "storage8 = 0\naddresses = 0\n"
        "preserve32 = 1\nrte32 = 1\ndenorm32 = 1\npreserve64 = 0\nrte64 = 0\n"
        "denorm64 = 0\ndenorm_together = 0\nrounding_together = 0\ninvocations = 256\n"
        "groups_x = 65535\ngroups_y = 65535\nshared_bytes = 32768\nbuffer_range = 134217728\n"
        "offset_align = 64\ntrip_limit = 0\nprogress = 1\nsaturation = 16384\n";
    static const char *const stages[] = { "word", "plan", "kir", "spvasm" };
    char arguments[128];
    write_file("p.profile", profile, sizeof profile - 1);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        snprintf(arguments, sizeof arguments,
                 "inspect cumprod:f32:64x64:axis=1 --profile p.profile --emit %s", stages[i]);
        expect_success("/dev/null", arguments);
        cr_expect_gt(last.out_bytes, 0, "%s", stages[i]);
    }
    expect_success("/dev/null",
                   "inspect cumprod:f32:64x64:axis=1 --profile=p.profile --emit spirv");
    cr_expect_eq(last.out_bytes % 4, 0);
    cr_expect_arr_eq(last.out, "\x03\x02\x23\x07", 4);
    expect_failure("/dev/null", "inspect cumsum:i64:64:axis=0 --profile p.profile --emit plan", 3,
                   "dtype");
}
#endif

/* The number behind "key": in one JSON object; NAN if there is none. */
static double number_of(const char *json, const char *object, const char *key)
{
    char quoted[64];
    const char *at = object ? strstr(json, object) : json;
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    at = at ? strstr(at, quoted) : NULL;
    cr_assert_not_null(at, "no %s in %s", key, json);
    return strtod(at + strlen(quoted), NULL);
}

Test(cli, bench)
{
    static const char *const objects[] = { "\"seconds\": {", "\"copy_seconds\": {" };
    double median[2];
    expect_success("/dev/null", "bench cumprod:f16:1x100x10:axis=-2 --json --threads 2");
    cr_expect_eq(strstr(last.out, "{\"word\": \"cumprod:f16:1x100x10:axis=1\", "), last.out, "%s",
                 last.out);
    cr_expect_not_null(strstr(last.out, "\"device\": \"cpu"));
    cr_expect_eq(number_of(last.out, NULL, "threads"), 2);
    cr_expect_geq(number_of(last.out, NULL, "runs"), 9);
    cr_expect_eq(number_of(last.out, NULL, "bytes"), 4000);
    for (int i = 0; i < 2; i++) {
        double least = number_of(last.out, objects[i], "min");
        median[i] = number_of(last.out, objects[i], "median");
        cr_expect_gt(least, 0);
        cr_expect_leq(least, median[i]);
        cr_expect_leq(median[i], number_of(last.out, objects[i], "max"));
    }
    cr_expect_lt(number_of(last.out, NULL, "ratio") * median[0] / median[1], 1.01);
    cr_expect_gt(number_of(last.out, NULL, "ratio") * median[0] / median[1], 0.99);
    cr_expect_eq(strchr(last.out, '\n'), last.out + last.out_bytes - 1);
    expect_success("/dev/null", "bench cumsum:i64:300:axis=0,in=-2@600 --threads 1");
    expect_success("/dev/null", "bench cumprod:f32:0x4:axis=0 --json");
    expect_failure("/dev/null", "bench cumsum:axis=0", 2, "dtype");
    expect_failure("/dev/null", "bench cumsum:f32:4:axis=0,in=-1", 2, "in");
    expect_failure("/dev/null", "bench sum:bool:4", 3, "dtype");
    expect_failure("/dev/null", "bench cumsum:f32:1000000000x1000000000:axis=0", 5, "sizes");
}

/* A reduction is held against reads of its input's bytes, and nothing else. */
Test(cli, bench_reduction)
{
    static const char *const objects[] = { "\"seconds\": {", "\"read_seconds\": {" };
    double median[2];
    expect_success("/dev/null", "bench argmax:f32:100x10x30:axes=1 --json --threads 2");
    cr_expect_eq(strstr(last.out, "{\"word\": \"argmax:f32>i64:100x10x30:axes=1\", "), last.out,
                 "%s", last.out);
    cr_expect_eq(number_of(last.out, NULL, "bytes"), 30000 * 4 + 3000 * 8);
    for (int i = 0; i < 2; i++) {
        median[i] = number_of(last.out, objects[i], "median");
        cr_expect_gt(number_of(last.out, objects[i], "min"), 0);
        cr_expect_leq(number_of(last.out, objects[i], "min"), median[i]);
    }
    cr_expect_float_eq(number_of(last.out, NULL, "ratio") * median[0] / median[1], 1, 0.01);
    cr_expect_gt(number_of(last.out, "\"reads\": {", "read loop"), 0);
    cr_expect_not_null(strstr(last.out, "\"read\": \"read "));
    cr_expect_null(strstr(last.out, "cop"), "%s", last.out);
    expect_success("/dev/null", "bench max:i8:7:in=-2@20 --threads 1 --data ascending");
    cr_expect_not_null(strstr(last.out, "\nread "), "%s", last.out);
    cr_expect_null(strstr(last.out, "copy"), "%s", last.out);
    expect_success("/dev/null", "bench sum:f16>f32:0x4:axes=0 --json");
    expect_success("/dev/null", "bench prod:f64:scalar --json");
}

/* Every kind that the documents name, on both operators and a dtype of each width. */
Test(cli, bench_data)
{
    static const char *const kinds[] = { "safe",    "near1",     "survival",  "around1", "uniform",
                                         "growing", "normal",    "mask",      "zeros",   "specials",
                                         "equal",   "ascending", "descending" };
    static const char *const words[] = { "cumprod:f32:3x40:axis=1", "cumsum:f16:5x7:axis=0",
                                         "cumprod:f64:50:axis=0,in=-1@49", "cumsum:i32:9:axis=0" };
    char arguments[160], wanted[64];
    expect_success("/dev/null", "bench --help");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(wanted, sizeof wanted, "\n      %s ", kinds[i]);
        cr_expect_not_null(strstr(last.out, wanted), "no %s in the help", kinds[i]);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(arguments, sizeof arguments, "bench %s --threads 1 --json --data %s",
                 words[i % (sizeof words / sizeof *words)], kinds[i]);
        expect_success("/dev/null", arguments);
        snprintf(wanted, sizeof wanted, "\"data\": \"%s\", ", kinds[i]);
        cr_expect_not_null(strstr(last.out, wanted), "%s", last.out);
    }
    expect_success("/dev/null", "bench cumprod:bf16:2x3:axis=1 --threads 1 --json");
    cr_expect_not_null(strstr(last.out, "\"data\": \"safe\", "), "%s", last.out);
    expect_success("/dev/null", "bench cumprod:bf16:2x3:axis=1 --threads 1 --data=mask");
    cr_expect_not_null(strstr(last.out, ", data mask, "), "%s", last.out);
    expect_failure("/dev/null", "bench cumprod:f32:4:axis=0 --data random", 2, "usage");
    expect_failure("/dev/null", "bench cumprod:f32:4:axis=0 --data", 2, "usage");
    expect_failure("/dev/null", "bench sum:f32:4 --data random", 2, "usage");
    expect_failure("/dev/null", "inspect sum:f32:4 --emit word --data mask", 2, "usage");
}

Test(cli, devices)
{
    static const char *const keys[] = { "\"name\": ", "\"kind\": \"cpu\"", "\"selector\": \"cpu",
                                        "\"lacks\": [" };
    expect_success("/dev/null", "devices");
    cr_expect_not_null(strstr(last.out, "cpu:"));
    expect_success("/dev/null", "devices --json");
    cr_expect_eq(last.out[0], '[');
    cr_expect_str_eq(last.out + last.out_bytes - 2, "]\n");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        cr_expect_not_null(strstr(last.out, keys[i]), "%s", keys[i]);
    }
    expect_failure("/dev/null", "devices cpu", 2, "usage");
}

/* Every selector that the list says runs here does; a part of its name selects a device. */
Test(cli, device_selectors)
{
    char list[MOST_BYTES], arguments[256];
    put_inputs();
    expect_success("/dev/null", "devices --json");
    memcpy(list, last.out, last.out_bytes + 1);
    for (char *at = strstr(list, "\"selector\": \""); at; at = strstr(at, "\"selector\": \"")) {
        int here;
        char *end;
        at += strlen("\"selector\": \"");
        end = strchr(at, '"');
        here = strncmp(strstr(end, "\"runs_here\": ") + 13, "true", 4) == 0;
        snprintf(arguments, sizeof arguments, "run cumprod:axis=-1 a.npy -o out.npy --device %.*s",
                 (int)(end - at), at);
        cr_expect_eq(call(arguments), here ? 0 : 3, "%s: %s", arguments, last.err);
        if (here) {
            expect_npy("out.npy", "<f4", "(1, 1, 3, 4)", PRODUCTS, sizeof PRODUCTS);
        }
    }
}

/* What newcomers type: the error says what was meant, the hint what there is. */
Test(cli, errors_leave_nobody_stuck)
{
    static const struct {
        const char *arguments;
        int status;
        const char *field, *message, *hint; /* pieces */
    } cases[] = {
        { "runn", 2, "usage", "did you mean run?", "verbs are run bench inspect devices" },
        { "Run a.npy", 2, "usage", "did you mean run?", "tally --help" },
        { "help", 2, "usage", "did you mean --help?", "verbs are run" },
        { "cumsum:axis=1 a.npy", 2, "usage", "no verb",
          "tally run cumsum:axis=1 IN.npy -o OUT.npy" },
        { "run cumsum:axis=1 a.npy o.npy", 2, "usage", "o.npy", "-o o.npy" },
        { "run cumsum:axis=1 a.npy --thread 2", 2, "usage", "did you mean --threads?",
          "tally run WORD" },
        { "run cumsum:axis=1 a.npy --inplace", 2, "usage", "did you mean --in-place?",
          "--in-place" },
        { "bench cumsum:f32:4:axis=0 --in-place", 2, "usage", "bench has no option",
          "tally bench" },
        { "run cumsum:axis=1 a.npy -o o.npy --device vulcan", 2, "device", "did you mean vulkan?",
          "cpu:x86-64-v2" },
        { "run cumsum:axis=1 a.npy -o o.npy --device cpu:avx2", 2, "device", "'cpu:avx2'",
          "cpu cpu:x86-64-v2 cpu:x86-64-v3 cpu:x86-64-v4 cpu:aarch64" },
        { "run cumsum,axis=1 a.npy -o o.npy", 2, "op", "did you mean cumsum?", "OP:DTYPE:SIZES" },
        { "run cumadd:axis=1 a.npy -o o.npy", 2, "op", "'cumadd'", "cumsum cumprod" },
        { "run CUMSUM:axis=1 a.npy -o o.npy", 2, "op", "did you mean cumsum?", "cumprod" },
        { "run cumsum:axis a.npy -o o.npy", 2, "axis", "needs a value", "" },
        { "run cumsum:dim=1 a.npy -o o.npy", 2, "option", "'dim'", "cumsum takes axis= exclusive" },
        { "run cumsum:axes=1 a.npy -o o.npy", 2, "axes", "did you mean axis?", "cumsum takes" },
        { "run cumsum:axis=1,exclusiv a.npy -o o.npy", 2, "option", "did you mean exclusive?",
          "reverse" },
        { "run cumsum:axis=1:reverse a.npy -o o.npy", 2, "option", "':'", "axis=1,reverse" },
        { "run cumsum:axis=1,order=seriel a.npy -o o.npy", 2, "order", "did you mean serial?",
          "exact serial" },
        { "run cumsum:axis=1,order=exact a.npy -o o.npy", 3, "order", "order=exact",
          "order=serial" },
        { "run cumsum:float32:axis=1 a.npy -o o.npy", 2, "dtype", "did you mean f32?",
          "f64 f32 f16 bf16 i64 i32 i16 i8" },
        { "run cumsum:fp16:3x4:axis=1 a.npy -o o.npy", 2, "dtype", "did you mean f16?", "f16" },
        { "run cumsum:f64:axis=1 a.npy -o o.npy", 2, "dtype", "the word says f64",
          "leave the dtype" },
        { "run cumsum:f32:9x9:axis=1 a.npy -o o.npy", 2, "sizes", "the word says 9x9",
          "leave the sizes" },
        { "run cumsum:f32:3X4:axis=1 a.npy -o o.npy", 2, "sizes", "'3X4'", "3x4" },
        { "run cumsum:i16:4:axis=0 i16.npy -o o.npy", 3, "dtype", "i16", "i64 i32" },
        { "run cumsum:axis=0 complex.npy -o o.npy", 4, "file", "'<c8'", "f64 f32 f16 bf16" },
        { "run cumsum:axis=0 big.npy -o o.npy", 4, "file", "byte order", "newbyteorder" },
        { "run cumsum:axis=1 a.npy -o o.npy --plan unrol=2", 2, "usage", "did you mean unroll?",
          "reads" },
        { "run cumsum:axis=1 a.npy -o o.npy --plan template=row", 2, "usage", "did you mean rows?",
          "templates: rows short" },
        { "inspect cumsum:f32:3x4:axis=1 --emit ir", 2, "usage", "did you mean kir?",
          "for a CPU llvm|asm" },
        { "inspect cumsum:axis=1 --emit kir", 2, "dtype", "ends before its dtype",
          "cumsum:f32:1024x512:axis=1" },
    };
    static char file[MOST_BYTES];
    static const char zeros[64];
    put_inputs();
    write_file("i16.npy", file, make_npy(file, 1, "<i2", "False", "(4,)", zeros, 8));
    write_file("complex.npy", file, make_npy(file, 1, "<c8", "False", "(4,)", zeros, 32));
    write_file("big.npy", file, make_npy(file, 1, ">f4", "False", "(4,)", zeros, 16));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_failure("/dev/null", cases[i].arguments, cases[i].status, cases[i].field);
        const char *second = strchr(last.err, '\n');
        const char *message = strstr(last.err, cases[i].message);
        cr_expect(message && message < second, "tally %s: no '%s': %s", cases[i].arguments,
                  cases[i].message, last.err);
        cr_expect_not_null(strstr(second, cases[i].hint), "tally %s: no '%s': %s",
                           cases[i].arguments, cases[i].hint, last.err);
    }
}
