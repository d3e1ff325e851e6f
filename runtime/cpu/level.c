/*
 * Which CPU levels this machine runs. The x86-64 levels are those of the psABI: a level counts
 * only if the processor has all its features and the operating system saves its registers.
 * Features are read from cpuid, since compilers' built-in level names differ by version.
 */
#include "cpu.h"

#include <pthread.h>
#include <string.h>

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
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int runs[TLY_LEVELS];
static int host = TLY_LEVEL_NONE;
static char brand[64];
static int intel;

#if defined(__x86_64__)

static const char machine[] = "x86-64";

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

static void read_vendor(void)
{
    static const char name[] = "GenuineIntel";
    uint32_t a, w[3]; /* its words in the order of the text */
    intel = __get_cpuid(0, &a, &w[0], &w[2], &w[1]) && memcmp(w, name, sizeof w) == 0;
}

static void read_brand(void)
{
    uint32_t words[12];
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t *w = words + 4 * i;
        if (!__get_cpuid(0x80000002u + i, &w[0], &w[1], &w[2], &w[3])) {
            return;
        }
    }
    char text[sizeof words + 1] = { 0 };
    memcpy(text, words, sizeof words);
    /* Processors pad with blanks on either side. */
    const char *start = text + strspn(text, " ");
    size_t bytes = strlen(start);
    while (bytes > 0 && start[bytes - 1] == ' ') {
        bytes--;
    }
    memcpy(brand, start, bytes);
}

#else

static const char machine[] = "aarch64";

static void read_features(level *have)
{
    (void)have; /* the one level is the architecture's base */
}

static void read_vendor(void)
{
}

static void read_brand(void)
{
}

#endif

static void find(void)
{
    level have = { 0 };
    read_features(&have);
    int below = 1;
    for (int i = 0; i < TLY_LEVELS; i++) {
        const level *l = &levels[i];
        if (strcmp(l->machine, machine) != 0) {
            continue;
        }
        below = below && (have.leaf1_ecx & l->leaf1_ecx) == l->leaf1_ecx &&
                (have.leaf7_ebx & l->leaf7_ebx) == l->leaf7_ebx &&
                (have.ext_ecx & l->ext_ecx) == l->ext_ecx && (have.xcr0 & l->xcr0) == l->xcr0;
        runs[i] = below;
        if (below) {
            host = i;
        }
    }
    read_vendor();
    read_brand();
    if (brand[0] == 0) {
        memcpy(brand, machine, sizeof machine);
    }
}

const char *tly_level_name(int level)
{
    return levels[level].name;
}

int tly_level_runs(int level)
{
    pthread_once(&once, find);
    return runs[level];
}

int tly_level_host(void)
{
    pthread_once(&once, find);
    return host;
}

int tly_cpu_is_intel(void)
{
    pthread_once(&once, find);
    return intel;
}

void tly_cpu_brand(char *text, size_t capacity)
{
    pthread_once(&once, find);
    if (capacity > 0) {
        size_t bytes = strnlen(brand, capacity - 1);
        memcpy(text, brand, bytes);
        text[bytes] = 0;
    }
}
