/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codegen/plan/gpu_planner.c and the GPU templates: what is refused and why, how reductions are
 * read, and that whatever is chosen (test_gpu_chosen.c) becomes modules that the validator takes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "../codegen/generate_gpu.h"
#include "../runtime/problem/canonicalise.h"
#include "../runtime/vulkan/judge.h"
#include "../templates/build.h"
#include "../templates/gpu/gpu.h"
#include "gpu_devices.h"
#include "random.h"

Test(gpu, refusals_name_the_feature)
{
    static const struct {
        const char *word;
        int device;
        const char *message, *said; /* how a word says what the hint does */
    } table[] = {
        { "cumsum:f64:100:axis=0", 2, "f64 needs shaderFloat64", "" },
        { "cumsum:f32:100:axis=0,acc=f64", 2, "f64 needs shaderFloat64", "" },
        { "cumsum:i64:100:axis=0", 2, "i64 or u64 needs shaderInt64", "" },
        { "cumprod:u64:100:axis=0", 3, "i64 or u64 needs shaderInt64", "" },
        { "cumsum:f16:100:axis=0", 2, "f16 needs storageBuffer16BitAccess", "" },
        { "cumsum:bf16:100:axis=0", 2, "bf16 needs storageBuffer16BitAccess", "" },
        { "cumsum:f32:1073741824:axis=0", 2, "lacks bufferDeviceAddress", "" },
        { "l2:i32:100", 2, "l2 of i32 ends in f64 and needs shaderFloat64", "" },
        { "log_sum:u32:100", 2, "log_sum of u32 ends in f64 and needs shaderFloat64", "" },
        { "log_sum_exp:i32:100", 2, "log_sum_exp of i32 ends in f64 and needs shaderFloat64", "" },
        { "l2:i64:100", 2, "l2 of i64 ends in f64 and needs shaderFloat64", "" },
        { "argmax:f32:8x64", 2, "i64 or u64 needs shaderInt64", "argmax:f32>i32" },
        { "argmin:i64:8x64", 2, "i64 or u64 needs shaderInt64", "" },
        { "cumargmax:f32:8x64:axis=1", 2, "i64 or u64 needs shaderInt64", "cumargmax:f32>i32" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tally_error error = TALLY_ERROR_INIT;
        tly_gpu_plan plan;
        cr_assert_eq(plan_of(table[i].word, table[i].device, "", &plan, &error), TALLY_UNSUPPORTED,
                     "%s", table[i].word);
        cr_expect_not_null(strstr(error.message, table[i].message), "%s: %s", table[i].word,
                           error.message);
        cr_expect_str_eq(error.word, table[i].said, "%s", table[i].word);
        cr_expect_eq(error.hint[0] != 0, error.word[0] != 0, "%s: %s", table[i].word, error.hint);
    }
    /* 64-bit integers alone are missing. */
    tally_error error = TALLY_ERROR_INIT;
    tly_gpu_plan plan;
    tly_caps caps = devices[0];
    caps.float64 = 1;
    caps.int64 = 0;
    cr_assert_eq(plan_for("log_sum:i32:100", &caps, "", &plan, &error), TALLY_UNSUPPORTED);
    cr_expect_not_null(
        strstr(error.message, "log_sum of i32 adds in 64 bits and needs shaderInt64"));
    cr_expect_eq(plan_for("l2:i32:100", &caps, "", &plan, &error), TALLY_OK, "%s", error.message);
    cr_expect_eq(plan_for("log_sum_exp:i32:100", &caps, "", &plan, &error), TALLY_OK, "%s",
                 error.message);
}

/* What is read by 16 bytes: neighbours of a row, or outputs side by side, where every stride of the
 * input is a multiple of them; else elements. On a GPU 16 and more are on their way at once. */
Test(gpu, reductions_read_by_vectors)
{
    static const struct {
        const char *word;
        int32_t vector, least;
    } table[] = {
        { "sum:f32:4096x4096:axes=1", 4, 16 },
        { "sum:f32:4096x4096:axes=1,in=5000x1", 4, 16 },
        { "sum:f32:4096x4096:axes=1,in=5001x1", 1, 16 },
        { "sum:f32:4096x4095:axes=1", 1, 8 },
        { "sum:f32:268435456:axes=0", 4, 32 },
        { "sum:f32:268435455:axes=0", 4, 32 },
        { "sum:f32:64x256x1024:axes=0+2", 4, 32 },
        { "sum:f32:64x256x1022:axes=0+2", 1, 16 },
        { "max:i8:4096x4096:axes=1", 16, 16 },
        { "argmax:f16:4096x4096:axes=1", 8, 16 },
        { "sum:f64:4096x4096:axes=1", 2, 16 },
        { "sum:f32:4096x1048576:axes=0", 4, 16 },
        { "sum:f32:4096x4096:axes=0", 1, 16 },
        { "sum:f32:4096x1048575:axes=0", 1, 16 },
        { "sum:f32:1048576x8:axes=1", 4, 4 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tally_error error = TALLY_ERROR_INIT;
        tly_gpu_plan plan;
        cr_assert_eq(plan_of(table[i].word, 0, "", &plan, &error), TALLY_OK, "%s: %s",
                     table[i].word, error.message);
        cr_expect_eq(plan.vector, table[i].vector, "%s: %d", table[i].word, (int)plan.vector);
        cr_expect_geq(plan.vector * plan.vectors_per_thread, table[i].least, "%s: %d",
                      table[i].word, (int)plan.vectors_per_thread);
    }
}

/* Rows that an invocation or a team loads all at once are known by their length, if there are
 * several. A CPU that plays the device takes single elements where vectors do not fit, and an
 * eighth of a row in a trip. */
Test(gpu, short_rows_are_loaded_at_once)
{
    static const struct {
        const char *word;
        int device;
        int32_t length, vector, wide;
    } table[] = {
        { "sum:f32:1048576x8:axes=1", 0, 8, 4, 1 },
        { "sum:f32:1048576x7:axes=1", 0, 7, 1, 1 },
        { "max:f32:1048576x128:axes=1", 0, 128, 4, 1 },
        { "max:f32:1048576x132:axes=1", 0, 0, 4, 1 },
        { "sum:f32:1048576x8:axes=1", 1, 8, 8, 1 },
        { "sum:f32:1048576x7:axes=1", 1, 7, 4, 0 },
        { "sum:f32:1048576x32:axes=1,in=32x1", 1, 32, 32, 1 },
        { "sum:f32:131072x128:axes=1", 1, 0, 16, 1 },
        { "sum:f32:4096x4095:axes=1", 1, 0, 32, 0 },
        { "sum:f32:8:axes=0", 1, 0, 8, 1 },
        { "sum:f32:8x1048576:axes=0", 1, 0, 32, 1 },
        { "sum:f32:1000x4x8:axes=0+2", 1, 0, 8, 1 },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tally_error error = TALLY_ERROR_INIT;
        tly_gpu_plan plan;
        cr_assert_eq(plan_of(table[i].word, table[i].device, "", &plan, &error), TALLY_OK, "%s: %s",
                     table[i].word, error.message);
        cr_expect_eq(plan.length, table[i].length, "%s: %d", table[i].word, (int)plan.length);
        cr_expect_eq(plan.vector, table[i].vector, "%s: %d", table[i].word, (int)plan.vector);
        cr_expect_eq(plan.wide, table[i].wide, "%s: %d", table[i].word, (int)plan.wide);
    }
}

Test(gpu, bad_overrides_are_refused)
{
    static const struct {
        const char *word, *plan, *message;
    } table[] = {
        { "cumsum:f32:4096x4096:axis=1", "team", "is no key=value" },
        { "cumsum:f32:4096x4096:axis=1", "speed=9", "is no key of a plan" },
        { "cumsum:f32:4096x4096:axis=1", "team=x", "has no whole number" },
        { "cumsum:f32:4096x4096:axis=1", "team=48", "is not read" },
        { "cumsum:f32:4096x4096:axis=1", "team=2048", "is out of the key's range" },
        { "cumsum:f32:4096x4096:axis=1", "template=rows", "names no template" },
        { "cumsum:f32:4096x4096:axis=1", "template=subgroups,team=64", "or the workgroup" },
        { "cumsum:f32:4096x4096:axis=1", "scan=2", "for integers" },
        { "cumsum:i64:4096x4096:axis=1", "scan=2", "for integers" },
        { "cumprod:u64:1000:axis=0", "template=subgroups,scan=2", "for integers" },
        { "cumsum:u64:3000000:axis=0", "template=look_back,scan=2", "for integers" },
        { "cumsum:f32:4096x4096:axis=1", "vector=64", "out of the key's range" },
        { "cumsum:f32:4096x4096:axis=1", "segments=16", "up to 32 elements" },
        { "cumsum:f32:4096x4096:axis=1", "index_bits=64", "for addresses" },
        { "cumsum:f32:4096x4096:axis=1", "template=look_back,scan=0", "range: 1 to 2" },
        { "cumsum:f32:4096x4096:axis=1", "template=workgroups,team=32", "is not read" },
        { "cumsum:f32:4096x64:axis=0", "template=look_back_lanes,vector=2", "is not read" },
        { "cumsum:f32:4096x64:axis=0", "template=look_back_lanes,chunk=64", "is not read" },
        { "cumsum:f32:4096x64:axis=0", "template=look_back_lanes,team=200", "key's range" },
        { "cumsum:f32:4096x64:axis=0", "template=look_back_lanes,team=64,workgroup=32",
          "more lanes than the workgroup" },
        { "cumprod:f64:4096x8:axis=0", "template=look_back_lanes,workgroup=1024", "more memory" },
        { "cumprod:f32:40960:axis=0", "template=look_back,workgroup=1024,segments=8,park=1",
          "more memory" },
        { "cumprod:f32:4096x32:axis=0",
          "template=look_back_lanes,workgroup=1024,segments=16,park=1", "more memory" },
        { "cumprod:f32:40960:axis=0", "template=workgroups,park=1", "is not read" },
        { "cumsum:f32:4096x64:axis=0,order=serial", "template=look_back_lanes", "serial order" },
        { "cumsum:f32:4096x4096:axis=0", "scan=1", "is not read by the template columns" },
        { "cumsum:f32:4096x8:axis=1", "workgroup=8", "out of the key's range: 16 to 1024" },
        { "cumsum:f32:4096x8:axis=1", "workgroup=1024,segments=32", "asks for more memory" },
        { "cumsum:f32:4096x8:axis=0", "template=turned", "are neighbours" },
        { "cumsum:f32:4096x300:axis=1", "template=staged,team=16,vector=25", "fill one tile" },
        { "cumsum:f32:4096x300:axis=1", "template=staged,team=16,vector=17", "fill one tile" },
        { "cumsum:f32:4096x300:axis=1", "template=staged,vector=33", "key's range: 1 to 32" },
        { "cumsum:f32:4096x300:axis=1", "template=staged,segments=2", "is not read" },
        { "cumsum:f32:4096x900:axis=1", "template=staged,team=64,workgroup=128",
          "or the workgroup" },
        { "cumsum:f64:4096x257:axis=1", "template=staged,workgroup=1024", "asks for more memory" },
        { "cumsum:f32:4096x7:axis=0", "template=staged", "rows of one scan" },
        { "cumsum:f32:4096x300:axis=1,order=serial", "template=staged", "serial order" },
        { "cumsum:f32:4096x4096:axis=1", "segments=2,segments=2", "comes twice" },
        { "cumsum:f32:4096x4096:axis=1", "template=columns,template=columns", "comes twice" },
        { "cumsum:f32:4096x4096:axis=1", "workgroup=0", "out of the key's range: 4 to 1024" },
        { "cumsum:f32:4096x4096:axis=1", "chunk=99999999999", "out of the key's range" },
        { "cumsum:f32:4096x524290:axis=0", "vector=4", "do not lie together" },
        { "cumsum:f32:1073741823:axis=0", "addresses=0", "larger than a storage buffer" },
        { "cumsum:f32:1073741823:axis=0", "index_bits=32", "do not reach" },
        { "cumsum:f32:1000000x7:axis=0", "template=subgroups,team=4", "within a subgroup" },
        { "cumsum:f32:4096x4096:axis=1,order=serial", "template=columns,chunk=4096",
          "serial order" },
        { "cumsum:f32:4096x4096:axis=0", "template=workgroups,scan=1", "teams scan rows" },
        { "sum:f32:4096x4096:axes=1", "vector=8,segments=8", "up to 32 elements" },
        { "sum:f32:4096x4096:axes=1", "length=64", "not taken at once" },
        { "sum:f32:1048576x8:axes=1", "length=4", "not taken at once" },
        { "sum:f32:4096x4095:axes=1", "vector=4", "do not lie together" },
        { "sum:f32:4096x4096:axes=1,in=1x4096", "template=reduce_lanes,vector=64", "key's range" },
        { "sum:f32:4096x4096:axes=0", "vector=16,workgroup=8", "more outputs at once" },
        { "sum:f32:4096x4096:axes=1", "vector=16,segments=1,chunk=8", "whole vectors" },
        { "max:u32:32769:axes=0", "template=read,workgroup=32,vector=4", "whole chunks" },
        { "max:f32:32768:axes=0", "template=read", "rows of u32" },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tally_error error = TALLY_ERROR_INIT;
        tly_gpu_plan plan;
        cr_assert_eq(plan_of(table[i].word, 0, table[i].plan, &plan, &error), TALLY_INVALID, "%s",
                     table[i].plan);
        cr_expect_str_eq(error.field, "plan");
        cr_expect_not_null(strstr(error.message, table[i].message), "%s: %s", table[i].plan,
                           error.message);
    }
}

/* A reduction that the device can do is not lacking because of what was asked for: that is the
 * plan's fault. What it cannot do stays so, whatever is asked for. */
Test(gpu, overrides_leave_reductions_possible)
{
    static const struct {
        const char *word, *plan, *field;
        tally_status status;
    } table[] = {
        { "sum:f32:33x1000003:axes=1", "", NULL, TALLY_OK },
        { "sum:f32:33x1000003:axes=1", "chunk=0", "plan", TALLY_INVALID },
        { "sum:f32:33x1000003:axes=1", "chunk=1", "plan", TALLY_INVALID },
        { "sum:f32:33x1000003:axes=1", "chunk=7", "plan", TALLY_INVALID },
        { "sum:f32:33x1000003:axes=1", "template=reduce_lanes,chunk=4", "plan", TALLY_INVALID },
        { "sum:f32:100003x40:axes=0", "chunk=0", "plan", TALLY_INVALID },
        { "sum:f32:100003x40:axes=0", "chunk=256", NULL, TALLY_OK },
        { "sum:f32:4294967296x0", "", NULL, TALLY_OK }, /* no element is too many */
        { "sum:f32:0x4294967296:order=serial", "", NULL, TALLY_OK },
        { "sum:f32:100003:axes=0,order=serial", "", "sizes", TALLY_UNSUPPORTED },
        { "sum:f32:100003:axes=0,order=serial", "workgroup=32", "sizes", TALLY_UNSUPPORTED },
        { "sum:f32:100003:axes=0,order=serial", "chunk=256", "plan", TALLY_INVALID },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        tally_error error = TALLY_ERROR_INIT;
        tly_gpu_plan plan;
        cr_expect_eq(plan_of(table[i].word, 1, table[i].plan, &plan, &error), table[i].status,
                     "%s, %s: %s", table[i].word, table[i].plan, error.message);
        cr_expect(table[i].field == NULL || !strcmp(error.field, table[i].field), "%s, %s: %s",
                  table[i].word, table[i].plan, error.field);
    }
}

/* Of no elements any template that is one for the problem has a plan. */
Test(gpu, plans_of_nothing)
{
    static const char *const words[] = { "cumsum:f32:0:axis=0", "cumprod:f64:0x4:axis=1",
                                         "cummax:i8:3x0x5:axis=1", "sum:f32:0x3:axes=1",
                                         "max:i32:3x0:axes=1" };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (int id = 0; id < TLY_GPU_TEMPLATE_COUNT; id++) {
            const tly_gpu_plan named = { .template_id = id };
            char overrides[64];
            tally_error error = TALLY_ERROR_INIT;
            tly_gpu_plan plan;
            snprintf(overrides, sizeof overrides, "template=%s", tly_gpu_template_name(&named));
            const tally_status s = plan_of(words[i], 0, overrides, &plan, &error);
            cr_expect(s == TALLY_OK || s == TALLY_INVALID, "%s by %s: %s", words[i], overrides,
                      error.message);
        }
}

/* Devices of which one fact is at an end of its range: whatever they cannot do, a plan is never a
 * fault of ours. */
Test(gpu, facts_at_the_ends_of_their_ranges)
{
    static const char *const words[] = {
        "cumsum:bf16:16x7x65536:axis=2,reverse",
        "cumsum:f32:16777216:axis=0",
        "cumprod:f32:8x4194304:axis=1",
        "cumsum:f32:65536x40:axis=0",
        "cumsum:i32:4194304x6:axis=0",
        "cummax:u8:3x5x64x2:axis=1,in=1x6x30x3",
        "cumsum:f64:1000x999:axis=1",
        "cumlogsumexp:f16:300x300:axis=1,in=1x300",
        "cumprod:f32:4096x20:axis=1",
        "sum:f32:64x262144:axes=1",
        "argmax:f32>i32:1048576x40:axes=0",
        "log_sum_exp:f32:3x5x70000:axes=0+2",
    };
    for (size_t device = 0; device < DEVICES; device++)
        for (size_t k = 0; k < 2 * TLY_CAPS; k++) {
            const tly_cap *cap = &tly_cap_rows[k / 2];
            tly_caps caps = devices[device];
            tly_cap_set(&caps, cap, k % 2 ? cap->most : cap->least);
            for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                tally_error error = TALLY_ERROR_INIT;
                tly_gpu_plan plan;
                const tally_status s = plan_for(words[i], &caps, "", &plan, &error);
                cr_expect(s == TALLY_OK || s == TALLY_UNSUPPORTED, "%s, device %zu, %s = %u: %s",
                          words[i], device, cap->name, tly_cap_get(&caps, cap), error.message);
            }
        }
}

/* Subgroups that are smaller than the interleaved scans of a row. */
Test(gpu, more_scans_than_a_subgroup_has)
{
    static const char *const plans[] = { "", "template=workgroups", "template=subgroups",
                                         "template=workgroups,workgroup=64" };
    tly_caps caps = devices[0];
    for (caps.subgroup = 1; caps.subgroup <= 16; caps.subgroup *= 2)
        for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
            tally_error error = TALLY_ERROR_INIT;
            tly_gpu_plan plan;
            const tally_status s = plan_for("cummax:bool:14x96x12:axis=1", &caps, plans[i], &plan,
                                            &error);
            cr_expect(s == TALLY_OK || (s == TALLY_INVALID && *plans[i]), "%u, %s: %s",
                      caps.subgroup, plans[i], error.message);
        }
}

