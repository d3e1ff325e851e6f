/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR from text by the public interface (tally/kir.h): what is told of a text that is wrong,
 * and that a kernel which is run reaches its own memory alone. tests/kir_commands has every
 * template.
 */
#include <criterion/criterion.h>
#include <fenv.h>
#include <stdio.h>
#include <string.h>

#include <tally.h>

#include "profile_caps.h"

static tally_context *context;

static void open_context(void)
{
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
}

static void close_context(void)
{
    tally_context_destroy(&context);
}

TestSuite(kir_text, .init = open_context, .fini = close_context);

typedef struct page {
    char text[1 << 16];
    size_t length;
} page;

static int add(void *user, const char *text, size_t bytes)
{
    page *p = user;
    cr_assert_lt(p->length + bytes, sizeof p->text);
    memcpy(p->text + p->length, text, bytes);
    p->length += bytes;
    p->text[p->length] = 0;
    return 0;
}

static int refuse(void *user, const char *text, size_t bytes)
{
    (void)user;
    (void)text;
    (void)bytes;
    return 1;
}

static tally_descriptor parsed(const char *word)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tally_error e = TALLY_ERROR_INIT;
    cr_assert_eq(tally_descriptor_parse(word, &d, &e), TALLY_OK, "%s: %s", word, e.message);
    return d;
}

static tally_status run(const char *text, const char *word, const void *in, void *out,
                        uint64_t steps, tally_error *error)
{
    const tally_descriptor d = parsed(word);
    return tally_kir_run(context, text, strlen(text), &d, NULL, in, out, steps, error);
}

static const char one[] = "kernel one {\n  %1 : i64 = const 0\n  return %1\n}\n";

Test(kir_text, tells_what_is_wrong_with_a_text)
{
    static const struct {
        const char *text;
        int32_t position;
        const char *message;
    } wrong[] = {
        { "", 1, "expected 'kernel'" },
        { " \n kernel", 10, "expected a name" },
        { "kernel k {\n  %1 : i64 = konst 0\n", 25, "no such operation" },
        { "kernel k {\n  %1 : i64 = const 0\n  return %2\n}\n", 42, "used before it is defined" },
        { "kernel k {\n  %1 : i32 = const 0\n  return %1\n}\n", 35, "a kernel returns i64" },
        { "kernel k {\n  %1 : i64 = const 0\n  return %1\n}\n\nx", 48, "expected 'kernel'" },
        { "kernel k apart {\n", 10, "expected '{'" },
    };
    page p = { .length = 0 };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tally_error e = TALLY_ERROR_INIT;
        cr_expect_eq(tally_kir_inspect(context, wrong[i].text, strlen(wrong[i].text), NULL,
                                       TALLY_STAGE_KIR, add, &p, &e),
                     TALLY_INVALID);
        cr_expect_not_null(strstr(e.message, wrong[i].message), "%s: %s", wrong[i].text, e.message);
        cr_expect_eq(e.position, wrong[i].position, "%s: %d", wrong[i].text, (int)e.position);
        cr_expect_str_eq(e.field, "kir");
    }
    cr_expect_eq(p.length, 0);
    cr_expect_eq(tally_kir_inspect(context, one, strlen(one), NULL, TALLY_STAGE_KIR, add, &p, NULL),
                 TALLY_OK);
    cr_expect_str_eq(p.text, one);
    tally_error e = TALLY_ERROR_INIT;
    cr_expect_eq(
        tally_kir_inspect(context, one, strlen(one), NULL, TALLY_STAGE_KIR, refuse, NULL, &e),
        TALLY_IO);
    cr_expect_eq(tally_kir_inspect(context, one, strlen(one), NULL, TALLY_STAGE_PLAN, add, &p, &e),
                 TALLY_INVALID);
    cr_expect_eq(tally_kir_inspect(NULL, one, 1, NULL, TALLY_STAGE_KIR, add, &p, &e),
                 TALLY_INVALID);
    cr_expect_eq(tally_kir_inspect(context, NULL, 1, NULL, TALLY_STAGE_KIR, add, &p, &e),
                 TALLY_INVALID);
    cr_expect_eq(tally_kir_inspect(context, one, 1, NULL, TALLY_STAGE_KIR, NULL, &p, &e),
                 TALLY_INVALID);
    cr_expect_eq(
        tally_kir_inspect(context, one, strlen(one), NULL, TALLY_STAGE_SPVASM, add, &p, &e),
        TALLY_UNSUPPORTED);
}

