/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command reads beside .npy: archives of arrays, tables of numbers, raw bytes. Each kind
 * is taken as it is meant, and what is damaged, or may be misread, is refused with its place.
 */
#include <criterion/criterion.h>

#include "../tools/files/csv.h"
#include "../tools/files/npz.h"
#include "../tools/files/raw.h"
#include "zip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef TALLY_ZLIB
enum { LAST_METHOD = 8 };
#else
enum { LAST_METHOD = 0 };
#endif

/* ---- archives ---- */

static const float example[4] = { 2, 3, 5, 7 };

/* Whether these are the bytes of the example. */
static int is_example(const char *data)
{
    for (size_t i = 0; i < sizeof example; i++) {
        if (data[i] != ((const char *)example)[i]) {
            return 0;
        }
    }
    return 1;
}

static size_t make_npy(unsigned char *file, tally_dtype dtype, int64_t count, const void *data)
{
    const size_t header = tly_npy_format(dtype, 1, &count, (char *)file);
    const size_t bytes = (size_t)count * tally_dtype_bytes(dtype);
    memcpy(file + header, data, bytes);
    return header + bytes;
}

static void make_archive(zip *z, int method, int wide)
{
    static const int16_t small[2] = { -1, 1 };
    unsigned char file[NPY_MAX_HEADER + 64];
    memset(z, 0, sizeof *z);
    zip_add(z, "x.npy", file, make_npy(file, TALLY_F32, 4, example), method);
    zip_add(z, "notes.txt", "text", 4, method);
    zip_add(z, "layer/y.npy", file, make_npy(file, TALLY_I16, 2, small), method);
    zip_end(z, wide);
}

/* All of it, from a copy of exactly these bytes, so that ASan sees every byte too many. */
static int read_archive(const void *data, size_t bytes, const char *name, tly_npy *npy, char *to,
                        tly_report *report)
{
    char *exact = malloc(bytes + !bytes);
    tly_npz npz;
    tly_npz_array array;
    memcpy(exact, data, bytes);
    int status = tly_npz_open(&npz, "a.npz", exact, bytes, report);
    status = status ? status : tly_npz_find(&npz, name, &array, report);
    status = status ? status : tly_npz_header(&array, npy, report);
    if (!status) {
        cr_assert_leq(npy->bytes, 64);
        status = tly_npz_load(&array, npy, to, report);
    }
    free(exact);
    return status;
}

Test(files, archives)
{
    static zip z;
    char data[64];
    tly_report report;
    tly_npy npy;
    for (int method = 0; method <= LAST_METHOD; method += 8) {
        for (int wide = 0; wide < 2; wide++) {
            make_archive(&z, method, wide);
            cr_assert_eq(read_archive(z.data, z.bytes, "x", &npy, data, &report), EXIT_DONE, "%s",
                         report.message);
            cr_expect(npy.dtype == TALLY_F32 && npy.rank == 1 && npy.sizes[0] == 4);
            cr_expect_arr_eq(data, example, sizeof example);
            cr_assert_eq(read_archive(z.data, z.bytes, "layer/y", &npy, data, &report), EXIT_DONE);
            cr_expect(npy.dtype == TALLY_I16 && npy.count == 2);
            cr_assert_eq(read_archive(z.data, z.bytes, NULL, &npy, data, &report), EXIT_USAGE);
            cr_expect_str_eq(report.message, "a.npz holds 2 arrays, and one is needed");
            cr_expect_str_eq(report.hint, "name one of them: a.npz:x, a.npz:layer/y");
            cr_assert_eq(read_archive(z.data, z.bytes, "z", &npy, data, &report), EXIT_USAGE);
            cr_expect_str_eq(report.message, "a.npz holds no array 'z'");
        }
    }
    /* One array needs no name; of several with one name the last counts, as in Python. */
    unsigned char file[NPY_MAX_HEADER + 64];
    memset(&z, 0, sizeof z);
    zip_add(&z, "x.npy", file, make_npy(file, TALLY_F32, 4, example), 0);
    zip_end(&z, 0);
    cr_expect_eq(read_archive(z.data, z.bytes, NULL, &npy, data, &report), EXIT_DONE);
    memset(&z, 0, sizeof z);
    zip_add(&z, "x.npy", file, make_npy(file, TALLY_F32, 4, example), 0);
    zip_add(&z, "x.npy", file, make_npy(file, TALLY_F32, 2, example), 0);
    zip_end(&z, 0);
    cr_expect_eq(read_archive(z.data, z.bytes, "x", &npy, data, &report), EXIT_DONE);
    cr_expect_eq(npy.count, 2);
    memset(&z, 0, sizeof z);
    zip_end(&z, 0);
    cr_expect_eq(read_archive(z.data, z.bytes, NULL, &npy, data, &report), EXIT_FILE);
    cr_expect_str_eq(report.message, "a.npz: is a zip archive without .npy files");
}

