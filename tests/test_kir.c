/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR as text: to the byte, and garbage. The kernels of docs/kir.md are read from there.
 * Beside it test_kir_rules.c the verifier's rules, test_kir_build.c the builder, test_kir_misuse.c
 * what it refuses.
 */
#include <stdio.h>

#include "../runtime/problem/gpu.h"
#include "must.h"

/* Every operation, in the form that the printer gives. */
static const char every_op[] = "kernel every_op {\n"
                               "  %1 : i64 = const 0\n"
                               "  %2 : i64 = const -9223372036854775808\n"
                               "  %3 : i8x4 = const -128\n"
                               "  %4 : f32x4 = const 0x3f800000\n"
                               "  %5 : f16x2 = const 0x0001\n"
                               "  %6 : f64 = const 0x8000000000000000\n"
                               "  %7 : i1 = const true\n"
                               "  %8 : i1x3 = const false\n"
                               "  %9 : i32x4 = iota\n"
                               "  %10 : ptr = arg in\n"
                               "  %11 : i64 = arg length\n"
                               "  %12 : i64 = argv outer_size, %1\n"
                               "  %13 : i64 = add %11, %12\n"
                               "  %14 : f32x4 = sub %4, %4\n"
                               "  %15 : i8x4 = mul %3, %3\n"
                               "  %16 : i64 = udiv %11, %2\n"
                               "  %17 : i1 = and %7, %7\n"
                               "  %18 : i64 = or %11, %12\n"
                               "  %19 : i64 = xor %11, %12\n"
                               "  %20 : i32x4 = shl %9, %9\n"
                               "  %21 : i32x4 = lshr %9, %9\n"
                               "  %22 : i32x4 = ashr %9, %9\n"
                               "  %23 : i32x4 = umin %9, %22\n"
                               "  %24 : i32x4 = umax %9, %22\n"
                               "  %25 : i1x4 = cmp slt %9, %24\n"
                               "  %26 : i1x4 = cmp uno %4, %14\n"
                               "  %27 : f32x4 = select %26, %4, %14\n"
                               "  %28 : ptr = select %7, %10, %10\n"
                               "  %29 : i64x4 = zext %9\n"
                               "  %30 : i16x4 = sext %25\n"
                               "  %31 : i1x4 = trunc %9\n"
                               "  %32 : f32x2 = fpext %5\n"
                               "  %33 : f32 = fptrunc %6\n"
                               "  %34 : i64x2 = bitcast %4\n"
                               "  %35 : ptr = ptradd %10, %11\n"
                               "  %36 : i64 = addr %35\n"
                               "  %37 : f32x4 = load %35 + 32, align 4\n"
                               "  %38 : f32 = load %35 - 9223372036854775808, align 1\n"
                               "  store %35, %37, align 4\n"
                               "  store %35 + 64, %37, align 16, stream\n"
                               "  %39 : f32x4 = mload %35 + 16, %11, %4\n"
                               "  mstore %35 - 16, %11, %39\n"
                               "  prefetch %35 + 4096\n"
                               "  prefetchw %35 - 64\n"
                               "  fence\n"
                               "  %40 : i64x4 = splat %11\n"
                               "  %41 : f32 = extract %39, 3\n"
                               "  %42 : f32x4 = insert %39, %41, 0\n"
                               "  %43 : f32x5 = shuffle %39, %42, [0 7 1 1 4]\n"
                               "  %44 : f32x5 = keep %43\n"
                               "  %45 : i1 = any %8\n"
                               "  clear_flags\n"
                               "  %46 : i32 = flags\n"
                               "  %47 : i32x4 = smin %9, %22\n"
                               "  %48 : i32x4 = smax %9, %22\n"
                               "  %49 : f32x4 = div %4, %14\n"
                               "  %50 : f32x4 = minimum %4, %14\n"
                               "  %51 : f32x4 = maximum %4, %14\n"
                               "  %52 : f32x4 = minimum_number %4, %14\n"
                               "  %53 : f32x4 = maximum_number %4, %14\n"
                               "  %54 : f32x4 = sqrt %4\n"
                               "  %55 : f64 = round %6\n"
                               "  %56 : f32x4 = floor %4\n"
                               "  %57 : f32x4 = sitofp %9\n"
                               "  %58 : f64 = uitofp %11\n"
                               "  %59 : i64 = fptosi %6\n"
                               "  %60 : i32x4 = fptoui %4\n"
                               "  %61 : f32x4 = permute %4, %14, %9\n"
                               "  %62 : i64, %63 : f32x5 = for %64 = %1 to %11 step %13 with "
                               "%65 : i64 = %1, %66 : f32x5 = %44 {\n"
                               "    for %67 = %64 to %11 step %13 {\n"
                               "      if %7 {\n"
                               "        fence\n"
                               "      }\n"
                               "    }\n"
                               "    %68 : f32x5 = if %17 {\n"
                               "      yield %66\n"
                               "    } else {\n"
                               "      %69 : f32x5 = add %66, %66\n"
                               "      yield %69\n"
                               "    }\n"
                               "    if %7 {\n"
                               "    } else {\n"
                               "      fence\n"
                               "    }\n"
                               "    yield %64, %68\n"
                               "  }\n"
                               "  return %62\n"
                               "}\n";

