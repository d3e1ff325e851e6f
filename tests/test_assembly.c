/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What LLVM makes of the kernels, counted in the assembly, so that a machine without a level finds
 * its faults, too: results of every dtype leave past the cache by stores of whole vectors.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct level {
    const char *name, *store, *width; /* a line that has both is what is looked for */
} level;

static const level levels[] = {
    { "x86-64-v2", "movnt", "%xmm" },
    { "x86-64-v3", "vmovnt", "%ymm" },
    { "x86-64-v4", "vmovnt", "%zmm" },
};

static const char *const dtypes[] = { "f32", "f64", "f16", "bf16", "i32", "i64", "u32", "u64" };

static const char *const shapes[] = {
    "cumprod:%s:999x5000:axis=0", /* columns */
    "cumprod:%s:99x17:axis=0",    /* narrow, in registers */
    "cumprod:%s:9999x300:axis=0", /* narrow, in scratch */
    "cumsum:%s:99999:axis=0",     /* rows */
};

static FILE *open_assembly(const char *word, const char *level)
{
    char command[512];
    const char *tool = getenv("TALLY_TOOL");
    cr_assert(tool != NULL, "TALLY_TOOL is not set");
    snprintf(command, sizeof command, "'%s' inspect '%s' --emit asm --device cpu:%s", tool, word,
             level);
    FILE *out = popen(command, "r");
    cr_assert(out != NULL);
    return out;
}

/* Counts lines of the assembly that have `what`, and those of them that have `width`, too. */
static void count(const char *word, const char *level, const char *what, const char *width,
                  int *whole, int *all)
{
    char line[1024];
    FILE *out = open_assembly(word, level);
    *whole = *all = 0;
    while (fgets(line, sizeof line, out) != NULL) {
        if (strstr(line, what) != NULL && strstr(line, "nta") == NULL) {
            ++*all;
            *whole += strstr(line, width) != NULL;
        }
    }
    cr_assert_eq(pclose(out), 0, "%s at %s", word, level);
}

Test(assembly, streams_whole_vectors, .timeout = 120)
{
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
                char word[64];
                int whole, all;
                snprintf(word, sizeof word, shapes[s], dtypes[d]);
                count(word, levels[l].name, levels[l].store, levels[l].width, &whole, &all);
                cr_expect(whole > 0 && whole == all, "%s at %s: %d of %d are of whole vectors",
                          word, levels[l].name, whole, all);
            }
}

/* A hint that LLVM would turn into a plain prefetch where it does not know better. */
Test(assembly, prefetches_lines_of_output_for_writing)
{
    for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
        int whole, all;
        count("cumprod:f16:9999x300:axis=0", levels[l].name, "prefetchw", "", &whole, &all);
        cr_expect(all > 0, "%s", levels[l].name);
    }
}

/* Flags are saved and put back where they are looked at, as that waits for all arithmetic under
 * way: a call of few rows multiplies before, and is done. */
Test(assembly, few_rows_look_at_no_flags)
{
    static const char *const words[] = { "cumprod:f32:16:axis=0", "cumprod:bf16:16:axis=0" };
    for (size_t w = 0; w < sizeof words / sizeof *words; w++)
        for (size_t l = 0; l < sizeof levels / sizeof *levels; l++) {
            FILE *out = open_assembly(words[w], levels[l].name);
            char line[1024];
            int at = 0, product = 0, flags = 0;
            for (; fgets(line, sizeof line, out) != NULL; at++) {
                product = product == 0 && strstr(line, "mulps") != NULL ? at : product;
                flags = flags == 0 && strstr(line, "stmxcsr") != NULL ? at : flags;
            }
            cr_assert_eq(pclose(out), 0);
            cr_expect(0 < product && product < flags, "%s at %s: a product in line %d, flags in %d",
                      words[w], levels[l].name, product, flags);
        }
}

/* A shift across two whole vectors is one instruction, which needs no indices: four doublings
 * (of f64 three) for each vector of a step, in the loop, before it, and where totals are made
 * alone. */
Test(assembly, windows_shift_in_one_instruction)
{
    enum { LEAST = 32 }; /* 4 to 18 of LLVM's own accord */
    static const char *const floats[] = { "f32", "f64", "f16" };
    for (size_t d = 0; d < sizeof floats / sizeof *floats; d++) {
        char word[64];
        int whole, all;
        snprintf(word, sizeof word, "cumprod:%s:99999:axis=0", floats[d]);
        count(word, "x86-64-v4", "valign", "%zmm", &whole, &all);
        cr_expect(whole >= LEAST, "%s: %d", word, whole);
    }
}
