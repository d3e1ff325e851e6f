/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceiling of a reduction: how fast bytes can be read. Every read adds up all its words, so that
 * none is left out, and is bound by memory and not by the additions: several sums at a time, one or
 * four pages side by side, with a prefetch or without; which is best changes with size and machine.
 */
#include "bench_read.h"

#include <stdint.h>
#include <string.h>

/* A store that no compiler leaves out keeps the sum alive. */
static void keep(uint64_t sum)
{
    volatile uint64_t kept = sum;
    (void)kept;
}

typedef uint64_t pair __attribute__((vector_size(16)));

static uint64_t sum_bytes(const char *from, size_t bytes)
{
    pair sums[4] = { { 0 } }, words[4];
    uint64_t sum = 0;
    size_t done = 0;
    for (; bytes - done >= sizeof words; done += sizeof words) {
        memcpy(&words[0], from + done, sizeof words[0]);
        memcpy(&words[1], from + done + 16, sizeof words[1]);
        memcpy(&words[2], from + done + 32, sizeof words[2]);
        memcpy(&words[3], from + done + 48, sizeof words[3]);
        sums[0] += words[0];
        sums[1] += words[1];
        sums[2] += words[2];
        sums[3] += words[3];
    }
    for (int i = 0; i < 4; i++) {
        sum += sums[i][0] + sums[i][1];
    }
    for (; done < bytes; done++) {
        sum += (unsigned char)from[done];
    }
    return sum;
}

static void read_loop(char *to, const char *from, size_t bytes)
{
    (void)to;
    keep(sum_bytes(from, bytes));
}

#if defined(__x86_64__)
#include <immintrin.h>

enum { PAGE = 4096, PAGES = 4 };

/* Ahead of the loads of a single stream; four pages fetch the next four. Emerald Rapids, 64 MiB:
 * 22.0 GB/s without and 22.4 with it, 23.0 and 23.2 by four pages; 64 KiB: 110, 104, 131 and 90. */
#define PREFETCH_BYTES 4096

/* A step reads four lines: consecutive ones of one stream, or one of each of four pages. */
#define DEFINE_READ(name, features, vector, load, add, zero, streams, prefetch) \
    __attribute__((target(features))) static void name(char *to, const char *from, size_t bytes) \
    { \
        enum { LINES = 4 / (streams), VECTORS = 64 / sizeof(vector) }; \
        const size_t block = (size_t)PAGE * (streams); \
        vector sums[4 * VECTORS]; \
        uint64_t words[4 * 64 / sizeof(uint64_t)], sum = 0; \
        size_t done = 0; \
        (void)to; \
        for (int i = 0; i < 4 * VECTORS; i++) { \
            sums[i] = zero(); \
        } \
        for (; bytes - done >= block; done += block) { \
            for (size_t at = 0; at < PAGE; at += 64 * LINES) { \
                _Pragma("GCC unroll 4") for (int line = 0; line < 4; line++) \
                { \
                    const char *source = from + done + (size_t)(line / LINES) * PAGE + at + \
                                         (size_t)(line % LINES) * 64; \
                    if (prefetch) { \
                        _mm_prefetch(source + ((streams) > 1 ? block : PREFETCH_BYTES), \
                                     _MM_HINT_T0); \
                    } \
                    _Pragma("GCC unroll 4") for (int i = 0; i < VECTORS; i++) \
                    { \
                        vector *total = &sums[line * VECTORS + i]; \
                        *total = add(*total, load((const vector *)(const void *)source + i)); \
                    } \
                } \
            } \
        } \
        memcpy(words, sums, sizeof words); \
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) { \
            sum += words[i]; \
        } \
        keep(sum + sum_bytes(from + done, bytes - done)); \
    }

#define DEFINE_READS(bits, features, vector, load, add, zero) \
    DEFINE_READ(read_##bits, features, vector, load, add, zero, 1, 0) \
    DEFINE_READ(read_##bits##_ahead, features, vector, load, add, zero, 1, 1) \
    DEFINE_READ(read_##bits##_pages, features, vector, load, add, zero, PAGES, 0) \
    DEFINE_READ(read_##bits##_pages_ahead, features, vector, load, add, zero, PAGES, 1)

DEFINE_READS(256, "avx2", __m256i, _mm256_load_si256, _mm256_add_epi64, _mm256_setzero_si256)
DEFINE_READS(512, "avx512f", __m512i, _mm512_load_si512, _mm512_add_epi64, _mm512_setzero_si512)

#define READS(bits, here) \
    { "read " #bits, read_##bits, here, NULL }, \
        { "read " #bits ", prefetch", read_##bits##_ahead, here, NULL }, \
        { "read " #bits ", four pages", read_##bits##_pages, here, NULL }, \
    { \
        "read " #bits ", four pages, prefetch", read_##bits##_pages_ahead, here, NULL \
    }
#endif

const tly_mover tly_reads[] = {
    { "read loop", read_loop, NULL, NULL },
#if defined(__x86_64__)
    READS(256, tly_has_avx2_only),
    READS(512, tly_has_avx512),
#endif
    { NULL, NULL, NULL, NULL },
};
