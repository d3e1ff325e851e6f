/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR's interpreter against C: every operation, lanes, masks, loops, faults, arguments, f16.
 */
#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "must.h"

/* Runs "store op(...)": loads x, y of `type` from `in`, stores `lanes` of the result at `out`. */
static void run_lines(const char *lines, const void *in, void *out)
{
    char source[2048];
    snprintf(source, sizeof source,
             "kernel one {\n%%1 : i64 = const 0\n%%2 : ptr = arg in\n%%3 : ptr = arg out\n%s"
             "return %%1\n}\n",
             lines);
    kir_kernel *k = must_parse(source);
    tly_args args = { .tensor[TLY_IN].base = (char *)in, .tensor[TLY_OUT].base = out };
    cr_assert_eq(must_run(k, &args, &(tly_task){ 0 }), 0);
    kir_free(k);
}

/* op, kind, x, y as bits, result as bits (i1: 0 or 1) */
static const struct {
    const char *op, *kind, *result_kind;
    uint64_t x, y, result;
} arithmetic[] = {
    { "add", "i8", "i8", 0xff, 0x02, 0x01 },
    { "add", "i64", "i64", UINT64_MAX, 2, 1 },
    { "add", "f32", "f32", 0x3f800000, 0x33800000, 0x3f800000 }, /* 1 + 2^-24: to even */
    { "add", "f32", "f32", 0x3f800001, 0x33800000, 0x3f800002 },
    { "add", "f32", "f32", 0x80000000, 0x80000000, 0x80000000 },
    { "add", "f32", "f32", 0x80000000, 0x00000000, 0x00000000 },
    { "sub", "i16", "i16", 0, 1, 0xffff },
    { "sub", "f64", "f64", 0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000 },
    { "mul", "i16", "i16", 0xffff, 0xffff, 1 },
    { "mul", "i32", "i32", 0x10000, 0x10000, 0 },
    { "mul", "i64", "i64", 0x100000001, 0x100000001, 0x200000001 },
    { "mul", "f32", "f32", 0x00800000, 0x3f000000, 0x00400000 }, /* subnormals are kept */
    { "udiv", "i64", "i64", UINT64_MAX, 3, 0x5555555555555555 },
    { "and", "i8", "i8", 0xf0, 0x3c, 0x30 },
    { "or", "i32", "i32", 0xf0, 0x3c, 0xfc },
    { "xor", "i64", "i64", 0xf0, 0x3c, 0xcc },
    { "shl", "i8", "i8", 0x81, 1, 0x02 },
    { "shl", "i32", "i32", 1, 31, 0x80000000 },
    { "lshr", "i16", "i16", 0x8000, 15, 1 },
    { "ashr", "i16", "i16", 0x8000, 15, 0xffff },
    { "ashr", "i64", "i64", 0x8000000000000000, 63, UINT64_MAX },
    { "umin", "i8", "i8", 0x80, 0x7f, 0x7f },
    { "umax", "i32", "i32", 0x80000000, 0x7fffffff, 0x80000000 },
    { "smin", "i8", "i8", 0x80, 0x7f, 0x80 },
    { "smax", "i64", "i64", UINT64_MAX, 1, 1 },
    { "div", "f32", "f32", 0x3f800000, 0x40400000, 0x3eaaaaab }, /* 1 / 3 */
    { "div", "f64", "f64", 0xbff0000000000000, 0, 0xfff0000000000000 },
    { "div", "f32", "f32", 0x00000003, 0x40000000, 0x00000002 }, /* 1.5 units: to even */
    { "minimum", "f32", "f32", 0x80000000, 0x00000000, 0x80000000 },
    { "minimum", "f32", "f32", 0x00000000, 0x80000000, 0x80000000 },
    { "maximum", "f64", "f64", 0x8000000000000000, 0, 0 },
    { "maximum", "f32", "f32", 0x00000000, 0x80000000, 0x00000000 },
    { "minimum", "f32", "f32", 0x7fc00000, 0xff800000, 0x7fc00000 },
    { "maximum", "f32", "f32", 0x3f800000, 0x7fc00000, 0x7fc00000 },
    { "minimum_number", "f32", "f32", 0x7fc00000, 0x3f800000, 0x3f800000 },
    { "maximum_number", "f32", "f32", 0xff800000, 0x7fa00000, 0xff800000 },
    { "minimum_number", "f64", "f64", 0, 0x8000000000000000, 0x8000000000000000 },
    { "maximum_number", "f32", "f32", 0x7fc00000, 0x7fc00000, 0x7fc00000 },
    { "cmp eq", "i8", "i1", 5, 5, 1 },
    { "cmp ne", "i64", "i1", 5, 5, 0 },
    { "cmp slt", "i16", "i1", 0x8000, 1, 1 },
    { "cmp sle", "i32", "i1", 5, 5, 1 },
    { "cmp ult", "i16", "i1", 0x8000, 1, 0 },
    { "cmp ule", "i8", "i1", 0xff, 0xff, 1 },
    { "cmp slt", "i64", "i1", 0x8000000000000000, 0, 1 },
    { "cmp oeq", "f32", "i1", 0, 0x80000000, 1 },
    { "cmp oeq", "f32", "i1", 0x7fc00000, 0x7fc00000, 0 },
    { "cmp une", "f64", "i1", 0x7ff8000000000000, 0, 1 },
    { "cmp olt", "f64", "i1", 0xbff0000000000000, 0, 1 },
    { "cmp olt", "f32", "i1", 0x7fc00000, 0, 0 },
    { "cmp ole", "f32", "i1", 0x3f800000, 0x3f800000, 1 },
    { "cmp uno", "f32", "i1", 0, 0x7fc00000, 1 },
    { "cmp uno", "f32", "i1", 0, 0x7f800000, 0 },
};

