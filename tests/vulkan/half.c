/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's own conversions of f16: every f16 to f32; to f16 every one of them as f32, what lies
 * halfway between two neighbours and the f32 beside those, overflow, subnormals, NaN. As the
 * integer code of the interpreter has them, and kernels with them as those without. No CPU that
 * plays a device promises to keep f16's subnormals, so that lavapipe is taken at more than its
 * word here. With the argument "every": all 2^32 f32.
 */
#include "bed.h"

#include "../../codegen/kir/internal.h"
#include "../../codegen/spirv/spirv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- a generator of one conversion ---- */

enum { GROUP = 64 };

typedef struct conversion {
    const char *name, *text; /* from %21 to %25, i32 both */
    kir_op op;
    kir_type from, to;
} conversion;

static const conversion conversions[] = {
    { "widen",
      "  %22 : i16 = trunc %21\n  %23 : f16 = bitcast %22\n"
      "  %24 : f32 = fpext %23\n  %25 : i32 = bitcast %24\n",
      KIR_FPEXT,
      { KIR_F16, 1 },
      { KIR_F32, 1 } },
    { "narrow",
      "  %22 : f32 = bitcast %21\n  %23 : f16 = fptrunc %22\n"
      "  %24 : i16 = bitcast %23\n  %25 : i32 = zext %24\n",
      KIR_FPTRUNC,
      { KIR_F32, 1 },
      { KIR_F16, 1 } },
};

static tally_status plan_one(const tly_problem *problem, const tly_geometry *geometry,
                             const tly_caps *caps, const char *overrides, tly_gpu_plan *plan,
                             tally_error *error)
{
    (void)problem, (void)caps, (void)error;
    plan->workgroup = GROUP;
    plan->outer_rank = geometry->outer_rank;
    plan->vector = strcmp(overrides, conversions[1].name) == 0; /* which conversion */
    return TALLY_OK;
}

/* One item each, whatever the strides: elements lie side by side. */
static void print_kernel(const conversion *c, char *text, size_t capacity)
{
    snprintf(text, capacity,
             "kernel %s workgroup %d {\n"
             "  %%1 : i64 = const 0\n  %%2 : i32 = const %d\n  %%3 : i32 = const 4\n"
             "  %%4 : i32 = id group_x\n  %%5 : i32 = id group_y\n  %%6 : i32 = arg groups_x\n"
             "  %%7 : i32 = mul %%5, %%6\n  %%8 : i32 = add %%7, %%4\n"
             "  %%9 : i32 = mul %%8, %%2\n  %%10 : i32 = id local\n  %%11 : i32 = add %%9, %%10\n"
             "  %%12 : i32 = arg rows\n  %%13 : i32 = arg inner\n  %%14 : i32 = mul %%12, %%13\n"
             "  %%15 : i1 = cmp ult %%11, %%14\n  if %%15 {\n"
             "  %%16 : i32 = mul %%11, %%3\n  %%17 : ptr = arg in\n  %%18 : ptr = arg out\n"
             "  %%19 : ptr = ptradd %%17, %%16\n  %%20 : ptr = ptradd %%18, %%16\n"
             "  %%21 : i32 = load %%19, align 4\n%s  store %%20, %%25, align 4\n  }\n"
             "  return %%1\n}\n",
             c->name, GROUP, GROUP, c->text);
}

static tally_status generate_one(const tly_problem *problem, const tly_caps *caps,
                                 const tly_gpu_plan *plan, tly_gpu_artifact *artifact,
                                 tally_error *error)
{
    (void)problem;
    char text[2048];
    kir_kernel *kernel = NULL;
    const tly_spirv_options options = { .caps = caps };
    memset(artifact, 0, sizeof *artifact);
    artifact->launch = (tly_gpu_launch){
        .abi = TLY_GPU_ABI_VERSION,
        .form = TLY_GPU_LANES,
        .passes = 1,
        .lanes = 1,
        .carry_bytes = 4,
        .template_name = "half",
        .pass = { { .items = TLY_ITEMS_ROWS, .per_group = GROUP, .workgroup = GROUP } },
    };
    print_kernel(&conversions[plan->vector], text, sizeof text);
    tally_status status = kir_parse(text, strlen(text), &kernel, error);
    if (status == TALLY_OK) {
        artifact->launch.tensors = kir_tensors(kernel);
        status = tly_spirv_lower(kernel, &options, &artifact->words[0], &artifact->word_count[0],
                                 error);
    }
    kir_free(kernel);
    return status;
}

