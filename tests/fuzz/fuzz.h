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

/* The bytes with a terminating zero, in memory of exactly that size; to be freed. */
static inline char *fuzz_text(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    if (text == NULL) {
        exit(1);
    }
    if (bytes > 0) {
        memcpy(text, data, bytes);
    }
    text[bytes] = 0;
    return text;
}

#endif