/* Shuffles ask for a subgroup whose size is known, and for its basic operations. */
Test(gpu, shuffles_need_a_subgroup)
{
    static const char *const plans[] = { "scan=1", "scan=2", "template=subgroups,scan=1",
                                         "template=look_back,scan=2" };
    tly_caps unknown = devices[0], not_basic = devices[0];
    unknown.subgroup = 0; /* MoltenVK: it may vary */
    not_basic.subgroup_ops &= ~(uint32_t)TLY_SUBGROUP_BASIC;
    for (size_t i = 0; i < 2 * sizeof plans / sizeof *plans; i++) {
        const tly_caps *caps = i % 2 ? &not_basic : &unknown;
        const char *text = plans[i / 2];
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        tally_error error = TALLY_ERROR_INIT;
        tly_problem p;
        tly_geometry g;
        tly_gpu_plan plan;
        cr_assert_eq(tally_descriptor_parse("cumsum:i32:4096x4096:axis=1", &d, NULL), TALLY_OK);
        tly_canonicalise(&d, 1, &p, &g);
        cr_expect_eq(tly_gpu_plan_make(&p, &g, caps, text, &plan, &error), TALLY_INVALID, "%s",
                     text);
        cr_expect_not_null(strstr(error.message, "lacks shuffles"), "%s", error.message);
        cr_expect_eq(tly_gpu_plan_make(&p, &g, caps, "", &plan, &error), TALLY_OK);
        cr_expect_eq(plan.scan, 0);
    }
}

