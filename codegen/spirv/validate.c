/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What SPIRV-Tools do for us: validation, without which no module leaves the generator, and
 * disassembly. The only file that knows them, behind the door of tools.h.
 */
#include <string.h>

#include <spirv-tools/libspirv.h>

#include "../../runtime/host/error.h"
#include "../shared/reserve.h"
#include "spirv.h"

/* Bytes of address space asked for before SPIRV-Tools begin (reserve.h). With every allocation of
 * theirs from there, the largest modules of all profiles took 3.7 MB at most. */
#define ROOM ((size_t)16 << 20)

static spv_context new_context(uint32_t addresses)
{
    return spvContextCreate(addresses ? SPV_ENV_VULKAN_1_2 : SPV_ENV_VULKAN_1_1);
}

static tally_status validate(const uint32_t *words, size_t count, uint32_t addresses,
                             const char *name, tally_error *error)
{
    spv_context context = new_context(addresses);
    spv_diagnostic said = NULL;
    if (context == NULL) {
        return tly_out_of_memory(error, "the SPIR-V validator", 0);
    }
    tally_status status = TALLY_OK;
    if (spvValidateBinary(context, words, count, &said) != SPV_SUCCESS) {
        status = tly_fail(error, TALLY_INTERNAL, "spirv", "kernel %s: word %zu: %s", name,
                          said != NULL ? said->position.index : 0,
                          said != NULL ? said->error : "the validator gives no reason");
    }
    spvDiagnosticDestroy(said);
    spvContextDestroy(context);
    return status;
}

/* Who links this needs not open it. */
tally_status tly_spirv_open(tally_error *error)
{
    (void)error;
    return TALLY_OK;
}

tally_status tly_spirv_validate(const uint32_t *words, size_t count, uint32_t addresses,
                                const char *name, tally_error *error)
{
    tally_status status = tly_reserve_enter(ROOM, error);
    if (status == TALLY_OK) {
        status = validate(words, count, addresses, name, error);
        tly_reserve_leave();
    }
    return status;
}

static tally_status show(const uint32_t *words, size_t count, uint32_t addresses, tally_write write,
                         void *user, tally_error *error)
{
    spv_context context = new_context(addresses);
    spv_diagnostic said = NULL;
    spv_text text = NULL;
    const uint32_t options = SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES |
                             SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_NO_HEADER;
    if (context == NULL) {
        return tly_out_of_memory(error, "the SPIR-V disassembler", 0);
    }
    tally_status status = TALLY_OK;
    if (spvBinaryToText(context, words, count, options, &text, &said) != SPV_SUCCESS) {
        status = tly_fail(error, TALLY_INTERNAL, "spirv", "disassembly: %s",
                          said != NULL ? said->error : "no reason given");
    } else if (write(user, text->str, text->length) != 0) {
        status = tly_fail(error, TALLY_IO, "file", "the disassembly could not be written");
    }
    spvTextDestroy(text);
    spvDiagnosticDestroy(said);
    spvContextDestroy(context);
    return status;
}

tally_status tly_spirv_show(const uint32_t *words, size_t count, uint32_t addresses,
                            tally_write write, void *user, tally_error *error)
{
    tally_status status = tly_reserve_enter(ROOM, error);
    if (status == TALLY_OK) {
        status = show(words, count, addresses, write, user, error);
        tly_reserve_leave();
    }
    return status;
}
