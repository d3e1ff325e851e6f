/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tally run` on every kind of file, and the result as text (docs/word.md, "Files").
 */
#include <criterion/criterion.h>

#include "command.h"
#include "zip.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void expect_text(const char *in, const char *arguments, const char *text)
{
    tly_expect_success(in, arguments);
    cr_expect_str_eq(tly_last.out, text, "tally %s: %s", arguments, tly_last.out);
}

static void put_text(const char *name, const char *text)
{
    tly_write_file(name, text, strlen(text));
}

Test(cli, prints_the_result)
{
    static const char products[] = "[[[[  2.   2.   6.  30.]\n"
                                   "   [  3.  24. 168. 504.]\n"
                                   "   [  9.  54. 108. 432.]]]]\n";
    tly_put_inputs();
    expect_text("/dev/null", "run cumprod:axis=-1 a.npy", products);
    expect_text("/dev/null", "run cumprod:axis=-1 fortran.npy --threads 2", products);
    expect_text("/dev/null", "run cumprod:axis=-1 a.npy --in-place", products);
    expect_text("a.npy", "run cumprod:axis=-1 -", products);
    expect_text("/dev/null", "run sum a.npy", "53.0\n");
    expect_text("/dev/null", "run argmax:axes=3 a.npy", "[[[3 1 0]]]\n");
    expect_text("/dev/null", "run cumprod:f32:2x2:axis=1,in=4x2@1,out=4x2@1 flat.npy",
                "[ 0.  1.  0.  5.  0.  8.  0. 24.]\n");
    expect_text("/dev/null", "run cumsum:f32:0x4:axis=0,in=4x1 flat.npy", "[]\n");
    tly_expect_failure("/dev/null", "run cumprod:axis=9 a.npy", 2, "axis");
}

/* A terminal gets the text, and nothing that is none. */
Test(cli, terminals)
{
    static const struct {
        const char *arguments, *hint;
    } cases[] = {
        { "run sum a.npy -o -", "tally run sum a.npy" },
        { "run sum a.npy -o /dev/tty", "tally run sum a.npy" },
        { "inspect sum:f32:4 --device vulkan --emit spirv", "--emit spvasm" },
    };
    tly_put_inputs();
    cr_assert_eq(tly_call_on_terminal("run sum a.npy"), 0);
    cr_expect_str_eq(tly_last.out, "53.0\r\n");
    cr_assert_eq(tly_call_on_terminal("inspect sum:f32:4 --emit word"), 0);
    cr_expect_str_eq(tly_last.out, "sum:f32:4\r\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(tly_call_on_terminal(cases[i].arguments), 2, "%s", cases[i].arguments);
        cr_expect_eq(strncmp(tly_last.out, "tally: usage: ", 14), 0, "%s", tly_last.out);
        cr_expect_not_null(strstr(tly_last.out, cases[i].hint), "%s", tly_last.out);
        cr_expect_null(strchr(tly_last.out, '\x93'));
    }
}

/* Whoever reads what is written may stop: the command ends without a word, as others do. */
Test(cli, closed_pipes)
{
    static const char *const cases[] = { "run sum a.npy", "run sum a.npy -o -", "run --help",
                                         "inspect sum:f32:4 --emit plan", "devices" };
    tly_put_inputs();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(tly_call_unread(cases[i]), 128 + 13, "%s: %d", cases[i], tly_last.status);
        cr_expect_str_empty(tly_last.err, "%s: %s", cases[i], tly_last.err);
    }
}

Test(cli, archives)
{
    static zip z;
    static char file[TLY_MOST_BYTES];
    static const short small[2] = { -1, 1 };
    zip_add(&z, "x.npy", file,
            tly_make_npy(file, 1, "<f4", "False", "(3, 4)", tly_example, sizeof tly_example), 0);
    zip_end(&z, 0);
    tly_write_file("one.npz", z.data, z.bytes);
    memset(&z, 0, sizeof z);
    zip_add(&z, "x.npy", file,
            tly_make_npy(file, 1, "<f4", "True", "(4, 3)", tly_example, sizeof tly_example), 0);
    zip_add(&z, "a:b/y.npy", file,
            tly_make_npy(file, 1, ">i2", "False", "(2,)", small, sizeof small), 0);
    zip_end(&z, 0);
    tly_write_file("two.npz", z.data, z.bytes);
    expect_text("/dev/null", "run sum:axes=1 one.npz", "[11. 21. 21.]\n");
    expect_text("/dev/null", "run sum:axes=1 one.npz:x", "[11. 21. 21.]\n");
    expect_text("one.npz", "run sum:axes=1 -", "[11. 21. 21.]\n");
    expect_text("two.npz", "run sum:axes=0 -:x", "[11. 21. 21.]\n");
    expect_text("/dev/null", "run sum:axes=0 two.npz:x", "[11. 21. 21.]\n");
    expect_text("/dev/null", "run cumsum:>i64:axis=0 two.npz:a:b/y", "[ -1 255]\n");
    expect_text("/dev/null", "inspect sum:axes=0 two.npz:x --emit word",
                "sum:f32:4x3:axes=0,in=1x4\n");
    cr_expect_eq(tly_call_piped("cat one.npz", "run sum - -o out.npy"), 0);
    tly_expect_failure("/dev/null", "run sum two.npz", 2, "file");
    cr_expect_not_null(strstr(tly_last.err, "two.npz:x, two.npz:a:b/y\n"), "%s", tly_last.err);
    tly_expect_failure("/dev/null", "run sum two.npz:z", 2, "file");
    tly_expect_failure("/dev/null", "run sum none.npz:x", 4, "file");
    tly_expect_failure("/dev/null", "run sum:f64 two.npz:x", 2, "dtype");
    tly_put_inputs();
    tly_expect_failure("/dev/null", "run sum a.npy:x", 2, "file");
    z.data[60] ^= 1;
    tly_write_file("two.npz", z.data, z.bytes);
    tly_expect_failure("/dev/null", "run sum two.npz:x -o out2.npy", 4, "file");
    cr_expect_neq(access("out2.npy", F_OK), 0);
#ifdef TALLY_ZLIB
    memset(&z, 0, sizeof z);
    zip_add(&z, "x.npy", file,
            tly_make_npy(file, 1, "<f4", "False", "(3, 4)", tly_example, sizeof tly_example), 8);
    zip_end(&z, 0);
    tly_write_file("deflated.npz", z.data, z.bytes);
    expect_text("/dev/null", "run sum:axes=1 deflated.npz", "[11. 21. 21.]\n");
#endif
}

Test(cli, other_byte_order)
{
    static const unsigned char swapped[16] = { 0x40, 0, 0, 0, 0x40, 0x40, 0,    0,
                                               0x40, 0, 0, 0, 0x40, 0x80, 0x00, 0 };
    tly_put_npy("big.npy", ">f4", "False", "(2, 2)", swapped, sizeof swapped);
    expect_text("/dev/null", "run cumprod:axis=1 big.npy", "[[2. 6.]\n [2. 8.]]\n");
    expect_text("big.npy", "run cumprod:axis=1 - --in-place", "[[2. 6.]\n [2. 8.]]\n");
    tly_expect_success("/dev/null", "run max:axes=none big.npy -o out.npy");
    tly_expect_npy("out.npy", "<f4", "(2, 2)", (const float[]){ 2, 3, 2, 4 }, 16);
}

Test(cli, tables)
{
    put_text("t.csv", "time,load\n0,1.5\n1,2.5\n2,4\n");
    put_text("v.txt", "1\n2\n300\n");
    put_text("bad.csv", "a,b\n1,2\n3,x\n");
    expect_text("/dev/null", "run cumsum:axis=0 t.csv", "[[0.  1.5]\n [1.  4. ]\n [3.  8. ]]\n");
    expect_text("t.csv", "run mean:axes=0 -", "[1.         2.66666667]\n");
    expect_text("/dev/null", "run cumsum:axis=0 v.txt", "[  1.   3. 303.]\n");
    expect_text("/dev/null", "run cumsum:i32:axis=0 v.txt", "[  1   3 303]\n");
    expect_text("/dev/null", "run sum:f32>f64:3 v.txt", "303.0\n");
    expect_text("/dev/null", "inspect sum t.csv --emit word", "sum:f64:3x2\n");
    cr_expect_eq(tly_call_piped("echo 2 3 5 7", "run cumsum:axis=-1 - -o out.npy"), 0);
    tly_expect_npy("out.npy", "<f8", "(1, 4)", (const double[]){ 2, 5, 10, 17 }, 32);
    tly_expect_failure("/dev/null", "run sum:i8>i64 v.txt", 4, "file");
    cr_expect_not_null(strstr(tly_last.err, "v.txt: line 3, column 1: '300' does not fit i8"));
    tly_expect_failure("/dev/null", "run sum bad.csv", 4, "file");
    cr_expect_not_null(strstr(tly_last.err, "bad.csv: line 3, column 2: 'x'"), "%s", tly_last.err);
    tly_expect_failure("/dev/null", "run sum:2x3 t.csv", 2, "sizes");
    put_text("none.csv", "");
    tly_expect_failure("/dev/null", "run sum none.csv", 4, "file");
    cr_expect_not_null(strstr(tly_last.err, ".npz (IN.npz:name), a CSV"), "%s", tly_last.err);
    tly_write_file("binary",
                   "\x7f"
                   "ELF\2\1\1\0\0",
                   9);
    tly_expect_failure("/dev/null", "run sum binary", 4, "file");
    cr_expect_not_null(strstr(tly_last.err, "--raw f32:3x4"), "%s", tly_last.err);
}

Test(cli, raw)
{
    tly_write_file("r.bin", tly_example, sizeof tly_example);
    expect_text("/dev/null", "run sum:axes=1 r.bin --raw f32:3x4", "[11. 21. 21.]\n");
    expect_text("r.bin", "run sum:axes=1 - --raw=f32:3x4", "[11. 21. 21.]\n");
    expect_text("/dev/null", "run sum r.bin --raw f32", "53.0\n");
    expect_text("r.bin", "run sum - --raw f32", "53.0\n");
    expect_text("/dev/null", "run cumprod:f32:3x4:axis=1,in=4x1 r.bin --raw f32:12",
                "[[  2.   2.   6.  30.]\n [  3.  24. 168. 504.]\n [  9.  54. 108. 432.]]\n");
    expect_text("/dev/null", "inspect sum:axes=1 r.bin --raw f16:4x6 --emit word",
                "sum:f16:4x6:axes=1\n");
    tly_expect_failure("/dev/null", "run sum r.bin --raw f32:3x5", 4, "file");
    tly_expect_failure("/dev/null", "run sum r.bin --raw f32:3x3", 4, "file");
    tly_expect_failure("r.bin", "run sum - --raw f32:3x5", 4, "file");
    tly_expect_failure("r.bin", "run sum - --raw f32:3x3", 4, "file");
    tly_expect_failure("/dev/null", "run sum r.bin --raw 3x4", 2, "usage");
    tly_expect_failure("/dev/null", "run sum:f64 r.bin --raw f32:12", 2, "dtype");
    tly_write_file("odd", "12345", 5);
    tly_expect_failure("/dev/null", "run sum odd --raw f32", 4, "file");
}
