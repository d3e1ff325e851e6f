/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR of kernels with a workgroup: its text, its rules, and that a barrier in flow that parts
 * is found whatever the way the difference takes.
 */
#include "../runtime/problem/gpu.h"
#include "must.h"

#include <stdio.h>

static const char every_op[] =
    "kernel every workgroup 64 {\n"
    "  %1 : i32 = const 0\n"
    "  %2 : i32 = const 7\n"
    "  %3 : i64 = const 0\n"
    "  %4 : i1 = const true\n"
    "  %5 : ptr = arg in\n"
    "  %6 : i32 = arg length\n"
    "  %7 : i64 = arg in_axis\n"
    "  %8 : i32 = arg out_axis\n"
    "  %9 : i32 = id group_x\n"
    "  %10 : i32 = id group_y\n"
    "  %11 : i32 = id local\n"
    "  %12 : i32 = id subgroup\n"
    "  %13 : i32 = id lane\n"
    "  %14 : wptr = shared 256\n"
    "  %15 : wptr = ptradd %14, %2\n"
    "  store %15 + 4, %13, align 4\n"
    "  barrier\n"
    "  %16 : f32 = load %15 + 8, align 4\n"
    "  %17 : i32 = subgroup_scan_add %13\n"
    "  %18 : i32 = subgroup_scan_mul %13\n"
    "  %19 : f32 = subgroup_shuffle %16, %18\n"
    "  %20 : ptr = ptradd %5, %2\n"
    "  %21 : ptr = ptradd %20, %7\n"
    "  %22 : i32 = atomic_add %21 + 4, %17\n"
    "  %23 : i32 = atomic_load %21\n"
    "  atomic_store %21 - 8, %23\n"
    "  %24 : i32 = udiv %6, %2\n"
    "  %25 : i1, %26 : i32 = for %27 = %1 to %24 step %2 while with %28 : i1 = %4, "
    "%29 : i32 = %1 {\n"
    "    %30 : i32 = add %29, %27\n"
    "    %31 : i1 = cmp ult %30, %6\n"
    "    %32 : i32x4 = subgroup_ballot %31\n"
    "    yield %31, %30\n"
    "  }\n"
    "  return %3\n"
    "}\n";

Test(kir_gpu, text_round_trip)
{
    static struct text text;
    kir_kernel *k = must_parse(every_op);
    cr_assert_eq(k->workgroup, 64);
    cr_assert_eq(kir_print(k, gather, &text), TALLY_OK);
    cr_assert_str_eq(text.bytes, every_op);
    uint32_t seen[KIR_OP_COUNT] = { 0 };
    for (uint32_t i = 0; i < k->inst_count; i++) {
        seen[k->insts[i].op]++;
    }
    for (int op = 0; op < KIR_OP_COUNT; op++) {
        cr_assert(seen[op] != 0 || kir_op_targets((kir_op)op) != KIR_ON_GPU,
                  "%s is in no line of the test", kir_op_text((kir_op)op));
    }
    tally_error error = TALLY_ERROR_INIT;
    int64_t result;
    cr_assert_eq(kir_interpret(k, NULL, NULL, NULL, &result, &error), TALLY_INTERNAL);
    cr_assert_not_null(strstr(error.message, "has a workgroup: kir_interpret_grid runs it"));
    kir_free(k);
}

/* In front of every body: %1 i32 0, %2 i32 1, %3 i64 0, %4 i1, %5 lane, %6 group, %7 shared. */
#define HEAD \
    "%1 : i32 = const 0\n%2 : i32 = const 1\n%3 : i64 = const 0\n%4 : i1 = const true\n" \
    "%5 : i32 = id lane\n%6 : i32 = id group_x\n%7 : wptr = shared 64\n"
#define TAIL "return %3\n}\n"

static tally_status parse_body(const char *body, tally_error *error)
{
    char source[2048];
    kir_kernel *k = NULL;
    snprintf(source, sizeof source, "kernel body workgroup 32 {\n%s%s%s", HEAD, body, TAIL);
    tally_status status = kir_parse(source, strlen(source), &k, error);
    kir_free(k);
    return status;
}

