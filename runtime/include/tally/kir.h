/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR from text: what tally_inspect shows as TALLY_STAGE_KIR, perhaps with changes, lowered and
 * run. For people who want to see what a change of a kernel does (docs/kir.md); programs have no
 * use for it.
 */
#ifndef TALLY_KIR_H
#define TALLY_KIR_H

#include <tally/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Reads and verifies the kernels in `text`, `bytes` long, and writes them as one stage: KIR, the text
 * once more; for a CPU LLVM or ASM; for Vulkan SPIRV or SPVASM. `options` name the device or the
 * profile as for tally_inspect, and may be NULL; their plan means nothing here. The text that
 * tally_inspect gave for a device becomes what tally_inspect shows for it.
 *
 * TALLY_INVALID where the text breaks a rule: error->position is the character of the text, from 1,
 * and the message is the rule. TALLY_UNSUPPORTED for a stage that the device's kernels do not have,
 * for a kernel of the other sort (with or without a workgroup), and for what the device lacks. All
 * else as tally_inspect, but that kernels are lowered in this process, whatever `isolate` says.
 * Thread-safe.
 */
TALLY_API tally_status tally_kir_inspect(tally_context *context, const char *text, size_t bytes,
                                         const tally_kernel_options *options, tally_stage stage,
                                         tally_write write, void *user, tally_error *error);

/**
 * Interprets the kernels in `text` in place of the descriptor's own: the problem, the plan and the
 * launch are those of the kernel that `options` (which may be NULL) would make, and a profile may be
 * named. On one thread, without a device, instruction after instruction. `in` and `out` are as in
 * tally_kernel_run, but that neither need be aligned, and that they may overlap: the kernel works on
 * copies, and the elements of the output are written at the end. `steps` is the most instructions of
 * single invocations that may be done, 0: 10^9.
 *
 * TALLY_INVALID, with error->position as above, where the text breaks a rule; where the launch has
 * another number of kernels, or other workgroups; and where a kernel does what it must not: accesses
 * outside of the tensors and its own scratch, stores to the input, misaligned accesses, divisions by
 * zero, shifts by too much, barriers and subgroups that do not come together, more than `steps`.
 * All else as tally_kernel_create. On failure nothing is written. Thread-safe.
 */
TALLY_API tally_status tally_kir_run(tally_context *context, const char *text, size_t bytes,
                                     const tally_descriptor *descriptor,
                                     const tally_kernel_options *options, const void *in, void *out,
                                     uint64_t steps, tally_error *error);

#ifdef __cplusplus
}
#endif
#endif