Test(kir, arithmetic_is_c)
{
    for (size_t i = 0; i < COUNT(arithmetic); i++) {
        char lines[512];
        uint64_t in[2] = { arithmetic[i].x, arithmetic[i].y }, out = 0;
        int is_bit = strcmp(arithmetic[i].result_kind, "i1") == 0;
        snprintf(lines, sizeof lines,
                 "%%4 : %s = load %%2, align 8\n%%5 : %s = load %%2 + 8, align 8\n"
                 "%%6 : %s = %s %%4, %%5\n%sstore %%3, %%%d, align 8\n",
                 arithmetic[i].kind, arithmetic[i].kind, arithmetic[i].result_kind,
                 arithmetic[i].op, is_bit ? "%7 : i64 = zext %6\n" : "", is_bit ? 7 : 6);
        run_lines(lines, in, &out);
        cr_assert_eq(out, arithmetic[i].result, "%s %s: %#llx", arithmetic[i].op,
                     arithmetic[i].kind, (unsigned long long)out);
    }
}

/* op, kind, result's kind, x and result as bits */
static const struct {
    const char *op, *kind, *result_kind;
    uint64_t x, result;
} conversions[] = {
    { "sqrt", "f32", "f32", 0x40000000, 0x3fb504f3 },
    { "sqrt", "f64", "f64", 0x8000000000000000, 0x8000000000000000 },
    { "sqrt", "f32", "f32", 0x00000001, 0x1a3504f3 },
    { "round", "f32", "f32", 0x40200000, 0x40000000 }, /* 2.5: to even */
    { "round", "f32", "f32", 0x40600000, 0x40800000 },
    { "round", "f64", "f64", 0xbfe0000000000000, 0x8000000000000000 },
    { "round", "f32", "f32", 0x4b000001, 0x4b000001 },
    { "floor", "f32", "f32", 0xbf000000, 0xbf800000 },
    { "floor", "f64", "f64", 0x8000000000000000, 0x8000000000000000 },
    { "sitofp", "i32", "f32", 0xfeffffff, 0xcb800000 }, /* -2^24 - 1: to even */
    { "sitofp", "i64", "f64", 0x8000000000000000, 0xc3e0000000000000 },
    { "sitofp", "i64", "f64", 0x20000000000003, 0x4340000000000002 }, /* 2^53 + 3: to even */
    { "uitofp", "i32", "f32", 0xffffffff, 0x4f800000 },
    { "uitofp", "i32", "f64", 0xffffffff, 0x41efffffffe00000 },
    { "uitofp", "i64", "f64", 0xfffffffffffffbff, 0x43efffffffffffff },
    { "uitofp", "i64", "f64", 0xfffffffffffffc00, 0x43f0000000000000 },
    { "fptosi", "f32", "i32", 0xbfffffff, 0xffffffff },
    { "fptosi", "f32", "i32", 0x7fc00000, 0 },
    { "fptosi", "f32", "i32", 0x4f000000, 0x7fffffff },
    { "fptosi", "f64", "i32", 0xc1e0000000100000, 0x80000000 },
    { "fptosi", "f64", "i64", 0x7ff0000000000000, INT64_MAX },
    { "fptosi", "f64", "i64", 0xc3e0000000000001, 0x8000000000000000 },
    { "fptoui", "f32", "i32", 0x4f7fffff, 0xffffff00 },
    { "fptoui", "f64", "i32", 0xbff0000000000000, 0 },
    { "fptoui", "f64", "i32", 0x41efffffffffffff, 0xffffffff },
    { "fptoui", "f64", "i64", 0x43efffffffffffff, 0xfffffffffffff800 },
    { "fptoui", "f64", "i64", 0x43f0000000000000, UINT64_MAX },
    { "fptoui", "f64", "i64", 0xfff0000000000000, 0 },
};

