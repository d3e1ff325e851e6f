/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR as text: what parses verifies, prints, and parses back to the same text; and what
 * verifies has native code, for a CPU level that the input chooses, or SPIR-V that validates, for a
 * device that has everything. LLVM ends the process where it cannot select: verifying must have
 * refused what leads there.
 */
#include "fuzz.h"

#include "../../codegen/native.h"
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
