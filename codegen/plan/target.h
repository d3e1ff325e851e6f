/* SPDX-License-Identifier: Apache-2.0 */
/* CPU levels as facts. Templates ask for facts, never for a level's name. */
#ifndef TLY_TARGET_H
#define TLY_TARGET_H

#include <stdint.h>

typedef struct tly_target {
    const char *level;       /* x86-64-v2, x86-64-v3, x86-64-v4, aarch64, riscv64 */
    const char *triple;      /* LLVM's */
    const char *cpu;         /* LLVM's */
    const char *features;    /* LLVM's, added to the CPU's */
    int32_t vector_bytes;    /* 16, 32, 64 */
    int32_t registers;       /* vector registers */
    int32_t has_f16;         /* converts f16 to and from f32 in hardware */
    int32_t has_mul64;       /* multiplies vectors of i64 */
    int32_t has_align2;      /* one instruction shifts across two whole vectors */
    int32_t slow_subnormals; /* some cores compute them by microcode */
    int32_t mask_bytes;  /* the narrowest element of masked loads and stores; 0: there are none */
    int32_t quiet_f16;   /* kernels that read flags narrow whole vectors to f16 and raise none */
    int32_t no_div64;    /* i64 has no division: a device's that are pairs of words */
    int32_t no_narrow;   /* integers of 8 and 16 bits are computed as i32s */
    int32_t has_permute; /* one instruction permutes the lanes of two whole vectors (KIR_PERMUTE) */
    int32_t has_mask_registers; /* vectors of i1 are bits, in registers of their own */
    int32_t hides; /* a driver compiles the code, and some fold literals that they should not */
} tly_target;

/* Whether so many lanes of f32 become f16 so. */
static inline int tly_target_narrows_quietly(const tly_target *t, unsigned lanes)
{
    return t->quiet_f16 && lanes * 4 == (unsigned)t->vector_bytes;
}

/* Whether vectors of elements of so many bytes can be loaded and stored in part. */
static inline int tly_target_masks(const tly_target *t, unsigned bytes)
{
    return t->mask_bytes > 0 && (unsigned)t->mask_bytes <= bytes;
}

/* NULL if there is no such level. */
const tly_target *tly_target_find(const char *level);

#endif
