/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR as text: what parses verifies, prints, and parses back to the same text; and what
 * verifies has native code, for a CPU level that the input chooses, or SPIR-V that validates, for a
 * device that has everything. LLVM ends the process where it cannot select: verifying must have
 * refused what leads there. And whatever verifies can be interpreted, in the memory that it is
 * given and for as many steps.
 */
#include "fuzz.h"

#include "../../codegen/shared/native.h"
#include "../../runtime/problem/gpu.h"
#ifdef TALLY_VULKAN
#include "../../codegen/spirv/spirv.h"
#include "../caps.h"
#endif

typedef struct page {
    char *text;
    size_t length, room;
} page;

static int add(void *user, const char *text, size_t bytes)
{
    page *p = user;
    if (p->room - p->length <= bytes) {
        p->room = 2 * p->room + bytes + 1;
        p->text = realloc(p->text, p->room);
        HOLDS(p->text != NULL);
    }
    memcpy(p->text + p->length, text, bytes);
    p->length += bytes;
    p->text[p->length] = 0;
    return 0;
}

#ifdef TALLY_FUZZ_LLVM
TALLY_API const tly_native *tally_llvm_native(void);

static void lower_native(const kir_kernel *kernel, size_t choice)
{
    static const char *const levels[] = { "x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64" };
    unsigned char *code = NULL;
    size_t bytes = 0;
    tally_error e = TALLY_ERROR_INIT;
    tally_status status = tally_llvm_native()->compile(kernel, tly_target_find(levels[choice % 4]),
                                                       &code, &bytes, &e);
    HOLDS(status == TALLY_OK ? bytes > 0 : e.message[0] != 0);
    free(code);
}
#endif

#ifdef TALLY_VULKAN
static void lower_spirv(const kir_kernel *kernel, size_t choice)
{
    const tly_caps everything = {
        TLY_ALL_SUBGROUPS,
        .int64 = (uint32_t)(choice >> 1 & 1),
        TLY_ALL_BUT_INT64,
    };
    const tly_spirv_options options = { .caps = &everything, .addresses = (uint32_t)(choice & 1) };
    uint32_t *words = NULL;
    size_t count = 0;
    tally_error e = TALLY_ERROR_INIT;
    tally_status status = tly_spirv_lower(kernel, &options, &words, &count, &e);
    HOLDS(status == TALLY_OK ? count > 5 : e.message[0] != 0);
    free(words);
}
#endif

/* ---- the interpreter ---- */

enum { REGIONS = 4, REGION_BYTES = 192, STEPS = 3000 };

/* Regions far apart, of other bytes than a power of two, with memory of exactly their size. */
static uint64_t place(int region)
{
    return (uint64_t)(region + 1) << 40;
}

static void check_end(const kir_kernel *kernel, const kir_limits *limits, tally_status status,
                      const tally_error *e)
{
    HOLDS(limits->steps <= STEPS);
    HOLDS(status == TALLY_OK || status == TALLY_OUT_OF_MEMORY ||
          (status == TALLY_INTERNAL && e->message[0] != 0 && limits->fault < kernel->inst_count));
}

static tally_status interpret_grid(const kir_kernel *kernel, size_t choice, kir_limits *limits,
                                   tally_error *e)
{
    tly_push push;
    memset(&push, 1, sizeof push);
    push.length = push.inner = push.rows = 5;
    push.chunks = 2;
    push.groups_x = 3;
    push.scratch = place(2);
    for (unsigned t = 0; t < TLY_FIRST_OPERAND; t++) {
        push.tensor[t].base = place(t);
    }
    const kir_grid grid = { .push = &push,
                            .groups_x = 3,
                            .groups_y = 1 + choice % 2,
                            .subgroup = 1u << choice % 6,
                            .limits = limits };
    return kir_interpret_grid(kernel, &grid, e);
}

static tally_status interpret_task(const kir_kernel *kernel, kir_limits *limits, tally_error *e)
{
    tly_args args;
    memset(&args, 0, sizeof args);
    args.length = 7;
    args.inner = 3;
    args.chunks = args.blocks = 1;
    for (unsigned t = 0; t < TLY_TENSOR_COUNT; t++) {
        args.tensor[t].base = (char *)(uintptr_t)place(t);
        args.tensor[t].axis = args.tensor[t].lane = 4;
    }
    const tly_task task = { .end = 2,
                            .scratch = (char *)(uintptr_t)place(2),
                            .carry_out = (char *)(uintptr_t)place(3) };
    int64_t result;
    return kir_interpret(kernel, &args, &task, limits, &result, e);
}

static void interpret(const kir_kernel *kernel, size_t choice)
{
    kir_region regions[REGIONS];
    kir_limits limits = { .regions = regions, .count = REGIONS, .steps = STEPS };
    tally_error e = TALLY_ERROR_INIT;
    for (int i = 0; i < REGIONS; i++) {
        regions[i] = (kir_region){ place(i), REGION_BYTES, calloc(1, REGION_BYTES), i > 0 };
        HOLDS(regions[i].memory != NULL);
    }
    const tally_status status = kernel->workgroup > 0 ? interpret_grid(kernel, choice, &limits, &e)
                                                      : interpret_task(kernel, &limits, &e);
    check_end(kernel, &limits, status, &e);
    for (int i = 0; i < REGION_BYTES; i++) {
        HOLDS(regions[0].memory[i] == 0);
    }
    for (int i = 0; i < REGIONS; i++) {
        free(regions[i].memory);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    kir_kernel *kernel = NULL, *again = NULL;
    page first = { 0 }, second = { 0 };
    tally_error e = TALLY_ERROR_INIT;
    tally_status status = kir_parse((const char *)data, bytes, &kernel, &e);
    if (status != TALLY_OK) {
        HOLDS(e.message[0] != 0);
        return 0;
    }
    HOLDS(kir_verify(kernel, &e) == TALLY_OK);
    HOLDS(kir_print(kernel, add, &first) == TALLY_OK);
    HOLDS(kir_parse(first.text, first.length, &again, &e) == TALLY_OK);
    HOLDS(kir_print(again, add, &second) == TALLY_OK);
    HOLDS(strcmp(first.text, second.text) == 0);
    interpret(kernel, bytes);
    if (kernel->workgroup == 0) {
#ifdef TALLY_FUZZ_LLVM
        lower_native(kernel, bytes);
#endif
    } else {
#ifdef TALLY_VULKAN
        lower_spirv(kernel, bytes);
#endif
    }
    kir_free(kernel);
    kir_free(again);
    free(first.text);
    free(second.text);
    return 0;
}
