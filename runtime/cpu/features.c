/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPU levels this machine runs, without a C library: libtally asks once (level.c), and so
 * does each object that is made ahead of time. The x86-64 levels are those of the psABI: a level
 * counts only if the processor has all its features and the operating system saves its registers.
 * Features are read from cpuid, since compilers' built-in level names differ by version.
 */
#include "features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

typedef struct level {
    const char *name;
    const char *machine;                    /* the architecture it belongs to */
    uint32_t leaf1_ecx, leaf7_ebx, ext_ecx; /* bits needed beyond the level before */
    uint32_t xcr0;                          /* register states the system must save */
} level;

#define BIT(n) (1u << (n))

static const level levels[TLY_LEVELS] = {
    /* SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF */
    { "x86-64-v2", "x86-64", BIT(0) | BIT(9) | BIT(13) | BIT(19) | BIT(20) | BIT(23), 0, BIT(0),
      0 },
    /* FMA, MOVBE, OSXSAVE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; xmm and ymm */
    { "x86-64-v3", "x86-64", BIT(12) | BIT(22) | BIT(27) | BIT(28) | BIT(29),
      BIT(3) | BIT(5) | BIT(8), BIT(5), 0x06 },
    /* AVX512 F, DQ, CD, BW, VL; opmask and zmm, too */
    { "x86-64-v4", "x86-64", 0, BIT(16) | BIT(17) | BIT(28) | BIT(30) | BIT(31), 0, 0xe6 },
    { "aarch64", "aarch64", 0, 0, 0, 0 },
    { "riscv64", "riscv64", 0, 0, 0, 0 },
};

const char *tly_level_name(int level)
{
    return levels[level].name;
}

const char *tly_level_machine(int level)
{
    return levels[level].machine;
}

#if defined(__x86_64__)

static void read_features(level *have)
{
    uint32_t a, b, c, d;
    if (__get_cpuid(1, &a, &b, &c, &d)) {
        have->leaf1_ecx = c;
    }
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        have->leaf7_ebx = b;
    }
    if (__get_cpuid(0x80000001u, &a, &b, &c, &d)) {
        have->ext_ecx = c;
    }
    if (have->leaf1_ecx & BIT(27)) { /* OSXSAVE: xgetbv exists */
        __asm__ volatile("xgetbv" : "=a"(have->xcr0), "=d"(d) : "c"(0));
    }
}

static int is_intel(void)
{
    uint32_t a, w[3]; /* "GenuineIntel" */
    return __get_cpuid(0, &a, &w[0], &w[1], &w[2]) && w[0] == 0x756e6547 && w[1] == 0x6c65746e &&
           w[2] == 0x49656e69;
}

#else

static void read_features(level *have)
{
    (void)have; /* the one level is the architecture's base */
}

static int is_intel(void)
{
    return 0;
}

#endif

/* strcmp, of which objects have none. */
static int is_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

uint32_t tly_features_find(void)
{
    level have = { 0 };
    uint32_t found = is_intel() ? TLY_FEATURE_INTEL : 0;
    read_features(&have);
    int below = 1;
    for (int i = 0; i < TLY_LEVELS; i++) {
        const level *l = &levels[i];
        if (!is_same(l->machine, TLY_MACHINE)) {
            continue;
        }
        below = below && (have.leaf1_ecx & l->leaf1_ecx) == l->leaf1_ecx &&
                (have.leaf7_ebx & l->leaf7_ebx) == l->leaf7_ebx &&
                (have.ext_ecx & l->ext_ecx) == l->ext_ecx && (have.xcr0 & l->xcr0) == l->xcr0;
        found |= below ? 1u << i : 0;
    }
    return found;
}
