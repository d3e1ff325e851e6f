/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans beyond sums and products of one dtype: of maxima and minima, of logarithms of sums, and
 * with outputs wider than the input. docs/semantics.md line by line, as the table has it that the
 * reference is held to, and then in every form. Random cases are the differential driver's.
 */
#include <string.h>

#include "trials.h"

/* ---- the table ---- */

static const struct {
    const char *line;
    tly_case c;
} rows[] = {
#define CASE(line, word, in, out) { line, { word, in, out } },
#include "data/semantics_reductions.def"
#undef CASE
};

static int is_made(const char *word)
{
    const size_t length = strcspn(word, ":");
    for (int op = 1; op < TALLY_OP_COUNT; op++) {
        const char *name = tally_op_name((tally_op)op);
        if (strlen(name) == length && memcmp(word, name, length) == 0)
            return tally_op_is_scan((tally_op)op);
    }
    return 0;
}

Test(scans, lines_of_semantics)
{
    tly_levels levels;
    char why[512];
    int count = 0;
    tly_require_levels(&levels);
    for (size_t k = 0; k < COUNT(rows); k++) {
        if (!is_made(rows[k].c.word))
            continue;
        count++;
        cr_expect(tly_case_run(&levels, &rows[k].c, why, sizeof why) == 0, "[%s] %s", rows[k].line,
                  why);
    }
    cr_expect_gt(count, 35, "%d rows are of scans", count);
    tly_levels_close(&levels);
}

/* ---- in every form ---- */

Test(scans, nan_is_handed_on)
{
    CHECK_SCANS({ "cummax:f32", 3, "", "1 nan 3", "1 nan nan", "-inf" },
                { "cummin:f64", 3, "", "1 nan -3", "1 nan nan", "inf" },
                { "cummax:f16", 4, ",reverse", "1 nan 3 inf", "nan nan inf inf", "-inf" },
                { "cummin:bf16", 3, ",reverse", "-inf 2 nan", "nan nan nan", "inf" });
}

Test(scans, nan_is_passed_over)
{
    CHECK_SCANS({ "cummax:f32", 4, ",nan=ignore", "nan -inf nan 3", "nan -inf -inf 3", "nan" },
                { "cummin:f64", 4, ",nan=ignore", "nan inf nan -3", "nan inf inf -3", "nan" },
                { "cummax:f16", 3, ",nan=ignore,reverse", "nan 2 nan", "2 2 nan", "nan" },
                { "cummin:bf16", 3, ",nan=ignore", "nan nan 5", "nan nan 5", "nan" });
}

Test(scans, zeros_and_subnormals_are_told_apart)
{
    CHECK_SCANS({ "cummax:f32", 4, "", "-0 0 -0 0x1p-149", "-0 0 0 0x1p-149", "-inf" },
                { "cummin:f64", 4, "", "0x1p-1074 0 -0 0", "0x1p-1074 0 -0 -0", "inf" },
                { "cummin:f16", 4, "", "0 -0x1p-24 -0 -inf", "0 -0x1p-24 -0x1p-24 -inf", "inf" },
                { "cummax:bf16", 4, "", "-inf -0x1p-133 -0 0", "-inf -0x1p-133 -0 0", "-inf" });
}

Test(scans, integers_by_their_sign)
{
    CHECK_SCANS({ "cummax:i8", 4, "", "-128 -1 1 127", "-128 -1 1 127", "-128" },
                { "cummin:i8", 3, "", "1 -1 -128", "1 -1 -128", "127" },
                { "cummax:u8", 3, "", "1 128 127", "1 128 128", "0" },
                { "cummin:u8", 3, "", "255 128 127", "255 128 127", "255" },
                { "cummax:i16", 3, "", "-32768 -1 0", "-32768 -1 0", "-32768" },
                { "cummin:u16", 3, "", "65535 32768 32767", "65535 32768 32767", "65535" },
                { "cummin:i32", 3, "", "0 -1 -2147483648", "0 -1 -2147483648", "2147483647" },
                { "cummax:u32", 3, "", "1 2147483648 2147483647", "1 2147483648 2147483648", "0" },
                { "cummax:i64", 3, "", "-9223372036854775808 -1 0", "-9223372036854775808 -1 0",
                  "-9223372036854775808" },
                { "cummin:u64", 2, "", "9223372036854775808 1", "9223372036854775808 1",
                  "18446744073709551615" },
                { "cummax:bool", 3, "", "0 1 0", "0 1 1", "0" },
                { "cummin:bool", 3, "", "1 0 1", "1 0 0", "1" });
}

