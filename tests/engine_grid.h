/* SPDX-License-Identifier: Apache-2.0 */
/* An engine for devices that are not here: Vulkan kernels run by the interpreter (engine.h). */
#ifndef TLY_ENGINE_GRID_H
#define TLY_ENGINE_GRID_H

#include "../runtime/problem/caps.h"
#include "engine.h"

tly_engine *tly_engine_grid(const tly_caps *caps, tally_error *error);

#endif