/* What tally_inspect gave runs as the kernel runs: strides, gaps, both directions, in place. */
Test(kir_text, runs_as_the_kernel_does)
{
    static const char *const words[] = {
        "cumsum:i32:2x5:axis=1",
        "cumsum:i32:2x5:axis=1,reverse,in=-5x1@5,out=1x2",
        "cumsum:i32:2x5:axis=0,out=20x-3@12",
        "sum:i32:2x5:axes=0,out=3@1",
        "cumsum:i32:2x5:axis=1,in=0x1",
    };
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        const tally_descriptor d = parsed(words[w]);
        tally_kernel *kernel = NULL;
        tally_error e = TALLY_ERROR_INIT;
        page text = { .length = 0 };
        int32_t in[10], wanted[40], got[40];
        for (int i = 0; i < 40; i++) {
            wanted[i] = got[i] = -7 * i;
            in[i % 10] = i * i;
        }
        cr_assert_eq(tally_inspect(context, &d, NULL, TALLY_STAGE_KIR, add, &text, &e), TALLY_OK);
        cr_assert_eq(tally_kir_run(context, text.text, text.length, &d, NULL, in, got, 0, &e),
                     TALLY_OK, "%s: %s", words[w], e.message);
#ifdef TALLY_TEST_NATIVE
        cr_assert_eq(tally_kernel_create(context, &d, NULL, &kernel, &e), TALLY_OK, "%s",
                     e.message);
        cr_assert_eq(tally_kernel_run(kernel, in, wanted, &e), TALLY_OK);
        cr_expect_arr_eq(got, wanted, sizeof got, "%s", words[w]);
#else
        (void)wanted;
#endif
        tally_kernel_destroy(&kernel);
    }
}

