/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tly_spirv_validate and tly_spirv_show as libtally-codegen has them: libtally-spirv, opened at the
 * first use, does the work. A failure is not remembered, so that the next call tries again; what
 * was opened stays.
 */
#include <stdatomic.h>
#include <string.h>

#include "../../runtime/host/error.h"
#include "../../runtime/host/library.h"
#include "spirv.h"
#include "tools.h"

static _Atomic(const tly_spirv_tools *) opened;

static tally_status open_tools(const tly_spirv_tools **tools, tally_error *error)
{
    *tools = atomic_load_explicit(&opened, memory_order_acquire);
    if (*tools != NULL)
        return TALLY_OK;
    static const char *const beside[] = { "", NULL };
    void *symbol;
    tally_status status = tly_library_find("libtally-spirv.so", beside, TLY_SPIRV_TOOLS_SYMBOL,
                                           &symbol, error);
    if (status != TALLY_OK)
        return status;
    tly_spirv_tools_get get;
    memcpy(&get, &symbol, sizeof get);
    const tly_spirv_tools *found = get();
    if (found->version != TLY_GENERATOR_VERSION)
        return tly_fail(error, TALLY_NO_GENERATOR, "device",
                        "libtally-spirv is of generator version %u, not %u", found->version,
                        TLY_GENERATOR_VERSION);
    atomic_store_explicit(&opened, found, memory_order_release);
    *tools = found;
    return TALLY_OK;
}

tally_status tly_spirv_open(tally_error *error)
{
    const tly_spirv_tools *tools;
    return open_tools(&tools, error);
}

tally_status tly_spirv_validate(const uint32_t *words, size_t count, uint32_t addresses,
                                const char *name, tally_error *error)
{
    const tly_spirv_tools *tools;
    tally_status status = open_tools(&tools, error);
    return status == TALLY_OK ? tools->validate(words, count, addresses, name, error) : status;
}

tally_status tly_spirv_show(const uint32_t *words, size_t count, uint32_t addresses,
                            tally_write write, void *user, tally_error *error)
{
    const tly_spirv_tools *tools;
    tally_status status = open_tools(&tools, error);
    return status == TALLY_OK ? tools->show(words, count, addresses, write, user, error) : status;
}
