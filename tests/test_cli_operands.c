/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tally run` with operands: files and numbers that complete a word, and those that contradict it
 * (docs/stages.md).
 */
#include <criterion/criterion.h>

#include "command.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const float x[6] = { 2, 1, 3, 5, 3, 8 };
static const float row[3] = { 1, 2, 3 }, column[2] = { 2, 10 };
static const float by_row[6] = { 2, 4, 13, 5, 11, 35 };
static const float by_column[6] = { 4, 6, 12, 50, 80, 160 };
static const float by_all[6] = { 4, 5, 14, 25, 34, 98 };
static const float halves[6] = { 1, 1.5f, 3, 2.5f, 4, 8 };

static void put_files(void)
{
    static const float transposed[6] = { 2, 5, 1, 3, 3, 8 };
    static const unsigned char mask[6] = { 1, 0, 1, 0, 1, 1 };
    static const double wide[3] = { 1, 2, 3 };
    static const int32_t integers[6] = { 1, 2, 3, 4, 5, 6 };
    static const signed char bytes[6] = { 5, 7, 3, 13, 1, 4 };
    static const unsigned char big_endian[12] = {
        0x3f, 0x80, 0, 0, 0x40, 0, 0, 0, 0x40, 0x40, 0, 0
    };
    tly_put_npy("x.npy", "<f4", "False", "(2, 3)", x, sizeof x);
    tly_put_npy("fortran.npy", "<f4", "True", "(2, 3)", transposed, sizeof x);
    tly_put_npy("row.npy", "<f4", "False", "(3,)", row, sizeof row);
    tly_put_npy("swapped.npy", ">f4", "False", "(1, 3)", big_endian, sizeof big_endian);
    tly_put_npy("column.npy", "<f4", "False", "(2,)", column, sizeof column);
    tly_put_npy("column1.npy", "<f4", "False", "(2, 1)", column, sizeof column);
    tly_put_npy("one.npy", "<f4", "False", "()", column, sizeof *column);
    tly_put_npy("ones.npy", "<f4", "False", "(1, 1)", column, sizeof *column);
    tly_put_npy("high.npy", "<f4", "False", "(1, 2, 3)", x, sizeof x);
    tly_put_npy("short.npy", "<f4", "False", "(2, 3)", x, sizeof x - 4);
    tly_put_npy("mask.npy", "|b1", "False", "(2, 3)", mask, sizeof mask);
    tly_put_npy("wide.npy", "<f8", "False", "(3,)", wide, sizeof wide);
    tly_put_npy("integers.npy", "<i4", "False", "(2, 3)", integers, sizeof integers);
    tly_put_npy("bytes.npy", "|i1", "False", "(2, 3)", bytes, sizeof bytes);
    tly_write_file("row.csv", "1,2,3\n", 6);
    tly_write_file("row.bin", row, sizeof row);
}

/* What the file of an operand may be, and where the word leaves the place to it. */
Test(cli, operands_of_every_kind)
{
    static const struct {
        const char *arguments;
        const float *wanted;
    } cases[] = {
        { "cumsum:axis=-1,a,map=x*a x.npy a=row.npy", by_row },
        { "cumsum:axis=-1,a,map=x*a x.npy a=row.csv", by_row },
        { "cumsum:axis=-1,a,map=x*a x.npy a=swapped.npy", by_row },
        { "cumsum:axis=-1,a,map=x*a x.npy a=row.bin --raw a=f32", by_row },
        { "cumsum:axis=-1,a=f32,map=x*a x.npy a=row.npy --threads 2", by_row },
        { "cumsum:axis=-1,a=/1,map=x*a x.npy a=row.npy", by_row },
        { "cumsum:axis=-1,a=f32/0x1@0,map=x*a x.npy a=row.npy", by_row },
        { "cumsum:axis=-1,a=f32/-1,map=x*a x.npy a=row.npy --in-place", by_row },
        { "cumsum:axis=-1,a=/0,map=x*a x.npy a=column.npy", by_column },
        { "cumsum:axis=-1,a=/0,map=x*a x.npy a=column1.npy", by_column },
        { "cumsum:axis=-1,a,map=x*a x.npy a=column1.npy", by_column },
        { "cumsum:f32:2x3:axis=-1,a=f32/1x0@0,map=x*a x.npy a=column.npy", by_column },
        { "cumsum:axis=-1,a,map=x*a x.npy a=x.npy", by_all },
        { "cumsum:axis=-1,a,map=x*a x.npy a=fortran.npy", by_all },
        { "cumsum:axis=-1,a=f32/0+1,map=x*a x.npy a=fortran.npy", by_all },
        { "cumsum:axis=-1,a,map=x*a fortran.npy a=x.npy", by_all },
        { "cumsum:axis=-1,a=f32/3x1@0,map=x*a x.npy a=x.npy", by_all },
        { "cumsum:axis=-1,a,map=x*a x.npy a=0.5", halves },
        { "cumsum:axis=-1,a=f16/none,map=x*a x.npy a=.5", halves },
        { "cumsum:axis=-1,a,b=/none,map=x*a/b x.npy a=1 b=one.npy", halves },
        { "cumsum:axis=-1,a=f32/none,b,map=x/a/b x.npy b=1 a=ones.npy", halves },
    };
    char line[256];
    put_files();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line, "run %s -o out.npy", cases[i].arguments);
        unlink("out.npy");
        tly_expect_success("/dev/null", line);
        tly_expect_npy("out.npy", "<f4", "(2, 3)", cases[i].wanted, sizeof x);
    }
    tly_expect_success("row.npy", "run cumsum:axis=-1,a,map=x*a x.npy a=- -o -");
    tly_expect_npy(NULL, "<f4", "(2, 3)", by_row, sizeof by_row);
    tly_expect_success("x.npy", "run cumsum:axis=-1,a,map=x*a - a=row.npy -o -");
    tly_expect_npy(NULL, "<f4", "(2, 3)", by_row, sizeof by_row);
}

/* A root that the sum of squares hides is found whatever `post` makes of the first try. */
Test(cli, post_of_a_large_root)
{
    static const double large[1] = { 1.02e307 };
    static const double shown[1] = { -INFINITY };
    tly_put_npy("large.npy", "<f8", "False", "(1,)", large, sizeof large);
    tly_expect_success("/dev/null", "run l2:axes=0,post=y-y*y large.npy -o -");
    tly_expect_npy(NULL, "<f8", "()", shown, sizeof shown);
}

/* Rows that fill a part of a vector go several at once, whatever operands do from row to row. */
Test(cli, operands_of_short_rows)
{
    enum { ROWS = 20, MOST = 16 };
    static float in[ROWS * MOST], weight[MOST], each[ROWS], by_weight[ROWS], by_row[ROWS];
    char shape[32];
    for (int length = 2; length <= MOST; length *= 2) {
        for (int i = 0; i < ROWS; i++) {
            each[i] = (float)(i + 1);
            by_weight[i] = by_row[i] = 0;
            for (int j = 0; j < length; j++) {
                in[i * length + j] = (float)(i + j);
                weight[j] = (float)(2 * j + 1);
                by_weight[i] += (float)(i + j) * weight[j];
                by_row[i] += (float)(i + j) - each[i];
            }
        }
        snprintf(shape, sizeof shape, "(%d, %d)", ROWS, length);
        tly_put_npy("rows.npy", "<f4", "False", shape, in, sizeof *in * (size_t)(ROWS * length));
        snprintf(shape, sizeof shape, "(%d,)", length);
        tly_put_npy("weight.npy", "<f4", "False", shape, weight, sizeof *weight * (size_t)length);
        tly_put_npy("each.npy", "<f4", "False", "(20,)", each, sizeof each);
        tly_expect_success("/dev/null", "run sum:axes=1,a=/1,map=x*a rows.npy a=weight.npy -o -");
        tly_expect_npy(NULL, "<f4", "(20,)", by_weight, sizeof by_weight);
        tly_expect_success("/dev/null", "run sum:axes=1,a=/0,map=x-a rows.npy a=each.npy -o -");
        tly_expect_npy(NULL, "<f4", "(20,)", by_row, sizeof by_row);
    }
}

/* Zeros of files and numbers, with their signs. */
Test(cli, zeros_are_zeros)
{
    static const uint16_t halves[4] = { 0x3c00, 0, 0x8000, 0xbc00 };
    static const uint16_t results[4] = { 0, 0, 0x8000, 0x8000 };
    tly_write_file("zeros.csv", "1,0,-0,-1\n", 10);
    tly_expect_success("/dev/null", "run max:f16:axes=none zeros.csv -o -");
    tly_expect_npy(NULL, "<f2", "(1, 4)", halves, sizeof halves);
    tly_expect_success("/dev/null", "run sum:f16:axes=none,a=f16/none,map=x*a zeros.csv a=0 -o -");
    tly_expect_npy(NULL, "<f2", "(1, 4)", results, sizeof results);
}

/* A word that leaves out its dtype may have constants that only the file's dtype holds. */
Test(cli, constants_of_the_files_dtype)
{
    static const double wide[1] = { 2 }, product[1] = { 2e300 };
    tly_put_npy("wide.npy", "<f8", "False", "(1,)", wide, sizeof wide);
    tly_expect_success("/dev/null", "run sum:axes=0,map=x*1e300 wide.npy -o -");
    tly_expect_npy(NULL, "<f8", "()", product, sizeof product);
    tly_put_npy("count.npy", "<i8", "False", "(1,)", (int64_t[1]){ 2 }, 8);
    tly_expect_failure("/dev/null", "run sum:axes=0,map=x*9e99 count.npy", 2, "map");
    cr_expect_not_null(strstr(tly_last.err, "9e99 is no i64"), "%s", tly_last.err);
}

/* One element is one, whatever the rank of its file. */
Test(cli, one_element_of_any_rank)
{
    static const float one[1] = { 3 }, two[1] = { 5 }, less[1] = { 2 };
    tly_put_npy("scalar.npy", "<f4", "False", "()", two, sizeof two);
    tly_put_npy("one.npy", "<f4", "False", "(1, 1, 1)", one, sizeof one);
    tly_expect_success("/dev/null", "run sum:a=/none,map=x-a scalar.npy a=one.npy -o -");
    tly_expect_npy(NULL, "<f4", "()", less, sizeof less);
}

/* An operand's dtype is the file's, a number's that of the expressions. */
Test(cli, operands_have_dtypes)
{
    static const float masked[6] = { 2, 2, 5, 0, 3, 11 }, scaled[2] = { 12, 90 };
    static const float halved[2] = { 7.5f, 9 };
    static const float shown[3] = { 6, 2, 8 };
    static const double wide[6] = { 2, 4, 13, 5, 11, 35 };
    static const int32_t shifted[6] = { -2, -3, -3, 1, 3, 6 };
    static const float empty[3] = { 0, 0, 0 };
    put_files();
    tly_expect_success("/dev/null", "run cumsum:axis=1,a,map=where(a,x,0) x.npy a=mask.npy -o -");
    tly_expect_npy(NULL, "<f4", "(2, 3)", masked, sizeof masked);
    tly_expect_success("/dev/null", "run sum:i8>f32:axes=1,a,b=f32/0,map=(x-a)*b bytes.npy a=3 "
                                    "b=column.npy -o -");
    tly_expect_npy(NULL, "<f4", "(2,)", scaled, sizeof scaled);
    tly_expect_success("/dev/null", "run sum:i8>f32:axes=1,a,map=x*a bytes.npy a=.5 -o -");
    tly_expect_npy(NULL, "<f4", "(2,)", halved, sizeof halved);
    /* The operand lies along the axis that is kept, so its place must not be guessed before. */
    tly_expect_success("/dev/null", "run sum:axes=0,a,post=y-a x.npy a=row.npy -o -");
    tly_expect_npy(NULL, "<f4", "(3,)", shown, sizeof shown);
    tly_expect_success("/dev/null", "run cumsum:>f64:axis=1,a,map=x*a x.npy a=wide.npy -o -");
    tly_expect_npy(NULL, "<f8", "(2, 3)", wide, sizeof wide);
    tly_expect_success("/dev/null", "run cumsum:axis=1,a=i32,map=x-a integers.npy a=3 -o -");
    tly_expect_npy(NULL, "<i4", "(2, 3)", shifted, sizeof shifted);
    tly_put_npy("none.npy", "<f4", "False", "(0, 3)", NULL, 0);
    tly_expect_success("/dev/null", "run sum:axes=0,a,map=x*a none.npy a=row.npy -o -");
    tly_expect_npy(NULL, "<f4", "(3,)", empty, sizeof empty);
}

/* Status 2 with the letter as field, and a hint. */
Test(cli, operands_that_contradict)
{
    static const char *const cases[] = {
        "cumsum:axis=1,a,map=x*a x.npy",
        "cumsum:axis=1 x.npy a=3",
        "cumsum:axis=1,a,map=x*a x.npy a=3 a=4",
        "cumsum:axis=1,a,map=x*a x.npy a=",
        "cumsum:axis=1,a,map=x*a x.npy a=column.npy",
        "cumsum:axis=1,a,map=x*a x.npy a=high.npy",
        "cumsum:axis=1,a,map=x*a x.npy a=wide.npy",
        "cumsum:axis=1,a,map=x*a x.npy a=integers.npy",
        "cumsum:axis=1,a,map=x*a bytes.npy a=0.5",
        "cumsum:axis=1,a,map=x*a bytes.npy a=128",
        "cumsum:axis=1,a=i8,map=x*a x.npy a=1.5",
        "cumsum:axis=1,a=f32,map=x*a x.npy a=wide.npy",
        "cumsum:axis=1,a=/0,map=x*a x.npy a=row.npy",
        "cumsum:axis=1,a=/0,map=x*a x.npy a=x.npy",
        "cumsum:axis=1,a=/none,map=x*a x.npy a=row.npy",
        "cumsum:axis=1,a=/0,map=x*a x.npy a=3",
        "cumsum:axis=1,a=f32/1x0@0,map=x*a x.npy a=3",
        "cumsum:axis=1,a=f32/1x0@1,map=x*a x.npy a=column.npy",
        "cumsum:axis=1,a=f32/3x1@0,map=x*a x.npy a=row.npy",
        "cumsum:axis=1,a=f32/-1x0@0,map=x*a x.npy a=column.npy",
        "cumsum:axis=1,a,map=x*a - a=-",
        "cumsum:axis=1,a,map=x*a x.npy a=3 --raw a=f32",
    };
    char line[256];
    put_files();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(line, sizeof line, "run %s -o out.npy", cases[i]);
        tly_expect_failure("x.npy", line, 2, "a");
        cr_expect_not_null(strstr(tly_last.err, "\nhint: "), "tally %s: %s", line, tly_last.err);
    }
    tly_expect_failure("/dev/null", "run cumsum:axis=1,a,b,map=x*a+b x.npy a=1 -o out.npy", 2, "b");
    tly_expect_failure("/dev/null", "run cumsum:axis=1,a,map=x*a x.npy a=1 --raw b=f32", 2, "b");
    tly_expect_failure("/dev/null", "run sum:axes=0,a,post=y-a x.npy a=x.npy -o out.npy", 2,
                       "post");
    cr_expect_neq(access("out.npy", F_OK), 0);
}

/* bench makes the data of operands, and compares with loops that read and write all tensors. */
Test(cli, bench_with_operands)
{
    tly_expect_success("/dev/null", "bench cumsum:f32:3x5:axis=1,a=f16/0,b=bool,map=where(b,x*a,0) "
                                    "--data x=normal,b=mask --json");
    cr_expect_not_null(strstr(tly_last.out, "\"move_seconds\""), "%s", tly_last.out);
    cr_expect_not_null(strstr(tly_last.out, "\"data\": \"x=normal,a=safe,b=mask\""), "%s",
                       tly_last.out);
    cr_expect_not_null(strstr(tly_last.out, "\"bytes\": 141"), "%s", tly_last.out);
    tly_expect_success("/dev/null", "bench sum:f32:3x0:axes=0,a,map=x*a --data a=mask --json");
    tly_expect_failure("/dev/null", "bench cumsum:f32:8:axis=0 --data a=mask", 2, "usage");
    tly_expect_failure("/dev/null", "bench cumsum:f32:8:axis=0 --data mask,x=mask", 2, "usage");
    tly_expect_failure("/dev/null", "bench cumsum:f32:8:axis=0 --data e=mask", 2, "usage");
}

/* Other command lines that are wrong, and files that are. */
Test(cli, operands_and_other_errors)
{
    put_files();
    tly_expect_failure("/dev/null", "run cumsum:axis=1,a,map=x*a x.npy e=3", 2, "usage");
    cr_expect_not_null(strstr(tly_last.err, "operands are named"), "%s", tly_last.err);
    tly_expect_failure("/dev/null", "run cumsum:axis=1,a,map=x*a a=3 x.npy", 2, "usage");
    cr_expect_not_null(strstr(tly_last.err, "come last"), "%s", tly_last.err);
    tly_expect_failure("/dev/null", "run cumsum x.npy axis=0", 2, "usage");
    cr_expect_not_null(strstr(tly_last.err, "cumsum:axis=0"), "%s", tly_last.err);
    tly_expect_failure("/dev/null", "inspect cumsum:axis=1 x.npy --emit word --raw a=f32", 2,
                       "usage");
    tly_expect_failure("/dev/null", "run cumsum:axis=1,a,map=x*a x.npy a=missing.npy", 4, "file");
    tly_expect_failure("/dev/null", "run cumsum:axis=1,a,map=x*a x.npy a=short.npy -o out.npy", 4,
                       "file");
    tly_expect_failure("/dev/null", "run mean:>f32:axes=1,map=x*2 integers.npy -o out.npy", 3,
                       "dtype");
    /* The word is judged before any file, with the dtypes and ranks that operands allow. */
    tly_expect_failure("/dev/null", "run cumsum:axis=1,a,map=x*q missing.npy a=3", 2, "map");
    tly_expect_failure("/dev/null", "run cumsum:axis=1,a=i64,map=x*a missing.npy a=3", 4, "file");
    tly_expect_failure("/dev/null", "run sum:axes=0,a,post=y*a missing.npy a=3", 4, "file");
    cr_expect_neq(access("out.npy", F_OK), 0);
}