static void release_one(tly_gpu_artifact *artifact)
{
    free(artifact->words[0]);
}

static const tly_generator generator = {
    .abi = TLY_ABI_VERSION,
    .version = TLY_GENERATOR_VERSION,
    .plan_gpu = plan_one,
    .generate_gpu = generate_one,
    .release_gpu = release_one,
};

/* ---- every value ---- */

enum { BLOCK = 1 << 22 };
static uint32_t given[BLOCK], got[BLOCK];

static tally_dtype dtype_of(kir_type type)
{
    return type.kind == KIR_F16 ? TALLY_F16 : TALLY_F32;
}

static void convert(tally_vulkan *v, const conversion *c, uint32_t count)
{
    char word[64];
    tally_descriptor d;
    tally_vulkan_kernel *k = NULL;
    tally_error error = TALLY_ERROR_INIT;
    const tally_kernel_options options = { .size = sizeof options, .plan = c->name };
    snprintf(word, sizeof word, "cumsum:u32:1x%u:axis=0", count);
    memset(got, 0xa5, count * sizeof *got);
    tally_status status = tally_descriptor_parse(word, &d, &error);
    if (!status)
        status = tally_vulkan_kernel_create(v, &d, &options, &k, &error);
    if (!status)
        status = tally_vulkan_run(k, given, got, &error);
    tally_vulkan_kernel_destroy(&k);
    tly_expect(!status, "%s: %s: %s", c->name, error.field, error.message);
    uint32_t i = 0;
    uint64_t right = 0;
    for (; i < count && !status; i++) {
        kir_lanes_convert(c->op, c->to, &right, c->from, &given[i]);
        if (!tly_bits_same(dtype_of(c->to), got[i], right))
            break;
    }
    const uint32_t at = i < count ? i : 0;
    tly_expect(i == count, "%s of 0x%x: 0x%x, not 0x%llx", c->name, given[at], got[at],
               (unsigned long long)right);
}

static uint32_t single(uint32_t half)
{
    uint32_t bits = 0;
    kir_lanes_convert(KIR_FPEXT, conversions[0].to, &bits, conversions[0].from, &half);
    return bits;
}

/* With both signs. */
static uint32_t give(uint32_t count, uint32_t bits)
{
    given[count] = bits;
    given[count + 1] = bits ^ 0x80000000;
    return count + 2;
}

/* An f32 that is positive and finite, and those on either side. */
static uint32_t give_around(uint32_t count, uint32_t bits)
{
    count = give(count, bits);
    count = bits > 0 ? give(count, bits - 1) : count;
    return give(count, bits + 1);
}

static void convert_singles(tally_vulkan *v)
{
    uint32_t count = 0;
    tly_random r = tly_random_seed(1, 16);
    for (uint32_t half = 0; half < 0x7c00; half++) { /* at the last: 65520, halfway to infinity */
        float low, high = 0x1p16f, between;
        const uint32_t bits = single(half), next = single(half + 1);
        memcpy(&low, &bits, sizeof low);
        if (half + 1 < 0x7c00)
            memcpy(&high, &next, sizeof high);
        between = low + (high - low) / 2;
        uint32_t tie;
        memcpy(&tie, &between, sizeof tie);
        count = give_around(give_around(count, bits), tie);
    }
    for (uint32_t bit = 0; bit < 23; bit++) { /* subnormals, quiet and signalling NaN */
        count = give_around(count, UINT32_C(1) << bit);
        count = give(give(count, 0x7f800000 | 1u << bit), 0x7fc00000 | 1u << bit);
    }
    count = give(give(give(count, 0x7f800000), 0x7f7fffff), 0x7fffffff);
    for (uint32_t i = 0; i < 200000; i++)
        count = give(count, (uint32_t)tly_random_next(&r));
    convert(v, &conversions[1], count);
}