Test(kir, conversions_are_exact_or_round)
{
    for (size_t i = 0; i < COUNT(conversions); i++) {
        char lines[256];
        uint64_t in = conversions[i].x, out = 0;
        snprintf(lines, sizeof lines,
                 "%%4 : %s = load %%2, align 8\n%%5 : %s = %s %%4\nstore %%3, %%5, align 8\n",
                 conversions[i].kind, conversions[i].result_kind, conversions[i].op);
        run_lines(lines, &in, &out);
        cr_assert_eq(out, conversions[i].result, "case %zu: %s of %#llx: %#llx", i,
                     conversions[i].op, (unsigned long long)in, (unsigned long long)out);
    }
}

/* What lanes do: each program writes four i32 (or as many bytes of another type) to out. */
static const struct {
    const char *lines;
    uint32_t result[4];
} lane_programs[] = {
    { "%4 : i32x4 = iota\nstore %3, %4, align 4\n", { 0, 1, 2, 3 } },
    { "%4 : i32x4 = load %2, align 4\nstore %3, %4, align 1\n", { 10, 20, 30, 40 } },
    { "%4 : i32x4 = load %2 + 16, align 16\nstore %3, %4, align 16, stream\nfence\n",
      { 50, 60, 70, 80 } },
    { "%4 : i32 = load %2 + 4, align 4\n%5 : i32x4 = splat %4\nstore %3, %5, align 4\n",
      { 20, 20, 20, 20 } },
    { "%4 : i32x4 = iota\n%5 : i32x4 = load %2, align 4\n"
      "%6 : i32x4 = shuffle %4, %5, [7 0 4 3]\nstore %3, %6, align 4\n",
      { 40, 0, 10, 3 } },
    { "%4 : i32x4 = load %2, align 4\n%5 : i32x4 = load %2 + 16, align 4\n"
      "%6 : i32 = const 1001\n%7 : i32x4 = splat %6\n%8 : i32x4 = iota\n%9 : i32x4 = mul %7, %8\n"
      "%10 : i32x4 = permute %4, %5, %9\nstore %3, %10, align 4\n", /* lanes 0, 1001, ... mod 8 */
      { 10, 20, 30, 40 } },
    { "%4 : i32x4 = load %2, align 4\n%5 : i32x4 = load %2 + 16, align 4\n"
      "%6 : i32x4 = const 6\n%7 : i32x4 = iota\n%8 : i32x4 = add %6, %7\n"
      "%9 : i32x4 = permute %4, %5, %8\nstore %3, %9, align 4\n",
      { 70, 80, 10, 20 } },
    { "%4 : i32x2 = load %2, align 4\n%5 : i32x4 = shuffle %4, %4, [3 2 1 0]\n"
      "store %3, %5, align 4\n",
      { 20, 10, 20, 10 } },
    { "%4 : i32x4 = load %2, align 4\n%5 : i32 = extract %4, 2\n%6 : i32x4 = iota\n"
      "%7 : i32x4 = insert %6, %5, 1\nstore %3, %7, align 4\n",
      { 0, 30, 2, 3 } },
    { "%4 : i32x4 = iota\n%5 : i32x4 = load %2, align 4\n%6 : i32x4 = const 2\n"
      "%7 : i1x4 = cmp ult %4, %6\n%8 : i32x4 = select %7, %5, %4\nstore %3, %8, align 4\n",
      { 10, 20, 2, 3 } },
    { "%4 : i32x4 = iota\n%5 : i32x4 = load %2, align 4\n%6 : i1 = const false\n"
      "%7 : i32x4 = select %6, %5, %4\n%8 : i32x4 = keep %7\nstore %3, %8, align 4\n",
      { 0, 1, 2, 3 } },
    { "%4 : i32x4 = iota\n%5 : i32x4 = const 2\n%6 : i1x4 = cmp eq %4, %5\n%7 : i1 = any %6\n"
      "%8 : i1x4 = cmp ult %5, %4\n%9 : i1 = any %8\n%10 : i32x4 = select %7, %4, %5\n"
      "%11 : i1x4 = cmp ne %5, %5\n%12 : i1 = any %11\n%13 : i32x4 = select %12, %5, %10\n"
      "%14 : i32x4 = select %9, %13, %5\nstore %3, %14, align 4\n",
      { 0, 1, 2, 3 } },
    { "%4 : f32x2 = const 0x0d800000\n%5 : f32x2 = const 0x71800000\nclear_flags\n"
      "%6 : i32 = flags\n%7 : f32x2 = mul %4, %4\n%8 : i32 = flags\nclear_flags\n"
      "%9 : f32x2 = mul %5, %5\n%10 : i32 = flags\n%11 : f32x2 = mul %4, %4\n"
      "%12 : i32 = flags\nstore %3, %6, align 4\nstore %3 + 4, %8, align 4\n"
      "store %3 + 8, %10, align 4\nstore %3 + 12, %12, align 4\n",
      { 0, 2, 1, 3 } },
    { "%4 : i16x4 = iota\n%5 : i16x4 = const -2\n%6 : i16x4 = add %4, %5\n%7 : i32x4 = sext %6\n"
      "store %3, %7, align 4\n",
      { -2u, -1u, 0, 1 } },
    { "%4 : i16x4 = iota\n%5 : i16x4 = const -2\n%6 : i16x4 = add %4, %5\n%7 : i32x4 = zext %6\n"
      "store %3, %7, align 4\n",
      { 0xfffe, 0xffff, 0, 1 } },
    { "%4 : i32x4 = iota\n%5 : i1x4 = trunc %4\n%6 : i32x4 = sext %5\nstore %3, %6, align 4\n",
      { 0, -1u, 0, -1u } },
    { "%4 : i64x4 = const -4294967295\n%5 : i32x4 = trunc %4\nstore %3, %5, align 4\n",
      { 1, 1, 1, 1 } },
    { "%4 : i32x4 = iota\n%5 : i64x2 = bitcast %4\n%6 : i64 = extract %5, 1\n"
      "%7 : i32x2 = bitcast %6\n"
      "%8 : i32x4 = shuffle %7, %7, [0 1 2 3]\nstore %3, %8, align 4\n",
      { 2, 3, 2, 3 } },
    { "%4 : i8x8 = iota\n%5 : i8x8 = const 1\n%6 : i8x8 = and %4, %5\n%7 : i1x8 = cmp eq %6, %5\n"
      "%8 : i8 = bitcast %7\n%9 : i32 = zext %8\n%10 : i1x8 = bitcast %8\n"
      "%11 : i1 = extract %10, 3\n"
      "%12 : i32 = zext %11\n%13 : i32x4 = splat %9\n%14 : i32x4 = insert %13, %12, 3\n"
      "store %3, %14, align 4\n",
      { 0xaa, 0xaa, 0xaa, 1 } },
    { "%4 : f32 = const 0x3fc00000\n%5 : f64 = fpext %4\n%6 : f64 = add %5, %5\n"
      "%7 : f32 = fptrunc %6\n%8 : f16 = fptrunc %7\n%9 : i16 = bitcast %8\n%10 : i32 = zext %9\n"
      "%11 : i32x4 = splat %10\nstore %3, %11, align 4\n",
      { 0x4200, 0x4200, 0x4200, 0x4200 } },
    { "%4 : i64 = addr %3\n%5 : i64 = const 8\n%6 : ptr = ptradd %3, %5\n%7 : i64 = addr %6\n"
      "%8 : i64 = sub %7, %4\n%9 : i32 = trunc %8\nprefetch %2 - 1\nstore %6 + 4, %9, align 4\n",
      { 7, 7, 7, 8 } },
};

