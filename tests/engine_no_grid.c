/* SPDX-License-Identifier: Apache-2.0 */
/* In place of engine_grid.c where Tally is built without Vulkan. */
#include "engine_grid.h"

#include <stdio.h>

tly_engine *tly_engine_grid(const tly_caps *caps, tally_error *error)
{
    (void)caps;
    snprintf(error->message, sizeof error->message, "Tally was built without Vulkan");
    return NULL;
}