/* Every prefix is refused; every change of one bit is refused, or changed nothing that counts. */
Test(files, archives_cut_and_damaged)
{
    static zip z;
    char data[64];
    tly_report report;
    tly_npy npy;
    for (int method = 0; method <= LAST_METHOD; method += 8) {
        make_archive(&z, method, 0);
        for (size_t cut = 0; cut < z.bytes; cut++) {
            cr_assert_eq(read_archive(z.data, cut, "x", &npy, data, &report), EXIT_FILE,
                         "cut at %zu", cut);
        }
        for (size_t at = 0; at < z.bytes; at++) {
            for (int bit = 0; bit < 8; bit++) {
                z.data[at] ^= (unsigned char)(1 << bit);
                const int status = read_archive(z.data, z.bytes, "x", &npy, data, &report);
                cr_assert(status == EXIT_DONE || status == EXIT_FILE || status == EXIT_USAGE ||
                          status == EXIT_UNSUPPORTED);
#ifdef TALLY_ZLIB /* whose checksum finds what no length tells of */
                cr_assert(status != EXIT_DONE || is_example(data), "byte %zu, bit %d of method %d",
                          at, bit, method);
#endif
                z.data[at] ^= (unsigned char)(1 << bit);
            }
        }
    }
}

/* ---- tables ---- */

static int read_table(const char *text, tally_dtype dtype, tly_npy *npy, void **elements,
                      size_t *room, tly_report *report)
{
    const size_t bytes = strlen(text);
    char *exact = malloc(bytes + !bytes);
    memcpy(exact, text, bytes);
    const int status = tly_csv_read("t.csv", exact, bytes, dtype, npy, elements, room, report);
    free(exact);
    return status;
}