static const struct {
    const char *body, *message;
} faults[] = {
    { "%8 : i64 = arg outer_rank\n", "kernels with a workgroup have other arguments" },
    { "%8 : i32 = arg steps\n", "kernels with a workgroup have other arguments" },
    { "%8 : i64 = arg length\n", "the result has the argument's type" },
    { "fence\n", "it is no operation of kernels with a workgroup" },
    { "clear_flags\n", "it is no operation of kernels with a workgroup" },
    { "%8 : i64x2 = splat %3\n%9 : i64x2 = udiv %8, %8\n",
      "udiv is of scalar i64; with a workgroup, also of scalar i32" },
    { "%8 : i64 = id lane\n", "an id is an i32" },
    { "%8 : i32 = id row\n", "no such id" },
    { "%8 : ptr = shared 4\n", "shared gives a wptr" },
    { "%8 : wptr = shared 0\n", "shared gives a wptr" },
    { "%8 : wptr = ptradd %7, %3\n", "ptradd adds i32 or i64 to ptr, i32 to wptr" },
    { "%8 : f32 = const 0x00000000\n%9 : f32 = subgroup_scan_add %8\n", "scalar integers" },
    { "%8 : i32 = subgroup_shuffle %5, %3\n", "the lane that an i32 names" },
    { "%8 : i32 = subgroup_ballot %4\n", "a ballot of an i1 is an i32x4" },
    { "%8 : i32x4 = subgroup_ballot %5\n", "a ballot of an i1 is an i32x4" },
    { "%8 : i32 = atomic_load %7\n", "atomics are of i32 at a ptr" },
    { "for %8 = %1 to %2 step %2 while {\n}\n", "asks the first carried value" },
    { "%8 : i32 = for %9 = %1 to %2 step %2 while with %10 : i32 = %1 {\nyield %10\n}\n",
      "asks the first carried value" },
    { "for %8 = %1 to %3 step %2 {\n}\n", "bounds and step are i64" },
};

Test(kir_gpu, each_rule_has_its_message)
{
    for (size_t i = 0; i < COUNT(faults); i++) {
        tally_error error = TALLY_ERROR_INIT;
        cr_assert_eq(parse_body(faults[i].body, &error), TALLY_INVALID, "%s", faults[i].body);
        cr_assert_not_null(strstr(error.message, faults[i].message), "%s\nsays: %s\nnot: %s",
                           faults[i].body, error.message, faults[i].message);
    }
    tally_error error = TALLY_ERROR_INIT;
    kir_kernel *k = NULL;
    const char cpu[] = "kernel cpu {\n%1 : i32 = id lane\n%2 : i64 = const 0\nreturn %2\n}\n";
    cr_assert_eq(kir_parse(cpu, strlen(cpu), &k, &error), TALLY_INVALID);
    cr_assert_not_null(strstr(error.message, "it is of kernels with a workgroup"));
}

