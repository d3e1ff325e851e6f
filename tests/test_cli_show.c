/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `tally inspect` and `tally bench`.
 */
#include <criterion/criterion.h>

#include "command.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
          "template = columns\nlanes = 8\nrows = 8\nlines = 2\nslices = 4\ntile_lanes = 64\n"
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
    char text[TLY_MOST_BYTES];
    tly_put_inputs();
    tly_write_file("bad.profile", "vendor = 1\n", 11);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        tly_expect_success("/dev/null", words[i].arguments);
        cr_expect_gt(tly_last.out_bytes, 0, "tally %s", words[i].arguments);
        if (words[i].out) {
            cr_expect_str_eq(tly_last.out, words[i].out, "tally %s: %s", words[i].arguments,
                             tly_last.out);
        }
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tly_expect_failure("/dev/null", wrong[i].arguments, wrong[i].status, wrong[i].field);
    }
    tly_expect_success("/dev/null", "inspect cumsum:f32:3:axis=-1 --emit word -o word.txt");
    cr_expect_eq(tly_last.out_bytes, 0);
    tly_read_file("word.txt", text, sizeof text);
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
        "denorm64 = 0\nhalf_exact = 0\ndenorm_together = 0\nrounding_together = 0\ninvocations = "
        "256\n"
        "groups_x = 65535\ngroups_y = 65535\nshared_bytes = 32768\nbuffer_range = 134217728\n"
        "offset_align = 64\ntrip_limit = 0\nprogress = 1\nsaturation = 16384\n";
    static const char *const stages[] = { "word", "plan", "kir", "spvasm" };
    char arguments[128];
    tly_write_file("p.profile", profile, sizeof profile - 1);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        snprintf(arguments, sizeof arguments,
                 "inspect cumprod:f32:64x64:axis=1 --profile p.profile --emit %s", stages[i]);
        tly_expect_success("/dev/null", arguments);
        cr_expect_gt(tly_last.out_bytes, 0, "%s", stages[i]);
    }
    tly_expect_success("/dev/null",
                       "inspect cumprod:f32:64x64:axis=1 --profile=p.profile --emit spirv");
    cr_expect_eq(tly_last.out_bytes % 4, 0);
    cr_expect_arr_eq(tly_last.out, "\x03\x02\x23\x07", 4);
    tly_expect_failure("/dev/null", "inspect cumsum:i64:64:axis=0 --profile p.profile --emit plan",
                       3, "dtype");
    /* What no device has ends in a message, and not the process. */
    char absurd[sizeof profile];
    memcpy(absurd, profile, sizeof profile);
    memcpy(strstr(absurd, "offset_align = 64"), "offset_align = 65", 17);
    tly_write_file("absurd.profile", absurd, sizeof absurd - 1);
    tly_expect_failure("/dev/null",
                       "inspect cumsum:i32:64:axis=0 --profile absurd.profile --emit plan", 2,
                       "device");
    cr_expect_not_null(strstr(tly_last.err, "offset_align = 65 is out of its range: 1 to 256"));
    /* One that lies with the command, by its name; a file of that name goes first. */
    tly_expect_success("/dev/null", "inspect cumsum:f32:64x64:axis=1 --profile apple-moltenvk "
                                    "--emit plan");
    tly_expect_success("/dev/null", "inspect cumsum:f32:64x64:axis=1 --profile=intel-xe.profile "
                                    "--emit plan");
    tly_write_file("nvidia-hopper", "vendor = 1\n", 11);
    tly_expect_failure("/dev/null",
                       "inspect cumsum:f32:4:axis=0 --profile nvidia-hopper --emit plan", 2,
                       "device");
    tly_expect_failure("/dev/null",
                       "inspect cumsum:f32:4:axis=0 --profile nvidia-hoper --emit plan", 4, "file");
    cr_expect_not_null(strstr(tly_last.err, "'nvidia-hoper', did you mean nvidia-hopper?"), "%s",
                       tly_last.err);
    cr_expect_not_null(strstr(tly_last.err, " apple-moltenvk intel-xe "), "%s", tly_last.err);
    tly_expect_failure("/dev/null",
                       "inspect cumsum:f32:4:axis=0 --profile ./apple-moltenvk "
                       "--emit plan",
                       4, "file");
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
    tly_expect_success("/dev/null", "bench cumprod:f16:1x100x10:axis=-2 --json --threads 2");
    cr_expect_eq(strstr(tly_last.out, "{\"word\": \"cumprod:f16:1x100x10:axis=1\", "), tly_last.out,
                 "%s", tly_last.out);
    cr_expect_not_null(strstr(tly_last.out, "\"device\": \"cpu"));
    cr_expect_eq(number_of(tly_last.out, NULL, "threads"), 2);
    cr_expect_eq(number_of(tly_last.out, NULL, "kernel_threads"), 1, "4000 bytes by two threads");
    cr_expect_eq(number_of(tly_last.out, NULL, "copy_threads"), 1, "4000 bytes by two threads");
    cr_expect_geq(number_of(tly_last.out, NULL, "runs"), 9);
    cr_expect_eq(number_of(tly_last.out, NULL, "bytes"), 4000);
    for (int i = 0; i < 2; i++) {
        double least = number_of(tly_last.out, objects[i], "min");
        median[i] = number_of(tly_last.out, objects[i], "median");
        cr_expect_gt(least, 0);
        cr_expect_leq(least, median[i]);
        cr_expect_leq(median[i], number_of(tly_last.out, objects[i], "max"));
    }
    cr_expect_lt(number_of(tly_last.out, NULL, "ratio") * median[0] / median[1], 1.01);
    cr_expect_gt(number_of(tly_last.out, NULL, "ratio") * median[0] / median[1], 0.99);
    cr_expect_eq(strchr(tly_last.out, '\n'), tly_last.out + tly_last.out_bytes - 1);
    tly_expect_success("/dev/null", "bench cumsum:i64:300:axis=0,in=-2@600 --threads 1");
    cr_expect_not_null(strstr(tly_last.out, "GB/s on 1 thread\ncopy "), "%s", tly_last.out);
    cr_expect_not_null(strstr(tly_last.out, " on 1 thread\nratio "), "%s", tly_last.out);
    tly_expect_success("/dev/null", "bench cumprod:f32:0x4:axis=0 --json");
    tly_expect_failure("/dev/null", "bench cumsum:axis=0", 2, "dtype");
    tly_expect_failure("/dev/null", "bench cumsum:f32:4:axis=0,in=-1", 2, "in");
    tly_expect_failure("/dev/null", "bench sum:bool:4", 3, "dtype");
    tly_expect_failure("/dev/null", "bench cumsum:f32:1000000000x1000000000:axis=0", 5, "sizes");
}