Test(kir, text_round_trip)
{
    static struct text text;
    kir_kernel *k = must_parse(every_op);
    must_print(k, &text);
    cr_assert_str_eq(text.bytes, every_op);
    uint32_t seen[KIR_OP_COUNT] = { 0 };
    for (uint32_t i = 0; i < k->inst_count; i++) {
        seen[k->insts[i].op]++;
    }
    for (int op = 0; op < KIR_OP_COUNT; op++) { /* test_kir_gpu.c has the others */
        cr_assert((seen[op] != 0) == (kir_op_targets((kir_op)op) != KIR_ON_GPU),
                  "%s is in no line of the test", kir_op_text((kir_op)op));
    }
    kir_free(k);
}

Test(kir, print_reports_the_writer)
{
    kir_kernel *k = must_parse(every_op);
    cr_assert_eq(kir_print(k, refuse, NULL), TALLY_IO);
    kir_free(k);
}

/* What a parser cannot write, but a program that fills the struct can. */
Test(kir, verify_trusts_no_field)
{
    kir_kernel *k = must_parse(every_op);
    uint64_t seed = 1;
    unsigned refused = 0;
    kir_inst *saved = malloc(k->inst_count * sizeof *saved);
    cr_assert_not_null(saved);
    memcpy(saved, k->insts, k->inst_count * sizeof *saved);
    for (int round = 0; round < 20000; round++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t at = (uint32_t)(seed >> 33) % k->inst_count;
        uint32_t byte = (uint32_t)(seed >> 20) % sizeof *saved;
        ((unsigned char *)&k->insts[at])[byte] ^= (unsigned char)(1u << (seed >> 60 & 7));
        refused += kir_verify(k, NULL) != TALLY_OK;
        k->insts[at] = saved[at];
    }
    cr_assert_gt(refused, 15000, "%u", refused);
    cr_assert_eq(kir_verify(k, NULL), TALLY_OK);
    free(saved);
    kir_free(k);
}

Test(kir, garbage_never_crashes)
{
    static char source[sizeof every_op];
    static const char splinters[] = "%{}[]=:,+- \n0123456789abcdefxkirptrload\x80\xff";
    uint64_t seed = 7;
    unsigned accepted = 0;
    for (int round = 0; round < 6000; round++) {
        memcpy(source, every_op, sizeof source);
        size_t bytes = sizeof source - 1;
        for (int change = round % 4; change >= 0 && bytes > 0; change--) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            size_t at = (size_t)(seed >> 33) % bytes;
            if ((seed >> 60) < 4) {
                memmove(source + at, source + at + 1, bytes - at - 1);
                bytes--;
            } else if ((seed >> 60) == 4) {
                bytes = at + 1;
            } else {
                source[at] = splinters[(seed >> 12) % (sizeof splinters - 1)];
            }
        }
        char *exact = malloc(bytes); /* so that a sanitizer sees the first byte too far */
        cr_assert_not_null(exact);
        memcpy(exact, source, bytes);
        kir_kernel *k = NULL;
        if (kir_parse(exact, bytes, &k, NULL) == TALLY_OK) {
            accepted++;
            must_round_trip(k);
        }
        kir_free(k);
        free(exact);
    }
    cr_assert_gt(accepted, 0);
}

