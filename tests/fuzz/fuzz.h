/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzzing targets share. Each is one file: it takes any bytes, calls what reads such bytes
 * in Tally, and holds it to what must be true of every input. tools/fuzz builds and runs them, with
 * libFuzzer and under ASan and UBSan; corpus/TARGET holds where each begins.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called by libFuzzer. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* A broken promise ends the process: libFuzzer keeps the input. */
#define HOLDS(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

/* Copies the bytes and adds `zeros` of them, in memory of exactly that size, so that ASan sees a
 * read past the end; to be freed. */
static inline unsigned char *fuzz_copy(const uint8_t *data, size_t bytes, size_t zeros)
{
    unsigned char *copy = calloc(1, bytes + zeros);
    if (copy == NULL) {
        exit(1);
    }
    if (bytes > 0) {
        memcpy(copy, data, bytes);
    }
    return copy;
}

/* A copy that ends with a zero. */
static inline char *fuzz_text(const uint8_t *data, size_t bytes)
{
    return (char *)fuzz_copy(data, bytes, 1);
}

#endif
