/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command, as scripts meet it: docs/word.md, "The command", line by line. Beside it
 * test_cli_files.c, test_cli_hints.c, test_cli_run.c and test_cli_show.c.
 */
#include <criterion/criterion.h>

#include "command.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

Test(cli, help_and_version)
{
    static const char *const helps[] = { "--help",
                                         "-h",
                                         "run --help",
                                         "bench --help",
                                         "inspect --help",
                                         "devices --help",
                                         "run --help --nonsense",
                                         "help",
                                         "help bench",
                                         "help help",
                                         "help --help" };
    for (size_t i = 0; i < sizeof helps / sizeof *helps; i++) {
        tly_expect_success("/dev/null", helps[i]);
        cr_expect_eq(strncmp(tly_last.out, "usage: tally ", 13), 0, "%s", tly_last.out);
    }
    tly_expect_success("/dev/null", "--version");
    cr_expect_eq(strncmp(tly_last.out, "tally ", 6), 0, "%s", tly_last.out);
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
        { "run cumprod:axis=-1 -o out.npy", 2, "usage" },
        { "help nonsense", 2, "usage" },
        { "help run bench", 2, "usage" },
        { "bench cumprod:f32:4:axis=0 --raw f32:4", 2, "usage" },
        { "inspect cumprod:f32:4:axis=0 --emit word --raw f32:4", 2, "usage" },
        { "run cumprod:axis=-1 a.npy --raw f33:4", 2, "usage" },
        { "run cumprod:axis=-1 none.npy", 4, "file" },
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
        { "run cumlogsumexp:axis=0 bool.npy -o out.npy", 3, "dtype" },
        { "run cumsum:axis=0,order=exact flat.npy -o out.npy", 3, "order" },
        { "run cumsum:f32>i64:axis=0 flat.npy -o out.npy", 3, "dtype" },
        { "run cumsum:f32:?x4:axis=0 flat.npy -o out.npy", 2, "sizes" },
        { "run cumsum:axis=0 i8.npy -o out.npy", 3, "dtype" },
        { "run cumsum:axis=0 bool.npy -o out.npy", 3, "dtype" },
    };
    static const unsigned char bytes[12] = { 1, 0, 1 };
    tly_put_inputs();
    tly_put_npy("scalar.npy", "<f4", "False", "()", tly_example, 4);
    tly_put_npy("rank9.npy", "<f4", "False", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", tly_example, 4);
    tly_put_npy("i8.npy", "|i1", "False", "(12,)", bytes, sizeof bytes);
    tly_put_npy("bool.npy", "|b1", "False", "(12,)", bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tly_expect_failure("/dev/null", cases[i].arguments, cases[i].status, cases[i].field);
        cr_expect_neq(access("out.npy", F_OK), 0, "tally %s left a file", cases[i].arguments);
    }
}

Test(cli, devices)
{
    static const char *const keys[] = { "\"name\": ", "\"kind\": \"cpu\"", "\"selector\": \"cpu",
                                        "\"lacks\": [" };
    tly_expect_success("/dev/null", "devices");
    cr_expect_not_null(strstr(tly_last.out, "cpu:"));
    tly_expect_success("/dev/null", "devices --json");
    cr_expect_eq(tly_last.out[0], '[');
    cr_expect_str_eq(tly_last.out + tly_last.out_bytes - 2, "]\n");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        cr_expect_not_null(strstr(tly_last.out, keys[i]), "%s", keys[i]);
    }
    tly_expect_failure("/dev/null", "devices cpu", 2, "usage");
}

/* Every selector that the list says runs here does; a part of its name selects a device. */
Test(cli, device_selectors)
{
    char list[TLY_MOST_BYTES], arguments[256];
    tly_put_inputs();
    tly_expect_success("/dev/null", "devices --json");
    memcpy(list, tly_last.out, tly_last.out_bytes + 1);
    for (char *at = strstr(list, "\"selector\": \""); at; at = strstr(at, "\"selector\": \"")) {
        int here;
        char *end;
        at += strlen("\"selector\": \"");
        end = strchr(at, '"');
        here = strncmp(strstr(end, "\"runs_here\": ") + 13, "true", 4) == 0;
        snprintf(arguments, sizeof arguments, "run cumprod:axis=-1 a.npy -o out.npy --device %.*s",
                 (int)(end - at), at);
        cr_expect_eq(tly_call(arguments), here ? 0 : 3, "%s: %s", arguments, tly_last.err);
        if (here) {
            tly_expect_npy("out.npy", "<f4", "(1, 1, 3, 4)", tly_products, sizeof tly_products);
        }
    }
}