/* The manual's example computes what it says, for whole steps and under the mask. */
static void run_example(const kir_kernel *k)
{
    for (int64_t length = 0; length <= 11; length++) {
        float in[11], out[12], sum = 0;
        for (int i = 0; i < 11; i++) {
            in[i] = (float)(i * i - 20);
        }
        for (int i = 0; i < 12; i++) {
            out[i] = 77;
        }
        tly_args args = { .tensor[TLY_IN].base = (char *)in,
                          .tensor[TLY_OUT].base = (char *)out,
                          .length = length };
        tly_push push = { .tensor[TLY_IN].base = (uintptr_t)in,
                          .tensor[TLY_OUT].base = (uintptr_t)out,
                          .length = (uint32_t)length };
        kir_grid grid = { .push = &push, .groups_x = 1, .groups_y = 1, .subgroup = 8 };
        if (k->workgroup > 0) {
            cr_assert_eq(kir_interpret_grid(k, &grid, NULL), TALLY_OK);
        } else {
            cr_assert_eq(must_run(k, &args, &(tly_task){ 0 }), 0);
        }
        for (int i = 0; i < 12; i++) {
            sum += i < 11 ? in[i] : 0;
            cr_assert_eq(out[i], i < length ? sum : 77);
        }
    }
}

static char *read_manual(void)
{
    char path[4096];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*s/../docs/kir.md", slash ? (int)(slash - __FILE__) : 1,
             slash ? __FILE__ : ".");
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s: run tests in the build folder", path);
    static char manual[1 << 16];
    size_t bytes = fread(manual, 1, sizeof manual - 1, file);
    fclose(file);
    cr_assert_gt(sizeof manual - 1, bytes);
    manual[bytes] = 0;
    return manual;
}

/* 1 if a table of the manual has the word in the first cell of a row. */
static int has_row(const char *manual, const char *word)
{
    const size_t length = strlen(word);
    for (const char *row = manual; (row = strstr(row, "\n| ")) != NULL; row++) {
        const char *cell = row + 2, *end = strchr(cell, '|');
        while (end != NULL && (cell = strstr(cell, word)) != NULL && cell < end) {
            if (cell[-1] == ' ' && (cell[length] == ' ' || cell[length] == ',')) {
                return 1;
            }
            cell += length;
        }
    }
    return 0;
}

Test(kir, manual_has_every_operation)
{
    const char *manual = read_manual();
    for (int op = 0; op < KIR_OP_COUNT; op++) {
        int in_structure = op == KIR_ELSE || op == KIR_YIELD || op == KIR_END; /* of for and if */
        cr_assert(in_structure || has_row(manual, kir_op_text((kir_op)op)), "%s",
                  kir_op_text((kir_op)op));
    }
}

/* The fenced blocks of docs/kir.md that are marked kir are kernels, to the byte. */
Test(kir, manual)
{
    char *manual = read_manual();
    int examples = 0;
    static struct text text;
    for (char *at = manual; (at = strstr(at, "```kir\n")) != NULL;) {
        at += strlen("```kir\n");
        char *end = strstr(at, "```\n");
        cr_assert_not_null(end);
        *end = 0;
        kir_kernel *k = must_parse(at);
        must_print(k, &text);
        cr_assert_str_eq(text.bytes, at);
        run_example(k);
        examples++;
        kir_free(k);
        at = end + 1;
    }
    cr_assert_eq(examples, 2);
}

/* Numbers that a change has left may come in any order; the printer counts anew. */
Test(kir, values_have_any_numbers)
{
    kir_kernel *k = must_parse("kernel renumbered {\n"
                               "%70 : i64 = const 1\n%2 : i64 = const 9\n"
                               "%5 : i64, %999999 : i64 = for %1 = %70 to %2 step %70 with "
                               "%8 : i64 = %2, %3 : i64 = %70 {\n"
                               "%12 : i64 = add %3, %1\nyield %3, %12\n}\n"
                               "%4 : i64 = add %5, %999999\nreturn %4\n}\n");
    static struct text printed;
    must_print(k, &printed);
    cr_expect_str_eq(printed.bytes,
                     "kernel renumbered {\n"
                     "  %1 : i64 = const 1\n  %2 : i64 = const 9\n"
                     "  %3 : i64, %4 : i64 = for %5 = %1 to %2 step %1 with %6 : i64 = %2, "
                     "%7 : i64 = %1 {\n"
                     "    %8 : i64 = add %7, %5\n    yield %7, %8\n  }\n"
                     "  %9 : i64 = add %3, %4\n  return %9\n}\n",
                     "%s", printed.bytes);
    must_round_trip(k);
    kir_free(k);
}