/* Operands lie where the word says, and none of them is written. */
Test(kir_text, runs_with_operands)
{
    const tally_descriptor d = parsed(
        "cumsum:i32:2x5:axis=1,a=i32/-5x1@5,b=i32/none,map=x*a,post=y-b");
    const int32_t in[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, b = 100;
    const int32_t a[10] = { 1, 1, 1, 1, 1, 2, 0, 2, 0, 2 };
    const int32_t wanted[10] = { -98, -98, -92, -92, -82, -94, -87, -79, -70, -60 };
    int32_t out[10] = { 0 };
    page text = { .length = 0 };
    tally_error e = TALLY_ERROR_INIT;
    tally_buffers buffers = TALLY_BUFFERS_INIT;
    buffers.in = in;
    buffers.out = out;
    buffers.operand[0] = a;
    cr_assert_eq(tally_inspect(context, &d, NULL, TALLY_STAGE_KIR, add, &text, &e), TALLY_OK);
    cr_expect_eq(tally_kir_run_buffers(context, text.text, text.length, &d, NULL, &buffers, 0, &e),
                 TALLY_INVALID);
    cr_expect_str_eq(e.field, "b");
    cr_expect_eq(tally_kir_run(context, text.text, text.length, &d, NULL, in, out, 0, &e),
                 TALLY_INVALID);
    cr_expect_str_eq(e.field, "a");
    cr_expect_eq(tally_kir_run_buffers(context, text.text, text.length, &d, NULL, NULL, 0, &e),
                 TALLY_INVALID);
    cr_expect_eq(out[9], 0);
    buffers.operand[1] = &b;
    cr_assert_eq(tally_kir_run_buffers(context, text.text, text.length, &d, NULL, &buffers, 0, &e),
                 TALLY_OK, "%s: %s", e.field, e.message);
    cr_expect_arr_eq(out, wanted, sizeof out);
}

/* States are taken where they are given, and made where the word says so, on CPUs and devices. */
Test(kir_text, runs_with_states)
{
    const tally_descriptor d = parsed("cumsum:i32:2x5:axis=1,carry=in+out");
    const int32_t in[10] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, states[2] = { 100, 200 };
    for (int device = 0; device < 2; device++) {
        tally_kernel_options options = TALLY_KERNEL_OPTIONS_INIT;
        page text = { .length = 0 };
        tally_error e = TALLY_ERROR_INIT;
        tally_buffers buffers = TALLY_BUFFERS_INIT;
        int32_t out[10] = { 0 }, after[2] = { 0 };
        options.profile = device ? tly_profile_text("lavapipe-8") : NULL;
        buffers.in = in;
        buffers.out = out;
        cr_assert_eq(tally_inspect(context, &d, &options, TALLY_STAGE_KIR, add, &text, &e),
                     TALLY_OK, "%s", e.message);
        cr_expect_eq(
            tally_kir_run_buffers(context, text.text, text.length, &d, &options, &buffers, 0, &e),
            TALLY_INVALID);
        cr_expect_str_eq(e.field, "carry_out");
        buffers.carry_out = after;
        for (int given = 0; given < 2; given++) {
            buffers.carry_in = given ? states : NULL;
            cr_assert_eq(tally_kir_run_buffers(context, text.text, text.length, &d, &options,
                                               &buffers, 0, &e),
                         TALLY_OK, "%s: %s", e.field, e.message);
            cr_expect(out[4] == 15 + given * 100 && out[9] == 40 + given * 200, "%d, %d", out[4],
                      out[9]);
            cr_expect(after[0] == out[4] && after[1] == out[9], "%d, %d", after[0], after[1]);
        }
    }
}

Test(kir_text, reaches_its_own_memory_alone)
{
    static const char head[] =
        "kernel k {\n%1 : i64 = const 0\n%2 : i64 = const 1\n"
        "%3 : ptr = arg in\n%4 : ptr = arg out\n%5 : ptr = arg scratch\n"
        "%6 : i32 = const 77\n%7 : i64 = const -1\n%8 : ptr = arg carry_out\n";
    static const struct {
        const char *lines, *fault; /* NULL: none */
    } cases[] = {
        { "store %4, %6, align 4\nstore %4 + 12, %6, align 4\n", NULL },
        { "store %4 + 13, %6, align 1\n", "store: the address is outside" },
        { "store %4 + 16, %6, align 4\n", "store: the address is outside" },
        { "store %4 - 4, %6, align 4\n", "store: the address is outside" },
        { "store %4 + 9223372036854775807, %6, align 1\n", "store: the address is outside" },
        { "store %3, %6, align 4\n", "it stores to memory that is only read" },
        { "mstore %3, %2, %6\n", "it stores to memory that is only read" },
        { "mstore %4 + 13, %2, %6\n", "mstore: the address is outside" },
        { "mstore %4 + 4096, %7, %6\n", NULL }, /* no lane */
        { "%9 : i32 = load %3 + 16, align 4\n", "load: the address is outside" },
        { "%9 : i32x4 = load %3 + 4, align 4\n", "load: the address is outside" },
        { "%9 : i32x4 = load %3, align 4\n", NULL },
        { "%9 : i32 = mload %3 + 14, %2, %6\n", "mload: the address is outside" },
        { "%9 : i32 = load %8, align 1\n", "load: the address is outside" },
        { "prefetch %4 + 4096\nprefetchw %8\n", NULL },
        { "%9 : i32 = load %3 + 2, align 4\n", "load: the address is no multiple" },
        { "%9 : i64 = udiv %1, %1\n", "a division by zero" },
        { "for %9 = %1 to %2 step %1 {\n}\n", "the step is not positive" },
        { "for %9 = %1 to %2 step %2 {\nfor %10 = %7 to %2 step %2 {\n}\n}\n", NULL },
    };
    const int32_t in[4] = { 1, 2, 3, 4 };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[1024];
        int32_t out[4] = { 5, 5, 5, 5 };
        tally_error e = TALLY_ERROR_INIT;
        snprintf(text, sizeof text, "%s%sreturn %%1\n}\n", head, cases[c].lines);
        tally_status status = run(text, "cumsum:i32:4:axis=0", in, out, 10000, &e);
        if (cases[c].fault == NULL) {
            cr_expect_eq(status, TALLY_OK, "%s: %s", cases[c].lines, e.message);
            continue;
        }
        cr_expect_eq(status, TALLY_INVALID, "%s", cases[c].lines);
        cr_expect_not_null(strstr(e.message, cases[c].fault), "%s: %s", cases[c].lines, e.message);
        cr_expect_geq(e.position, (int32_t)strlen(head) + 1);
        cr_expect(out[0] == 5 && out[3] == 5, "%s: it wrote", cases[c].lines);
    }
    cr_expect(in[0] == 1 && in[3] == 4);
}

