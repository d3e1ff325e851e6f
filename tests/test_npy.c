/* SPDX-License-Identifier: Apache-2.0 */
/*
 * .npy headers: every version, order and dtype that is taken, every kind that is not, and that no
 * cut or damaged header is ever read past its end or taken for a tensor.
 */
#include <criterion/criterion.h>

/* The command's parts are no library: they are compiled into the test. */
#include "../tools/common/report.c"
#include "../tools/files/npy.c"
#include "memory_file.h"

/* A whole file up to its first element; returns its bytes. */
static size_t make_file(char *file, int major, const char *text)
{
    size_t length = strlen(text), width = major == 1 ? 2 : 4;
    memcpy(file, "\x93NUMPY", 6);
    file[6] = (char)major;
    file[7] = 0;
    for (size_t i = 0; i < width; i++) {
        file[8 + i] = (char)(length >> 8 * i);
    }
    memcpy(file + 8 + width, text, length);
    return 8 + width + length;
}

/* Reads a copy of exactly these bytes, so that ASan sees every byte too many. */
static int read_bytes(const char *bytes, size_t length, tly_npy *npy, tly_report *report)
{
    char *exact = malloc(length + !length);
    memory_file file = { exact, length };
    int status;
    cr_assert_not_null(exact);
    memcpy(exact, bytes, length);
    status = tly_npy_read(pull_memory, &file, "x.npy", npy, report);
    free(exact);
    return status;
}

static int read_text_as(int major, const char *text, tly_npy *npy, tly_report *report)
{
    char file[2048];
    size_t length = make_file(file, major, text);
    return read_bytes(file, length, npy, report);
}

Test(npy, dtypes)
{
    static const struct {
        const char *descr;
        tally_dtype dtype;
    } cases[] = {
        { "<f8", TALLY_F64 },  { "<f4", TALLY_F32 },  { "<f2", TALLY_F16 }, { "<V2", TALLY_BF16 },
        { "|V2", TALLY_BF16 }, { "<i8", TALLY_I64 },  { "<i4", TALLY_I32 }, { "<i2", TALLY_I16 },
        { "|i1", TALLY_I8 },   { "<u8", TALLY_U64 },  { "<u4", TALLY_U32 }, { "<u2", TALLY_U16 },
        { "|u1", TALLY_U8 },   { "|b1", TALLY_BOOL }, { "=f4", TALLY_F32 }, { "f4", TALLY_F32 },
        { ">u1", TALLY_U8 },   { ">f8", TALLY_F64 },  { ">i2", TALLY_I16 }, { ">V2", TALLY_BF16 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[200];
        tly_report report;
        tly_npy npy;
        snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (3,), }\n",
                 cases[i].descr);
        cr_assert_eq(read_text_as(1, text, &npy, &report), EXIT_DONE, "%s", cases[i].descr);
        cr_expect_eq(npy.dtype, cases[i].dtype, "%s", cases[i].descr);
        cr_expect_eq(npy.swapped, cases[i].descr[0] == '>' && tally_dtype_bytes(npy.dtype) > 1,
                     "%s", cases[i].descr);
        cr_expect_eq(npy.bytes, 3 * (int64_t)tally_dtype_bytes(cases[i].dtype));
    }
}

/* A zero byte does not end a string of the header. */
Test(npy, zero_bytes)
{
    static const char *const texts[] = {
        "{'descr': '<f4~', 'fortran_order': False, 'shape': (3,), }\n",
        "{'descr~': '<f4', 'fortran_order': False, 'shape': (3,), }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char file[200];
        tly_report report;
        tly_npy npy;
        const size_t length = make_file(file, 1, texts[i]);
        *(char *)memchr(file, '~', length) = 0;
        cr_expect_eq(read_bytes(file, length, &npy, &report), EXIT_FILE, "%s", texts[i]);
    }
}

