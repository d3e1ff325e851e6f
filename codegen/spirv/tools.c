/* SPDX-License-Identifier: Apache-2.0 */
/* libtally-spirv's only door. */
#include "tools.h"

#include "spirv.h"

TALLY_API const tly_spirv_tools *tally_spirv_tools(void);

const tly_spirv_tools *tally_spirv_tools(void)
{
    static const tly_spirv_tools tools = { TLY_GENERATOR_VERSION, tly_spirv_validate,
                                           tly_spirv_show };
    return &tools;
}
