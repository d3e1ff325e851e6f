/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tally run` with the result as text (docs/word.md, "Files").
 */
#include <criterion/criterion.h>

#include "command.h"
#include <stdio.h>
#include <string.h>

static void expect_text(const char *in, const char *arguments, const char *text)
{
    tly_expect_success(in, arguments);
    cr_expect_str_eq(tly_last.out, text, "tally %s: %s", arguments, tly_last.out);
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