/* Whether a barrier may stand under a condition that comes about so. */
static const struct {
    int uniform;
    const char *body;
} flows[] = {
    { 1, "barrier\n" },
    { 1, "%8 : i1 = cmp ult %6, %2\nif %8 {\nbarrier\n}\n" },
    { 0, "%8 : i1 = cmp ult %5, %2\nif %8 {\nbarrier\n}\n" },
    { 0, "%8 : i1 = cmp ult %5, %2\nif %8 {\n} else {\nbarrier\n}\n" },
    { 0, "%8 : i1 = cmp ult %5, %2\nif %8 {\nif %4 {\nbarrier\n}\n}\n" },
    { 1, "for %8 = %1 to %6 step %2 {\nbarrier\n}\n" },
    { 0, "for %8 = %1 to %5 step %2 {\nbarrier\n}\n" },
    /* memory: of one address one value, of differing addresses differing ones */
    { 1, "%8 : i32 = load %7, align 4\n%9 : i1 = cmp ult %8, %2\nif %9 {\nbarrier\n}\n" },
    { 0, "%8 : wptr = ptradd %7, %5\n%9 : i32 = load %8, align 4\n"
         "%10 : i1 = cmp ult %9, %2\nif %10 {\nbarrier\n}\n" },
    { 0, "%8 : i32 = subgroup_shuffle %6, %1\n%9 : i1 = cmp ult %8, %2\nif %9 {\nbarrier\n}\n" },
    { 0, "%8 : i32x4 = subgroup_ballot %4\n%9 : i32 = extract %8, 0\n"
         "%10 : i1 = cmp ult %9, %2\nif %10 {\nbarrier\n}\n" },
    { 0, "%8 : ptr = arg in\n%9 : i32 = atomic_load %8\n%10 : i1 = cmp ult %9, %2\n"
         "if %10 {\nbarrier\n}\n" },
    /* what differing control chose */
    { 0, "%8 : i1 = cmp ult %5, %2\n%9 : i1 = if %8 {\nyield %4\n} else {\n"
         "%10 : i1 = cmp ult %6, %2\nyield %10\n}\nif %9 {\nbarrier\n}\n" },
    /* carried round a loop: differing from the second trip on */
    { 0, "%8 : i32 = for %9 = %1 to %6 step %2 with %10 : i32 = %1 {\n"
         "%11 : i1 = cmp ult %10, %2\nif %11 {\nbarrier\n}\nyield %5\n}\n" },
    { 0, "%8 : i32, %9 : i32 = for %10 = %1 to %6 step %2 with %11 : i32 = %1, %12 : i32 = %1 {\n"
         "%13 : i1 = cmp ult %11, %2\nif %13 {\nbarrier\n}\nyield %12, %5\n}\n" },
    { 0, "%8 : i1 = for %9 = %1 to %6 step %2 while with %10 : i1 = %4 {\n"
         "barrier\n%11 : i1 = cmp ult %5, %9\nyield %11\n}\n" },
    { 1, "%8 : i1 = for %9 = %1 to %6 step %2 while with %10 : i1 = %4 {\n"
         "barrier\n%11 : i1 = cmp ult %6, %9\nyield %11\n}\n" },
    /* after a region that parted, flow is one again */
    { 1, "%8 : i1 = cmp ult %5, %2\nif %8 {\n}\nbarrier\n" },
};

Test(kir_gpu, barriers_stand_in_uniform_flow)
{
    for (size_t i = 0; i < COUNT(flows); i++) {
        tally_error error = TALLY_ERROR_INIT;
        tally_status status = parse_body(flows[i].body, &error);
        cr_assert_eq(status, flows[i].uniform ? TALLY_OK : TALLY_INVALID, "%s%s", flows[i].body,
                     error.message);
        cr_assert(flows[i].uniform || strstr(error.message, "uniform flow only") != NULL, "%s: %s",
                  flows[i].body, error.message);
    }
}

Test(kir_gpu, builder_folds_words)
{
    kir_builder *b = kir_begin_workgroup("folds", 32);
    kir_type i32 = KIR_TYPE(KIR_I32, 1);
    kir_value minus = kir_const(b, i32, 0xffffffff), two = kir_const(b, i32, 2);
    cr_assert_eq(kir_bin(b, KIR_ADD, minus, two), kir_const(b, i32, 1));
    cr_assert_eq(kir_bin(b, KIR_MUL, minus, two), kir_const(b, i32, 0xfffffffe));
    kir_value p = kir_get(b, KIR_ARG_IN);
    cr_assert_eq(kir_ptradd(b, p, kir_const(b, i32, 0)), p);
    kir_return(b, kir_int(b, 0));
    kir_free(must_finish(b));
}

/* ---- the interpreter ---- */

/* Runs a body behind %1 i32 0, %2 i32 1, %3 i32 4, %4 i64 0, %5 true, %6 in, %7 out, %8 local,
 * %9 lane, %10 local * 4, %11 its place in out; one workgroup of 8, subgroups of 4. */
