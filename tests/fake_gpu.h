/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Vulkan generator without templates: one SPIR-V text, assembled when it is asked for. Cumulative
 * sums of f32, one invocation a (row, lane), buffer form, all of it driven by the push constants;
 * so that launch, memory and devices are tested alone. Plans: "cut=N" positions a dispatch,
 * "bad" a bad record, "fail" no kernel.
 */
#ifndef FAKE_GPU_H
#define FAKE_GPU_H

#include "../runtime/context/internal.h"
#include "../runtime/host/error.h"

#include <spirv-tools/libspirv.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_GROUP 64

static atomic_int fake_gpu_made;

static const char fake_gpu_head[] =
    "OpCapability Shader\n"
    "OpMemoryModel Logical GLSL450\n"
    "OpEntryPoint GLCompute %main \"main\" %wg %lid\n"
    "OpExecutionMode %main LocalSize 64 1 1\n"
    "OpDecorate %wg BuiltIn WorkgroupId\n"
    "OpDecorate %lid BuiltIn LocalInvocationIndex\n"
    "OpDecorate %words ArrayStride 4\nOpDecorate %push Block\nOpMemberDecorate %push 0 Offset 0\n"
    "OpDecorate %floats ArrayStride 4\nOpDecorate %buffer Block\n"
    "OpMemberDecorate %buffer 0 Offset 0\n"
    "OpDecorate %in DescriptorSet 0\nOpDecorate %in Binding 0\n"
    "OpDecorate %out DescriptorSet 0\nOpDecorate %out Binding 1\n"
    "OpDecorate %scratch DescriptorSet 0\nOpDecorate %scratch Binding 2\n"
    "OpDecorate %sum NoContraction\n"
    "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n"
    "%u = OpTypeInt 32 0\n%f = OpTypeFloat 32\n%u3 = OpTypeVector %u 3\n"
    "%pu3 = OpTypePointer Input %u3\n%pu1 = OpTypePointer Input %u\n"
    "%wg = OpVariable %pu3 Input\n%lid = OpVariable %pu1 Input\n"
    "%n32 = OpConstant %u 32\n%words = OpTypeArray %u %n32\n%push = OpTypeStruct %words\n"
    "%ppush = OpTypePointer PushConstant %push\n%pword = OpTypePointer PushConstant %u\n"
    "%args = OpVariable %ppush PushConstant\n"
    "%floats = OpTypeRuntimeArray %f\n%buffer = OpTypeStruct %floats\n"
    "%pbuffer = OpTypePointer StorageBuffer %buffer\n%pfloat = OpTypePointer StorageBuffer %f\n"
    "%in = OpVariable %pbuffer StorageBuffer\n%out = OpVariable %pbuffer StorageBuffer\n"
    "%scratch = OpVariable %pbuffer StorageBuffer\n"
    "%minus0 = OpConstant %f -0x0p+0\n%n64 = OpConstant %u 64\n";

