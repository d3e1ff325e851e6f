/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long making a kernel for Vulkan takes, step by step: kernel IR by the template, SPIR-V words
 * from it, the validator. All passes of a kernel together; the least of many rounds, in one
 * process.
 *
 *   emission PROFILE [WORD]...
 */
#include "../codegen/plan/gpu.h"
#include "../codegen/spirv/spirv.h"
#include "../runtime/problem/canonicalise.h"
#include "../runtime/vulkan/profile.h"
#include "../templates/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 100 };

static const char *const words[] = {
    "cumprod:f32:65536x4096:axis=1",   "cumsum:i32:65536x4096:axis=1",
    "cumprod:f16:65536x4096:axis=1",   "cumprod:f64:65536x4096:axis=1",
    "cumprod:f32:65536x64:axis=1",     "cumprod:f32:65536x257:axis=1",
    "cumprod:f32:65536x1024x3:axis=1", "cumprod:f32:268435456:axis=0",
    "cumsum:f32:64x4194304:axis=0",    "cumsum:f16:64x4194304:axis=0",
    "cumprod:f32:1048576x64:axis=0",
};

enum step { BUILD, EMIT, VALIDATE, STEPS };

typedef struct figures {
    double seconds[STEPS]; /* the least */
    size_t instructions, words;
    tly_gpu_launch launch;
} figures;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void note(figures *f, enum step step, double since)
{
    double took = now() - since;
    if (f->seconds[step] <= 0 || took < f->seconds[step])
        f->seconds[step] = took;
}

static tally_status emit(kir_kernel **kernels, const tly_caps *caps, figures *f, uint32_t **made,
                         size_t *counts, tally_error *error)
{
    const tly_spirv_options options = { .caps = caps, .addresses = f->launch.addresses };
    tally_status status = TALLY_OK;
    double start = now();
    for (uint32_t k = 0; k < f->launch.passes && status == TALLY_OK; k++)
        status = tly_spirv_emit(kernels[k], &options, &made[k], &counts[k], error);
    note(f, EMIT, start);
    return status;
}

static tally_status validate(figures *f, uint32_t **made, const size_t *counts, tally_error *error)
{
    tally_status status = TALLY_OK;
    double start = now();
    for (uint32_t k = 0; k < f->launch.passes && status == TALLY_OK; k++)
        status = tly_spirv_validate(made[k], counts[k], f->launch.addresses, "emission", error);
    note(f, VALIDATE, start);
    return status;
}

static tally_status once(const tly_problem *p, const tly_caps *caps, const tly_gpu_plan *plan,
                         figures *f, tally_error *error)
{
    kir_kernel *kernels[TLY_GPU_PASSES];
    uint32_t *made[TLY_GPU_PASSES] = { NULL };
    size_t counts[TLY_GPU_PASSES] = { 0 };
    double start = now();
    tally_status status = tly_gpu_template_build(p, caps, plan, kernels, &f->launch, error);
    if (status != TALLY_OK)
        return status;
    note(f, BUILD, start);
    status = emit(kernels, caps, f, made, counts, error);
    if (status == TALLY_OK)
        status = validate(f, made, counts, error);
    f->instructions = f->words = 0;
    for (uint32_t k = 0; k < f->launch.passes; k++) {
        f->instructions += kernels[k]->inst_count;
        f->words += counts[k];
        kir_free(kernels[k]);
        free(made[k]);
    }
    return status;
}

static tally_status measure(const char *word, const tly_caps *caps, tally_error *error)
{
    tally_descriptor d = TALLY_DESCRIPTOR_INIT;
    tly_problem p;
    tly_geometry g;
    tly_gpu_plan plan;
    figures f = { .words = 0 };
    tally_status status = tally_descriptor_parse(word, &d, error);
    if (status == TALLY_OK) {
        tly_canonicalise(&d, 1, &p, &g);
        status = tly_gpu_plan_make(&p, &g, caps, "", &plan, error);
    }
    for (int round = 0; round < ROUNDS && status == TALLY_OK; round++)
        status = once(&p, caps, &plan, &f, error);
    if (status == TALLY_OK)
        printf("| %s | %s, %u pass%s | %zu | %zu | %.0f | %.0f | %.0f |\n", word,
               f.launch.template_name, f.launch.passes, f.launch.passes == 1 ? "" : "es",
               f.instructions, f.words, 1e6 * f.seconds[BUILD], 1e6 * f.seconds[EMIT],
               1e6 * f.seconds[VALIDATE]);
    return status;
}

static tally_status read_profile(const char *path, tly_profile *profile, tally_error *error)
{
    char text[8192];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(4);
    }
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return tly_profile_parse(text, profile, error);
}

int main(int argc, char **argv)
{
    tly_profile profile;
    tally_error error = TALLY_ERROR_INIT;
    if (argc < 2) {
        fputs("usage: emission PROFILE [WORD]...\n", stderr);
        return 2;
    }
    tally_status status = read_profile(argv[1], &profile, &error);
    int count = argc > 2 ? argc - 2 : (int)(sizeof words / sizeof *words);
    if (status == TALLY_OK)
        puts("| kernel | template | instructions | words | build, us | emit, us | validate, us |\n"
             "|---|---|---|---|---|---|---|");
    for (int i = 0; i < count && status == TALLY_OK; i++)
        status = measure(argc > 2 ? argv[2 + i] : words[i], &profile.caps, &error);
    if (status == TALLY_OK)
        return 0;
    fprintf(stderr, "emission: %s: %s\n", error.field, error.message);
    return 1;
}
