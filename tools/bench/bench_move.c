/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ceiling of a word with operands or expressions: how fast all its tensors can be read and its
 * output be written. The tensors are walked together, a block of each at a time, in proportion to
 * their sizes. What is read is added up and written, so that nothing is left out.
 */
#include "bench_move.h"

#include <stdint.h>
#include <string.h>

enum { LINE = 64 };

/* Where block `block` of `blocks` begins, at a line; the last one ends where the tensor does. */
static size_t begin_of(size_t bytes, size_t block, size_t blocks)
{
    const size_t lines = bytes / LINE;
    return block == blocks ? bytes
                           : LINE * (lines / blocks * block + lines % blocks * block / blocks);
}

static size_t count_blocks(const tly_moved *moved, size_t block)
{
    size_t most = moved->to_bytes;
    for (int s = 0; s < moved->sources; s++) {
        most = moved->bytes[s] > most ? moved->bytes[s] : most;
    }
    return most / block + 1;
}

/* What is no whole line. */
static uint64_t add_rest(const char *from, size_t bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes; i++) {
        sum += (unsigned char)from[i];
    }
    return sum;
}

/* Two lines a step, and two sums of each, so that loads and not additions bound the loop. */
#define DEFINE_MOVE(name, features, vector, load, add, set, store, fence, block_bytes) \
    features static void name(const void *task, int number, int of) \
    { \
        enum { VECTORS = LINE / sizeof(vector) }; \
        const tly_moved *moved = task; \
        const size_t blocks = count_blocks(moved, block_bytes); \
        const size_t end = begin_of(LINE * blocks, (size_t)number + 1, (size_t)of) / LINE; \
        vector sums[2 * VECTORS]; \
        for (int i = 0; i < 2 * VECTORS; i++) { \
            sums[i] = set(0); \
        } \
        for (size_t b = begin_of(LINE * blocks, (size_t)number, (size_t)of) / LINE; b < end; \
             b++) { \
            uint64_t rest = 0; \
            for (int s = 0; s < moved->sources; s++) { \
                const size_t stop = begin_of(moved->bytes[s], b + 1, blocks); \
                size_t at = begin_of(moved->bytes[s], b, blocks); \
                for (int line = 0; at + LINE <= stop; at += LINE, line ^= 1) { \
                    const vector *source = (const vector *)(const void *)(moved->from[s] + at); \
                    _Pragma("GCC unroll 4") for (int i = 0; i < VECTORS; i++) \
                    { \
                        vector *sum = &sums[(line ? VECTORS : 0) + i]; \
                        *sum = add(*sum, load(source + i)); \
                    } \
                } \
                rest += add_rest(moved->from[s] + at, stop - at); \
            } \
            sums[0] = add(sums[0], set((int64_t)rest)); \
            const size_t stop = begin_of(moved->to_bytes, b + 1, blocks); \
            size_t at = begin_of(moved->to_bytes, b, blocks); \
            for (; at + LINE <= stop; at += LINE) { \
                vector *target = (vector *)(void *)(moved->to + at); \
                _Pragma("GCC unroll 4") for (int i = 0; i < VECTORS; i++) \
                { \
                    store(target + i, add(sums[i], sums[VECTORS + i])); \
                } \
            } \
            memcpy(moved->to + at, sums, stop - at); \
        } \
        fence(); \
        volatile unsigned char kept; /* a store that no compiler leaves out */ \
        for (size_t i = 0; i < sizeof sums; i++) { \
            kept = ((const unsigned char *)sums)[i]; \
        } \
        (void)kept; \
    }

#define NO_FENCE()
#define LOAD(from) (*(from))
#define ADD(a, b) ((a) + (b))
#define STORE(to, value) (*(to) = (value))

typedef uint64_t pair __attribute__((vector_size(16))); /* sums may wrap */
#define SET_PAIR(value) ((pair){ (uint64_t)(value), 0 })
DEFINE_MOVE(move_loop, , pair, LOAD, ADD, SET_PAIR, STORE, NO_FENCE, 1024)

#if defined(__x86_64__)
#include <immintrin.h>

#define STREAM_512(to, value) _mm512_stream_si512((void *)(to), value)

#define DEFINE_MOVES(bits, features, vector, load, add, set, store, stream) \
    DEFINE_MOVE(move_##bits, __attribute__((target(features))), vector, load, add, set, store, \
                NO_FENCE, 1024) \
    DEFINE_MOVE(move_##bits##_stream, __attribute__((target(features))), vector, load, add, set, \
                stream, _mm_sfence, 1024) \
    DEFINE_MOVE(move_##bits##_pages, __attribute__((target(features))), vector, load, add, set, \
                stream, _mm_sfence, 4096)

DEFINE_MOVES(256, "avx2", __m256i, _mm256_load_si256, _mm256_add_epi64, _mm256_set1_epi64x,
             _mm256_store_si256, _mm256_stream_si256)
DEFINE_MOVES(512, "avx512f", __m512i, _mm512_load_si512, _mm512_add_epi64, _mm512_set1_epi64,
             _mm512_store_si512, STREAM_512)

#define MOVES(bits, here) \
    { "move " #bits, NULL, here, move_##bits }, \
        { "move " #bits ", non-temporal", NULL, here, move_##bits##_stream }, \
    { \
        "move " #bits ", non-temporal, 4 KiB", NULL, here, move_##bits##_pages \
    }
#endif

const tly_mover tly_move_loops[] = {
    { "move loop", NULL, NULL, move_loop },
#if defined(__x86_64__)
    MOVES(256, tly_has_avx2_only),
    MOVES(512, tly_has_avx512),
#endif
    { NULL, NULL, NULL, NULL },
};