/* ---- what a failed range guard costs ---- */

/* The least step of a loop right around a load from the device's memory; a loop of another kind has
 * none, and counts as 0. */
static int64_t least_step(const kir_kernel *k)
{
    int64_t least = INT64_MAX;
    const kir_inst *open[64];
    int depth = 0;
    for (uint32_t at = 0; at < k->inst_count; at++) {
        const kir_inst *inst = &k->insts[at];
        const kir_inst *around = NULL;
        if (inst->op == KIR_FOR || inst->op == KIR_IF)
            open[depth++] = inst;
        if (inst->op == KIR_END)
            depth--;
        if (inst->op != KIR_LOAD || k->types[k->operands[inst->operand_first]].kind != KIR_PTR)
            continue;
        for (int up = depth; up > 0 && around == NULL; up--)
            around = open[up - 1]->op == KIR_FOR ? open[up - 1] : NULL;
        if (around == NULL)
            continue;
        const uint32_t value = k->operands[around->operand_first + 2];
        int64_t step = 0;
        for (uint32_t i = 0; i < k->inst_count && step == 0; i++)
            if (k->insts[i].op == KIR_CONST && k->insts[i].result_first == value)
                step = k->insts[i].imm;
        least = step < least ? step : least;
    }
    return least;
}

static int64_t least_step_of(const char *word, int device, const char *choices)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tly_problem p;
    tly_geometry g;
    tly_gpu_plan plan;
    tly_gpu_launch launch;
    kir_kernel *kernels[TLY_GPU_PASSES];
    tally_error error = TALLY_ERROR_INIT;
    int64_t least = INT64_MAX;
    cr_assert_eq(tally_descriptor_parse(word, &d, NULL), TALLY_OK, "%s", word);
    tly_canonicalise(&d, 1, &p, &g);
    cr_assert_eq(tly_gpu_plan_make(&p, &g, &devices[device], choices, &plan, &error), TALLY_OK,
                 "%s %s: %s", word, choices, error.message);
    cr_assert_eq(tly_gpu_template_build(&p, &devices[device], &plan, kernels, &launch, &error),
                 TALLY_OK, "%s %s: %s", word, choices, error.message);
    for (int pass = 0; pass < TLY_GPU_PASSES; pass++) {
        int apart = p.interleave > 1 && launch.passes == 3 && pass == TLY_GPU_PASS_CARRIES;
        int64_t step = kernels[pass] && !apart ? least_step(kernels[pass]) : INT64_MAX;
        least = step < least ? step : least;
        kir_free(kernels[pass]);
    }
    return least;
}