static const char fake_gpu_body[] =
    "%wgv = OpLoad %u3 %wg\n%l = OpLoad %u %lid\n"
    "%wx = OpCompositeExtract %u %wgv 0\n%wy = OpCompositeExtract %u %wgv 1\n"
    "%g0 = OpIMul %u %wy %p_groups_x\n%g = OpIAdd %u %g0 %wx\n"
    "%i0 = OpIMul %u %g %n64\n%item = OpIAdd %u %i0 %l\n"
    "%row = OpUDiv %u %item %p_lanes\n%lane = OpUMod %u %item %p_lanes\n"
    "%there = OpULessThan %bool %row %p_rows\n"
    "OpSelectionMerge %end None\nOpBranchConditional %there %work %end\n"
    "%work = OpLabel\n"
    "%none = OpIEqual %bool %p_size1 %k0\n%s1 = OpSelect %u %none %k1 %p_size1\n"
    "%x0 = OpUDiv %u %row %s1\n%x1 = OpUMod %u %row %s1\n"
    "%a1 = OpIMul %u %x0 %p_in_outer0\n%a2 = OpIMul %u %x1 %p_in_outer1\n%a3 = OpIMul %u %lane "
    "%p_in_lane\n"
    "%a4 = OpIAdd %u %a1 %a2\n%a5 = OpIAdd %u %a3 %a4\n%a = OpIAdd %u %p_in %a5\n"
    "%b1 = OpIMul %u %x0 %p_out_outer0\n%b2 = OpIMul %u %x1 %p_out_outer1\n%b3 = OpIMul %u %lane "
    "%p_out_lane\n"
    "%b4 = OpIAdd %u %b1 %b2\n%b5 = OpIAdd %u %b3 %b4\n%b = OpIAdd %u %p_out %b5\n"
    "%c0 = OpIAdd %u %p_carries %p_scratch\n%c1 = OpUDiv %u %c0 %k4\n%c = OpIAdd %u %c1 %item\n"
    "%cp = OpAccessChain %pfloat %scratch %k0 %c\n"
    "%f2 = OpBitwiseAnd %u %p_flags %k2\n%cont = OpINotEqual %bool %f2 %k0\n"
    "OpSelectionMerge %ready None\nOpBranchConditional %cont %take %ready\n"
    "%take = OpLabel\n%cv = OpLoad %f %cp\nOpBranch %ready\n"
    "%ready = OpLabel\n%first = OpPhi %f %minus0 %work %cv %take\nOpBranch %head\n"
    "%head = OpLabel\n%i = OpPhi %u %k0 %ready %i2 %next\n"
    "%acc = OpPhi %f %first %ready %sum %next\n"
    "%ai = OpPhi %u %a %ready %ai2 %next\n%bi = OpPhi %u %b %ready %bi2 %next\n"
    "%more = OpULessThan %bool %i %p_length\n"
    "OpLoopMerge %done %next None\nOpBranchConditional %more %step %done\n"
    "%step = OpLabel\n%aw = OpUDiv %u %ai %k4\n%ap = OpAccessChain %pfloat %in %k0 %aw\n"
    "%x = OpLoad %f %ap\n%sum = OpFAdd %f %acc %x\n"
    "%bw = OpUDiv %u %bi %k4\n%bp = OpAccessChain %pfloat %out %k0 %bw\nOpStore %bp %sum\n"
    "OpBranch %next\n"
    "%next = OpLabel\n%i2 = OpIAdd %u %i %k1\n%ai2 = OpIAdd %u %ai %p_in_axis\n"
    "%bi2 = OpIAdd %u %bi %p_out_axis\nOpBranch %head\n"
    "%done = OpLabel\n%f4 = OpBitwiseAnd %u %p_flags %k4\n%keep = OpINotEqual %bool %f4 %k0\n"
    "OpSelectionMerge %stored None\nOpBranchConditional %keep %hand %stored\n"
    "%hand = OpLabel\nOpStore %cp %acc\nOpBranch %stored\n"
    "%stored = OpLabel\nOpBranch %end\n"
    "%end = OpLabel\nOpReturn\nOpFunctionEnd\n";

/* Push constants by name; of 64 bits the lower half. */
static const struct {
    const char *name;
    size_t offset;
} fake_gpu_words[] = {
    { "in", offsetof(tly_push, tensor[TLY_IN].base) },
    { "out", offsetof(tly_push, tensor[TLY_OUT].base) },
    { "scratch", offsetof(tly_push, scratch) },
    { "in_axis", offsetof(tly_push, tensor[TLY_IN].axis) },
    { "out_axis", offsetof(tly_push, tensor[TLY_OUT].axis) },
    { "in_lane", offsetof(tly_push, tensor[TLY_IN].lane) },
    { "out_lane", offsetof(tly_push, tensor[TLY_OUT].lane) },
    { "in_outer0", offsetof(tly_push, tensor[TLY_IN].outer[0]) },
    { "in_outer1", offsetof(tly_push, tensor[TLY_IN].outer[1]) },
    { "out_outer0", offsetof(tly_push, tensor[TLY_OUT].outer[0]) },
    { "out_outer1", offsetof(tly_push, tensor[TLY_OUT].outer[1]) },
    { "size1", offsetof(tly_push, outer_size[1]) },
    { "length", offsetof(tly_push, length) },
    { "lanes", offsetof(tly_push, inner) },
    { "rows", offsetof(tly_push, rows) },
    { "groups_x", offsetof(tly_push, groups_x) },
    { "flags", offsetof(tly_push, flags) },
    { "carries", offsetof(tly_push, carries) },
};

/* The whole text: constants %k0 to %k31, and %p_length and so on. */
static inline void fake_gpu_text(char *text, size_t capacity)
{
    size_t length = (size_t)snprintf(text, capacity, "%s", fake_gpu_head);
    for (int i = 0; i < 32; i++) {
        length += (size_t)snprintf(text + length, capacity - length, "%%k%d = OpConstant %%u %d\n",
                                   i, i);
    }
    length += (size_t)snprintf(text + length, capacity - length,
                               "%%main = OpFunction %%void None %%fn\n%%entry = OpLabel\n");
    for (size_t i = 0; i < sizeof fake_gpu_words / sizeof *fake_gpu_words; i++) {
        const char *name = fake_gpu_words[i].name;
        length += (size_t)snprintf(text + length, capacity - length,
                                   "%%q_%s = OpAccessChain %%pword %%args %%k0 %%k%zu\n"
                                   "%%p_%s = OpLoad %%u %%q_%s\n",
                                   name, fake_gpu_words[i].offset / 4, name, name);
    }
    snprintf(text + length, capacity - length, "%s", fake_gpu_body);
}