Test(kir, lanes_move_as_told)
{
    _Alignas(16) uint32_t in[8] = { 10, 20, 30, 40, 50, 60, 70, 80 };
    for (size_t i = 0; i < COUNT(lane_programs); i++) {
        _Alignas(16) uint32_t out[4] = { 7, 7, 7, 7 };
        run_lines(lane_programs[i].lines, in, out);
        cr_assert_arr_eq(out, lane_programs[i].result, sizeof out, "%s", lane_programs[i].lines);
    }
}

/* Lanes from the count on are neither read nor written: they lie on a page that may not be. */
Test(kir, masked_access_stays_below_the_count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(pages, MAP_FAILED);
    cr_assert_eq(mprotect(pages + page, page, PROT_NONE), 0);
    kir_kernel *k = must_parse("kernel masked {\n"
                               "%1 : ptr = arg in\n%2 : ptr = arg out\n%3 : i64 = arg length\n"
                               "%4 : i32x4 = const 99\n%5 : i32x4 = mload %1, %3, %4\n"
                               "%6 : i32x4 = iota\n%7 : i32x4 = add %5, %6\n"
                               "store %2, %7, align 4\nmstore %1, %3, %7\nreturn %3\n}\n");
    for (int64_t count = -2; count <= 5; count++) {
        uint32_t lanes = count < 0 ? 0 : count > 4 ? 4 : (uint32_t)count, out[4];
        uint32_t *in = (uint32_t *)(void *)(pages + page) - lanes;
        for (uint32_t i = 0; i < lanes; i++) {
            in[i] = 5 * i;
        }
        tly_args args = { .tensor[TLY_IN].base = (char *)in,
                          .tensor[TLY_OUT].base = (char *)out,
                          .length = count };
        must_run(k, &args, &(tly_task){ 0 });
        for (uint32_t i = 0; i < 4; i++) {
            cr_assert_eq(out[i], i < lanes ? 6 * i : 99 + i);
            cr_assert(i >= lanes || in[i] == 6 * i);
        }
    }
    kir_free(k);
    munmap(pages, 2 * page);
}