Test(kir_text, ends_after_its_steps)
{
    static const char endless[] = "kernel endless {\n%1 : i64 = const 0\n%2 : i64 = const 1\n"
                                  "%3 : i64 = const 9223372036854775807\n"
                                  "for %4 = %1 to %3 step %2 {\n}\nreturn %1\n}\n";
    int32_t in[4] = { 0 }, out[4] = { 0 };
    tally_error e = TALLY_ERROR_INIT;
    cr_expect_eq(run(endless, "cumsum:i32:4:axis=0", in, out, 1000, &e), TALLY_INVALID);
    cr_expect_not_null(strstr(e.message, "the steps are used up"), "%s", e.message);
    cr_expect_not_null(strstr(e.hint, "steps"), "%s", e.hint);
    /* Two instructions are two steps. */
    cr_expect_eq(run(one, "cumsum:i32:4:axis=0", in, out, 1, &e), TALLY_INVALID);
    cr_expect_eq(run(one, "cumsum:i32:4:axis=0", in, out, 2, &e), TALLY_OK);
}

Test(kir_text, leaves_the_caller_as_it_was)
{
    static const char overflows[] = "kernel k {\n%1 : i64 = const 0\n%2 : f32 = const 0x7f000000\n"
                                    "clear_flags\n%3 : f32 = mul %2, %2\nreturn %1\n}\n";
    int32_t in[4] = { 0 }, out[4] = { 0 };
    tally_error e = TALLY_ERROR_INIT;
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_DIVBYZERO);
    fesetround(FE_UPWARD);
    cr_expect_eq(run(overflows, "cumsum:i32:4:axis=0", in, out, 0, &e), TALLY_OK);
    cr_expect_eq(fegetround(), FE_UPWARD);
    cr_expect_eq(fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
    fesetround(FE_TONEAREST);
    cr_expect_eq(run(one, "cumsum:i32:4:axis=0", NULL, out, 0, &e), TALLY_INVALID);
    cr_expect_str_eq(e.field, "in");
    cr_expect_eq(run(one, "cumsum:i32:4:axis=0", in, NULL, 0, &e), TALLY_INVALID);
    cr_expect_str_eq(e.field, "out");
    cr_expect_eq(run(one, "cumsum:i32:0:axis=0", NULL, NULL, 0, &e), TALLY_OK);
    cr_expect_eq(run("kernel", "cumsum:i32:0:axis=0", NULL, NULL, 0, &e), TALLY_INVALID);
    cr_expect_eq(tally_kir_run(context, one, strlen(one), NULL, NULL, in, out, 0, &e),
                 TALLY_INVALID);
    cr_expect_eq(run(one, "cumsum:i32:?:axis=0", in, out, 0, &e), TALLY_INVALID);
}
