/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tally run`: what it reads, computes and writes (docs/word.md, "Files").
 */
#include <criterion/criterion.h>

#include "command.h"
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Test(cli, run_reads_and_writes)
{
    static char file[TLY_MOST_BYTES];
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
    tly_put_inputs();
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        unlink("out.npy");
        tly_expect_success("/dev/null", same[i]);
        cr_expect_eq(tly_last.out_bytes, 0);
        tly_expect_npy("out.npy", "<f4", shape, tly_products, sizeof tly_products);
    }
    for (int major = 1; major <= 3; major++) {
        tly_write_file(
            "v.npy", file,
            tly_make_npy(file, major, "<f4", "False", shape, tly_example, sizeof tly_example));
        tly_expect_success("v.npy", "run cumprod:axis=-1 - -o -");
        tly_expect_npy(NULL, "<f4", shape, tly_products, sizeof tly_products);
    }
}

Test(cli, run_strides)
{
    static const float gaps[24] = { 0, 2,   0, 2,   0, 6, 0, 30, 0, 3,   0, 24,
                                    0, 168, 0, 504, 0, 9, 0, 54, 0, 108, 0, 432 };
    static const float backwards[5] = { 3, 15, 45, 45, 90 };
    static const float constant[3] = { 2, 4, 8 }, thin[3] = { 2, 2, 6 };
    static const float pairs[8] = { 0, 1, 0, 5, 0, 8, 0, 24 };
    tly_put_inputs();
    tly_expect_success("/dev/null", "run cumprod:f32:3x4:axis=1,in=4x1,out=8x2@1 flat.npy -o -");
    tly_expect_npy(NULL, "<f4", "(24,)", gaps, sizeof gaps);
    /* out= is a flat result even where its strides are the packed ones. */
    tly_expect_success("/dev/null", "run cumprod:f32:3x4:axis=1,in=4x1,out=4x1 a.npy -o -");
    tly_expect_npy(NULL, "<f4", "(12,)", tly_products, sizeof tly_products);
    tly_expect_success("/dev/null", "run cumprod:f32:5:axis=0,in=-1@4 flat.npy -o -");
    tly_expect_npy(NULL, "<f4", "(5,)", backwards, sizeof backwards);
    tly_expect_success("/dev/null", "run cumprod:f32:3:axis=0,in=0 flat.npy -o -");
    tly_expect_npy(NULL, "<f4", "(3,)", constant, sizeof constant);
    /* In Fortran order, with one long dim: the elements lie as in C order. */
    tly_put_npy("thin.npy", "<f4", "True", "(1, 3, 1)", tly_example, 3 * sizeof *tly_example);
    tly_expect_success("/dev/null", "run cumprod:axis=1 thin.npy -o -");
    tly_expect_npy(NULL, "<f4", "(1, 3, 1)", thin, sizeof thin);
    /* In place leaves the same OUT, zero between the elements, although the input has no zeros. */
    tly_expect_success("/dev/null", "run cumprod:f32:2x2:axis=1,in=4x2@1,out=4x2@1 flat.npy -o -");
    tly_expect_npy(NULL, "<f4", "(8,)", pairs, sizeof pairs);
    tly_expect_success("/dev/null",
                       "run cumprod:f32:2x2:axis=1,in=4x2@1,out=4x2@1 flat.npy -o - --in-place");
    tly_expect_npy(NULL, "<f4", "(8,)", pairs, sizeof pairs);
}

Test(cli, run_dtypes)
{
    static const uint16_t twos[3] = { 0x4000, 0x4000, 0x4000 };
    static const uint16_t bf16[3] = { 0x4000, 0x4080, 0x4100 };
    static const int64_t ones[3] = { 1, 1, 1 }, sums[3] = { 1, 2, 3 };
    tly_put_npy("v.npy", "<V2", "False", "(3,)", twos, sizeof twos);
    tly_put_npy("bar.npy", "|V2", "False", "(3,)", twos, sizeof twos);
    tly_put_npy("u.npy", "<u2", "False", "(3,)", twos, sizeof twos);
    tly_put_npy("i.npy", "<i8", "False", "(3,)", ones, sizeof ones);
    tly_expect_success("/dev/null", "run cumprod:axis=0 v.npy -o -");
    tly_expect_npy(NULL, "<V2", "(3,)", bf16, sizeof bf16);
    tly_expect_success("/dev/null", "run cumprod:axis=0 bar.npy -o -");
    tly_expect_npy(NULL, "<V2", "(3,)", bf16, sizeof bf16);
    tly_expect_success("/dev/null", "run cumprod:bf16:axis=0 u.npy -o -");
    tly_expect_npy(NULL, "<V2", "(3,)", bf16, sizeof bf16);
    tly_expect_success("/dev/null", "run cumsum:axis=0 i.npy -o -");
    tly_expect_npy(NULL, "<i8", "(3,)", sums, sizeof sums);
    tly_expect_failure("/dev/null", "run cumprod:axis=0 u.npy -o out.npy", 3, "dtype");
    tly_expect_failure("/dev/null", "run cumprod:f16:axis=0 v.npy -o out.npy", 2, "dtype");
}

Test(cli, run_zero_size)
{
    tly_put_inputs();
    tly_put_npy("none.npy", "<f4", "False", "(0, 5)", NULL, 0);
    tly_put_npy("none_fortran.npy", "<f4", "True", "(0, 5)", NULL, 0);
    tly_expect_success("/dev/null", "run cumsum:axis=1 none.npy -o -");
    tly_expect_npy(NULL, "<f4", "(0, 5)", NULL, 0);
    tly_expect_success("/dev/null", "run cumsum:axis=1 none_fortran.npy -o -");
    tly_expect_npy(NULL, "<f4", "(0, 5)", NULL, 0);
    tly_expect_success("/dev/null", "run cumsum:axis=1 none.npy -o - --in-place");
    tly_expect_npy(NULL, "<f4", "(0, 5)", NULL, 0);
    tly_expect_success("/dev/null", "run cumsum:f32:0x5:axis=1,in=5x1,out=5x1 flat.npy -o -");
    tly_expect_npy(NULL, "<f4", "(0,)", NULL, 0);
}

/* A reduction's OUT has the shape and the dtype of the result, of no elements too. */
Test(cli, run_reductions)
{
    static const float rows[3] = { 11, 21, 21 }, strided[5] = { 0, 9, 0, 0, 8 };
    static const float mean = 53.0f / 12, zeros[5];
    static const double wide[4] = { 14, 15, 12, 12 };
    static const int64_t largest[4] = { 2, 1, 1, 0 };
    tly_put_inputs();
    tly_put_npy("none.npy", "<f4", "False", "(0, 5)", NULL, 0);
    tly_expect_success("/dev/null", "run sum:axes=-1 a.npy -o -");
    tly_expect_npy(NULL, "<f4", "(1, 1, 3)", rows, sizeof rows);
    tly_expect_success("/dev/null", "run mean a.npy -o - --threads 2");
    tly_expect_npy(NULL, "<f4", "()", &mean, sizeof mean);
    tly_expect_success("/dev/null", "run sum:f32>f64:axes=0+2 a.npy -o - --threads 2");
    tly_expect_npy(NULL, "<f8", "(1, 4)", wide, sizeof wide);
    tly_expect_success("/dev/null", "run argmax:axes=2,keepdims fortran.npy -o -");
    tly_expect_npy(NULL, "<i8", "(1, 1, 1, 4)", largest, sizeof largest);
    tly_expect_success("/dev/null", "run max:f32:2x6:axes=1,in=6x1,out=-3@4 flat.npy -o -");
    tly_expect_npy(NULL, "<f4", "(5,)", strided, sizeof strided);
    tly_expect_success("/dev/null", "run sum:axes=0 none.npy -o -");
    tly_expect_npy(NULL, "<f4", "(5,)", zeros, sizeof zeros);
    tly_expect_success("/dev/null", "run sum:axes=1 none.npy -o -");
    tly_expect_npy(NULL, "<f4", "(0,)", NULL, 0);
}

/* Status 4, by path and by standard input. */
Test(cli, bad_files)
{
    static char file[TLY_MOST_BYTES];
    static const struct {
        const char *descr, *fortran, *shape;
        size_t bytes;
    } cases[] = {
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
    size_t whole = tly_make_npy(file, 1, "<f4", "False", "(12,)", tly_example, sizeof tly_example);
    static const size_t cuts[] = { 0, 1, 7, 9, 10, 60, 127, 128, 175 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tly_put_npy("bad.npy", cases[i].descr, cases[i].fortran, cases[i].shape, tly_example,
                    cases[i].bytes);
        tly_expect_failure("/dev/null", "run cumsum:axis=0 bad.npy -o out.npy", 4, "file");
        tly_expect_failure("bad.npy", "run cumsum:axis=0 - -o out.npy", 4, "file");
    }
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        tly_make_npy(file, 1, "<f4", "False", "(12,)", tly_example, sizeof tly_example);
        cr_assert_lt(cuts[i], whole);
        tly_write_file("bad.npy", file, cuts[i]);
        tly_expect_failure("/dev/null", "run cumsum:axis=0 bad.npy -o out.npy", 4, "file");
    }
    tly_expect_failure("/dev/null", "run cumsum:axis=0 missing.npy -o out.npy", 4, "file");
    tly_expect_failure("/dev/null", "run cumsum:axis=0 . -o out.npy", 4, "file");
    tly_expect_failure("/dev/null", "run cumsum:axis=0 - -o out.npy", 4, "file");
    cr_expect_neq(access("out.npy", F_OK), 0);
}

/* A pipe has no length to look up: it is read, and judged at its end. */
Test(cli, pipes)
{
    static const struct {
        const char *cut;
        int status;
    } cases[] = { { "cat a.npy", 0 }, { "head -c 150 a.npy", 4 }, { "cat a.npy a.npy", 4 } };
    tly_put_inputs();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = tly_call_piped(cases[i].cut, "run cumprod:axis=-1 - -o out.npy");
        cr_expect_eq(status, cases[i].status, "%s", cases[i].cut);
    }
    tly_expect_npy("out.npy", "<f4", "(1, 1, 3, 4)", tly_products, sizeof tly_products);
}

/* OUT appears whole or not at all, and nothing else appears. */
Test(cli, outputs)
{
    static char found[TLY_MOST_BYTES];
    struct stat facts;
    tly_put_inputs();
    tly_write_file("out.npy", "older", 5);
    cr_assert_eq(chmod("out.npy", 0640), 0);
    tly_expect_failure("/dev/null", "run cumprod:axis=9 a.npy -o out.npy", 2, "axis");
    tly_expect_failure("/dev/null", "run cumprod:axis=-1 missing.npy -o out.npy", 4, "file");
    cr_expect_eq(tly_read_file("out.npy", found, sizeof found), 5);
    cr_expect_str_eq(found, "older");
    tly_expect_success("/dev/null", "run cumprod:axis=-1 a.npy -o out.npy");
    tly_expect_npy("out.npy", "<f4", "(1, 1, 3, 4)", tly_products, sizeof tly_products);
    cr_expect_eq(stat("out.npy", &facts), 0);
    cr_expect_eq(facts.st_mode & 0777, 0640);
    /* A link stays one; input and output may be one file. */
    cr_assert_eq(symlink("out.npy", "link.npy"), 0);
    tly_expect_success("/dev/null", "run cumprod:axis=-1 a.npy -o link.npy");
    cr_expect_eq(lstat("link.npy", &facts), 0);
    cr_expect(S_ISLNK(facts.st_mode));
    tly_expect_success("/dev/null", "run cumprod:axis=-1 a.npy -o a.npy");
    tly_expect_npy("a.npy", "<f4", "(1, 1, 3, 4)", tly_products, sizeof tly_products);
    tly_expect_success("/dev/null", "run cumprod:axis=-1 a.npy -o /dev/null");
    tly_expect_failure("/dev/null", "run cumprod:axis=-1 a.npy -o /dev/full", 4, "file");
    tly_expect_failure("/dev/null", "run cumprod:axis=-1 a.npy -o .", 4, "file");
    tly_expect_failure("/dev/null", "run cumprod:axis=-1 a.npy -o none/out.npy", 4, "file");
    cr_expect_neq(system("ls -A | grep -q '^.tally'"), 0, "an unfinished file was left");
}
