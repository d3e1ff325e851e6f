/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU levels that code is made for, one row each. Full vectors everywhere: kernels are bound
 * by memory, so LLVM's wish for 256 bits on x86-64-v4 (a matter of clocks) is turned off. prefetchw
 * is a hint and no part of a level: every x86-64 processor takes it, older ones do nothing then.
 */
#include "target.h"

#include <stddef.h>
#include <string.h>

#define X86 "x86_64-unknown-linux-gnu"
#define ARM "aarch64-unknown-linux-gnu"
#define RISC_V "riscv64-unknown-linux-gnu"

static const tly_target targets[] = {
    { "x86-64-v2", X86, "x86-64-v2", "+prfchw", 16, 16, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0 },
    { "x86-64-v3", X86, "x86-64-v3", "+prfchw", 32, 16, 1, 0, 0, 1, 4, 0, 0, 0, 0, 0, 0 },
    { "x86-64-v4", X86, "x86-64-v4", "-prefer-256-bit,+prfchw", 64, 32, 1, 1, 1, 1, 1, 1, 0, 0, 1,
      1, 0 },
    { "aarch64", ARM, "generic", "+neon", 16, 32, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0 },
    /* rv64gc, and no CPU of LLVM's with less: lanes are scalars, 32 registers of 8 bytes. */
    { "riscv64", RISC_V, "sifive-u54", "", 16, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
};

const tly_target *tly_target_find(const char *level)
{
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (strcmp(level, targets[i].level) == 0) {
            return &targets[i];
        }
    }
    return NULL;
}
