/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPU levels this machine runs, and what its processor is called: found out once. */
#include "cpu.h"

#include <pthread.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t features;
static int host = TLY_LEVEL_NONE;
static char brand[64];

#if defined(__x86_64__)

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

static void read_brand(void)
{
}

#endif

static void find(void)
{
    features = tly_features_find();
    for (int i = 0; i < TLY_LEVELS; i++) {
        host = features >> i & 1 ? i : host;
    }
    read_brand();
    if (brand[0] == 0) {
        memcpy(brand, TLY_MACHINE, sizeof TLY_MACHINE);
    }
}

int tly_level_runs(int level)
{
    pthread_once(&once, find);
    return (features >> level & 1) != 0;
}

int tly_level_host(void)
{
    pthread_once(&once, find);
    return host;
}

int tly_cpu_is_intel(void)
{
    pthread_once(&once, find);
    return (features & TLY_FEATURE_INTEL) != 0;
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