/* No invocation can go along a tile, whatever the data: no kernel with teams has a loop that
 * reads memory and steps by less than a tile, or a workgroup's records, at least 8; the plain
 * loop over a scan would step by 1, 3 or 7 here. Of columns that is the way, and of interleaved
 * rows from chunk to chunk. */
Test(gpu, nobody_goes_along_a_tile)
{
    static const struct {
        const char *shape, *plan;
        int device;
    } table[] = {
        { "65536x4096:axis=1", "", 0 },
        { "65536x64:axis=1", "", 0 },
        { "65536x1024x3:axis=1", "", 0 },
        { "4194304x7:axis=0", "", 0 },
        { "4194304x7:axis=0", "template=subgroups", 0 },
        { "1048576x64:axis=0", "template=look_back_lanes", 0 },
        { "268435456:axis=0", "", 0 },
        { "268435456:axis=0", "template=workgroups", 0 },
        { "268435456:axis=0", "template=workgroups,chunk=65536", 0 },
        { "63x4096:axis=1", "", 1 },
        { "63x4096:axis=1", "template=workgroups,workgroup=64", 1 },
        { "8x10240x3:axis=1", "chunk=3000", 1 },
        { "1048576:axis=0", "", 2 },
        { "1048576:axis=0", "template=look_back", 2 },
        { "16777216:axis=0", "", 3 },
        { "16384x7:axis=0", "template=workgroups,vector=1", 3 },
    };
    static const char *const subjects[] = { "cumprod:f32", "cumsum:f32",  "cumprod:f64",
                                            "cumsum:f64",  "cumprod:f16", "cumprod:bf16" };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++) {
            char word[100];
            const tly_caps *caps = &devices[table[i].device];
            if ((strstr(subjects[k], "64") && !caps->float64) ||
                (strstr(subjects[k], "16") && !caps->storage16))
                continue;
            snprintf(word, sizeof word, "%s:%s", subjects[k], table[i].shape);
            int64_t least = least_step_of(word, table[i].device, table[i].plan);
            cr_expect_geq(least, 8, "%s, device %d, '%s': a loop reads every %d", word,
                          table[i].device, table[i].plan, (int)least);
        }
    cr_expect_lt(least_step_of("cumprod:f32:1048576x64:axis=0", 0, "template=columns"),
                 8); /* finds them */
}

