/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocating functions of everything that is linked into this library (--wrap): malloc first,
 * and where that fails the thread's room; see reserve.h. free tells the two apart.
 */
#include "reserve.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
int __real_posix_memalign(void **block, size_t align, size_t bytes);
void *__real_aligned_alloc(size_t align, size_t bytes);
void __real_free(void *block);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
int __wrap_posix_memalign(void **block, size_t align, size_t bytes);
void *__wrap_aligned_alloc(size_t align, size_t bytes);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

enum { ALIGN = 16 }; /* malloc's */

void *__wrap_malloc(size_t bytes)
{
    void *block = __real_malloc(bytes);
    return block != NULL ? block : tly_reserve_take(bytes, ALIGN);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    size_t all;
    void *block = __real_calloc(count, bytes);
    if (block == NULL && !__builtin_mul_overflow(count, bytes, &all)) {
        block = tly_reserve_take(all, ALIGN);
        if (block != NULL) {
            memset(block, 0, all);
        }
    }
    return block;
}

/* A reserve's block, or one of malloc's that it cannot enlarge, moves. */
static void *move(void *block, size_t old, size_t bytes)
{
    void *moved = __wrap_malloc(bytes);
    if (moved != NULL) {
        memcpy(moved, block, old < bytes ? old : bytes);
        __wrap_free(block);
    }
    return moved;
}

void *__wrap_realloc(void *block, size_t bytes)
{
    if (block == NULL) {
        return __wrap_malloc(bytes);
    }
    const size_t reserved = tly_reserve_size(block);
    if (reserved > 0) {
        return move(block, reserved, bytes);
    }
    void *larger = __real_realloc(block, bytes);
    return larger != NULL || bytes == 0 ? larger : move(block, malloc_usable_size(block), bytes);
}

int __wrap_posix_memalign(void **block, size_t align, size_t bytes)
{
    int failed = __real_posix_memalign(block, align, bytes);
    if (failed == ENOMEM) {
        void *reserved = tly_reserve_take(bytes, align);
        if (reserved != NULL) {
            *block = reserved;
            failed = 0;
        }
    }
    return failed;
}

void *__wrap_aligned_alloc(size_t align, size_t bytes)
{
    void *block = __real_aligned_alloc(align, bytes);
    return block != NULL ? block : tly_reserve_take(bytes, align);
}

char *__wrap_strdup(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = __wrap_malloc(bytes);
    return copy != NULL ? memcpy(copy, text, bytes) : NULL;
}

void __wrap_free(void *block)
{
    if (block != NULL && !tly_reserve_give(block)) {
        __real_free(block);
    }
}