/* A while goes on as long as its first carried value says, and below its bound. */
Test(kir, whiles_end_early)
{
    kir_kernel *k = must_parse("kernel whiles {\n"
                               "%1 : i64 = arg begin\n%2 : i64 = arg end\n%3 : i64 = arg length\n"
                               "%4 : i64 = const 1\n%5 : i1 = cmp slt %1, %3\n"
                               "%6 : i1, %7 : i64 = for %8 = %1 to %2 step %4 while with "
                               "%9 : i1 = %5, %10 : i64 = %1 {\n"
                               "%11 : i64 = add %8, %4\n%12 : i1 = cmp slt %11, %3\n"
                               "yield %12, %11\n}\nreturn %7\n}\n");
    static const struct {
        int64_t begin, end, until, result;
    } cases[] = { { 0, 9, 5, 5 }, { 0, 4, 5, 4 }, { 0, 9, 0, 0 }, { 3, 9, 1, 3 }, { 4, 4, 9, 4 } };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tly_args args = { .length = cases[i].until };
        tly_task task = { .begin = cases[i].begin, .end = cases[i].end };
        cr_expect_eq(must_run(k, &args, &task), cases[i].result, "case %zu", i);
    }
    kir_free(k);
}

/* Carried values that change places, loops that never run, bounds near the end of i64. */
Test(kir, loops_count_and_carry)
{
    kir_kernel *k = must_parse("kernel loops {\n"
                               "%1 : i64 = arg begin\n%2 : i64 = arg end\n%3 : i64 = arg length\n"
                               "%4 : i64 = const 1000\n%5 : i64 = const 7\n%6 : i64 = const 0\n"
                               "%7 : i64, %8 : i64, %9 : i64 = for %10 = %1 to %2 step %3 with "
                               "%11 : i64 = %4, %12 : i64 = %5, %13 : i64 = %6 {\n"
                               "%14 : i64 = add %13, %10\nyield %12, %11, %14\n}\n"
                               "%15 : i64 = mul %7, %4\n%16 : i64 = add %15, %9\nreturn %16\n}\n");
    static const struct {
        int64_t begin, end, step, result;
    } cases[] = {
        { 0, 0, 1, 1000000 },
        { 5, 0, 1, 1000000 },
        { 0, 1, 1, 7000 },
        { 0, 2, 1, 1000001 },
        { -3, 4, 3, 7000 },
        { 0, 10, 4, 7012 },
        { INT64_MAX - 7000, INT64_MAX, 9000, INT64_MAX },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        tly_args args = { .length = cases[i].step };
        tly_task task = { .begin = cases[i].begin, .end = cases[i].end };
        uint64_t wanted = (uint64_t)cases[i].result;
        cr_assert_eq((uint64_t)must_run(k, &args, &task), wanted, "case %zu", i);
    }
    tly_args args = { .length = 0 };
    tally_error error = TALLY_ERROR_INIT;
    int64_t result = 42;
    cr_assert_eq(kir_interpret(k, &args, &(tly_task){ .end = 1 }, NULL, &result, &error),
                 TALLY_INTERNAL);
    cr_assert_not_null(strstr(error.message, "kernel loops, instruction 6: for: the step is not"),
                       "%s", error.message);
    cr_assert_eq(result, 42);
    kir_free(k);
}