static const char *const overrides[] = {
    "",
    "scan=0",
    "addresses=1",
    "addresses=1,index_bits=64",
    "template=workgroups,workgroup=64,chunk=4096",
    "template=look_back,workgroup=64,segments=2",
    "template=look_back_lanes,segments=2",
    "template=look_back_lanes,team=3,workgroup=32,addresses=1",
    "template=look_back_lanes,park=1",
    "template=look_back,workgroup=64,segments=4,park=1",
    "template=subgroups,addresses=1,index_bits=64,chunk=1000",
    "template=turned,workgroup=32",
    "template=staged,addresses=1",
};
enum { OVERRIDES = sizeof overrides / sizeof *overrides };

typedef struct text {
    char bytes[512];
    size_t length;
} text;

static int append(void *user, const char *bytes, size_t count)
{
    text *t = user;
    if (t->length + count >= sizeof t->bytes)
        return 1;
    memcpy(t->bytes + t->length, bytes, count);
    t->bytes[t->length += count] = '\0';
    return 0;
}

/* What is printed, given back, makes the same plan and prints the same. What is chosen without any
 * override holds to the limits. */
static void check_print(const tly_problem *p, const tly_geometry *g, const tly_caps *caps,
                        const char *overrides)
{
    tly_gpu_plan plan, again;
    tally_error error = TALLY_ERROR_INIT;
    text one = { .length = 0 }, two = { .length = 0 };
    tally_status s = tly_gpu_plan_make(p, g, caps, overrides, &plan, &error);
    if (s != TALLY_OK) {
        cr_assert(s == TALLY_UNSUPPORTED || (s == TALLY_INVALID && *overrides), "%s: %s", overrides,
                  error.message);
        return;
    }
    cr_assert_eq(tly_gpu_plan_print(&plan, append, &one), TALLY_OK);
    cr_assert_eq(tly_gpu_plan_make(p, g, caps, one.bytes, &again, &error), TALLY_OK, "%s%s",
                 one.bytes, error.message);
    cr_assert_eq(tly_gpu_plan_print(&again, append, &two), TALLY_OK);
    cr_assert_str_eq(one.bytes, two.bytes);
    cr_assert_eq(memcmp(&plan, &again, sizeof plan), 0, "%s", one.bytes);
    cr_assert(tly_gpu_plan_stands(p, g, caps, &plan), "%s", one.bytes);
}