static tally_status run_body(const char *body, uint32_t groups, uint32_t *in, uint32_t *out,
                             tally_error *error)
{
    char source[4096];
    snprintf(source, sizeof source,
             "kernel body workgroup 8 {\n%%1 : i32 = const 0\n%%2 : i32 = const 1\n"
             "%%3 : i32 = const 4\n%%4 : i64 = const 0\n%%5 : i1 = const true\n"
             "%%6 : ptr = arg in\n%%7 : ptr = arg out\n%%8 : i32 = id local\n"
             "%%9 : i32 = id lane\n%%10 : i32 = mul %%8, %%3\n%%11 : ptr = ptradd %%7, %%10\n"
             "%sreturn %%4\n}\n",
             body);
    kir_kernel *k = must_parse(source);
    tly_push push = { .tensor[TLY_IN].base = (uintptr_t)in,
                      .tensor[TLY_OUT].base = (uintptr_t)out,
                      .length = 77 };
    kir_grid grid = { .push = &push, .groups_x = groups, .groups_y = 1, .subgroup = 4 };
    tally_status status = kir_interpret_grid(k, &grid, error);
    kir_free(k);
    return status;
}

/* Each invocation's word to the next subgroup's, through workgroup memory. */
#define EXCHANGE(barrier) \
    "%12 : i32 = const 5\n%13 : wptr = shared 32\n%14 : wptr = ptradd %13, %10\n" \
    "store %14, %8, align 4\n" barrier "%15 : i32 = xor %8, %3\n%16 : i32 = mul %15, %3\n" \
    "%17 : wptr = ptradd %13, %16\n%18 : i32 = load %17, align 4\nstore %11, %18, align 4\n"

static const struct {
    const char *body;
    uint32_t out[8];
} programs[] = {
    { "%12 : i32 = id subgroup\n%13 : i32 = mul %12, %3\n%14 : i32 = add %13, %9\n"
      "%15 : i32 = arg length\n%16 : i32 = udiv %15, %3\n%17 : i32 = mul %14, %16\n"
      "store %11, %17, align 4\n",
      { 0, 19, 38, 57, 76, 95, 114, 133 } },
    { EXCHANGE("barrier\n"), { 4, 5, 6, 7, 0, 1, 2, 3 } },
    { EXCHANGE(""), { -1u, -1u, -1u, -1u, 0, 1, 2, 3 } }, /* a barrier that lacks is seen */
    { "%12 : i32 = add %9, %2\n%13 : i32 = subgroup_scan_mul %12\n"
      "%14 : i32 = subgroup_scan_add %13\n%15 : i32 = const 3\n%16 : i32 = sub %15, %9\n"
      "%17 : i32 = subgroup_shuffle %14, %16\nstore %11, %17, align 4\n",
      { 33, 9, 3, 1, 33, 9, 3, 1 } },
    /* a ballot of odd lanes; of those who are there */
    { "%12 : i32 = and %9, %2\n%13 : i1 = cmp eq %12, %2\n%14 : i32x4 = subgroup_ballot %13\n"
      "%15 : i32 = extract %14, 0\n%16 : i32 = extract %14, 1\n%17 : i32 = add %15, %16\n"
      "store %11, %17, align 4\n",
      { 10, 10, 10, 10, 10, 10, 10, 10 } },
    { "%12 : i32 = and %9, %2\n%13 : i1 = cmp eq %12, %2\n%14 : i32 = if %13 {\n"
      "%15 : i32x4 = subgroup_ballot %13\n%16 : i32 = extract %15, 0\nyield %16\n} else {\n"
      "%17 : i32x4 = subgroup_ballot %13\n%18 : i32 = extract %17, 0\nyield %18\n}\n"
      "store %11, %14, align 4\n",
      { 0, 10, 0, 10, 0, 10, 0, 10 } },
    /* a scan of those who are there; the others' way; trips that differ */
    { "%12 : i32 = and %9, %2\n%13 : i1 = cmp eq %12, %1\n%14 : i32 = if %13 {\n"
      "%15 : i32 = subgroup_scan_add %2\nyield %15\n} else {\n"
      "%16 : i32 = for %17 = %1 to %8 step %2 with %18 : i32 = %1 {\n"
      "%19 : i32 = add %18, %17\nyield %19\n}\nyield %16\n}\nstore %11, %14, align 4\n",
      { 1, 0, 2, 3, 1, 10, 2, 21 } },
    { "%12 : i32 = const 100\n%13 : i1, %14 : i32 = for %15 = %1 to %12 step %2 while with "
      "%16 : i1 = %5, %17 : i32 = %1 {\n%18 : i1 = cmp ult %15, %8\nyield %18, %15\n}\n"
      "store %11, %14, align 4\n",
      { 0, 1, 2, 3, 4, 5, 6, 7 } },
    { "%12 : i32 = atomic_add %6 + 4, %3\n%13 : i32 = atomic_load %6 + 4\n"
      "%14 : i32 = sub %13, %12\nstore %11, %14, align 4\n",
      { 16, 12, 8, 4, 16, 12, 8, 4 } },
};