static void convert_every(tally_vulkan *v)
{
    for (uint32_t block = 0; block < 1u << 10; block++) {
        for (uint32_t i = 0; i < BLOCK; i++)
            given[i] = block * BLOCK + i;
        convert(v, &conversions[1], BLOCK);
    }
}

/* ---- whole kernels ---- */

static const struct {
    const char *word, *plan;
} kernels[] = {
    { "cumsum:f16:3x1000:axis=1", "template=subgroups" },
    { "cumsum:f16:3x1001:axis=1,reverse", "template=workgroups" },
    { "cumprod:f16:3x1000:axis=1,exclusive", "template=workgroups,chunk=0" },
    { "cumsum:f16:9x301:axis=1", "template=staged" },
    { "cumprod:f16:70x64:axis=0", "template=columns,vector=8,chunk=0" },
    { "cumsum:f16:70x33:axis=0", "template=columns" },
    { "cumsum:f16:2x5000:axis=1", "template=columns,chunk=512" },
    { "cumsum:f16>f32:9x301:axis=1", "" },
    { "cumsum:f16:9x300:axis=1,acc=f64", "" },
    { "cumlogsumexp:f16:9x300:axis=1", "" },
    { "cummax:f16:9x300:axis=1", "" },
    { "sum:f16:33x500:axes=1", "" },
    { "prod:f16:500x64:axes=0", "" },
    { "mean:f16:100000", "" },
    { "l2:f16:33x500:axes=1", "" },
    { "max:f16:33x500:axes=1", "" },
};

static const tly_data data[] = { TLY_DATA_SPECIAL, TLY_DATA_BITS, TLY_DATA_BENIGN };

static void compare(const tly_case *c, tally_vulkan_kernel *const by[2], const char *label)
{
    char *expected = tly_case_blank(c), *out = tly_case_blank(c);
    if (by[0] && by[1] && tly_case_run(c, by[0], expected) && tly_case_run(c, by[1], out))
        tly_case_same(c, out, expected, label);
    free(out);
    free(expected);
}

static void compare_kernels(tally_vulkan *integer, tally_vulkan *own)
{
    for (size_t i = 0; i < COUNT(kernels); i++) {
        tally_vulkan_kernel *by[2] = { NULL };
        for (size_t k = 0; k < COUNT(data); k++) {
            tly_case c;
            tly_case_make(&c, kernels[i].word, data[k], i);
            if (k == 0) {
                by[0] = tly_case_kernel(&c, integer, kernels[i].plan, 0);
                by[1] = tly_case_kernel(&c, own, kernels[i].plan, 0);
            }
            compare(&c, by, tly_data_name(data[k]));
            tly_case_end(&c);
        }
        tally_vulkan_kernel_destroy(&by[0]);
        tally_vulkan_kernel_destroy(&by[1]);
    }
}

/* A device that goes by its own conversions, whether or not it promises that they are exact. */
static tally_vulkan *open_own(tally_context *context)
{
    tally_vulkan *v = tly_bed_open(context, tly_bed_device());
    v->facts.caps.half_exact = 1;
    return v;
}

int main(int argc, char **argv)
{
    tally_context *alone = tly_bed_context(), *context = tly_bed_context();
    tly_context_set_generator(alone, &generator);
    tally_vulkan *v = open_own(alone), *own = open_own(context);
    tally_vulkan *integer = tly_bed_open(context, tly_bed_device());
    printf("half: %s: shaderFloat16 %u, half_exact %u\n", integer->facts.name,
           integer->facts.float16, integer->facts.caps.half_exact);
    integer->facts.caps.half_exact = 0;
    for (uint32_t half = 0; half <= 0xffff; half++)
        given[half] = half;
    if (tly_expect(v->facts.float16 != 0, "nothing was looked at: there is no shaderFloat16")) {
        convert(v, &conversions[0], 1 << 16);
        convert_singles(v);
        compare_kernels(integer, own);
        if (argc > 1 && !strcmp(argv[1], "every"))
            convert_every(v);
    }
    tally_vulkan_destroy(&integer);
    tally_vulkan_destroy(&own);
    tally_vulkan_destroy(&v);
    tally_context_destroy(&context);
    tally_context_destroy(&alone);
    return tly_bed_end("half", (int)(COUNT(conversions) + COUNT(kernels) * COUNT(data)));
}
