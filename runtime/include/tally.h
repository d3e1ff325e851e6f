/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tally: kernels for scans and reductions, each generated for one descriptor. This header includes
 * all of the C interface except <tally/vulkan.h>, which needs Vulkan's own headers. <tally/tally.hpp>
 * is the same for C++17.
 *
 * No call prints unless TALLY_VERBOSE asks for it, and none ends the process by Tally's own code:
 * memory that is missing is TALLY_OUT_OF_MEMORY, with nothing written. A kernel is made by LLVM or
 * checked by SPIRV-Tools,
 * which end the process when an allocation of theirs fails. Where they are linked statically, as
 * is the default, what malloc refuses them comes from address space that was asked for before they
 * began: 32 MiB for LLVM, 16 MiB for SPIRV-Tools, for each creation that is under way, given back
 * when it returns. A creation that does not get it is TALLY_OUT_OF_MEMORY. Where LLVM is a shared
 * library there is only that question before it begins. tally_context_options.isolate has kernels
 * made in a process of their own, whose end is a status whatever it is. docs/memory.md says more.
 */
#ifndef TALLY_H
#define TALLY_H
#include <tally/cache.h>
#include <tally/descriptor.h>
#include <tally/kernel.h>
#include <tally/kir.h>
#include <tally/manifest.h>
#include <tally/status.h>
#include <tally/version.h>
#include <tally/word.h>
#endif