Test(npy, headers_that_are_taken)
{
    static const struct {
        int major, fortran, rank;
        int64_t sizes[4], count;
        const char *text;
    } cases[] = {
        { 1, 0, 2, { 3, 4 }, 12, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n" },
        { 2, 1, 2, { 3, 4 }, 12, "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 4), }\n" },
        { 3, 0, 2, { 3, 4 }, 12, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n" },
        { 1, 0, 0, { 0 }, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }" },
        { 1, 0, 1, { 7 }, 7, "{\"shape\":(7,),\"fortran_order\":False,\"descr\":\"<f4\"}   \n" },
        { 1, 0, 2, { 7, 2 }, 14, "{'descr': '<f4', 'fortran_order': False, 'shape': (7L, 2L)}" },
        { 1, 0, 3, { 5, 0, 7 }, 0, "{'descr':'<f4','fortran_order':False,'shape':(5,0,7,)}" },
        { 1,
          0,
          3,
          { INT64_C(1) << 40, INT64_C(1) << 40, 0 },
          0,
          "{'descr':'<f4','fortran_order':False,'shape':(1099511627776, 1099511627776, 0)}" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tly_report report;
        tly_npy npy;
        cr_assert_eq(read_text_as(cases[i].major, cases[i].text, &npy, &report), EXIT_DONE, "%s",
                     cases[i].text);
        cr_expect_eq(npy.fortran, cases[i].fortran, "%s", cases[i].text);
        cr_expect_eq(npy.rank, cases[i].rank, "%s", cases[i].text);
        cr_expect_eq(npy.count, cases[i].count, "%s", cases[i].text);
        cr_expect_arr_eq(npy.sizes, cases[i].sizes, (size_t)npy.rank * sizeof(int64_t));
    }
}

Test(npy, headers_that_are_refused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        { "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", "object" },
        { "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", "structured" },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }", "no name" },
        { "{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }", "no name" },
        { "{'descr': '<U4', 'fortran_order': False, 'shape': (3,), }", "no name" },
        { "{'descr': '|V3', 'fortran_order': False, 'shape': (3,), }", "no name" },
        { "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,), }", "no name" },
        { "{'descr': '', 'fortran_order': False, 'shape': (3,), }", "no name" },
        { "{'descr': '<', 'fortran_order': False, 'shape': (3,), }", "no name" },
        { "{'descr': 4, 'fortran_order': False, 'shape': (3,), }", "no dtype" },
        { "{'descr': '<f4', 'fortran_order': 0, 'shape': (3,), }", "fortran_order" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3), }", "shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': [3], }", "shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", "shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,,), }", "shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (03,), }", "shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,), }", "shape" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776, 8388608), }",
          "more elements" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807,), }",
          "more bytes" },
        { "{'descr': '<f4', 'fortran_order': False, }", "lacks a key" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}", "unknown key" },
        { "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", "twice" },
        { "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), } more", "behind" },
        { "{'descr': '<f4' 'fortran_order': False, 'shape': (3,), }", "no dict" },
        { "{'descr' '<f4', 'fortran_order': False, 'shape': (3,), }", "no dict" },
        { "['descr']", "no dict" },
        { "", "no dict" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tly_report report;
        tly_npy npy;
        cr_assert_eq(read_text_as(1, cases[i].text, &npy, &report), EXIT_FILE, "%s", cases[i].text);
        cr_expect_not_null(strstr(report.message, cases[i].why), "%s: %s", cases[i].text,
                           report.message);
        cr_expect_str_eq(report.field, "file");
    }
}

Test(npy, beginnings_that_are_refused)
{
    static const struct {
        const char *bytes;
        size_t length;
        const char *why;
    } cases[] = {
        { "\x93NUMPX\x01\x00\x00\x00", 10, "no .npy" },
        { "PK\x03\x04xxxxxxxx", 12, "no .npy" },
        { "\x93NUMPY\x00\x00\x00\x00", 10, "version 0.0" },
        { "\x93NUMPY\x01\x01\x00\x00", 10, "version 1.1" },
        { "\x93NUMPY\x04\x00\x00\x00\x00\x00", 12, "version 4.0" },
        { "\x93NUMPY\x02\x00\xff\xff\xff\xff", 12, "4294967295 bytes" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tly_report report;
        tly_npy npy;
        cr_assert_eq(read_bytes(cases[i].bytes, cases[i].length, &npy, &report), EXIT_FILE);
        cr_expect_not_null(strstr(report.message, cases[i].why), "%s", report.message);
    }
}

/* Every prefix of a good file is refused; every change of one byte is refused or still a tensor. */
Test(npy, cut_and_damaged)
{
    char file[256];
    tly_report report;
    tly_npy npy;
    size_t length = make_file(file, 1,
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n");
    for (size_t cut = 0; cut < length; cut++) {
        cr_assert_eq(read_bytes(file, cut, &npy, &report), EXIT_FILE, "cut at %zu", cut);
    }
    for (size_t at = 0; at < length; at++) {
        for (int bit = 0; bit < 8; bit++) {
            int status;
            file[at] = (char)(file[at] ^ 1 << bit);
            status = read_bytes(file, length, &npy, &report);
            cr_assert(status == EXIT_FILE ||
                          (status == EXIT_DONE && npy.rank <= 2 && npy.dtype != TALLY_DTYPE_NONE),
                      "byte %zu, bit %d", at, bit);
            file[at] = (char)(file[at] ^ 1 << bit);
        }
    }
}

Test(npy, written_headers)
{
    static const int64_t sizes[TALLY_MAX_RANK] = { 3, INT64_MAX, 1, 0, 5, 6, 7, INT64_MAX };
    static const char known[] = "{'descr': '<V2', 'fortran_order': False, 'shape': (3,), }";
    char header[NPY_MAX_HEADER];
    for (int dtype = TALLY_F64; dtype < TALLY_DTYPE_COUNT; dtype++) {
        for (int rank = 0; rank <= TALLY_MAX_RANK; rank++) {
            /* From rank 4 on a size is 0, so the largest sizes do not overflow. */
            int used = rank == 2 || rank == 3 ? 1 : rank;
            size_t length = tly_npy_format((tally_dtype)dtype, used, sizes, header);
            tly_report report;
            tly_npy npy;
            cr_assert_eq(length % 64, 0);
            cr_assert_eq(header[length - 1], '\n');
            cr_assert_eq(read_bytes(header, length, &npy, &report), EXIT_DONE, "%s",
                         report.message);
            cr_expect_eq((int)npy.dtype, dtype);
            cr_expect_eq(npy.rank, used);
            cr_expect_eq(npy.fortran, 0);
            cr_expect_arr_eq(npy.sizes, sizes, (size_t)used * sizeof *sizes);
        }
    }
    tly_npy_format(TALLY_BF16, 1, sizes, header);
    cr_expect_arr_eq(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    cr_expect_arr_eq(header + 10, known, sizeof known - 1);
}