static tally_status fake_gpu_plan(const tly_problem *problem, const tly_geometry *geometry,
                                  const tly_caps *caps, const char *overrides, tly_gpu_plan *plan,
                                  tally_error *error)
{
    (void)caps;
    if (problem->tensor[TLY_IN].dtype != TALLY_F32 || problem->exclusive ||
        geometry->outer_rank > 2) {
        return tly_fail(error, TALLY_UNSUPPORTED, "dtype", "the fake sums f32 alone");
    }
    /* Fields that the fake has no other use for: the cut, and which fault to show. */
    plan->workgroup = FAKE_GROUP;
    plan->outer_rank = geometry->outer_rank;
    sscanf(overrides, "cut=%d", &plan->vectors_per_thread);
    plan->chunk = strcmp(overrides, "bad") == 0 ? 1 : strcmp(overrides, "fail") == 0 ? 2 : 0;
    return TALLY_OK;
}

static tally_status fake_gpu_generate(const tly_problem *problem, const tly_caps *caps,
                                      const tly_gpu_plan *plan, tly_gpu_artifact *artifact,
                                      tally_error *error)
{
    (void)problem;
    (void)caps;
    char text[16384];
    fake_gpu_made++;
    if (plan->chunk == 2) {
        return tly_fail(error, TALLY_INTERNAL, "device", "the fake fails");
    }
    fake_gpu_text(text, sizeof text);
    spv_context context = spvContextCreate(SPV_ENV_VULKAN_1_1);
    spv_binary binary = NULL;
    spv_diagnostic why = NULL;
    spv_result_t result = spvTextToBinary(context, text, strlen(text), &binary, &why);
    if (result == SPV_SUCCESS) {
        result = spvValidateBinary(context, binary->code, binary->wordCount, &why);
    }
    memset(artifact, 0, sizeof *artifact);
    if (result == SPV_SUCCESS) {
        artifact->words[0] = malloc(binary->wordCount * 4);
        memcpy(artifact->words[0], binary->code, binary->wordCount * 4);
        artifact->word_count[0] = binary->wordCount;
        artifact->launch = (tly_gpu_launch){
            .abi = plan->chunk == 1 ? 99 : TLY_GPU_ABI_VERSION,
            .form = TLY_GPU_LANES,
            .passes = 1,
            .positions = (uint32_t)plan->vectors_per_thread,
            .lanes = 1,
            .carry_bytes = 4,
            .template_name = "fake",
            .pass = { { .items = TLY_ITEMS_ROWS,
                        .per_group = FAKE_GROUP,
                        .workgroup = FAKE_GROUP } },
        };
    } else {
        tly_fail(error, TALLY_INTERNAL, "device", "%s", why != NULL ? why->error : "spirv");
    }
    spvDiagnosticDestroy(why);
    spvBinaryDestroy(binary);
    spvContextDestroy(context);
    return result == SPV_SUCCESS ? TALLY_OK : TALLY_INTERNAL;
}

static void fake_gpu_release(tly_gpu_artifact *artifact)
{
    for (int i = 0; i < TLY_GPU_PASSES; i++) {
        free(artifact->words[i]);
    }
}

static tally_status fake_gpu_show(const tly_problem *problem, const tly_caps *caps,
                                  const tly_gpu_plan *plan, tally_stage stage, tally_write write,
                                  void *user, tally_error *error)
{
    (void)problem;
    char text[64];
    snprintf(text, sizeof text, "stage %d, vendor %x, group %d", (int)stage, caps->vendor,
             plan->workgroup);
    return write(user, text, strlen(text)) == 0 ? TALLY_OK
                                                : tly_fail(error, TALLY_IO, "file", "no");
}

static const tly_generator fake_gpu_generator = {
    .abi = TLY_ABI_VERSION,
    .version = TLY_GENERATOR_VERSION,
    .plan_gpu = fake_gpu_plan,
    .generate_gpu = fake_gpu_generate,
    .release_gpu = fake_gpu_release,
    .show_gpu = fake_gpu_show,
};

#endif