Test(gpu, a_printed_plan_makes_itself)
{
    static const char *const plans[] = { "",
                                         "scan=0",
                                         "chunk=1000",
                                         "template=columns,chunk=333",
                                         "template=look_back,workgroup=64",
                                         "template=look_back_lanes,team=9",
                                         "template=copy" };
    for (int i = 0; i < 400; i++) {
        tly_random r = tly_random_seed(8, (uint64_t)i);
        tally_descriptor d;
        tly_problem p;
        tly_geometry g;
        tly_random_descriptor(&r, i % 2 ? 3000000000 : 100000, &d);
        tly_canonicalise(&d, 1, &p, &g);
        for (int device = 0; device < DEVICES && !g.empty; device++)
            for (size_t k = 0; k < sizeof plans / sizeof *plans; k++)
                check_print(&p, &g, &devices[device], plans[k]);
    }
}

/* Makes one kernel; 1 if it was made, 0 if the device or the plan does not allow it. */
static int make(const tally_descriptor *d, int device, const char *plan_text)
{
    char word[TALLY_WORD_MAX];
    tly_problem p;
    tly_geometry g;
    tly_gpu_plan plan;
    tly_gpu_artifact first, second;
    tally_error error = TALLY_ERROR_INIT;
    tly_canonicalise(d, 1, &p, &g);
    if (g.empty)
        return 0;
    tally_status s = tly_gpu_plan_make(&p, &g, &devices[device], plan_text, &plan, &error);
    if (s != TALLY_OK) {
        cr_assert(s == TALLY_UNSUPPORTED || (s == TALLY_INVALID && *plan_text), "%s",
                  error.message);
        return 0;
    }
    tally_descriptor_print(d, word, sizeof word, NULL, NULL);
    s = tly_generate_gpu(&p, &devices[device], &plan, &first, &error);
    cr_assert_eq(s, TALLY_OK, "%s, device %d, plan %s: %s", word, device, plan_text, error.message);
    /* The same bytes again, by the facts alone that stored kernels are known by. */
    tly_caps code;
    tly_caps_of_code(&devices[device], &plan, &code);
    cr_assert_eq(tly_generate_gpu(&p, &code, &plan, &second, &error), TALLY_OK, "%s, device %d: %s",
                 word, device, error.message);
    cr_assert_eq(memcmp(&first.launch, &second.launch, sizeof first.launch), 0, "%s", word);
    cr_assert(tly_vk_launch_stands(&first.launch, &p, &plan), "%s", word);
    for (unsigned k = 0; k < first.launch.passes; k++) {
        cr_assert(tly_vk_module_stands(first.words[k], first.word_count[k]), "%s", word);
        cr_assert_eq(first.word_count[k], second.word_count[k]);
        cr_assert_eq(memcmp(first.words[k], second.words[k], 4 * first.word_count[k]), 0);
    }
    tly_release_gpu(&first);
    tly_release_gpu(&second);
    return 1;
}