Test(kir, faults_at_run_time_have_messages)
{
    static const struct {
        const char *lines, *message;
    } cases[] = {
        { "%3 : i64 = const 5\n%4 : i64 = udiv %3, %2\n", "udiv: a shift by the width or" },
        { "%3 : i32x2 = const 32\n%4 : i32x2 = shl %3, %3\n", "shl: a shift by the width" },
        { "%3 : i8 = const -1\n%4 : i8 = ashr %3, %3\n", "ashr: a shift by the width" },
        { "%3 : i64 = const 7\n%4 : i64 = argv outer_size, %3\n", "argv: the index is outside" },
        { "%3 : i64 = const -1\n%4 : i64 = argv outer_size, %3\n", "argv: the index is outside" },
        { "%3 : i8 = load %1 + 1, align 2\n", "load: the address is no multiple" },
        { "%3 : i64x2 = iota\nstore %1 + 8, %3, align 16\n", "store: the address is no multiple" },
    };
    _Alignas(16) char memory[32] = { 0 };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char source[512];
        tally_error error = TALLY_ERROR_INIT;
        int64_t result;
        snprintf(source, sizeof source,
                 "kernel faulty {\n%%1 : ptr = arg in\n%%2 : i64 = const 0\n"
                 "%sreturn %%2\n}\n",
                 cases[i].lines);
        kir_kernel *k = must_parse(source);
        tly_args args = { .tensor[TLY_IN].base = memory };
        cr_assert_eq(kir_interpret(k, &args, &(tly_task){ 0 }, NULL, &result, &error),
                     TALLY_INTERNAL);
        cr_assert_not_null(strstr(error.message, cases[i].message), "%s", error.message);
        kir_free(k);
    }
}

