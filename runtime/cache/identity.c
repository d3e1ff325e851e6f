/* SPDX-License-Identifier: Apache-2.0 */
/* The identity of this build; see identity.h. build_id.h is written by tools/build_id. */
#include "identity.h"

#include "../problem/abi.h"
#include "../problem/generator.h"
#include "../problem/gpu.h"

#include "build_id.h"

#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF(macro)

const char tly_identity[] = "tally " TEXT(TLY_GENERATOR_VERSION) "." TEXT(TLY_ABI_VERSION) "." TEXT(
    TLY_GPU_ABI_VERSION) " llvm " TLY_LLVM " build " TLY_BUILD_ID;