/* The largest element is taken out before anything is an exponential, so these are exact. */
Test(scans, logarithms_of_sums)
{
    CHECK_SCANS(
        { "cumlogsumexp:f32", 6, "", "-inf -1000 0 1000 -9000 3e38", "-inf -1000 0 1000 1000 3e38",
          "-inf" },
        { "cumlogsumexp:f64", 5, "", "-inf 9000 inf nan inf", "-inf 9000 inf nan nan", "-inf" },
        { "cumlogsumexp:f16", 4, ",reverse", "nan inf -5 -inf", "nan inf -5 -inf", "-inf" },
        { "cumlogsumexp:bf16", 4, "", "0 0 0 0", "0 0x1.62p-1 0x1.1ap0 0x1.62p0", "-inf" });
}

Test(scans, wider_outputs)
{
    CHECK_SCANS({ "cumsum:i8>i64", 3, "", "-128 -128 1", "-128 -256 -255", "0" },
                { "cumsum:u8>u64", 3, "", "255 255 1", "255 510 511", "0" },
                { "cumprod:i16>i64", 3, "", "-32768 2 -1", "-32768 -65536 65536", "1" },
                { "cumprod:u16>u64", 2, "", "65535 65535", "65535 4294836225", "1" },
                { "cumsum:i32>i64", 2, "", "-2147483648 -1", "-2147483648 -2147483649", "0" },
                { "cumsum:u32>u64", 2, "", "4294967295 1", "4294967295 4294967296", "0" },
                { "cumsum:bool>i64", 4, "", "1 1 0 1", "1 2 2 3", "0" },
                { "cumprod:bool>i64", 4, "", "1 1 0 1", "1 1 0 0", "1" },
                { "cumsum:bool>i32", 4, "", "1 1 0 1", "1 2 2 3", "0" },
                { "cumprod:bool>u32", 4, "", "1 1 0 1", "1 1 0 0", "1" },
                { "cumsum:u8>i32", 3, "", "255 255 1", "255 510 511", "0" },
                { "cumprod:u16>i32", 2, "", "65535 32768", "65535 2147450880", "1" },
                { "cumprod:i8>i32", 3, "", "-128 2 2", "-128 -256 -512", "1" },
                { "cumsum:i16>i32", 2, "", "-32768 -1", "-32768 -32769", "0" },
                { "cumsum:u8>u32", 2, "", "128 128", "128 256", "0" },
                { "cumprod:u16>u32", 3, "", "65535 32768 2", "65535 2147450880 4294901760", "1" });
    CHECK_SCANS({ "cumsum:f16>f32", 3, "", "60000 60000 -60000", "60000 120000 60000", "0" },
                { "cumprod:f16>f32", 3, "", "256 256 0x1p-24", "256 65536 0x1p-8", "1" },
                { "cumsum:bf16>f32", 2, "", "1 0x1p-20", "1 0x1.00001p0", "0" },
                { "cumsum:bf16>f32", 3, ",acc=f64", "1 0x1p-30 -1", "1 1 0x1p-30", "0" },
                { "cumsum:f32>f64", 2, "", "16777216 1", "16777216 16777217", "0" },
                { "cumprod:f32>f64", 2, "", "0x1p100 0x1p100", "0x1p100 0x1p200", "1" });
}