Test(kir, arguments_are_where_the_abi_says)
{
    tly_args args;
    tly_task task;
    for (size_t i = 0; i < sizeof args / 8; i++) {
        ((int64_t *)(void *)&args)[i] = (int64_t)i + 100;
    }
    for (size_t i = 0; i < sizeof task / 8; i++) {
        ((int64_t *)(void *)&task)[i] = (int64_t)i + 200;
    }
    static const struct {
        kir_arg arg;
        int64_t index, result;
    } cases[] = {
        { KIR_ARG_LENGTH, -1, 100 },     { KIR_ARG_FLAGS, -1, 104 },
        { KIR_ARG_OUTER_RANK, -1, 105 }, { KIR_ARG_OUTER_SIZE, 0, 106 },
        { KIR_ARG_STEPS, -1, 113 },      { KIR_ARG_REDUCED_SIZE, 6, 123 },
        { KIR_ARG_SEGMENTS, -1, 124 },   { KIR_ARG_SEGMENT_SIZE, -1, 125 },
        { KIR_ARG_IN, -1, 126 },         { KIR_ARG_IN_AXIS, -1, 127 },
        { KIR_ARG_IN_LANE, -1, 128 },    { KIR_ARG_OUTER_IN, 1, 130 },
        { KIR_ARG_REDUCED_IN, 0, 136 },  { KIR_ARG_OUT, -1, 143 },
        { KIR_ARG_OUT_LANE, -1, 145 },   { KIR_ARG_OUTER_OUT, 6, 152 },
        { KIR_ARG_REDUCED_OUT, 6, 159 }, { KIR_ARG_BEGIN, -1, 200 },
        { KIR_ARG_TASK_END, -1, 201 },   { KIR_ARG_SCRATCH, -1, 203 },
        { KIR_ARG_CARRY_IN, -1, 204 },   { KIR_ARG_TOTAL, -1, 206 },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        kir_builder *b = kir_begin("argument");
        kir_value v = cases[i].index < 0 ? kir_get(b, cases[i].arg)
                                         : kir_get_at(b, cases[i].arg, kir_int(b, cases[i].index));
        kir_return(b, kir_type_of(b, v).kind == KIR_PTR ? kir_addr(b, v) : v);
        kir_kernel *k = must_finish(b);
        cr_assert_eq(must_run(k, &args, &task), cases[i].result, "%s", kir_arg_text(cases[i].arg));
        kir_free(k);
    }
}

/* ---- f16 ---- */

static double half_value(uint16_t h)
{
    int exponent = h >> 10 & 31;
    double fraction = h & 1023;
    double value = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return h & 0x8000 ? -value : value;
}

/* All f16 to f32 and back; and around every border between two neighbours. */
Test(kir, f16_rounds_to_nearest_even)
{
    kir_kernel *widen = must_parse("kernel widen {\n%1 : ptr = arg in\n%2 : ptr = arg out\n"
                                   "%3 : i64 = const 0\n%4 : f16 = load %1, align 2\n"
                                   "%5 : f32 = fpext %4\nstore %2, %5, align 4\nreturn %3\n}\n");
    kir_kernel *narrow = must_parse("kernel narrow {\n%1 : ptr = arg in\n%2 : ptr = arg out\n"
                                    "%3 : i64 = const 0\n%4 : f32x3 = load %1, align 4\n"
                                    "%5 : f16x3 = fptrunc %4\nstore %2, %5, align 2\n"
                                    "return %3\n}\n");
    for (uint32_t h = 0; h < 0x10000; h++) {
        uint16_t half = (uint16_t)h, back[3];
        float wide = 0;
        tly_args args = { .tensor[TLY_IN].base = (char *)&half,
                          .tensor[TLY_OUT].base = (char *)&wide };
        must_run(widen, &args, &(tly_task){ 0 });
        if ((h & 0x7fff) > 0x7c00) {
            cr_assert(isnan(wide));
        } else if ((h & 0x7fff) == 0x7c00) {
            cr_assert(isinf(wide) && (wide < 0) == (h > 0x7fff));
        } else {
            cr_assert(wide == (float)half_value(half) && !signbit(wide) == !(h & 0x8000));
        }
        float around[3] = { wide, wide, wide };
        int finite = (h & 0x7fff) < 0x7c00;
        if (finite) { /* up to the next in magnitude; infinity stands where 65536 would be */
            float middle = (float)(half_value(half) +
                                   (half_value((uint16_t)(h + 1)) - half_value(half)) / 2);
            around[0] = nextafterf(middle, wide);
            around[1] = middle;
            around[2] = nextafterf(middle, middle < 0 || h >= 0x8000 ? -INFINITY : INFINITY);
        }
        args = (tly_args){ .tensor[TLY_IN].base = (char *)around,
                           .tensor[TLY_OUT].base = (char *)back };
        must_run(narrow, &args, &(tly_task){ 0 });
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t wanted = !finite ? h : i == 0 ? h : i == 2 ? h + 1 : h + (h & 1);
            int both_nan = (wanted & 0x7fff) > 0x7c00 && (back[i] & 0x7fff) > 0x7c00;
            cr_assert(both_nan || back[i] == wanted, "%#x, %u: %#x", h, i, back[i]);
        }
    }
    kir_free(widen);
    kir_free(narrow);
}
