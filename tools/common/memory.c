/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room in arrays, and buffers for tensors. Large ones of these start at a huge page and are advised
 * so, which keeps the misses of small pages out of the benchmark's figures, the kernel's and the
 * copy's alike.
 */
#include "tool.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((uintptr_t)2 << 20)
#define PAGE ((uintptr_t)4096)

static uintptr_t round_up(uintptr_t address, uintptr_t unit)
{
    return (address + unit - 1) / unit * unit;
}

void *tly_memory_get(size_t bytes)
{
    uintptr_t extra = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
    uintptr_t length = bytes ? bytes : 1;
    uintptr_t first, start, end, last;
    void *memory;
    if (length > SIZE_MAX / 2) {
        return NULL;
    }
    memory = mmap(NULL, length + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return NULL;
    }
    if (!extra) {
        return memory;
    }
    /* The room for aligning goes back, so that tly_memory_free needs no more than the size. */
    first = (uintptr_t)memory;
    last = round_up(first + length + extra, PAGE);
    start = round_up(first, HUGE_PAGE);
    end = round_up(start + length, PAGE);
    if (start > first) {
        munmap(memory, start - first);
    }
    if (last > end) {
        munmap((void *)end, last - end);
    }
    madvise((void *)start, length, MADV_HUGEPAGE); /* advice: nothing depends on its success */
    return (void *)start;
}

void tly_memory_free(void *memory, size_t bytes)
{
    if (memory) {
        munmap(memory, bytes ? bytes : 1);
    }
}

/* A power of two is doubled when it is full. */
int tly_memory_room(void **items, size_t count, size_t bytes)
{
    if ((count & (count - 1)) != 0) {
        return 1;
    }
    void *more = realloc(*items, (count ? count * 2 : 1) * bytes);
    if (more) {
        *items = more;
    }
    return more != NULL;
}
