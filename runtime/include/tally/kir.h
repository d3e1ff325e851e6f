/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel IR as input. The text that tally_inspect writes as TALLY_STAGE_KIR can be edited, compiled
 * further and run. It serves to study the effect of a change to a kernel (docs/kir.md). Other
 * programs do not need it.
 */
#ifndef TALLY_KIR_H
#define TALLY_KIR_H

#include <tally/kernel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Parses and verifies the kernels in `text`, which is `bytes` bytes long, and writes them as one
 * stage. The stage is KIR, which gives the text again; for a CPU LLVM or ASM; for Vulkan SPIRV or
 * SPVASM. `options` name the device or the profile as for tally_inspect, and may be NULL. Their
 * plan has no effect. If the text is what tally_inspect writes for a device, the result is what
 * tally_inspect writes for that device, too.
 *
 * Returns TALLY_INVALID if the text breaks a rule. Then error->position is the character of the
 * text, counted from 1, and the message is the rule. Returns TALLY_UNSUPPORTED
 *
 * - if the device's kernels do not have the stage;
 * - if the kernel is of the other kind: those for Vulkan have a workgroup, those for CPUs have
 *   none;
 * - if the device lacks something that the kernel needs.
 *
 * All else is as for tally_inspect. Only `isolate` has no effect: kernels are compiled in this
 * process. Thread-safe.
 */
TALLY_API tally_status tally_kir_inspect(tally_context *context, const char *text, size_t bytes,
                                         const tally_kernel_options *options, tally_stage stage,
                                         tally_write write, void *user, tally_error *error);

/**
 * Interprets the kernels in `text` in place of the kernel that the descriptor has, which takes an
 * input and an output alone. The problem, the plan and the launch are those of the kernel that
 * `options` would make; `options` may be NULL and may name a profile. The interpreter uses one
 * thread and no device, and executes one instruction after the other.
 *
 * `in` and `out` are as for tally_kernel_run, with two differences: they need not be aligned, and
 * they may overlap. The kernel works on copies, and the elements of the output are written at the
 * end. `steps` is the most instructions that all invocations together may execute; 0 means 10^9.
 *
 * Returns TALLY_INVALID
 *
 * - if the text breaks a rule, with error->position as for tally_kir_inspect;
 * - if the launch has another number of kernels than the text, or other workgroups;
 * - if a kernel accesses memory outside of the tensors and its own scratch, stores to a tensor
 *   that is only read, or makes a misaligned access;
 * - if a kernel divides by zero, or shifts by too many bits;
 * - if barriers or subgroup operations are not reached by all invocations that they need;
 * - if the kernels execute more than `steps` instructions.
 *
 * Other errors are those of tally_kernel_create. On failure nothing is written. Thread-safe.
 */
TALLY_API tally_status tally_kir_run(tally_context *context, const char *text, size_t bytes,
                                     const tally_descriptor *descriptor,
                                     const tally_kernel_options *options, const void *in, void *out,
                                     uint64_t steps, tally_error *error);

/**
 * Does what tally_kir_run does, for kernels with any number of tensors. `buffers` are as for
 * tally_kernel_run_buffers. They need not be aligned and may overlap; operands are copied, too.
 * Thread-safe.
 */
TALLY_API tally_status tally_kir_run_buffers(tally_context *context, const char *text, size_t bytes,
                                             const tally_descriptor *descriptor,
                                             const tally_kernel_options *options,
                                             const tally_buffers *buffers, uint64_t steps,
                                             tally_error *error);

#ifdef __cplusplus
}
#endif
#endif