/* Every word with expressions has a plan and valid modules on devices of all sorts. */
Test(gpu, words_with_expressions_become_modules)
{
    static const char *const words[] = {
        "cumprod:f32:4096x192:axis=1,exclusive,map=1-x,post=x*y",
        "cumsum:f32:2x16777216:axis=1,a=f32,map=x*a,post=y-a",
        "cumsum:f32:64x4096x3:axis=1,a=f32/0+2,map=x/a,post=sqrt(y)",
        "cumsum:f32:4096x50:axis=1,a=f32/0,b=f32/1,c=f32/none,d=f32,map=x*a+b,post=y*c+d",
        "cumsum:i32:5000x8:axis=0,a=i32/-9x0@44991,map=x*a,post=y-x",
        "cummax:f32:3x2x3x2x3x800:axis=3,a=f32/0+2+4,map=min(x,a)",
        "sum:f32:64x64x3x3x3:axes=1+3,a=f32/0+2,b=f32,map=exp(x)*b,post=y/a",
        "prod:f32:1048576:axes=0,a=f32,map=x*a",
        "log_sum_exp:f32:100x1000:axes=0,a=f32/0,map=x*a",
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        tally_descriptor d = TALLY_DESCRIPTOR_INIT;
        cr_assert_eq(tally_descriptor_parse(words[i], &d, NULL), TALLY_OK, "%s", words[i]);
        for (int device = 0; device < DEVICES; device++) /* of four bindings one is an operand's */
            cr_expect((!devices[device].addresses && d.operands[1].dtype != 0) ||
                          make(&d, device, ""),
                      "%s, device %d", words[i], device);
    }
}

Test(gpu, every_kernel_is_valid, .timeout = 240)
{
#ifdef __SANITIZE_ADDRESS__
    enum { CASES = 20 }; /* which take all templates */
#else
    enum { CASES = 60 };
#endif
    int made[DEVICES][OVERRIDES] = { { 0 } };
    for (int i = 0; i < CASES; i++) {
        tly_random r = tly_random_seed(7, (uint64_t)i);
        tally_descriptor d;
        tly_random_descriptor(&r, 100000, &d);
        for (int device = 0; device < DEVICES; device++)
            for (int k = 0; k < OVERRIDES; k++)
                made[device][k] += make(&d, device, overrides[k]);
    }
    for (int device = 0; device < DEVICES; device++)
        cr_assert_geq(made[device][0], CASES / 6, "device %d: %d", device, made[device][0]);
    for (int k = 0; k < OVERRIDES; k++)
        cr_assert_gt(made[0][k], 0, "%s", overrides[k]);
}
