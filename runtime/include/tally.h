/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tally generates kernels for scans and reductions, each specialised for one descriptor. This
 * header includes all of the C interface except <tally/vulkan.h>, which needs Vulkan's own headers.
 * <tally/tally.hpp> is the interface for C++17.
 *
 * No call prints, unless the environment variable TALLY_VERBOSE is set. Tally's own code never ends
 * the process. If an allocation of its own fails, the call returns TALLY_OUT_OF_MEMORY and has
 * written nothing.
 *
 * LLVM and SPIRV-Tools, which make and check kernels, do end the process when an allocation of
 * theirs fails. Tally guards against that while it creates a kernel:
 *
 * - If they are linked statically, which is the default, Tally reserves address space before they
 *   begin: 32 MiB for LLVM, 16 MiB for SPIRV-Tools. Each creation has a reserve of its own and
 *   gives it back when it returns. It serves the allocations that malloc refuses. If Tally cannot
 *   reserve it, the creation returns TALLY_OUT_OF_MEMORY.
 * - If LLVM is a shared library, Tally only tests before LLVM begins whether this space could be
 *   reserved.
 * - With tally_context_options.isolate a helper process makes the kernels. However that process
 *   ends, the creation returns a status.
 *
 * docs/memory.md describes all this in detail.
 */
#ifndef TALLY_H
#define TALLY_H
#include <tally/cache.h>
#include <tally/descriptor.h>
#include <tally/directml.h>
#include <tally/gradient.h>
#include <tally/kernel.h>
#include <tally/kir.h>
#include <tally/manifest.h>
#include <tally/status.h>
#include <tally/version.h>
#include <tally/word.h>
#endif