Test(kir_gpu, invocations_run_together)
{
    for (size_t i = 0; i < COUNT(programs); i++) {
        uint32_t in[4] = { 0 }, out[8] = { 0 };
        tally_error error = TALLY_ERROR_INIT;
        cr_assert_eq(run_body(programs[i].body, 1, in, out, &error), TALLY_OK, "%s", error.message);
        for (int k = 0; k < 8; k++) {
            cr_assert_eq(out[k], programs[i].out[k], "program %zu, invocation %d: %u", i, k,
                         out[k]);
        }
    }
}

static const struct {
    const char *body, *message;
} run_faults[] = {
    { "%12 : i1 = cmp ult %9, %2\nif %12 {\n%13 : i32 = subgroup_shuffle %8, %2\n}\n",
      "subgroup_shuffle: the lane takes no part" },
    { "%12 : i32 = subgroup_shuffle %8, %3\n", "subgroup_shuffle: the lane takes no part" },
    { "%12 : wptr = shared 28\n%13 : wptr = ptradd %12, %10\n%14 : i64 = load %13 + 4, align 4\n",
      "load: the address is outside of workgroup memory" },
    { "%12 : i32 = udiv %2, %8\n", "udiv: a shift by the width or more, or a division by zero" },
    { "for %12 = %1 to %2 step %9 {\n}\n", "for: the step is not positive" },
};

Test(kir_gpu, faults_at_run_time_have_messages)
{
    for (size_t i = 0; i < COUNT(run_faults); i++) {
        uint32_t in[4] = { 0 }, out[8] = { 0 };
        tally_error error = TALLY_ERROR_INIT;
        cr_assert_eq(run_body(run_faults[i].body, 1, in, out, &error), TALLY_INTERNAL);
        cr_assert_not_null(strstr(error.message, run_faults[i].message), "%s", error.message);
    }
}

/* Each workgroup but the last waits for the next one: three are under way, four never end. */
static const char waits[] =
    "%12 : i32 = id group_x\n%13 : i32 = mul %12, %3\n%14 : ptr = ptradd %6, %13\n"
    "%15 : i32 = const 2147483647\n"
    "%16 : i1 = for %17 = %1 to %15 step %2 while with %18 : i1 = %5 {\n"
    "%19 : i32 = atomic_load %14 + 4\n%20 : i1 = cmp eq %19, %1\nyield %20\n}\n"
    "%21 : i32 = add %12, %2\natomic_store %14, %21\n";

Test(kir_gpu, workgroups_wait_for_each_other)
{
    uint32_t in[5] = { 0, 0, 0, 9 }, out[8];
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(run_body(waits, 3, in, out, &error), TALLY_OK, "%s", error.message);
    cr_assert(in[0] == 1 && in[1] == 2 && in[2] == 3);
    uint32_t late[5] = { 0, 0, 0, 0, 9 };
    cr_assert_eq(run_body(waits, 4, late, out, &error), TALLY_INTERNAL);
    cr_assert_not_null(strstr(error.message, "the workgroups wait for each other"), "%s",
                       error.message);
}