Test(files, tables)
{
    static const struct {
        const char *text;
        int rank;
        int64_t sizes[2];
        double values[6];
    } cases[] = {
        { "1\n2\n3\n", 1, { 3 }, { 1, 2, 3 } },
        { "1", 1, { 1 }, { 1 } },
        { "1,2,3\n", 2, { 1, 3 }, { 1, 2, 3 } },
        { "1,2\n3,4\n5,6", 2, { 3, 2 }, { 1, 2, 3, 4, 5, 6 } },
        { "1;2\r\n3;4\r\n", 2, { 2, 2 }, { 1, 2, 3, 4 } },
        { "1\t2\n3\t4\n", 2, { 2, 2 }, { 1, 2, 3, 4 } },
        { "  1 2\n3    4  \n", 2, { 2, 2 }, { 1, 2, 3, 4 } },
        { " 1 , 2\n 3 , 4\n", 2, { 2, 2 }, { 1, 2, 3, 4 } },
        { "\"1\",\"2\"\n3,4\n", 2, { 2, 2 }, { 1, 2, 3, 4 } },
        { "a,b\n1,2\n", 2, { 1, 2 }, { 1, 2 } },
        { "\"time, s\",b\n1,2\n", 2, { 1, 2 }, { 1, 2 } },
        { "time in s\n1\n2\n", 1, { 2 }, { 1, 2 } },
        { "time, in s\n1\n2\n", 1, { 2 }, { 1, 2 } },
        { "# made by hand\na b\n1 2\n# later\n3 4\n", 2, { 2, 2 }, { 1, 2, 3, 4 } },
        { "\xef\xbb\xbf"
          "1,2\n",
          2,
          { 1, 2 },
          { 1, 2 } },
        { "1\n2\n\n  \n", 1, { 2 }, { 1, 2 } },
        { "-1.5e3\n+.25\n1e-320\n", 1, { 3 }, { -1500, .25, 1e-320 } },
        { "inf\n-Infinity\n1e999\n", 1, { 3 }, { INFINITY, -INFINITY, INFINITY } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tly_report report;
        tly_npy npy;
        void *elements;
        size_t room;
        cr_assert_eq(read_table(cases[i].text, TALLY_F64, &npy, &elements, &room, &report),
                     EXIT_DONE, "%s: %s", cases[i].text, report.message);
        cr_expect_eq(npy.rank, cases[i].rank, "%s", cases[i].text);
        cr_expect_arr_eq(npy.sizes, cases[i].sizes, (size_t)npy.rank * sizeof(int64_t), "%s",
                         cases[i].text);
        cr_expect_arr_eq(elements, cases[i].values, (size_t)npy.bytes, "%s", cases[i].text);
        tly_memory_free(elements, room);
    }
}

/* Numbers are rounded once to the word's dtype, and integers are exact. */
Test(files, tables_of_dtypes)
{
    static const int64_t wide[] = { INT64_MAX, INT64_MIN };
    static const uint64_t unsigned_wide[] = { UINT64_MAX, 0 };
    static const float single[] = { 0.1f, 16777217.0f };
    static const uint16_t half[] = { 0x2e66, 0x7c00 }, bfloat[] = { 0x3dcd, 0x7f7f };
    static const int8_t small[] = { -128, 127 };
    static const char truth[] = { 1, 0 };
    static const struct {
        const char *text;
        tally_dtype dtype;
        const void *elements;
    } cases[] = {
        { "9223372036854775807\n-9223372036854775808\n", TALLY_I64, wide },
        { "18446744073709551615\n0\n", TALLY_U64, unsigned_wide },
        { "0.1\n16777217\n", TALLY_F32, single },
        { "0.1\n65520\n", TALLY_F16, half },
        { "0.1\n3.39e38\n", TALLY_BF16, bfloat },
        { "-128\n+127\n", TALLY_I8, small },
        { "True\nFALSE\n", TALLY_BOOL, truth },
        { "1\n0\n", TALLY_BOOL, truth },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tly_report report;
        tly_npy npy;
        void *elements;
        size_t room;
        cr_assert_eq(read_table(cases[i].text, cases[i].dtype, &npy, &elements, &room, &report),
                     EXIT_DONE, "%s: %s", cases[i].text, report.message);
        cr_expect_eq(npy.dtype, cases[i].dtype);
        cr_expect_arr_eq(elements, cases[i].elements, (size_t)npy.bytes, "%s", cases[i].text);
        tly_memory_free(elements, room);
    }
}

Test(files, tables_that_are_refused)
{
    static const struct {
        const char *text;
        tally_dtype dtype;
        const char *message, *hint; /* pieces */
    } cases[] = {
        { "1,2\n3\n", TALLY_F64, "line 2 has 1 column, line 1 has 2", "" },
        { "1\n2,3\n", TALLY_F64, "line 2, column 1: '2,3' is no number", "" },
        { "1 2\n3 4 5\n", TALLY_F64, "line 2 has 3 columns, line 1 has 2", "" },
        { "a,b,c\n1,2\n", TALLY_F64, "line 2 has 2 columns, line 1 has 3", "" },
        { "a,b\n1,2\n3,x\n", TALLY_F64, "line 3, column 2: 'x' is no number", "" },
        { "1,2\n3,\n", TALLY_F64, "line 2, column 2 is empty", "nan" },
        { "1,,2\n", TALLY_F64, "line 1, column 2 is empty", "nan" },
        { ",1\n", TALLY_F64, "line 1, column 1 is empty", "nan" },
        { "1\n\n2\n", TALLY_F64, "line 2 is empty", "" },
        { "\n1\n", TALLY_F64, "line 1 is empty", "" },
        { "id,2019\n1,2\n", TALLY_F64, "line 1, column 1: 'id' is no number", "names" },
        { "[1, 2]\n", TALLY_F64, "line 1, column 1: '[1' is no number", "--raw f32:3x4" },
        { "1,5;2,5\n", TALLY_F64, "line 1, column 1: '1,5' is no number", "a point" },
        { "a\n", TALLY_F64, "holds no numbers", "--raw f32:3x4" },
        { "# a\n", TALLY_F64, "holds no numbers", "--raw f32:3x4" },
        { "0x10\n", TALLY_F64, "holds no numbers", "" },
        { "1\n0x10\n", TALLY_F64, "line 2, column 1: '0x10' is no number", "" },
        { "1\n1e\n", TALLY_F64, "line 2, column 1: '1e' is no number", "" },
        { "1\n1 2\n", TALLY_F64, "line 2 has 2 columns, line 1 has 1", "" },
        { "1\n1.5\n", TALLY_I32, "line 2, column 1: '1.5' is no i32",
          "i32 takes whole numbers such as 1; an input is read as f64" },
        { "1\n128\n", TALLY_I8, "line 2, column 1: '128' does not fit i8", "read as f64" },
        { "1\n-129\n", TALLY_I8, "'-129' does not fit i8", "" },
        { "1\n-1\n", TALLY_U8, "line 2, column 1: '-1' is no u8", "" },
        { "1\n2\n", TALLY_BOOL, "'2' does not fit bool", "" },
        { "1\n9223372036854775808\n", TALLY_I64, "'9223372036854775808' does not fit i64", "" },
        { "1\n18446744073709551616\n", TALLY_U64, "does not fit u64", "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tly_report report;
        tly_npy npy;
        void *elements;
        size_t room;
        cr_assert_eq(read_table(cases[i].text, cases[i].dtype, &npy, &elements, &room, &report),
                     EXIT_FILE, "%s", cases[i].text);
        cr_expect_eq(strncmp(report.message, "t.csv: ", 7), 0, "%s", report.message);
        cr_expect_not_null(strstr(report.message, cases[i].message), "%s: %s", cases[i].text,
                           report.message);
        cr_expect_not_null(strstr(report.hint, cases[i].hint), "%s: %s", cases[i].text,
                           report.hint);
    }
    cr_expect(tly_csv_is_text("1,2\r\n\t3", 7));
    cr_expect_not(tly_csv_is_text("1\0002", 3));
    cr_expect_not(tly_csv_is_text("\x7f"
                                  "ELF",
                                  4));
    cr_expect_not(tly_csv_is_text("", 0));
}

/* ---- raw bytes ---- */

Test(files, raw)
{
    static const struct {
        const char *text;
        tally_dtype dtype;
        int rank;
        int64_t sizes[2], count;
    } good[] = {
        { "f32:3x4", TALLY_F32, 2, { 3, 4 }, 12 },
        { "bool:0x5", TALLY_BOOL, 2, { 0, 5 }, 0 },
        { "bf16:scalar", TALLY_BF16, 0, { 0 }, 1 },
        { "u64", TALLY_U64, 1, { 0 }, -1 },
    };
    static const char *const bad[] = { "",
                                       "f33",
                                       "f32:",
                                       "f32:3x",
                                       "f32:?x4",
                                       "f32>f64:3",
                                       "f32:3:axes=0",
                                       "f32:3,4",
                                       "f32:-1",
                                       ":3",
                                       "f32:3x4 ",
                                       "f32:axes=0",
                                       "f32:4611686018427387904x4" };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        tly_report report;
        tly_npy npy;
        cr_assert_eq(tly_raw_read(good[i].text, &npy, &report), EXIT_DONE, "%s", good[i].text);
        cr_expect(npy.dtype == good[i].dtype && npy.rank == good[i].rank &&
                      npy.count == good[i].count && !npy.fortran && !npy.swapped,
                  "%s", good[i].text);
        cr_expect_arr_eq(npy.sizes, good[i].sizes, sizeof good[i].sizes, "%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tly_report report;
        tly_npy npy;
        cr_assert_eq(tly_raw_read(bad[i], &npy, &report), EXIT_USAGE, "%s", bad[i]);
        cr_expect_not_null(strstr(report.hint, "--raw f32:3x4"), "%s", report.hint);
    }
    tly_report report;
    tly_npy npy;
    cr_assert_eq(tly_raw_read("f32", &npy, &report), EXIT_DONE);
    cr_expect_eq(tly_raw_close(&npy, "r", 10, &report), EXIT_FILE);
    cr_expect_eq(tly_raw_close(&npy, "r", 12, &report), EXIT_DONE);
    cr_expect(npy.sizes[0] == 3 && npy.count == 3 && npy.bytes == 12);
}