/* A reduction is held against reads of its input's bytes, and nothing else. */
Test(cli, bench_reduction)
{
    static const char *const objects[] = { "\"seconds\": {", "\"read_seconds\": {" };
    double median[2];
    tly_expect_success("/dev/null", "bench argmax:f32:100x10x30:axes=1 --json --threads 2");
    cr_expect_eq(strstr(tly_last.out, "{\"word\": \"argmax:f32>i64:100x10x30:axes=1\", "),
                 tly_last.out, "%s", tly_last.out);
    cr_expect_eq(number_of(tly_last.out, NULL, "bytes"), 30000 * 4 + 3000 * 8);
    cr_expect_eq(number_of(tly_last.out, NULL, "kernel_threads"), 1);
    cr_expect_geq(number_of(tly_last.out, NULL, "read_threads"), 1);
    for (int i = 0; i < 2; i++) {
        median[i] = number_of(tly_last.out, objects[i], "median");
        cr_expect_gt(number_of(tly_last.out, objects[i], "min"), 0);
        cr_expect_leq(number_of(tly_last.out, objects[i], "min"), median[i]);
    }
    cr_expect_float_eq(number_of(tly_last.out, NULL, "ratio") * median[0] / median[1], 1, 0.01);
    cr_expect_gt(number_of(tly_last.out, "\"reads\": {", "read loop"), 0);
    cr_expect_not_null(strstr(tly_last.out, "\"read\": \"read "));
    cr_expect_null(strstr(tly_last.out, "cop"), "%s", tly_last.out);
    tly_expect_success("/dev/null", "bench max:i8:7:in=-2@20 --threads 1 --data ascending");
    cr_expect_not_null(strstr(tly_last.out, "\nread "), "%s", tly_last.out);
    cr_expect_null(strstr(tly_last.out, "copy"), "%s", tly_last.out);
    tly_expect_success("/dev/null", "bench sum:f16>f32:0x4:axes=0 --json");
    tly_expect_success("/dev/null", "bench prod:f64:scalar --json");
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
    tly_expect_success("/dev/null", "bench --help");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(wanted, sizeof wanted, "\n      %s ", kinds[i]);
        cr_expect_not_null(strstr(tly_last.out, wanted), "no %s in the help", kinds[i]);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        snprintf(arguments, sizeof arguments, "bench %s --threads 1 --json --data %s",
                 words[i % (sizeof words / sizeof *words)], kinds[i]);
        tly_expect_success("/dev/null", arguments);
        snprintf(wanted, sizeof wanted, "\"data\": \"%s\", ", kinds[i]);
        cr_expect_not_null(strstr(tly_last.out, wanted), "%s", tly_last.out);
    }
    tly_expect_success("/dev/null", "bench cumprod:bf16:2x3:axis=1 --threads 1 --json");
    cr_expect_not_null(strstr(tly_last.out, "\"data\": \"safe\", "), "%s", tly_last.out);
    tly_expect_success("/dev/null", "bench cumprod:bf16:2x3:axis=1 --threads 1 --data=mask");
    cr_expect_not_null(strstr(tly_last.out, ", data mask, "), "%s", tly_last.out);
    tly_expect_failure("/dev/null", "bench cumprod:f32:4:axis=0 --data random", 2, "usage");
    tly_expect_failure("/dev/null", "bench cumprod:f32:4:axis=0 --data", 2, "usage");
    tly_expect_failure("/dev/null", "bench sum:f32:4 --data random", 2, "usage");
    tly_expect_failure("/dev/null", "inspect sum:f32:4 --emit word --data mask", 2, "usage");
}
